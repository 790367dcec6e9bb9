"""All pages that links lead to are sound, for visitors and members."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from werkzeug.test import Client

from tests.unit.embedded.crawling import StrictPage, crawl, faults

SITE = "http://localhost"


_SENT = re.compile(
    r"/(un)?(star|follow|archive|approve)$|/(delete|status|notes|close|reopen|todo|assign_self|merge|ready|draft|revoke)$"
    r"|/notes/\d+/edit$|/(done|done_all|sign_out|reset_feed_token|go/\w+)$|_members/\d+$|\.git"
)
"""Where forms are sent to, which is no page."""
_LIKE_OTHERS = re.compile(
    r"/-/(tree|blob|raw|blame|commits|compare|graphs|edit|new|delete)/(?!main)|/-/commit/.*[89a-f]$|/users/"
)
"""Files of other branches, half of the commits."""


def _left_out(path: str) -> bool:
    """Leave out combinations of filters, which are endless, and most projects, which are alike."""
    plain, _, query = path.partition("?")
    if _SENT.search(plain) or _LIKE_OTHERS.search(plain) or (query and not query.startswith(("state=", "page="))):
        return True
    parts = plain.split("/")
    inside = len(parts) > 3 and parts[1] not in ("users", "groups", "explore", "dashboard")
    return inside and "/".join(parts[1:3]) not in ("makers/pagefold", "lantern-loam/price-labels")


def test_all_pages_for_visitors_are_sound(visitor: Client) -> None:
    first = ("/", "/explore", "/search?search=tide&scope=blobs", "/search?search=add&scope=commits",
             "/search?search=bug&scope=issues", "/search?search=dario&scope=users", "/users/sign_in",
             "/explore?topic=python&sort=stars_desc", "/makers/pagefold/-/issues?label_name[]=bug",
             "/makers/pagefold/-/compare/main...fix-readme-sheets")  # fmt: skip
    pages = {page.url: page for page in crawl(visitor, SITE, first, left_out=_left_out)}

    assert len(pages) > 150
    assert not [url for url in pages if "lantern-loam" in url and "sign_in" not in url]
    assert faults(pages, SITE) == []


def test_all_pages_for_members_are_sound(dario: Client) -> None:
    first = ("/dashboard/projects", "/dashboard/todos", "/dashboard/activity", "/-/profile", "/lantern-loam",
             "/makers/pagefold/-/merge_requests/new?merge_request[source_branch]=fix-readme-sheets",
             "/-/profile/personal_access_tokens", "/dashboard/issues?author_username=dario.penhallow")  # fmt: skip
    pages = {page.url: page for page in crawl(dario, SITE, first, left_out=_left_out)}

    assert len(pages) > 200
    assert any(url.startswith("/lantern-loam/price-labels/-/edit/") for url in pages)
    assert faults(pages, SITE) == []


def test_explore_filters_keep_the_topic(visitor: Client) -> None:
    page = visitor.get("/explore?topic=maps").text

    assert '<input type="hidden" name="topic" value="maps">' in page
    assert 'name="topic"' not in visitor.get("/explore").text


def test_missing_page_redirects_to_sign_in_or_is_404(visitor: Client) -> None:
    response = visitor.get("/nobody/<b>all<b>/-/issues")
    assert response.status_code == 303  # only members learn whether the project exists

    response = visitor.get("/nothing-here")
    assert response.status_code == 404
    assert not StrictPage("x", response.get_data(as_text=True)).problems


def test_reading_changes_nothing(dario: Client, data_dir: Path, pristine: Path) -> None:
    for path in ("/dashboard/todos", "/makers/pagefold/-/merge_requests/4", "/makers/pagefold/-/blame/main/README.md"):
        assert dario.get(path).status_code == 200
    assert (data_dir / "main.sqlite3").read_bytes() == (pristine / "main.sqlite3").read_bytes()


ODD = (
    "x",
    "-1",
    "0",
    "9" * 30,
    "%00",
    "%2e%2e",
    "a%20b",
    "%F0%9F%99%82",
    "'",
    "%25",
    "main...main",
    "...",
    "#1",
    "refs/heads/main",
)


@pytest.mark.parametrize("odd", ODD)
def test_unusual_addresses_cause_no_server_error(dario: Client, odd: str) -> None:
    here = "/makers/pagefold"
    for path in ("", "/-/issues/", "/-/merge_requests/", "/-/milestones/", "/-/commit/", "/-/tree/", "/-/blob/main/",
                 "/-/raw/", "/-/blame/main/", "/-/commits/", "/-/compare/", "/-/graphs/", "/-/edit/main/",
                 "/-/new/main/",
                 "/-/delete/main/", "/-/labels/", "/-/issues?page=", "/-/issues?label_name[]=", "/-/issues?sort=",
                 "/-/issues?milestone_title=", "/-/commits/main?page=", "/-/commits/main?author=", "/-/compare?from=",
                 "/-/merge_requests/new?merge_request[source_branch]=", "/-/issues/new?issue[milestone_id]=",
                 "/-/go/tree?ref=", "/-/branches?search=", "/-/project_members?search="):  # fmt: skip
        assert dario.get(f"{here}{path}{odd}").status_code < 500, path
    for path in ("/", "/groups/{}/-/group_members", "/users/", "/search?scope=", "/search?search=", "/explore?topic=",
                 "/search?scope=blobs&search=", "/search?scope=commits&search=",
                 "/dashboard/issues?assignee_username=",
                 "/api/v4/projects/", "/api/v4/projects/7/issues/", "/api/v4/projects/7/repository/files/",
                 "/api/v4/projects?per_page=", "/api/v4/projects/7/repository/tree?ref=",
                 "/makers/pagefold.git/info/refs?service="):  # fmt: skip
        assert dario.get(path.format(odd) if "{}" in path else f"{path}{odd}").status_code < 500, path


@pytest.mark.parametrize("odd", ["", "9" * 30, "\x00", "é🙂", "a/../b", "-x", "x" * 5000])
def test_unusual_form_values_cause_no_server_error(dario: Client, odd: str) -> None:
    names = ("title", "description", "text", "path", "message", "branch", "branch_name", "tag_name", "ref", "color",
             "line",
             "due_date", "start_date", "assignee", "label", "milestone", "reviewer", "username", "role", "expires",
             "name", "namespace", "visibility", "merge_request[source_branch]", "merge_request[target_branch]", "tip",
            "next",
             "merge_request[target_project_id]", "default_branch", "topics", "confirm",
             "status_message", "email")  # fmt: skip
    sent = dict.fromkeys(names, odd)
    for path in ("/-/issues", "/-/issues/1/edit", "/-/issues/1/notes", "/-/issues/1/notes/1/edit", "/-/merge_requests",
                 "/-/merge_requests/4/edit", "/-/merge_requests/4/merge", "/-/new/main", "/-/edit/main/README.md",
                 "/-/branches", "/-/branches/delete", "/-/tags", "/-/labels/new", "/-/milestones/new", "/edit",
                 "/-/project_members", "/-/project_members/1", "/-/forks/new", "/-/delete/main/README.md"):  # fmt: skip
        assert dario.post(f"/makers/pagefold{path}", data=sent).status_code < 500, path
    for path in ("/projects/new", "/groups/new", "/-/profile", "/-/profile/status", "/users/sign_in", "/oauth/token",
                 "/-/profile/personal_access_tokens"):  # fmt: skip
        assert dario.post(path, data=sent).status_code < 500, path
