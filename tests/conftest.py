"""What all tests share: where the project lies, threads and a clock, how Hypothesis looks for examples."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import hypothesis
import pytest

from ml_pipes._threads.fakes import FakeClock

Start: TypeAlias = Callable[..., "Future[Any]"]

_ROOT = Path(__file__).resolve().parent.parent

# So that tests import what they share, and `bench`, from wherever pytest is started.
if str(_ROOT) not in sys.path:
    sys.path.append(str(_ROOT))

# A shared machine is slow at times, which is no fault of the code; the timeout of each test still holds.
hypothesis.settings.register_profile("local", deadline=None)
# The same examples each time, and the way to repeat a failure printed with it.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that the repository is in."""
    return _ROOT


@pytest.fixture
def clock() -> FakeClock:
    """A clock that the test moves by hand."""
    return FakeClock()


@pytest.fixture
def start() -> Iterator[Start]:
    """``start(function, *arguments)`` runs it on a thread; its ``result(timeout)`` tells how it ended."""
    with ThreadPoolExecutor(64) as pool:
        yield pool.submit
