"""The machine, looked at now and then while something is measured.

Knows what the operating system and NVIDIA's library count. Knows nothing of what is measured.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, NamedTuple, Self

from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes._threads.ticker import Ticker

__all__ = ["GpuReading", "Reading", "Watch", "read_gpus", "read_now"]


class GpuReading(NamedTuple):
    """A graphics card at a moment.

    Attributes:
        name: its name.
        busy_share: of the last moments, the share in which a kernel ran, 0 to 1.
        memory_bytes: in use, by whomever.
        memory_total_bytes: all of it.
    """

    name: str
    busy_share: float
    memory_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True)
class Reading:
    """The machine at a moment. CPU times only grow; what counts is their difference.

    Attributes:
        at_s: when, seconds of the clock.
        process_cpu_s: CPU that this process has used, all its threads, seconds.
        machine_cpu_s: CPU that the machine has used, stolen time too, seconds.
        memory_bytes: what this process has in memory.
        gpus: the graphics cards, where NVIDIA's library is there and sees any.
    """

    at_s: float
    process_cpu_s: float
    machine_cpu_s: float
    memory_bytes: int
    gpus: tuple[GpuReading, ...] = ()


class Watch:
    """``with Watch() as watch:`` reads at the start, at the end, and every so often between.

    A reading takes about a tenth of a millisecond, on a thread of its own.

    Args:
        every_s: seconds between readings.
        clock: tells the time.

    Attributes:
        readings: so far.

    Raises:
        ImportError: psutil is not there (when it is entered).
    """

    def __init__(self, every_s: float = 0.2, clock: Clock = CLOCK) -> None:
        self.readings: list[Reading] = []
        self._clock = clock
        self._ticker = Ticker(self._read, every_s, "watch", clock)
        self._cards = _Cards()

    def __enter__(self) -> Self:
        self._cards.open()
        try:
            self._read()
            self._ticker.start()
        except BaseException:
            self._cards.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._ticker.stop()
            self._read()
        finally:
            self._cards.close()

    def _read(self) -> None:
        self.readings.append(read_now(self._clock, self._cards.read()))


def read_now(clock: Clock = CLOCK, gpus: tuple[GpuReading, ...] = ()) -> Reading:
    """The machine now.

    Raises:
        ImportError: psutil is not there.
    """
    try:
        import psutil
    except ImportError as missing:
        raise ImportError(
            'watching the machine needs psutil; install it with: pip install "ml-pipes[benchmark]"',
            name="psutil",
        ) from missing
    at_s = clock.now()
    process_cpu_s = time.process_time()
    machine = psutil.cpu_times()
    # Guests' time is part of user's already.
    idle = {"idle", "iowait", "guest", "guest_nice"}
    used_s = sum(value for name, value in machine._asdict().items() if name not in idle)
    return Reading(at_s, process_cpu_s, used_s, psutil.Process(os.getpid()).memory_info().rss, gpus)


def read_gpus() -> tuple[GpuReading, ...]:
    """The graphics cards now; none where NVIDIA's library is missing, or sees none."""
    cards = _Cards()
    cards.open()
    try:
        return cards.read()
    finally:
        cards.close()


class _Cards:
    """NVIDIA's library, where it is there: whatever it cannot tell is left out without a word."""

    def __init__(self) -> None:
        self._nvml: Any = None
        self._handles: list[Any] = []

    def open(self) -> None:
        """Find the cards."""
        with contextlib.suppress(Exception):
            import pynvml

            pynvml.nvmlInit()
            self._nvml = pynvml
            self._handles = [
                pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())
            ]

    def read(self) -> tuple[GpuReading, ...]:
        """Each card now."""
        readings: list[GpuReading] = []
        for handle in self._handles:
            with contextlib.suppress(Exception):
                readings.append(self._one(handle))
        return tuple(readings)

    def close(self) -> None:
        """Let the library go."""
        if self._nvml is not None:
            with contextlib.suppress(Exception):
                self._nvml.nvmlShutdown()
        self._nvml, self._handles = None, []

    def _one(self, handle: Any) -> GpuReading:
        memory = self._nvml.nvmlDeviceGetMemoryInfo(handle)
        name = self._nvml.nvmlDeviceGetName(handle)
        return GpuReading(
            name=name.decode() if isinstance(name, bytes) else str(name),
            busy_share=self._nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100.0,
            memory_bytes=int(memory.used),
            memory_total_bytes=int(memory.total),
        )
