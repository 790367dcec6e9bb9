"""The action ``search`` in a browser: a page of results, results that are told, and no search at all."""

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


def test_a_page_of_results_is_opened(open_session: Open, web: Any) -> None:
    start = web.put("/", "<title>Start</title>")
    web.put("/find/green+tea", "<title>Found</title><a href=/tea>Tea</a>")
    session = open_session(search=SearchKeys(page=f"{start}find/{{query}}"))
    session.open_tabs([start])
    done = session.execute(Search("green tea"))
    assert done.error == ""
    assert done.url_after == f"{start}find/green+tea"
    assert session.observe().title == "Found"


def test_results_are_told_once_and_the_page_stays(open_session: Open, web: Any, tmp_path: Path) -> None:
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


def test_without_a_search_there_is_a_sentence(open_session: Open, web: Any) -> None:
    session = open_session()
    session.open_tabs([web.put("/", "<title>Start</title>")])
    assert session.execute(Search("tea")).error == NO_SEARCH
    assert session.observe().error == NO_SEARCH


def test_a_search_that_fails_is_no_failure_of_the_agent(open_session: Open, web: Any) -> None:
    session = open_session(search=SearchKeys(program=("false",)))
    session.open_tabs([web.put("/", "<title>Start</title>")])
    with pytest.raises(SiteError, match="the search program false ended with 1"):
        session.execute(Search("tea"))
