"""One step's span, told apart: the wait before it and its own time, and what batches it was in.

Knows spans and traces. Knows nothing of how they were recorded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from ml_pipes.tracing import WAIT, InvocationTrace, StepSpan, mean_trace

__all__ = ["batch_spans", "turn_spans", "words"]

# Of an error's text: a trace may be kept for long.
_MOST_CHARACTERS: Final = 2000


def turn_spans(plain: StepSpan, turn_at: float) -> Iterator[StepSpan]:
    """Of a step in which calls take turns: the wait until its turn came, at ``turn_at``, and its own time."""
    came = turn_at >= plain.start_time  # else the turn was an earlier call's, and this one's never came
    yield _wait_before(plain, turn_at) if came else replace(plain, label=plain.label + WAIT)
    if came:
        yield replace(plain, start_time=turn_at, duration_s=plain.end_time - turn_at)


def batch_spans(
    plain: StepSpan, times: tuple[float | None, float | None], runs: Sequence[InvocationTrace]
) -> Iterator[StepSpan]:
    """Of a step in which callers meet: the wait for its batch, and the batch's run.

    Args:
        plain: the span of both.
        times: when the caller's first batch left and its last was done, seconds; None where it saw neither.
        runs: those of its batches, one and the same for all who were in them.
    """
    started_at, ended_at = times
    if started_at is None:  # the caller stopped waiting
        yield replace(plain, label=plain.label + WAIT)
        return
    yield _wait_before(plain, started_at)
    # A caller may have stopped waiting while its batch ran: its span ends when it left.
    ended = plain.end_time if ended_at is None else min(plain.end_time, ended_at)
    yield replace(
        plain,
        start_time=started_at,
        duration_s=ended - started_at,
        child_trace=_mean_of_batches(runs),
        runs=tuple(runs),
    )


def words(error: BaseException) -> str:
    """What an error says, so that it can be written anywhere; a long text is cut."""
    try:
        # A file name may hold half characters, which no file and no exporter can write.
        text = str(error).encode("utf-8", "backslashreplace").decode()
    except Exception:  # an error that cannot be shown must not become another one
        return "<an error whose text cannot be made>"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}… ({len(text):,} characters)"


def _wait_before(plain: StepSpan, until: float) -> StepSpan:
    """Until something of the step itself happened nothing can have gone wrong in it."""
    return StepSpan(
        plain.label + WAIT,
        plain.start_time,
        until - plain.start_time,
        operator_type=plain.operator_type,
        thread=plain.thread,
    )


def _mean_of_batches(runs: Sequence[InvocationTrace]) -> InvocationTrace | None:
    if len(runs) <= 1:
        return runs[0] if runs else None
    sizes = [run.batch_size or 0.0 for run in runs]
    return mean_trace(runs, sum(sizes) / len(sizes))
