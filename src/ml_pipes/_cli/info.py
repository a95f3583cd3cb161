"""``ml-pipes info``: what is installed, what is missing, and what the machine has.

Knows distributions and their extras, and whom to ask for devices. Knows nothing of pipelines.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import platform
import re
from collections.abc import Callable
from typing import Any

import ml_pipes
from ml_pipes._cli.options import STATUSES, add_command
from ml_pipes._cli.show import columns
from ml_pipes._runtimes.cpu import CPUS_VARIABLE, quota_cpus, usable_cpus

__all__ = ["add_parser", "run"]

_DISTRIBUTION = "ml-pipes"
_REQUIREMENT = re.compile(
    r"^([A-Za-z0-9._-]+)(\[[^\]]*\])?([^;]*?)\s*;\s*extra\s*==\s*['\"]([^'\"]+)['\"]\s*$"
)
# Those that only gather others, or are for who works on the library.
_NOT_SHOWN = {"all", "dev"}
_EPILOG = f"""examples:
  ml-pipes info
  ml-pipes info --json > machine.json

{STATUSES}"""


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "info", "show what is installed, what is missing, and what the machine has", epilog=_EPILOG
    )
    parser.add_argument(
        "--json", action="store_true", help="as JSON, with the whole environment of a benchmark"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Find out and print."""
    found = _found()
    if arguments.json:
        found["environment"] = _environment()
        print(json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False))
        return
    print("\n".join(_lines(found)))


def _found() -> dict[str, Any]:
    return {
        "ml_pipes": ml_pipes.__version__,
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": platform.platform(),
        "extras": {name: _versions(packages) for name, packages in sorted(_extras().items())},
        "cpus": _cpus(),
        "onnxruntime_providers": _asked("onnxruntime", _providers),
        "openvino_devices": _asked("openvino", _devices),
        "gpus": _asked("pynvml", _gpus),
    }


def _lines(found: dict[str, Any]) -> list[str]:
    cpus = found["cpus"]
    about = [
        ["ml-pipes", found["ml_pipes"]],
        ["Python", found["python"]],
        ["platform", found["platform"]],
        ["CPUs", _cpus_in_words(cpus)],
        ["ONNX Runtime", _listed(found["onnxruntime_providers"])],
        ["OpenVINO", _listed(found["openvino_devices"])],
        ["NVIDIA cards", _listed(found["gpus"])],
    ]
    rows = [["extra", "packages", ""]]
    for name, packages in found["extras"].items():
        missing = [package for package, version in packages.items() if version is None]
        there = ", ".join(f"{package} {version or 'MISSING'}" for package, version in packages.items())
        rows.append([name, there, f'pip install "ml-pipes[{name}]"' if missing else ""])
    return [
        *columns(about),
        "",
        *(columns(rows) if len(rows) > 1 else ["the distribution ml-pipes is not installed"]),
    ]


def _cpus_in_words(cpus: dict[str, Any]) -> str:
    parts = [f"{cpus['usable']} usable of {cpus['cores']}"]
    if cpus["affinity"] is not None and cpus["affinity"] != cpus["cores"]:
        parts.append(f"affinity {cpus['affinity']}")
    if cpus["quota"] is not None:
        parts.append(f"quota of the container {cpus['quota']:g}")
    if cpus["variable"] is not None:
        parts.append(f"{CPUS_VARIABLE}={cpus['variable']}")
    return ", ".join(parts)


def _listed(names: list[str] | None) -> str:
    return "not known: its package is missing" if names is None else ", ".join(names) or "none"


def _extras() -> dict[str, list[str]]:
    """Extra -> the packages that it brings; empty where ml-pipes itself is not installed."""
    try:
        requirements = importlib.metadata.requires(_DISTRIBUTION) or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    extras: dict[str, list[str]] = {}
    for requirement in requirements:
        match = _REQUIREMENT.match(requirement)
        if match and match[1] != _DISTRIBUTION and match[4] not in _NOT_SHOWN:
            extras.setdefault(match[4], []).append(match[1])
    return extras


def _versions(packages: list[str]) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    for package in packages:
        found[package] = None
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


def _cpus() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "affinity": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "quota": quota_cpus(),
        "usable": usable_cpus(),
        "variable": os.environ.get(CPUS_VARIABLE),
    }


def _asked(package: str, ask: Callable[[], list[str]]) -> list[str] | None:
    """What it answers; None where the package is missing or cannot be asked."""
    if importlib.util.find_spec(package) is None:
        return None
    try:
        return ask()
    except Exception:  # noqa: BLE001 - a driver that is not there has many ways to say so
        return []


def _providers() -> list[str]:
    import onnxruntime

    return list(onnxruntime.get_available_providers())


def _devices() -> list[str]:
    import openvino

    core = openvino.Core()
    return [f"{name} ({core.get_property(name, 'FULL_DEVICE_NAME')})" for name in core.available_devices]


def _gpus() -> list[str]:
    import pynvml

    pynvml.nvmlInit()
    try:
        handles = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        return [str(pynvml.nvmlDeviceGetName(handle)) for handle in handles]
    finally:
        pynvml.nvmlShutdown()


def _environment() -> dict[str, Any] | None:
    """As a benchmark notes it; None without the packages for that."""
    try:
        from ml_pipes.benchmark import environment
    except ImportError:
        return None
    return environment()
