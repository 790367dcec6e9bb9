"""Proposed ``changes`` checks, made from the changes of solutions, and their insertion into task files."""

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


def test_proposal_lists_common_changes_with_ranges() -> None:
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


def test_proposal_allows_only_columns_filled_in_added_rows() -> None:
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


def test_proposal_of_several_sites_names_each_site() -> None:
    proposal = propose("remove", [(A, (reddit(table("posts", added=1)), shop(table("(files)", added=2))))], {})
    assert proposal.lines(0) == [
        "- changes:",
        "    reddit: {posts: {added: 1}}",
        '    shop: {"(files)": {added: 2}}',
    ]
    assert parse_tasks(_with(proposal, A))


def test_long_proposal_has_one_line_per_table() -> None:
    names = [f"a_table_with_a_long_name_{number}" for number in range(5)]
    proposal = propose("remove", [(A, (reddit(*(table(name, added=1) for name in names)),))], {})
    assert proposal.lines(2) == ["  - changes:", *(f"      {name}: {{added: 1}}" for name in names)]


def test_proposal_without_changes_is_nothing_and_unknown_is_reported() -> None:
    assert propose("nothing", [(LAST, (shop(),))], {}).lines(0) == ["- changes: nothing"]
    assert propose("nothing", [(LAST, (shop(unknown="it was busy"),))], {}).unknown == "it was busy"


def _with(proposal: Proposal, task: Task) -> str:
    return inserted(FILE, task, proposal.lines(0))


@pytest.mark.parametrize("task", [A, INLINE, LAST], ids=lambda task: str(task.id))
def test_proposal_is_inserted_after_the_last_check(task: Task) -> None:
    made = inserted(FILE, task, ["- changes: nothing"])
    assert [check.kind for check in next(each for each in parse_tasks(made) if each.id == task.id).checks][
        -1
    ] == "changes"
    before, after = FILE.splitlines(), made.splitlines()
    if task is INLINE:
        assert "    checks: [{answer: x}, {changes: nothing}]" in after
    else:
        assert [line for line in after if line != "      - changes: nothing"] == before


def test_proposal_cannot_be_inserted_into_default_checks() -> None:
    text = "defaults: {sites: [shop], checks: [{answer: x}]}\ntasks:\n  - {id: a, intent: Do it}\n"
    [task] = parse_tasks(text)
    with pytest.raises(ValueError, match="checks are elsewhere"):
        inserted(text, task, ["- changes: nothing"])
