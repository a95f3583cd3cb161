"""A result is shown, saved, loaded again and compared."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.benchmark.hardware import Hardware
from ml_pipes.benchmark.load import ClosedLoop, OpenLoop
from ml_pipes.benchmark.result import BenchmarkDiff, BenchmarkResult
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.stat import InvocationStat, RegionStat
from ml_pipes.benchmark.verdict import Verdict


def _stat(label: str, *times_s: float, children: tuple[InvocationStat, ...] = ()) -> InvocationStat:
    return InvocationStat.from_seconds(label, times_s, (0.5, 0.999), children)


def _result(label: str = "size:640", **more: Any) -> BenchmarkResult:
    operators = [_stat("0:Scatter", 0.25, children=(_stat("1:Infer", 0.125),))]
    return BenchmarkResult(label, {"pipeline_config": {"size": 640}}, _stat("total", 0.25), operators, **more)


def _samples(**more: Any) -> Samples:
    return Samples(
        intended_s=[0.0, 1.0, 2.0],  # type: ignore[arg-type] # made arrays
        started_s=[0.0, 1.0, 2.0],  # type: ignore[arg-type] # as above
        ended_s=[0.5, 1.5, 4.0],  # type: ignore[arg-type] # as above
        failed=[False, True, False],  # type: ignore[arg-type] # as above
        errors={"ValueError: bad": 1},
        **more,
    )


def test_the_json_has_the_four_keys_and_each_figure_under_its_name() -> None:
    data = _result().to_dict()

    assert data == {
        "label": "size:640",
        "metadata": {"pipeline_config": {"size": 640}},
        "total": {
            "label": "total",
            "count": 1,
            "mean_ms": 250.0,
            "stddev_ms": 0.0,
            "min_ms": 250.0,
            "max_ms": 250.0,
            "percentiles": {"0.5": 250.0, "0.999": 250.0},
        },
        "operators": [
            {
                **_stat("0:Scatter", 0.25).to_dict(),
                "children": [_stat("1:Infer", 0.125).to_dict()],
            }
        ],
    }


def test_a_saved_result_is_the_same_when_it_is_loaded(tmp_path: Path) -> None:
    result = _result(
        workload=OpenLoop(50.0),
        samples=_samples(),
        hardware=Hardware(4.0, process_cpus=1.5),
        verdict=Verdict(valid=False, reasons=("too short",)),
        environment={"cpu": "some"},
        regions=[RegionStat("4:Batch", {2: 3}, _stat("wait", 0.001))],
        warmup=10,
        measurement={"runs": 100},
        inputs=[{"id": "a.jpg", "tag": "", "meta": {}}],
        error="ValueError: bad",
    )

    result.save(tmp_path / "folder" / "a.json")
    loaded = BenchmarkResult.load(tmp_path / "folder" / "a.json")

    assert loaded == result
    assert loaded.workload == OpenLoop(50.0)
    assert loaded.throughput_per_s == result.throughput_per_s == 0.5
    assert [path.name for path in (tmp_path / "folder").iterdir()] == ["a.json"]


def test_the_file_is_indented_and_has_no_token_that_json_does_not_know(tmp_path: Path) -> None:
    result = BenchmarkResult("a", {"nan": math.nan, "path": Path("a/b")}, _stat("total"), [])

    result.save(str(tmp_path / "a.json"))
    text = (tmp_path / "a.json").read_text(encoding="utf-8")

    assert "NaN" not in text
    assert '\n  "label": "a",' in text
    assert json.loads(text)["metadata"] == {"nan": None, "path": "a/b"}
    assert BenchmarkResult.load(str(tmp_path / "a.json")) == result


def test_keys_of_a_newer_version_are_kept(tmp_path: Path) -> None:
    data = {**_result().to_dict(), "colour": "blue"}

    loaded = BenchmarkResult.from_dict(data)

    assert loaded.to_dict()["colour"] == "blue"
    assert loaded.total == _result().total


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON"),
        ("[]", "it is a list of 0"),
        ("{}", "it has no 'label'"),
        ('{"label": "a", "metadata": {}, "total": {}, "operators": []}', "it has no 'label'"),
        ('{"label": "a", "metadata": {}, "total": 3, "operators": []}', "TypeError"),
    ],
)
def test_a_file_that_is_no_result_is_refused_by_name(tmp_path: Path, text: str, reason: str) -> None:
    path = tmp_path / "other.json"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(ValueError, match=rf"other\.json: this is no benchmark result.*{reason}"):
        BenchmarkResult.load(path)


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        BenchmarkResult.load(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("label", "ext", "slug"),
    [
        ("size:640|batch:4", "", "size_640_batch_4"),
        (r'a/b\c:d*e?f"g<h>i|j', "json", "a_b_c_d_e_f_g_h_i_j.json"),
        ("a b", ".json", "a b.json"),
        ("", "json", "benchmark.json"),
    ],
)
def test_the_slug_is_the_label_without_what_file_systems_refuse(label: str, ext: str, slug: str) -> None:
    assert _result(label).slug(ext) == slug


def test_the_table_alone_is_that_of_the_steps() -> None:
    lines = _result().to_table().splitlines()

    assert lines[0].split() == ["operator", "mean", "p50", "p99.9", "stddev", "min", "max"]
    assert [line.split()[0] for line in lines[2:5]] == ["total", "0:Scatter", "1:Infer"]
    assert lines[-1] == "runs: 1  (all values in ms)"
    assert _result().to_table(expand_regions=False).splitlines()[-1] == "* Child spans are collapsed"


def test_what_else_is_known_stands_below_the_table() -> None:
    result = _result(
        workload=ClosedLoop(4),
        samples=_samples(invalid=("the generator was late",), interrupted=True),
        regions=[RegionStat("4:Batch", {1: 1, 4: 2}, _stat("wait", 0.001))],
    )

    assert result.to_table().splitlines()[6:] == [
        "runs: 1  (all values in ms)",
        "load: 4 callers, each in a loop",
        "throughput: 0.5 per s, over 4.00 s",
        "errors: 1 (1 x ValueError: bad)",
        "4:Batch: 3 batches of 3.0 on average (1 x 1, 2 x 4), waits mean 1.00, max 1.00 ms",
        "INTERRUPTED: what was measured until then",
        "INVALID: the generator was late",
    ]


def test_many_sizes_of_batches_are_told_in_groups() -> None:
    region = RegionStat("4:Batch", dict.fromkeys(range(1, 11), 1), _stat("wait"))

    assert _result(regions=[region]).to_table().splitlines()[-1] == (
        "4:Batch: 10 batches of 5.5 on average (1 x 1, 1 x 2, 2 x 3-4, 4 x 5-8, 2 x 9-16)"
    )


def test_a_verdict_says_what_the_measurement_found_too() -> None:
    samples = _samples(invalid=("the generator was late",))

    valid = _result(verdict=Verdict(valid=True)).to_table()
    invalid = _result(
        samples=samples, verdict=Verdict(valid=False, reasons=("the generator was late", "too short"))
    ).to_table()

    assert valid.splitlines()[-1] == "VALID"
    assert invalid.splitlines()[-2:] == ["INVALID: the generator was late", "INVALID: too short"]


def test_errors_are_those_of_the_samples_or_of_the_traces() -> None:
    assert _result(samples=_samples()).errors == {"ValueError: bad": 1}
    assert _result(failures={"KeyError: x": 2}).errors == {"KeyError: x": 2}
    assert _result().errors == {}
    assert _result().throughput_per_s is None


def test_results_can_be_compared_side_by_side() -> None:
    text = BenchmarkResult.to_comparison_table([_result("a"), _result("b")])

    assert "[1] a" in text
    assert "[2] b" in text
    assert "  1:Infer" in text
    assert "1:Infer" not in BenchmarkResult.to_comparison_table([_result("a")], expand_regions=False)


def test_a_comparison_says_what_failed() -> None:
    failed = BenchmarkResult("b", {}, _stat("total"), [], error="ValueError: bad")

    text = BenchmarkResult.to_comparison_table([_result("a"), failed])

    assert text.splitlines()[-1] == "[2] error: ValueError: bad"


def test_a_difference_is_that_of_the_other_less_this_one() -> None:
    before = BenchmarkResult("before", {}, _stat("total", 0.010), [_stat("0:A", 0.010)])
    after = BenchmarkResult("after", {}, _stat("total", 0.008), [_stat("0:B", 0.008)])

    diff = before.diff(after)

    assert isinstance(diff, BenchmarkDiff)
    assert (diff.baseline, diff.candidate) == (before, after)
    assert diff.total.mean_delta_ms == pytest.approx(-2.0)
    assert [(step.label, step.only_in) for step in diff.operators] == [
        ("0:B", "candidate"),
        ("0:A", "baseline"),
    ]
    assert diff.to_table().splitlines()[:2] == ["baseline:  before", "candidate: after"]


def test_a_result_says_in_short_what_it_is() -> None:
    assert repr(_result()) == "BenchmarkResult('size:640', 1 runs, mean 250.00 ms)"
    assert repr(_result().diff(_result())) == "BenchmarkDiff('size:640' -> 'size:640')"
