"""The real model and photographs, where assets.txt and assets-tests.txt installed them."""

from __future__ import annotations

from pathlib import Path

import pytest

from ml_pipes._demo.assets import CENTERFACE, find_asset


@pytest.fixture(scope="session")
def centerface() -> Path:
    """CenterFace's weights."""
    return find_asset(CENTERFACE)
