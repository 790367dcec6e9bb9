"""Rubric items written by a model: accepted replies, retries and files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_webarena.checks.computed.rubric import RubricSpec
from pytest_webarena.checks.computed.rubric_files import read_rubric
from pytest_webarena.commands.cli import main
from pytest_webarena.llm_judge.rubric_authoring import PROMPT, read_items_of_reply
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks import load_tasks
from tests.model_server import Answer, ModelServer, model_server, say

TASK = """
tasks:
  - id: even
    intent: Show that the sum of two odd numbers is even.
    sites: []
    checks: [{rubric: {solution: 'Write 2a+1 and 2b+1.', %s threshold: 0.7}}]
  - id: other
    intent: Which is it?
    sites: []
    checks: [{choice: {options: [a, b], is: A}}]
"""
GOOD = """Here they are:

POINTS 3 WHAT Writes both as odd numbers.
- **POINTS 4.5** WHAT Adds them.
3. POINTS 2.5 WHAT Ends."""


def author(tmp_path: Path, server: ModelServer, name: str, *more: str) -> int:
    (tmp_path / "a.yaml").write_text(TASK % "")
    place = f"{tmp_path / 'a.yaml'}{name}"
    return main(
        ["judge", "rubric", "author", place, "--model=strong", "--judge-url", server.url, "--judge-key-env=none", *more]
    )


def test_items_are_written_next_to_the_task_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with model_server([say(GOOD)]) as server:
        assert author(tmp_path, server, "::even") == 0
    out = capsys.readouterr().out
    file = tmp_path / "rubrics" / "even.yaml"
    assert "file: rubrics/even.yaml" in out
    assert [item.points for item in read_rubric(file)] == [3, 4.5, 2.5]
    assert "Read this before you rely on it" in file.read_text()
    assert "strong" in file.read_text()
    assert "rubric_author@" in file.read_text()
    (tmp_path / "a.yaml").write_text(TASK % "file: rubrics/even.yaml,")
    spec = load_tasks(tmp_path / "a.yaml")[0].checks[0].spec
    assert isinstance(spec, RubricSpec)
    assert spec.most == 10
    assert "Write 2a+1 and 2b+1." in server.prompt()
    assert "sum of two odd numbers" in server.prompt()


def test_existing_items_are_kept_unless_forced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with model_server([say(GOOD), say("POINTS 9 WHAT All.\nPOINTS 1 WHAT Else.")]) as server:
        assert author(tmp_path, server, "") == 0
        assert author(tmp_path, server, "::even") == 0
        assert server.requests == 1
        assert "has items already" in capsys.readouterr().out
        assert author(tmp_path, server, "::even", "--force") == 0
    assert [item.points for item in read_rubric(tmp_path / "rubrics" / "even.yaml")] == [9, 1]


def test_items_that_do_not_sum_to_ten_are_retried(tmp_path: Path) -> None:
    with model_server([say("POINTS 3 WHAT A.\nPOINTS 6 WHAT B."), say(GOOD)]) as server:
        assert author(tmp_path, server, "::even") == 0
    assert "The points come to 9, and not to 10." in server.prompt(1)


@pytest.mark.parametrize("reply", ["I can't.", "POINTS 10 WHAT All.", "POINTS 5 WHAT A.\nPOINTS 5 WHAT a."])
def test_model_without_valid_items_writes_nothing(
    tmp_path: Path, reply: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_server([say(reply)]) as server:
        assert author(tmp_path, server, "::even") == 1
    assert server.requests == 3
    assert "strong: expected items that come to 10 points, found none in 3 replies" in capsys.readouterr().err
    assert not (tmp_path / "rubrics").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("::evn", "did you mean 'even'"),
        ("::other", "expected a task with a check 'rubric'"),
    ],
)
def test_task_without_rubric_is_an_error(
    tmp_path: Path, name: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with model_server([Answer(status=500)]) as server:
        assert author(tmp_path, server, name) == 2
        assert server.requests == 0
    assert message in capsys.readouterr().err


def test_invalid_task_file_error_names_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text("tasks: [{id: t}]")
    assert main(["judge", "rubric", "author", str(tmp_path / "a.yaml"), "--model=m", "--judge-key-env=none"]) == 1
    assert "a.yaml:1:" in capsys.readouterr().err


def test_example_items_of_the_prompt_sum_to_ten() -> None:
    items = read_items_of_reply(PROMPT.read_text().partition("Now this problem")[0])
    assert not isinstance(items, str)
    assert sum(item.points for item in items) == 10


def test_arb_proof_reads_its_items_from_the_written_file(tmp_path: Path) -> None:
    file = tmp_path / "proofs.jsonl"
    problem = {"_id": "7", "Problem_Statement": "Prove it.", "Problem_Type": "proof", "Solution": "So it is."}
    file.write_text(json.dumps(problem) + "\n")
    with model_server([say(GOOD)]) as server:
        arguments = ["--model=strong", "--judge-url", server.url, "--judge-key-env=none"]
        assert main(["judge", "rubric", "author", f"arb:{file}", *arguments]) == 0
    [task] = load_suite(f"arb:{file}").tasks
    assert not task.skip
    spec = task.checks[0].spec
    assert isinstance(spec, RubricSpec)
    assert [item.points for item in spec.items] == [3, 4.5, 2.5]
