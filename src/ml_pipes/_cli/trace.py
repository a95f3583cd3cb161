"""``ml-pipes trace``: a few calls, and on which thread what ran when.

Knows options, and how calls are made side by side. Knows nothing of what a timeline looks like.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.inputs import chosen_data, file_inputs, prepared_values
from ml_pipes._cli.interrupts import INTERRUPTED
from ml_pipes._cli.needs import needing
from ml_pipes._cli.options import STATUSES, add_command, add_config, add_inputs, add_target, whole
from ml_pipes._cli.targets import Data, Target, find_target
from ml_pipes._cli.values import config
from ml_pipes._threads.crew import Crew, fan_out
from ml_pipes.collectors import TimelineCollector
from ml_pipes.pipeline import Pipeline
from ml_pipes.tracing import TracingConfig

__all__ = ["add_parser", "run"]

_PAGES = (".html", ".htm")
_ENDINGS = (*_PAGES, ".json", ".json.gz")
_EPILOG = f"""examples:
  ml-pipes trace faces.py --input photo.jpg -o trace.html            a page for a browser
  ml-pipes trace faces.py --calls 64 --callers 8 -o trace.json.gz    for https://ui.perfetto.dev

{STATUSES}; also 1 when every call failed"""


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "trace", "make a few calls and show on which thread what ran when", epilog=_EPILOG
    )
    add_target(parser)
    add_inputs(parser)
    add_config(parser)
    add_config(parser, "--data-arg", "the data's function")
    parser.add_argument("--calls", type=whole(1), default=16, metavar="N", help="calls; default: 16")
    parser.add_argument(
        "--callers", type=whole(1), default=1, metavar="N", help="calls at a time; default: 1"
    )
    parser.add_argument(
        "--warmup",
        type=whole(0),
        metavar="N",
        help="calls before, which are not shown; default: one per caller",
    )
    parser.add_argument("--shapes", action="store_true", help="note the shapes of what comes and goes too")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the timeline goes: .html, .json or .json.gz"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Make the calls, write the timeline, print the table.

    Returns:
        The exit status.

    Raises:
        CommandError: something is missing or does not fit.
    """
    output = None if arguments.output is None else _checked(Path(arguments.output))
    with needing("benchmark"):
        import ml_pipes.benchmark  # noqa: F401 - before anything of the user's is imported

        if output is not None and output.name.lower().endswith(_PAGES):
            import jinja2  # noqa: F401 - as above
    args, data_args = config(arguments.arg, "--arg"), config(arguments.data_arg, "--data-arg")
    target = find_target(arguments.pipeline)
    target.check(args, "--arg")
    data = chosen_data(arguments, target, {"--data-arg": data_args})
    if data is not None:
        data.check(data_args, "--data-arg")
    timeline = TimelineCollector(limit=arguments.calls)
    with target.build(args) as pipeline:
        calls = _Calls(pipeline, _inputs(arguments, pipeline, data, data_args))
        is_interrupted = _trace(calls, timeline, arguments)
    print(_table(target, timeline))
    for words, count in calls.errors.items():
        print(f"errors: {count} x {words}")
    if output is not None and timeline.traces:
        _save(timeline, output, f"{target.name}: {len(timeline.traces)} calls, {arguments.callers} at a time")
    if is_interrupted:
        return INTERRUPTED
    return int(sum(calls.errors.values()) >= arguments.calls)


class _Calls:
    """A pipeline that is called with one input after another.

    Attributes:
        errors: what was raised -> how often.
    """

    def __init__(self, pipeline: Pipeline[Any, Any], inputs: list[Any]) -> None:
        self.pipeline = pipeline
        self.errors: Counter[str] = Counter()
        self._inputs = inputs

    def __call__(self, index: int, *_: Any) -> None:
        try:
            self.pipeline(self._inputs[index % len(self._inputs)])
        except Exception as error:  # noqa: BLE001 - whatever it is, it is told and the other calls go on
            self.errors[": ".join(filter(None, [type(error).__name__, str(error)]))] += 1


def _trace(calls: _Calls, timeline: TimelineCollector, arguments: argparse.Namespace) -> bool:
    """Whether Ctrl-C came before the end."""
    helpers = arguments.callers - 1
    crew = Crew("caller", helpers) if helpers else None
    warmup = arguments.callers if arguments.warmup is None else arguments.warmup
    try:
        fan_out(range(warmup), calls, crew, helpers)
        calls.errors.clear()
        calls.pipeline.set_tracing(timeline, TracingConfig(capture_shapes=arguments.shapes))
        fan_out(range(arguments.calls), calls, crew, helpers)
    except KeyboardInterrupt:
        return True
    finally:
        calls.pipeline.set_tracing(None)
        if crew is not None:
            crew.close()
    return False


def _inputs(
    arguments: argparse.Namespace, pipeline: Pipeline[Any, Any], data: Data | None, config: dict[str, Any]
) -> list[Any]:
    if data is None:
        return [give()[1] for give in file_inputs(arguments.input[: arguments.calls], pipeline)]
    return prepared_values(data.build(config), data.name, arguments.calls)


def _table(target: Target, timeline: TimelineCollector) -> str:
    """Each step's times, as a benchmark shows them."""
    from ml_pipes.benchmark import BenchmarkCollector, MeasurementConfig

    collector = BenchmarkCollector(MeasurementConfig())
    for trace in timeline.traces:
        collector.on_trace(trace)
    # Errors are told by themselves, in all their words.
    lines = collector.report().to_table().splitlines()
    return "\n".join([target.name, *(line for line in lines if not line.startswith("errors: "))])


def _checked(output: Path) -> Path:
    if not output.name.lower().endswith(_ENDINGS):
        raise CommandError(f"--output {output}: the name must end in .html, .json or .json.gz")
    if not output.parent.is_dir():
        raise CommandError(f"--output {output}: there is no folder {output.parent}")
    return output


def _save(timeline: TimelineCollector, output: Path, title: str) -> None:
    try:
        timeline.save(output, title=title)
    except OSError as error:
        raise CommandError(f"--output {output} cannot be written: {error.strerror or error}") from error
    is_page = output.name.lower().endswith(_PAGES)
    print(f"written: {output}; open it {'in a browser' if is_page else 'at https://ui.perfetto.dev'}")
