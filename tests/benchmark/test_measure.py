"""A function under a load: what is counted, and what is told when something is wrong."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from threading import Event, Lock
from typing import Any

import numpy as np
import pytest

from ml_pipes._threads.clock import Gate, SystemClock
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries
from ml_pipes.benchmark.measure import input_at, measure
from ml_pipes.benchmark.samples import Samples

Start = Callable[..., Any]


class TestClosedLoop:
    def test_exactly_the_calls_after_the_warm_up_count(self) -> None:
        seen: list[int] = []

        samples = measure(seen.append, lambda index: index, ClosedLoop(), runs=5, warmup=3)

        assert seen[:8] == [0, 1, 2, 3, 4, 5, 6, 7]
        assert (len(samples), samples.count, samples.warmup) == (5, 5, 3)
        assert samples.load == ClosedLoop()

    def test_several_callers_make_exactly_as_many_calls_that_count(self) -> None:
        samples = measure(lambda _: None, 0, ClosedLoop(4), runs=500, warmup=20)

        assert samples.count == 500

    def test_a_call_of_known_cost_has_that_latency_and_that_throughput(self, clock: FakeClock) -> None:
        samples = measure(lambda _: clock.advance(0.25), 0, ClosedLoop(), runs=8, warmup=2, clock=clock)

        assert samples.latency_s.tolist() == [0.25] * 8
        assert samples.throughput_per_s == 4.0
        assert samples.mean_in_flight == 1.0
        assert samples.invalid == ()


class TestErrors:
    def test_they_are_counted_apart_and_only_successes_have_latencies_and_make_throughput(self) -> None:
        def call(index: int) -> None:
            if index % 2:
                raise ValueError("an odd one")

        samples = measure(call, lambda index: index, ClosedLoop(), runs=100)

        assert samples.errors == {"ValueError: an odd one": 50}
        assert samples.error_share == 0.5
        assert len(samples.latency_s) == 50
        assert samples.throughput_per_s == pytest.approx(50 / samples.duration_s)

    def test_of_the_warm_up_they_are_not_counted(self) -> None:
        def call(index: int) -> None:
            if index < 3:
                raise ValueError("cold")

        samples = measure(call, lambda index: index, ClosedLoop(), runs=10, warmup=3)

        assert samples.errors == {}

    def test_an_exit_is_an_error_of_its_call(self) -> None:
        def call(_: object) -> None:
            raise SystemExit(3)

        samples = measure(call, 0, ClosedLoop(), runs=2)

        assert samples.errors == {"SystemExit: 3": 2}

    def test_rare_kinds_are_counted_together(self) -> None:
        def call(index: int) -> None:
            raise ValueError(f"number {min(index, 90)}")

        samples = measure(call, lambda index: index, ClosedLoop(), runs=100)

        assert len(samples.errors) == 51
        assert samples.errors["ValueError: number 90"] == 10
        assert samples.errors["others"] == 41

    def test_what_the_inputs_raise_is_raised(self) -> None:
        def inputs(index: int) -> int:
            raise LookupError(f"no input {index}")

        with pytest.raises(LookupError, match="no input 0"):
            measure(lambda _: None, inputs, ClosedLoop(), runs=1)


class TestEnds:
    def test_an_interrupt_gives_back_what_was_measured(self) -> None:
        def call(index: int) -> None:
            if index == 7:
                raise KeyboardInterrupt

        samples = measure(call, lambda index: index, ClosedLoop(), runs=1000, warmup=2)

        assert samples.interrupted
        assert samples.errors == {"KeyboardInterrupt": 1}
        assert samples.count >= 6

    def test_an_interrupt_in_the_warm_up_gives_back_nothing(self) -> None:
        def call(index: int) -> None:
            raise KeyboardInterrupt

        samples = measure(call, lambda index: index, ClosedLoop(), runs=10, warmup=10**6)

        assert samples.interrupted
        assert samples.count == 0

    def test_an_interrupt_in_the_warm_up_of_all_calls_at_once_ends_it_too(self) -> None:
        def call(index: int) -> None:
            raise KeyboardInterrupt

        samples = measure(call, lambda index: index, Offline(2), runs=10, warmup=10)

        assert samples.interrupted
        assert samples.count == 0

    def test_a_second_interrupt_also_gives_up_waiting_for_calls_that_run(self) -> None:
        entered, go_on = Event(), Event()

        def call(_: object) -> None:
            entered.set()
            go_on.wait(timeout=20)

        class Interrupting(SystemClock):
            """Ctrl-C whenever the measuring thread waits: for calls, and for the last ones to end."""

            @staticmethod
            def wait(gate: Gate, timeout_s: float | None) -> bool:
                assert entered.wait(timeout=10)
                raise KeyboardInterrupt

        samples = measure(call, 0, ClosedLoop(), runs=10, clock=Interrupting())
        go_on.set()

        assert samples.interrupted
        assert (samples.count, samples.unfinished) == (0, 1)

    @pytest.mark.stress
    def test_real_interrupts_at_any_time_give_back_what_was_measured_and_leave_no_caller(self) -> None:
        main, before = threading.get_ident(), set(threading.enumerate())

        for at in range(0, 400, 20):

            def call(index: int, at: int = at) -> None:
                if index == at:
                    signal.pthread_kill(main, signal.SIGINT)
                Gate().wait(0.0001)

            samples = measure(call, lambda index: index, ClosedLoop(3), runs=10**9, limit_s=20.0)

            assert samples.interrupted
            assert samples.invalid == ()
        assert set(threading.enumerate()) <= before

    def test_at_its_limit_it_gives_back_what_was_measured_and_says_so(self) -> None:
        samples = measure(lambda _: None, 0, ClosedLoop(), runs=10**9, limit_s=0.05)

        assert samples.count > 0
        assert samples.invalid == ("it was ended by its limit of 0.05 s before it had all its calls",)

    def test_a_call_that_never_ends_is_not_waited_for_for_ever(self) -> None:
        go_on = Event()

        samples = measure(lambda _: go_on.wait(timeout=20), 0, ClosedLoop(), duration_s=0.05, grace_s=0.05)
        go_on.set()

        assert (samples.count, samples.unfinished) == (0, 1)
        assert "1 of 1 calls had not ended 0.05 s after the window" in samples.invalid[0]
        assert samples.error_share == 1.0

    def test_progress_is_told_to_the_end(self) -> None:
        told: list[tuple[int, int | None]] = []

        measure(
            lambda _: None,
            0,
            ClosedLoop(),
            runs=20,
            progress=lambda done, total, s: told.append((done, total)),
        )

        assert told[-1] == (20, 20)

    def test_progress_knows_how_many_calls_a_rate_will_make(self) -> None:
        told: list[int | None] = []

        measure(
            lambda _: None,
            0,
            OpenLoop(500.0),
            duration_s=0.02,
            progress=lambda done, total, elapsed_s: told.append(total),
        )

        assert set(told) == {10}

    def test_a_progress_that_raises_ends_it(self) -> None:
        def progress(*_: object) -> None:
            raise BrokenPipeError("nobody listens")

        with pytest.raises(BrokenPipeError, match="nobody listens"):
            measure(lambda _: None, 0, ClosedLoop(), runs=10**9, progress=progress)


class TestOpenLoop:
    def test_a_stall_shows_in_every_call_that_it_held_up(self, clock: FakeClock, start: Start) -> None:
        # 10 calls a second for 3 s, of no cost, but from 1 to 2 s the target stands still.
        frozen_from, thawed_at = 101.02, 102.02

        def call(_: object) -> None:
            if frozen_from - 1e-6 <= clock.now() < thawed_at:
                clock.wait(Gate(), thawed_at - clock.now())

        load = OpenLoop(10.0, "constant")
        running = start(measure, call, 0, load, duration_s=3.0, clock=clock)
        samples = self.until_done(clock, running)

        assert len(samples.latency_s) == 30
        assert samples.latency_s.max() == pytest.approx(1.0, abs=1e-6)
        assert samples.latency_s.mean() == pytest.approx(0.18333, abs=1e-5)
        assert samples.throughput_per_s == pytest.approx(10.0)
        assert samples.invalid == samples.caveats == ()

    def until_done(self, clock: FakeClock, running: Any) -> Samples:
        # The foreman, nine callers that are free, and one more for each call that is held up.
        clock.until_sleeping(10)
        for tenth in range(30):
            clock.advance(100.02 + tenth / 10 + 1e-9 - clock.now())
            if tenth < 29:
                clock.until_sleeping(10 + min(max(tenth - 9, 0), 10))
        result: Samples = running.result(timeout=10)
        return result

    def test_the_same_stall_is_hidden_from_a_caller_in_a_loop_and_the_report_says_so(
        self, clock: FakeClock
    ) -> None:
        def call(index: int) -> None:
            clock.advance(1.0 if index == 10 else 0.125)

        samples = measure(call, lambda index: index, ClosedLoop(), duration_s=3.0, clock=clock)

        assert (samples.latency_s > 0.5).sum() == 1
        assert "cannot see what a stall does" in samples.caveats[0]

    def test_a_generator_that_is_late_by_itself_is_told(self) -> None:
        stuck = Event()

        def inputs(index: int) -> int:
            if index == 5:
                stuck.wait(timeout=0.05)  # made too slowly
            return index

        samples = measure(lambda _: None, inputs, OpenLoop(500.0, "constant"), runs=20)

        assert any("the generator was late by itself" in reason for reason in samples.invalid)
        assert samples.lag_s.max() > 0.001

    def test_calls_that_wait_for_a_caller_are_late_by_no_fault_of_the_generator(
        self, clock: FakeClock, start: Start
    ) -> None:
        load = OpenLoop(1.0, "constant", max_in_flight=1)

        def call(index: int) -> None:
            if index < 3:
                clock.wait(Gate(), 2.0)

        running = start(measure, call, lambda index: index, load, runs=3, clock=clock)
        for step in (0.02, 2.0, 2.0, 2.0):
            clock.until_sleeping(2)  # the foreman, the only caller
            clock.advance(step)
        samples = running.result(timeout=10)

        assert samples.latency_s.round(6).tolist() == [2.0, 3.0, 4.0]
        assert samples.lag_s.max() == 0.0
        assert samples.invalid == ()

    def test_calls_that_do_not_end_make_it_invalid(self) -> None:
        go_on = Event()

        samples = measure(
            lambda _: go_on.wait(timeout=20),
            0,
            OpenLoop(1000.0, "constant", max_in_flight=2),
            runs=20,
            grace_s=0.05,
        )
        go_on.set()

        assert samples.unfinished == 20
        assert samples.error_share == 1.0


class TestOtherLoads:
    def test_all_at_once_counts_from_one_start_to_the_last_end(self, clock: FakeClock, start: Start) -> None:
        running = start(measure, lambda _: clock.wait(Gate(), 1.0), 0, Offline(2), runs=4, clock=clock)

        clock.until_sleeping(3)  # the foreman, and both callers before the start
        clock.advance(0.02)
        for _ in range(2):
            clock.until_sleeping(3)
            clock.advance(1.0)
        samples = running.result(timeout=10)

        assert samples.latency_s.round(6).tolist() == [1.0, 1.0, 2.0, 2.0]
        assert samples.throughput_per_s == pytest.approx(2.0)
        assert samples.invalid == ()

    def test_the_warm_up_of_all_at_once_is_not_counted(self) -> None:
        seen: list[int] = []

        samples = measure(seen.append, 7, Offline(2), runs=10, warmup=5)

        assert samples.count == 10
        assert len(seen) >= 15

    def test_a_query_lasts_as_long_as_its_slowest_call(self, clock: FakeClock, start: Start) -> None:
        def call(cost_s: float) -> None:
            if cost_s:
                clock.wait(Gate(), cost_s)

        costs_s = [0.25, 0.75, 0.25, 0.75]
        inputs = lambda index: costs_s[index] if index < 4 else 0.0  # noqa: E731 - one line tells it best
        running = start(measure, call, inputs, Queries(2), runs=2, clock=clock)
        for sleepers, step in [(3, 0.25), (2, 0.5), (3, 0.25), (2, 0.5)]:
            clock.until_sleeping(sleepers)  # the foreman, and who is in a call
            clock.advance(step)
        samples = running.result(timeout=10)

        assert samples.latency_s.tolist() == [0.75, 0.75]

    def test_a_query_gets_the_next_inputs_all_at_once(self) -> None:
        lock, seen = Lock(), []

        def call(value: int) -> None:
            with lock:
                seen.append(value)

        measure(call, lambda index: index, Queries(3), runs=2)

        assert sorted(seen[:6]) == [0, 1, 2, 3, 4, 5]


class TestInputs:
    def test_a_function_gives_the_value_of_each_index(self) -> None:
        assert [input_at(lambda index: index * 2)(index) for index in range(3)] == [0, 2, 4]

    @pytest.mark.parametrize("values", [["a", "b"], ("a", "b")])
    def test_a_list_or_tuple_is_cycled(self, values: Any) -> None:
        assert [input_at(values)(index) for index in range(3)] == ["a", "b", "a"]

    @pytest.mark.parametrize("value", ["text", b"bytes", None, 3])
    def test_anything_else_is_the_value_of_all(self, value: object) -> None:
        assert input_at(value)(5) == value

    def test_an_array_is_one_value(self) -> None:
        array = np.arange(3)

        assert input_at(array)(1) is array

    def test_an_empty_list_is_refused(self) -> None:
        with pytest.raises(ValueError, match="inputs is empty"):
            input_at([])


@pytest.mark.parametrize(
    ("load", "bounds", "message"),
    [
        (ClosedLoop(), {}, "say how many runs="),
        (ClosedLoop(), {"runs": 0}, "runs must be a whole number, 1 or more, got 0"),
        (ClosedLoop(), {"runs": True}, "runs must be a whole number, 1 or more, got True"),
        (ClosedLoop(), {"runs": 1, "warmup": -1}, "warmup must be a number of calls"),
        (ClosedLoop(), {"duration_s": 0.0}, "duration_s must be seconds, above 0"),
        (ClosedLoop(), {"duration_s": float("nan")}, "duration_s must be seconds, above 0"),
        (ClosedLoop(), {"runs": 1, "warmup_s": -1.0}, "warmup_s must be seconds, 0 or more"),
        (ClosedLoop(), {"runs": 1, "limit_s": 0.0}, "limit_s must be seconds, above 0"),
        (Offline(), {"duration_s": 1.0}, "give runs=, and no duration_s="),
    ],
)
def test_bounds_that_cannot_be_are_refused(load: Load, bounds: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        measure(lambda _: None, 0, load, **bounds)
