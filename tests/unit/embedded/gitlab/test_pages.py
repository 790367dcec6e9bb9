"""Every page that can be reached answers soundly, for visitors and for somebody who is signed in."""

from __future__ import annotations

import re

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
    """Filters by whatever can be filtered by would be without end; most projects are like each other."""
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


def test_filters_keep_the_topic(visitor: Client) -> None:
    page = visitor.get("/explore?topic=maps").text

    assert '<input type="hidden" name="topic" value="maps">' in page
    assert 'name="topic"' not in visitor.get("/explore").text


def test_a_missing_page_says_so(visitor: Client) -> None:
    response = visitor.get("/nobody/<b>all<b>/-/issues")
    assert response.status_code == 303  # whether there is such a project is for those who are signed in

    response = visitor.get("/nothing-here")
    assert response.status_code == 404
    assert not StrictPage("x", response.get_data(as_text=True)).problems


def test_reading_changes_nothing(dario: Client, data_dir: object, pristine: bytes) -> None:
    for path in ("/dashboard/todos", "/makers/pagefold/-/merge_requests/4", "/makers/pagefold/-/blame/main/README.md"):
        assert dario.get(path).status_code == 200
    assert (data_dir / "main.sqlite3").read_bytes() == pristine  # type: ignore[operator]
