"""What the room offers, and what it says where it cannot be entered."""

from __future__ import annotations

import subprocess
import sys

import pytest

import ml_pipes.benchmark
import ml_pipes.factory


@pytest.mark.parametrize("name", ["DataFactory", "InputFn", "PipelineFactory", "PipelineFactoryLike"])
def test_what_is_of_the_factories_is_theirs(name: str) -> None:
    assert getattr(ml_pipes.benchmark, name) is getattr(ml_pipes.factory, name)


@pytest.mark.parametrize(
    ("hidden", "said"),
    [
        ("numpy", 'ml_pipes.benchmark needs numpy; install it with: pip install "ml-pipes[benchmark]"'),
        ("ml_pipes.factory", "import of ml_pipes.factory halted"),
    ],
)
def test_without_numpy_it_says_what_to_install(hidden: str, said: str) -> None:
    code = (
        f"import sys; sys.modules[{hidden!r}] = None\n"
        "try: import ml_pipes.benchmark\n"
        "except ImportError as missing: print(missing)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.startswith(said)


def test_it_is_imported_without_what_only_some_of_it_needs() -> None:
    code = (
        "import sys, ml_pipes.benchmark\n"
        "print([name for name in ('cv2', 'jinja2', 'onnxruntime', 'plotly', 'psutil', 'rich', 'scipy') "
        "if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )

    assert done.stdout.strip() == "[]"
