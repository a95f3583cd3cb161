"""What happened in a run, written down while it happens, and the twin that writes nothing.

A step costs one tuple; spans are made of the tuples when somebody reads them.
Knows steps and times. Knows nothing of how steps are run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple, TypeAlias

from ml_pipes._engine.plan import Step
from ml_pipes._engine.spans import batch_spans, turn_spans, words
from ml_pipes._threads.clock import now, thread_id
from ml_pipes._threads.ticket import Ticket
from ml_pipes._threads.turns import last_let_in
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.tracing import (
    InvocationTrace,
    StepSpan,
    TracingConfig,
    mean_trace,
    operator_config,
    shape_of,
)

__all__ = [
    "NO_RECORD",
    "NO_REGION",
    "FullRecorder",
    "NoRecord",
    "NoRegion",
    "Recorder",
    "RecorderKind",
    "RegionRecord",
    "recorder_kind",
]

# What makes the recorder of one more run, from its item's index and what the first step takes.
RecorderKind: TypeAlias = "Callable[[int | None, Any], Recorder]"
# A step, when it started and ended, the error's type and words, whether it dropped, the region that it was,
# and when its turn came.
_Row: TypeAlias = "tuple[Step, float, float, tuple[str, str] | None, bool, RegionRecord | None, float | None]"


class _Batch(NamedTuple):
    """What a trace keeps of a batch: nothing of what its callers brought."""

    record: RegionRecord | NoRegion
    items: int
    participants: int
    own: tuple[int, ...]  # which of the items were the caller's


class RegionRecord:
    """The runs of one region's body within one run of the steps around it, or within one batch."""

    __slots__ = ("_kind", "_traces", "batches", "closed", "runs", "ticket", "times")

    def __init__(self, kind: RecorderKind) -> None:
        self._kind = kind
        self._traces: dict[None, tuple[InvocationTrace, ...]] = {}
        self.closed = False
        self.runs: list[Recorder] = []
        self.ticket: Ticket | None = None
        self.batches: tuple[_Batch, ...] = ()
        self.times: tuple[float | None, float | None] | None = None

    def apart(self) -> RegionRecord:
        """For the runs of one batch alone."""
        return RegionRecord(self._kind)

    def of_batches(self) -> tuple[InvocationTrace, ...]:
        """The runs that the caller's items were in."""
        return tuple(run for batch in self.batches for run in batch.record.traces(batch))

    def traces(self, batch: _Batch) -> tuple[InvocationTrace, ...]:
        """The runs of this batch that had items of the caller's; all members of one hold the same trace."""
        # The first run had them all; more are of a batch that failed and was run again, item by item.
        sizes = ((batch.items, batch.participants), *[(1, 1)] * (len(self.runs) - 1))
        made = self._traces or {
            None: tuple(run.trace(*size) for run, size in zip(self.runs, sizes, strict=False))
        }
        # Two members may read at once: the first to come decides.
        shared, *alone = self._traces.setdefault(None, made[None]) or (None,)
        own = [alone[at] for at in batch.own if at < len(alone)]
        return () if shared is None else (shared, *own)

    def run(self, item: int | None, value: Any) -> Recorder | NoRecord:
        """A recorder for one more run of the body, on any thread.

        A stream may be read after its call, without end: what comes after the delivery is not recorded.
        """
        if self.closed:
            return NO_RECORD
        recorder = self._kind(item, value)
        self.runs.append(recorder)
        return recorder

    def end(self) -> None:
        """The region is over for this caller: what it needs to know of its runs and batches.

        An item that goes on although its caller has left at its deadline is shown up to here. Of a stream
        none has run yet; its items come later.
        """
        for run in self.runs:
            run.freeze()
        ticket = self.ticket
        if ticket is None:
            return
        self.ticket = None  # it holds more than a trace should
        self.times = (ticket.started_at, ticket.ended_at)
        # A caller that an interrupt or a deadline took out of a batch does not know how its run goes on.
        if ticket.done:
            self.batches = tuple(
                _Batch(run.record, run.items, run.participants, run.rows_of(ticket))
                for run in ticket.runs
                if run.settled
            )
            for batch in self.batches:
                batch.record.close()

    def close(self) -> None:
        """Nothing that comes later, on whichever thread, belongs to any trace."""
        self.closed = True
        for run in self.runs:
            run.close()


class Recorder:
    """One run: a row per step."""

    __slots__ = ("_count", "_region", "_regions", "_rows", "_started", "_thread", "item")

    def __init__(self, item: int | None = None, value: Any = None) -> None:  # noqa: ARG002 # for other kinds
        self.item = item
        self._rows: list[_Row] = []
        self._count: int | None = None
        self._region: RegionRecord | None = None
        self._regions: list[RegionRecord] | None = None
        self._thread = thread_id()
        self._started = now()

    @property
    def _kind(self) -> RecorderKind:
        return Recorder

    def region(self) -> RegionRecord:
        """The record of the region that runs next; it goes into the next row."""
        self._region = region = RegionRecord(self._kind)
        self._regions = [*(self._regions or ()), region]
        return region

    def add(self, step: Step, started: float, value: Any, error: BaseException | None = None) -> None:
        """The step ended now, with this value or with an error."""
        region = self._region
        if region is not None:
            self._region = None
            region.end()
        failure = None if error is None else (type(error).__name__, words(error))
        turn_at = last_let_in() if step.takes_turns else None
        self._rows.append((step, started, now(), failure, value is SHORT_CIRCUIT, region, turn_at))

    @property
    def failed(self) -> bool:
        """The run ended with an error."""
        last = self._last
        return last is not None and last[3] is not None

    @property
    def dropped(self) -> bool:
        """The run ended with a short-circuit."""
        last = self._last
        return last is not None and last[4]

    def went_through(self, steps: int) -> bool:
        """It did so many steps, and ended with a result."""
        count = len(self._rows) if self._count is None else self._count
        return count >= steps and not self.failed and not self.dropped

    @property
    def _last(self) -> _Row | None:
        """The newest row that belongs to the trace."""
        count = len(self._rows) if self._count is None else self._count
        return self._rows[count - 1] if count else None

    def freeze(self) -> None:
        """No later step of this run belongs to the trace; who comes first decides."""
        if self._count is None:
            self._count = len(self._rows)

    def close(self) -> None:
        """Nothing that comes later, on whichever thread, belongs to the trace any more."""
        self.freeze()
        for region in self._regions or ():
            region.close()

    def trace(self, batch_size: float | None = None, participants: int | None = None) -> InvocationTrace:
        """The run as a trace, in which nothing changes any more."""
        if self._count is None:
            self._count = len(self._rows)
        if self._regions is not None:
            self.close()
        started = self._started
        ended = self._rows[self._count - 1][2] if self._count else started
        return InvocationTrace.later(
            self._spans,
            (ended - started, batch_size, None, started, self._thread, self.item, participants),
        )

    def _spans(self) -> Iterator[StepSpan]:
        for row in self._rows[: self._count]:
            yield from self._spans_of(row)

    def _spans_of(self, row: _Row) -> Iterator[StepSpan]:
        step, started, ended, failure, dropped, region, turn_at = row
        plain = StepSpan(
            step.label,
            started,
            ended - started,
            failure is not None,
            attributes={"dropped": 1} if dropped else {},
            operator_type=_type(step.operator),
            thread=self._thread,
            error_type=failure and failure[0],
            error_message=failure and failure[1],
        )
        if turn_at is not None:
            yield from turn_spans(plain, turn_at)
        elif region is None:
            yield plain
        elif region.times is None:
            yield _region_span(plain, step, region.runs)
        else:
            yield from batch_spans(plain, region.times, region.of_batches())


class FullRecorder(Recorder):
    """The same, and what a :class:`TracingConfig` asks for of each step."""

    __slots__ = ("_came", "_config", "_kept")

    def __init__(self, config: TracingConfig, item: int | None = None, value: Any = None) -> None:
        super().__init__(item)
        self._config = config
        self._kept: list[dict[str, Any]] = []
        self._came = self._shape(value)

    @property
    def _kind(self) -> RecorderKind:
        return partial(FullRecorder, self._config)

    def add(self, step: Step, started: float, value: Any, error: BaseException | None = None) -> None:
        super().add(step, started, value, error)
        kept: dict[str, Any] = {}
        if self._config.capture_config:
            kept["operator_config"] = operator_config(step.operator)
        if self._config.capture_shapes:
            kept["input_shape"] = self._came
            self._came = kept["output_shape"] = None if error is not None else self._shape(value)
        if self._config.keeps_values:
            kept["output_value"] = value
        self._kept.append(kept)

    def _shape(self, value: Any) -> tuple[Any, ...] | str | None:
        return shape_of(value) if self._config.capture_shapes else None

    def _spans(self) -> Iterator[StepSpan]:
        for row, kept in zip(self._rows[: self._count], self._kept, strict=False):
            for span in self._spans_of(row):
                yield replace(span, **kept)


def recorder_kind(config: TracingConfig | None) -> RecorderKind:
    """What makes the recorders of calls that are traced so."""
    return partial(FullRecorder, config) if config else Recorder


def _region_span(plain: StepSpan, step: Step, runs: list[Recorder]) -> StepSpan:
    workers = getattr(step.operator, "max_concurrency", None)
    traces = tuple(run.trace() for run in sorted(runs, key=lambda run: run.item or 0))
    on_error = "raise" if plain.error else getattr(step.operator, "on_error", "raise")
    return replace(
        plain,
        attributes=_counts(step, runs, on_error),
        child_trace=mean_trace(traces, len(runs), workers),
        runs=traces,
    )


def _counts(step: Step, runs: list[Recorder], on_error: str) -> dict[str, int]:
    """What became of a region's items; a failure that was not raised is a result, or a gap.

    An item whose caller left at its deadline, or whose stream was still at it, is seen and nothing more.
    """
    steps = len(step.body.steps) if step.body is not None else 0
    dropped, failed = sum(run.dropped for run in runs), sum(run.failed for run in runs)
    emitted = sum(run.went_through(steps) for run in runs)
    counts = {"seen": len(runs), "emitted": emitted, "dropped": dropped}
    kept_as = {"return": "emitted", "drop": "dropped"}.get(on_error)
    if failed and kept_as is not None:
        counts[kept_as] += failed
        counts["failed"] = failed
    return counts


def _type(operator: Any) -> type | None:
    """The operator's class; None for a function, whose class says nothing and cannot be pickled."""
    return None if inspect.isroutine(operator) else type(operator)


class NoRegion:
    """The twin of a region's record."""

    __slots__ = ()

    def apart(self) -> NoRegion:
        """For one batch alone."""
        return self

    def traces(self, batch: _Batch) -> tuple[InvocationTrace, ...]:  # noqa: ARG002 # as below
        """No runs."""
        return ()

    def close(self) -> None:
        """Nothing to close."""

    def run(self, item: int | None, value: Any) -> NoRecord:  # noqa: ARG002 # takes what the original takes
        """The twin of a run's recorder."""
        return NO_RECORD


class NoRecord:
    """The twin of a recorder, for runs that nobody traces."""

    __slots__ = ()

    def region(self) -> NoRegion:
        """The twin of the region's record."""
        return NO_REGION

    def add(self, step: Step, started: float, value: Any, error: BaseException | None = None) -> None:
        """Nothing is written."""


NO_RECORD: Final = NoRecord()
NO_REGION: Final = NoRegion()
