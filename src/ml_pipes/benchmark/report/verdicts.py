"""May the figures be trusted, in plain words: verdicts, errors, and what could have disturbed.

Knows rows. Knows nothing of how a page looks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ml_pipes.benchmark.report.rows import Row, known
from ml_pipes.benchmark.report.words import numbered

__all__ = ["Finding", "errors_by_type", "notes", "verdict"]

# Of one CPU: others that use less cannot be seen in a figure.
_LEAST_FOREIGN_CPUS = 0.25


@dataclass(frozen=True)
class Finding:
    """What is to be said of the results' trust.

    Attributes:
        state: ``valid``, ``invalid`` or ``open``.
        word: in capitals, for the eye.
        text: in words.
        reasons: of each that is not valid: its name, and why.
    """

    state: str
    word: str
    text: str
    reasons: tuple[tuple[str, tuple[str, ...]], ...] = ()


def verdict(rows: Sequence[Row]) -> Finding:
    """On all results together."""
    bad = [row for row in rows if row.is_valid is False]
    good = [row for row in rows if row.is_valid]
    if bad:
        text = (
            "the figures must not be trusted"
            if len(rows) == 1
            else f"of {len(bad)} of {len(rows)} results the figures must not be trusted"
        )
        return Finding("invalid", "INVALID", text, tuple((row.name, row.reasons) for row in bad))
    if len(good) == len(rows):
        text = "no rule was broken" if len(rows) == 1 else f"all {len(rows)} results: no rule was broken"
        return Finding("valid", "VALID", text)
    judged = f"{len(good)} of {len(rows)} results are valid, the others were not judged" if good else ""
    return Finding(
        "open",
        "NOT JUDGED",
        judged or "no rules were given; the measurement itself found nothing wrong",
    )


def errors_by_type(rows: Sequence[Row]) -> list[tuple[str, int, str]]:
    """What was raised, how often, and in which results; the most frequent first."""
    counts: dict[str, int] = {}
    where: dict[str, list[int]] = {}
    for row in rows:
        unfinished = 0 if row.result.samples is None else row.result.samples.unfinished
        found = {
            **row.result.errors,
            **({"had not ended when the measurement did": unfinished} if unfinished else {}),
        }
        for words, count in found.items():
            counts[words] = counts.get(words, 0) + count
            where.setdefault(words, []).append(row.number)
    ordered = sorted(counts, key=lambda words: (-counts[words], words))
    return [(words, counts[words], numbered(where[words])) for words in ordered]


def notes(rows: Sequence[Row]) -> list[str]:
    """What the figures cannot tell, and what could have made them worse."""
    said: dict[str, list[int]] = {}
    for row in rows:
        for caveat in () if row.result.samples is None else row.result.samples.caveats:
            said.setdefault(caveat, []).append(row.number)
    # The same for each number of callers: once is enough.
    found = [next(iter(said))] if said else []
    foreign = [cpus for row in rows if (cpus := known(row.hardware.get("foreign_cpus"))) is not None]
    if foreign and max(foreign) >= _LEAST_FOREIGN_CPUS:
        found.append(
            f"other programs kept up to {max(foreign):.1f} CPUs busy meanwhile: on a quiet machine the "
            "figures would be better, and differences between results may be theirs"
        )
    return found
