"""Four ways in which models are used: the load, the figure and the rules of each."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ml_pipes._threads.fakes import FakeClock
from ml_pipes.benchmark.load import ClosedLoop, Offline, OpenLoop, Queries
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.scenarios import MultiStream, OfflineScenario, Scenario, Server, SingleStream


def test_single_stream_is_one_caller_and_its_p90(clock: FakeClock) -> None:
    costs_s = [0.1] * 8 + [0.2, 0.4]

    outcome = SingleStream(min_duration_s=1.0).run(clock.advance, costs_s, warmup=10, clock=clock)

    assert outcome.samples.count == 29  # what p90 takes
    assert (outcome.metric, outcome.unit) == ("p90 latency", "ms")
    assert outcome.value == pytest.approx(np.percentile(outcome.samples.latency_s, 90) * 1e3)
    assert outcome.verdict.valid
    assert str(outcome).startswith("SingleStream: p90 latency 2")


def test_it_goes_on_until_there_are_enough_calls_and_enough_seconds(clock: FakeClock) -> None:
    outcome = SingleStream(min_duration_s=20.0).run(clock.advance, 0.125, clock=clock)

    assert outcome.samples.duration_s == 20.0
    assert outcome.verdict.valid


def test_with_fewer_calls_than_its_percentile_takes_it_is_invalid(clock: FakeClock) -> None:
    outcome = SingleStream(min_duration_s=0.0).run(clock.advance, 0.1, runs=28, clock=clock)

    assert "28 latencies are too few for p90: it takes 29" in outcome.verdict.reasons[0]


def test_a_multi_stream_query_lasts_as_long_as_its_slowest_sample() -> None:
    outcome = MultiStream(samples_per_query=2, min_duration_s=0.0).run(lambda _: None, 0, runs=300)

    assert outcome.samples.count == 300
    assert outcome.samples.load == Queries(2)
    assert outcome.value == pytest.approx(np.percentile(outcome.samples.latency_s, 99) * 1e3)


@pytest.mark.parametrize(("slow_ms", "valid"), [(40.0, True), (60.0, False)])
def test_a_server_is_valid_while_its_p99_keeps_the_bound(slow_ms: float, valid: bool) -> None:
    started = np.arange(1000) * 0.01
    latency_s = np.where(np.arange(1000) % 50 == 0, slow_ms / 1e3, 0.02)
    samples = Samples(started, started, started + latency_s, np.zeros(1000, dtype=bool))

    outcome = Server(rate_per_s=100.0, latency_bound_s=0.05, min_duration_s=9.0).outcome(samples)

    assert outcome.value == pytest.approx(slow_ms)
    assert outcome.verdict.valid is valid


def test_offline_gives_its_throughput_and_judges_no_latency() -> None:
    outcome = OfflineScenario(max_in_flight=2, min_duration_s=0.0).run(lambda _: None, 0, runs=50, warmup=5)

    assert outcome.samples.count == 50
    assert (outcome.metric, outcome.unit) == ("throughput", "samples/s")
    assert outcome.value == outcome.samples.throughput_per_s
    assert outcome.verdict.valid


def test_offline_must_know_how_many_samples_there_are() -> None:
    with pytest.raises(ValueError, match="say how many samples there are, runs="):
        OfflineScenario().run(lambda _: None, 0)


@pytest.mark.parametrize(
    ("scenario", "load"),
    [
        (SingleStream(), ClosedLoop(1)),
        (MultiStream(), Queries(8)),
        (Server(rate_per_s=5.0, latency_bound_s=1.0, seed=3), OpenLoop(5.0, "poisson", 3)),
        (OfflineScenario(), Offline(32)),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_each_has_its_load(scenario: Scenario, load: object) -> None:
    assert scenario.load == load


def test_an_outcome_without_a_figure_is_null_in_json() -> None:
    outcome = SingleStream().outcome(Samples(*[np.zeros(0)] * 3, failed=np.zeros(0, dtype=bool)))

    told = outcome.to_dict()

    assert told["value"] is None
    assert told["verdict"]["valid"] is False


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Server(rate_per_s=0.0, latency_bound_s=1.0), "rate_per_s must be calls per second"),
        (lambda: Server(rate_per_s=5.0, latency_bound_s=-1.0), "latency_bound_s must be seconds, above 0"),
        (lambda: MultiStream(samples_per_query=0), "samples_per_query must be a whole number"),
        (lambda: OfflineScenario(max_in_flight=0), "max_in_flight must be a whole number"),
        (lambda: SingleStream(min_duration_s=float("nan")), "min_duration_s must be seconds, 0 or more"),
        (lambda: SingleStream(max_error_share=5.0), "max_error_share must be a share, 0 to 1"),
    ],
)
def test_a_number_that_cannot_be_is_refused_before_anything_is_measured(
    make: Callable[[], Scenario], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        make()
