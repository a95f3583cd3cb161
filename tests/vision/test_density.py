"""Density maps keep their sums on the way back, and are shown from nothing to the largest."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.density import (
    ClampDensity,
    DensityToHeatmap,
    DrawDensityOverlay,
    ProjectDensityMap,
    SumDensity,
    clamp_density,
    heat_levels,
    project_density,
)
from ml_pipes.vision.resize import Resize
from ml_pipes.vision.types import ImagePayload, ResizeTransform

_SIDE = st.integers(1, 150)


def _read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


def _density(values: object, dtype: str = "float32") -> TensorRegistry:
    return TensorRegistry({"density": _read_only(np.array(values, dtype))})


def _resized(
    shape_hw: tuple[int, int], target_hw: tuple[int, int], *, center: bool = True
) -> ResizeTransform:
    blank = np.broadcast_to(np.zeros((1, 1, 1), np.uint8), (*shape_hw, 1))
    return Resize(target_hw, interpolation="nearest", center=center)(ImagePayload(blank))[1]


def test_what_is_below_nothing_becomes_nothing_in_a_new_registry() -> None:
    registry = _density([[-1.5, 0, 2.5]])

    clamped = ClampDensity()(registry)

    assert clamped["density"].tolist() == [[0, 0, 2.5]]
    assert clamped["density"].dtype == np.float32
    assert registry["density"].tolist() == [[-1.5, 0, 2.5]]


def test_a_clamped_map_can_have_a_name_of_its_own() -> None:
    clamped = ClampDensity(as_="people")(_density([[-1]]))

    assert list(clamped) == ["density", "people"]
    assert clamped["density"].tolist() == [[-1]]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int32", "float16", "float64"])
def test_clamping_keeps_the_dtype_and_an_empty_shape(dtype: str) -> None:
    full, empty = clamp_density(np.ones((2, 3), dtype)), clamp_density(np.zeros((0, 3), dtype))

    assert (full.dtype, empty.dtype) == (dtype, dtype)
    assert full.all()
    assert empty.shape == (0, 3)


def test_clamping_leaves_nan_where_it_is() -> None:
    clamped = clamp_density(np.array([np.nan, -1, -np.inf, np.inf]))

    np.testing.assert_array_equal(clamped, [np.nan, 0, 0, np.inf])


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        ([[0.25, 0.5], [1, 2]], "float32", 3.75),
        ([[255, 255, 255]], "uint8", 765.0),
        ([[60000.0, 60000.0]], "float16", 2 * float(np.float16(60000))),
        ([[True, True, False]], "bool", 2.0),
        ([], "float32", 0.0),
    ],
)
def test_the_sum_is_a_float_and_does_not_wrap(values: object, dtype: str, expected: float) -> None:
    total = SumDensity()(_density(values, dtype))

    assert total == expected
    assert type(total) is float


def test_the_sum_of_a_map_that_holds_nan_or_both_infinities_is_nan_without_a_warning() -> None:
    assert np.isnan(SumDensity()(_density([1, np.nan])))
    assert np.isnan(SumDensity()(_density([np.inf, -np.inf])))


def test_the_padding_is_cut_off_and_the_map_has_the_size_of_the_original() -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 1.0), (4, 8), (4, 4))
    density = np.float32([[9, 9, 9, 9], [1, 0, 0, 0], [0, 0, 0, 3], [9, 9, 9, 9]])
    registry = TensorRegistry({"density": _read_only(density)})

    projected = ProjectDensityMap(as_="back", interpolation=cv2.INTER_NEAREST)(registry, transform)

    expected = np.zeros((4, 8))
    expected[:2, :2], expected[2:, 6:] = 1 / 4, 3 / 4
    assert projected["back"].tolist() == expected.tolist()
    assert projected["back"].dtype == np.float32
    assert projected["density"] is registry["density"]


@settings(max_examples=300, deadline=None)
@given(
    shape=st.tuples(_SIDE, _SIDE),
    target=st.tuples(_SIDE, _SIDE),
    center=st.booleans(),
    interpolation=st.sampled_from([0, 1, 2, 3, 4]),
    seed=st.integers(0, 99),
)
def test_the_sum_of_a_map_in_model_pixels_is_that_of_its_content(
    shape: tuple[int, int], target: tuple[int, int], center: bool, interpolation: int, seed: int
) -> None:
    transform = _resized(shape, target, center=center)
    density = np.random.default_rng(seed).random(target)
    (left, top), (height, width) = transform.pad, transform.content_shape
    content = density[int(top) : int(top) + height, int(left) : int(left) + width]

    projected = project_density(density, transform, interpolation)

    assert projected.shape == shape
    assert projected.sum() == pytest.approx(content.sum(), rel=1e-9)


@settings(max_examples=300, deadline=None)
@given(
    shape=st.tuples(_SIDE, _SIDE),
    cells=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    stride=st.sampled_from([2, 4, 8]),
    interpolation=st.sampled_from([0, 1, 2, 3, 4]),
    seed=st.integers(0, 99),
)
def test_a_coarse_map_loses_nothing_that_lies_in_the_picture(
    shape: tuple[int, int], cells: tuple[int, int], stride: int, interpolation: int, seed: int
) -> None:
    transform = _resized(shape, (cells[0] * stride, cells[1] * stride))
    density = np.random.default_rng(seed).random(cells) * (
        np.random.default_rng(seed + 1).random(cells) > 0.7
    )
    (left, top), (height, width) = transform.pad, transform.content_shape
    # Where cells begin, in pixels of the model's input.
    at_y, at_x = np.arange(cells[0]) * stride, np.arange(cells[1]) * stride
    rows = (at_y >= top) & (at_y + stride <= top + height)
    columns = (at_x >= left) & (at_x + stride <= left + width)
    density *= rows[:, None] & columns

    projected = project_density(density, transform, interpolation)

    assert projected.shape == shape
    assert projected.sum() == pytest.approx(density.sum(), rel=1e-9)


@settings(max_examples=100, deadline=None)
@given(
    shape=st.tuples(_SIDE, _SIDE),
    stride=st.sampled_from([1, 3, 8]),
    interpolation=st.sampled_from([0, 1, 2, 3]),
)
def test_a_constant_map_stays_constant_to_the_corner(
    shape: tuple[int, int], stride: int, interpolation: int
) -> None:
    transform = _resized(shape, (48, 48))

    projected = project_density(np.full((48 // stride, 48 // stride), 2.0), transform, interpolation)

    if 48 // stride <= min(shape):
        assert np.ptp(projected) <= 1e-6 * projected.max()
    assert projected.min() > 0


@pytest.mark.parametrize("interpolation", [0, 1, 2, 3, 4])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("shape", [(360, 512), (361, 512), (512, 333), (100, 90)])
def test_a_spot_comes_back_to_where_it_was(shape: tuple[int, int], center: bool, interpolation: int) -> None:
    transform = _resized(shape, (640, 640), center=center)
    spot_y, spot_x = shape[0] * 0.4, shape[1] * 0.6
    at = (np.arange(80) + 0.5) * 8
    away_y = (at - transform.pad[1]) / transform.scale[1] - spot_y
    away_x = (at - transform.pad[0]) / transform.scale[0] - spot_x
    size = 24 / min(transform.scale)
    density = np.exp(-(away_y[:, None] ** 2 + away_x**2) / (2 * (size / 2) ** 2))

    projected = project_density(density, transform, interpolation)

    rows, columns = (np.arange(side) + 0.5 for side in shape)
    assert (projected.sum(axis=1) @ rows) / projected.sum() == pytest.approx(spot_y, abs=0.3)
    assert (projected.sum(axis=0) @ columns) / projected.sum() == pytest.approx(spot_x, abs=0.3)


def test_one_person_in_a_shrinking_map_is_still_one() -> None:
    transform = ResizeTransform((8.0, 8.0), (0.0, 0.0), (5, 5), (40, 40))
    density = np.zeros((40, 40), np.float32)
    density[9, 17] = 1

    projected = project_density(density, transform)

    expected = np.zeros((5, 5))
    expected[1, 2] = 1
    assert projected.tolist() == expected.tolist()


def test_a_cell_that_lies_half_in_the_padding_counts_whole() -> None:
    transform = ResizeTransform((1.0, 1.0), (0.0, 4.0), (8, 16), (16, 16))
    density = np.float32([[1, 2], [3, 4]])

    projected = project_density(density, transform)

    assert projected.shape == (8, 16)
    assert projected.sum() == pytest.approx(10)


def test_what_is_below_nothing_keeps_its_sum_too() -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 0.0), (8, 8), (4, 4))
    density = np.zeros((4, 4))
    density[0, 0], density[3, 3] = 2, -2

    projected = project_density(density, transform)

    assert projected[:4, :4].sum() == pytest.approx(2)
    assert projected[4:, 4:].sum() == pytest.approx(-2)


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_a_cell_that_is_no_number_spoils_its_own_place_only(special: float) -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 0.0), (8, 8), (4, 4))
    density = np.zeros((4, 4), np.float32)
    density[0, 0], density[3, 3] = special, 2

    projected = project_density(density, transform)

    assert np.isnan(projected[:2, :2]).all()
    assert np.isnan(projected).sum() == 4
    assert np.nansum(projected) == pytest.approx(2)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("bool", "float32"),
        ("uint8", "float32"),
        ("float16", "float32"),
        ("int32", "float64"),
        ("float64", "float64"),
    ],
)
def test_projected_maps_are_floats_and_axes_before_them_stay(dtype: str, expected: str) -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 0.0), (4, 6), (2, 3))

    projected = project_density(np.ones((1, 2, 2, 3), dtype), transform)

    assert projected.shape == (1, 2, 4, 6)
    assert projected.dtype == expected
    np.testing.assert_allclose(projected, 0.25)


def test_no_maps_come_back_as_no_maps() -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 0.0), (4, 6), (2, 3))

    projected = project_density(np.ones((0, 2, 3), np.float32), transform)

    assert projected.shape == (0, 4, 6)
    assert projected.dtype == np.float32


@pytest.mark.parametrize("shape", [(5,), (0, 5), (2, 5, 0)])
def test_what_is_no_map_is_an_error_when_projected(shape: tuple[int, ...]) -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 0.0), (4, 6), (2, 3))
    step = ProjectDensityMap()

    with pytest.raises(
        ValueError, match=r"ProjectDensityMap: a density map must be \(..., H, W\) with cells"
    ):
        step(TensorRegistry({"density": np.zeros(shape)}), transform)


def test_brightness_goes_from_nothing_to_the_largest() -> None:
    levels = heat_levels(np.array([[0, 1, 2], [3, 4, 5]], np.int8))

    assert levels.tolist() == [[0, 51, 102], [153, 204, 255]]
    assert levels.dtype == np.uint8


@pytest.mark.parametrize(
    ("value", "expected"), [(3.5, 255), (1e-300, 255), (0, 0), (-2, 0), (np.nan, 0), (np.inf, 255)]
)
def test_a_constant_map_is_full_where_it_is_positive_and_dark_where_not(value: float, expected: int) -> None:
    assert (heat_levels(np.full((2, 2), value)) == expected).all()


def test_what_is_no_number_does_not_darken_the_rest() -> None:
    levels = heat_levels(np.array([[np.nan, np.inf, -np.inf, 2, 1, -1]]))

    assert levels.tolist() == [[0, 255, 0, 255, 128, 0]]


@pytest.mark.parametrize("shape", [(2, 3), (1, 2, 3), (1, 1, 2, 3)])
def test_a_heat_map_is_a_picture_in_bgr_or_in_grey(shape: tuple[int, ...]) -> None:
    registry = _density(np.float32([[0, 1, 2], [2, 1, 0]]).reshape(shape))

    coloured, grey = DensityToHeatmap()(registry), DensityToHeatmap(colormap=None)(registry)

    # The ends of TURBO are a dark violet and a dark red.
    assert coloured.array[0, 0].tolist() == [59, 18, 48]
    assert coloured.array[0, 2].tolist() == [3, 4, 122]
    assert (coloured.color_space, coloured.layout, coloured.shape) == ("BGR", "HWC", (2, 3, 3))
    assert grey == ImagePayload(np.uint8([[0, 128, 255], [255, 128, 0]]), "GRAY", "HW")


@pytest.mark.parametrize("shape", [(5,), (0, 5), (2, 3, 5)])
def test_what_is_not_one_map_is_an_error_when_shown(shape: tuple[int, ...]) -> None:
    step = DensityToHeatmap("people")

    with pytest.raises(
        ValueError, match=r"DensityToHeatmap: 'people' must be one density map \(H, W\) with cells, got"
    ):
        step(TensorRegistry({"people": np.zeros(shape)}))


@pytest.mark.parametrize(("space", "red"), [("BGR", 2), ("RGB", 0)])
def test_an_overlay_is_mixed_into_a_copy_in_the_colours_of_the_picture(space: str, red: int) -> None:
    picture = ImagePayload(_read_only(np.full((2, 3, 3), 100, np.uint8)), space)
    registry = _density([[4, 0, 0], [0, 0, 0]])

    drawn, passed = DrawDensityOverlay(opacity=0.5)(picture, registry)

    # Half of 100 and half of (blue 3, green 4, red 122): 51.5 and 52, rounded to even, and 111.
    assert drawn.array[0, 0, red] == 111
    assert drawn.array[0, 0, 1] == 52
    assert drawn.color_space == space
    assert (picture.array == 100).all()
    assert passed is registry


@pytest.mark.parametrize("opacity", [0, 1])
def test_the_ends_of_the_opacity_are_the_picture_and_the_heat_map(opacity: float) -> None:
    picture, registry = ImagePayload(np.full((2, 2, 3), 77, np.uint8)), _density([[0, 1], [2, 3]])

    drawn, _ = DrawDensityOverlay(opacity=opacity)(picture, registry)

    assert drawn == (DensityToHeatmap()(registry) if opacity else picture)


def test_a_map_of_another_size_is_an_error_that_says_what_brings_it_there() -> None:
    step = DrawDensityOverlay()

    with pytest.raises(
        ValueError, match=r"picture's shape \(4, 6\), got \(2, 3\); ProjectDensityMap\(\) brings it"
    ):
        step(ImagePayload(np.zeros((4, 6, 3), np.uint8)), _density(np.zeros((2, 3))))


def test_a_picture_that_has_no_colours_is_an_error() -> None:
    step = DrawDensityOverlay()

    with pytest.raises(ValueError, match="DrawDensityOverlay: the picture must be HWC uint8 with 3 channels"):
        step(ImagePayload(np.zeros((2, 3), np.uint8), "GRAY", "HW"), _density(np.zeros((2, 3))))


@pytest.mark.parametrize("colormap", [-1, 99, "turbo", 2.5])
@pytest.mark.parametrize("step", [DensityToHeatmap, DrawDensityOverlay])
def test_a_colour_map_that_is_none_is_refused_when_built(step: type, colormap: object) -> None:
    with pytest.raises(
        ValueError, match=f"{step.__name__}: colormap must be OpenCV's number of a colour map"
    ):
        step(colormap=colormap)


@pytest.mark.parametrize("opacity", [-0.1, 1.1, float("nan")])
def test_an_opacity_out_of_its_range_is_refused_when_built(opacity: float) -> None:
    with pytest.raises(ValueError, match="DrawDensityOverlay: opacity must be 0 to 1, got"):
        DrawDensityOverlay(opacity=opacity)


@pytest.mark.parametrize("interpolation", [-1, 7, "linear"])
def test_an_interpolation_that_is_none_is_refused_when_built(interpolation: object) -> None:
    with pytest.raises(ValueError, match=r"interpolation must be one of 0 \(nearest\), 1 \(linear\), .* got"):
        ProjectDensityMap(interpolation=interpolation)  # type: ignore[arg-type] # the mistake that is tested


@pytest.mark.parametrize("step", [ClampDensity(), SumDensity(), DensityToHeatmap()])
def test_what_is_no_registry_is_an_error_that_says_so(step: ClampDensity) -> None:
    with pytest.raises(TypeError, match="wanted a TensorRegistry, got ndarray"):
        step(np.zeros((2, 3)))  # type: ignore[arg-type] # the mistake that is tested
