"""The configurations that a sweep goes through: a base, axes or a set, and filters.

Knows dictionaries. Knows nothing of what is made of them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ml_pipes.benchmark.plain import text

__all__ = ["ConfigFilter", "ConfigSpace", "Point", "config_label"]

ConfigFilter: TypeAlias = Callable[[dict[str, Any]], bool]


def config_label(config: Mapping[str, Any]) -> str:
    """``k:v|k:v``; empty for an empty configuration."""
    return "|".join(f"{key}:{text(value)}" for key, value in config.items())


@dataclass(frozen=True)
class Point:
    """One configuration.

    Attributes:
        config: all of its keys, those of the base too.
        at: its place on each axis.
        is_active: no filter leaves it out.
    """

    config: dict[str, Any]
    at: tuple[int, ...]
    is_active: bool


class ConfigSpace:
    """All configurations of one side of a sweep.

    Args:
        name: of the side, in messages: the methods that fill it begin with it.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._base: dict[str, Any] = {}
        self._axes: dict[str, tuple[Any, ...]] = {}
        self._configs: list[dict[str, Any]] | None = None
        self._filters: list[ConfigFilter] = []

    @property
    def axes(self) -> dict[str, tuple[Any, ...]]:
        """Key -> its values."""
        return dict(self._axes)

    @property
    def has_set(self) -> bool:
        """The configurations were given one by one."""
        return self._configs is not None

    @property
    def is_empty(self) -> bool:
        """Nothing was asked for."""
        return not (self._base or self._axes or self._filters or self.has_set)

    def add_base(self, config: Mapping[str, Any]) -> None:
        """What all configurations have, unless an axis or a set says otherwise."""
        self._base.update(config)

    def add_axis(self, key: str, values: Sequence[Any]) -> None:
        """One more key that takes each of these values.

        Raises:
            ValueError: there is a set; there are no values; the key is an axis already.
        """
        if self.has_set:
            raise self._exclusive()
        if not values:
            raise ValueError(f"{self._name}_config_axis({key!r}): an axis needs at least one value")
        if key in self._axes:
            raise ValueError(
                f"{self._name}_config_axis({key!r}): there is an axis of this key; give it all values"
            )
        self._axes[key] = tuple(values)

    def add_set(self, configs: Iterable[Mapping[str, Any]]) -> None:
        """The configurations one by one.

        Raises:
            ValueError: there are axes, or there is no configuration.
        """
        if self._axes:
            raise self._exclusive()
        self._configs = [*(self._configs or []), *(dict(config) for config in configs)]
        if not self._configs:
            raise ValueError(f"{self._name}_config_set: a set needs at least one configuration")

    def add_filter(self, keep: ConfigFilter) -> None:
        """Leave out the configurations for which it is false; it is given all keys, those of the base too."""
        self._filters.append(keep)

    def points(self) -> list[Point]:
        """All configurations, in order, the first axis outermost; those that are left out too."""
        if self._configs is not None:
            return [self._point(config, (at,)) for at, config in enumerate(self._configs)]
        places = itertools.product(*(range(len(values)) for values in self._axes.values()))
        return [
            self._point({key: values[i] for (key, values), i in zip(self._axes.items(), at, strict=True)}, at)
            for at in places
        ]

    def _point(self, varied: Mapping[str, Any], at: tuple[int, ...]) -> Point:
        config = {**self._base, **varied}
        # Each filter has a dict of its own: one that changes it must not change what is measured.
        return Point(config, at, all(keep(dict(config)) for keep in self._filters))

    def _exclusive(self) -> ValueError:
        name = self._name
        return ValueError(
            f"{name}_config_axis and {name}_config_set are mutually exclusive: "
            "give axes and take all their combinations, or give the configurations one by one"
        )
