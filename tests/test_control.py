"""The short-circuit sentinel."""

from __future__ import annotations

import copy
import pickle

from ml_pipes.core import SHORT_CIRCUIT


def test_it_stays_one_object_through_copy_and_pickle() -> None:
    assert copy.copy(SHORT_CIRCUIT) is SHORT_CIRCUIT
    assert copy.deepcopy([SHORT_CIRCUIT])[0] is SHORT_CIRCUIT
    assert pickle.loads(pickle.dumps(SHORT_CIRCUIT)) is SHORT_CIRCUIT


def test_it_shows_as_its_name() -> None:
    assert repr(SHORT_CIRCUIT) == str(SHORT_CIRCUIT) == "SHORT_CIRCUIT"
