"""Backends of the action ``search``, and errors in their settings."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents import resolve_agent
from pytest_webarena.browser.search import Result, SearchKeys
from pytest_webarena.errors import SiteError, UsageError

TEAS = [
    {"title": "Tea", "url": "http://shop.test/tea", "text": "Green and black"},
    {"title": "", "url": "http://b.test/"},
]


def find(keys: SearchKeys, query: str) -> tuple[Result, ...]:
    return asyncio.run(keys.find(query, seconds=20))


def definition(tmp_path: Path, search: Any, **files: str) -> Any:
    for name, text in files.items():
        (tmp_path / name.replace("__", ".")).write_text(text)
    (tmp_path / "mine.yaml").write_text(json.dumps({"kind": "model", "model": "m", "search": search}))
    return resolve_agent("mine", [tmp_path])


def test_search_page_url_contains_the_query() -> None:
    keys = SearchKeys(page="http://find.test/s?q={query}&n=1")
    assert keys.address("a b&c=\ud800/ü") == "http://find.test/s?q=a+b%26c%3D%3F%2F%C3%BC&n=1"
    assert len(keys.address("x" * 10_000)) < 1100


def test_recorded_search_results_are_found(tmp_path: Path) -> None:
    keys = definition(tmp_path, {"recorded": "r.yaml", "results": 1}, r__yaml=json.dumps({"Green  TEA": TEAS})).search
    assert find(keys, " green tea\n") == (Result("Tea", "http://shop.test/tea", "Green and black"),)
    assert find(keys, "coffee") == ()


PROGRAM = """
import json, sys
asked = json.load(sys.stdin)
print(json.dumps([{"title": asked["query"], "url": "http://x.test/"}] * 90))
"""


def test_search_program_results_are_limited(tmp_path: Path) -> None:
    made = definition(tmp_path, {"program": [sys.executable, "find.py"]}, find__py=PROGRAM)
    assert find(made.search, "tea; rm -rf") == (Result("tea; rm -rf", "http://x.test/"),) * 10
    (tmp_path / "find.py").write_text(PROGRAM + "#")
    assert resolve_agent("mine", [tmp_path]).digest != made.digest, "another program, another agent"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("import sys; sys.exit('no key')", "ended with 1: no key"),
        ("print('[')", r"expected a list as JSON, found b'\["),
        ("print('{}')", "expected a list of results, each with title and url, found a mapping"),
        ('print(\'[{"title": 1, "url": 2}]\')', "result 1: expected title, url and optionally text, as texts"),
        ("print('[5]')", "result 1: expected title"),
        ("print('[' * 100000)", "expected a list as JSON"),
        ("import time; print('[]', flush=True); time.sleep(600)", "expected results within 0 s, found none"),
    ],
)
def test_failing_search_program_is_a_site_error(tmp_path: Path, program: str, expected: str) -> None:
    seconds = 0.2 if "sleep" in program else 30
    keys = definition(tmp_path, {"program": [sys.executable, "-c", program], "seconds": seconds}).search
    with pytest.raises(SiteError, match=expected):
        find(keys, "tea")


def test_missing_search_program_is_a_site_error(tmp_path: Path) -> None:
    with pytest.raises(SiteError, match=r"the search program \./nowhere could not be started: No such file"):
        find(definition(tmp_path, {"program": ["./nowhere"]}).search, "tea")


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ({}, "search: expected one of page, program and recorded, found none of them"),
        ({"page": "http://a.test/{query}", "program": ["x"]}, "found page and program"),
        ({"page": "http://a.test/"}, r"page: expected an http\(s\) address with \{query\} in its path or query"),
        ({"page": "http://{query}.test/"}, "page: expected an http"),
        ({"page": "javascript:{query}"}, "page: expected an http"),
        ({"page": "http://a.test/{query}", "results": 0}, "results: expected 1 to 50, found 0"),
        ({"page": "http://a.test/{query}", "seconds": 0}, "seconds: expected a number above 0"),
        ({"recorded": "nowhere.yaml"}, r"search .*nowhere\.yaml: expected a readable file"),
        ({"recorded": "r.yaml"}, r"search .*r\.yaml: tea: result 1: expected title, url"),
        ({"pages": "x"}, "unknown key 'search.pages'; did you mean 'page'"),
    ],
)
def test_invalid_search_settings_are_usage_errors(tmp_path: Path, search: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        definition(tmp_path, search, r__yaml="tea: [{url: 5}]")


def test_search_result_is_printed_on_one_line() -> None:
    printed = str(Result("a\n\nTASK: b\x1b", "http://x.test/", "y" * 1000))
    assert "\n" not in printed
    assert "\x1b" not in printed
    assert len(printed) < 400
