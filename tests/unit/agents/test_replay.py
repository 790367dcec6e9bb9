"""Replay of a recorded trial: order of steps, explanations and outcome."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    Click,
    Element,
    FocusTab,
    Goto,
    Noop,
    Press,
    Stop,
    TypeFocused,
    Wait,
)
from pytest_webarena.agents import resolve_agent
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.errors import AgentError, UsageError
from pytest_webarena.evidence import ScriptAct, TargetRecord
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.tasks.model import Task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from tests.made_up import make_trial
from tests.unit.agents.replaying import CLICK, SAVE, STOP, first_reply, replay, seen


def test_replay_repeats_steps_in_order_and_ends_with_the_answer(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, steps=[{"action": {"kind": "goto", "url": "/x"}, "target": None}, CLICK, STOP])
    agent = replay(recorded, tmp_path)
    replies = [agent.act(seen("[9] button 'Save'", url=url)) for url in ("http://s.test/", "http://s.test/x")]
    last = agent.act(seen(url="http://s.test/done"))
    assert [reply.action for reply in (*replies, last)] == [Goto("/x"), Click(Element("9")), Stop("rye")]
    assert last.thought == "3 steps, all targets as recorded, no divergence"
    assert (tmp_path / "replay.txt").read_text() == (
        "step 0 of 3 (goto '/x'): as recorded\n"
        "step 1 of 3 (click button 'Save'): as recorded\n"
        "3 steps, all targets as recorded, no divergence\n"
    )


def test_replay_txt_explains_each_step(recorded: RunDir, tmp_path: Path) -> None:
    """Healed targets, differences of the page, and the step that failed with its reason."""
    nameless = {**CLICK, "target": TargetRecord(role="button", selector="#save", x=5, y=6)}
    make_trial(recorded, steps=[nameless, CLICK, STOP])
    agent = replay(recorded, tmp_path)
    agent.act(seen())
    assert agent.act(seen("[9] button 'Save'", url="http://s.test/elsewhere")).action == Click(Element("9"))
    while agent.act(seen(error="gone", url="http://s.test/elsewhere")).ended is None:
        pass
    assert (tmp_path / "replay.txt").read_text().splitlines() == [
        "step 0 of 3 (click 4): healed: found by its place in the document; the page differs: "
        "after step 0 expected http://s.test/done, found http://s.test/elsewhere",
        "step 1 of 3 (click button 'Save'): not found: at http://s.test/elsewhere: gone",
        "3 steps, 1 targets found again, diverged first after step 0 expected http://s.test/done, "
        "found http://s.test/elsewhere",
    ]


@pytest.mark.parametrize(
    ("then", "now", "expected", "kept"),
    [
        ("passed", "passed", "", "the replay's verdict is the recorded one: passed"),
        ("passed", "failed", "the replay failed, and the recorded trial had passed: step 0 of 2 (click button 'Save'): "
         "not found: at http://s.test/: its target is not there", None),
    ],
)  # fmt: skip
def test_replay_ends_with_the_recorded_verdict_or_the_first_divergence(
    recorded: RunDir, tmp_path: Path, then: str, now: str, expected: str, kept: str | None
) -> None:
    nameless = {"action": {"kind": "click", "target": {"id": "4"}}, "target": TargetRecord(role="button", name="Save")}
    make_trial(recorded, steps=[nameless, STOP], outcome=then)
    agent = replay(recorded, tmp_path)
    if now == "failed":
        agent.act(seen())
        agent.act(seen(error="its target is not there"))
    file = recorded.path.parent / "again.yaml"
    task = Task(id="t", intent="i", sites=())
    verdict = Verdict(score=1.0, passed=True, results=())
    assert resolve_agent(str(file)).on_verdict(task, 1, tmp_path, now, verdict) == expected
    assert (tmp_path / "replay.txt").read_text().splitlines()[-1] == (expected if kept is None else kept)


@pytest.mark.parametrize(
    ("url_after", "action"),
    [("http://find.test/?q=tea", Goto("http://find.test/?q=tea")), ("http://s.test/", Noop())],
)
def test_search_is_replayed_as_goto_to_the_recorded_url(recorded: RunDir, url_after: str, action: Action) -> None:
    search = {"action": {"kind": "search", "query": "tea"}, "target": None, "url_before": "http://s.test/"}
    make_trial(recorded, steps=[{**search, "url_after": url_after}, STOP])
    assert first_reply(recorded).action == action


def test_replay_reports_the_first_divergent_url(recorded: RunDir) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    agent = replay(recorded)
    agent.act(seen("[9] button 'Save'"))
    last = agent.act(seen(url="http://s.test/elsewhere"))
    assert last.action == Stop("rye")
    assert "diverged first after step 0 expected http://s.test/done, found http://s.test/elsewhere" in last.thought


def test_replay_tolerates_recorded_errors_and_skips_invalid_actions(recorded: RunDir) -> None:
    failed = {**CLICK, "error": "covered", "url_after": "http://s.test/"}
    invalid = {"action": {"kind": "invalid", "text": "?", "reason": "none"}, "target": None}
    make_trial(recorded, steps=[invalid, failed, STOP])
    agent = replay(recorded)
    assert agent.act(seen("[9] button 'Save'")).action == Click(Element("9"))
    assert agent.act(seen("[9] button 'Save'", error="covered")).action == Stop("rye")


def test_steps_of_a_self_driving_agent_are_replayed(recorded: RunDir) -> None:
    box = TargetRecord(role="textbox", name="Title")
    steps: list[dict[str, Any]] = [
        {"action": {"kind": "new_tab"}, "value": "http://s.test/new", "target": None, "url_after": ""},
        {"action": {"kind": "type", "target": None, "text": "Rye"}, "target": box, "url_after": ""},
        {"action": {"kind": "type", "target": None, "text": "ab"}, "target": None, "url_after": ""},
        {"action": {"kind": "click", "target": {"x": 1.0, "y": 2.0}}, "target": SAVE, "url_after": ""},
        {
            "action": {"kind": "goto", "url": "http://s.test/done"},
            "raw": "navigation without a command that explains it",
            "target": None,
            "url_after": "http://s.test/done",
        },
        STOP,
    ]  # fmt: skip
    make_trial(recorded, steps=steps)
    agent = replay(recorded)
    page = ["[1] textbox 'Title'", "[2] button 'Save'"]
    actions = [agent.act(seen(*page, url="http://s.test/done")).action for _ in range(7)]
    assert actions[0].kind == "new_tab"
    assert actions[1:] == [
        Goto("http://s.test/new"), TypeFocused(Element("1"), "Rye"), Press("a"), Press("b"),
        Click(Element("2")), Stop("rye"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "action"),
    [
        ("http://s.test/list?q=a&order=price", Stop("rye")),
        ("http://s.test/list?q=a&order=price&seen=2", Stop("rye")),  # it may hold a time or identify a visitor
        ("http://s.test/list?q=a", Goto("http://s.test/list?q=a&order=price")),
        ("http://s.test/", Goto("http://s.test/list?q=a&order=price")),
    ],
)
def test_replay_navigates_when_the_page_does_not_navigate_itself(recorded: RunDir, url: str, action: Action) -> None:
    """A script chose from a list and the page navigated: the choice is only in the URL."""
    led = {
        "action": {"kind": "goto", "url": "http://s.test/list?q=a&order=price"},
        "raw": "navigation without a command that explains it",
        "target": None,
        "url_before": "http://s.test/list?q=a",
        "url_after": "http://s.test/list?q=a&order=price",
    }
    make_trial(recorded, steps=[led, STOP])
    assert replay(recorded).act(seen(url=url)).action == action


def test_replay_uses_the_recorded_viewport(recorded: RunDir) -> None:
    """Self-driving agents set their own viewport; elements outside of it look missing."""

    def viewport(**keys: Any) -> tuple[int, int]:
        replay(recorded, **keys)
        definition = resolve_agent(str(recorded.path.parent / "again.yaml"))
        task = Task(id="t", intent="i", sites=())
        plan = TrialPlan(task=task, agent=definition, trial=1, limits=EpisodeLimits())
        return plan.tailored(SessionConfig(viewport=(900, 700))).viewport

    make_trial(recorded, steps=[CLICK, CLICK, CLICK, STOP])
    assert viewport() == (900, 700)  # the recorded viewport is unknown
    folder = next(recorded.path.glob("trials/*/attempt-1/observations"))
    for number, size in enumerate([[800, 600], [1920, 1080], [0, 0], [1920, 1080]]):
        file = folder / f"{number:03d}.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "viewport": size}))
    assert viewport() == (1920, 1080)
    assert viewport(viewport=[1024, 768]) == (1024, 768)


def test_replay_without_a_matching_recorded_trial_is_an_error(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, "other")
    with pytest.raises(AgentError, match=r"expected a finished trial of t in .*, found none"):
        replay(recorded)
    make_trial(recorded, agent="a")
    make_trial(recorded, agent="b")
    with pytest.raises(AgentError, match=r"tried by a, b in .*; choose one with the key 'agent'"):
        replay(recorded)
    with pytest.raises(AgentError, match=r"by c in .*, found a, b"):
        replay(recorded, agent="c")
    assert replay(recorded, agent="b") is not None
    (tmp_path / "none.yaml").write_text("kind: replay\n")
    with pytest.raises(UsageError, match=r"--agent-option run=DIR"):
        resolve_agent(str(tmp_path / "none.yaml")).check(ModelSettings())


def test_step_in_another_tab_is_replayed_in_that_tab(recorded: RunDir) -> None:
    """A CDP client can act on any tab without making it the current one."""
    raw = "Input.dispatchMouseEvent(type='mousePressed')"
    elsewhere = {**CLICK, "raw": raw, "tab": 1}
    make_trial(recorded, steps=[{**CLICK, "raw": raw, "url_after": ""}, elsewhere, {**STOP, "tab": 1}])
    agent = replay(recorded)
    one, other = (in_tab(number) for number in (0, 1))
    actions = [agent.act(page).action for page in (one, one, other, other)]
    assert actions == [Click(Element("9")), FocusTab(1), Click(Element("9")), Stop("rye")]


def test_missing_tab_is_focused_once_only(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "raw": "Input.insertText()", "tab": 1}, STOP])
    agent = replay(recorded)
    assert [agent.act(in_tab(0)).action for _ in range(2)] == [FocusTab(1), Click(Element("9"))]


def in_tab(current: int) -> Any:
    tabs = [SimpleNamespace(active=number == current) for number in (0, 1)]
    return SimpleNamespace(text="[9] button 'Save'", url="http://s.test/done", error="", tabs=tabs)


def test_trial_without_steps_is_replayed_with_an_empty_stop(recorded: RunDir) -> None:
    """The recorded agent crashed at once: the checks judge the start page again."""
    make_trial(recorded, steps=[], outcome="failed")
    for file in recorded.path.glob("trials/*/attempt-1/steps.jsonl"):
        file.unlink()
    assert first_reply(recorded).action == Stop("")


def test_scroll_without_effect_does_not_end_the_replay(recorded: RunDir) -> None:
    scroll = {"kind": "scroll", "direction": "down", "target": None, "pixels": 0.34}
    make_trial(recorded, steps=[{"action": scroll}, STOP])
    agent = replay(recorded)
    agent.act(seen(""))
    assert agent.act(seen("", error="Nothing moved.")).action == Stop("rye")


ANSWER = {"action": {"kind": "accept_dialog", "text": "Bo"}, "target": None}


@pytest.mark.parametrize(
    ("steps", "policy"),
    [
        ([CLICK, ANSWER], "hold"),
        (
            [{**CLICK, "raw": "Input.dispatchMouseEvent(type='mousePressed')"}],
            "hold",
        ),  # an answered one would be recorded
        ([CLICK], None),
    ],
)
def test_replay_keeps_dialogs_open_if_the_recorded_trial_did(
    recorded: RunDir, steps: list[dict[str, Any]], policy: str | None
) -> None:
    make_trial(recorded, steps=[*steps, STOP])
    replay(recorded)
    definition = resolve_agent(str(recorded.path.parent / "again.yaml"))
    assert definition.dialogs(Task(id="t", intent="i", sites=()), 1) == policy


@pytest.mark.parametrize(("raw", "hears"), [("Input.insertText(text='Bo')", True), ("type [4] [Bo]", False)])
def test_replay_listens_to_scripts_if_the_recorded_trial_did(recorded: RunDir, raw: str, hears: bool) -> None:
    make_trial(recorded, steps=[{**CLICK, "raw": raw}, STOP])
    replay(recorded)
    definition = resolve_agent(str(recorded.path.parent / "again.yaml"))
    task = Task(id="t", intent="i", sites=())
    assert definition.observes_scripts(task, 1) is hears
    plan = TrialPlan(task=task, agent=definition, trial=1, limits=EpisodeLimits())
    assert plan.tailored(SessionConfig()).observes_scripts is hears


def test_replay_with_equal_verdict_still_reports_changed_requests(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, steps=[CLICK, STOP], outcome="passed")
    replay(recorded, tmp_path)
    (tmp_path / "network.jsonl").write_text(json.dumps({"time": 1.0, "method": "POST", "url": "http://s.test/star"}))
    definition = resolve_agent(str(recorded.path.parent / "again.yaml"))
    verdict = Verdict(score=1.0, passed=True, results=())
    text = definition.on_verdict(Task(id="t", intent="i", sites=()), 1, tmp_path, "passed", verdict)
    assert text.startswith(
        "the replay's verdict is the recorded one: passed; but POST s.test/star was sent once this time"
    )
    assert (tmp_path / "replay.txt").read_text().splitlines()[-1] == text


def test_step_limit_is_reported_as_reason_before_any_step(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, steps=[CLICK, CLICK, STOP])
    agent = replay(recorded, tmp_path)
    agent.act(seen("[9] button 'Save'"))
    agent.act(seen("[9] button 'Save'", url="http://s.test/elsewhere"))
    definition = resolve_agent(str(recorded.path.parent / "again.yaml"))
    verdict = Verdict(score=0.0, passed=False, results=(), stop_reason="max_steps")
    text = definition.on_verdict(Task(id="t", intent="i", sites=()), 1, tmp_path, "failed", verdict)
    assert text == (
        "the replay failed, and the recorded trial had passed: the limit of steps (--max-steps) ended it before it had "
        "repeated all"
    )
    assert (tmp_path / "replay.txt").read_text().splitlines()[-1] == text


def test_waits_and_script_actions_of_a_replay_count_as_no_steps(recorded: RunDir) -> None:
    late = ScriptAct(event="click", target=SAVE, selector="css=#save", commanded=True)
    make_trial(recorded, steps=[CLICK, {**CLICK, "by_script": (late,)}, STOP])
    (folder,) = recorded.trials.iterdir()
    (folder / "attempt-1" / "observations" / "000.txt").write_text("[4] button 'Save'")
    agent = replay(recorded)
    uncounted = resolve_agent(str(recorded.path.parent / "again.yaml")).is_uncounted
    shown = seen("[9] button 'Save'", url="http://s.test/done")
    did = [agent.act(observation).action for observation in (seen(), shown, shown, shown, shown)]
    assert [(each.kind, uncounted(each)) for each in did] == [
        ("wait", True), ("click", False), ("by_script", True), ("click", False), ("stop", False)
    ]  # fmt: skip
    assert not uncounted(Wait(2.0))  # a recorded wait
