"""What classes are called.

Knows class numbers and names. Knows nothing of models, pictures or tensors.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral

from ml_pipes.errors import MissingNameError

__all__ = ["ClassNames", "LabelMap"]


class LabelMap(Mapping[int, str]):
    """Names by class number, wherever ``class_names`` is asked for; it cannot be changed.

    Made of a list of names, whose places are the numbers, or of a mapping from number to
    name, which may have gaps: ``LabelMap({1: "person", 18: "dog"})``. Numbers may be
    written as text, as JSON writes the keys of an object.
    """

    def __init__(self, names: Sequence[str] | Mapping[int, str] | Mapping[str, str]) -> None:
        """Take the names.

        Args:
            names: a list of names, or a mapping from class number to name.

        Raises:
            TypeError: ``names`` is neither, or a name is no text.
            ValueError: a number is not whole, or is there twice.
        """
        if isinstance(names, (str, bytes)) or not isinstance(names, (Sequence, Mapping)):
            raise TypeError(
                f"LabelMap: names must be a list of names or a dict from number to name, got {names!r}"
            )
        pairs = names.items() if isinstance(names, Mapping) else enumerate(names)
        self._names: dict[int, str] = {}
        for key, name in pairs:
            number = _class_number(key)
            if not isinstance(name, str):
                raise TypeError(f"LabelMap: the name of class {number} must be text, got {name!r}")
            if number in self._names:
                raise ValueError(f"LabelMap: class {number} is there twice")
            self._names[number] = name

    @classmethod
    def from_metadata(cls, metadata: Mapping[str, object], key: str = "names") -> LabelMap:
        """Take the names that a model's file keeps: ``LabelMap.from_metadata(infer.metadata)``.

        Args:
            metadata: what the model's file says of itself.
            key: where in it the names are: a list, or a mapping from number to name, written as
                JSON or as Python writes it (Ultralytics' exports hold ``{0: 'person'}``), or read already.

        Raises:
            MissingNameError: there is no such key; the message lists those there are.
            ValueError: what is there gives no names.
        """
        if key not in metadata:
            there = ", ".join(map(repr, metadata)) or "(none)"
            raise MissingNameError(
                f"LabelMap.from_metadata: the model's file says nothing under {key!r}; available: {there}. "
                "Say where its names are with key=, or write LabelMap([...])"
            )
        names = metadata[key]
        try:
            return cls(_read(names) if isinstance(names, str) else names)  # type: ignore[arg-type] # is checked
        except (TypeError, ValueError) as error:
            raise ValueError(f"LabelMap.from_metadata: {key!r} gives no names: {error}") from error

    def __getitem__(self, number: int) -> str:
        return self._names[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"LabelMap({self._names})"


# So many characters of an unreadable text are enough to tell what it is.
_SHOWN = 60

ClassNames = Sequence[str] | Mapping[int, str]


def _read(text: str) -> object:
    """What a text of JSON or of Python's literals stands for; nothing in it is run."""
    for read in (json.loads, ast.literal_eval):
        try:
            value: object = read(text)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            continue
        return value
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
    raise ValueError(f"wanted a list or a dict as JSON or Python writes it, got {shown!r}")


def _class_number(key: object) -> int:
    if isinstance(key, Integral):
        return int(key)
    try:
        return int(key) if isinstance(key, str) else int("")
    except ValueError:
        raise ValueError(f"LabelMap: a class number must be a whole number, got {key!r}") from None
