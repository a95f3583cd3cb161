"""Something dies, lies or leaves: everybody is released, and the room can be used again."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from ml_pipes._threads.batcher import Batcher, _release
from ml_pipes._threads.clock import Gate
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.errors import BatchSizeError, RegionError

if TYPE_CHECKING:
    from conftest import Model


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            [1],
            r"1:Batch: Batch size mismatch: the body took 2 items and returned 1; return one result per item",
        ),
        ([1, 2, 3], r"the body took 2 items and returned 3"),
        (None, r"the body took 2 items and returned a NoneType; return a list with one result per item"),
        ("ab", r"returned a str"),
        ({0: 1, 1: 2}, r"returned a dict"),
        ((x for x in [1, 2]), r"returned a generator"),
    ],
    ids=["one less", "one more", "None", "text", "mapping", "generator"],
)
def test_another_number_of_results_is_an_error_for_everybody(
    clock: FakeClock, start: Any, result: Any, words: str
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0), clock)

    callers = [start(batcher.ticket(item, lambda _: result).wait) for item in (1, 2)]

    for caller in callers:
        with pytest.raises(BatchSizeError, match=words) as caught:
            caller.result(timeout=5)
        assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("kind", [ValueError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_kills_the_leader_everybody_is_released_with_a_copy_of_his_own(
    clock: FakeClock, start: Any, kind: type[BaseException]
) -> None:
    batcher = Batcher("1:Batch", Departure(size=8, timeout_s=9.0), clock)
    original = kind("died")
    callers = [start(_caught, batcher.ticket(item, _raising(original)).wait) for item in range(8)]

    errors = [caller.result(timeout=5) for caller in callers]

    assert [type(error) for error in errors] == [kind] * 8
    assert len({id(error) for error in errors} | {id(original)}) == 9
    assert all(error.__cause__ is original for error in errors)
    assert len({len(traceback.extract_tb(error.__traceback__)) for error in errors}) == 1


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
def test_the_region_works_again_after_its_leader_died(
    clock: FakeClock, start: Any, model: Model, kind: type[BaseException]
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0), clock)
    for future in [start(_caught, batcher.ticket(item, _raising(kind())).wait) for item in (1, 2)]:
        future.result(timeout=5)

    callers = [start(batcher.ticket(item, model).wait) for item in (1, 2)]

    assert [caller.result(timeout=5) for caller in callers] == [2, 4]


def test_an_error_among_the_results_is_raised_to_its_owner_only(clock: FakeClock, start: Any) -> None:
    batcher = Batcher("1:Batch", Departure(size=4, timeout_s=9.0), clock)
    bad = ValueError("item 2 is bad")

    def run(items: list[int]) -> list[Any]:
        return [bad if item == 2 else item for item in items]

    callers = [start(_caught, batcher.ticket(item, run).wait) for item in range(4)]
    outcomes = [caller.result(timeout=5) for caller in callers]

    assert [outcomes[0], outcomes[1], outcomes[3]] == [0, 1, 3]
    assert isinstance(outcomes[2], ValueError)
    assert outcomes[2].__cause__ is bad


def test_a_caller_interrupted_while_it_waits_is_taken_out_and_nobody_else_notices(
    start: Any, model: Model
) -> None:
    clock = InterruptingClock()
    batcher = Batcher("1:Batch", Departure(size=3, timeout_s=9.0), clock)
    one = start(batcher.ticket(1, model).wait)
    clock.until_sleeping(1)

    with pytest.raises(KeyboardInterrupt):
        clock.interrupt(lambda: batcher.ticket(99, model).wait())
    two, three = start(batcher.ticket(2, model).wait), start(batcher.ticket(3, model).wait)

    assert sorted([one.result(timeout=5), two.result(timeout=5), three.result(timeout=5)]) == [2, 4, 6]
    assert [sorted(batch) for batch in model.batches] == [[1, 2, 3]]


def test_a_caller_interrupted_when_it_was_called_to_lead_passes_the_call_on(start: Any, model: Model) -> None:
    clock = InterruptingClock()
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=0.0), clock)
    model.go_on.clear()
    first = start(batcher.ticket(0, model).wait)
    assert model.entered.wait(timeout=5)
    doomed = start(clock.interrupt_when_called, batcher.ticket(99, model).wait)
    clock.until_sleeping(1)
    next_one = start(batcher.ticket(1, model).wait)
    clock.until_sleeping(2)

    model.go_on.set()

    with pytest.raises(KeyboardInterrupt):
        doomed.result(timeout=5)
    assert first.result(timeout=5) == 0
    assert next_one.result(timeout=5) == 2
    assert model.batches == [[0], [1]]


def test_a_ticket_that_nobody_waits_for_is_in_nobodys_way(clock: FakeClock, start: Any, model: Model) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0), clock)
    batcher.ticket(99, model)

    callers = [start(batcher.ticket(item, model).wait) for item in (1, 2)]

    assert sorted(caller.result(timeout=5) for caller in callers) == [2, 4]
    assert sorted(model.batches[0]) == [1, 2]


def test_an_interrupt_while_members_are_released_still_releases_them_all(
    clock: FakeClock, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher("1:Batch", Departure(size=3, timeout_s=9.0), clock)
    interrupts = iter([KeyboardInterrupt()])
    opened = Gate.open

    def interrupted_once(gate: Gate) -> None:
        for interrupt in interrupts:
            raise interrupt
        opened(gate)

    callers = [start(_caught, batcher.ticket(item, list).wait) for item in (1, 2)]
    clock.until_sleeping(2)
    monkeypatch.setattr(Gate, "open", interrupted_once)
    leader = start(_caught, batcher.ticket(3, list).wait)

    assert sorted(caller.result(timeout=5) for caller in callers) == [1, 2]
    assert isinstance(leader.result(timeout=5), KeyboardInterrupt)


def test_a_leader_lost_before_its_run_releases_everybody_with_an_error(
    clock: FakeClock, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0), clock)
    waiting = start(_caught, batcher.ticket(1, list).wait)
    clock.until_sleeping()
    monkeypatch.setattr(Batcher, "_run", _raising(KeyboardInterrupt()))

    leader = start(_caught, batcher.ticket(2, list).wait)

    assert isinstance(leader.result(timeout=5), KeyboardInterrupt)
    assert isinstance(waiting.result(timeout=5), KeyboardInterrupt)


def test_members_left_without_an_outcome_get_an_error_that_says_so() -> None:
    ticket = Batcher("1:Batch", Departure(size=1, timeout_s=0.0)).ticket(1, list)

    _release([ticket], None, 0.0)

    assert isinstance(ticket.error, RegionError)
    assert "the caller that led this batch left before it was done" in str(ticket.error)


class InterruptingClock(FakeClock):
    """A clock at whose gates chosen callers are interrupted, as by Ctrl-C."""

    def __init__(self) -> None:
        super().__init__()
        self._interrupts: set[int] = set()

    def interrupt(self, call: Callable[[], Any]) -> Any:
        """Run the call, and interrupt it as soon as it waits."""
        self._at_once = True
        try:
            return call()
        finally:
            self._at_once = False

    def interrupt_when_called(self, call: Callable[[], Any]) -> Any:
        """Run the call, and interrupt it when its gate is opened."""
        self._interrupts.add(threading.get_ident())
        return call()

    _at_once = False

    def wait(self, gate: Gate, timeout_s: float | None) -> bool:
        if self._at_once:
            raise KeyboardInterrupt
        passed = super().wait(gate, timeout_s)
        if threading.get_ident() in self._interrupts:
            raise KeyboardInterrupt
        return passed


def _raising(error: BaseException) -> Callable[..., Any]:
    def run(*_: Any) -> Any:
        raise error

    return run


def _caught(call: Callable[[], Any]) -> Any:
    """What the call returned, or what it raised, as a value."""
    try:
        return call()
    except BaseException as error:  # noqa: BLE001 - interrupts are among the cases
        return error
