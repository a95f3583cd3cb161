"""A module's ``__all__`` is exactly what it offers."""

from __future__ import annotations

import ast
import importlib
from typing import TYPE_CHECKING

import pytest

import ml_pipes

if TYPE_CHECKING:
    from conftest import Source

# Calls whose result serves annotations only and is not offered to others.
_TYPE_VARIABLES = {"TypeVar", "ParamSpec", "TypeVarTuple"}
_BUILTIN_GENERICS = {"dict", "frozenset", "list", "set", "tuple", "type"}


def test_every_module_of_the_library_that_holds_more_than_a_docstring_has_an_all(
    sources: list[Source],
) -> None:
    without = [s.name for s in sources if s.is_ours and len(s.tree.body) > 1 and _exported(s) is None]

    assert not without, "\n".join(without)


def test_all_names_everything_public_that_the_module_defines(sources: list[Source]) -> None:
    missing = [
        f"{s.name}: {name}" for s in sources if s.is_ours for name in _defined(s) - set(_exported(s) or ())
    ]

    assert not missing, "\n".join(missing)


def test_all_names_nothing_that_is_not_there(sources: list[Source]) -> None:
    dangling = [
        f"{s.name}: {name}"
        for s in sources
        if s.is_ours
        for name in _exported(s) or ()
        if not hasattr(importlib.import_module(s.module), name)
    ]

    assert not dangling, "\n".join(dangling)


def test_all_names_nothing_private_and_nothing_twice(sources: list[Source]) -> None:
    # ``__version__`` is public, whatever it looks like. The order is ruff's (RUF022).
    wrong = [
        f"{s.name}: {name}"
        for s in sources
        if s.is_ours
        for name in _exported(s) or ()
        if (name.startswith("_") and name != "__version__") or (_exported(s) or []).count(name) > 1
    ]

    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ml_pipes.__all__)
def test_the_package_offers_what_it_lists(name: str) -> None:
    assert getattr(ml_pipes, name) is not None
    assert name in dir(ml_pipes)


def test_the_package_says_which_name_it_does_not_have() -> None:
    with pytest.raises(AttributeError, match="module 'ml_pipes' has no attribute 'Pipelin'"):
        ml_pipes.Pipelin  # noqa: B018 - the access is what is tested


def _exported(source: Source) -> list[str] | None:
    """The names in ``__all__``; None where the module has none."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["__all__"]:
            return list(ast.literal_eval(node.value))
    return None


def _defined(source: Source) -> set[str]:
    """The public functions, classes and values that the module itself makes."""
    names: set[str] = set()
    for node in source.tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign) and not _is_for_annotations(node.value):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            # A type alias may be for the module's own annotations only.
            names |= {node.target.id} if ast.unparse(node.annotation) != "TypeAlias" else set()
    return {name for name in names if not name.startswith("_")}


def _is_for_annotations(value: ast.expr) -> bool:
    """A type variable, or a type alias such as ``npt.NDArray[Any]``: a module may keep its own."""
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in _TYPE_VARIABLES
    if isinstance(value, ast.Subscript):
        name = ast.unparse(value.value).rpartition(".")[2]
        return name[:1].isupper() or name in _BUILTIN_GENERICS
    return isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr)
