"""Confidential and private data do not leak into lists, activity, to-dos or texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import Client

Rows = Callable[..., list[tuple[Any, ...]]]
SignIn = Callable[[str], Client]

PAGEFOLD = "/makers/pagefold"
LABELS = "/lantern-loam/price-labels"  # private; mara.linden is a guest there


@pytest.fixture
def osric(signed_in: SignIn) -> Client:
    """A client signed in as a user without groups."""
    return signed_in("osric.fell")


def _secret(dario: Client) -> str:
    sent = {"title": "Bells at dawn", "description": "For @osric.fell and @ilse.varnholt.", "confidential": "on"}
    return str(dario.post(f"{PAGEFOLD}/-/issues", data=sent).location).rpartition("/")[2]


def test_confidential_issue_is_hidden_from_non_members(
    dario: Client, osric: Client, visitor: Client, signed_in: SignIn
) -> None:
    iid = _secret(dario)
    dario.post(f"{PAGEFOLD}/-/issues/{iid}/notes", data={"text": "Again, @osric.fell."})
    issue = f"{PAGEFOLD}/-/issues/{iid}"
    assert "Bells at dawn" in dario.get(f"{PAGEFOLD}/activity").text
    assert "Bells at dawn" in signed_in("ilse.varnholt").get("/dashboard/todos").text
    for path in (f"{PAGEFOLD}/activity", "/dario.penhallow", f"{PAGEFOLD}/-/issues?state=all", "/dashboard/activity",
                 "/dashboard/todos", "/search?scope=issues&search=bells", "/api/v4/projects/7/issues",
                 f"{PAGEFOLD}/-/milestones/1", issue, f"/api/v4/projects/7/issues/{iid}/notes"):  # fmt: skip
        assert "Bells at dawn" not in osric.get(path, follow_redirects=True).text, path
        assert "Bells at dawn" not in visitor.get(path, follow_redirects=True).text, path
    assert osric.get(issue).status_code == osric.post(f"{issue}/notes", data={"text": "x"}).status_code == 404
    # Writing an issue's number reveals nothing about it.
    public = osric.post(f"{PAGEFOLD}/-/issues", data={"title": "x", "description": f"Is it #{iid} or #1?"}).location
    assert f'<a href="{PAGEFOLD}/-/issues/1">#1</a>' in osric.get(public).text
    assert f'/-/issues/{iid}"' not in osric.get(public).text
    assert f'<a href="{PAGEFOLD}/-/issues/{iid}">#{iid}</a>' in dario.get(public).text


def test_to_do_is_hidden_after_losing_access_to_its_project(signed_in: SignIn, rows: Rows) -> None:
    before = rows("SELECT count(*) FROM todos JOIN users ON users.id = user_id WHERE username = 'noor.haddadin'"
                  " AND state = 'pending'")[0][0]  # fmt: skip
    noor = signed_in("noor.haddadin")
    assert f'To do <span class="count">{before}</span>' in noor.get("/dashboard/todos").text
    hidden = rows("UPDATE todos SET project_id = (SELECT id FROM projects WHERE full_path = 'thea.winslade/homework')"
                  " WHERE id = (SELECT max(todos.id) FROM todos JOIN users ON users.id = user_id"
                  " WHERE username = 'noor.haddadin' AND state = 'pending') RETURNING id")  # fmt: skip
    page = noor.get("/dashboard/todos").text
    assert f'To do <span class="count">{before - 1}</span>' in page
    assert f'To-Do List <span class="count">{before - 1}</span>' in page
    assert f"/todos/{hidden[0][0]}/" not in page
    assert "thea.winslade/homework" not in page


def test_guests_of_a_private_project_see_only_its_issues(signed_in: SignIn, rows: Rows) -> None:
    noor, mara = signed_in("noor.haddadin"), signed_in("mara.linden")
    sent = {"path": "new.txt", "text": "x", "message": "Raise the price of tea", "branch": "tea"}
    assert noor.post(f"{LABELS}/-/new/main", data=sent).status_code == 303
    noor.post(f"{LABELS}/-/issues", data={"title": "Labels curl", "description": "@mara.linden"})
    number = rows("SELECT id FROM projects WHERE full_path = 'lantern-loam/price-labels'")[0][0]
    made = noor.post(f"{LABELS}/-/merge_requests", data={
        "merge_request[source_branch]": "tea", "merge_request[target_branch]": "main", "title": "Dearer tea",
        "merge_request[target_project_id]": number, "description": "@mara.linden",
    })  # fmt: skip
    assert "/-/merge_requests/" in made.location
    for path in (f"{LABELS}/activity", "/noor.haddadin", "/dashboard/todos", "/dashboard/activity"):
        page = mara.get(path).text
        assert "Labels curl" in page, path
        assert "tea" not in page, path
    assert "Raise the price of tea" in noor.get(f"{LABELS}/activity").text
    assert f"!{made.location[-1]}</a>" not in mara.get(f"{LABELS}/-/issues").text


def test_texts_link_only_what_the_reader_may_see(dario: Client, osric: Client, rows: Rows) -> None:
    text = "See lantern-loam/stock-count#1, council/minutes#1 and makers/pagefold#1."
    here = osric.post(f"{PAGEFOLD}/-/issues", data={"title": "x", "description": text}).location
    page = osric.get(here).text
    assert "lantern-loam/stock-count#1" in page
    assert "/lantern-loam/stock-count/-/" not in page
    assert "/council/minutes/-/" not in page
    assert '<a href="/makers/pagefold/-/issues/1">makers/pagefold#1</a>' in page


def test_merge_request_from_a_fork_sets_no_labels_or_reviewers(osric: Client, rows: Rows) -> None:
    space = rows("SELECT id FROM namespaces WHERE path = 'osric.fell'")[0][0]
    assert osric.post(f"{PAGEFOLD}/-/forks/new", data={"namespace": space}).status_code == 303
    osric.post("/osric.fell/pagefold/-/new/main", data={"path": "x", "text": "x", "branch": "main"})
    sent = {"merge_request[source_branch]": "main", "merge_request[target_branch]": "main", "title": "X",
            "merge_request[target_project_id]": "7"}  # fmt: skip
    label, person = rows("SELECT min(id) FROM labels WHERE project_id = 7")[0][0], rows("SELECT id FROM users WHERE"
                         " username = 'dario.penhallow'")[0][0]  # fmt: skip
    parts = {"label": label, "assignee": person, "reviewer": person}
    request = osric.post("/osric.fell/pagefold/-/merge_requests", data={**sent, **parts}).location
    assert request.startswith("/makers/pagefold/-/merge_requests/")
    assert 'name="label"' not in osric.get(f"{request}/edit").text
    assert osric.post(f"{request}/edit", data={"title": "Y", **parts}).status_code == 303
    iid = request.rpartition("/")[2]
    number = rows("SELECT id FROM merge_requests WHERE project_id = 7 AND iid = ? AND title = 'Y'", iid)[0][0]
    for table in ("labelled", "assigned"):
        assert not rows(f"SELECT * FROM {table} WHERE item = 'merge_request' AND item_id = ?", number)
    assert not rows("SELECT * FROM reviewers WHERE merge_request_id = ?", number)


def test_email_address_must_be_unique(osric: Client, rows: Rows) -> None:
    taken = osric.post("/-/profile", data={"name": "Osric", "email": "dario.penhallow@tarnmark.test"})
    assert taken.status_code == 422
    assert "Email has already been taken." in taken.text
    assert osric.post("/-/profile", data={"name": "Osric", "email": "osric@tarnmark.test"}).status_code == 303


def test_dates_are_stored_in_iso_format(dario: Client, rows: Rows) -> None:
    dario.post(f"{PAGEFOLD}/-/issues", data={"title": "x", "due_date": "20250601"})
    assert rows("SELECT due_date FROM issues ORDER BY id DESC LIMIT 1") == [("2025-06-01",)]
    dario.post(f"{PAGEFOLD}/-/milestones/new", data={"title": "x", "start_date": "20250601", "due_date": "2025-W30-1"})
    assert rows("SELECT start_date, due_date FROM milestones ORDER BY id DESC LIMIT 1") == [
        ("2025-06-01", "2025-07-21")
    ]
    sent = {"name": "x", "scopes": "api", "expires": "2025-05-14"}
    assert "must be after today" in dario.post("/-/profile/personal_access_tokens", data=sent).text
