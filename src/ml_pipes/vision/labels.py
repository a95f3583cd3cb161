"""What classes are called.

Knows class numbers and names. Knows nothing of models, pictures or tensors.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral

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

    def __getitem__(self, number: int) -> str:
        return self._names[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"LabelMap({self._names})"


ClassNames = Sequence[str] | Mapping[int, str]


def _class_number(key: object) -> int:
    if isinstance(key, Integral):
        return int(key)
    try:
        return int(key) if isinstance(key, str) else int("")
    except ValueError:
        raise ValueError(f"LabelMap: a class number must be a whole number, got {key!r}") from None
