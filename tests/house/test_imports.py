"""What an import costs, and who else may live under the same name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_HEAVY = ["numpy", "cv2", "onnx", "onnxruntime", "torch", "rich", "PIL"]


@pytest.mark.parametrize("module", ["ml_pipes", "ml_pipes.core", "ml_pipes.standard", "ml_pipes.collectors"])
def test_the_engine_is_imported_without_anything_heavy(module: str) -> None:
    printed = _python(f"import sys, {module}; print([name for name in {_HEAVY} if name in sys.modules])")

    assert printed == "[]"


def test_the_package_alone_imports_none_of_its_rooms() -> None:
    printed = _python("import sys, ml_pipes; print([m for m in sys.modules if m.startswith('ml_pipes.')])")

    assert printed == "[]"


def test_a_name_of_the_package_is_the_one_of_its_room() -> None:
    printed = _python(
        "import ml_pipes; from ml_pipes.core import Pipeline; print(ml_pipes.Pipeline is Pipeline)"
    )

    assert printed == "True"


@pytest.mark.parametrize("portion", ["", "__init__.py"])
def test_another_distribution_can_add_a_room(tmp_path: Path, portion: str) -> None:
    annex = tmp_path / "ml_pipes" / "annex"
    annex.mkdir(parents=True)
    (annex / "__init__.py").write_text("from ml_pipes.core import Pipeline\n", encoding="utf-8")
    if portion:
        # The other distribution may be built as a regular package that extends its path as ours does.
        extends = "import pkgutil\n__path__ = pkgutil.extend_path(__path__, __name__)\n"
        (tmp_path / "ml_pipes" / portion).write_text(extends, encoding="utf-8")

    printed = _python(
        f"import sys; sys.path.append({str(tmp_path)!r})\n"
        "import ml_pipes.annex, ml_pipes\n"
        "print(ml_pipes.annex.Pipeline is ml_pipes.Pipeline, ml_pipes.__version__ != '')"
    )

    assert printed == "True True"


def test_an_annex_that_comes_first_on_the_path_does_not_hide_the_house(tmp_path: Path) -> None:
    annex = tmp_path / "ml_pipes" / "annex"
    annex.mkdir(parents=True)
    (annex / "__init__.py").write_text("", encoding="utf-8")

    printed = _python("import ml_pipes.annex, ml_pipes.core; print('both')", PYTHONPATH=str(tmp_path))

    assert printed == "both"


def _python(code: str, **environment: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
