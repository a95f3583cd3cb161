"""What a recogniser of text says at each step along a line becomes the text.

Knows scores and a table of characters. Knows nothing of models or pictures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ml_pipes.errors import MissingNameError
from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.maths import argmax
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = ["CTCDecode", "RecognizedText", "ctc_decode", "ctc_table"]

_BLANK = 0


class RecognizedText(NamedTuple):
    """One line of text.

    Attributes:
        text: what is written; may be empty.
        score: the mean of the kept steps' largest values, 0 to 1 for probabilities; 0.0 without text.
    """

    text: str
    score: float


def ctc_table(characters: str) -> tuple[str, ...]:
    """Give the table of a recogniser that keeps its characters as text, one a line.

    PP-OCR's models have it in their metadata under ``character``. Class 0 is the
    blank, which is no character; the last class is the space, which would be an empty line.

    Returns:
        ``("", *characters, " ")``: one entry per class.

    Raises:
        ValueError: there are no characters.
    """
    if not characters:
        raise ValueError("ctc_table: there are no characters; wanted text with one a line")
    return ("", *characters.splitlines(), " ")


def ctc_decode(scores: Array, table: Sequence[str]) -> list[RecognizedText]:
    """Read each line the greedy way: the best class of each step, repeats once, blanks left out.

    (Graves et al., "Connectionist Temporal Classification", 2006, section 3.2: best path.)

    Args:
        scores: ``(N, T, C)``, any real dtype: N lines, T steps along each, C classes; class 0 is the
            blank. N and T may be 0. Of equal scores the lower class wins; NaN never does.
        table: C texts, one per class; that of the blank is not looked at.

    Returns:
        A text and its score for each line, in their order.

    Raises:
        ValueError: the shape is another, or the table does not have C entries.
    """
    if scores.ndim != 3:
        raise ValueError(f"CTCDecode: scores must be (N, T, C), got {scores.shape}")
    if scores.shape[2] != len(table):
        raise ValueError(
            f"CTCDecode: the table has {len(table)} entries, the scores {scores.shape[2]} classes; "
            "ctc_table() makes one of a model's characters, with the blank and the space"
        )
    best = argmax(scores)
    largest = np.take_along_axis(scores, best[..., None], axis=2)[..., 0].astype(np.float64)
    kept = best != _BLANK
    kept[:, 1:] &= best[:, 1:] != best[:, :-1]
    sums = np.where(kept, largest, 0.0).sum(axis=1)
    means = sums / np.maximum(kept.sum(axis=1), 1)
    return [
        RecognizedText("".join([table[at] for at in line[keep].tolist()]), float(mean))
        for line, keep, mean in zip(best, kept, means, strict=True)
    ]


@Operator
class CTCDecode:
    """Read the lines of a recogniser's output, by name in a registry; see :func:`ctc_decode`.

    One output for several lines gives several texts: in a ``Batch`` it stands for ``Distribute``.
    """

    def __init__(self, table: Sequence[str], src: str = "text") -> None:
        """Read ``src``, ``(N, T, C)``; ``table`` has a text per class, as :func:`ctc_table` gives.

        Raises:
            TypeError: the table is one text.
            ValueError: the table has not two entries: a blank and a character.
        """
        if isinstance(table, str):
            raise TypeError("CTCDecode: table must be a sequence of texts, got one text; use ctc_table(text)")
        if len(table) < 2:
            raise ValueError(f"CTCDecode: table must have a blank and a character, got {len(table)} entries")
        self.table = table
        self.src = src

    @classmethod
    def from_metadata(
        cls, metadata: Mapping[str, str], src: str = "text", *, key: str = "character"
    ) -> CTCDecode:
        """Take the characters that a model's file keeps: ``CTCDecode.from_metadata(infer.metadata)``.

        Args:
            metadata: what the model's file says of itself.
            src: the tensor to read, ``(N, T, C)``.
            key: where in it the characters are, one a line; PP-OCR's models have them under ``character``.

        Raises:
            MissingNameError: there is no such key; the message lists those there are.
            ValueError: there are no characters.
        """
        if key not in metadata:
            there = ", ".join(map(repr, metadata)) or "(none)"
            raise MissingNameError(
                f"CTCDecode.from_metadata: the model's file says nothing under {key!r}; available: {there}. "
                "Say where its characters are with key=, or write CTCDecode(ctc_table(text))"
            )
        return cls(ctc_table(metadata[key]), src)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> list[RecognizedText]:
        """Give a text and its score per line; ValueError when the table does not fit the scores."""
        return ctc_decode(tensors[self.src], self.table)
