"""Another shape of the same values."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor import Slice, Squeeze, TensorRegistry, Transpose


def _registry(*shape: int) -> TensorRegistry:
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    array.setflags(write=False)
    return TensorRegistry({"out": array})


def test_squeeze_takes_out_every_axis_that_is_1_long() -> None:
    registry = _registry(1, 3, 1)

    squeezed = Squeeze("out")(registry)

    assert squeezed["out"].shape == (3,)
    assert registry["out"].shape == (1, 3, 1)


def test_squeeze_takes_out_only_the_axis_it_is_told_and_writes_where_it_is_told() -> None:
    squeezed = Squeeze("out", 0, as_="flat")(_registry(1, 3, 1))

    assert squeezed["flat"].shape == (3, 1)
    assert squeezed["out"].shape == (1, 3, 1)


@pytest.mark.parametrize("axis", [1, 5])
def test_squeeze_of_an_axis_that_cannot_go_is_an_error(axis: int) -> None:
    step = Squeeze("out", axis)

    with pytest.raises(ValueError, match=rf"cannot squeeze axis {axis} of 'out' of shape \(1, 3\)"):
        step(_registry(1, 3))


def test_transpose_reverses_the_axes_or_orders_them_as_told() -> None:
    registry = _registry(1, 2, 3)

    assert Transpose("out")(registry)["out"].shape == (3, 2, 1)
    assert Transpose("out", (0, 2, 1))(registry)["out"].tolist() == [[[0, 3], [1, 4], [2, 5]]]


def test_transpose_with_axes_that_do_not_fit_is_an_error() -> None:
    step = Transpose("out", (0, 1))

    with pytest.raises(ValueError, match=r"axes \(0, 1\) do not fit 'out' of shape \(1, 2, 3\)"):
        step(_registry(1, 2, 3))


def test_slice_takes_a_range_of_axis_1() -> None:
    sliced = Slice("out", slice(1, 3), as_="part")(_registry(2, 4))

    assert sliced["part"].tolist() == [[1, 2], [5, 6]]


def test_slice_of_one_axis_is_an_error() -> None:
    step = Slice("out", slice(0, 1))

    with pytest.raises(IndexError, match=r"'out' of shape \(4,\) has no axis 1"):
        step(_registry(4))


def test_slice_by_a_number_is_refused_when_built() -> None:
    with pytest.raises(TypeError, match=r"at must be a slice such as slice\(0, 4\), got 3"):
        Slice("out", 3)  # type: ignore[arg-type] # the mistake that is tested
