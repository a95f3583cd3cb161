"""A region: an opener that decides when and on what the steps up to its closer run.

Knows the body as something to call. Knows nothing of plans, threads or traces.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Generic, Protocol, TypeVar

__all__ = ["Body", "RegionCloser", "RegionExecutor", "RegionOpener"]

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")
OwnedT = TypeVar("OwnedT")
BodyInputT = TypeVar("BodyInputT", contravariant=True)
BodyOutputT = TypeVar("BodyOutputT", covariant=True)


class Body(Protocol[BodyInputT, BodyOutputT]):
    """The steps between an opener and its closer, as one callable for any thread.

    Each call is one run with a fresh context. It returns what the last step
    returned, or ``SHORT_CIRCUIT``.
    """

    @property
    def label(self) -> str:
        """The opener's label, such as ``4:Batch``."""

    def __call__(self, value: BodyInputT, /, *, item: int | None = None, worker: Any = None) -> BodyOutputT:
        """Run the steps on ``value``.

        Args:
            value: what the first step takes.
            item: its index where the region goes through items.
            worker: who runs it, where a crew said before that it comes (see :meth:`approach`).
        """

    def approach(self) -> Any:
        """Where runs of the body are waited for: a crew tells it which are to come. None when nowhere."""

    def note(self, error: BaseException) -> None:
        """Note on an error of a run that it came through this region, where it is not raised through it."""

    def own(self, make: Callable[[str], OwnedT], /) -> OwnedT:
        """What this region of this pipeline holds for its lifetime, made with the label on first use.

        It belongs to the place in the pipeline, not to the operator: an operator
        that stands in two pipelines owns two.
        """


class RegionCloser:
    """Base of the marker that ends a region; it is not called."""


class RegionOpener(Generic[InputT, OutputT]):
    """Base of the operators that run the steps up to their closer.

    A subclass names its ``closing_type`` and implements :meth:`run`. One that
    implements the older ``run_region(current, label, execute_region, trace, cfg)``
    instead works too.

    Attributes:
        closing_type: the class of its closer.
        keeps_stats: what its body owns tells, by ``stats(kind)``, what went on in it.
    """

    closing_type: ClassVar[type[RegionCloser]]
    keeps_stats: ClassVar[bool] = False  # what its body owns has a method stats(kind)

    def run(self, value: InputT, body: Body[Any, Any]) -> Any:
        """Run the body as often as the region wants, and return what goes on after the closer.

        May return a ticket (see ``_threads``) instead of a result: the driver waits for it.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement run(value, body)")

    def meeting_place(self, label: str) -> Any:
        """Make what this region's callers wait at for each other, where they do; the body owns it."""
        raise NotImplementedError(f"{label}: no caller waits for another here")


class RegionExecutor(Protocol):
    """What an older opener calls to run its body: ``(value, child_trace) -> (result, child_trace)``."""

    def __call__(self, value: Any, child_trace: Any) -> tuple[Any, Any]: ...
