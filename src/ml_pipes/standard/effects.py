"""Steps that do something with a value and pass it on untouched.

Knows nothing of what is done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar, final

__all__ = ["SideEffectOp"]

PayloadT = TypeVar("PayloadT")


class SideEffectOp(ABC, Generic[PayloadT]):
    """Base of steps that only look at a value, or write it somewhere.

    Implement :meth:`effect`; what it returns is ignored and the value goes on as
    it came. A subclass that defines ``__call__`` is refused (``TypeError``).
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__call__" in vars(cls):
            raise TypeError(f"{cls.__name__} must not override __call__; implement effect(payload) instead")

    @final
    def __call__(self, payload: PayloadT) -> PayloadT:
        self.effect(payload)
        return payload

    @abstractmethod
    def effect(self, payload: PayloadT) -> None:
        """Do it; ``payload`` must not be changed."""
