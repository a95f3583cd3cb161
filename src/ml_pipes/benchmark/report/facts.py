"""Which machine it was and what ran on it, in a few lines, for one measurement or many.

Knows the environments that results hold, of any age. Knows nothing of figures or pages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ml_pipes.benchmark.report.rows import Row, known
from ml_pipes.benchmark.report.words import numbered, span, with_unit

__all__ = ["Fact", "environment_facts", "load_facts"]

Fact = tuple[str, str]
"""What it is called, and what it is."""

_GIB = 2.0**30
# What differs between any two measurements, and is told as from when to when, or from least to most.
_SHOWN_APART = frozenset({"date", "load"})
_MOST_VARIANTS = 3


def environment_facts(rows: Sequence[Row], others: Sequence[Mapping[str, Any] | None] = ()) -> list[Fact]:
    """Of all results; where they differ, which has what.

    Args:
        rows: of the results.
        others: environments of comparisons.
    """
    every = [*(row.environment for row in rows), *others]
    environments = [(number, environment) for number, environment in enumerate(every, 1) if environment]
    if not environments:
        return []
    told = [(number, dict(_told(environment))) for number, environment in environments]
    count = len(rows)
    names = dict.fromkeys(name for _, facts in told for name in facts)
    facts = [(name, _merged(name, told, count)) for name in names]
    return [*_dates([environment for _, environment in environments]), *facts, *_foreign(rows)]


def load_facts(rows: Sequence[Row]) -> list[Fact]:
    """Who called, how long, and what went before."""
    if not rows:
        return []
    facts: list[Fact] = []
    loads = list(dict.fromkeys(str(row.result.workload) for row in rows if row.result.workload is not None))
    if loads:
        facts.append(("load", loads[0] if len(loads) == 1 else f"{len(loads)} kinds, see the table"))
    warmups = [float(row.result.warmup) for row in rows]
    if any(warmups) or any(row.result.samples is not None for row in rows):
        facts.append(("warm-up", f"{span(warmups, 'calls')}, in no figure" if any(warmups) else "none"))
    durations_s = [row.result.samples.duration_s for row in rows if row.result.samples is not None]
    if durations_s:
        facts.append(("measured", span(durations_s, "s") + (" each" if len(rows) > 1 else "")))
    return [*facts, ("calls", span([float(row.calls) for row in rows], "measured"))]


def _told(environment: Mapping[str, Any]) -> Iterator[Fact]:
    for key, value in environment.items():
        tell = _TELLERS.get(key)
        text = _generic(value) if tell is None else tell(value)
        if text and key not in _SHOWN_APART:
            yield _NAMES.get(key, key), text


def _cpu(cpu: Any) -> str:
    if not isinstance(cpu, Mapping):
        return _generic(cpu)
    affinity = cpu.get("affinity")
    parts = [cpu.get("model"), f"{cpu['cores']} cores" if cpu.get("cores") else None]
    if isinstance(affinity, list):
        parts.append(f"may run on {_ranges(affinity)}")
    if cpu.get("quota_cpus") is not None:
        parts.append(f"quota of {cpu['quota_cpus']:g} CPUs" if known(cpu["quota_cpus"]) else None)
    if cpu.get("governor"):
        parts.append(f"governor {cpu['governor']}")
    return ", ".join(str(part) for part in parts if part)


def _python(python: Any) -> str:
    if not isinstance(python, Mapping):
        return _generic(python)
    words = [python.get("implementation"), python.get("version")]
    marks = [
        "without the GIL" if python.get("gil") is False else None,
        "free-threaded build" if python.get("free_threaded_build") else None,
        "DEBUG BUILD" if python.get("debug_build") else None,
    ]
    return ", ".join([" ".join(str(word) for word in words if word), *(mark for mark in marks if mark)])


def _system(platform: Any) -> str:
    return (
        " ".join(str(part) for part in platform.values() if part)
        if isinstance(platform, Mapping)
        else str(platform)
    )


def _memory(memory_bytes: Any) -> str:
    size = known(memory_bytes)
    return "" if size is None else with_unit(size / _GIB, "GiB")


def _generic(value: Any) -> str:
    """Any value in a line; what is None in it is left out."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{name} {_generic(part)}" for name, part in value.items() if part not in (None, [], {})
        )
    if isinstance(value, list | tuple):
        return ", ".join(_generic(part) for part in value)
    return "" if value is None else str(value)


_TELLERS = {"cpu": _cpu, "python": _python, "platform": _system, "memory_bytes": _memory}
_NAMES = {
    "cpu": "CPU",
    "gpus": "GPU",
    "memory_bytes": "memory",
    "platform": "system",
    "python": "Python",
    "threads": "threads, settings",
}


def _ranges(numbers: Sequence[Any]) -> str:
    """``CPUs 0-3, 6`` of 0, 1, 2, 3, 6."""
    whole = sorted({number for number in numbers if isinstance(number, int)})
    runs: list[list[int]] = []
    for number in whole:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    shown = ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
    return f"CPU {shown}" if len(whole) == 1 else f"CPUs {shown}"


def _merged(name: str, told: Sequence[tuple[int, dict[str, str]]], results: int) -> str:
    variants: dict[str, list[int]] = {}
    for number, facts in told:
        variants.setdefault(facts.get(name, "not known"), []).append(number)
    if len(variants) == 1:
        return next(iter(variants))
    shown = [
        f"{text} ({_whose(numbers, results)})" for text, numbers in list(variants.items())[:_MOST_VARIANTS]
    ]
    more = len(variants) - _MOST_VARIANTS
    return "DIFFERS: " + "; ".join(shown) + (f"; {more} more" if more > 0 else "")


def _whose(numbers: Sequence[int], results: int) -> str:
    ours = [number for number in numbers if number <= results]
    others = [number - results for number in numbers if number > results]
    named = [("results", ours), ("comparisons", others)]
    return ", ".join(f"{word} {numbered(found)}" for word, found in named if found)


def _dates(environments: Sequence[Mapping[str, Any]]) -> list[Fact]:
    dates = sorted(str(environment["date"]) for environment in environments if environment.get("date"))
    if not dates:
        return []
    first, last = _minute(dates[0]), _minute(dates[-1])
    if first[:10] == last[:10]:
        last = last[11:]
    return [("date", first if _minute(dates[0]) == _minute(dates[-1]) else f"{first} to {last}")]


def _minute(date: str) -> str:
    return date[:16].replace("T", " ") + (" UTC" if date.endswith(("+00:00", "Z")) else "")


def _foreign(rows: Sequence[Row]) -> list[Fact]:
    """What other programs did to the CPUs, before and meanwhile."""
    loads = [row.environment.get("load") for row in rows]
    before = [
        cpus
        for load in loads
        if isinstance(load, Mapping) and (cpus := known(load.get("foreign_cpus"))) is not None
    ]
    meanwhile = [cpus for row in rows if (cpus := known(row.hardware.get("foreign_cpus"))) is not None]
    said = [
        f"{span(cpus, 'CPUs')} {when}"
        for cpus, when in ((before, "before"), (meanwhile, "meanwhile"))
        if cpus
    ]
    return [("other programs used", ", ".join(said))] if said else []
