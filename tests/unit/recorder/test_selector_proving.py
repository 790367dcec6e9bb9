"""Choice of selectors for recorded steps, task file output, and proposed checks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import yaml

from pytest_webarena import actions
from pytest_webarena.actions import Action, Check, Click, Goto, Press, Select, Selector, Stop, Type
from pytest_webarena.browser.reports import SelectorMatch
from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.checks import judge
from pytest_webarena.evidence import Evidence, RequestRecord
from pytest_webarena.recorder.proposing import answer_spec, proposed_checks, unknown_changes_warning
from pytest_webarena.recorder.selector_proving import choose, prove, relative
from pytest_webarena.recorder.steps import RecordedStep
from pytest_webarena.recorder.task_building import ReplayedSteps
from pytest_webarena.recorder.writing import step_lines, task_lines
from pytest_webarena.signals import TargetRecord
from pytest_webarena.tasks import Task, parse_tasks
from tests.cases import each_case

SAVE, OTHER = TargetRecord(selector="#a", tag="button"), TargetRecord(selector="#b", tag="button")
STEP = RecordedStep(action=Click(Selector("first")), selectors=("first", "second", "place"))


class Page:
    """Elements by selector, each in the order of the document."""

    notes = ""

    def __init__(self, **found: list[TargetRecord]) -> None:
        self.found = found

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        return next(iter(self.found.get(selector, [])), None)

    def find_matches(self, selectors: Sequence[str]) -> list[SelectorMatch]:
        known = [SAVE, OTHER]
        return [
            SelectorMatch(count=len(hits), element=known.index(hits[0]), target=hits[0]) if hits else SelectorMatch()
            for hits in (self.found.get(each, []) for each in selectors)
        ]


@each_case(
    ("page", "selector", "repair_selectors", "problem"),
    [
        ({"first": [SAVE], "second": [SAVE], "place": [SAVE]}, "first", ("second", "place"), ""),
        (
            {"first": [OTHER], "second": [SAVE], "place": [SAVE]},
            "second",
            ("place",),
            "",
        ),  # an equal element comes first
        ({"first": [SAVE, OTHER], "second": [SAVE], "place": [SAVE]}, "second", ("place",), ""),  # or after it
        ({"first": [SAVE, OTHER], "place": [SAVE]}, "first", ("place",), ""),  # its name is all that lasts
        ({"first": [OTHER], "place": [SAVE]}, "place", (), ""),
        ({}, "first", (), "its element is not there"),
    ],
)
def test_first_selector_that_finds_the_element_uniquely_is_chosen(
    page: dict[str, list[TargetRecord]], selector: str, repair_selectors: tuple[str, ...], problem: str
) -> None:
    chosen = choose(STEP, Page(**page))
    assert (chosen.action, chosen.problem) == (Click(Selector(selector)), problem)
    assert chosen.action.target.repair_selectors == repair_selectors  # type: ignore[union-attr]


def test_ambiguous_name_is_kept_as_repair_selector_of_a_place() -> None:
    ways = ('role=button[name="Vote"s]', "css=li:nth-of-type(2) > button")
    page = Page(**{ways[0]: [OTHER, SAVE], ways[1]: [SAVE]})
    step = RecordedStep(action=Click(Selector(ways[0])), selectors=ways)
    chosen = choose(step, page).action
    assert chosen.target.repair_selectors == ways[:1]  # type: ignore[union-attr]
    page = Page(**{ways[1]: [SAVE]})
    assert choose(step, page).action == Click(Selector(ways[1]))


def test_moved_element_is_found_by_label_not_by_layout() -> None:
    """Another page may have a similar element at the same place."""
    ways = (
        "css=input.wide",
        'css=form[action="/x"] input',
        "css=#main > input",
        'internal:label="Title"s',
        "css=#a > b",
    )
    step = RecordedStep(action=Click(Selector(ways[0])), selectors=ways)
    found = {way: [OTHER] for way in ways[:3]}
    assert choose(step, Page(**found)).problem == "its element is not there"
    moved = choose(step, Page(**found, **{ways[3]: [SAVE]}))
    assert (moved.action, moved.problem) == (
        Click(Selector(ways[3])),
        "not where it was recorded; found by its name",
    )


def test_element_of_another_name_at_the_recorded_place_is_a_problem() -> None:
    """Rows of a list that shows others after scrolling have the same places."""
    ways = ('text="Row 20"', "css=li:nth-of-type(2)")
    step = RecordedStep(action=Click(Selector(ways[0])), selectors=ways)
    assert choose(step, Page(**{ways[1]: [OTHER]})).problem.startswith("found by its place only")
    assert choose(step, Page(**{ways[0]: [SAVE], ways[1]: [SAVE]})).problem == ""


def test_drop_target_is_found_again() -> None:
    step = replace(STEP, action=actions.Drag(Selector("first"), Selector("nothing")), to_selectors=("to", "there"))
    page = Page(first=[SAVE], place=[SAVE], to=[OTHER, SAVE], there=[OTHER])
    assert choose(step, page).action == actions.Drag(Selector("first"), Selector("to"))


@each_case(
    ("name", "there", "expected"),
    [
        ('text="Four"', SAVE, 'text="Four"'),
        ('text="One"', OTHER, "css=li:nth-of-type(4)"),
    ],
)
def test_destination_of_a_drag_is_named_unless_it_is_the_dragged_element(
    name: str, there: TargetRecord, expected: str
) -> None:
    """A sortable list has moved its items before the drop."""
    one = 'text="One"'
    drag = actions.Drag(Selector(one), Selector(name))
    step = RecordedStep(action=drag, selectors=(one, "place"), to_selectors=(name, "css=li:nth-of-type(4)"))
    page = Page(**{one: [SAVE], "place": [SAVE], 'text="Four"': [OTHER], "css=li:nth-of-type(4)": [there]})
    assert choose(step, page).action == actions.Drag(Selector(one), Selector(expected))


def test_proving_stops_after_a_step_without_effect() -> None:
    done: list[Action] = []

    def act(action: Action) -> str:
        done.append(action)
        return "covered"

    chosen = list(prove([STEP, STEP], Page(first=[SAVE], place=[SAVE]), act))
    assert [each.problem for each in chosen] == ["it had no effect: covered"]
    assert done == [Click(Selector("first"))]


def test_note_about_a_field_is_a_problem_that_ends_nothing() -> None:
    page = Page(first=[SAVE], place=[SAVE])

    def act(action: Action) -> str:
        page.notes = "The field holds '+7' now, not '7'." if not page.notes else ""
        return ""

    chosen = list(prove([STEP, STEP], page, act))
    assert [each.problem for each in chosen] == ["The field holds '+7' now, not '7'.", ""]


def test_urls_are_written_relative_to_their_sites() -> None:
    sites = {"shop": "http://shop.test", "map": "http://map.test"}
    urls = ["http://shop.test/a?b#c", "http://map.test", "http://map.test:81/", "http://else.test/"]
    found = [relative(Goto(url), sites) for url in urls]
    assert found == [Goto("/a?b#c"), Goto("map:/"), Goto("http://map.test:81/"), Goto("http://else.test/")]


STEPS: tuple[Action, ...] = (
    Goto("map:/x?y=1#z"),
    Click(Selector('role=button[name="It\'s: {{ mine }} #1"s]')),
    Click(Selector("css=td"), button="right", count=2),
    Type(Selector('role=textbox[name="Title, or name"s]'), "a: b\n- 'c' {{ d }} “e” \u2028 # no", clear=True),
    Type(Selector("css=#a"), "no"),
    Press("Enter", Selector("css=#a")),
    Press("Control+a"),
    Select(Selector("css=#s"), ("A", "B, c")),
    actions.Check(Selector("css=#t")),
    actions.Check(Selector("css=#t"), checked=False),
    actions.Hover(Selector("text=x")),
    actions.Drag(Selector("css=#a"), Selector("css=#b")),
    actions.Upload(Selector("css=#f"), ("a.csv",)),
    actions.FocusTab(1),
    actions.NewTab(),
    actions.CloseTab(),
    actions.Back(),
    actions.Forward(),
    actions.Reload(),
    actions.AcceptDialog("yes: 1"),
    actions.AcceptDialog(),
    actions.DismissDialog(),
    Stop("84.97"),
)


def test_written_steps_are_read_back_equal() -> None:
    lines = task_lines(
        {"id": "t", "intent": "i", "sites": ["a", "map"]}, [["- answer: x"]], [(step, "look") for step in STEPS]
    )
    [task] = parse_tasks("\n".join(["tasks:", *lines]))
    assert task.solution == STEPS


@pytest.mark.parametrize(
    "repair_selectors", [("text=Save", 'css=form[action="/a,b"] button'), ("css=#x",), ("x" * 90, "y" * 90)]
)
def test_repair_selectors_are_read_back_and_not_part_of_the_digest(repair_selectors: tuple[str, ...]) -> None:
    def made(target: Selector) -> Task:
        steps: list[tuple[Action, str]] = [(Click(target), ""), (actions.Drag(target, target), ""), (Stop(""), "")]
        lines = task_lines({"id": "t", "intent": "i", "sites": ["a"]}, [["- answer: x"]], steps)
        return parse_tasks("\n".join(["tasks:", *lines]))[0]

    with_others, without = made(Selector("css=#s", repair_selectors=repair_selectors)), made(Selector("css=#s"))
    click, drag = (with_others.solution or ())[:2]
    assert isinstance(click, Click)
    assert isinstance(drag, actions.Drag)
    targets = (click.target, drag.target, drag.to)
    assert [target.repair_selectors for target in targets if isinstance(target, Selector)] == [repair_selectors] * 3
    assert with_others.solution == without.solution
    assert with_others.digest == without.digest
    assert "repair_selectors" not in str(actions.as_record(drag))


@each_case("selector", ["- a", "a: b", "'a'", '"a"', "{a}", "[a]", "&a", "*a", "!a", "a #b", "a,b", "%a", "?"])
def test_special_characters_in_selectors_are_quoted(selector: str) -> None:
    for step in (Click(Selector(selector)), Type(Selector(selector), selector, clear=True)):
        [data] = yaml.safe_load("\n".join(step_lines(step)))
        assert data in ({"click": selector}, {"fill": {selector: selector}})


TASK = Task(id="t", intent="Add a note titled 'Rye' for Ann.", sites=("shop", "map"))


def changed(*rows: RowChange, sites: tuple[str, ...] = ("shop",), references: tuple[str, ...] = ()) -> SiteChanges:
    kinds = [row.kind for row in rows]
    counts: dict[str, Any] = {kind: kinds.count(kind) for kind in ("added", "changed", "removed")}
    columns = tuple(name for row in rows for name in row.now)
    table = TableChanges(
        table="notes", database="main", columns=columns, rows=rows, references=references, **counts
    )  # fmt: skip
    return SiteChanges(app=sites[0], sites=sites, tables=(table,), strict=True)


SENT = RequestRecord(
    time=1.0, method="POST", url="http://shop.test/notes?x=1", status=302,
    request_headers=(("Content-Type", "application/x-www-form-urlencoded"),),
    request_body="authenticity_token=abc&title=Rye+%26+Co&empty=",
)  # fmt: skip
KNOWN = (changed(), changed(sites=("map",)))
"""Known changes of all sites: none."""


def lines_of(*changes: SiteChanges, answer: str = "", url: str = "/x") -> list[str]:
    steps: list[Action] = [Type(Selector("css=#t"), "it's 5"), Select(Selector("css=#s"), ("high",))]
    steps.append(Type(Selector("css=#body"), "two\ncoats"))
    found = proposed_checks(
        TASK,
        answer=answer,
        url=url,
        steps=steps,
        changes=changes or KNOWN,
        ignored={},
        requests=(SENT,) if changes else (),
    )
    return [f"{'*' if each.recommended else ' '}{line}" for each in found for line in each.lines]


def test_added_rows_are_identified_by_typed_and_requested_values() -> None:
    added = RowChange(kind="added", key={"id": 7}, row={"id": 7, "shop_id": 3, "title": "Rye", "made": "2026"})
    assert lines_of(changed(added)) == [
        "*- state: {sql: \"select count(*) from notes where shop_id = 3 and title = 'Rye' and made = '2026'\","
        " equals: 1}",
        "*- changes: {notes: {added: 1, allowed_columns: [shop_id, title, made]}}",
        " - url: /x",
    ]


def test_multiline_text_matches_in_the_form_that_was_sent() -> None:
    added = RowChange(kind="added", key={"id": 7}, row={"id": 7, "body": "two\r\ncoats"})
    assert lines_of(changed(added))[0] == (
        "*- state: {sql: \"select count(*) from notes where body = 'two\\r\\ncoats'\", equals: 1}"
    )


def test_changed_and_removed_rows_are_identified_by_key() -> None:
    high = RowChange(kind="changed", key={"id": 3}, row={"id": 3, "rank": "low"}, now={"rank": "it's 5"})
    removed = RowChange(kind="removed", key={"id": 4}, row={"id": 4})
    found = lines_of(changed(high, removed, sites=("map",)))
    assert found[:2] == [
        "*- state: {site: map, sql: \"select count(*) from notes where id = 3 and rank = 'it''s 5'\", equals: 1}",
        '*- state: {site: map, sql: "select count(*) from notes where id = 4", equals: 0}',
    ]


def test_join_row_is_identified_by_all_its_foreign_keys() -> None:
    """Otherwise any label of any issue would match."""
    row: dict[str, Any] = {"kind": "issue", "item_id": 301, "label_id": 4, "made_at": "2026-01-01"}
    label = RowChange(kind="added", key={name: row[name] for name in ("kind", "item_id", "label_id")}, row=row)
    text = " ".join(lines_of(changed(label)))
    assert "select count(*) from notes where kind = 'issue' and item_id = 301 and label_id = 4" in text
    alone = RowChange(kind="added", key={"id": 9}, row={"id": 9, "item_id": 301, "label_id": 4, "made_at": "2026"})
    assert "where item_id = 301 and label_id = 4" in lines_of(changed(alone))[0]
    linked = RowChange(kind="added", key={"id": 9}, row={"id": 9, "item": 301, "label": 4})
    assert lines_of(changed(linked, references=("item", "label")))[0].startswith("*- state:")
    assert lines_of(changed(linked))[0].startswith(" - state:")
    todo = RowChange(kind="added", key={"id": 9}, row={"id": 9, "user_id": 3, "kind": "mentioned", "item_id": 5})
    assert lines_of(changed(todo))[0].startswith(" - state:"), "nobody asked for it"


@each_case(
    ("was", "now", "asked"),
    [
        ({"done": 0, "at": None}, {"done": 1, "at": "2026-01-02 03:04"}, "done = 1 and at is not null"),
        ({"state": "opened", "lock_version": 1}, {"state": "closed", "lock_version": 2}, "state = 'closed'"),
        ({"label_id": 1, "closed": "x"}, {"label_id": 4, "closed": None}, "label_id = 4 and closed is null"),
        ({"stars": 1, "balance": 0.5}, {"stars": 5, "balance": 1.5}, "stars = 5 and balance = 1.5"),
        ({"title": "a", "done": 0}, {"title": "Rye", "done": 1}, "title = 'Rye' and done = 1"),
    ],
)
def test_changed_flags_and_states_are_checked(was: dict[str, Any], now: dict[str, Any], asked: str) -> None:
    row = RowChange(kind="changed", key={"id": 3}, row={"id": 3, **was}, now=now)
    assert f'where id = 3 and {asked}", equals: 1' in lines_of(changed(row))[0]


def test_changed_clocks_and_counters_are_not_checked() -> None:
    now: dict[str, Any] = {"last_seen": 5, "visits": 1, "changed_at": "2026-01-02T10:00", "saved": "2026-01-02 10:00"}
    row = RowChange(kind="changed", key={"id": 3}, row={"id": 3}, now=now)
    assert [each[:10] for each in lines_of(changed(row))] == ["*- changes", " - url: /x"]
    counted = RowChange(kind="changed", key={"id": 1}, row={"id": 1}, now={"comments": 6})
    assert lines_of(changed(counted))[0] == (
        ' - state: {sql: "select count(*) from notes where id = 1 and comments = 6", equals: 1}'
    )


@each_case(
    ("intent", "steps", "row", "references", "asked"),
    [
        # Which ticket: by the declared foreign key, and by the number in the intent.
        (
            'Comment "Ok" on ticket 12.',
            [],
            {"id": 7, "ticket": 12, "body": "Ok"},
            ("ticket",),
            "ticket = 12 and body = 'Ok'",
        ),
        ("Log 30 minutes on ticket 14", [], {"id": 7, "ticket": 14, "minutes": 30}, (), "ticket = 14 and minutes = 30"),
        # A date that was picked by clicks, next to the moment at which the row was written.
        (
            "Rye",
            [Type(Selector("css=#t"), "Rye")],
            {"id": 7, "title": "Rye", "due_date": "2026-07-09", "made_on": "2026-05-04", "at": "2026-05-04 10:12:00"},
            (),
            "title = 'Rye' and due_date = '2026-07-09'",
        ),
        ("Rye", [Type(Selector("css=#t"), "Rye")], {"id": 7, "title": "Rye", "body": "x" * 150}, (), "title = 'Rye'"),
    ],
)
def test_every_written_column_is_selected(
    intent: str, steps: list[Action], row: dict[str, Any], references: tuple[str, ...], asked: str
) -> None:
    change = changed(RowChange(kind="added", key={"id": 7}, row=row), references=references)
    first = proposed_checks(
        replace(TASK, intent=intent), answer="", url="", steps=steps, ignored={}, changes=[change]
    )[0]  # fmt: skip
    assert f'from notes where {asked}", equals: 1' in first.lines[0]
    assert first.recommended


def test_columns_can_be_deselected() -> None:
    row = RowChange(kind="changed", key={"id": 3}, row={"id": 3}, now={"stars": 5, "owner": "ada"})
    [check, *_] = proposed_checks(TASK, answer="", url="", steps=[], ignored={}, changes=[changed(row)])
    fewer = check.without(["owner", "id"])
    assert fewer.lines == ('- state: {sql: "select count(*) from notes where id = 3 and stars = 5", equals: 1}',)
    assert fewer.about == "notes: a row is changed: id = 3, stars = 5"


def test_values_that_differ_on_other_replicas_are_not_selected() -> None:
    def run(token: str) -> list[SiteChanges]:
        return [changed(RowChange(kind="changed", key={"id": 3}, row={"id": 3}, now={"token": token, "open": 0}))]

    first = proposed_checks(TASK, answer="", url="", steps=[], ignored={}, changes=run("a"), again=run("b"))[0]
    assert 'where id = 3 and open = 0"' in first.lines[0]


@pytest.mark.parametrize(
    ("ticked", "asked"), [(True, "title = 'Rye' and shade = 1"), (False, "title = 'Rye' and shade = 1")]
)
def test_checked_boxes_are_part_of_the_proposed_check(ticked: bool, asked: str) -> None:
    row: dict[str, Any] = {"id": 7, "title": "Rye", "shade": 1, "open": 0, "made_at": 1}
    found = proposed_checks(
        TASK, answer="", url="", steps=[Check(Selector("css=#shade"), ticked)], ignored={},
        changes=[changed(RowChange(kind="added", key={"id": 7}, row=row))],
    )  # fmt: skip
    assert f'where {asked}"' in found[0].lines[0]


def test_unknown_changes_recommend_no_check_and_are_reported() -> None:
    lost = SiteChanges(app="shop", sites=("shop",), unknown="its database is another engine's")
    assert lines_of(lost) == [" - url: /x"]
    assert lines_of() == ["*- url: /x"]
    assert unknown_changes_warning(TASK.sites, KNOWN) == ""
    assert unknown_changes_warning(["shop"], [lost]).startswith(
        "what was changed on shop can't be determined (its database is another engine"
    )
    assert unknown_changes_warning(TASK.sites, KNOWN[:1]).startswith(
        "what was changed on map can't be determined (its databases and files are"
    )
    again = ReplayedSteps(chosen=(), passed=(), url="", sites={"shop": ""}, changes=(lost,))
    assert [replace(again, requests=sent).mutates for sent in ((), (SENT,))] == [False, True]
    assert replace(again, requests=(SENT,), changes=()).mutates, "of a site that keeps no ledger there is not even that"


def test_unknown_changes_propose_network_checks() -> None:
    sites = {"shop": "http://shop.test", "map": "http://map.test"}
    others = (replace(SENT, url="http://cdn.test/x"), replace(SENT, status=422), replace(SENT, request_body=None))
    found = proposed_checks(
        TASK, answer="", url="/x", steps=[], changes=[], ignored={}, requests=(*others, SENT, SENT), sites=sites
    )
    assert [(each.about, each.recommended) for each in found] == [
        ("POST to /notes is sent", False), ("POST to /notes is sent", False), ("the browser ends at /x", False),
    ]  # fmt: skip
    one, other = (yaml.safe_load("\n".join(each.lines)) for each in found[:2])
    assert one == [{"network": {"method": "POST", "url": "/notes"}}]
    assert other == [{"network": {"method": "POST", "url": "/notes", "body": {"includes": ["title=Rye & Co"]}}}]
    recorded = Evidence(answer="", stop_reason="answered", tabs=(), requests=(SENT,), sites=sites)
    text = "tasks: [{id: t, intent: i, sites: [shop], checks: " + json.dumps(other) + "}]"
    [task] = parse_tasks(text)
    assert judge(task, recorded).passed
    unlike = replace(SENT, request_body="title=Oats")
    assert not judge(task, replace(recorded, requests=(unlike,))).passed


@each_case(
    ("asked", "answer", "check"),
    [
        ("What is the article's code?", "0471", {"exact": "0471"}),
        ("What is the article's code?", "-07", {"exact": "-07"}),
        ("Which version of rye-timer is the newest?", "1.10", {"name": "1.10"}),
        ("What is the latest release?", "2.0", {"name": "2.0"}),
        ("How many releases are there?", "12", {"number": 12}),
        ("How much is the tea?", "1.10", {"number": 1.1}),
        ("How much is the tea?", "0.50", {"number": 0.5}),
        ("How many are left?", "0", {"number": 0}),
        ("How far is it?", "14.2 km", {"number": 14.2, "unit": "km"}),
        ("How much is it?", "40 crowns", {"number": 40, "unit": "crowns"}),
        ("How many are left?", "7 left", {"name": "7 left"}),
        ("When was it?", "2026-03-31", {"date": "2026-03-31"}),
        ("When does it open?", "08:15", {"time": "08:15"}),
        ("Is it open?", "Yes", {"yes_no": "yes"}),
        (
            "What does the review say?",
            "It arrived late but it works well.",
            {"text": "It arrived late but it works well."},
        ),
    ],
)
def test_type_of_the_answer_is_proposed(asked: str, answer: str, check: dict[str, object]) -> None:
    assert answer_spec(answer, asked) == check


def test_answer_is_recommended_before_the_url() -> None:
    assert lines_of(answer="84.97") == ["*- answer: {number: 84.97}", " - url: /x"]
    assert lines_of(answer="Ann") == ["*- answer: {name: Ann}", " - url: /x"]
    assert lines_of() == ["*- url: /x"]
