"""What happened in a run, written down while it happens, and the twin that writes nothing.

A step costs one tuple; spans are made of the tuples when somebody reads them.
Knows steps and times. Knows nothing of how steps are run.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, cast

from ml_pipes._engine.plan import Step
from ml_pipes._threads.clock import now, thread_id
from ml_pipes._threads.ticket import Ticket
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.tracing import InvocationTrace, StepSpan, mean_trace

__all__ = ["NO_RECORD", "NO_REGION", "NoRecord", "NoRegion", "Recorder", "RegionRecord"]


class RegionRecord:
    """The runs of one region's body within one run of the steps around it."""

    __slots__ = ("_traces", "closed", "is_complete", "runs", "ticket")

    def __init__(self) -> None:
        self.closed = False
        self.is_complete = True
        self.runs: list[Recorder] = []
        self.ticket: Ticket | None = None
        self._traces: tuple[InvocationTrace, ...] | None = None

    def traces(self, batch_size: int) -> tuple[InvocationTrace, ...]:
        """The runs as traces, made once: all members of a batch hold the very same."""
        if self._traces is None:
            self._traces = tuple(run.trace(batch_size) for run in self.runs)
        return self._traces

    def run(self, item: int | None) -> Recorder | NoRecord:
        """A recorder for one more run of the body, on any thread.

        A stream may be read after its call, without end: what comes after the delivery is not recorded.
        """
        if self.closed:
            return NO_RECORD
        recorder = Recorder(item)
        self.runs.append(recorder)
        return recorder


class Recorder:
    """One run: a row per step ``(step, started, ended, error, dropped, region)``."""

    __slots__ = ("_count", "_region", "_regions", "_rows", "_started", "_thread", "item")

    def __init__(self, item: int | None = None) -> None:
        self.item = item
        self._rows: list[tuple[Step, float, float, bool, bool, RegionRecord | None]] = []
        self._count: int | None = None
        self._region: RegionRecord | None = None
        self._regions: list[RegionRecord] | None = None
        self._thread = thread_id()
        self._started = now()

    def region(self) -> RegionRecord:
        """The record of the region that runs next; it goes into the next row."""
        self._region = region = RegionRecord()
        self._regions = [*(self._regions or ()), region]
        return region

    def add(self, step: Step, started: float, value: Any, *, error: bool = False) -> None:
        """The step ended now, with this value or with an error."""
        region = self._region
        if region is not None:
            self._region = None
            # A caller that an interrupt took out of a batch does not know how its run goes on.
            region.is_complete = region.ticket is None or region.ticket.done
        self._rows.append((step, started, now(), error, value is SHORT_CIRCUIT, region))

    @property
    def failed(self) -> bool:
        """The run ended with an error."""
        return bool(self._rows) and self._rows[-1][3]

    @property
    def dropped(self) -> bool:
        """The run ended with a short-circuit."""
        return bool(self._rows) and self._rows[-1][4]

    def _close(self) -> None:
        """Nothing that comes later, on whichever thread, belongs to the trace any more."""
        self._count = len(self._rows)
        for region in self._regions or ():
            if region.ticket is not None:
                continue  # a batch's run belongs to all its members, and may be going on for the others
            region.closed = True
            for run in region.runs:
                run._close()  # noqa: SLF001 - of its own kind

    def trace(self, batch_size: float | None = None) -> InvocationTrace:
        """The run as a trace, in which nothing changes any more."""
        self._close()
        ended = self._rows[-1][2] if self._rows else self._started
        started = self._started
        return InvocationTrace.later(
            self._spans, (ended - started, batch_size, None, started, self._thread, self.item)
        )

    def _spans(self) -> Iterator[StepSpan]:
        for step, started, ended, error, dropped, region in self._rows[: self._count]:
            if region is None:
                yield StepSpan(
                    step.label,
                    started,
                    ended - started,
                    error,
                    attributes={"dropped": 1} if dropped else {},
                    operator_type=_type(step.operator),
                    thread=self._thread,
                )
            elif region.ticket is None:
                yield _region_span(step, started, ended, error, region.runs, self._thread)
            else:
                yield from _ticket_spans(step, (started, ended), error, region, self._thread)


def _region_span(
    step: Step, started: float, ended: float, error: bool, runs: list[Recorder], thread: int
) -> StepSpan:
    workers = getattr(step.operator, "max_concurrency", None)
    traces = tuple(run.trace() for run in sorted(runs, key=lambda run: run.item or 0))
    return StepSpan(
        step.label,
        started,
        ended - started,
        error,
        attributes=_counts(runs, "raise" if error else getattr(step.operator, "on_error", "raise")),
        child_trace=mean_trace(traces, len(runs), workers),
        operator_type=_type(step.operator),
        runs=traces,
        thread=thread,
    )


def _counts(runs: list[Recorder], on_error: str) -> dict[str, int]:
    """What became of a region's items; a failure that was not raised is a result, or a gap."""
    dropped, failed = sum(run.dropped for run in runs), sum(run.failed for run in runs)
    counts = {"seen": len(runs), "emitted": len(runs) - dropped - failed, "dropped": dropped}
    kept_as = {"return": "emitted", "drop": "dropped"}.get(on_error)
    if failed and kept_as is not None:
        counts[kept_as] += failed
        counts["failed"] = failed
    return counts


def _ticket_spans(
    step: Step, span_s: tuple[float, float], error: bool, region: RegionRecord, thread: int
) -> Iterator[StepSpan]:
    """A wait and the batch's run apart; the run is one and the same for all who were in the batch."""
    ticket = cast(Ticket, region.ticket)
    kind = _type(step.operator)
    joined, ended = span_s
    left = ended if ticket.started_at is None else ticket.started_at
    wait = StepSpan(f"{step.label}[wait]", joined, left - joined, operator_type=kind, thread=thread)
    if ticket.started_at is None:  # the caller stopped waiting
        yield replace(wait, error=error)
        return
    record = getattr(ticket.runner, "record", NO_REGION)
    runs = record.traces(ticket.batch_size) if region.is_complete else ()
    # A caller may have stopped waiting while its batch ran: its span ends when it left.
    batch_ended = ended if ticket.ended_at is None else min(ended, ticket.ended_at)
    yield wait
    yield StepSpan(
        step.label,
        left,
        batch_ended - left,
        error,
        child_trace=runs[0] if runs else None,
        operator_type=kind,
        runs=runs,
        thread=thread,
    )


def _type(operator: Any) -> type | None:
    """The operator's class; None for a function, whose class says nothing and cannot be pickled."""
    return None if inspect.isroutine(operator) else type(operator)


class NoRegion:
    """The twin of a region's record."""

    __slots__ = ()

    def traces(self, batch_size: int) -> tuple[InvocationTrace, ...]:  # noqa: ARG002 # as below
        """No runs."""
        return ()

    def run(self, item: int | None) -> NoRecord:  # noqa: ARG002 # the twin takes what the original takes
        """The twin of a run's recorder."""
        return NO_RECORD


class NoRecord:
    """The twin of a recorder, for runs that nobody traces."""

    __slots__ = ()

    def region(self) -> NoRegion:
        """The twin of the region's record."""
        return NO_REGION

    def add(self, step: Step, started: float, value: Any, *, error: bool = False) -> None:
        """Nothing is written."""


NO_RECORD: Final = NoRecord()
NO_REGION: Final = NoRegion()
