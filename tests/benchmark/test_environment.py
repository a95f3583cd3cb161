"""Which machine it was, and what else could change a figure."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ml_pipes.benchmark.environment import environment, foreign_cpus

# The package offers the function under the same name, which hides the module.
room = sys.modules["ml_pipes.benchmark.environment"]


def test_it_is_plain_json_and_names_what_could_change_a_figure() -> None:
    told = json.loads(json.dumps(environment(look_s=0.01), allow_nan=False))

    assert set(told) == {
        "date",
        "python",
        "platform",
        "cpu",
        "memory_bytes",
        "gpus",
        "versions",
        "threads",
        "load",
    }
    assert told["python"]["version"] == platform.python_version()
    assert told["python"]["gil"] in {True, False}
    assert told["versions"]["numpy"] == np.__version__
    assert told["cpu"]["cores"] == os.cpu_count()
    assert told["date"].endswith("+00:00")


def test_variables_that_change_threads_are_told_where_they_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)

    threads = environment(look_s=0.0)["threads"]

    assert threads["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in threads


def test_a_usable_share_that_cannot_be_read_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "many")

    assert environment(look_s=0.0)["cpu"]["usable_cpus"] is None


def test_without_a_look_foreign_work_is_not_known() -> None:
    assert environment(look_s=0.0)["load"]["foreign_cpus"] is None


def test_where_psutil_cannot_tell_foreign_work_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses() -> None:
        raise PermissionError("/proc/stat")

    monkeypatch.setattr(room, "read_now", refuses)

    assert foreign_cpus(0.001) is None


def test_foreign_work_is_no_more_than_the_machine_has() -> None:
    found = foreign_cpus(0.1)

    assert found is not None
    # The system counts in hundredths of a second.
    assert 0.0 <= found <= (os.cpu_count() or 1) * 1.3


@pytest.mark.parametrize(
    ("text", "model"),
    [("processor : 0\nmodel name\t: AMD EPYC\n", "AMD EPYC"), ("Hardware\t: BCM2835\n", "BCM2835")],
)
def test_the_cpus_model_is_read_from_what_the_system_says(tmp_path: Path, text: str, model: str) -> None:
    (tmp_path / "cpuinfo").write_text(text, encoding="utf-8")

    assert room._cpu_model(tmp_path / "cpuinfo") == model


def test_what_no_file_or_package_tells_is_none(tmp_path: Path) -> None:
    assert room._text(tmp_path / "governor") is None
    assert room._version(("no-such-distribution",)) is None


def test_opencv_is_not_imported_for_it() -> None:
    code = (
        "import sys\n"
        "from ml_pipes.benchmark.environment import environment\n"
        "told = environment(look_s=0.0)\n"
        "print('cv2' in sys.modules, 'opencv' in told['threads'])\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )

    assert done.stdout == "False False\n", done.stderr
