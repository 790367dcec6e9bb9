"""Validation of many files, and its three output formats."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.catalogues.loading import looks_like_catalogue
from pytest_webarena.tasks import validate
from pytest_webarena.tasks.loader import parse_tasks
from pytest_webarena.tasks.validate import find_files, render, too_short_limits
from pytest_webarena.yaml_files import look_for_tasks, read_small

GOOD = "tasks: [{id: %s, intent: x, sites: [shopping], checks: [{answer: x}]}]\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    (tmp_path / "b.yaml").write_text(GOOD % "b")
    (tmp_path / "a.yml").write_text(GOOD % "a")
    (tmp_path / "sub" / "c.yaml").write_text("tasks: [{id: c, intnet: x}]\n")
    (tmp_path / "notes.txt").write_text("tasks: [")
    return tmp_path


def test_find_files_searches_folders_and_keeps_named_files(folder: Path) -> None:
    assert [str(path) for path in find_files(["sub/c.yaml", ".", "notes.txt"])] == [
        "sub/c.yaml",
        "a.yml",
        "b.yaml",
        "notes.txt",
    ]


def test_find_files_skips_the_folders_that_pytest_skips(folder: Path) -> None:
    foreign = {
        ".github/workflows/a.yaml": "on: push\njobs: {}\n",
        ".hidden/a.yaml": GOOD % "h",
        "env/pyvenv.cfg": "",
        "env/lib/a.yaml": GOOD % "v",
        "node_modules/a.yaml": GOOD % "n",
        "compose.yaml": "services: {}\n",
        "play.yaml": "tasks: [{name: a}]\n",
    }
    for name, text in {**foreign, "sub/odd.tasks.yaml": "[]\n"}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    assert [str(path) for path in find_files(["."])] == ["a.yml", "b.yaml", "sub/c.yaml", "sub/odd.tasks.yaml"]
    assert [str(path) for path in find_files(["."], also=lambda path: path.stem == "compose")][2] == "compose.yaml"
    assert [str(path) for path in find_files(["play.yaml", ".hidden"])] == ["play.yaml", ".hidden/a.yaml"]


def test_validate_reports_all_problems_of_all_files(folder: Path) -> None:
    report = validate(["."], sites=["reddit"])
    assert not report.valid
    assert len(report.files) == 3
    assert [(problem.path, problem.line) for problem in report.problems][:2] == [("a.yml", 1), ("b.yaml", 1)]
    assert "sub/c.yaml:1:17: expected a key of a task, found 'intnet' (did you mean 'intent'?)" in render(report)
    assert render(report).splitlines()[-1] == "3 files, 0 valid tasks: 5 problems in 3 files"


def test_validate_of_valid_files_reports_no_problems(folder: Path) -> None:
    report = validate(["a.yml", "b.yaml"], sites=["shopping"])
    assert report.valid
    assert [task.id for task in report.tasks] == ["a", "b"]
    assert render(report) == "2 files, 2 tasks: no problems"


def test_ids_are_unique_across_files(folder: Path) -> None:
    (folder / "z.yaml").write_text("# one line down\n" + GOOD % "a")
    [problem] = validate(["a.yml", "z.yaml"]).problems
    assert str(problem) == "z.yaml:2:9: expected an id used once, found 'a' again (first in a.yml:1)"


def test_a_missing_file_is_a_problem(folder: Path) -> None:
    assert render(validate(["nowhere.yaml"])).splitlines() == [
        "nowhere.yaml:1:1: expected a readable task file, found no such file or directory",
        "1 file, 0 valid tasks: 1 problem in 1 file",
    ]


def test_json_format(folder: Path) -> None:
    data = json.loads(render(validate(["sub"]), "json"))
    assert (data["schema_version"], data["files"], data["tasks"]) == (1, ["sub/c.yaml"], 0)
    assert data["problems"][-1] == {
        "path": "sub/c.yaml",
        "line": 1,
        "column": 17,
        "expected": "a key of a task",
        "found": "'intnet'",
        "hint": "did you mean 'intent'?",
    }


def test_github_format(folder: Path) -> None:
    (folder / "odd, 100%.yaml").write_text("tasks: [5]")
    lines = render(validate(["odd, 100%.yaml"]), "github").splitlines()
    assert lines == [
        "::error file=odd%2C 100%25.yaml,line=1,col=9,title=task file::"
        "expected a task: a mapping with id, intent, checks, found the number 5",
        "1 file, 0 valid tasks: 1 problem in 1 file",
    ]


def test_unknown_format_is_refused(folder: Path) -> None:
    with pytest.raises(UsageError, match="expected one of the formats text, json, github, found 'xml'"):
        render(validate([]), "xml")


def test_irregular_files_are_refused_without_reading(tmp_path: Path) -> None:
    """A pipe without a writer would block, and a device would be read forever."""
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    assert not looks_like_catalogue(pipe)
    assert look_for_tasks(pipe) == "foreign"
    [problem] = validate([str(pipe)]).problems
    assert str(problem) == f"{pipe}:1:1: expected a readable task file, found no regular file"
    with pytest.raises(OSError, match="no regular file"):
        read_small("/dev/zero")


def test_read_small_reads_at_most_one_byte_beyond_the_limit(tmp_path: Path) -> None:
    (tmp_path / "large.yaml").write_bytes(b" " * 30)
    assert read_small(tmp_path / "large.yaml", 10) == b" " * 11


def test_limit_of_steps_below_the_solution_is_a_problem() -> None:
    text = """
tasks:
  - id: short
    sites: [homepage]
    intent: Open the page.
    limits: {steps: 2}
    checks: [{url: /a}]
    solution: [{goto: /a}, {goto: /b}, {stop: ""}]
"""
    [task] = parse_tasks(text)
    [problem] = too_short_limits([task])
    assert problem.found == "limits: {steps: 2} and a solution of 3 steps with its answer"
    assert too_short_limits([replace(task, limits=replace(task.limits, steps=3))]) == []
