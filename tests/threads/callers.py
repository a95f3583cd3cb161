"""Calls on threads of their own that begin at once, what they left behind, and a hang as a failure.

Knows threads and pipelines. Knows nothing of what is called.
"""

from __future__ import annotations

import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from ml_pipes.core import Pipeline

__all__ = ["Hang", "at_once", "busy", "left_after_close", "our_threads", "stacks"]

ResultT = TypeVar("ResultT")

_OURS = "ml_pipes"
# What a pipeline counts of those who are in it; all are 0 when nobody calls it.
_COUNTS_OF_THE_PRESENT = {"waiting", "running", "inside", "expected", "upstream", "in_flight"}


class Hang(BaseException):
    """Calls did not end; no ``Exception``, since to look for a smaller example would hang again and again."""


def at_once(calls: Iterable[Callable[[], ResultT]], within_s: float, what: object) -> list[ResultT]:
    """The results of the calls, each made on a thread of its own, all begun together.

    Args:
        calls: functions that raise nothing.
        within_s: seconds after which they hang.
        what: is shown when they do.

    Raises:
        Hang: they did not all end in time; shows where each thread is.
    """
    todo = list(calls)
    results: dict[int, ResultT] = {}
    barrier = threading.Barrier(len(todo))

    def work(at: int, call: Callable[[], ResultT]) -> None:
        barrier.wait(timeout=within_s)
        results[at] = call()

    # Daemons: those that hang must not keep the interpreter from ending.
    threads = [threading.Thread(target=work, args=pair, daemon=True) for pair in enumerate(todo)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + within_s
    for thread in threads:
        thread.join(max(0.0, until - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        raise Hang(f"calls did not end within {within_s} s:\n{what}\n\n{stacks(threads)}")
    return [results[at] for at in range(len(todo))]


def our_threads() -> set[threading.Thread]:
    """The threads that pipelines have started and that live."""
    return {thread for thread in threading.enumerate() if thread.name.startswith(_OURS)}


def left_after_close(
    pipelines: Iterable[Pipeline[Any, Any]], before: set[threading.Thread], within_s: float = 10.0
) -> list[str]:
    """Close them; the names of the threads beyond ``before`` that do not end."""
    for pipeline in pipelines:
        pipeline.close()
    more = our_threads() - before
    until = time.monotonic() + within_s
    for thread in more:
        thread.join(max(0.0, until - time.monotonic()))
    return sorted(thread.name for thread in more if thread.is_alive())


def busy(pipeline: Any, within_s: float = 5.0) -> list[str]:
    """What its ``stats()``, where it has them, still count of callers; empty when nobody is in it.

    Items of a caller that left at its deadline end by themselves: they are given ``within_s`` seconds.
    """
    stats = getattr(pipeline, "stats", None)
    if stats is None:
        return []
    until = time.monotonic() + within_s
    while (counts := list(_nonzero(stats(), "stats"))) and time.monotonic() < until:
        threading.Event().wait(0.001)  # nothing tells when they end
    return counts


def _nonzero(stats: Any, place: str) -> Iterator[str]:
    if isinstance(stats, Mapping):
        pairs: Iterable[tuple[Any, Any]] = stats.items()
    elif isinstance(stats, list | tuple) and not hasattr(stats, "_fields"):
        pairs = enumerate(stats)
    else:
        names: Iterable[str] = getattr(type(stats), "__dataclass_fields__", getattr(stats, "_fields", ()))
        pairs = [(name, getattr(stats, name)) for name in names]
    for name, value in pairs:
        if name in _COUNTS_OF_THE_PRESENT and isinstance(value, int) and value != 0:
            yield f"{place}.{name} = {value}"
        elif not isinstance(value, int | float | str):
            yield from _nonzero(value, f"{place}.{name}")


def stacks(threads: Iterable[threading.Thread]) -> str:
    """Where each of these threads, and of the pipelines', is now."""
    frames = sys._current_frames()
    shown = [thread for thread in {*threads, *our_threads()} if thread.is_alive()]
    return "\n".join(
        f"{thread.name}:\n{''.join(traceback.format_stack(frames[thread.ident])[-12:])}"
        for thread in shown
        if thread.ident in frames
    )
