"""The guides name only files that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import pytest_webarena
from tests.cases import each_case

ROOT = Path(__file__).parents[2]
PACKAGE = Path(pytest_webarena.__file__).parent

_NAMED = re.compile(r"`([\w.*/-]+)`|\]\(([\w./-]+)(?:#[\w-]+)?\)")
_SUFFIXES = (".py", ".md", ".yaml", ".toml", ".json", "/")
_MADE_LATER = frozenset({"trial.json"})
"""Named like files of ours, and written by runs."""


def missing(text: str) -> list[str]:
    """The paths in ``text`` that lead nowhere: from the root, from the package, or from where others of the same
    paragraph or row of a table lead."""
    found: list[str] = []
    for part in re.split(r"\n\s*\n|\n(?=[|])", text):
        folders = {ROOT, PACKAGE}
        names = [match[1] or match[2] for match in _NAMED.finditer(part)]
        unresolved = [name for name in names if name not in _MADE_LATER and ("/" in name or name.endswith(_SUFFIXES))]
        while unresolved:
            led = {name: [path for folder in folders for path in folder.glob(name.rstrip("/"))] for name in unresolved}
            if not any(led.values()):
                break
            folders |= {path if path.is_dir() else path.parent for paths in led.values() for path in paths}
            unresolved = [name for name in unresolved if not led[name]]
        found += unresolved
    return found


@pytest.mark.parametrize("guide", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_file_a_guide_names_is_there(guide: str) -> None:
    assert missing((ROOT / guide).read_text("utf-8")) == []


def test_every_room_of_the_table_is_there_and_the_table_has_every_room() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text("utf-8").split("\n## Packages\n")[1].split("\n## ")[0]
    rows = [line.split(" | ")[0] for line in text.splitlines() if line.startswith("| `")]
    named = {name.rstrip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row)}
    there = {path.stem for path in PACKAGE.iterdir() if not path.name.startswith("_") and path.suffix in ("", ".py")}
    assert named == there


@each_case(
    ("line", "missing_paths"),
    [
        ("a module in `checks/`, see `kind.py`", []),
        ("see `kind.py`, in `checks/`", []),
        ("a module in `checks/`, see `shapes.py`", ["shapes.py"]),
        ("| in `checks/` |\n| see `kind.py` |", ["kind.py"]),
        ("`pytest_webarena/judging/`", ["pytest_webarena/judging/"]),
        ("`sites/catalogues/shipped/*.yaml`", []),
        ("see [this](docs/no-such.md#part)", ["docs/no-such.md"]),
        ("`pytest tests/unit -k number` and `Kind`", []),
    ],
)
def test_a_path_that_leads_nowhere_is_noticed(line: str, missing_paths: list[str]) -> None:
    assert missing(line) == missing_paths
