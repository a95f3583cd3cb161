"""Steps that keep, order or pick rows of named arrays.

Knows rows. Knows nothing of what a row stands for.
Equal values keep their order (the lower index first) and NaN ranks last.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, checked_output, output_names, replace_each, takes
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = [
    "FilterTensors",
    "GatherRows",
    "GatherScores",
    "Indices",
    "SelectTensors",
    "SortTensorsBy",
    "TopK",
    "TopKIndices2D",
    "keep_rows",
    "ranking",
]

Indices = npt.NDArray[np.int64]


def ranking(values: Array, *, descending: bool = True) -> Indices:
    """Give the indices that put values in order.

    Args:
        values: ``(N,)``, any real dtype.
        descending: largest first.

    Returns:
        ``(N,)`` int64. Equal values keep their order; NaN comes last either way.

    Raises:
        ValueError: ``values`` is not one axis.
    """
    if values.ndim != 1:
        raise ValueError(f"ranking: values must be (N,), got {values.shape}")
    if not descending:
        return np.argsort(values, kind="stable").astype(np.int64, copy=False)
    if values.dtype.kind == "f":
        return np.argsort(-values, kind="stable").astype(np.int64, copy=False)
    # Integers cannot all be negated: rank backwards, so that ties come out forwards.
    backwards = np.argsort(values[::-1], kind="stable")[::-1]
    return (values.size - 1 - backwards).astype(np.int64, copy=False)


@Operator
class FilterTensors:
    """Keep the rows for which a predicate of one tensor is true.

    ``by`` itself is filtered only when it is among ``srcs``.
    """

    def __init__(
        self,
        *srcs: str,
        by: str,
        predicate: Callable[[Array], npt.NDArray[np.bool_]],
        as_: str | tuple[str, ...] | None = None,
    ) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to filter, all with as many rows as ``by``.
            by: the tensor that decides.
            predicate: that tensor to a bool mask ``(N,)``.
            as_: None writes in place; a name, or a tuple of as many as ``srcs``.

        Raises:
            ValueError: no ``srcs``, or ``as_`` does not name one output each.
            TypeError: ``predicate`` cannot be called.
        """
        if not callable(predicate):
            raise TypeError(f"FilterTensors: predicate must be a function of an array, got {predicate!r}")
        self.srcs = checked_names("FilterTensors", srcs)
        self.by = by
        self.predicate = predicate
        self.as_ = as_
        self._outputs = output_names("FilterTensors", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the kept rows; TypeError when the predicate gives no bool mask."""
        mask = self.predicate(tensors[self.by])
        if getattr(mask, "dtype", None) != np.bool_:
            got = getattr(mask, "dtype", type(mask).__name__)
            raise TypeError(f"FilterTensors: predicate must give a bool mask of {self.by!r}, got {got}")
        return keep_rows("FilterTensors", tensors, self.srcs, self._outputs, mask)


@Operator
class SelectTensors:
    """Take rows by their indices, which are themselves a tensor."""

    def __init__(self, *srcs: str, indices: str, as_: str | tuple[str, ...] | None = None) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to take rows of.
            indices: the tensor of row indices, integers ``(K,)``.
            as_: None writes in place; a name, or a tuple of as many as ``srcs``.

        Raises:
            ValueError: no ``srcs``, or ``as_`` does not name one output each.
        """
        self.srcs = checked_names("SelectTensors", srcs)
        self.indices = indices
        self.as_ = as_
        self._outputs = output_names("SelectTensors", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with those rows.

        Raises:
            TypeError: the indices are no integers.
            IndexError: there is no such row.
        """
        rows = _integers("SelectTensors", self.indices, tensors[self.indices])
        try:
            return replace_each(tensors, self.srcs, self._outputs, lambda array: array[rows])
        except IndexError as error:
            raise IndexError(
                f"SelectTensors: {self.indices!r} names a row that is not there: {error}"
            ) from error


@Operator
class SortTensorsBy:
    """Put the rows of several tensors in the order of one of them; see :func:`ranking`."""

    def __init__(
        self, *srcs: str, by: str, descending: bool = True, as_: str | tuple[str, ...] | None = None
    ) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to sort along, all with as many rows as ``by``.
            by: the tensor ``(N,)`` that decides; it is sorted too, and is first in ``as_``.
            descending: largest first.
            as_: None writes in place; a name, or a tuple: ``by``'s, then those of ``srcs``.

        Raises:
            ValueError: ``as_`` does not name one output each.
        """
        self.srcs = checked_names("SortTensorsBy", srcs, first=(by,))
        self.by = by
        self.descending = descending
        self.as_ = as_
        self._outputs = output_names("SortTensorsBy", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with sorted rows; ValueError unless ``by`` is ``(N,)``."""
        order = ranking(_one_axis("SortTensorsBy", self.by, tensors[self.by]), descending=self.descending)
        return keep_rows("SortTensorsBy", tensors, self.srcs, self._outputs, order)


@Operator
class GatherRows:
    """Pick one value of each row, such as each box's score for its class."""

    def __init__(self, src: str, indices: str, as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read, ``(N, C, ...)``.
            indices: the tensor of columns, integers ``(N,)``.
            as_: where to write the ``(N, ...)`` result, ``src`` by default.
        """
        self.src = src
        self.indices = indices
        self.as_ = checked_output("GatherRows", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the picked values.

        Raises:
            TypeError: the indices are no integers.
            ValueError: there is not one index per row.
            IndexError: there is no such column.
        """
        array = tensors[self.src]
        columns = _integers("GatherRows", self.indices, tensors[self.indices])
        if array.ndim <= 1 or columns.shape != array.shape[:1]:
            raise ValueError(
                f"GatherRows: wanted {self.src!r} (N, C) and {self.indices!r} (N,), "
                f"got {array.shape} and {columns.shape}"
            )
        try:
            return tensors.replace(**{self.as_ or self.src: array[np.arange(len(array)), columns]})
        except IndexError as error:
            raise IndexError(
                f"GatherRows: {self.indices!r} names a column that is not there: {error}"
            ) from error


GatherScores = GatherRows


@Operator
class TopK:
    """Find the ``k`` largest values of a tensor ``(N,)``, largest first."""

    def __init__(
        self, src: str, k: int, values_as: str = "top_values", indices_as: str = "top_indices"
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor to read, ``(N,)``.
            k: how many; fewer when the tensor is shorter.
            values_as: where to write the values, ``(min(k, N),)`` of the same dtype.
            indices_as: where to write their indices, int64.

        Raises:
            ValueError: ``k`` is negative, or a name is empty or there twice.
            TypeError: ``k`` is no whole number.
        """
        self.src = src
        self.k = _checked_k("TopK", k)
        checked_output("TopK", values_as, indices_as)
        self.values_as = values_as
        self.indices_as = indices_as

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with values and indices; ValueError unless the tensor is ``(N,)``."""
        values = _one_axis("TopK", self.src, tensors[self.src])
        best = ranking(values)[: self.k]
        return tensors.replace(**{self.values_as: values[best], self.indices_as: best})


@Operator
class TopKIndices2D:
    """Find the ``k`` largest values of a tensor ``(R, C)`` and where they are, largest first."""

    def __init__(
        self,
        src: str,
        k: int,
        values_as: str = "top_values",
        row_indices_as: str = "row_indices",
        col_indices_as: str = "col_indices",
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor to read, ``(R, C)``.
            k: how many; fewer when the tensor holds fewer.
            values_as: where to write the values, ``(min(k, R * C),)`` of the same dtype.
            row_indices_as: where to write their rows, int64.
            col_indices_as: where to write their columns, int64.

        Raises:
            ValueError: ``k`` is negative, or a name is empty or there twice.
            TypeError: ``k`` is no whole number.
        """
        self.src = src
        self.k = _checked_k("TopKIndices2D", k)
        checked_output("TopKIndices2D", values_as, row_indices_as, col_indices_as)
        self.values_as = values_as
        self.row_indices_as = row_indices_as
        self.col_indices_as = col_indices_as

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with values, rows and columns; ValueError unless the tensor is ``(R, C)``."""
        table = tensors[self.src]
        if table.ndim != 2:  # two axes, as the name says
            raise ValueError(f"TopKIndices2D: {self.src!r} must be (R, C), got {table.shape}")
        best = ranking(table.ravel())[: self.k]
        columns = max(table.shape[1], 1)
        found = {
            self.values_as: table.ravel()[best],
            self.row_indices_as: best // columns,
            self.col_indices_as: best % columns,
        }
        return tensors.replace(**found)


def keep_rows(
    owner: str, tensors: TensorRegistry, names: tuple[str, ...], outputs: tuple[str, ...], rows: Array
) -> TensorRegistry:
    """Give a registry with the named rows; ``rows`` is a bool mask, or a full order, of one axis.

    Raises:
        ValueError: a tensor has another number of rows.
    """
    for name in names:
        if tensors[name].shape[:1] != rows.shape:
            raise ValueError(
                f"{owner}: {name!r} of shape {tensors[name].shape} does not have the {rows.shape} rows "
                "that are decided upon"
            )
    return replace_each(tensors, names, outputs, lambda array: array[rows])


def _checked_k(owner: str, k: int) -> int:
    if not isinstance(k, (int, np.integer)):
        raise TypeError(f"{owner}: k must be a whole number, got {k!r}")
    if k < 0:
        raise ValueError(f"{owner}: k must be 0 or more, got {k}")
    return k


def _integers(owner: str, name: str, indices: Array) -> Array:
    if indices.dtype.kind not in "iu":
        way_out = "; a mask goes through FilterTensors" if indices.dtype == np.bool_ else ""
        raise TypeError(f"{owner}: {name!r} must hold integer indices, got {indices.dtype}{way_out}")
    return indices


def _one_axis(owner: str, name: str, array: Array) -> Array:
    if array.ndim != 1:
        raise ValueError(f"{owner}: {name!r} must be (N,), got {array.shape}")
    return array
