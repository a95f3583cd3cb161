"""Pipelines that batch by a policy's name, and what stands in for a policy that this version does not have.

Knows Batch's signature. Knows nothing of how it is measured.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, UnBatch

__all__ = ["COMPARED", "TWO_AT_ONCE", "Served", "batch_steps", "batching", "is_there", "policy_title"]

# "none" is no batching at all: each call is a run of its own.
COMPARED = ("auto", "greedy", "full", "none")
# The default policy with two runs at once, for models that one run does not keep busy.
TWO_AT_ONCE = "auto, 2 at once"
_PARAMETERS = inspect.signature(Batch).parameters


class Served(Protocol):
    """Takes an item and returns its result; has threads or queues to close."""

    def __call__(self, value: Any, /) -> Any:
        """The item's result."""

    def close(self) -> None:
        """Nothing more will come."""


class _OneByOne:
    """No batching: each item is a list of its own, one run at a time."""

    def __init__(self, model: Callable[[list[Any]], list[Any]]) -> None:
        self._model = model
        self._lock = threading.Lock()

    def __call__(self, value: Any, /) -> Any:
        with self._lock:
            return self._model([value])[0]

    def close(self) -> None:
        """Nothing to close."""


def batching(policy: str, steps: Sequence[Callable[[Any], Any]], *, size: int, timeout_s: float) -> Served:
    """A pipeline of :func:`batch_steps`; with the policy "none" one step with a lock around it."""
    if policy == "none":
        (model,) = steps
        return _OneByOne(model)
    pipeline: Pipeline[Any, Any] = Pipeline(batch_steps(policy, steps, size=size, timeout_s=timeout_s))
    return pipeline


def batch_steps(
    policy: str, steps: Sequence[Callable[[Any], Any]], *, size: int, timeout_s: float
) -> list[Any]:
    """``Batch`` with the policy, the steps and ``UnBatch``."""
    wanted: dict[str, Any] = {"policy": policy}
    if policy == TWO_AT_ONCE:
        wanted = {"policy": "auto", "max_concurrency": 2}
    understood = {name: value for name, value in wanted.items() if name in _PARAMETERS}
    return [Batch(size, timeout=timeout_s, **understood), *steps, UnBatch()]


def is_there(policy: str) -> bool:
    """This version of ``Batch`` has the policy, and not another one that would stand in for it."""
    if policy == TWO_AT_ONCE:
        return {"policy", "max_concurrency"} <= set(_PARAMETERS)
    return policy in {"full", "none"} or "policy" in _PARAMETERS


def policy_title(policy: str) -> str:
    """The policy's name, and what runs in its place where ``Batch`` takes no ``policy``."""
    return policy if is_there(policy) else f"{policy}: n/a, full"
