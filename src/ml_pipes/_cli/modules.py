"""Modules by name or by file, and what in them a command is meant to use.

Knows imports and messages. Knows nothing of what is looked for.
"""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import pkgutil
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any

from ml_pipes._cli.errors import CommandError

__all__ = ["find_attribute", "import_module", "names_of", "place_of", "split"]


def split(text: str) -> tuple[str, str | None]:
    """``MODULE[:FN]`` as the two; a colon in a path of Windows is none."""
    if text.endswith(".py"):
        return text, None
    module, colon, function = text.rpartition(":")
    if not colon or "/" in function or "\\" in function:
        return text, None
    if not module or not function:
        raise CommandError(f"{text!r}: write MODULE:FUNCTION or FILE.py:FUNCTION")
    return module, function


def import_module(name: str) -> ModuleType:
    """The module of this name, or the file of this path.

    A file's folder is put first on ``sys.path``, as ``python FILE`` does, and for a name the current folder,
    as ``python -m`` does.

    Raises:
        CommandError: there is none; it, or what it imports, cannot be imported.
        Exception: what the module's own code raised.
    """
    is_file = name.endswith(".py")
    if is_file and not Path(name).is_file():
        raise CommandError(_no_file(Path(name)))
    if not is_file and ("/" in name or "\\" in name):
        with_suffix = Path(f"{name}.py")
        way_out = f"; did you mean {with_suffix}?" if with_suffix.is_file() else ""
        raise CommandError(f"{name} is neither a module's name nor a file that ends in .py{way_out}")
    try:
        return _from_file(Path(name)) if is_file else _by_name(name)
    except SyntaxError as error:
        words = "".join(traceback.format_exception_only(error)).rstrip()
        raise CommandError(f"{name} cannot be imported:\n{words}") from error
    except ImportError as error:
        raise CommandError(_not_imported(name, error)) from error


def find_attribute(module: ModuleType, path: str, called: str) -> Any:
    """The module's attribute, or one of its attribute's.

    Args:
        module: where to look.
        path: a name, or several with dots between.
        called: how the user named the module.

    Raises:
        CommandError: there is none; the message has those that there are.
    """
    value: Any = module
    for name in path.split("."):
        if not hasattr(value, name):
            there = names_of(module)
            near, has = _did_you_mean(path, there), ", ".join(there) or "nothing"
            raise CommandError(f"{called} has no {path!r}{near}; it has {has}")
        value = getattr(value, name)
    return value


def names_of(module: ModuleType) -> list[str]:
    """What the module defines itself and could be named: not modules, not what it imported."""
    home = module.__name__
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and not isinstance(value, ModuleType)
        and (getattr(value, "__module__", home) == home or type(value).__name__ == "Pipeline")
        and (callable(value) or type(value).__name__ == "Pipeline")
    ]


def place_of(error: BaseException, module: ModuleType) -> str:
    """``FILE, line N``: the last line of the module's own that the error went through; else its name."""
    file = getattr(module, "__file__", None)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if file is not None and frame.filename == file:
            return f"{_short(file)}, line {frame.lineno}"
    return module.__name__


def _from_file(path: Path) -> ModuleType:
    whole = path.resolve()
    _put_first(str(whole.parent))
    name = whole.stem
    there = sys.modules.get(name)
    if there is not None:
        if _file_of(there) == whole:
            return there
        # Another file of this name, or a module of Python's.
        name = f"{name}_{hashlib.sha256(str(whole).encode()).hexdigest()[:8]}"
        if name in sys.modules:
            return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, whole)
    if spec is None or spec.loader is None:
        raise CommandError(f"{path} cannot be imported: Python does not know what kind of file it is")
    module = importlib.util.module_from_spec(spec)
    # Before it runs, as an import does: dataclasses and pickle look there.
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def _by_name(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise CommandError(f"{name!r} is no module's name; write MODULE:FUNCTION or FILE.py:FUNCTION")
    if "" not in sys.path:
        _put_first(str(Path.cwd()))
    importlib.invalidate_caches()
    return importlib.import_module(name)


def _put_first(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _file_of(module: ModuleType) -> Path | None:
    file = getattr(module, "__file__", None)
    return None if file is None else Path(file).resolve()


def _no_file(path: Path) -> str:
    near = [str(other) for other in path.parent.glob("*.py")] if path.parent.is_dir() else []
    return f"there is no file {path}{_did_you_mean(str(path), near)}"


def _not_imported(name: str, error: ImportError) -> str:
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None and (name == missing or name.startswith(f"{missing}.")):
        return f"there is no module {name!r}{_did_you_mean(name, _near_modules(missing))}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<") and frame.filename not in {__file__, importlib.__file__}
    ]
    # The user's own file, where the import stands; what it imports in its turn is further down.
    place = f"{_short(frames[0].filename)}, line {frames[0].lineno}: " if frames else ""
    return f"{name} cannot be imported: {place}{error}"


def _near_modules(missing: str) -> list[str]:
    parent, _, _ = missing.rpartition(".")
    if not parent:
        return [module.name for module in pkgutil.iter_modules()]
    paths = getattr(sys.modules.get(parent), "__path__", None)
    return [] if paths is None else [f"{parent}.{module.name}" for module in pkgutil.iter_modules(paths)]


def _did_you_mean(name: str, there: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(there), n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _short(file: str) -> str:
    path = Path(file)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else file
