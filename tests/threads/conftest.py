"""Lets the tests here import what they share, from wherever pytest is started."""

from __future__ import annotations

import sys
from pathlib import Path

_ROOT = str(Path(__file__).resolve().parent.parent.parent)

if _ROOT not in sys.path:
    sys.path.append(_ROOT)
