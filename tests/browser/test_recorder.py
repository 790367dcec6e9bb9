"""A task made from a real browser session: from a recorded trial, and from a user's actions."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_webarena.actions import Action, Click, Selector, Type
from pytest_webarena.agents import resolve_agent
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.commands.cli import main
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.recorder.steps import steps_of
from pytest_webarena.recorder.task_building import follow
from pytest_webarena.recorder.writing import as_step
from pytest_webarena.results import RunDir, TrialKey
from pytest_webarena.tasks import load_tasks, parse_tasks
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.trial import run_trial
from pytest_webarena.trials.tryout import tryout

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(300)]

TASK = """
tasks:
  - id: rye
    sites: [homepage]
    intent: Add a note titled "Rye".
    start: homepage:/scratchpad/
    user: {homepage: tobin.ashgrove}
    checks:
      - changes: {notes: {added: 1}}
    solution:
      - click: role=link[name="New note"]
      - fill: {css=#title: Rye, css=#body: "With\\nbutter"}
      - click: role=button[name="Save note"]
"""


@pytest.fixture(scope="module")
def runtime(shared_engine: BrowserEngine) -> Iterator[Runtime]:
    with open_runtime("embedded", headed=False, executable=None) as runtime:
        yield runtime


def test_recorded_trial_becomes_a_task_that_passes(
    runtime: Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [rye] = parse_tasks(TASK)
    oracle, options = resolve_agent("oracle"), TrialOptions(env_retries=0)
    plan = TrialPlan(task=rye, agent=oracle, trial=1, limits=EpisodeLimits(), options=options)
    trial = RunDir(tmp_path).folder(TrialKey("rye", "oracle", 1))
    assert run_trial(plan, runtime, trial).outcome == "passed"
    monkeypatch.chdir(tmp_path)

    @contextmanager
    def opened(sites: str, *, headed: bool, executable: str | None) -> Iterator[Runtime]:
        assert (sites, headed, executable) == ("embedded", False, None)
        yield runtime

    monkeypatch.setattr("pytest_webarena.commands.record.open_runtime", opened)
    made = tmp_path / "made.yaml"
    code = main(["tasks", "record", "--from", str(trial.path), "--id", "again", "--all-checks", "-o", str(made)])
    output = capsys.readouterr()
    assert code == 0, output.out + output.err
    [task] = load_tasks(made)
    assert [as_step(step) for step in task.solution or ()] == [
        {"click": 'role=link[name="New note"s]'},
        {"fill": {'role=textbox[name="Title"s]': "Rye"}},
        {"fill": {'role=textbox[name="Text"s]': "With\nbutter"}},
        {"click": 'role=button[name="Save note"s]'},
        "stop",
    ]
    repair_selectors = [getattr(getattr(step, "target", None), "repair_selectors", ()) for step in task.solution or ()]
    place = "css=#main > form > div:nth-of-type(1) > input"
    assert repair_selectors[1] == ('internal:label="Title"s', 'css=input[name="title"]', place, "css=#title")
    assert 'text="Save note"' in repair_selectors[3]
    assert (task.intent, task.mutates) == ('Add a note titled "Rye".', True)
    assert task.user == {"homepage": "tobin.ashgrove"}  # as in the trial's record
    assert [check.kind for check in task.checks] == ["state", "changes"]
    assert "passed: 2 of 2 checks hold" in output.out


@pytest.mark.exhaustive
def test_recorder_prints_steps_as_they_happen(runtime: Runtime, tmp_path: Path) -> None:
    """The harness acts here, and the recorder reads only the page's events."""
    [task] = parse_tasks(TASK)
    printed: list[str] = []
    doing: list[Action] = [Click(Selector('text="New note"')), Type(Selector("css=#title"), "Rye")]
    with tryout(task, runtime, lambda text: None, tmp_path, user_answers_dialogs=True) as trying:
        for action in doing:
            assert trying.act(action)
        ended = threading.Event()
        ended.set()
        follow(trying, ended, printed.append)
        steps = [as_step(step.action) for step in steps_of(trying.signals(), before=trying.signals_before)]
    assert steps == [{"click": 'role=link[name="New note"s]'}, {"fill": {'role=textbox[name="Title"s]': "Rye"}}]
    assert printed == ['  · click role=link[name="New note"s]', "  · type role=textbox[name=\"Title\"s] 'Rye'"]
