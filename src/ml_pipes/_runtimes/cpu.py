"""How many CPUs this process may use, and how many of them its models have taken.

Knows affinity, cgroups and one environment variable. Knows nothing of any runtime.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ml_pipes._threads.turnstile import Turnstile

__all__ = ["CPUS_VARIABLE", "ThreadLease", "leased", "opened_alone", "quota_cpus", "usable_cpus"]

CPUS_VARIABLE = "ML_PIPES_CPUS"

_leases: weakref.WeakSet[ThreadLease] = weakref.WeakSet()
_counting = Turnstile()


class ThreadLease:
    """The threads of one model, counted for as long as this object lives.

    A model that runs on ``threads`` threads is its caller and ``threads - 1``
    workers of its own. By default it gets what the others have left, so that all
    workers together are at most the usable CPUs less one: the caller's. The last
    to come may have no worker and run on its callers' threads alone.

    Attributes:
        threads: caller and workers together, 1 or more.
    """

    def __init__(self, asked: int | None = None) -> None:
        """Take ``asked`` threads, whatever is left; None takes what is left, 1 at least."""
        with _counting.lock:
            workers = sum(lease.threads - 1 for lease in list(_leases))
            self.threads: int = asked if asked is not None else max(1, usable_cpus() - workers)
            _leases.add(self)


def leased(threads: int | None, sessions: int) -> ThreadLease:
    """The threads of all sessions of one model together, counted once: one per session at least.

    Raises:
        ValueError: fewer ``threads`` were asked for than there are sessions.
    """
    if threads is not None and threads < sessions:
        raise ValueError(
            f"Infer: sessions={sessions} with threads={threads}: each session needs a thread; "
            "ask for more threads or fewer sessions"
        )
    lease = ThreadLease(threads)
    return lease if lease.threads >= sessions else ThreadLease(sessions)


@contextmanager
def opened_alone() -> Iterator[None]:
    """Let models that are opened inside take CPUs as if no other were open: for those that take turns.

    By default a model takes the CPUs that those before it have left: of two that are compared, one after
    the other, the second would be slower for that alone.
    """
    with _counting.lock:
        others = list(_leases)
        _leases.clear()
    try:
        yield
    finally:
        with _counting.lock:
            _leases.update(others)


def usable_cpus() -> int:
    """CPUs that this process may use: those it may run on, within its container's share.

    The environment variable ``ML_PIPES_CPUS`` wins over both. A share that is not
    whole is rounded down, since more threads than the share are stopped in turns;
    it is 1 at least.

    Raises:
        ValueError: the variable is set to something other than a whole number from 1 up.
    """
    said = os.environ.get(CPUS_VARIABLE, "").strip()
    if said:
        if not said.isdecimal() or int(said) < 1:
            raise ValueError(f"{CPUS_VARIABLE} must be a whole number, 1 or more, got {said!r}")
        return int(said)
    quota = quota_cpus()
    return max(1, _allowed_cpus() if quota is None else min(_allowed_cpus(), int(quota)))


def quota_cpus(proc: Path = Path("/proc/self/cgroup"), root: Path = Path("/sys/fs/cgroup")) -> float | None:
    """CPUs' worth of time that the process's control group may use, version 1 or 2; None when unlimited.

    A group's parents limit it too, so the smallest quota on the way up counts.
    """
    limits = [limit for folder in _groups(proc, root) if (limit := _limit_of(folder)) is not None]
    return min(limits, default=None)


def _allowed_cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _groups(proc: Path, root: Path) -> list[Path]:
    """The folders of the process's control group and of its parents, where they can be seen."""
    folders: list[Path] = []
    for line in _text(proc).splitlines():
        _, controllers, group = [*line.split(":", 2), "", ""][:3]
        mounts = [root, root / "unified"] if not controllers else [root / "cpu", root / controllers]
        if controllers and "cpu" not in controllers.split(","):
            continue
        for mount in mounts:
            # In a container the path may be the host's, which cannot be seen: the mount is the group then.
            inner = Path(group.lstrip("/"))
            folders += [mount / part for part in (inner, *inner.parents)]
    return folders


def _limit_of(folder: Path) -> float | None:
    quota, period = [*_text(folder / "cpu.max").split(), "", ""][:2]
    if not quota:
        quota, period = (
            _text(folder / "cpu.cfs_quota_us").strip(),
            _text(folder / "cpu.cfs_period_us").strip(),
        )
    if not quota.isdecimal() or not period.isdecimal() or int(period) == 0:
        return None  # "max" in version 2, -1 in version 1
    return int(quota) / int(period)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


if hasattr(os, "register_at_fork"):
    # The child of a fork has none of the workers that its parent's models took.
    os.register_at_fork(after_in_child=_leases.clear)
