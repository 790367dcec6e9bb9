"""The action ``search`` in a browser: a page of results, results as a note, and no search engine."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Search
from pytest_webarena.browser.search import NO_SEARCH, SearchKeys
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import SiteError

Open = Callable[..., Session]


def test_search_opens_the_results_page(open_session: Open, web: Any) -> None:
    start = web.put("/", "<title>Start</title>")
    web.put("/find/green+tea", "<title>Found</title><a href=/tea>Tea</a>")
    session = open_session(search=SearchKeys(page=f"{start}find/{{query}}"))
    session.open_tabs([start])
    done = session.execute(Search("green tea"))
    assert done.error == ""
    assert done.url_after == f"{start}find/green+tea"
    assert session.observe().title == "Found"


def test_recorded_search_results_are_shown_once_as_notes(open_session: Open, web: Any, tmp_path: Path) -> None:
    start = web.put("/", "<title>Start</title>")
    (tmp_path / "r.yaml").write_text(json.dumps({"tea": [{"title": "Tea", "url": "http://a.test/", "text": "x\ny"}]}))
    session = open_session(search=SearchKeys(recorded=tmp_path / "r.yaml"))
    session.open_tabs([start])
    assert session.execute(Search("Tea")).error == ""
    seen = session.observe()
    assert seen.notes == ("Result 1 of the search for 'Tea': Tea | http://a.test/ | x y",)
    assert (seen.title, seen.error) == ("Start", "")
    assert session.observe().notes == ()
    session.execute(Search("coffee"))
    assert session.observe().notes == ("Nothing was found by the search for 'coffee'.",)


def test_search_without_search_engine_is_an_error(open_session: Open, web: Any) -> None:
    session = open_session()
    session.open_tabs([web.put("/", "<title>Start</title>")])
    assert session.execute(Search("tea")).error == NO_SEARCH
    assert session.observe().error == NO_SEARCH


def test_failing_search_program_is_a_site_error(open_session: Open, web: Any) -> None:
    session = open_session(search=SearchKeys(program=("false",)))
    session.open_tabs([web.put("/", "<title>Start</title>")])
    with pytest.raises(SiteError, match="the search program false ended with 1"):
        session.execute(Search("tea"))
