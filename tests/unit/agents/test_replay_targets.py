"""How a replay finds what a step was done to, on pages that are no longer quite the same."""

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
from pytest_webarena.agents.text_filters import readings
from pytest_webarena.evidence import ScriptAct, TargetRecord
from pytest_webarena.results.rundir import RunDir
from tests.made_up import make_trial
from tests.unit.agents.replaying import CLICK, SAVE, STOP, first, observed, patient, replay, seen


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
    assert patient(agent, seen(*page)).action == Click(Selector('role=button[name="Save"s]'))
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
        ("AB", "BA", "2", "found by what is next to it, role and name (2 then, now 2)"),
        ("ABC", "BCD", "2", "found by what is next to it, role and name (3 then, now 3)"),
        ("ABC", "ABD", "4", "found by what is next to it, role and name (3 then, now 3)"),
        ("AC", "DE", None, None),
        ("ABC", "DABC", "6", "found by what is next to it, role and name (3 then, now 4)"),
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


def test_in_a_picture_that_is_drawn_the_point_counts_and_not_its_middle(recorded: RunDir) -> None:
    drawn = TargetRecord(role="generic", tag="canvas", selector="#map", x=5, y=6)
    said = "its position, for where in it counts"
    assert ways(recorded, drawn, "", [], AT)[0][0] == Click(Point(5, 6))
    assert said in ways(recorded, drawn, "", [], AT)[0][1]
    assert ways(recorded, drawn, "", [])[0][0] == Click(Selector("css=#map"))  # by an agent that meant the whole


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
    patient(agent, seen("[9] link '4 comments'"))
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
    patient(agent, seen("[9] link 'Jottings'"))
    reply = agent.act(seen("[9] link 'Jottings'", error="nothing is there"))
    assert ("its address" in reply.thought, reply.ended is None) == (found, found)


def test_by_its_address_one_link_is_found_that_does_nothing_else(recorded: RunDir) -> None:
    """What deletes a thing has its address as well, and a script sends it."""
    issue = TargetRecord(role="link", name="Issue 5", selector='a[href="/issues/5?by=\\"me\\""]')
    make_trial(recorded, steps=[{**CLICK, "target": issue}, STOP])
    observed(recorded, "[4] link 'Issue 5'")
    agent = replay(recorded)
    patient(agent, seen("[9] link 'Delete'"))
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
    reply = patient(agent, seen("[9] button 'Drop'"))
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


@pytest.mark.parametrize(
    ("now", "found"),
    [
        (rows("Basil", "Fern"), True),
        (rows("Fern", "Basil"), False),  # another order: the second one is another's
        (rows("Mint", "Basil", "Fern"), False),
    ],
)
def test_a_recorded_selector_that_counts_others_is_not_believed_where_they_changed(
    recorded: RunDir, now: list[str], found: bool
) -> None:
    """Else another row is deleted, and it is said that nothing diverged."""
    counts = {"selector": "css=#list > li:nth-of-type(2) > button"}
    make_trial(recorded, steps=[{"action": {"kind": "click", "target": counts}, "target": ROW}, STOP])
    observed(recorded, "\n".join(rows("Basil", "Fern")))
    reply = first(recorded, *now)
    assert (reply.action == Click(Selector(counts["selector"]))) is found
    assert (reply.ended is None) is found


def test_what_a_script_did_in_a_row_is_done_where_that_reads_as_it_did(recorded: RunDir) -> None:
    """Its page finds out. By its name it is looked for only where nothing else is called so."""
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
def test_what_a_script_did_is_done_to_what_is_called_as_it_was(
    recorded: RunDir, target: TargetRecord, names: tuple[str, ...]
) -> None:
    """Or but for numbers, where it is alone with that. Its page finds out."""
    act = ScriptAct(event="click", target=target, selector="css=#cart", commanded=True)
    make_trial(recorded, steps=[CLICK, {**STOP, "by_script": (act,)}])
    observed(recorded, "[4] button 'Save'\n[5] button 'Cart (2)'")
    agent, page = replay(recorded), seen("[9] button 'Save'", "[10] button 'Cart (3)'", url="http://s.test/done")
    agent.act(page)
    done: Any = patient(agent, page).action
    assert done.names == names


READ = [
    ("li", "Mug", ()),
    ("input", "", (("p", "Title 1"),)),
    ("label", "Mug", (("li", "Mug 3"),)),
    ("button", "", (("li", "It's 3 Mugs"),)),
]


@pytest.mark.parametrize("action", [None, AT])
@pytest.mark.parametrize(("tag", "own", "around"), READ)
def test_what_reads_like_something_is_found_in_its_place_only_where_it_does_so_still(
    recorded: RunDir, tag: str, own: str, around: tuple[tuple[str, str], ...], action: Any
) -> None:
    """At its point there may be another row by now. The page finds out what it reads, at last but for numbers."""
    place = "ul > li:nth-of-type(3)"
    role = {"li": "listitem", "label": "LabelText", "input": "textbox"}.get(tag, tag)
    name = "Title" if tag == "input" else own
    hit = TargetRecord(role=role, name=name, text=own, selector=place, tag=tag, x=5, y=6, reads=((tag, own), *around))
    reads = list(readings(hit.reads))
    assert len(reads) == 1 + bool(around)
    by_name = {f'role={role}[name="{name}"s]'}
    done: list[Any] = ways(recorded, hit, "[4] checkbox 'Mug'", ["[9] checkbox 'Mug'"], action)
    tried = [each.target for each, _ in done]
    assert [each for each in tried if each.selector not in by_name] == [
        Selector(f"css={place}{each}") for each in reads
    ]


def test_a_label_of_an_older_recording_is_found_by_its_text_alone(recorded: RunDir) -> None:
    hit = TargetRecord(role="LabelText", name="Mug", text="Mug", selector="li:nth-of-type(3) > label", x=5, y=6)
    done: list[Any] = ways(recorded, hit, "[4] checkbox 'Mug'", ["[9] checkbox 'Mug'"], AT)
    assert done[-1][0].target == Selector(f"css={hit.selector} >> internal:has-text=/^\\s*Mug\\s*$/i")


@pytest.mark.parametrize("said", [AT, {"kind": "click", "target": {"selector": "css=#del-2"}}])
def test_of_rows_an_id_finds_the_one_that_reads_as_it_did(recorded: RunDir, said: Any) -> None:
    """It may count them."""
    reads = (("button", "Delete"), ("li", "Mug Delete"))
    hit = TargetRecord(role="button", name="Delete", selector="#del-2", x=5, y=6, reads=reads)
    then, now = ("\n".join(rows(*names)) for names in ("ABC", "DEABC"))
    done: list[Any] = ways(recorded, hit, then, now.splitlines(), said)
    [tried] = [each.target.selector for each, _ in done]
    assert tried.startswith("css=#del-2 >> internal:and=")
    assert "ancestor::*[local-name()='li'][normalize-space" in tried
    assert "='Mug Delete'" in tried


def test_what_its_page_shows_late_is_waited_for_once(recorded: RunDir) -> None:
    """Agents are slower than a replay: a list may come some time after its page."""
    make_trial(recorded, steps=[CLICK, STOP])
    observed(recorded, "[4] button 'Save'")
    agent = replay(recorded)
    assert isinstance(agent.act(seen("[3] link 'Home'")).action, Wait)
    reply = agent.act(seen("[3] link 'Home'", "[9] button 'Save'"))
    assert (reply.action, reply.thought) == (Click(Element("9")), "")
    agent = replay(recorded)
    assert isinstance(agent.act(seen("[3] link 'Home'")).action, Wait)
    reply = agent.act(seen("[3] link 'Home'"))
    assert reply.action == Click(Selector('role=button[name="Save"s]'))
    assert "expected button 'Save', found nothing shown that is called so" in reply.thought


def test_one_of_several_is_not_looked_for_by_its_name_outside_of_what_is_shown(recorded: RunDir) -> None:
    """The first that comes may be another row's."""
    target = TargetRecord(role="button", name="Save", selector="li:nth-of-type(2) > button", x=5, y=6)
    point = {"kind": "click", "target": {"x": 5.0, "y": 6.0}}
    make_trial(recorded, steps=[{**CLICK, "action": point, "target": target}, STOP])
    observed(recorded, "[3] button 'Save'\n[4] button 'Save'")
    agent = replay(recorded)
    agent.act(seen("[3] link 'Home'"))
    reply = agent.act(seen("[3] link 'Home'"))
    assert reply.action == Stop("")
    assert "its target is not there" in reply.thought
