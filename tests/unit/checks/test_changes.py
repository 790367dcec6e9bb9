"""The check kind ``changes``, and the default rule about side effects in the sites' data."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.changes import FILES, RowChange, SiteChanges, TableChanges
from pytest_webarena.checks import REPAIRED, Verdict, judge
from pytest_webarena.checks.side_effects import unguarded, without_guard
from pytest_webarena.errors import TaskFileError
from pytest_webarena.evidence import Evidence
from tests.cases import each_case
from tests.unit.checks.helpers import evidence, result, task

ADDED = RowChange(kind="added", key={"id": 7}, row={"id": 7, "title": "Tea", "stars": 4})
BLANK = RowChange(kind="added", key={"id": 9}, row={"id": 9, "title": "Tea", "stars": 0, "note": "", "label": None})
MORE = RowChange(kind="added", key={"id": 8}, row={"id": 8, "title": "Salt", "stars": 1})
CHANGED = RowChange(kind="changed", key={"id": 1}, row={"id": 1, "title": "Old", "stars": 2}, now={"title": "New"})
STARRED = RowChange(kind="changed", key={"id": 2}, row={"id": 2, "title": "Two", "stars": 2}, now={"stars": 5})
REMOVED = RowChange(kind="removed", key={"id": 3}, row={"id": 3, "title": "Gone", "stars": 2})


def table(name: str, *rows: RowChange, more: int = 0, database: str = "main") -> TableChanges:
    count: dict[str, Any] = {kind: sum(row.kind == kind for row in rows) for kind in ("added", "changed", "removed")}
    columns = tuple(dict.fromkeys(column for row in rows for column in row.now))
    count["added"] += more
    return TableChanges(table=name, database=database, rows=rows, columns=columns, **count)


def shop(*tables: TableChanges, **more: Any) -> SiteChanges:
    known = ("main.posts", "main.votes", "main.users", FILES)
    return SiteChanges(**{"app": "shop", "sites": ("shopping",), "strict": True, "known": known, **more}, tables=tables)


def forum(*tables: TableChanges, **more: Any) -> SiteChanges:
    return shop(*tables, **{"app": "reddit", "sites": ("reddit",), **more})


def recorded(*apps: SiteChanges, **more: Any) -> Evidence:
    return evidence("N/A", changes=apps, **{"url": "http://shopping.test/", **more})


@each_case(
    ("check", "tables", "holds"),
    [
        ("changes: {posts: {added: 1}}", [table("posts", ADDED)], True),
        ("changes: {main.posts: {added: 1}}", [table("posts", ADDED)], True),
        ("changes: {posts: {added: 1}}", [table("posts", ADDED, MORE)], False),
        ("changes: {posts: {added: 1}}", [], False),
        ("changes: {posts: {added: 0..1}}", [], True),
        ("changes: {posts: {added: 1..}}", [table("posts", ADDED, MORE)], True),
        ("changes: {posts: {added: any}}", [table("posts", ADDED, more=900)], True),
        ("changes: {posts: {added: 1}}", [table("posts", ADDED), table("votes", REMOVED)], False),
        ("changes: {posts: {added: 1}}", [table("posts", ADDED, CHANGED)], False),
        ("changes: {posts: {changed: 1}}", [table("posts", CHANGED)], True),
        ("changes: {posts: {changed: 1, columns: [title]}}", [table("posts", CHANGED)], True),
        ("changes: {posts: {changed: 1, columns: stars}}", [table("posts", CHANGED)], False),
        ("changes: {posts: {changed: any, columns: [title]}}", [table("posts", CHANGED, STARRED)], False),
        ("changes: {posts: {added: 1, allowed_columns: [title, stars]}}", [table("posts", ADDED)], True),
        ("changes: {posts: {added: 1, allowed_columns: [title]}}", [table("posts", ADDED)], False),
        ("changes: {posts: {added: 1, allowed_columns: title, where: {stars: 4}}}", [table("posts", ADDED)], True),
        ("changes: {posts: {added: 1, allowed_columns: title}}", [table("posts", BLANK)], True),
        ("changes: {posts: {added: any, allowed_columns: [title, stars]}}", [table("posts", ADDED, more=900)], None),
        ("changes: {posts: {added: any, allowed_columns: [title]}}", [table("posts", ADDED, more=900)], False),
        ("changes: {posts: {removed: 1}}", [table("posts", REMOVED)], True),
        ("changes: {posts: {removed: 1, where: {title: Gone}}}", [table("posts", REMOVED)], True),
        ("changes: {posts: {removed: 1, where: {title: Other}}}", [table("posts", REMOVED)], False),
        ("changes: {posts: {changed: 1, where: {title: New, stars: 2}}}", [table("posts", CHANGED)], True),
        ("changes: {posts: {changed: 1, where: {title: Old}}}", [table("posts", CHANGED)], False),
        ("changes: {posts: {added: any, where: {stars: 4}}}", [table("posts", ADDED, MORE)], False),
        ("changes: {posts: {added: any, where: {stars: 4}}}", [table("posts", ADDED, more=9)], None),
        ("changes: {posts: {added: any, where: {colour: 4}}}", [table("posts", ADDED)], False),
        ("changes: {shopping: {posts: {added: 1}}}", [table("posts", ADDED)], True),
        ("changes: {shopping: nothing}", [table("posts", ADDED)], False),
        ("changes: {shopping: nothing}", [], True),
        ("changes: nothing", [table("posts", ADDED)], False),
        ("changes: nothing", [], True),
        (f"changes: {{{FILES}: {{added: 1, where: {{path: a.png}}}}}}", [], False),
        ("changes: {post: {added: 0..1}}", [], None),
    ],
)
def test_listed_changes_are_required_and_others_fail(
    check: str, tables: list[TableChanges], holds: bool | None
) -> None:
    assert result(check, recorded(shop(*tables))).passed is holds


def test_changes_of_unnamed_sites_fail() -> None:
    both = recorded(shop(table("posts", ADDED)), forum(table("votes", REMOVED)))
    assert result("changes: {posts: {added: 1}}", both).passed is False
    assert result("changes: {posts: {added: 1}, reddit: {votes: {removed: 1}}}", both).passed
    assert result("changes: {shopping: {posts: {added: 1}}, reddit: {votes: {removed: 1}}}", both).passed


def test_site_without_forbid_side_effects_counts_only_if_named() -> None:
    beside = forum(table("votes", REMOVED), listed=False, strict=False)
    both = recorded(shop(table("posts", ADDED)), beside)
    assert result("changes: {posts: {added: 1}}", both).passed
    assert result("changes: {shopping: {posts: {added: 1}}, reddit: nothing}", both).passed is False


def test_reasons_name_table_row_and_column() -> None:
    found = result("changes: {posts: {changed: 1, columns: [stars]}}", recorded(shop(table("posts", CHANGED, ADDED))))
    assert "posts: expected 0 added, found 1: added id=7" in found.why
    assert "only stars may differ, found title: changed id=1 (title: 'Old' → 'New')" in found.why
    assert found.expected == "these changes and no others: shopping: posts: 1 changed in stars"
    stray = result("changes: {votes: {added: 1}}", recorded(shop(table("users", REMOVED), table("votes", ADDED))))
    assert stray.why == "users must not change: removed id=3"
    assert "there is no table 'post'" in result("changes: {post: {added: 0..1}}", recorded(shop())).why


COLUMNS = {"main.posts": ("id", "title", "stars", "note", "label"), "main.votes": ("id",), FILES: ("path",)}
LISTED = ("main.posts", "main.votes", FILES)


@each_case(
    ("check", "mistake"),
    [
        ("{post: {added: 1}}", "there is no table 'post' that the ledger compares; did you mean 'posts'?"),
        ("{other.posts: {added: 1}}", "there is no table 'other.posts' that the ledger compares"),
        ("{posts: {changed: 1, columns: [titel]}}", "posts has no column 'titel'; did you mean 'title'?"),
        ("{posts: {added: 1, allowed_columns: [title, colour]}}", "posts has no column 'colour'"),
        ("{main.posts: {removed: 1, where: {colour: 4}}}", "main.posts has no column 'colour'"),
        ("{(files): {added: 1, where: {name: a}}}", "(files) has no column 'name'"),
        ("{posts: {added: 1, allowed_columns: [title, stars], where: {id: 7}}}", ""),
        ("{votes: {added: 0..1}, (files): {added: any, where: {path: a}}}", ""),
    ],
)
def test_unknown_table_or_column_is_a_task_error(check: str, mistake: str) -> None:
    for tables in ((), (table("posts", ADDED),), (table("posts", STARRED), table("votes", REMOVED))):
        app = shop(*tables, known=LISTED, columns=COLUMNS)
        damaged = forum(table("users", REMOVED))
        kept = Evidence.from_json(recorded(app, damaged).to_json())
        got = result(f"changes: {check}", kept)
        if mistake:
            assert (got.score, got.cause, mistake in got.why) == (None, None, True), got.why
            assert result(f"not: {{changes: {check}}}", kept).score is None
            assert verdict(f"{NA}\n- changes: {check}", app, damaged).cause == "task"
        else:
            assert got.score == 0


def test_known_table_without_changes_exists() -> None:
    app = shop(known=LISTED, columns=COLUMNS)
    assert result("changes: {posts: {added: 1, allowed_columns: [title]}}", recorded(app)).passed is False
    assert result("changes: {posts: {added: 0..1, where: {title: Tea}}}", recorded(app)).passed


@pytest.mark.parametrize("known", [LISTED, ()])
def test_old_evidence_without_columns_is_judged_leniently(known: tuple[str, ...]) -> None:
    """Without recorded columns or tables, any column or table may exist."""
    old = recorded(shop(table("posts", ADDED), known=known)).to_json()
    for app in old["changes"]:
        del app["columns"]
    before = Evidence.from_json({**old, "schema_version": 13})
    assert result("changes: {posts: {added: any, where: {colour: 4}}}", before).passed is False
    assert result("changes: {posts: {added: 1}}", before).passed
    assert result("changes: {posts: {added: 1}, post: {added: 0..1}}", before).passed is (None if known else True)


def test_default_rule_is_undecided_for_unknown_columns() -> None:
    checks = f"{PLAIN}\n- changes: {{posts: {{added: 1, allowed_columns: [colour]}}}}"
    app = shop(table("votes", REMOVED), known=LISTED, columns=COLUMNS)
    found = verdict(checks, app, extra=f"    mutates: true\n{AVERAGED}")
    assert (found.passed, found.cause) == (None, "task")


def test_unknown_changes_are_undecided_and_known_damage_fails() -> None:
    lost = shop(unknown="the database was busy")
    assert result("changes: nothing", recorded(lost)).score is None
    assert "the database was busy" in result("changes: nothing", recorded(lost)).why
    assert result("changes: nothing", evidence("x")).score is None
    assert result("changes: {reddit: {posts: {added: 1}}}", recorded(shop())).score is None
    assert result("changes: {posts: {added: 1}}", recorded(lost, forum(table("votes", REMOVED)))).passed is False


@each_case(
    ("check", "expected"),
    [
        ("changes: {posts: {columns: [a]}}", "how many rows are 'added', 'changed' or 'removed'"),
        ("changes: {posts: {added: 1, columns: [a]}}", "'changed' with 'columns'"),
        ("changes: {posts: {changed: 1, allowed_columns: [a]}}", "'added' with 'allowed_columns'"),
        ("changes: {posts: {added: few}}", "a number, a range such as 0..2"),
        ("changes: {posts: {added: 3..1}}", "a number, a range such as 0..2"),
        ("changes: {posts: {aded: 1}}", "'aded'"),
        ("changes: {}", "'nothing', a mapping from tables"),
        ("changes: everything", "'nothing', a mapping from tables"),
        ("changes: {posts: 1}", "a mapping (table's changes)"),
    ],
)
def test_malformed_changes_checks_are_refused(check: str, expected: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        task(f"- {check}")
    assert expected in str(caught.value)


# --- the default rule about side effects


NA = "- answer: {unachievable: no such thing}"
PLAIN = "- not: {url: {exact: 'http://other.test/'}}"
LOOKS = "    mutates: false\n"


def verdict(checks: str, *apps: SiteChanges, extra: str = "") -> Verdict:
    return judge(task(checks, extra=extra), recorded(*apps), grading=REPAIRED)


@pytest.mark.parametrize(("checks", "extra"), [(NA, ""), (PLAIN, LOOKS)])
def test_side_effects_fail_tasks_that_must_not_mutate(checks: str, extra: str) -> None:
    assert verdict(checks, shop(), extra=extra).passed
    damaged = verdict(checks, shop(table("votes", REMOVED)), extra=extra)
    assert damaged.passed is False
    assert damaged.score == 0
    rule = damaged.results[-1]
    assert (rule.path, rule.kind, rule.why) == ("side effects", "changes", "votes must not change: removed id=3")
    assert "votes must not change: removed id=3" in " ".join(damaged.render().split())
    assert Verdict.from_json(damaged.to_json()) == damaged


def test_side_effects_set_averaged_scores_to_zero() -> None:
    checks = f"{PLAIN}\n{PLAIN}"
    extra = "    mutates: false\n    score: mean\n    threshold: 0.4\n"
    assert verdict(checks, shop(), extra=extra).score == 1
    assert verdict(checks, shop(table("votes", ADDED)), extra=extra).passed is False


@each_case(
    ("checks", "extra", "app"),
    [
        (PLAIN, "", shop(table("votes", ADDED))),  # without `mutates`
        (PLAIN, "    mutates: true\n", shop(table("votes", ADDED))),
        (PLAIN, LOOKS, shop(table("votes", ADDED), strict=False)),  # allows side effects
        (f"{PLAIN}\n- changes: {{votes: {{added: 1}}}}", LOOKS, shop(table("votes", ADDED))),  # lists allowed changes
        ("- string_match: {must_include: [N/A]}", LOOKS, shop(table("votes", ADDED))),  # of a published suite
    ],
)
def test_default_rule_does_not_apply_to_other_tasks(checks: str, extra: str, app: SiteChanges) -> None:
    found = verdict(checks, app, extra=extra)
    assert found.passed
    assert all(each.path != "side effects" for each in found.results)


AN_ALTERNATIVE = "- any:\n    - changes: {votes: {added: 1}}\n    - answer: {unachievable: it is gone}"
A_CONTRARY = f"{PLAIN}\n- not: {{changes: nothing}}"
AVERAGED = "    score: mean\n    threshold: 0.4\n"


@each_case(
    ("checks", "extra"),
    [
        (AN_ALTERNATIVE, LOOKS),
        (A_CONTRARY, LOOKS),
        ("- any:\n    - all: [{changes: nothing}, {answer: B}]\n    - answer: {unachievable: it is gone}", LOOKS),
        (f"{NA}\n- changes: nothing", LOOKS + AVERAGED),
        (f"{NA}\n- any:\n    - changes: {{votes: {{removed: any}}}}\n    - answer: {{unachievable: it is gone}}", ""),
        (f"{PLAIN}\n- changes: {{posts: {{added: 0..1}}}}", f"    mutates: true\n{AVERAGED}"),
        (f"{PLAIN}\n- all: [{{changes: {{votes: {{added: 1}}}}}}]", f"    mutates: true\n{AVERAGED}"),
    ],
)
def test_other_checks_do_not_disable_the_default_rule(checks: str, extra: str) -> None:
    damaged = verdict(checks, shop(table("votes", REMOVED)), extra=extra)
    assert damaged.passed is False
    assert "removed id=3" in damaged.results[-1].why


def test_listed_changes_are_allowed_by_the_default_rule() -> None:
    """With averaged scores, a missing change costs its share; a side effect costs everything."""
    checks, extra = f"{PLAIN}\n- changes: {{posts: {{added: 1}}}}", f"    mutates: true\n{AVERAGED}"
    assert verdict(checks, shop(), extra=extra).score == 0.5
    assert verdict(checks, shop(table("posts", ADDED)), extra=extra).score == 1
    assert verdict(checks, shop(table("posts", ADDED, MORE)), extra=extra).score == 0
    assert verdict(checks, shop(table("posts", ADDED)), extra=f"    mutates: false\n{AVERAGED}").score == 1


@pytest.mark.parametrize(
    ("row", "passes"),
    [(table("posts", ADDED), True), (table("posts", CHANGED), True), (table("posts", STARRED), False)],
)
def test_alternatives_allow_the_union_of_their_changes(row: TableChanges, passes: bool) -> None:
    """Tested on a site that the task does not list."""
    ways = "{reddit: {posts: {added: 1}}}", "{reddit: {posts: {changed: 1, columns: [title]}}}"
    changes = "".join(f"    - changes: {way}\n" for way in ways)
    checks = f"- any:\n{changes}    - answer: {{unachievable: it is gone}}"
    assert verdict(checks, shop(), forum(row, listed=False), extra="    mutates: true\n").passed is passes


def test_alternative_of_unachievable_and_done_allows_the_change() -> None:
    done = "    - all: [{changes: {votes: {added: 1}}}]"
    checks = f"- any:\n    - answer: {{unachievable: it is gone}}\n{done}"
    assert verdict(checks, shop(table("votes", ADDED))).passed
    either = "- any:\n    - answer: {unachievable: it is gone}\n    - url: {exact: 'http://other.test/'}"
    assert verdict(either, shop(table("votes", ADDED))).passed is False


def test_unlisted_sites_must_not_change() -> None:
    damaged = forum(table("votes", REMOVED), listed=False)
    changed = shop(table("posts", ADDED))
    assert verdict(PLAIN, changed, damaged, extra="    mutates: true\n").passed is False
    assert verdict(PLAIN, changed, forum(listed=False), extra="    mutates: true\n").passed


def test_unreadable_changes_are_undecided_but_wrong_answers_fail() -> None:
    lost = verdict(NA, shop(unknown="it could not be read"))
    assert lost.undecided
    assert lost.cause == "site"
    assert "it could not be read" in lost.open_because
    wrong = judge(task(NA), evidence("it is blue", changes=(shop(unknown="it could not be read"),)))
    assert wrong.passed is False


def test_older_evidence_without_changes_is_judged_without_the_rule() -> None:
    assert judge(task(NA), evidence("N/A")).passed
    old = evidence("N/A").to_json()
    del old["changes"]
    assert Evidence.from_json({**old, "schema_version": 9}).changes is None
    kept = recorded(shop(table("votes", REMOVED)), forum(unknown="gone"))
    assert Evidence.from_json(kept.to_json()).changes == kept.changes


def test_tasks_without_a_side_effect_rule_are_reported() -> None:
    told = [
        task(PLAIN),
        task(AN_ALTERNATIVE, extra="    mutates: true\n"),
        task(A_CONTRARY),
    ]
    quiet = [
        task(NA),
        task(PLAIN, extra=LOOKS),
        task(f"{PLAIN}\n- all: [{{changes: {{posts: {{added: 1}}}}}}]"),
        task("- string_match: {must_include: [N/A]}"),
    ]
    assert [unguarded(each, ["shopping"]) for each in told + quiet] == [True] * 3 + [False] * 4
    assert not any(unguarded(each, ["elsewhere"]) for each in told)
    assert without_guard(quiet, ["shopping"]) == ""
    assert f"would pass in {told[0].id}: a task" in without_guard(told, ["shopping"])
