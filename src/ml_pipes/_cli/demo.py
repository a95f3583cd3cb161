"""``ml-pipes demo``: the faces in a photograph, found by a real model, and where the time went.

Knows what to ask of the pipeline and in which order. Knows nothing of how tables look.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import ending_at_once
from ml_pipes._demo.assets import ASTRONAUT, CENTERFACE, Asset, AssetError, find_assets
from ml_pipes.collectors import CaptureCollector
from ml_pipes.errors import PipelineError

if TYPE_CHECKING:
    from ml_pipes.core import Pipeline
    from ml_pipes.tracing import InvocationTrace

__all__ = ["add_parser", "run"]


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = commands.add_parser(
        "demo",
        help="find the faces in a photograph, and show where the time went",
        description="Find the faces in a photograph with CenterFace, mark them, and time each step.",
    )
    parser.add_argument(
        "photo", nargs="?", type=Path, metavar="PHOTO", help="default: a photograph of NASA's"
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="PATH",
        help="the marked picture; default: faces.png, or with PHOTO its name and _faces.png",
    )
    parser.add_argument("--threshold", type=_threshold, default=0.5, metavar="T", help="0 to 1; default: 0.5")
    parser.add_argument("--runs", type=_runs, default=10, metavar="N", help="timed runs; default: 10")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Find the faces, write the picture, print the tables.

    Raises:
        CommandError: something is missing, not a picture, or cannot be written.
    """
    with ending_at_once():
        show = _show()
    photo, output = arguments.photo, arguments.output
    try:
        model, photo = _found(photo)
        output = output or Path(f"{photo.stem}_faces.png" if arguments.photo else "faces.png")
        _check_paths(photo, output)
        with ending_at_once():
            pipeline = _built(model, output, arguments.threshold)
        # Before anything is printed: whatever is wrong with the paths shows in the first run, which warms up.
        faces = pipeline(photo)
        traces = _timed(pipeline, photo, arguments.runs)
    except OSError as error:
        raise CommandError(_words(error, photo, output)) from error
    except PipelineError as error:
        raise CommandError(str(error)) from error
    print(f"model       {_from_wheel(CENTERFACE)}")
    print(f"photograph  {photo if arguments.photo else _from_wheel(ASTRONAUT)}\n")
    print(pipeline)
    show.times(traces)
    show.faces(faces)
    print(f"the marked picture is in {output}")


def _found(photo: Path | None) -> tuple[Path, Path]:
    """The model and the photograph."""
    if photo is not None:
        return find_assets(CENTERFACE)[0], photo
    model, astronaut = find_assets(CENTERFACE, ASTRONAUT)
    return model, astronaut


def _show() -> Any:
    try:
        from ml_pipes._cli import tables
    except ModuleNotFoundError as missing:
        package = str(missing.name).partition(".")[0]
        raise CommandError(
            f'the demo needs {package}; install it with: pip install "ml-pipes[demo]"'
        ) from missing
    except ImportError as missing:
        raise CommandError(str(missing)) from missing
    return tables


def _built(model: Path, output: Path, threshold: float) -> Pipeline[Any, Any]:
    try:
        from ml_pipes._demo.faces import draw_faces

        return draw_faces(model, output, threshold)
    except ImportError as missing:
        raise CommandError(f'{missing}; or all of the demo: pip install "ml-pipes[demo]"') from missing
    except ValueError as error:
        raise CommandError(str(error)) from error


def _timed(pipeline: Pipeline[Any, Any], photo: Path, runs: int) -> list[InvocationTrace]:
    """A trace per run."""
    collector = CaptureCollector()
    pipeline.set_tracing(collector)
    traces: list[InvocationTrace] = []
    for _ in range(runs):
        pipeline(photo)
        if collector.last_trace is not None:
            traces.append(collector.last_trace)
    return traces


def _check_paths(photo: Path, output: Path) -> None:
    if photo.is_dir():
        raise CommandError(f"{photo} is a folder, not a photograph")
    if not photo.is_file():
        raise CommandError(f"there is no photograph at {photo}")
    if output.is_dir():
        raise CommandError(f"--output {output} is a folder; give the path of a picture")
    there = next(folder for folder in output.absolute().parents if folder.exists())
    if not there.is_dir():
        raise CommandError(f"--output {output}: {there} is not a folder")
    if output.exists() and output.samefile(photo):
        raise CommandError(f"--output {output} is the photograph itself; give another path")


def _from_wheel(asset: Asset) -> str:
    return f"{Path(asset.path).name} from {asset.origin} (licence: {asset.licence})"


def _words(error: OSError, photo: Path, output: Path) -> str:
    if isinstance(error, AssetError) or error.strerror is None:
        return str(error)
    # What fails after a file was opened has no name.
    return f"{error.strerror}: {error.filename or f'reading {photo} or writing {output}'}"


def _threshold(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number from 0 to 1, got {text}")
    return value


def _runs(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 up, got {text}")
    return int(text)
