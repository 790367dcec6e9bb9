"""A check that reads a masked value of a record is undecided; others are judged as in the trial."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena import secrets
from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
from pytest_webarena.checks import judge
from pytest_webarena.evidence import Evidence, Probe
from pytest_webarena.results.attempts import AttemptWriter, read_evidence

from .helpers import evidence, request, result, task

SECRET = "opensesame"
SHOP = "http://shopping.test"


@pytest.fixture(autouse=True)
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", secrets.Known())
    secrets.mark(SECRET)


def stored(folder: Path, recorded: Evidence) -> Evidence:
    """Return evidence as it is read after it was written."""
    folder.mkdir(exist_ok=True)
    AttemptWriter(folder, 1).finish(replace(recorded, steps=()))
    (folder / "steps.jsonl").write_text("")
    for step in recorded.steps:
        AttemptWriter(folder, 1).stepped(step)
    return read_evidence(folder)


def checked(check: str, folder: Path, *facts: Any, **more: Any) -> tuple[bool | None, bool | None]:
    """Return the outcome of a check in the trial, and from the trial's record."""
    live = evidence(*facts, **more)
    return result(check, live).passed, result(check, stored(folder, live)).passed


def end(value: Any) -> dict[str, Any]:
    return {"probes": (Probe(check="checks[0]", state="end", value=value),)}


def page(*texts: str) -> dict[str, Any]:
    return end({"url": f"{SHOP}/", "status": 200, "texts": list(texts), "error": ""})


def rows(*values: str) -> dict[str, Any]:
    return end({"columns": ["pw"], "rows": [[value] for value in values]})


COOKIE = (("Cookie", f"session={SECRET}"),)


@pytest.mark.parametrize(
    ("check", "facts", "live"),
    [
        (f"answer: {SECRET}", {"answer": SECRET}, True),
        (f"page: {{open: 'shopping:/', includes: {SECRET}}}", page(f"it is {SECRET}"), True),
        (f"page: {{open: 'shopping:/', excludes: {SECRET}}}", page(f"it is {SECRET}"), False),
        (f"state: {{site: shopping, sql: 'select pw from u', equals: {SECRET}}}", rows(SECRET), True),
        (f"url: 'shopping:/{SECRET}'", {"url": f"{SHOP}/{SECRET}"}, True),
        (
            f"network: {{method: POST, url: 'shopping:/u', body: {{includes: {SECRET}}}}}",
            {"requests": (request("POST", "/u", body=f"pw={SECRET}"),)},
            True,
        ),
    ],
)
def test_a_check_that_reads_a_masked_value_is_undecided(
    check: str, facts: dict[str, Any], live: bool, tmp_path: Path
) -> None:
    assert checked(check, tmp_path, **facts) == (live, None)


@pytest.mark.parametrize(
    ("check", "facts"),
    [
        ("answer: Paris", {"answer": "Paris", "requests": (request("POST", "/u", body=SECRET),)}),
        ("url: 'shopping:/a'", {"url": f"{SHOP}/a", "requests": (request("GET", "/a", request_headers=COOKIE),)}),
        (
            "network: {method: POST, url: 'shopping:/u', body: {includes: x}}",
            {"requests": (request("POST", "/u", body="pw=x", request_headers=COOKIE),)},
        ),
        ("page: {open: 'shopping:/', includes: Tea}", {"answer": SECRET, **page("Tea")}),
    ],
)
def test_other_checks_are_judged_as_in_the_trial(check: str, facts: dict[str, Any], tmp_path: Path) -> None:
    assert checked(check, tmp_path, **facts) == (True, True)


def test_a_python_check_is_undecided_by_what_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "reading_masks.py").write_text(
        f"def cookie(view):\n    return dict(view.requests[0].request_headers)['Cookie'] == 'session={SECRET}'\n"
        "def sent(view):\n    return view.requests[0].method == 'GET'\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sent = {"requests": (request("GET", "/a", request_headers=COOKIE),)}
    assert checked("python: reading_masks:sent", tmp_path / "a", **sent) == (True, True)
    assert checked("python: reading_masks:cookie", tmp_path / "b", **sent) == (True, None)


def test_an_answer_that_imitates_the_mask_is_judged(tmp_path: Path) -> None:
    assert checked("answer: Paris", tmp_path, "[secret]") == (False, False)


def test_the_reason_says_what_to_do(tmp_path: Path) -> None:
    found = result(f"answer: {SECRET}", stored(tmp_path, evidence(SECRET)))
    assert (found.cause, found.why.partition(",")[0]) == (
        "harness", "the record has [secret] in place of a value that this check needs"
    )  # fmt: skip


def test_masked_side_effects_are_undecided(tmp_path: Path) -> None:
    row = RowChange(kind="added", key={"id": 1}, row={"token": SECRET})
    table = TableChanges(table="sessions", added=1, columns=("id", "token"), rows=(row,))
    changes = (SiteChanges(app="shop", sites=("shopping",), strict=True, tables=(table,)),)
    check = f"changes: {{shopping: {{sessions: {{added: 1, where: {{token: {SECRET}}}}}}}}}"
    assert checked(check, tmp_path, changes=changes) == (True, None)


def test_the_rule_on_side_effects_is_undecided_by_masked_changes(tmp_path: Path) -> None:
    row = RowChange(kind="added", key={"id": 1}, row={"name": SECRET})
    table = TableChanges(table="users", added=1, columns=("id", "name"), rows=(row,))
    changes = (SiteChanges(app="blog", sites=("blog",), listed=False, strict=True, tables=(table,)),)
    asked, live = task("- answer: Paris"), evidence("Paris", changes=changes)
    assert judge(asked, live).passed is False
    assert judge(asked, stored(tmp_path, live)).passed is None
