"""What ``import ml_pipes.core`` costs over a bare interpreter, and what it brings along."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from typing import Any

__all__ = ["import_row"]

_HEAVY = ("numpy", "cv2", "onnxruntime", "torch", "rich")


def import_row(rounds: int = 15) -> dict[str, Any]:
    """CPU milliseconds and modules, each round a bare interpreter and one that imports, in turn."""
    bare_s, with_s = [], []
    for _ in range(rounds):
        bare_s.append(_cpu_s("pass"))
        with_s.append(_cpu_s("import ml_pipes.core"))
    modules = _modules("import ml_pipes.core")
    return {
        "CPU, +ms": statistics.median(w - b for w, b in zip(with_s, bare_s, strict=True)) * 1e3,
        "spread, ms": (max(with_s) - min(with_s)) * 1e3,
        "modules": len(modules) - len(_modules("pass")),
        "heavy modules": ", ".join(name for name in _HEAVY if name in modules) or "none",
    }


def _cpu_s(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def _modules(code: str) -> list[str]:
    command = [sys.executable, "-c", f"{code}; import sys, json; print(json.dumps(sorted(sys.modules)))"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    names: list[str] = json.loads(run.stdout)
    return names
