"""The CPU budget: what the process may use, and what its models take of it."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ml_pipes._runtimes import cpu
from ml_pipes._runtimes.cpu import ThreadLease, opened_alone, quota_cpus
from ml_pipes.onnx import Infer, usable_cpus


@pytest.fixture(autouse=True)
def _no_other_models() -> None:
    gc.collect()


@pytest.fixture
def eight(monkeypatch) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "8")


def groups(tmp_path: Path, lines: str, files: dict[str, str]) -> float | None:
    (tmp_path / "cgroup").write_text(lines)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return quota_cpus(tmp_path / "cgroup", tmp_path)


def test_a_process_bound_to_one_cpu_may_use_one(monkeypatch) -> None:
    monkeypatch.delenv("ML_PIPES_CPUS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3}, raising=False)

    assert usable_cpus() == 1


def test_a_container_with_a_share_of_two_and_a_half_may_use_two(monkeypatch) -> None:
    monkeypatch.delenv("ML_PIPES_CPUS", raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    monkeypatch.setattr(cpu, "quota_cpus", lambda: 2.5)

    assert usable_cpus() == 2


def test_less_than_one_cpu_is_still_one(monkeypatch) -> None:
    monkeypatch.delenv("ML_PIPES_CPUS", raising=False)
    monkeypatch.setattr(cpu, "quota_cpus", lambda: 0.3)

    assert usable_cpus() == 1


def test_the_variable_wins(eight) -> None:
    assert usable_cpus() == 8


@pytest.mark.parametrize("text", ["0", "-1", "two", "1.5"])
def test_a_variable_that_is_no_number_of_cpus_is_refused(monkeypatch, text: str) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", text)

    with pytest.raises(ValueError, match=f"ML_PIPES_CPUS must be a whole number, 1 or more, got '{text}'"):
        usable_cpus()


def test_a_quota_of_control_groups_version_2_is_read(tmp_path: Path) -> None:
    assert groups(tmp_path, "0::/box\n", {"box/cpu.max": "150000 100000\n"}) == 1.5


def test_the_smallest_quota_on_the_way_up_counts(tmp_path: Path) -> None:
    files = {"outer/cpu.max": "200000 100000\n", "outer/inner/cpu.max": "max 100000\n"}

    assert groups(tmp_path, "0::/outer/inner\n", files) == 2.0


def test_a_quota_of_control_groups_version_1_is_read(tmp_path: Path) -> None:
    files = {"cpu,cpuacct/cpu.cfs_quota_us": "300000\n", "cpu,cpuacct/cpu.cfs_period_us": "100000\n"}

    assert groups(tmp_path, "4:memory:/x\n3:cpu,cpuacct:/not/seen/in/here\n", files) == 3.0


@pytest.mark.parametrize("quota", ["-1\n", ""])
def test_no_quota_is_no_limit(tmp_path: Path, quota: str) -> None:
    files = {"cpu/cpu.cfs_quota_us": quota, "cpu/cpu.cfs_period_us": "100000\n"}

    assert groups(tmp_path, "3:cpu:/\n", files) is None


def test_no_control_groups_are_no_limit(tmp_path: Path) -> None:
    assert quota_cpus(tmp_path / "nothing", tmp_path) is None


def test_the_first_takes_what_there_is_and_the_next_runs_on_its_callers_threads(eight) -> None:
    first, second = ThreadLease(), ThreadLease()

    assert (first.threads, second.threads) == (8, 1)


def test_what_is_given_back_can_be_taken_again(eight) -> None:
    first = ThreadLease()
    del first
    gc.collect()

    assert ThreadLease().threads == 8


def test_who_asks_for_less_leaves_the_rest_to_the_others(eight) -> None:
    asked, rest = ThreadLease(3), ThreadLease()

    assert (asked.threads, rest.threads) == (3, 6)


def test_who_asks_for_more_than_there_is_gets_it(eight) -> None:
    asked, rest = ThreadLease(20), ThreadLease()

    assert (asked.threads, rest.threads) == (20, 1)


@pytest.mark.parametrize(("variable", "cpus"), [("2", 2), ("4", 4)])
def test_two_models_together_have_no_more_threads_than_cpus(relu: Path, variable: str, cpus: int) -> None:
    assert _workers(relu, "Infer(path), Infer(path), Infer(path)", variable) == cpus - 1


def test_sessions_share_the_threads_and_their_callers_are_among_them(relu: Path) -> None:
    assert _workers(relu, "Infer(path, threads=4, sessions=2)", "2") == 2


def test_an_explicit_number_of_threads_wins(relu: Path) -> None:
    assert _workers(relu, "Infer(path, threads=3), Infer(path, threads=4)", "2") == 5


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot bind a process to CPUs")
def test_a_process_bound_to_one_cpu_has_no_workers(relu: Path) -> None:
    binding = f"os.sched_setaffinity(0, {{{min(os.sched_getaffinity(0))}}}) or Infer(path)"

    assert _workers(relu, binding, "") == 0


def test_an_infer_says_how_many_threads_it_has(relu: Path) -> None:
    assert Infer(relu, threads=1)._session.threads == 1


def _workers(model: Path, made: str, variable: str) -> int:
    """Operating-system threads that the expression adds to a fresh process, in use."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("this system does not list a process's threads")
    program = f"""
import os, pathlib, numpy as np
from ml_pipes.onnx import Infer
from ml_pipes.tensor import TensorPayload
path = pathlib.Path({str(model)!r})
Infer(path, threads=1)
before = len(os.listdir("/proc/self/task"))
made = {made}
value = TensorPayload(np.zeros((1, 3, 64, 64), np.float32), "NCHW", "float32")
for infer in made if isinstance(made, tuple) else (made,):
    infer.warm_up(value)
print(len(os.listdir("/proc/self/task")) - before)
"""
    environment = {**os.environ, "ML_PIPES_CPUS": variable}
    run = [sys.executable, "-c", program]
    return int(subprocess.run(run, capture_output=True, text=True, check=True, env=environment).stdout)


def test_a_model_that_is_opened_alone_takes_all_cpus_and_is_counted_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "4")

    with opened_alone():
        first = ThreadLease()
        with opened_alone():
            second = ThreadLease()
        third = ThreadLease()

    assert [first.threads, second.threads, third.threads] == [4, 4, 1]


def test_what_was_open_before_is_counted_again_whatever_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "4")

    with opened_alone():
        first = ThreadLease()
        with pytest.raises(ValueError, match="broken"), opened_alone():
            raise ValueError("broken")
        second = ThreadLease()

    assert [first.threads, second.threads] == [4, 1]
