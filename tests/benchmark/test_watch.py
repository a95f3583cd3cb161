"""The machine, looked at now and then."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from ml_pipes._threads.clock import now
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.benchmark.hardware import hardware
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.watch import Watch, read_now


def test_it_reads_at_the_start_at_the_end_and_every_so_often_between(clock: FakeClock) -> None:
    with Watch(0.5, clock) as watch:
        for _ in range(2):
            clock.until_sleeping(1)
            clock.advance(0.5)
        clock.until_sleeping(1)

    assert [reading.at_s for reading in watch.readings] == [100.0, 100.5, 101.0, 101.0]


def test_cpu_times_never_fall_and_memory_is_more_than_a_mebibyte() -> None:
    first, second = read_now(), read_now()

    assert second.process_cpu_s >= first.process_cpu_s > 0.0
    assert second.machine_cpu_s >= first.machine_cpu_s
    assert first.memory_bytes > 2**20


def test_without_psutil_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)

    with pytest.raises(
        ImportError, match=r'needs psutil; install it with: pip install "ml-pipes\[benchmark\]"'
    ):
        read_now()


class FakeCards:
    """NVIDIA's library with one card."""

    def __init__(self) -> None:
        self.is_open = False

    def nvmlInit(self) -> None:  # noqa: N802 - the library's name
        self.is_open = True

    def nvmlShutdown(self) -> None:  # noqa: N802 - the library's name
        self.is_open = False

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802 - the library's name
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:  # noqa: N802 - the library's name
        return index

    def nvmlDeviceGetName(self, handle: int) -> bytes:  # noqa: N802 - the library's name
        return b"H200"

    def nvmlDeviceGetMemoryInfo(self, handle: int) -> Any:  # noqa: N802 - the library's name
        return type("Memory", (), {"used": 3, "total": 8})

    def nvmlDeviceGetUtilizationRates(self, handle: int) -> Any:  # noqa: N802 - the library's name
        return type("Rates", (), {"gpu": 25})


def test_cards_are_read_where_their_library_is_there(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    library = FakeCards()
    monkeypatch.setitem(sys.modules, "pynvml", library)

    with Watch(0.5, clock) as watch:
        assert library.is_open

    assert watch.readings[0].gpus == (("H200", 0.25, 3, 8),)
    assert not library.is_open


def test_cards_are_left_out_where_it_is_not(monkeypatch: pytest.MonkeyPatch, clock: FakeClock) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)

    with Watch(0.5, clock) as watch:
        pass

    assert watch.readings[0].gpus == ()


def test_where_it_cannot_begin_the_cards_library_is_let_go(
    monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    library = FakeCards()
    monkeypatch.setitem(sys.modules, "pynvml", library)
    monkeypatch.setitem(sys.modules, "psutil", None)

    with pytest.raises(ImportError, match="needs psutil"), Watch(0.5, clock):
        pass

    assert not library.is_open


@pytest.mark.stress
def test_another_process_that_works_is_foreign_and_ours_is_not() -> None:
    busy = (
        "import sys, time\n"
        "print('on', flush=True)\n"
        "sys.stdin.read(1)\n"
        "until = time.process_time() + 0.5\n"
        "while time.process_time() < until: pass\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "on\n"
        with Watch(0.05) as watch:
            since_s = now()
            other.communicate("x", timeout=30)
            until_s = now()
    none = np.zeros(0)
    window = Samples(none, none, none, none, since_s=since_s, until_s=until_s)

    found = hardware(window, watch.readings)

    # The other one worked for half a second; we waited. The system counts in hundredths of a second.
    assert found.foreign_cpus * found.duration_s > 0.4
    assert found.process_cpus * found.duration_s < 0.25
