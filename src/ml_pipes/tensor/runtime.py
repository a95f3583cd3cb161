"""What a model gives back, whichever runtime ran it.

Knows tensor payloads. Knows nothing of any runtime.
"""

from __future__ import annotations

from dataclasses import dataclass

from ml_pipes.tensor.types import TensorPayload

__all__ = ["RuntimeOutputs"]


@dataclass(frozen=True)
class RuntimeOutputs:
    """A model's outputs, in the model's order.

    Attributes:
        tensors: one payload per output.
        names: the outputs' names; ``names[i]`` is that of ``tensors[i]``.

    Raises:
        ValueError: there are more names than tensors, or fewer.
    """

    tensors: tuple[TensorPayload, ...]
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.tensors) != len(self.names):
            raise ValueError(
                f"RuntimeOutputs: wanted one name per tensor, got {len(self.tensors)} tensors "
                f"and {len(self.names)} names {self.names}"
            )
