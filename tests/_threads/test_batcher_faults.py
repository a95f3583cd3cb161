"""Something dies, lies or leaves: everybody is released, and the room can be used again."""

from __future__ import annotations

import contextlib
import contextvars
import gc
import threading
import traceback
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.clock import Gate
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes._threads.run import Run
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
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)

    callers = [start(batcher.ticket(item, lambda _: result).wait) for item in (1, 2)]

    for caller in callers:
        with pytest.raises(BatchSizeError, match=words) as caught:
            caller.result(timeout=5)
        assert isinstance(caught.value, RuntimeError)


@pytest.mark.parametrize("kind", [ValueError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
def test_whatever_kills_the_leader_everybody_is_released_with_a_copy_of_his_own(
    clock: FakeClock, start: Any, kind: type[BaseException]
) -> None:
    batcher = Batcher("1:Batch", Departure(size=8, timeout_s=9.0, policy="full"), clock)
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
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)
    for future in [start(_caught, batcher.ticket(item, _raising(kind())).wait) for item in (1, 2)]:
        future.result(timeout=5)

    callers = [start(batcher.ticket(item, model).wait) for item in (1, 2)]

    assert [caller.result(timeout=5) for caller in callers] == [2, 4]


def test_an_error_among_the_results_is_raised_to_its_owner_only(clock: FakeClock, start: Any) -> None:
    batcher = Batcher("1:Batch", Departure(size=4, timeout_s=9.0, policy="full"), clock)
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
    batcher = Batcher("1:Batch", Departure(size=3, timeout_s=9.0, policy="full"), clock)
    one = start(batcher.ticket(1, model).wait)
    clock.until_sleeping(1)

    with pytest.raises(KeyboardInterrupt):
        clock.interrupt(lambda: batcher.ticket(99, model).wait())
    two, three = start(batcher.ticket(2, model).wait), start(batcher.ticket(3, model).wait)

    assert sorted([one.result(timeout=5), two.result(timeout=5), three.result(timeout=5)]) == [2, 4, 6]
    assert [sorted(batch) for batch in model.batches] == [[1, 2, 3]]


def test_a_caller_interrupted_when_it_was_called_to_lead_passes_the_call_on(start: Any, model: Model) -> None:
    clock = InterruptingClock()
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=0.0, policy="full"), clock)
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
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)
    batcher.ticket(99, model)

    callers = [start(batcher.ticket(item, model).wait) for item in (1, 2)]

    assert sorted(caller.result(timeout=5) for caller in callers) == [2, 4]
    assert sorted(model.batches[0]) == [1, 2]


def test_a_member_whose_wake_up_an_interrupt_swallowed_looks_again_by_itself(
    clock: FakeClock, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher("1:Batch", Departure(size=3, timeout_s=9.0, policy="full"), clock)
    callers = [start(_caught, batcher.ticket(item, list).wait) for item in (1, 2)]
    clock.until_sleeping(2)
    monkeypatch.setattr(Gate, "open", _raising(KeyboardInterrupt()))
    leader = start(_caught, batcher.ticket(3, list).wait)
    assert isinstance(leader.result(timeout=5), KeyboardInterrupt)
    monkeypatch.undo()

    clock.advance(1.0)

    assert sorted(caller.result(timeout=5) for caller in callers) == [1, 2]


def test_the_next_leads_by_itself_when_an_interrupt_swallowed_the_call(
    clock: FakeClock, start: Any, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher("1:Batch", Departure(size=1, timeout_s=0.0, policy="full"), clock)
    model.go_on.clear()
    leader = start(_caught, batcher.ticket(1, model).wait)
    assert model.entered.wait(timeout=5)
    waiting = start(batcher.ticket(2, model).wait)
    clock.until_sleeping()
    monkeypatch.setattr(Batcher, "_call_next", _raising(KeyboardInterrupt()))
    model.go_on.set()
    assert isinstance(leader.result(timeout=5), KeyboardInterrupt)
    monkeypatch.undo()

    clock.advance(1.0)

    assert waiting.result(timeout=5) == 4


@pytest.mark.parametrize(("owner", "lost"), [(Batcher, "_lead"), (Run, "work")])
def test_a_leader_lost_before_its_run_releases_everybody_and_frees_the_room(
    clock: FakeClock, start: Any, model: Model, monkeypatch: pytest.MonkeyPatch, owner: type, lost: str
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)
    waiting = start(_caught, batcher.ticket(1, list).wait)
    clock.until_sleeping()
    monkeypatch.setattr(owner, lost, _raising(KeyboardInterrupt()))
    leader = start(_caught, batcher.ticket(2, list).wait)
    assert isinstance(leader.result(timeout=5), KeyboardInterrupt)
    monkeypatch.undo()

    clock.advance(1.0)
    error = waiting.result(timeout=5)
    callers = [start(batcher.ticket(item, model).wait) for item in (1, 2)]

    assert isinstance(error, KeyboardInterrupt if lost == "work" else RegionError)
    assert [caller.result(timeout=5) for caller in callers] == [2, 4]


def test_a_member_whose_leader_vanished_is_told_so(
    clock: FakeClock, start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)
    waiting = start(batcher.ticket(1, list).wait)
    clock.until_sleeping()
    monkeypatch.setattr(Batcher, "_lead", _raising(KeyboardInterrupt()))
    start(_caught, batcher.ticket(2, list).wait).result(timeout=5)

    clock.advance(1.0)

    with pytest.raises(RegionError, match="the caller that led this batch left before it was done"):
        waiting.result(timeout=5)


def test_a_caller_that_left_while_it_was_called_is_passed_over_even_when_it_could_not_say_so(
    start: Any, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = InterruptingClock()
    batcher = Batcher("1:Batch", Departure(size=1, timeout_s=0.0, policy="full"), clock)
    model.go_on.clear()
    first = start(batcher.ticket(0, model).wait)
    assert model.entered.wait(timeout=5)
    monkeypatch.setattr(Batcher, "_leave", _raising(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        clock.interrupt(lambda: batcher.ticket(99, model).wait())
    monkeypatch.undo()

    next_one = start(batcher.ticket(1, model).wait)
    clock.until_sleeping(1)
    model.go_on.set()

    assert [first.result(timeout=5), next_one.result(timeout=5)] == [0, 2]
    assert model.batches == [[0], [1]]


def test_an_error_whose_own_text_fails_reaches_everybody(clock: FakeClock, start: Any) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            return f"{self.args[0]}: {self.args[1]}"

    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)

    callers = [start(_caught, batcher.ticket(item, _raising(OddError("one"))).wait) for item in (1, 2)]

    assert [type(caller.result(timeout=5)) for caller in callers] == [OddError, OddError]


def test_a_call_at_the_end_of_the_stack_fails_as_any_other_call_there() -> None:
    batcher = Batcher("1:Batch", Departure(size=1, timeout_s=0.0, policy="full"))

    def walk(depth: int) -> int:
        with contextlib.suppress(RecursionError, RegionError):
            batcher.ticket(depth, _deeper).wait()
        return walk(depth + 1)

    with pytest.raises(RecursionError):
        walk(0)
    assert batcher.ticket(7, list).wait() == 7


def test_a_table_that_iterates_over_its_columns_is_no_list_of_results(clock: FakeClock, start: Any) -> None:
    class Table:
        shape = (2, 2)

        def __len__(self) -> int:
            return 2

        def __getitem__(self, name: str) -> list[int]:
            return [1, 2]

    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)

    callers = [start(batcher.ticket(item, lambda _: Table()).wait) for item in (1, 2)]

    for caller in callers:
        with pytest.raises(BatchSizeError, match="returned a Table; return a list"):
            caller.result(timeout=5)


def test_a_context_copied_inside_a_body_is_an_ordinary_caller_once_the_run_is_over(
    clock: FakeClock, start: Any, model: Model
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)
    contexts: list[contextvars.Context] = []

    def keeping(items: list[int]) -> list[int]:
        contexts.append(contextvars.copy_context())
        return items

    for caller in [start(batcher.ticket(item, keeping).wait) for item in (1, 2)]:
        caller.result(timeout=5)
    callers = [start(contexts[0].copy().run, batcher.ticket(item, model).wait) for item in (1, 2)]

    assert [caller.result(timeout=5) for caller in callers] == [2, 4]
    assert len(model.batches) == 1


def test_after_a_failed_batch_nothing_holds_its_items(clock: FakeClock) -> None:
    class Item:
        pass

    batcher, item = Batcher("1:Batch", Departure(size=1, timeout_s=0.0, policy="full"), clock), Item()
    gone = weakref.ref(item)
    gc.disable()
    try:
        _caught(batcher.ticket(item, int).wait)  # int(a list) is a TypeError
        del item
        assert gone() is None
    finally:
        gc.enable()


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


def _deeper(items: list[int]) -> list[int]:
    """Needs a little more of the stack."""
    return sorted(items, key=lambda item: -item)


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
