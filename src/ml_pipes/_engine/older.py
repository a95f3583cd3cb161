"""Openers that define the older ``run_region``, seen as ones that define ``run``.

Knows both forms. Knows nothing of plans or drivers.
"""

from __future__ import annotations

from typing import Any

from ml_pipes.errors import SignatureError
from ml_pipes.operator import get_operator_name
from ml_pipes.region import Body, RegionOpener

__all__ = ["adapted"]


def adapted(opener: RegionOpener[Any, Any]) -> RegionOpener[Any, Any]:
    """The opener itself, or a coat around one that defines ``run_region`` and not ``run``."""
    if type(opener).run is not RegionOpener.run:
        return opener
    if callable(getattr(opener, "run_region", None)):
        return _Adapted(opener)
    raise SignatureError(f"{get_operator_name(opener)} must implement run(value, body)")


class _NoTrace:
    """Stands where an older opener expects its trace: takes every attribute and call, and keeps nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self


class _Adapted(RegionOpener[Any, Any]):
    """Hands the body to ``run_region`` as ``execute_region``; the engine keeps the spans by itself."""

    def __init__(self, opener: Any) -> None:
        self.opener = opener
        self.closing_type = opener.closing_type  # type: ignore[misc] # of this one opener, not of the class

    def run(self, value: Any, body: Body[Any, Any]) -> Any:
        def execute_region(current: Any, child_trace: Any = None) -> tuple[Any, Any]:
            return body(current), child_trace

        return self.opener.run_region(value, body.label, execute_region, _NoTrace(), None)
