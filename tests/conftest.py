"""What all tests share: where the project lies, and how Hypothesis looks for examples."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

_ROOT = Path(__file__).resolve().parent.parent

# A shared machine is slow at times, which is no fault of the code; the timeout of each test still holds.
hypothesis.settings.register_profile("local", deadline=None)
# The same examples each time, and the way to repeat a failure printed with it.
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder that the repository is in."""
    return _ROOT
