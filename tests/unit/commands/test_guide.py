"""``webarena judge guide``: guides are written, kept and checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from pytest_webarena.agents.model.guides import guide_of
from pytest_webarena.commands.cli import main
from pytest_webarena.tasks import load_tasks
from tests.model_server import Model, fail, model_server, say

WRITTEN = {"goal": "Tea is in the cart.", "steps": ["Open the cart."], "done_when": ["The cart lists tea."]}
TASKS = {
    "tasks": [
        {"id": "tea", "intent": "Buy tea", "sites": [], "checks": [{"answer": "x"}], "solution": [{"stop": "x"}]},
        {"id": "jam", "intent": "Buy jam", "sites": [], "checks": [{"answer": "x"}], "solution": [{"stop": "x"}]},
    ]
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "shop.yaml").write_text(json.dumps(TASKS))
    return tmp_path / "shop.yaml"


def guide(model: Model, *arguments: str) -> tuple[int, int]:
    """Run the command; return its exit code and the number of requests."""
    with model_server(model) as server:
        return main(["judge", "guide", *arguments, "--url", server.url, "--key-env=none"]), server.requests


def test_guides_are_written_once_with_their_sources(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guide(lambda body: say(json.dumps(WRITTEN)), str(file), "--model=m") == (0, 2)
    assert "Read it before you rely on it" in capsys.readouterr().out
    data = yaml.safe_load((file.parent / "guides" / "tea.yaml").read_text())
    assert {name: data[name] for name in WRITTEN} == WRITTEN
    assert data["made_of"]["model"] == "m"
    assert data["made_of"]["prompt"].startswith("guide_author@")
    assert all(guide_of(task).goal == "Tea is in the cart." for task in load_tasks(file))
    assert guide(lambda body: say("x"), str(file.parent), "--model=m") == (0, 0), "they are no task files themselves"
    assert "tea: has a guide already" in capsys.readouterr().out
    assert guide(lambda body: say(json.dumps(WRITTEN)), f"{file}::jam", "--model=m", "--force") == (0, 1)


def test_outdated_guide_is_reported_and_not_overwritten(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guide(lambda body: say(json.dumps(WRITTEN)), str(file), "--model=m")[0] == 0
    file.write_text(file.read_text().replace("Buy tea", "Buy two teas"))
    assert guide(lambda body: say(json.dumps(WRITTEN)), str(file), "--model=m") == (2, 0)
    assert "task tea: its guide" in capsys.readouterr().err
    assert main(["judge", "guide", str(file), "--check"]) == 1
    stdout = capsys.readouterr().out
    assert (
        "was made of another intent, solution or key nodes than the task has now; webarena judge guide --force"
        in stdout
    )
    assert "1 of 2 tasks have a guide that fits them" in stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected the name of a model: give --model"),
        (["--model=m", "--max-tokens=0"], "--max-tokens: expected at least 1, found 0"),
    ],
)
def test_invalid_guide_options_are_usage_errors(
    file: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert guide(lambda body: say("x"), str(file), *arguments) == (2, 0)
    assert message in capsys.readouterr().err


def test_unknown_tasks_and_tasks_without_solution_are_errors(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guide(lambda body: say("x"), f"{file}::tee", "--model=m") == (2, 0)
    assert "did you mean 'tea'" in capsys.readouterr().err
    tasks = [{name: value for name, value in task.items() if name != "solution"} for task in TASKS["tasks"]]
    file.write_text(json.dumps({"tasks": tasks}))
    assert guide(lambda body: say("x"), str(file), "--model=m") == (2, 0)
    assert "found neither in 2 of the tasks: tea, jam" in capsys.readouterr().err


def test_refusing_endpoint_is_an_error_without_a_guide(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert guide(lambda body: fail(401, "no such key"), str(file), "--model=m")[0] == 1
    assert "refused the request" in capsys.readouterr().err
    assert not (file.parent / "guides").exists()
