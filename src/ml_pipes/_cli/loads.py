"""Who calls while a pipeline is measured, as options, and as a load or a scenario.

Knows options and which of them go together. Knows nothing of how anything is measured.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.options import number, whole

if TYPE_CHECKING:
    from ml_pipes.benchmark import Load, Scenario

__all__ = ["add_load", "add_scenario", "load_of", "scenario_of"]

# The options that each scenario has, beside --duration.
_OF_SCENARIOS = {
    "single": (),
    "multi": ("samples_per_query",),
    "server": ("rate", "latency_bound", "max_in_flight"),
    "offline": ("runs", "max_in_flight"),
}
_OPTIONS = ("runs", "callers", "rate", "arrivals", "max_in_flight", "samples_per_query", "latency_bound")


def add_load(parser: argparse.ArgumentParser) -> None:
    """How the calls come; without any, one caller in a loop."""
    group = parser.add_argument_group("how the calls come, by default from one caller in a loop")
    group.add_argument("--callers", type=whole(1), metavar="N", help="so many, each in a loop")
    group.add_argument(
        "--rate",
        type=number("calls per second"),
        metavar="R",
        help="calls per second, whatever became of the last",
    )
    group.add_argument(
        "--arrivals",
        choices=("poisson", "constant"),
        help="with --rate: at random or evenly; default: poisson",
    )
    group.add_argument(
        "--max-in-flight",
        type=whole(1),
        metavar="N",
        help="with --rate or --scenario offline: calls at a time",
    )


def add_scenario(parser: argparse.ArgumentParser) -> None:
    """The four of MLPerf, with their rules and verdicts."""
    group = parser.add_argument_group(
        "or a scenario, as MLPerf has them: its calls, its figure and a verdict"
    )
    group.add_argument(
        "--scenario",
        choices=tuple(_OF_SCENARIOS),
        help="single: one call after another; multi: queries of --samples-per-query; server: --rate calls a "
        "second of which 99 %% must keep --latency-bound; offline: --runs calls, all at once",
    )
    group.add_argument("--samples-per-query", type=whole(1), metavar="N", help="of multi; default: 8")
    group.add_argument(
        "--latency-bound", type=number("milliseconds"), metavar="MS", help="of server, milliseconds"
    )


def load_of(arguments: argparse.Namespace) -> Load | None:
    """What is asked for; None where nothing is.

    Raises:
        CommandError: two things exclude each other.
    """
    from ml_pipes.benchmark import ClosedLoop, OpenLoop

    if arguments.rate is None:
        for option in ("arrivals", "max_in_flight"):
            if getattr(arguments, option) is not None:
                raise CommandError(f"{_flag(option)} needs --rate R, the calls per second")
        return None if arguments.callers is None else ClosedLoop(arguments.callers)
    if arguments.callers is not None:
        raise CommandError(
            "--callers and --rate exclude each other: callers in loops, or calls on a timetable"
        )
    return OpenLoop(arguments.rate, arguments.arrivals or "poisson", **_in_flight(arguments))


def scenario_of(arguments: argparse.Namespace) -> Scenario | None:
    """The scenario that is asked for; None where none is.

    Raises:
        CommandError: one of its options is missing, or one that it does not have is given.
    """
    from ml_pipes.benchmark import MultiStream, OfflineScenario, Server, SingleStream

    name = arguments.scenario
    for option in _OPTIONS:
        if name is None and option not in {"samples_per_query", "latency_bound"}:
            continue
        if getattr(arguments, option) is not None and option not in _OF_SCENARIOS.get(name, ()):
            raise CommandError(_no_option(option, name))
    least: dict[str, Any] = {} if arguments.duration is None else {"min_duration_s": arguments.duration}
    match name:
        case "single":
            return SingleStream(**least)
        case "multi":
            return MultiStream(samples_per_query=arguments.samples_per_query or 8, **least)
        case "server":
            if arguments.rate is None or arguments.latency_bound is None:
                raise CommandError("--scenario server needs --rate R and --latency-bound MS")
            bound_s = arguments.latency_bound / 1e3
            return Server(
                rate_per_s=arguments.rate, latency_bound_s=bound_s, **_in_flight(arguments), **least
            )
        case "offline":
            return OfflineScenario(**_in_flight(arguments), **least)
    return None


def _in_flight(arguments: argparse.Namespace) -> dict[str, int]:
    most = arguments.max_in_flight
    return {} if most is None else {"max_in_flight": most}


def _no_option(option: str, scenario: str | None) -> str:
    homes = [name for name, options in _OF_SCENARIOS.items() if option in options]
    if scenario is None:
        return f"{_flag(option)} is for --scenario {homes[0]}"
    of = f"; it is for {' and '.join(homes)}" if homes else ""
    own = ", ".join(map(_flag, (*_OF_SCENARIOS[scenario], "duration")))
    return f"--scenario {scenario} has no {_flag(option)}{of}; it takes {own}"


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"
