"""The tiny models of both runtimes' tests."""

from __future__ import annotations

from tests.tiny_models import adder, fixed, make_model, merging, mixing, relu

__all__ = ["adder", "fixed", "make_model", "merging", "mixing", "relu"]
