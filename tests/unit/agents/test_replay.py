"""Repeating a recorded trial on pages that are no longer quite the same."""

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
    Point,
    Press,
    Select,
    Selector,
    Stop,
    Type,
)
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.errors import AgentError, UsageError
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.tasks.model import Task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.plan import TrialPlan
from tests.made_up import make_run, make_trial

SAVE = TargetRecord(role="button", name="Save", selector="#save", x=5, y=6)
CLICK = {"action": {"kind": "click", "target": {"id": "4"}}, "target": SAVE, "url_after": "http://s.test/done"}
STOP = {"action": {"kind": "stop", "answer": "rye"}, "url_after": "http://s.test/done"}


@pytest.fixture
def recorded(tmp_path: Path) -> RunDir:
    return make_run(tmp_path / "recorded")


def replay(run: RunDir, folder: Path | None = None, **keys: Any) -> Any:
    file = run.path.parent / "again.yaml"
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    file.write_text(f"kind: replay\nrun: {run.path}\n{more}")
    task = Task(id="t", intent="i", sites=())
    return resolve_agent(str(file)).make(Assignment(view=TaskView(intent="i"), task=task, folder=folder))


def seen(*lines: str, url: str = "http://s.test/", error: str = "") -> Any:
    return SimpleNamespace(text="\n".join(lines), url=url, error=error, tabs=())


def first(run: RunDir, *lines: str) -> Reply:
    reply: Reply = replay(run).act(seen(*lines))
    return reply


def test_the_steps_come_in_order_and_end_with_the_answer(recorded: RunDir, tmp_path: Path) -> None:
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


def test_each_step_is_explained(recorded: RunDir, tmp_path: Path) -> None:
    """By what it was healed, in what the page differs, and at which step it ended and why."""
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
    ("then", "now", "told", "kept"),
    [
        ("passed", "passed", "", "the replay's verdict is the recorded one: passed"),
        ("passed", "failed", "the replay failed, and the recorded trial had passed: step 0 of 2 (click button 'Save'): "
         "not found: at http://s.test/: its target is not there", None),
    ],
)  # fmt: skip
def test_it_ends_with_the_same_verdict_or_the_first_divergence(
    recorded: RunDir, tmp_path: Path, then: str, now: str, told: str, kept: str | None
) -> None:
    nameless = {"action": {"kind": "click", "target": {"id": "4"}}, "target": TargetRecord(role="button", name="Save")}
    make_trial(recorded, steps=[nameless, STOP], outcome=then)
    agent = replay(recorded, tmp_path)
    if now == "failed":
        agent.act(seen())
        agent.act(seen(error="its target is not there"))
    file = recorded.path.parent / "again.yaml"
    task = Task(id="t", intent="i", sites=())
    assert resolve_agent(str(file)).judged(task, 1, tmp_path, now) == told
    assert (tmp_path / "replay.txt").read_text().splitlines()[-1] == (told if kept is None else kept)


@pytest.mark.parametrize(
    ("lines", "action", "how"),
    [
        (["[9] button 'Save'"], Click(Element("9")), ""),
        (["[9] link 'Save'", "[10] button 'Save' focused: True"], Click(Element("10")), ""),
        (['[9] link "Don\'t save"', "[10] button 'Save'"], Click(Element("10")), ""),
        (["[9] link 'Other'"], Click(Selector('role=button[name="Save"s]')), "outside of what was shown"),
    ],
)
def test_targets_are_found_by_role_and_name(recorded: RunDir, lines: list[str], action: Action, how: str) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    reply = first(recorded, *lines)
    assert reply.action == action
    assert how in reply.thought


def test_a_name_with_an_apostrophe_is_a_name(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "target": TargetRecord(role="button", name="Don't save")}, STOP])
    assert first(recorded, "[8] button 'Save'", '\t[9] button "Don\'t save" focused: True').action == Click(
        Element("9")
    )


@pytest.mark.parametrize(
    ("url_after", "action"),
    [("http://find.test/?q=tea", Goto("http://find.test/?q=tea")), ("http://s.test/", Noop())],
)
def test_a_search_leads_where_it_led(recorded: RunDir, url_after: str, action: Action) -> None:
    search = {"action": {"kind": "search", "query": "tea"}, "target": None, "url_before": "http://s.test/"}
    make_trial(recorded, steps=[{**search, "url_after": url_after}, STOP])
    assert first(recorded).action == action


IN_PLACE = Selector('css=#save >> internal:and="role=button[name=\\"Save\\"s]"')
"""What stands where it stood, if it is called as it was."""


def test_among_as_many_as_then_it_is_the_same_one(recorded: RunDir) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    observed(recorded, "[3] button 'Save'\n[4] button 'Save'")
    assert first(recorded, "[7] button 'Save'", "[8] button 'Save'", "[9] link 'x'").action == Click(Element("8"))


@pytest.mark.parametrize(
    "now", [["[7] button 'Save'"], ["[7] button 'Save'", "[8] button 'Save'", "[9] button 'Save'"]]
)
def test_where_one_has_gone_or_come_it_is_what_stands_in_its_place(recorded: RunDir, now: list[str]) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    observed(recorded, "[3] button 'Save'\n[4] button 'Save'")
    reply = first(recorded, *now)
    assert reply.action == Click(IN_PLACE)
    assert f"its place in the document, role and name (2 then, now {len(now)})" in reply.thought


def test_of_several_that_an_agent_told_apart_by_a_point_none_is_guessed(recorded: RunDir) -> None:
    point = {**CLICK, "action": {"kind": "click", "target": {"x": 5.0, "y": 6.0}}}
    make_trial(recorded, steps=[point, STOP])
    observed(recorded, "[3] button 'Save'\n[4] button 'Save'")
    reply = first(recorded, "[7] button 'Save'", "[8] button 'Save'")
    assert (reply.action, reply.thought) == (Click(IN_PLACE), "")


@pytest.mark.parametrize("now", ["Save as draft", "Saved", "Keep", "Undo save", "Unsave"])
def test_what_is_called_otherwise_by_now_is_not_found(recorded: RunDir, now: str) -> None:
    """It may be anything: also what is called nearly the same, and what stands in the same place."""
    make_trial(recorded, steps=[CLICK, STOP])
    observed(recorded, "[4] button 'Save'")
    agent = replay(recorded)
    page = [f"[9] button '{now}'"]
    assert agent.act(seen(*page)).action == Click(Selector('role=button[name="Save"s]'))
    assert agent.act(seen(*page, error="nothing is there")).ended[0] == "invalid"


def ways(run: RunDir, target: TargetRecord, then: str, now: list[str], action: Any = None) -> list[tuple[Action, str]]:
    """All that is tried, each with its thought, where nothing of it has an effect."""
    make_trial(run, steps=[{**CLICK, "target": target, **({"action": action} if action else {})}, STOP])
    if then:
        observed(run, then)
    agent = replay(run)
    replies = [agent.act(seen(*now))]
    while replies[-1].ended is None:
        replies.append(agent.act(seen(*now, error="nothing is there")))
    return [(reply.action, reply.thought) for reply in replies[:-1]]


ROW = TargetRecord(role="button", name="Delete", selector="#list > li:nth-of-type(2) > button", x=5, y=6)
AT = {"kind": "click", "target": {"x": 5.0, "y": 6.0}}


def rows(*names: str) -> list[str]:
    """Things by name, each followed by a button to delete it; ids count from 1."""
    lines = [line for name in names for line in (f"link '{name}'", "button 'Delete'")]
    return [f"[{number}] {line}" for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize(
    ("then", "now", "found", "told"),
    [
        ("ABC", "ABC", "4", ""),
        ("AB", "BA", "2", "found by what stands beside it, role and name (2 then, now 2)"),
        ("ABC", "BCD", "2", "found by what stands beside it, role and name (3 then, now 3)"),
        ("ABC", "ABD", "4", "found by what stands beside it, role and name (3 then, now 3)"),
        ("AC", "DE", None, None),
        ("ABC", "DABC", "6", "found by what stands beside it, role and name (3 then, now 4)"),
        ("ABC", "ABDC", None, None),
        ("ABC", "AC", None, None),
    ],
)  # fmt: skip
def test_of_rows_it_is_the_one_with_the_same_neighbours(
    recorded: RunDir, then: str, now: str, found: str | None, told: str | None
) -> None:
    """Rows may have come, gone or another order, and as many as then be others."""
    done = ways(recorded, ROW, "\n".join(rows(*then)), rows(*now), {"kind": "click", "target": {"id": "4"}})
    assert [action for action, _ in done] == ([Click(Element(found))] if found else [])
    assert [told in thought if told else not thought for _, thought in done] == ([True] if found else [])


def test_of_rows_nobody_knows_whether_their_names_stand_before_or_after(recorded: RunDir) -> None:
    """The one before "Next" is after "A" by now: that may be A's, or what was B's."""
    then, now = ([*rows(*names), "[9] link 'Next'"] for names in ("AB", "BA"))
    assert ways(recorded, ROW, "\n".join(then), now, {"kind": "click", "target": {"id": "4"}}) == []


@pytest.mark.parametrize("action", [None, AT])
@pytest.mark.parametrize(("selector", "found"), [(ROW.selector, False), ("#note-7 > button", True)])
def test_of_rows_that_are_not_as_many_the_place_says_nothing_where_it_counts(
    recorded: RunDir, selector: str, found: bool, action: Any
) -> None:
    row = TargetRecord(role="button", name="Delete", selector=selector, x=5, y=6)
    then, now = (["[4] button 'Delete'", *["[5] button 'Delete'"] * number] for number in (2, 3))
    assert bool(ways(recorded, row, "\n".join(then), now, action)) == found


@pytest.mark.parametrize(
    ("now", "found"), [(rows(*"AB"), ""), ([*rows(*"AB"), "[9] link 'Next'"], "(2 then, now 2)"), (rows(*"AC"), None),
                       (rows(*"BA"), None), (rows(*"CAB"), None)]
)  # fmt: skip
def test_of_rows_that_a_point_told_apart_the_place_is_taken_where_they_are_the_same(
    recorded: RunDir, now: list[str], found: str | None
) -> None:
    done = ways(recorded, ROW, "\n".join(rows("A", "B")), now, AT)
    assert len(done) == (found is not None)
    assert all(found in thought if found else not thought for _, thought in done)


@pytest.mark.parametrize(
    ("then", "now", "healed"),
    [((3, 4), (4, 5), False), ((3,), (4, 5), False), ((3, 4), (4,), False), ((3,), (4,), True)],
)
def test_where_several_differ_in_numbers_these_say_which_is_which(
    recorded: RunDir, then: tuple[int, ...], now: tuple[int, ...], healed: bool
) -> None:
    note = TargetRecord(role="button", name="Delete note 3", selector="#list > li:nth-of-type(1) > button")
    texts = [[f"[{number}] button 'Delete note {number}'" for number in numbers] for numbers in (then, now)]
    done = ways(recorded, note, "\n".join(texts[0]), texts[1])
    assert any("but for numbers ('Delete note 4')" in thought for _, thought in done) == healed


def test_without_a_text_of_then_nothing_else_is_taken_for_what_has_a_name(recorded: RunDir) -> None:
    """Recordings of agents that saw screenshots alone: what stands there by now has to read the same."""
    save = TargetRecord(
        role="button", name="Save", text="Save  it's", selector="#list > button:nth-of-type(1)", x=5, y=6
    )
    by_name, by_text = ways(recorded, save, "", ["[9] button 'Drop'"])
    assert by_name[0] == Click(Selector('role=button[name="Save"s]'))
    reads = r"internal:has-text=/^\s*Save\s+it\u0027s\s*$/i"
    assert by_text[0] == Click(Selector(f"css={save.selector} >> {reads}"))
    assert ways(recorded, save, "", ["[9] button 'Drop'"], AT)[-1] == (
        Click(Point(5, 6)),
        "target of step 0 found by its position (5, 6)",
    )
    field = TargetRecord(role="textbox", name="Title", selector="#form > input:nth-of-type(1)", x=5, y=6)
    assert [action for action, _ in ways(recorded, field, "", [])] == [Click(Selector('role=textbox[name="Title"s]'))]


@pytest.mark.parametrize("shown", [["[9] button 'Save'"], []])
def test_what_lies_over_its_target_is_not_hit(recorded: RunDir, shown: list[str]) -> None:
    for target in (SAVE, TargetRecord(role="button", selector="#save", x=5, y=6)):
        make_trial(recorded, steps=[{**CLICK, "action": AT, "target": target}, STOP])
        agent = replay(recorded)
        replies = [agent.act(seen(*shown))]
        while replies[-1].ended is None:
            replies.append(agent.act(seen(*shown, error="Element 9 is covered by dialog 'x', which would get it.")))
        assert not [reply for reply in replies if reply.action == Click(Point(5, 6))]


def test_a_name_with_another_count_is_the_same_where_it_stands_in_its_place(recorded: RunDir) -> None:
    comments = TargetRecord(role="link", name="3 comments", selector="#c", x=5, y=6)
    make_trial(recorded, steps=[{**CLICK, "target": comments}, STOP])
    observed(recorded, "[4] link '3 comments'")
    agent = replay(recorded)
    agent.act(seen("[9] link '4 comments'"))
    reply = agent.act(seen("[9] link '4 comments'", error="nothing is there"))
    assert reply.action == Click(Selector('css=#c >> internal:and="role=link[name=\\"4 comments\\"s]"'))
    assert "role and name but for numbers ('4 comments')" in reply.thought


@pytest.mark.parametrize(
    ("selector", "found"),
    [('a[href="/notes"]', True), ('a[href="#"]', False), ('a[href="#!"]', False), ('a[href="javascript:go()"]', False),
     ("#n", False)],
)  # fmt: skip
def test_a_link_that_leads_where_it_led_is_the_same_whatever_it_is_called(
    recorded: RunDir, selector: str, found: bool
) -> None:
    notes = TargetRecord(role="link", name="Notes", selector=selector, x=5, y=6)
    make_trial(recorded, steps=[{**CLICK, "target": notes}, STOP])
    observed(recorded, "[4] link 'Notes'")
    agent = replay(recorded)
    agent.act(seen("[9] link 'Jottings'"))
    reply = agent.act(seen("[9] link 'Jottings'", error="nothing is there"))
    assert ("its address" in reply.thought, reply.ended is None) == (found, found)


def test_by_its_address_one_link_is_found_that_does_nothing_else(recorded: RunDir) -> None:
    """What deletes a thing has its address as well, and a script sends it."""
    issue = TargetRecord(role="link", name="Issue 5", selector='a[href="/issues/5?by=\\"me\\""]')
    make_trial(recorded, steps=[{**CLICK, "target": issue}, STOP])
    observed(recorded, "[4] link 'Issue 5'")
    agent = replay(recorded)
    agent.act(seen("[9] link 'Delete'"))
    said = agent.act(seen("[9] link 'Delete'", error="nothing is there")).action.target.selector
    here = """//a[@href='/issues/5?by="me"']"""
    assert said.startswith(f"xpath={here}[not(")
    assert said.endswith(f")][count({here})=1]")
    assert {"@data-method", "@data-confirm", "@onclick"} <= set(said.replace("(", " ").replace(")", " ").split())


def test_what_has_no_name_is_tried_where_it_was_until_nothing_is_left(recorded: RunDir) -> None:
    nameless = TargetRecord(role="button", selector="#save", x=5, y=6)
    make_trial(recorded, steps=[{**CLICK, "target": nameless}, STOP])
    agent = replay(recorded)
    replies = [agent.act(seen(error="no effect" if number else "")) for number in range(3)]
    assert [reply.action for reply in replies[:2]] == [Click(Selector("css=#save")), Click(Point(5, 6))]
    assert replies[2].ended[0] == "invalid"
    assert "step 0 of 2 (click 4) can't be repeated at http://s.test/: no effect" in replies[2].ended[1]


def test_what_is_shown_and_has_no_effect_is_not_done_to_something_else(recorded: RunDir) -> None:
    """A dialog lies over it, say: the point where it was is the dialog's."""
    make_trial(recorded, steps=[CLICK, STOP])
    agent = replay(recorded)
    page = ["[9] button 'Save'", "[10] button 'Save it'"]
    assert agent.act(seen(*page)).action == Click(Element("9"))
    assert agent.act(seen(*page, error="it is covered")).ended[0] == "invalid"


def test_what_a_selector_finds_is_told_where_its_name_is_shown_no_more(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "action": {"kind": "click", "target": {"selector": "css=#save"}}}, STOP])
    observed(recorded, "[4] button 'Save'")
    agent = replay(recorded)
    reply = agent.act(seen("[9] button 'Drop'"))
    assert (reply.action, reply.thought) == (
        Click(Selector("css=#save")),
        "before step 0 expected button 'Save', found nothing shown that is called so",
    )
    assert replay(recorded).act(seen("[9] button 'Save'")).thought == ""


def test_what_a_selector_does_not_find_is_told_where_its_name_finds_it(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "action": {"kind": "click", "target": {"selector": "css=#old"}}}, STOP])
    agent = replay(recorded)
    assert agent.act(seen("[9] button 'Save'")).action == Click(Selector("css=#old"))
    reply = agent.act(seen("[9] button 'Save'", error="nothing is there"))
    assert (reply.action, reply.thought) == (Click(Element("9")), "target of step 0 found by role and name")


NAME = TargetRecord(role="textbox", name="Name", selector="#name")
TYPE = {"kind": "type", "target": {"id": "4"}, "text": "Bo", "clear": False, "enter": False}


TYPED: list[dict[str, Any]] = [
    {"action": TYPE, "target": NAME, "url_after": "http://s.test/"},
    {**STOP, "url_after": "http://s.test/"},
]


def observed(run: RunDir, *texts: str) -> None:
    """What the recorded agent saw before each step."""
    (folder,) = run.trials.iterdir()
    for number, text in enumerate(texts):
        (folder / "attempt-1" / "observations" / f"{number:03}.txt").write_text(text)


@pytest.mark.parametrize(
    ("before", "after", "text", "clear"),
    [
        (" value: 'Ada'", " value: 'Bo'", "Bo", True),  # all of it was marked, by whatever means
        (" value: 'Ada'", " value: 'AdaBo'", "AdaBo", True),  # the cursor need not be where it was
        (" value: 'Ada'", " value: 'BoAda'", "BoAda", True),
        (' value: "A\'da"', ' value: "A\'Bo" focused: True', "A'Bo", True),
        ("", " value: 'Bo'", "Bo", False),
        (" value: 'Ada'", " value: 'BO-1'", "Bo", False),  # the page made something else of it
        (" value: '•••'", " value: '•••••'", "Bo", False),
    ],
)
def test_a_field_is_written_so_that_it_holds_what_it_held(
    recorded: RunDir, before: str, after: str, text: str, clear: bool
) -> None:
    make_trial(recorded, steps=TYPED)
    observed(recorded, f"[4] textbox 'Name'{before}", f"[4] textbox 'Name'{after}")
    agent = replay(recorded)
    reply = agent.act(seen(f"[9] textbox 'Name'{before}"))
    assert reply.action == Type(Element("9"), text, clear=clear)
    assert reply.thought == ""
    assert agent.act(seen(f"[9] textbox 'Name'{after}")).thought.endswith("no divergence")


def test_a_field_that_a_script_had_emptied_is_written_over_and_that_is_told(recorded: RunDir) -> None:
    """As Puppeteer does before it types: what a script does to a field is no step, and is not repeated."""
    make_trial(recorded, steps=TYPED)
    observed(recorded, "[4] textbox 'Name'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    reply = agent.act(seen("[9] textbox 'Name' value: 'Ada'"))
    assert reply.action == Type(Element("9"), "Bo", clear=True)
    assert reply.thought == "before step 0 expected '' in textbox 'Name', found 'Ada'; written anew"
    assert agent.act(seen("[9] textbox 'Name' value: 'Bo'")).thought.endswith("no divergence")


@pytest.mark.parametrize(
    ("before", "action"),
    [("'Ada'", Type(Element("9"), "", clear=True)), ("'A'", Press("Backspace", Element("9")))],
)
def test_a_key_that_erased_what_a_script_had_marked_erases_it(recorded: RunDir, before: str, action: Action) -> None:
    """As Stagehand does before it types."""
    erase = {"action": {"kind": "press", "keys": "Backspace", "target": None}, "target": NAME}
    make_trial(recorded, steps=[{**erase, "url_after": "http://s.test/"}, {**STOP, "url_after": "http://s.test/"}])
    observed(recorded, f"[4] textbox 'Name' value: {before}", "[4] textbox 'Name'")
    assert replay(recorded).act(seen(f"[9] textbox 'Name' value: {before}")).action == action


def test_a_field_that_holds_something_else_is_a_divergence(recorded: RunDir) -> None:
    make_trial(recorded, steps=TYPED)
    observed(recorded, "[4] textbox 'Name' value: 'Ada'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    agent.act(seen("[9] textbox 'Name' value: 'Ada'"))
    thought = agent.act(seen("[9] textbox 'Name' value: 'AdaBo'")).thought
    assert "after step 0 expected 'Bo' in textbox 'Name', found 'AdaBo'" in thought
    assert "no divergence" not in thought


@pytest.mark.parametrize("now", ["[9] textbox 'Name'\n[10] textbox 'Name'", "[9] textbox 'Other' value: 'x'", ""])
def test_fields_that_are_not_shown_or_not_alone_are_no_divergence(recorded: RunDir, now: str) -> None:
    make_trial(recorded, steps=TYPED)
    observed(recorded, "[4] textbox 'Name'", "[4] textbox 'Name' value: 'Bo'")
    agent = replay(recorded)
    agent.act(seen("[9] textbox 'Name'"))
    assert agent.act(seen(now)).thought.endswith("no divergence")


def test_it_says_where_it_went_another_way(recorded: RunDir) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    agent = replay(recorded)
    agent.act(seen("[9] button 'Save'"))
    last = agent.act(seen(url="http://s.test/elsewhere"))
    assert last.action == Stop("rye")
    assert "diverged first after step 0 expected http://s.test/done, found http://s.test/elsewhere" in last.thought


def test_steps_that_failed_then_may_fail_now_and_words_that_were_no_action_are_left_out(recorded: RunDir) -> None:
    failed = {**CLICK, "error": "covered", "url_after": "http://s.test/"}
    invalid = {"action": {"kind": "invalid", "text": "?", "reason": "none"}, "target": None}
    make_trial(recorded, steps=[invalid, failed, STOP])
    agent = replay(recorded)
    assert agent.act(seen("[9] button 'Save'")).action == Click(Element("9"))
    assert agent.act(seen("[9] button 'Save'", error="covered")).action == Stop("rye")


def test_what_a_self_driving_agent_did_can_be_repeated(recorded: RunDir) -> None:
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
        Goto("http://s.test/new"), Type(Element("1"), "Rye"), Press("a"), Press("b"), Click(Element("2")), Stop("rye"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("url", "action"),
    [
        ("http://s.test/list?q=a&order=price", Stop("rye")),
        ("http://s.test/list?q=a&order=price&seen=2", Stop("rye")),  # it may tell another time, or another visitor
        ("http://s.test/list?q=a", Goto("http://s.test/list?q=a&order=price")),
        ("http://s.test/", Goto("http://s.test/list?q=a&order=price")),
    ],
)
def test_a_page_that_does_not_lead_on_by_itself_is_led_there(recorded: RunDir, url: str, action: Action) -> None:
    """A client chose from a list by script, and the page went on: what it chose is nowhere but in the address."""
    led = {
        "action": {"kind": "goto", "url": "http://s.test/list?q=a&order=price"},
        "raw": "navigation without a command that explains it",
        "target": None,
        "url_before": "http://s.test/list?q=a",
        "url_after": "http://s.test/list?q=a&order=price",
    }
    make_trial(recorded, steps=[led, STOP])
    assert replay(recorded).act(seen(url=url)).action == action


def test_it_has_the_viewport_that_was_recorded(recorded: RunDir) -> None:
    """Agents that drive the browser set their own; what is out of sight can't be told apart from what is not there."""

    def viewport(**keys: Any) -> tuple[int, int]:
        replay(recorded, **keys)
        definition = resolve_agent(str(recorded.path.parent / "again.yaml"))
        task = Task(id="t", intent="i", sites=())
        plan = TrialPlan(task=task, agent=definition, trial=1, limits=EpisodeLimits())
        return plan.tailored(SessionConfig(viewport=(900, 700))).viewport

    make_trial(recorded, steps=[CLICK, CLICK, CLICK, STOP])
    assert viewport() == (900, 700)  # nobody knows
    folder = next(recorded.path.glob("trials/*/attempt-1/observations"))
    for number, size in enumerate([[800, 600], [1920, 1080], [0, 0], [1920, 1080]]):
        file = folder / f"{number:03d}.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), "viewport": size}))
    assert viewport() == (1920, 1080)
    assert viewport(viewport=[1024, 768]) == (1024, 768)


def test_what_is_not_recorded_can_not_be_repeated(recorded: RunDir, tmp_path: Path) -> None:
    make_trial(recorded, "other")
    with pytest.raises(AgentError, match=r"expected a finished trial of t in .*, found none"):
        replay(recorded)
    make_trial(recorded, agent="a")
    make_trial(recorded, agent="b")
    with pytest.raises(AgentError, match=r"tried by a, b in .*; say which"):
        replay(recorded)
    with pytest.raises(AgentError, match=r"by c in .*, found a, b"):
        replay(recorded, agent="c")
    assert replay(recorded, agent="b") is not None
    (tmp_path / "none.yaml").write_text("kind: replay\n")
    with pytest.raises(UsageError, match=r"--agent-option run=DIR"):
        resolve_agent(str(tmp_path / "none.yaml")).check(ModelSettings())


def test_what_was_done_in_another_tab_is_done_there(recorded: RunDir) -> None:
    """A client acts on any tab, and has no need to make it the current one."""
    raw = "Input.dispatchMouseEvent(type='mousePressed')"
    elsewhere = {**CLICK, "raw": raw, "tab": 1}
    make_trial(recorded, steps=[{**CLICK, "raw": raw, "url_after": ""}, elsewhere, {**STOP, "tab": 1}])
    agent = replay(recorded)
    one, other = (in_tab(number) for number in (0, 1))
    actions = [agent.act(page).action for page in (one, one, other, other)]
    assert actions == [Click(Element("9")), FocusTab(1), Click(Element("9")), Stop("rye")]


def test_a_tab_that_is_not_made_current_is_asked_for_once(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "raw": "Input.insertText()", "tab": 1}, STOP])
    agent = replay(recorded)
    assert [agent.act(in_tab(0)).action for _ in range(2)] == [FocusTab(1), Click(Element("9"))]


def in_tab(current: int) -> Any:
    tabs = [SimpleNamespace(active=number == current) for number in (0, 1)]
    return SimpleNamespace(text="[9] button 'Save'", url="http://s.test/done", error="", tabs=tabs)


@pytest.mark.parametrize(
    ("now", "expected"), [("'Oats'", Select(Selector("css=#corn"), ("Rye",))), ("'Rye'", Stop("rye"))]
)
def test_a_field_that_a_script_filled_is_filled_unless_it_is_already(
    recorded: RunDir, now: str, expected: Action
) -> None:
    chosen = {"kind": "select", "target": {"selector": "css=#corn"}, "options": ["Rye"]}
    corn = TargetRecord(role="combobox", name="Corn", selector="#corn")
    make_trial(recorded, steps=[{"action": chosen, "target": corn, "by_script": True, "value": "Rye"}, STOP])
    assert first(recorded, f"[9] combobox 'Corn' value: {now}").action == expected


def test_a_list_is_compared_once_it_is_closed(recorded: RunDir) -> None:
    """Letters typed into an open list are its value only with Enter; a replay chooses at once."""
    corn = TargetRecord(role="combobox", name="Corn", selector="#corn")
    typed = {"action": {"kind": "type", "target": None, "text": "Rye", "clear": False}, "target": corn}
    enter = {"action": {"kind": "press", "target": None, "keys": "Enter"}, "target": corn}
    make_trial(recorded, steps=[typed, enter, STOP])
    before, after = ("[9] combobox 'Corn' value: 'Oats'", "[9] combobox 'Corn' value: 'Rye'")
    observed(recorded, before, before, after)
    for last, told in ((after, "no divergence"), (before, "diverged first after step 1 expected 'Rye'")):
        agent = replay(recorded)
        for shown in (before, after):
            agent.act(seen(shown))
        assert told in agent.act(seen(last)).thought


def test_a_trial_without_a_step_is_repeated_as_it_was(recorded: RunDir) -> None:
    """Its agent crashed at once: the checks judge what there is, as they did then."""
    make_trial(recorded, steps=[], outcome="failed")
    for file in recorded.path.glob("trials/*/attempt-1/steps.jsonl"):
        file.unlink()
    assert first(recorded).action == Stop("")


@pytest.mark.parametrize(("marked", "clear"), [("Control+A", True), ("End", False)])
def test_what_is_written_over_a_nameless_field_that_was_marked_replaces_it(
    recorded: RunDir, marked: str, clear: bool
) -> None:
    price = TargetRecord(role="spinbutton", name="", selector="#price")
    where = {"selector": "css=#price"}
    typed = {"kind": "type", "target": where, "text": "9.80", "clear": False, "enter": False}
    steps: list[dict[str, Any]] = [
        {"action": {"kind": "press", "keys": marked, "target": where}, "target": price},
        {"action": typed, "target": price},
        STOP,
    ]
    make_trial(recorded, steps=steps)
    agent = replay(recorded)
    agent.act(seen("[1] spinbutton '' value: 9"))
    assert agent.act(seen("[1] spinbutton '' value: 9")).action == Type(Selector("css=#price"), "9.80", clear=clear)


def test_a_scroll_that_moves_nothing_ends_no_replay(recorded: RunDir) -> None:
    scroll = {"kind": "scroll", "direction": "down", "target": None, "pixels": 0.34}
    make_trial(recorded, steps=[{"action": scroll}, STOP])
    agent = replay(recorded)
    agent.act(seen(""))
    assert agent.act(seen("", error="Nothing moved.")).action == Stop("rye")
