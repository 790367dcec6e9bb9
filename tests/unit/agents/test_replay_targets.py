"""How a replay finds the targets of its steps on changed pages."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.actions import (
    Action,
    ByScript,
    Click,
    Element,
    Point,
    Selector,
    Stop,
    Wait,
)
from pytest_webarena.agents.text_filters import text_filters
from pytest_webarena.evidence import ScriptAct, TargetRecord
from pytest_webarena.results.rundir import RunDir
from tests.made_up import make_trial
from tests.unit.agents.replaying import (
    CLICK,
    SAVE,
    STOP,
    first_reply,
    replay,
    reply_after_wait,
    seen,
    write_observations,
)


@pytest.mark.parametrize(
    ("lines", "action", "how"),
    [
        (["[9] button 'Save'"], Click(Element("9")), ""),
        (["[9] link 'Save'", "[10] button 'Save' focused: True"], Click(Element("10")), ""),
        (['[9] link "Don\'t save"', "[10] button 'Save'"], Click(Element("10")), ""),
        (["[9] link 'Other'"], Click(Selector('role=button[name="Save"s]')), "outside of the observation"),
    ],
)
def test_targets_are_found_by_role_and_name(recorded: RunDir, lines: list[str], action: Action, how: str) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    reply = first_reply(recorded, *lines)
    assert reply.action == action
    assert how in reply.thought


def test_target_name_may_contain_an_apostrophe(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "target": TargetRecord(role="button", name="Don't save")}, STOP])
    assert first_reply(recorded, "[8] button 'Save'", '\t[9] button "Don\'t save" focused: True').action == Click(
        Element("9")
    )


IN_PLACE = Selector('css=#save >> internal:and="role=button[name=\\"Save\\"s]"')
"""The element at the recorded place, if it has the recorded role and name."""


def test_target_among_equal_names_is_found_by_position(recorded: RunDir) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    write_observations(recorded, "[3] button 'Save'\n[4] button 'Save'")
    assert first_reply(recorded, "[7] button 'Save'", "[8] button 'Save'", "[9] link 'x'").action == Click(Element("8"))


@pytest.mark.parametrize(
    "now", [["[7] button 'Save'"], ["[7] button 'Save'", "[8] button 'Save'", "[9] button 'Save'"]]
)
def test_target_is_found_by_place_when_the_number_of_matches_changed(recorded: RunDir, now: list[str]) -> None:
    make_trial(recorded, steps=[CLICK, STOP])
    write_observations(recorded, "[3] button 'Save'\n[4] button 'Save'")
    reply = first_reply(recorded, *now)
    assert reply.action == Click(IN_PLACE)
    assert f"its place in the document, role and name (2 recorded, {len(now)} now)" in reply.thought


def test_target_clicked_by_point_is_not_guessed_among_equal_names(recorded: RunDir) -> None:
    point = {**CLICK, "action": {"kind": "click", "target": {"x": 5.0, "y": 6.0}}}
    make_trial(recorded, steps=[point, STOP])
    write_observations(recorded, "[3] button 'Save'\n[4] button 'Save'")
    reply = first_reply(recorded, "[7] button 'Save'", "[8] button 'Save'")
    assert (reply.action, reply.thought) == (Click(IN_PLACE), "")


@pytest.mark.parametrize("now", ["Save as draft", "Saved", "Keep", "Undo save", "Unsave"])
def test_renamed_target_is_not_found(recorded: RunDir, now: str) -> None:
    """It may be another element, even with a similar name or at the same place."""
    make_trial(recorded, steps=[CLICK, STOP])
    write_observations(recorded, "[4] button 'Save'")
    agent = replay(recorded)
    page = [f"[9] button '{now}'"]
    assert reply_after_wait(agent, seen(*page)).action == Click(Selector('role=button[name="Save"s]'))
    assert agent.act(seen(*page, error="nothing is there")).ended[0] == "invalid"


def attempts(
    run: RunDir, target: TargetRecord, then: str, now: list[str], action: Any = None
) -> list[tuple[Action, str]]:
    """Return all actions that a replay tries, with their thoughts, when none has an effect."""
    make_trial(run, steps=[{**CLICK, "target": target, **({"action": action} if action else {})}, STOP])
    if then:
        write_observations(run, then)
    agent = replay(run)
    replies = [agent.act(seen(*now))]
    while replies[-1].ended is None:
        replies.append(agent.act(seen(*now, error="nothing is there")))
    return [(reply.action, reply.thought) for reply in replies[:-1]]


ROW = TargetRecord(role="button", name="Delete", selector="#list > li:nth-of-type(2) > button", x=5, y=6)
AT = {"kind": "click", "target": {"x": 5.0, "y": 6.0}}


def rows(*names: str) -> list[str]:
    """Return links with these names, each followed by a delete button; ids count from 1."""
    lines = [line for name in names for line in (f"link '{name}'", "button 'Delete'")]
    return [f"[{number}] {line}" for number, line in enumerate(lines, 1)]


@pytest.mark.parametrize(
    ("then", "now", "found", "expected"),
    [
        ("ABC", "ABC", "4", ""),
        ("AB", "BA", "2", "found by its neighbours, role and name (2 recorded, 2 now)"),
        ("ABC", "BCD", "2", "found by its neighbours, role and name (3 recorded, 3 now)"),
        ("ABC", "ABD", "4", "found by its neighbours, role and name (3 recorded, 3 now)"),
        ("AC", "DE", None, None),
        ("ABC", "DABC", "6", "found by its neighbours, role and name (3 recorded, 4 now)"),
        ("ABC", "ABDC", None, None),
        ("ABC", "AC", None, None),
    ],
)  # fmt: skip
def test_row_target_is_found_by_its_neighbours(
    recorded: RunDir, then: str, now: str, found: str | None, expected: str | None
) -> None:
    """Rows may be added, removed or reordered; an equal number may still be other rows."""
    done = attempts(recorded, ROW, "\n".join(rows(*then)), rows(*now), {"kind": "click", "target": {"id": "4"}})
    assert [action for action, _ in done] == ([Click(Element(found))] if found else [])
    assert [expected in text if expected else not text for _, text in done] == ([True] if found else [])


def test_row_target_is_not_found_with_ambiguous_neighbours(recorded: RunDir) -> None:
    """The button before "Next" now follows "A": it may be A's or the former B's."""
    then, now = ([*rows(*names), "[9] link 'Next'"] for names in ("AB", "BA"))
    assert attempts(recorded, ROW, "\n".join(then), now, {"kind": "click", "target": {"id": "4"}}) == []


@pytest.mark.parametrize("action", [None, AT])
@pytest.mark.parametrize(("selector", "found"), [(ROW.selector, False), ("#note-7 > button", True)])
def test_positional_selector_is_not_used_when_the_row_count_changed(
    recorded: RunDir, selector: str, found: bool, action: Any
) -> None:
    row = TargetRecord(role="button", name="Delete", selector=selector, x=5, y=6)
    then, now = (["[4] button 'Delete'", *["[5] button 'Delete'"] * number] for number in (2, 3))
    assert bool(attempts(recorded, row, "\n".join(then), now, action)) == found


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (rows(*"AB"), ""),
        ([*rows(*"AB"), "[9] link 'Next'"], "(2 recorded, 2 now)"),
        (rows(*"AC"), None),
        (rows(*"BA"), None),
        (rows(*"CAB"), None),
    ],
)
def test_row_clicked_by_point_is_found_when_rows_are_unchanged(
    recorded: RunDir, now: list[str], found: str | None
) -> None:
    done = attempts(recorded, ROW, "\n".join(rows("A", "B")), now, AT)
    assert len(done) == (found is not None)
    assert all(found in thought if found else not thought for _, thought in done)


@pytest.mark.parametrize(
    ("then", "now", "healed"),
    [((3, 4), (4, 5), False), ((3,), (4, 5), False), ((3, 4), (4,), False), ((3,), (4,), True)],
)
def test_numbers_in_names_distinguish_targets(
    recorded: RunDir, then: tuple[int, ...], now: tuple[int, ...], healed: bool
) -> None:
    note = TargetRecord(role="button", name="Delete note 3", selector="#list > li:nth-of-type(1) > button")
    texts = [[f"[{number}] button 'Delete note {number}'" for number in numbers] for numbers in (then, now)]
    done = attempts(recorded, note, "\n".join(texts[0]), texts[1])
    assert any("but for numbers ('Delete note 4')" in thought for _, thought in done) == healed


def test_target_without_recorded_page_must_match_name_or_text(recorded: RunDir) -> None:
    """Agents that saw only screenshots: the element at the place must have the same text."""
    save = TargetRecord(
        role="button", name="Save", text="Save  it's", selector="#list > button:nth-of-type(1)", x=5, y=6
    )
    by_name, by_text = attempts(recorded, save, "", ["[9] button 'Drop'"])
    assert by_name[0] == Click(Selector('role=button[name="Save"s]'))
    reads = r"internal:has-text=/^\s*Save\s+it\u0027s\s*$/i"
    assert by_text[0] == Click(Selector(f"css={save.selector} >> {reads}"))
    assert attempts(recorded, save, "", ["[9] button 'Drop'"], AT)[-1] == (
        Click(Point(5, 6)),
        "target of step 0 found by its position (5, 6)",
    )
    field = TargetRecord(role="textbox", name="Title", selector="#form > input:nth-of-type(1)", x=5, y=6)
    assert [action for action, _ in attempts(recorded, field, "", [])] == [
        Click(Selector('role=textbox[name="Title"s]'))
    ]


def test_canvas_target_is_clicked_at_the_recorded_point(recorded: RunDir) -> None:
    drawn = TargetRecord(role="generic", tag="canvas", selector="#map", x=5, y=6)
    message = "its position, because the point within it matters"
    assert attempts(recorded, drawn, "", [], AT)[0][0] == Click(Point(5, 6))
    assert message in attempts(recorded, drawn, "", [], AT)[0][1]
    # Without a recorded point, the agent clicked the element.
    assert attempts(recorded, drawn, "", [])[0][0] == Click(Selector("css=#map"))


@pytest.mark.parametrize("shown", [["[9] button 'Save'"], []])
def test_element_that_covers_the_target_is_not_clicked(recorded: RunDir, shown: list[str]) -> None:
    for target in (SAVE, TargetRecord(role="button", selector="#save", x=5, y=6)):
        make_trial(recorded, steps=[{**CLICK, "action": AT, "target": target}, STOP])
        agent = replay(recorded)
        replies = [agent.act(seen(*shown))]
        while replies[-1].ended is None:
            replies.append(agent.act(seen(*shown, error="Element 9 is covered by dialog 'x', which would get it.")))
        assert not [reply for reply in replies if reply.action == Click(Point(5, 6))]


def test_name_with_another_number_matches_at_the_same_place(recorded: RunDir) -> None:
    comments = TargetRecord(role="link", name="3 comments", selector="#c", x=5, y=6)
    make_trial(recorded, steps=[{**CLICK, "target": comments}, STOP])
    write_observations(recorded, "[4] link '3 comments'")
    agent = replay(recorded)
    reply_after_wait(agent, seen("[9] link '4 comments'"))
    reply = agent.act(seen("[9] link '4 comments'", error="nothing is there"))
    assert reply.action == Click(Selector('css=#c >> internal:and="role=link[name=\\"4 comments\\"s]"'))
    assert "role and name but for numbers ('4 comments')" in reply.thought


@pytest.mark.parametrize(
    ("selector", "found"),
    [('a[href="/notes"]', True), ('a[href="#"]', False), ('a[href="#!"]', False), ('a[href="javascript:go()"]', False),
     ("#n", False)],
)  # fmt: skip
def test_renamed_link_is_found_by_its_url(recorded: RunDir, selector: str, found: bool) -> None:
    notes = TargetRecord(role="link", name="Notes", selector=selector, x=5, y=6)
    make_trial(recorded, steps=[{**CLICK, "target": notes}, STOP])
    write_observations(recorded, "[4] link 'Notes'")
    agent = replay(recorded)
    reply_after_wait(agent, seen("[9] link 'Jottings'"))
    reply = agent.act(seen("[9] link 'Jottings'", error="nothing is there"))
    assert ("its address" in reply.thought, reply.ended is None) == (found, found)


def test_link_found_by_url_must_be_unique_and_without_script(recorded: RunDir) -> None:
    """A delete link may have the same URL, with a script that sends the request."""
    issue = TargetRecord(role="link", name="Issue 5", selector='a[href="/issues/5?by=\\"me\\""]')
    make_trial(recorded, steps=[{**CLICK, "target": issue}, STOP])
    write_observations(recorded, "[4] link 'Issue 5'")
    agent = replay(recorded)
    reply_after_wait(agent, seen("[9] link 'Delete'"))
    selector = agent.act(seen("[9] link 'Delete'", error="nothing is there")).action.target.selector
    here = """//a[@href='/issues/5?by="me"']"""
    assert selector.startswith(f"xpath={here}[not(")
    assert selector.endswith(f")][count({here})=1]")
    assert {"@data-method", "@data-confirm", "@onclick"} <= set(selector.replace("(", " ").replace(")", " ").split())


def test_nameless_target_is_tried_by_selector_then_by_point(recorded: RunDir) -> None:
    nameless = TargetRecord(role="button", selector="#save", x=5, y=6)
    make_trial(recorded, steps=[{**CLICK, "target": nameless}, STOP])
    agent = replay(recorded)
    replies = [agent.act(seen(error="no effect" if number else "")) for number in range(3)]
    assert [reply.action for reply in replies[:2]] == [Click(Selector("css=#save")), Click(Point(5, 6))]
    assert replies[2].ended[0] == "invalid"
    assert "step 0 of 2 (click 4) can't be repeated at http://s.test/: no effect" in replies[2].ended[1]


def test_ineffective_target_is_not_replaced_by_another_element(recorded: RunDir) -> None:
    """A dialog may cover it: its point then belongs to the dialog."""
    make_trial(recorded, steps=[CLICK, STOP])
    agent = replay(recorded)
    page = ["[9] button 'Save'", "[10] button 'Save it'"]
    assert agent.act(seen(*page)).action == Click(Element("9"))
    assert agent.act(seen(*page, error="it is covered")).ended[0] == "invalid"


def test_selector_target_is_reported_when_its_name_is_not_shown(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "action": {"kind": "click", "target": {"selector": "css=#save"}}}, STOP])
    write_observations(recorded, "[4] button 'Save'")
    agent = replay(recorded)
    reply = reply_after_wait(agent, seen("[9] button 'Drop'"))
    assert (reply.action, reply.thought) == (
        Click(Selector("css=#save")),
        "before step 0 expected button 'Save', found none in the observation",
    )
    assert replay(recorded).act(seen("[9] button 'Save'")).thought == ""


def test_selector_target_falls_back_to_role_and_name(recorded: RunDir) -> None:
    make_trial(recorded, steps=[{**CLICK, "action": {"kind": "click", "target": {"selector": "css=#old"}}}, STOP])
    agent = replay(recorded)
    assert agent.act(seen("[9] button 'Save'")).action == Click(Selector("css=#old"))
    reply = agent.act(seen("[9] button 'Save'", error="nothing is there"))
    assert (reply.action, reply.thought) == (Click(Element("9")), "target of step 0 found by role and name")


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (rows("Basil", "Fern"), True),
        (rows("Fern", "Basil"), False),  # reordered: the second row is another one
        (rows("Mint", "Basil", "Fern"), False),
    ],
)
def test_positional_recorded_selector_is_rejected_when_rows_changed(
    recorded: RunDir, now: list[str], found: bool
) -> None:
    """Otherwise another row would be deleted without a reported divergence."""
    positional = {"selector": "css=#list > li:nth-of-type(2) > button"}
    make_trial(recorded, steps=[{"action": {"kind": "click", "target": positional}, "target": ROW}, STOP])
    write_observations(recorded, "\n".join(rows("Basil", "Fern")))
    reply = first_reply(recorded, *now)
    assert (reply.action == Click(Selector(positional["selector"]))) is found
    assert (reply.ended is None) is found


def test_script_action_in_a_row_requires_the_recorded_row_text(recorded: RunDir) -> None:
    """The page compares the row. The name is used only when it is unique."""
    selector = "css=#list > li:nth-of-type(2) > button"
    act = ScriptAct(event="click", target=ROW, selector=selector, rows=(("li", "Fern Delete"),), commanded=True)
    make_trial(recorded, steps=[{**STOP, "by_script": (act,)}])
    agent = replay(recorded)
    done = agent.act(seen(*rows("Fern", "Basil"))).action
    alone = selector.removeprefix("css=")
    assert done == ByScript(Selector(selector), "click", alone=alone, rows=act.rows, names=("Delete",))
    assert agent.act(seen(*rows("Fern", "Basil"), error="it is not here")).action == Stop("rye")

    agent = replay(recorded)
    agent.act(seen(*rows("Fern")))
    by_name = agent.act(seen(*rows("Fern"), error="it is not here")).action
    assert (by_name.kind, type(by_name.target), by_name.rows) == ("by_script", Element, act.rows)


@pytest.mark.parametrize(
    ("target", "names"),
    [
        (TargetRecord(role="button", name="Cart (2)"), ("Cart (2)", "Cart (3)")),
        (TargetRecord(role="generic", name="x" * 80), ()),
        (TargetRecord(role="form", tag="form", name="Title Send"), ()),
        (TargetRecord(role="button"), ()),
    ],
)
def test_script_action_requires_the_recorded_name(
    recorded: RunDir, target: TargetRecord, names: tuple[str, ...]
) -> None:
    """Numbers may differ if the name is unique otherwise. The page decides."""
    act = ScriptAct(event="click", target=target, selector="css=#cart", commanded=True)
    make_trial(recorded, steps=[CLICK, {**STOP, "by_script": (act,)}])
    write_observations(recorded, "[4] button 'Save'\n[5] button 'Cart (2)'")
    agent, page = replay(recorded), seen("[9] button 'Save'", "[10] button 'Cart (3)'", url="http://s.test/done")
    agent.act(page)
    done: Any = reply_after_wait(agent, page).action
    assert done.names == names


READ = [
    ("li", "Mug", ()),
    ("input", "", (("p", "Title 1"),)),
    ("label", "Mug", (("li", "Mug 3"),)),
    ("button", "", (("li", "It's 3 Mugs"),)),
]


@pytest.mark.parametrize("action", [None, AT])
@pytest.mark.parametrize(("tag", "own", "around"), READ)
def test_target_by_place_requires_the_recorded_text(
    recorded: RunDir, tag: str, own: str, around: tuple[tuple[str, str], ...], action: Any
) -> None:
    """Another row may be at its point. The page compares the text, finally without numbers."""
    place = "ul > li:nth-of-type(3)"
    role = {"li": "listitem", "label": "LabelText", "input": "textbox"}.get(tag, tag)
    name = "Title" if tag == "input" else own
    hit = TargetRecord(role=role, name=name, text=own, selector=place, tag=tag, x=5, y=6, reads=((tag, own), *around))
    reads = list(text_filters(hit.reads))
    assert len(reads) == 1 + bool(around)
    by_name = {f'role={role}[name="{name}"s]'}
    done: list[Any] = attempts(recorded, hit, "[4] checkbox 'Mug'", ["[9] checkbox 'Mug'"], action)
    tried = [each.target for each, _ in done]
    assert [each for each in tried if each.selector not in by_name] == [
        Selector(f"css={place}{each}") for each in reads
    ]


def test_label_of_an_older_recording_is_found_by_its_text(recorded: RunDir) -> None:
    hit = TargetRecord(role="LabelText", name="Mug", text="Mug", selector="li:nth-of-type(3) > label", x=5, y=6)
    done: list[Any] = attempts(recorded, hit, "[4] checkbox 'Mug'", ["[9] checkbox 'Mug'"], AT)
    assert done[-1][0].target == Selector(f"css={hit.selector} >> internal:has-text=/^\\s*Mug\\s*$/i")


@pytest.mark.parametrize("action", [AT, {"kind": "click", "target": {"selector": "css=#del-2"}}])
def test_row_found_by_id_requires_the_recorded_row_text(recorded: RunDir, action: Any) -> None:
    """The id may be a row number."""
    reads = (("button", "Delete"), ("li", "Mug Delete"))
    hit = TargetRecord(role="button", name="Delete", selector="#del-2", x=5, y=6, reads=reads)
    then, now = ("\n".join(rows(*names)) for names in ("ABC", "DEABC"))
    done: list[Any] = attempts(recorded, hit, then, now.splitlines(), action)
    [tried] = [each.target.selector for each, _ in done]
    assert tried.startswith("css=#del-2 >> internal:and=")
    assert "ancestor::*[local-name()='li'][normalize-space" in tried
    assert "='Mug Delete'" in tried


def test_replay_waits_once_for_a_late_target(recorded: RunDir) -> None:
    """Agents are slower than a replay: a list may load some time after its page."""
    make_trial(recorded, steps=[CLICK, STOP])
    write_observations(recorded, "[4] button 'Save'")
    agent = replay(recorded)
    assert isinstance(agent.act(seen("[3] link 'Home'")).action, Wait)
    reply = agent.act(seen("[3] link 'Home'", "[9] button 'Save'"))
    assert (reply.action, reply.thought) == (Click(Element("9")), "")
    agent = replay(recorded)
    assert isinstance(agent.act(seen("[3] link 'Home'")).action, Wait)
    reply = agent.act(seen("[3] link 'Home'"))
    assert reply.action == Click(Selector('role=button[name="Save"s]'))
    assert "expected button 'Save', found none in the observation" in reply.thought


def test_target_with_equal_names_is_not_searched_outside_the_page(recorded: RunDir) -> None:
    """The first match may belong to another row."""
    target = TargetRecord(role="button", name="Save", selector="li:nth-of-type(2) > button", x=5, y=6)
    point = {"kind": "click", "target": {"x": 5.0, "y": 6.0}}
    make_trial(recorded, steps=[{**CLICK, "action": point, "target": target}, STOP])
    write_observations(recorded, "[3] button 'Save'\n[4] button 'Save'")
    agent = replay(recorded)
    agent.act(seen("[3] link 'Home'"))
    reply = agent.act(seen("[3] link 'Home'"))
    assert reply.action == Stop("")
    assert "its target is not there" in reply.thought
