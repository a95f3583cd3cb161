"""The head of a report: machines of any age and kind in a few lines, and how the load is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark import (
    BenchmarkResult,
    ClosedLoop,
    InvocationStat,
    Load,
    Offline,
    OpenLoop,
    Queries,
    Samples,
)
from ml_pipes.benchmark.environment import environment
from ml_pipes.benchmark.report.facts import environment_facts, load_facts
from ml_pipes.benchmark.report.groups import asked, groups_of
from ml_pipes.benchmark.report.rows import Row, rows_of
from ml_pipes.benchmark.report.times import time_section
from ml_pipes.benchmark.report.verdicts import errors_by_type, notes, verdict
from ml_pipes.benchmark.verdict import Verdict


def rows(*environments: Any, **more: Any) -> list[Row]:
    total = InvocationStat.from_seconds("total", [0.01, 0.02], (0.5,))
    return rows_of([BenchmarkResult("r", {}, total, [], environment=each, **more) for each in environments])


def facts(*environments: Any, **more: Any) -> dict[str, str]:
    return dict(environment_facts(rows(*environments), **more))


def test_this_machine_can_be_told() -> None:
    told = facts(environment(look_s=0.0))

    assert {"date", "Python", "system", "CPU", "versions"} <= set(told)
    assert "None" not in " ".join(told.values())
    assert "{" not in " ".join(told.values())


def test_a_cpu_is_told_with_what_limits_it() -> None:
    cpu = {"model": "EPYC", "cores": 8, "affinity": [0, 1, 2, 5], "quota_cpus": 1.5, "governor": "powersave"}

    told = facts({"cpu": cpu})["CPU"]

    assert told == "EPYC, 8 cores, may run on CPUs 0-2, 5, quota of 1.5 CPUs, governor powersave"


def test_an_interpreter_is_told_with_what_makes_it_another() -> None:
    python = {"implementation": "CPython", "version": "3.14.0", "gil": False, "free_threaded_build": True}

    assert facts({"python": python})["Python"] == "CPython 3.14.0, without the GIL, free-threaded build"


def test_keys_and_shapes_of_another_age_are_told_as_they_are() -> None:
    old = {
        "cpu": "Xeon",
        "python": "3.11",
        "platform": "Linux",
        "memory_bytes": None,
        "extra": {"a": [1, 2], "b": None},
    }

    assert facts(old) == {"CPU": "Xeon", "Python": "3.11", "system": "Linux", "extra": "a 1, 2"}


@pytest.mark.parametrize("odd", [None, {}, [], "text", 5])
def test_an_environment_that_is_none_is_left_out(odd: Any) -> None:
    assert facts(odd) == {}


def test_dates_go_from_the_first_to_the_last() -> None:
    days = [{"date": f"2026-11-30T1{hour}:00:00+00:00"} for hour in (3, 2)]

    assert facts(*days)["date"] == "2026-11-30 12:00 UTC to 13:00 UTC"
    assert facts(days[0], days[0])["date"] == "2026-11-30 13:00 UTC"


def test_machines_that_differ_are_told_apart_and_many_are_cut() -> None:
    machines = [{"cpu": {"model": f"M{number}"}} for number in range(5)]

    assert facts(*machines)["CPU"] == "DIFFERS: M0 (results 1); M1 (results 2); M2 (results 3); 2 more"
    assert facts({"cpu": "A"}, others=[{"cpu": "B"}])["CPU"] == "DIFFERS: A (results 1); B (comparisons 1)"


def test_other_programs_are_told_before_and_meanwhile() -> None:
    loud = rows({"load": {"foreign_cpus": 1.0}}, hardware={"foreign_cpus": 0.5})

    assert dict(environment_facts(loud)) == {"other programs used": "1 CPUs before, 0.50 CPUs meanwhile"}


def test_loads_of_several_kinds_are_counted() -> None:
    several = [*rows(None, workload=ClosedLoop(1)), *rows(None, workload=ClosedLoop(2), warmup=7)]

    told = dict(load_facts(several))

    assert told["load"] == "2 kinds, see the table"
    assert told["warm-up"] == "0 to 7 calls, in no figure"
    assert load_facts([]) == []


@pytest.mark.parametrize(
    ("load", "how_much"),
    [
        (ClosedLoop(4), (4.0, "callers")),
        (OpenLoop(12.5), (12.5, "calls/s")),
        (Queries(8), (8.0, "calls a query")),
        (Offline(16), (16.0, "calls at a time")),
        (None, None),
    ],
)
def test_what_a_load_asks_is_a_number_and_its_unit(load: Load | None, how_much: Any) -> None:
    assert asked(load) == how_much


def test_results_without_a_load_are_groups_by_their_labels() -> None:
    assert [len(group.rows) for group in groups_of(rows(None, None))] == [2]


def test_some_that_are_valid_among_others_are_counted() -> None:
    mixed = [*rows(None, verdict=Verdict(valid=True)), *rows(None)]

    assert verdict(mixed).text == "1 of 2 results are valid, the others were not judged"


def test_calls_that_never_ended_are_errors() -> None:
    at = np.array([0.0])
    hanging = Samples(at, at, at + 1.0, at > 1, unfinished=3, interrupted=True)

    (row,) = rows(None, samples=hanging)

    assert row.errors == 3
    assert errors_by_type([row]) == [("had not ended when the measurement did", 3, "1")]
    assert row.reasons == ("it was interrupted; shown is what was measured until then",)


def test_a_quiet_machine_is_not_noted() -> None:
    assert notes(rows(None, hardware={"foreign_cpus": 0.1})) == []


def test_results_beyond_sixty_are_in_no_figure_of_time_and_it_says_so() -> None:
    at = np.array([0.0, 1.0])
    many = rows(*[None] * 62, samples=Samples(at, at, at + 0.5, at > 5))

    section = time_section(many)

    assert section is not None
    assert "The last 2 results are not drawn." in section.reading
