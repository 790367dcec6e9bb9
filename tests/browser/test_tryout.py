"""``webarena try``: the authoring loop on real sites."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

TASKS = """
tasks:
  - id: sum
    sites: [homepage]
    intent: What is 12 times 34?
    checks:
      - answer: {number: 408}
      - url: homepage:/calculator
    solution:
      - click: role=navigation[name="Main"] >> role=link[name="Calculator"]
      - stop: "408"
  - id: wrong
    sites: [homepage]
    intent: What is 12 times 34?
    checks: [{answer: {number: 409}}]
    solution: [{goto: /calculator}, {stop: "408"}]
"""


@pytest.fixture
def tasks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "demo.tasks.yaml"
    file.write_text(TASKS)
    return file


def test_a_solution_can_be_replayed_from_a_script(tasks: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["try", f"{tasks}::sum", "--solution"]) == 0
    assert "passed: 2 of 2 checks hold" in capsys.readouterr().out
    assert main(["try", f"{tasks}::wrong", "--solution"]) == 1
    assert "failed: 0 of 1 checks hold" in capsys.readouterr().out


def test_the_checks_are_judged_again_after_every_command(
    tasks: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = ["c", "click [99999]", "fly away", "s", "p", "o", "stop [408]", "r", "c", "q"]
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(commands)))
    assert main(["try", f"{tasks}::sum"]) == 0
    said = capsys.readouterr().out
    verdicts = [line for line in said.splitlines() if "checks hold" in line]
    assert [line.split(":")[1].split()[0] for line in verdicts] == ["0", "1", "2", "0"]  # the last one after the reset
    assert said.count("What is 12 times 34?") == 2  # at the start and after the reset, not with each verdict
    assert "✗ checks[0] answer, as before" in said
    assert "There is no element [99999]" in said
    assert "no action: " in said
    assert "RootWebArea" in said
    assert [path.suffix for path in (tasks.parent / "tryout").iterdir()] == [".jpg"]


@pytest.mark.parametrize(
    ("name", "message"),
    [("{file}::sums", "did you mean 'sum'"), ("nowhere.yaml::x", "nowhere.yaml"), ("{file}", "expected FILE::ID")],
)
def test_a_task_that_is_not_there(tasks: Path, capsys: pytest.CaptureFixture[str], name: str, message: str) -> None:
    assert main(["try", name.format(file=tasks)]) == 2
    assert message in capsys.readouterr().err
