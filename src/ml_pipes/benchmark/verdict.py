"""May these samples be trusted? Rules, and what they find, in words.

Knows samples and limits. Knows nothing of how the samples were made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.statistics import percentile_of, samples_needed

__all__ = ["Rules", "Verdict", "judge"]

# Below this many successes the thirds are too few for their medians to tell anything.
_ENOUGH_FOR_THIRDS = 30


@dataclass(frozen=True)
class Verdict:
    """May the figures be trusted, and do they keep what was asked?

    Attributes:
        valid: no rule was broken.
        reasons: which were, in words.
    """

    valid: bool
    reasons: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"valid": self.valid, "reasons": list(self.reasons)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """What :meth:`to_dict` wrote."""
        return cls(bool(data["valid"]), tuple(data.get("reasons", ())))

    def __str__(self) -> str:
        return "VALID" if self.valid else "INVALID: " + "; ".join(self.reasons)


@dataclass(frozen=True)
class Rules:
    """What samples must keep to be trusted.

    Attributes:
        percentile: the fraction that is reported, 0 to 1: there must be enough samples for it (see
            :func:`~ml_pipes.benchmark.statistics.samples_needed`); None for no percentile.
        latency_bound_s: what that percentile may be at most, seconds; None for no bound.
        min_duration_s: what the window must last.
        max_error_share: failed calls per call, 0 to 1.
        max_drift: how far the median latency of the last third of the calls may be from the first
            third's, as a share of it; None for no such rule.
        confidence: of the percentile, 0 to 1.
    """

    percentile: float | None = None
    latency_bound_s: float | None = None
    min_duration_s: float = 0.0
    max_error_share: float = 0.0
    max_drift: float | None = 0.2
    confidence: float = 0.95


def judge(samples: Samples, rules: Rules) -> Verdict:
    """The verdict on samples: the rules, and whatever the measurement found wrong with itself."""
    reasons = (*samples.invalid, *_broken(samples, rules))
    return Verdict(not reasons, reasons)


def _broken(samples: Samples, rules: Rules) -> Iterator[str]:
    if samples.interrupted:
        yield "it was interrupted"
    # A window that is closed by its calls may miss its seconds by a rounding.
    if samples.duration_s < rules.min_duration_s * (1.0 - 1e-9):
        yield f"it lasted {samples.duration_s:.3g} s, and must last {rules.min_duration_s:g} s"
    if samples.error_share > rules.max_error_share:
        yield (
            f"{samples.error_share:.2%} of the calls failed or did not end, and "
            f"{rules.max_error_share:.2%} may{_most_frequent(samples)}"
        )
    latencies_s = samples.latency_s
    if rules.percentile is not None:
        yield from _broken_of_percentile(latencies_s, rules.percentile, rules)
    if rules.max_drift is not None:
        yield from _unsteady(latencies_s, rules.max_drift)


def _broken_of_percentile(latencies_s: Any, percentile: float, rules: Rules) -> Iterator[str]:
    name = f"p{percentile * 100:g}"
    needed = samples_needed(percentile, rules.confidence)
    if len(latencies_s) < needed:
        yield (
            f"{len(latencies_s)} latencies are too few for {name}: it takes {needed} for the longest of "
            f"them to be beyond it with {rules.confidence:.0%} confidence"
        )
    if rules.latency_bound_s is not None and len(latencies_s):
        found_s = percentile_of(latencies_s, percentile)
        if not found_s <= rules.latency_bound_s:
            yield f"{name} is {found_s * 1e3:.3g} ms, and must be at most {rules.latency_bound_s * 1e3:g} ms"


def _unsteady(latencies_s: Any, max_drift: float) -> Iterator[str]:
    if len(latencies_s) < _ENOUGH_FOR_THIRDS:
        return
    third = len(latencies_s) // 3
    first_s, last_s = float(np.median(latencies_s[:third])), float(np.median(latencies_s[-third:]))
    if abs(last_s - first_s) > max_drift * first_s:
        yield (
            f"it was not steady: the median latency went from {first_s * 1e3:.3g} ms in the first third of "
            f"the calls to {last_s * 1e3:.3g} ms in the last; warm up longer, or ask for less"
        )


def _most_frequent(samples: Samples) -> str:
    if not samples.errors:
        return ""
    words, count = max(samples.errors.items(), key=lambda item: item[1])
    return f" ({count} x {words})"
