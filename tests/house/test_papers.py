"""The papers beside the code say what is there, and no more."""

from __future__ import annotations

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import ml_pipes

_KINDS = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}


def test_the_changelog_keeps_its_form(root: Path) -> None:
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")

    versions = re.findall(r"^## (.+)$", text, re.MULTILINE)
    kinds = set(re.findall(r"^### (.+)$", text, re.MULTILINE))

    assert text.startswith("# Changelog\n")
    assert "keepachangelog.com" in text
    assert versions[0] == "[Unreleased]"
    assert [v for v in versions[1:] if not re.fullmatch(r"\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}", v)] == []
    assert kinds <= _KINDS


def test_dependencies_are_each_explained_and_no_other_is(root: Path) -> None:
    text = (root / "docs" / "dependencies.md").read_text(encoding="utf-8")

    explained = re.findall(r"^- `([^`]+)`: .{10,}", text, re.MULTILINE)

    assert sorted(explained) == sorted(_dependencies(root))


def test_architecture_draws_every_room_and_no_other(root: Path, rooms: set[str]) -> None:
    text = (root / "docs" / "architecture.md").read_text(encoding="utf-8")

    assert _drawn(text, "src/ml_pipes/") == rooms


def test_the_map_in_the_package_names_every_room_and_no_other(rooms: set[str]) -> None:
    assert ml_pipes.__doc__ is not None

    assert _drawn(ml_pipes.__doc__, "ml_pipes/") == rooms


def test_every_file_that_the_papers_point_to_exists(root: Path) -> None:
    papers = [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").glob("*.md"))]
    missing = [
        f"{paper.name}: {target}"
        for paper in papers
        for target in _pointed_to(paper.read_text(encoding="utf-8"))
        if not any((place / target).exists() for place in (root, paper.parent, root / "src" / "ml_pipes"))
    ]

    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("paper", ["README.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_every_make_command_that_the_papers_give_is_in_the_makefile(root: Path, paper: str) -> None:
    text = (root / paper).read_text(encoding="utf-8")
    makefile = (root / "Makefile").read_text(encoding="utf-8")

    given = set(re.findall(r"\bmake ([a-z]+)(?=[\s`]|$)", _code(text)))

    assert given - set(re.findall(r"^([a-z]+):.*##", makefile, re.MULTILINE)) == set()


@pytest.mark.parametrize(
    "room",
    [
        "standard",
        "tensor",
        "vision",
        "vision.text",
        "onnx",
        "openvino",
        "collectors",
        "tracing",
        "factory",
        "benchmark",
    ],
)
def test_the_list_of_steps_names_all_that_a_room_offers_and_nothing_else(root: Path, room: str) -> None:
    listed = (root / "docs" / "operators.md").read_text(encoding="utf-8")
    section = listed.partition(f"## `ml_pipes.{room}`")[2].partition("\n## ")[0]

    named = set(re.findall(r"^\| `(\w+)`", section, re.MULTILINE))
    named |= set(re.findall(r"`(\w+)`", section.partition("\nFunctions: ")[2]))

    assert named == set(importlib.import_module(f"ml_pipes.{room}").__all__)


def _dependencies(root: Path) -> set[str]:
    """Every distribution that pyproject.toml or assets*.txt names, but ourselves."""
    pyproject = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    project = pyproject["project"]
    wanted = [*pyproject["build-system"]["requires"], *project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    for assets in root.glob("assets*.txt"):
        wanted += [line.partition("#")[0] for line in assets.read_text(encoding="utf-8").splitlines()]
    names = (re.match(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)", line) for line in wanted)
    return {re.sub(r"[-_.]+", "-", name[1]).lower() for name in names if name} - {"ml-pipes"}


def _drawn(text: str, heading: str) -> set[str]:
    """The rooms of the drawing below the line ``heading``: its lines begin with a room, two blanks in."""
    rooms: set[str] = set()
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip().startswith(heading):
            margin = len(line) - len(line.lstrip())
            break
    else:
        return rooms
    for line in lines:
        if line.startswith("```"):
            break
        if found := re.match(rf" {{{margin + 2}}}(\w+(?:\.py|/))(?: |$)", line):
            rooms.add(found[1])
    return rooms


def _pointed_to(text: str) -> set[str]:
    """Links to files, and the code spans that are a path with a folder in it or a file of ours."""
    without_blocks = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    links = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", without_blocks)
    spans = re.findall(r"`((?:[\w.-]+/)*[\w.-]+(?:\.py|\.md|\.toml|\.txt|/))`", without_blocks)
    return set(links) | set(spans)


def _code(text: str) -> str:
    """The code spans and blocks of a page."""
    return "\n".join(
        block or span for block, span in re.findall(r"```\w*\n(.*?)```|`([^`\n]+)`", text, re.DOTALL)
    )
