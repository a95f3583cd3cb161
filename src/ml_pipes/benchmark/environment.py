"""Which machine it was, and what else could change a figure: versions, threads, shares, other work.

Knows the operating system and the packages that are already imported. Knows nothing of what is measured.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import importlib.metadata
import os
import platform
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from ml_pipes._runtimes.cpu import CPUS_VARIABLE, quota_cpus, usable_cpus
from ml_pipes._threads.clock import Gate
from ml_pipes.benchmark.watch import read_gpus, read_now

__all__ = ["environment", "foreign_cpus"]

# name in the result -> distributions, of which the first that is installed counts
_PACKAGES: Final = {
    "ml_pipes": ("ml-pipes",),
    "numpy": ("numpy",),
    "opencv": ("opencv-python-headless", "opencv-python", "opencv-contrib-python"),
    "onnxruntime": ("onnxruntime", "onnxruntime-gpu"),
    "openvino": ("openvino",),
    "torch": ("torch",),
}
# What changes how many threads a library starts, or where they run.
_VARIABLES: Final = (
    CPUS_VARIABLE,
    "OMP_NUM_THREADS",
    "OMP_WAIT_POLICY",
    "OMP_PROC_BIND",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "ORT_NUM_THREADS",
    "PYTHON_GIL",
    "CUDA_VISIBLE_DEVICES",
)
_CPUINFO: Final = Path("/proc/cpuinfo")
_GOVERNOR: Final = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")


def environment(look_s: float = 0.1) -> dict[str, Any]:
    """Which machine it is, and what else could change a figure; plain values, for JSON.

    Nothing is imported for it: of OpenCV and torch, the threads are told only where they are imported
    already. What cannot be found out is None.

    Args:
        look_s: how long to look at what others do to the CPUs, seconds; 0 to leave it out.

    Returns:
        ``date`` (UTC, ISO 8601), ``memory_bytes``, ``gpus`` (a list), and as dicts ``python``,
        ``platform``, ``cpu``, ``versions``, ``threads`` and ``load``.
    """
    return {
        "date": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "python": _python(),
        "platform": {
            "system": platform.system(),
            "release": platform.release(),
            "machine": platform.machine(),
        },
        "cpu": _cpu(),
        "memory_bytes": _memory_bytes(),
        "gpus": [{"name": card.name, "memory_total_bytes": card.memory_total_bytes} for card in read_gpus()],
        "versions": {name: _version(names) for name, names in _PACKAGES.items()},
        "threads": _threads(),
        "load": _load(look_s),
    }


def foreign_cpus(look_s: float) -> float | None:
    """How many CPUs other processes keep busy, on average over this many seconds from now.

    None where psutil is missing or the system does not tell.
    """
    try:
        before = read_now()
        Gate().wait(look_s)
        after = read_now()
    except Exception:  # noqa: BLE001 - what the system does not tell is not known
        return None
    wall_s = after.at_s - before.at_s
    others_s = (after.machine_cpu_s - before.machine_cpu_s) - (after.process_cpu_s - before.process_cpu_s)
    return max(0.0, others_s) / wall_s if wall_s > 0.0 else None


def _python() -> dict[str, Any]:
    enabled: Callable[[], bool] = getattr(sys, "_is_gil_enabled", lambda: True)
    return {
        "version": platform.python_version(),
        "implementation": platform.python_implementation(),
        "free_threaded_build": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        "gil": enabled(),
        "debug_build": hasattr(sys, "gettotalrefcount"),
    }


def _cpu() -> dict[str, Any]:
    affinity = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    return {
        "model": _cpu_model(),
        "cores": os.cpu_count(),
        "affinity": affinity,
        "quota_cpus": quota_cpus(),
        "usable_cpus": _or_none(usable_cpus),
        "governor": _text(_GOVERNOR),
    }


def _cpu_model(cpuinfo: Path = _CPUINFO) -> str | None:
    for line in (_text(cpuinfo) or "").splitlines():
        name, _, value = line.partition(":")
        if name.strip() in {"model name", "Model", "Hardware"} and value.strip():
            return value.strip()
    return platform.processor() or None


def _memory_bytes() -> int | None:
    with contextlib.suppress(Exception):
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return None


def _version(names: tuple[str, ...]) -> str | None:
    for name in names:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            return importlib.metadata.version(name)
    return None


def _threads() -> dict[str, Any]:
    """Settings of threads: variables that are set, and libraries that are imported."""
    told: dict[str, Any] = {name: os.environ[name] for name in _VARIABLES if name in os.environ}
    for name, module, attribute in [
        ("opencv", "cv2", "getNumThreads"),
        ("torch", "torch", "get_num_threads"),
    ]:
        ask = getattr(sys.modules.get(module), attribute, None)
        if callable(ask):
            told[name] = _or_none(ask)
    told["switch_interval_s"] = sys.getswitchinterval()
    return told


def _load(look_s: float) -> dict[str, Any]:
    average = _or_none(os.getloadavg) if hasattr(os, "getloadavg") else None
    return {
        "load_average": None if average is None else [round(value, 2) for value in average],
        "foreign_cpus": foreign_cpus(look_s) if look_s > 0.0 else None,
    }


def _or_none(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except Exception:  # noqa: BLE001 - what cannot be found out is not known
        return None


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip() or None
    except OSError:
        return None
