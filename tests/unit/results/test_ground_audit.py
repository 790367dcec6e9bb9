"""What crawls of impossible tasks say about them, from the records of their trials."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.agents.audit_trials import CRAWL, PRIVILEGED, audit_trials
from pytest_webarena.plugin.auditing import rule
from pytest_webarena.plugin.reporting.audit import audit_lines
from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.audit import Audit, TaskAudit, audit
from pytest_webarena.results.gate import NOT_VALID, UNSETTLED
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task

FOUND = {"what": "grams", "way": "text", "url": "http://shop.test/7", "passage": "300 grams"}
CLEAN: dict[str, Any] = {
    "account": "emma",
    "pages": 12,
    "unread": [],
    "number_unread": 0,
    "names_subject": True,
    "found": [],
}


def task(keys: str) -> Task:
    return make_task(
        f"intent: How heavy is it?\nsites: [shop]\nmutates: false\n"
        f"checks: [{{answer: {{unachievable: the shop lists no weights{keys}}}}}]\nsolution: [{{stop: N/A}}]"
    )


def run(keys: str, crawls: dict[str, dict[str, Any] | None], **facts: Any) -> TaskAudit:
    """Audit a task with these keys: everything is as it should be, except for ``crawls`` by agent and ``facts`` of
    their records."""
    tried = task(keys)
    planned = audit_trials(tried, [tried])
    records = []
    for trial in planned:
        crawl = crawls.get(trial.agent, CLEAN)
        own = {"environment": {"crawl": crawl} if crawl is not None else {}, **facts} if trial.agent in crawls else {}
        record = {"outcome": "passed" if trial.must_pass else "failed", "task_digest": trial.task.digest, **own}
        records.append(TrialRecord(key=TrialKey(tried.id, trial.agent, trial.trial), **record))
    (found,) = audit([(tried, planned)], records).tasks
    return found


def test_ground_that_holds_is_valid() -> None:
    found = run(", absent: grams", {CRAWL: CLEAN})
    assert (found.finding, found.notes) == (
        "valid",
        ("audit-crawl, as emma, looked at 12 pages, all that links, controls and searches lead to",),
    )
    assert {trial.agent: trial.outcome for trial in found.trials}[CRAWL] == "passed"


def test_no_declared_ground_is_a_note_only() -> None:
    found = run("", {})
    assert found.finding == "valid"
    assert found.notes == ("its ground is not attacked: the answer's check declares no 'absent' or 'absent_controls'",)
    assert CRAWL not in {trial.agent for trial in found.trials}


@pytest.mark.parametrize(
    ("way", "text"),
    [
        ("text", "emma finds 'grams' at http://shop.test/7: '300 grams'"),
        ("control", "emma finds a control named 'grams' at http://shop.test/7: '300 grams'"),
        ("sum", "emma finds grams at http://shop.test/7, as the sum of the column '300 grams'"),
        ("password", "emma can sign in as grams, whose password is at http://shop.test/7: '300 grams'"),
    ],
)
def test_what_is_found_is_a_weak_check(way: str, text: str) -> None:
    found = run(", absent: grams", {CRAWL: {**CLEAN, "found": [{**FOUND, "way": way}]}})
    assert found.finding == "weak check"
    assert [reason.text for reason in found.reasons] == [text]
    assert {trial.agent: trial.outcome for trial in found.trials}[CRAWL] == "failed"


def test_the_privileged_account_must_find_everything() -> None:
    keys = ", absent: [grams, ounces], visible_to: owner"
    partly = {**CLEAN, "account": "owner", "found": [FOUND]}
    found = run(keys, {CRAWL: CLEAN, PRIVILEGED: partly})
    assert [reason.text for reason in found.reasons] == [
        "owner does not find 'ounces', although 'visible_to' says so (looked at 12 pages, all that links, controls and "
        "searches lead to)"
    ]
    wholly = {**partly, "found": [FOUND, {**FOUND, "what": "ounces"}]}
    assert run(keys, {CRAWL: CLEAN, PRIVILEGED: wholly}).finding == "valid"


def test_a_subject_on_no_page_proves_nothing() -> None:
    found = run(", absent: grams, about: tin cup", {CRAWL: {**CLEAN, "names_subject": False}})
    (reason,) = found.reasons
    assert reason.text == (
        "no page has the name 'tin cup', so nothing was proved (looked at 12 pages, all that links, controls and "
        "searches lead to)"
    )


def test_a_crawl_without_pages_proves_nothing() -> None:
    found = run(", absent: grams", {CRAWL: {**CLEAN, "pages": 0}})
    assert [(reason.finding, reason.text) for reason in found.reasons] == [
        ("weak check", "no page was visited, so nothing was proved")
    ]


UNREAD = {**CLEAN, "unread": ["a drawing at /a", "no answer at /b", "more than 3,000 pages", "a film at /c"]}
UNREAD["number_unread"] = 7


def test_what_was_not_read_leaves_the_ground_undecided() -> None:
    found = run(", absent: grams", {CRAWL: UNREAD})
    (reason,) = found.reasons
    assert (found.finding, reason.text) == (
        "undecided", "not read: a drawing at /a; no answer at /b; more than 3,000 pages; and 4 more"
    )  # fmt: skip
    assert {trial.agent: trial.outcome for trial in found.trials}[CRAWL] == "undecided"
    assert found.notes == ("audit-crawl, as emma, looked at 12 pages, and could not read 7 things",)
    lines = list(audit_lines(Audit(tasks=(found,))))
    assert "undecided      1  may be possible: something in reach was not read" in lines
    assert max(map(len, lines)) <= 80


def test_a_subject_or_a_value_that_is_missing_is_undecided_if_something_was_not_read() -> None:
    missing = {**UNREAD, "names_subject": False}
    assert run(", absent: grams, about: tin cup", {CRAWL: missing}).finding == "undecided"
    assert run(", absent: grams, visible_to: owner", {CRAWL: CLEAN, PRIVILEGED: UNREAD}).finding == "undecided"


def test_what_is_found_counts_although_something_was_not_read() -> None:
    found = run(", absent: grams", {CRAWL: {**UNREAD, "found": [FOUND]}})
    assert (found.finding, len(found.reasons)) == ("weak check", 1)


def test_the_exit_code_distinguishes_undecided_from_not_valid() -> None:
    undecided, valid = run(", absent: grams", {CRAWL: UNREAD}), run(", absent: grams", {CRAWL: CLEAN})
    wrong = run(", absent: grams", {CRAWL: {**CLEAN, "found": [FOUND]}})
    rulings = [rule(Audit(tasks=tasks)) for tasks in ((valid,), (valid, undecided), (undecided, wrong))]
    assert [ruling.exit_code for ruling in rulings] == [0, UNSETTLED, NOT_VALID]
    assert rulings[1].message.startswith("1 of 2 tasks is undecided; ")


def test_a_crawl_that_did_not_finish_is_an_error() -> None:
    found = run(", absent: grams", {CRAWL: None}, outcome="error", cause="site", message="no answer")
    assert [(reason.finding, reason.text) for reason in found.reasons] == [("error", "audit-crawl: site: no answer")]


def test_the_verdict_of_a_crawl_does_not_matter() -> None:
    for outcome in ("passed", "failed", "error"):
        assert run(", absent: grams", {CRAWL: CLEAN}, outcome=outcome, cause=None).finding == "valid"


def test_crawls_do_not_count_as_wrong_agents() -> None:
    with_ground, without = run(", absent: grams", {CRAWL: CLEAN}), run("", {})
    assert (with_ground.wrong, with_ground.caught) == (without.wrong, without.caught)
