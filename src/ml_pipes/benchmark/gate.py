"""Is it good enough? Conditions held against results, with an answer that a program can act on.

Knows conditions and what results tell. Knows nothing of how anything was measured.

A relative condition ("p99 not worse than 5 %") is passed when the interval's end is within the limit:
when one may be sure, with the given confidence, that it is not worse than that. It is failed when one
may be as sure that it is worse; else nothing was decided, and more rounds would help. So noise neither
lets a slower candidate pass nor stops one that is not: each happens, where the truth lies on the limit,
once in twenty times at 95 %, and more seldom elsewhere. Every condition is judged by itself.

An absolute condition ("p50 <= 12 ms") is held against the measured figure; a percentile of too few
calls decides nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Final, Literal, TypeAlias

from ml_pipes.benchmark.comparison import ComparisonResult
from ml_pipes.benchmark.conditions import Condition, parse_condition
from ml_pipes.benchmark.evidence import Evidence, NoEvidence, OfComparison, OfResult
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.ratios import Ratio
from ml_pipes.benchmark.result import BenchmarkResult

__all__ = ["EXIT_CODES", "Check", "GateResult", "GateVerdict", "gate"]

GateVerdict: TypeAlias = Literal["pass", "fail", "undecided"]

EXIT_CODES: Final[dict[GateVerdict, int]] = {"pass": 0, "fail": 1, "undecided": 3}
"""What a command ends with. 2 is left out: it is that of wrong arguments."""


@dataclass(frozen=True)
class Check:
    """What came of one condition.

    Attributes:
        condition: what was asked.
        verdict: whether it is kept.
        text: the figures that say so.
        value: how much worse the candidate is, 0.04 for 4 %; for an absolute condition, the figure itself:
            seconds, calls per second, failed calls, or a share of them. NaN when there is none.
        bound: for a relative condition, what the value is not beyond, with the gate's confidence: on the
            upper side, or for one that failed on the lower side. NaN when there is none.
    """

    condition: Condition
    verdict: GateVerdict
    text: str
    value: float = math.nan
    bound: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "condition": self.condition.text,
            "verdict": self.verdict,
            "text": self.text,
            "value": plain(self.value),
            "bound": plain(self.bound),
        }


@dataclass(frozen=True)
class GateResult:
    """What came of all conditions.

    Attributes:
        checks: of each, in order.
        warnings: what to bear in mind.
        undecided: what a condition counts as on which nothing was decided.
    """

    checks: tuple[Check, ...]
    warnings: tuple[str, ...] = ()
    undecided: GateVerdict = "undecided"

    @property
    def verdict(self) -> GateVerdict:
        """``fail`` when any condition is failed; else ``undecided`` when any is that; else ``pass``."""
        counted = {self.undecided if each.verdict == "undecided" else each.verdict for each in self.checks}
        for verdict in ("fail", "undecided"):
            if verdict in counted:
                return verdict
        return "pass"

    @property
    def exit_code(self) -> int:
        """0 when all conditions are kept, 1 when any is not, 3 when none is broken but some are undecided."""
        return EXIT_CODES[self.verdict]

    def to_table(self) -> str:
        """A line per condition, then what to bear in mind, then the verdict."""
        width = max(len(each.verdict) for each in self.checks)
        lines = [f"{each.verdict:<{width}}  {each.text}" for each in self.checks]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join([*lines, f"gate: {self.verdict}"])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "verdict": self.verdict,
            "exit_code": self.exit_code,
            "checks": [each.to_dict() for each in self.checks],
            "warnings": list(self.warnings),
            "undecided": self.undecided,
        }

    def __str__(self) -> str:
        return self.to_table()


def gate(
    result: ComparisonResult | BenchmarkResult,
    conditions: str | Sequence[str],
    *,
    baseline: BenchmarkResult | None = None,
    confidence: float = 0.95,
    undecided: GateVerdict = "undecided",
) -> GateResult:
    """Hold conditions against a result.

    Args:
        result: a comparison, whose candidate is judged; or one measurement.
        conditions: such as ``"p99 not worse than 5 %"``, ``"p50 <= 12 ms"``, ``"throughput >= 100 /s"``,
            ``"errors <= 0"``; see :mod:`~ml_pipes.benchmark.conditions`.
        baseline: an earlier measurement, which relative conditions compare one measurement with. A comparison
            has its own.
        confidence: how sure a relative condition must be, above 0.5, below 1.
        undecided: what a condition counts as on which nothing was decided.

    Raises:
        TypeError: a result of another kind, or conditions that are no text.
        ValueError: a condition that is none, none at all, a relative one without a baseline, or another
            argument that cannot be.
    """
    asked: object = confidence
    if not isinstance(asked, Real) or not 0.5 < float(asked) < 1.0:
        raise ValueError(f"gate: confidence must be above 0.5 and below 1, such as 0.95; got {confidence!r}")
    if undecided not in EXIT_CODES:
        raise ValueError(f'gate: undecided must be "undecided", "fail" or "pass", got {undecided!r}')
    parsed = _parsed(conditions)
    evidence = _evidence(result, baseline)
    checks = tuple(_check(condition, evidence, confidence) for condition in parsed)
    warnings = list(evidence.doubts())
    if any(condition.is_relative for condition in parsed):
        warnings += evidence.warnings()
    failed, asked = evidence.calls
    if failed and not any(condition.statistic == "errors" for condition in parsed):
        warnings.append(f"{failed} of {asked} calls failed, and no condition is about errors")
    return GateResult(checks, tuple(warnings), undecided)


def _parsed(conditions: object) -> list[Condition]:
    texts = [conditions] if isinstance(conditions, str) else conditions
    if not isinstance(texts, Iterable) or not all(isinstance(text, str) for text in texts):
        raise TypeError(f"gate: conditions are text, one or a list of them; got {conditions!r}")
    if parsed := [parse_condition(text) for text in texts]:
        return parsed
    raise ValueError('gate: there is no condition; give at least one, such as "p99 not worse than 5 %"')


def _evidence(result: ComparisonResult | BenchmarkResult, baseline: BenchmarkResult | None) -> Evidence:
    if isinstance(result, ComparisonResult):
        if baseline is not None:
            raise ValueError("gate: a comparison has its own baseline; leave baseline= out")
        return OfComparison(result)
    if not isinstance(result, BenchmarkResult):
        raise TypeError(f"gate takes a ComparisonResult or a BenchmarkResult, got a {type(result).__name__}")
    return OfResult(result, baseline)


def _check(condition: Condition, evidence: Evidence, confidence: float) -> Check:
    name = condition.statistic
    if evidence.error is not None:
        return Check(condition, "fail", f"{name}: there are no figures: {evidence.error}")
    try:
        if condition.is_relative:
            check = _relative(condition, evidence.ratio(name, 2.0 * confidence - 1.0), confidence)
        elif name == "errors":
            check = _errors(condition, *evidence.calls)
        else:
            check = _absolute(condition, evidence.value(name))
    except NoEvidence as why:
        return Check(condition, "undecided", f"{name}: {why}")
    doubts = list(evidence.doubts())
    if check.verdict == "pass" and doubts:
        return Check(condition, "undecided", f"{check.text}; but {doubts[0]}", check.value, check.bound)
    return check


def _relative(condition: Condition, ratio: Ratio, confidence: float) -> Check:
    name = condition.statistic
    if not ratio.is_known:
        return Check(condition, "undecided", f"{name}: no call of a side succeeded")
    if name == "throughput":
        value, least, most = 1.0 - ratio.value, 1.0 - ratio.high, 1.0 - ratio.low
    else:
        value, least, most = ratio.value - 1.0, ratio.low - 1.0, ratio.high - 1.0
    limit = f"limit {_percent(condition.limit)} %"
    said, sure = f"{name}: {_worse(value)}", f"{confidence * 100:.4g} % sure"
    if least > condition.limit:
        return Check(condition, "fail", f"{said}, {sure} of at least {_worse(least)}; {limit}", value, least)
    if most <= condition.limit:
        return Check(condition, "pass", f"{said}, {sure} of at most {_worse(most)}; {limit}", value, most)
    if not (ratio.low > 0.0 if name == "throughput" else math.isfinite(ratio.high)):
        text = f"{said}, of which too few calls or rounds make sure; {limit}"
        return Check(condition, "undecided", text, value)
    return Check(condition, "undecided", f"{said}, {sure} of at most {_worse(most)}; {limit}", value, most)


def _absolute(condition: Condition, value: float) -> Check:
    verdict: GateVerdict = "pass" if condition.holds(value) else "fail"
    if condition.statistic == "throughput":
        shown, limit = f"{value:.4g} /s", f"{condition.limit:.4g} /s"
    else:
        shown, limit = f"{value * 1e3:.4g} ms", f"{condition.limit * 1e3:.4g} ms"
    return Check(
        condition, verdict, f"{condition.statistic}: {shown}; limit {condition.relation} {limit}", value
    )


def _errors(condition: Condition, failed: int, asked: int) -> Check:
    if not asked:
        raise NoEvidence("there was no call")
    value = failed / asked if condition.is_share else float(failed)
    limit = f"{_percent(condition.limit)} %" if condition.is_share else f"{condition.limit:.4g}"
    text = f"errors: {failed} of {asked} calls; limit {condition.relation} {limit}"
    return Check(condition, "pass" if condition.holds(value) else "fail", text, value)


def _worse(share: float) -> str:
    return f"{_percent(abs(share))} % {'worse' if share >= 0.0 else 'better'}"


def _percent(share: float) -> str:
    return f"{share * 100.0:.1f}".removesuffix(".0")
