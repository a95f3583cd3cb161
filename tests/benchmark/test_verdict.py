"""May these samples be trusted?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.verdict import Rules, Verdict, judge


def calls(latencies_s: list[float], *, failed: int = 0, **about: object) -> Samples:
    """One call after another, the first ``failed`` of them failed."""
    ended = np.cumsum(latencies_s)
    started = ended - latencies_s
    return Samples(started, started, ended, np.arange(len(ended)) < failed, **about)  # type: ignore[arg-type] # a test's


STEADY = calls([0.01] * 400)


def test_samples_that_keep_all_rules_are_valid() -> None:
    rules = Rules(percentile=0.99, latency_bound_s=0.02, min_duration_s=4.0)

    assert judge(STEADY, rules) == Verdict(valid=True)
    assert str(judge(STEADY, rules)) == "VALID"


def test_too_few_for_a_percentile_are_told_with_the_number_that_it_takes() -> None:
    verdict = judge(calls([0.01] * 298), Rules(percentile=0.99))

    assert verdict.reasons[0].startswith("298 latencies are too few for p99: it takes 299 for the longest")


def test_failed_calls_do_not_count_for_a_percentile() -> None:
    verdict = judge(calls([0.01] * 299, failed=1), Rules(percentile=0.99, max_error_share=1.0))

    assert "298 latencies are too few" in verdict.reasons[0]


def test_a_percentile_above_its_bound_is_told() -> None:
    verdict = judge(STEADY, Rules(percentile=0.99, latency_bound_s=0.005))

    assert verdict.reasons == ("p99 is 10 ms, and must be at most 5 ms",)


def test_a_window_too_short_is_told() -> None:
    assert judge(STEADY, Rules(min_duration_s=10.0)).reasons == ("it lasted 4 s, and must last 10 s",)


def test_errors_beyond_their_share_are_told_with_the_most_frequent() -> None:
    failing = calls([0.01] * 100, failed=5, errors={"ValueError: odd": 4, "KeyError: 'a'": 1})

    assert judge(failing, Rules()).reasons == (
        "5.00% of the calls failed or did not end, and 0.00% may (4 x ValueError: odd)",
    )
    assert judge(failing, Rules(max_error_share=0.05)).valid


def test_latencies_that_drift_are_told() -> None:
    slowing = calls([0.01] * 100 + [0.015] * 100 + [0.02] * 100)

    assert (
        "the median latency went from 10 ms in the first third of the calls to 20 ms"
        in judge(slowing, Rules()).reasons[0]
    )
    assert judge(slowing, Rules(max_drift=None)).valid


def test_the_thirds_of_a_few_calls_tell_nothing() -> None:
    assert judge(calls([0.01] * 5 + [0.02] * 5), Rules()).valid


def test_what_the_measurement_found_wrong_with_itself_is_told_first() -> None:
    late = replace(STEADY, invalid=("the generator was late by itself",), interrupted=True)

    assert judge(late, Rules()).reasons == ("the generator was late by itself", "it was interrupted")


def test_no_samples_are_invalid_for_a_percentile_and_no_crash() -> None:
    verdict = judge(calls([]), Rules(percentile=0.9, latency_bound_s=1.0, min_duration_s=1.0))

    assert not verdict.valid
    assert len(verdict.reasons) == 2


@pytest.mark.parametrize("verdict", [Verdict(valid=True), Verdict(valid=False, reasons=("one", "two"))])
def test_a_verdict_comes_back_from_its_dict(verdict: Verdict) -> None:
    assert Verdict.from_dict(verdict.to_dict()) == verdict


def test_an_invalid_verdict_reads_as_its_reasons() -> None:
    assert str(Verdict(valid=False, reasons=("one", "two"))) == "INVALID: one; two"
