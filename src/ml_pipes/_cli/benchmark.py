"""``ml-pipes benchmark``: how long a pipeline takes, step by step, in one configuration or in many.

Knows options, and what is printed. Knows nothing of how anything is measured.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.files import FileInputs
from ml_pipes._cli.inputs import chosen_data, file_labels
from ml_pipes._cli.interrupts import INTERRUPTED, noting_interrupts
from ml_pipes._cli.loads import add_load, add_scenario, load_of, scenario_of
from ml_pipes._cli.needs import needing
from ml_pipes._cli.options import STATUSES, add_command, add_config, add_inputs, add_target, number, whole
from ml_pipes._cli.outputs import check_outputs, save_page, write_json
from ml_pipes._cli.targets import Data, Target, find_target
from ml_pipes._cli.values import axes, config, configs

if TYPE_CHECKING:
    from ml_pipes.benchmark import BenchmarkBuilder, BenchmarkResult

__all__ = ["add_parser", "run"]

_EPILOG = f"""examples:
  ml-pipes benchmark faces.py --input photo.jpg --runs 200
  ml-pipes benchmark faces.py --callers 8 --duration 10
  ml-pipes benchmark faces.py --rate 50 --duration 10            latencies count from when a call was due
  ml-pipes benchmark faces.py --axis size=320x320,640x640 --axis batch=1,8 --save results --resume
  ml-pipes benchmark faces.py --scenario server --rate 20 --latency-bound 100

--arg, --config and --axis exclude each other, as do --data-arg, --data-config and --data-axis.
With several files, or configurations, each is measured. Results go to standard output; how far it is, and
what the pipeline prints meanwhile, to standard error. Ctrl-C prints what was measured until then.
{STATUSES};
also 1 when a configuration gave no figures, since every call failed or nothing could be made"""


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "benchmark", "measure how long a pipeline takes, step by step", epilog=_EPILOG
    )
    add_target(parser)
    add_inputs(parser)
    _add_configs(parser)
    _add_measurement(parser)
    add_load(parser)
    add_scenario(parser)
    _add_outputs(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Measure, and print.

    Returns:
        The exit status.

    Raises:
        CommandError: something is missing or does not fit.
    """
    if arguments.resume and not arguments.save:
        raise CommandError("--resume needs --save DIR, the folder of the results that are there already")
    check_outputs(json_file=arguments.json, page=arguments.html)
    with needing("benchmark"):
        import ml_pipes.benchmark  # noqa: F401 - before anything of the user's is imported
    builder = _builder(arguments)
    if arguments.plan:
        print(builder.plan())
        return 0
    with noting_interrupts() as interrupt, contextlib.redirect_stdout(sys.stderr):
        results = _measured(builder, verbose=_is_sweep(arguments) or sys.stderr.isatty())
    _print(results, arguments)
    if interrupt.came or any(one.samples is not None and one.samples.interrupted for one in results):
        return INTERRUPTED
    return int(any(one.error is not None for one in results))


def _add_configs(parser: argparse.ArgumentParser) -> None:
    for prefix, of in (("", "the pipeline's function"), ("data-", "the data's function")):
        group = parser.add_mutually_exclusive_group()
        add_config(group, f"--{prefix}arg", of)
        group.add_argument(
            f"--{prefix}config",
            action="append",
            default=[],
            metavar="JSON",
            help=f"measure with these arguments of {of}: an object, a list of objects, or a file of JSON",
        )
        group.add_argument(
            f"--{prefix}axis",
            action="append",
            default=[],
            metavar="KEY=V1,V2",
            help="measure with each of these values of an argument; of several axes, all combinations",
        )


def _add_measurement(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how long, and which figures")
    length = group.add_mutually_exclusive_group()
    length.add_argument("--runs", type=whole(1), metavar="N", help="calls; default: 100")
    length.add_argument("--duration", type=number("seconds"), metavar="S", help="seconds, instead of --runs")
    group.add_argument(
        "--warmup", type=whole(0), metavar="N", help="calls before; default: a tenth of --runs, 5 at least"
    )
    group.add_argument(
        "--percentiles", nargs="+", type=_percentile, metavar="P", help="0.5 or p50; default: 0.5 0.95 0.99"
    )
    group.add_argument(
        "--no-steps", action="store_true", help="the whole call alone: a recorded step costs it some 0.3 us"
    )


def _add_outputs(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what is shown and saved")
    group.add_argument("--label", metavar="TEXT", help="what each label begins with")
    group.add_argument("--collapse-regions", action="store_true", help="do not show the steps of regions")
    group.add_argument("--save", metavar="DIR", help="a file of JSON per result, as soon as it is there")
    group.add_argument("--resume", action="store_true", help="do not measure again what --save has already")
    group.add_argument(
        "--json",
        metavar="FILE",
        help="the result as JSON, or a list of them; - for standard output, instead of tables",
    )
    group.add_argument("--html", metavar="FILE", help="a page with figures, of some 5 MB")
    group.add_argument("--plan", action="store_true", help="only print what would be measured")


def _percentile(text: str) -> float:
    try:
        value = float(text[1:]) / 100 if text[:1] in {"p", "P"} else float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a fraction, 0 to 1, or p0 to p100, got {text}")
    return round(value, 12)


def _builder(arguments: argparse.Namespace) -> BenchmarkBuilder:
    """All that is asked for, checked before anything is made."""
    scenario = scenario_of(arguments)
    load = None if scenario is not None else load_of(arguments)
    target = find_target(arguments.pipeline)
    given = {
        "--data-arg": arguments.data_arg,
        "--data-config": arguments.data_config,
        "--data-axis": arguments.data_axis,
    }
    data = chosen_data(arguments, target, given)
    builder = _with_inputs(arguments, target, data)
    _configure(builder, arguments, target, data)
    if load is not None:
        builder.load(load)
    if scenario is not None:
        builder.scenario(scenario)
    elif arguments.duration is not None:
        builder.duration(arguments.duration)
    if arguments.runs is not None:
        builder.runs(arguments.runs)
    if arguments.warmup is not None:
        builder.warmup(arguments.warmup)
    if arguments.percentiles:
        builder.percentiles(*arguments.percentiles)
    if arguments.no_steps:
        builder.steps(record=False)
    if arguments.save:
        builder.save_to(arguments.save, resume=arguments.resume)
    return builder


def _with_inputs(arguments: argparse.Namespace, target: Target, data: Data | None) -> BenchmarkBuilder:
    from ml_pipes.benchmark import BenchmarkBuilder

    if data is not None:
        return BenchmarkBuilder(target.source).data_factory(data.factory)
    files = FileInputs(target.source, arguments.input)
    return BenchmarkBuilder(files.source).data_inputs(files.input_fns(), file_labels(arguments.input))


def _configure(
    builder: BenchmarkBuilder, arguments: argparse.Namespace, target: Target, data: Data | None
) -> None:
    sides: list[tuple[str, Any, Any, Any, Any]] = [
        ("", target, builder.pipeline_config, builder.pipeline_config_axis, builder.pipeline_config_set)
    ]
    if data is not None:
        sides.append(("data-", data, builder.data_config, builder.data_config_axis, builder.data_config_set))
    for prefix, source, base, axis, several in sides:
        stem = prefix.replace("-", "_")
        args = config(getattr(arguments, f"{stem}arg"), f"--{prefix}arg")
        sets = configs(getattr(arguments, f"{stem}config"), f"--{prefix}config")
        on_axes = axes(getattr(arguments, f"{stem}axis"), f"--{prefix}axis")
        flag = f"--{prefix}{'config' if sets else 'axis' if on_axes else 'arg'}"
        for each in sets or [{**args, **{key: values[0] for key, values in on_axes.items()}}]:
            source.check(each, flag)
        if args:
            base(**args)
        if sets:
            several(sets)
        for key, values in on_axes.items():
            axis(key, *values)
    asked = (arguments.arg, arguments.config, arguments.axis, arguments.data_arg, arguments.data_config)
    if arguments.label or not any(itertools.chain(asked, [arguments.data_axis, arguments.input])):
        builder.label(arguments.label or target.name)


def _is_sweep(arguments: argparse.Namespace) -> bool:
    several = (arguments.axis, arguments.data_axis, arguments.config, arguments.data_config)
    return any(several) or len(arguments.input or ()) > 1


def _measured(builder: BenchmarkBuilder, *, verbose: bool) -> list[BenchmarkResult]:
    try:
        return builder.run(verbose)
    except KeyboardInterrupt:
        print("interrupted before anything was measured", file=sys.stderr)
        raise
    except OSError as error:
        if error.filename is None:
            raise
        raise CommandError(f"--save: {error.filename}: {error.strerror}") from error


def _print(results: Sequence[BenchmarkResult], arguments: argparse.Namespace) -> None:
    if arguments.json != "-":
        print(_tables(results, expand_regions=not arguments.collapse_regions))
    if arguments.json:
        data = [one.to_dict() for one in results]
        write_json(arguments.json, data if len(data) > 1 else data[0])
    if arguments.html:
        save_page(results, arguments.html)


def _tables(results: Sequence[BenchmarkResult], *, expand_regions: bool) -> str:
    """Of one result its table; of several a line each, and below what is not in lines."""
    from ml_pipes.benchmark import BenchmarkResult
    from ml_pipes.benchmark.parts import lines_about

    if len(results) == 1:
        return f"{results[0].label}\n{results[0].to_table(expand_regions)}"
    lines = [BenchmarkResult.to_comparison_table(list(results), expand_regions)]
    for at, one in enumerate(results, 1):
        about = [line for line in lines_about(one) if not line.startswith("error: ")]
        lines += [f"\n[{at}] {one.label}", *about] if about else []
    return "\n".join(lines)
