"""The check ``changes`` as it is proposed from what solutions changed, and its place in a task file."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.checks.changes import judge_changes
from pytest_webarena.monitoring.proposed_changes import Proposal, inserted, propose, without_ignored
from pytest_webarena.tasks import Task, parse_tasks

FILE = """\
tasks:
  - id: remove
    intent: Remove {{ title }}
    sites: [reddit, shop]
    each:
      a: {title: A}
      b: {title: B}
    checks:
      - answer: done

      - state:  # the right one
          sql: select 1
          equals: 1

    # What the oracle does.
    solution: [stop]
  - id: inline
    intent: Do it
    sites: [shop]
    checks: [{answer: x}]
  - id: nothing
    intent: Look
    sites: [shop]
    checks:
      - answer: x
"""
A, B, INLINE, LAST = parse_tasks(FILE)


def table(name: str, *, added: int = 0, columns: tuple[str, ...] = ()) -> TableChanges:
    rows = [RowChange(kind="added", key={"id": number}, row={"id": number}) for number in range(added)]
    if columns:
        rows.append(RowChange(kind="changed", key={"id": 1}, row={"id": 1}, now=dict.fromkeys(columns, "x")))
    return TableChanges(table=name, added=added, changed=int(bool(columns)), columns=columns, rows=tuple(rows))


def reddit(*tables: TableChanges) -> SiteChanges:
    return SiteChanges(app="reddit", sites=("reddit",), strict=True, tables=tables)


def shop(*tables: TableChanges, unknown: str = "") -> SiteChanges:
    return SiteChanges(app="store", sites=("shop_admin", "shop"), strict=True, tables=tables, unknown=unknown)


IGNORED: Mapping[str, tuple[str, ...]] = {"reddit": ("*.seen", "+log", "views")}


def test_what_all_instances_change_is_listed_and_where_they_differ_it_is_a_range() -> None:
    posts = table("posts", columns=("removed", "seen"))
    runs = [
        (A, (reddit(posts, table("moderation", added=1), table("log", added=3)), shop())),
        (B, (reddit(posts, table("moderation", added=3), table("views", added=1, columns=("n",))), shop())),
    ]
    proposal = propose("remove", runs, IGNORED)
    assert proposal.lines(4) == ["    - changes: {posts: {changed: 1, columns: [removed]}, moderation: {added: 1..3}}"]
    [check] = parse_tasks(_with(proposal, A))[0].checks[2:]
    for _, changes in runs:
        quiet = [without_ignored(app, IGNORED.get(app.app, ())) for app in changes]
        assert judge_changes(check.spec, quiet, first="reddit").score == 1


def test_what_added_rows_hold_is_listed_and_what_they_leave_blank_is_not() -> None:
    def one(**row: str | int | None) -> TableChanges:
        added = RowChange(kind="added", key={"id": 1}, row={"id": 1, **row})
        return TableChanges(table="posts", added=1, rows=(added,))

    runs = [
        (A, (reddit(one(title="A", body="", pinned=0, tag=None)),)),
        (B, (reddit(one(title="B", body="b", pinned=0)),)),
    ]
    proposal = propose("remove", runs, {})
    assert proposal.lines(0) == ["- changes: {posts: {added: 1, allowed_columns: [title, body]}}"]
    [check] = parse_tasks(_with(proposal, A))[0].checks[2:]
    assert all(judge_changes(check.spec, changes, first="reddit").score == 1 for _, changes in runs)
    pinned = reddit(one(title="A", pinned=1))
    assert judge_changes(check.spec, [pinned], first="reddit").score == 0


def test_several_sites_go_by_name_and_an_app_by_the_site_that_is_listed() -> None:
    proposal = propose("remove", [(A, (reddit(table("posts", added=1)), shop(table("(files)", added=2))))], {})
    assert proposal.lines(0) == [
        "- changes:",
        "    reddit: {posts: {added: 1}}",
        '    shop: {"(files)": {added: 2}}',
    ]
    assert parse_tasks(_with(proposal, A))


def test_long_ones_take_a_line_per_table() -> None:
    names = [f"a_table_with_a_long_name_{number}" for number in range(5)]
    proposal = propose("remove", [(A, (reddit(*(table(name, added=1) for name in names)),))], {})
    assert proposal.lines(2) == ["  - changes:", *(f"      {name}: {{added: 1}}" for name in names)]


def test_nothing_is_nothing_and_what_is_not_known_is_told() -> None:
    assert propose("nothing", [(LAST, (shop(),))], {}).lines(0) == ["- changes: nothing"]
    assert propose("nothing", [(LAST, (shop(unknown="it was busy"),))], {}).unknown == "it was busy"


def _with(proposal: Proposal, task: Task) -> str:
    return inserted(FILE, task, proposal.lines(0))


@pytest.mark.parametrize("task", [A, INLINE, LAST], ids=lambda task: str(task.id))
def test_it_is_put_behind_the_last_check_and_leaves_all_else(task: Task) -> None:
    made = inserted(FILE, task, ["- changes: nothing"])
    assert [check.kind for check in next(each for each in parse_tasks(made) if each.id == task.id).checks][
        -1
    ] == "changes"
    before, after = FILE.splitlines(), made.splitlines()
    if task is INLINE:
        assert "    checks: [{answer: x}, {changes: nothing}]" in after
    else:
        assert [line for line in after if line != "      - changes: nothing"] == before


def test_checks_in_defaults_have_no_place_for_it() -> None:
    text = "defaults: {sites: [shop], checks: [{answer: x}]}\ntasks:\n  - {id: a, intent: Do it}\n"
    [task] = parse_tasks(text)
    with pytest.raises(ValueError, match="stand elsewhere"):
        inserted(text, task, ["- changes: nothing"])
