"""The documentation of exit codes and failure classes is complete."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_webarena.results.failure_classes import CLASSES
from pytest_webarena.results.gate import EXIT_CODES

DOCS = Path(__file__).parents[3] / "docs"


def table_after(page: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table after a heading, without its head."""
    text = (DOCS / page).read_text(encoding="utf-8").partition(f"{heading}\n")[2]
    lines = re.search(r"(?:^\|.*\n)+", text, re.MULTILINE)
    assert lines is not None, heading
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[0].splitlines()[2:]]


def test_one_table_lists_all_exit_codes_of_a_test_run() -> None:
    listed = [int(code) for row in table_after("ci.md", "### Exit codes") for code in row[0].split(",")]
    assert len(listed) == len(set(listed))
    assert set(listed) == {*map(int, pytest.ExitCode), *EXIT_CODES, 6}  # 6 is of newer versions of pytest


def test_pages_name_only_exit_codes_of_the_table() -> None:
    known = {*map(int, pytest.ExitCode), *EXIT_CODES, 137}  # 137: a killed process
    for page in sorted(DOCS.glob("*.md")):
        named = re.findall(r"exit (?:code|with) (?:is )?(\d+)", page.read_text(encoding="utf-8"), re.IGNORECASE)
        assert {*map(int, named)} <= known, page.name


def test_documented_failure_classes_are_all_classes() -> None:
    listed = [name for row in table_after("tables.md", "## Why trials failed") for name in row[0].split(",")]
    assert sorted(name.strip().strip("`") for name in listed) == sorted(CLASSES)


def test_classes_without_a_rule_are_documented_as_such() -> None:
    rows = table_after("tables.md", "## Why trials failed")
    for row in rows:
        for name in row[0].split(","):
            assert (row[-1] != "none") is bool(CLASSES[name.strip().strip("`")].rule), name
