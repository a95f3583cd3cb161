"""When a thread was last let in."""

from __future__ import annotations

from math import inf
from typing import Any

from ml_pipes._threads.clock import now
from ml_pipes._threads.turns import last_let_in, let_in


def test_a_thread_knows_its_own_last_turn_only(start: Any) -> None:
    before = now()

    let_in()
    others = start(last_let_in).result(timeout=10)

    assert before <= last_let_in() <= now()
    assert others == -inf
