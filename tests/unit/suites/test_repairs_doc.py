"""The table of repairs in `docs/grading.md` and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.checks.upstream.corrections import corrections
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.commands.cli import main
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.suites.repairs import markdown, numbers, ranges

DOC = Path(__file__).parents[3] / "docs/grading.md"


def test_repairs_table_is_up_to_date() -> None:
    found = numbers(load_suite("webarena").tasks)
    assert markdown(found) in DOC.read_text("utf-8")
    assert found["corrections"] == tuple(sorted(task for each in corrections() for task in each.tasks))
    assert found["string-alternatives"] == (386,)
    assert 144 in found["typed-references"]


def test_ranges_groups_consecutive_numbers() -> None:
    assert ranges([1, 2, 3, 7, 9, 10]) == "1-3, 7, 9-10"
    assert ranges([]) == ""


def test_repairs_command_prints_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "repairs", "site-hosts"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("site-hosts  (string_match, loosens)\n  original")
    assert "tasks     5: 293-297" in said
    assert max(map(len, said.splitlines())) <= 80


def test_repairs_command_works_without_tasks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "repairs", "--suite=nowhere"]) == 0
    captured = capsys.readouterr()
    assert all(f"{rule}  (" in captured.out for rule in RULES)
    assert "tasks  " not in captured.out
    assert "nowhere" in captured.err


def test_unknown_rule_shows_nearest_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tasks", "repairs", "typed-referenses"]) == 2
    assert "did you mean 'typed-references'" in capsys.readouterr().err
