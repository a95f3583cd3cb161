"""Does an array fit an input, and if not, what mends it: another layout, a free axis, text for text?

Knows arrays and a model's ports. Knows nothing of payloads or of any runtime.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes._runtimes.axes import Axes
from ml_pipes._runtimes.ports import Port
from ml_pipes._runtimes.source import Shape
from ml_pipes.errors import ModelInputError

__all__ = ["Slot", "as_text", "check_shape"]

# Where the channels are, and the layout with the other place for them.
_LAYOUTS = {"NCHW": (1, "NHWC"), "NHWC": (3, "NCHW")}
_CHANNELS = (1, 3, 4)


@dataclass(frozen=True)
class Slot:
    """One input, and what was said of it when the operator was built.

    Attributes:
        port: the model's own.
        layout: the layout that a payload must have; None when none was said.
        freed: the sides that were freed, as they were asked for.
    """

    port: Port
    layout: str | None = None
    freed: Axes | None = None


def check_shape(came: tuple[int, ...], slot: Slot) -> None:
    """Raise :class:`ModelInputError` when an array of that shape does not fit; a shape unknown takes any."""
    port = slot.port
    if port.shape is None:
        return
    if len(came) != len(port.shape):
        raise ModelInputError(
            f"Infer: input {port.name!r} takes {len(port.shape)} axes {_shape_text(port.shape)}, "
            f"got {len(came)}: {came}"
        )
    wrong = [at for at, side in enumerate(port.shape) if isinstance(side, int) and side != came[at]]
    if wrong:
        raise ModelInputError(
            f"Infer: input {port.name!r} is declared {_shape_text(port.shape)}, got {came}: axis "
            f"{', '.join(map(str, wrong))} differs; {_way_out(came, port.shape, wrong, slot)}"
        )


def as_text(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
    """Text of any NumPy kind as the runtime takes it; it would turn other objects into their ``repr``."""
    texts = array.astype(object)
    others = {type(item).__name__ for item in texts.flat if not isinstance(item, str)}
    if others:
        raise ModelInputError(
            f"Infer: input {name!r} takes text, got an array with {', '.join(sorted(others))} in it; "
            "make each item a str"
        )
    return np.ascontiguousarray(texts).reshape(array.shape)


def _way_out(came: tuple[int, ...], declared: Shape, wrong: list[int], slot: Slot) -> str:
    if slot.layout in _LAYOUTS:
        at, other = _LAYOUTS[slot.layout]
        other_at = _LAYOUTS[other][0]
        if declared[other_at] in _CHANNELS and declared[other_at] == came[at] and other_at in wrong:
            return (
                f"the model's layout is {other}: set Infer(..., input_layout={other!r}) "
                f"and Normalize(..., output_layout={other!r})"
            )
        if at in wrong and declared[at] in _CHANNELS and declared[at] == came[other_at]:
            return f"the array looks {other}, though it is called {slot.layout}"
        if at in wrong:
            return f"give it {declared[at]} channels"
    return (
        "give it that shape, or free the axis with "
        f"Infer(..., free_axes={_united(slot.freed, slot.port.name, wrong)!r})"
    )


def _united(freed: Axes | None, name: str, wrong: list[int]) -> Axes:
    """What was freed and what differs, together: the advice must not undo what was obeyed before."""
    if isinstance(freed, Mapping):
        return {**freed, name: tuple(sorted({*freed.get(name, ()), *wrong}))}
    return tuple(sorted({*(freed or ()), *wrong}))


def _shape_text(shape: Shape) -> str:
    return f"({', '.join('any' if side is None else str(side) for side in shape)})"
