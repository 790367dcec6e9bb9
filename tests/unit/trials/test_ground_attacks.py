"""Tasks that claim to be impossible: those that are possible are never certified, those that are not always are.

Each attack is a small site with what its task asks for, where a crawl may miss it. `tests/browser/test_impossible.py`
has those that need a browser.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit

import pytest

from pytest_webarena.checks.ground import Ground
from pytest_webarena.errors import SiteError
from pytest_webarena.testing import make_task
from pytest_webarena.trials.ground_crawl import Crawl
from pytest_webarena.trials.site_walk import Fetched, Shown, Walk

HOME = "http://shop.test"
KINDS = {"csv": "text/csv", "json": "application/json", "txt": "text/plain"}
Query = Mapping[str, str]
Site = Mapping[str, str | Callable[[Query], str]]
SEARCH = "<form action=/find><input type=search name=q></form>"
FORM = "<form action=/report><select name=year><option>2024<option>2025</select>{}<button>Show</button></form>"


class Server:
    """Answers from a table of paths, and remembers what was searched for."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self.searched: list[str] = []

    def fetch(self, url: str) -> Fetched:
        parts = urlsplit(url)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if "q" in query:
            self.searched = [query["q"], *self.searched]
        folder = parts.path[: parts.path.rfind("/") + 1] + "*"
        page = self._site.get(parts.path, self._site.get(folder, ""))
        if page == "out of order":
            return Fetched(url, "", failure="status 500")
        if page == "silence":
            raise SiteError("no answer within 15 s")
        ending = parts.path.rpartition(".")[2]
        if ending in ("pdf", "mp4"):
            return Fetched(url, "", failure=f"a file of type application/{ending}")
        text = page if isinstance(page, str) else page({**query, "path": parts.path})
        recent = "".join(f"<li>{words}" for words in dict.fromkeys(self.searched))
        return Fetched(url, text.replace("RECENT", f"<ul>{recent}</ul>"), KINDS.get(ending, "text/html"))

    def show(self, url: str) -> Shown:
        return Shown()

    def type(self, url: str, field: str, word: str) -> None:
        return None


def verdict(site: Site, keys: Mapping[str, Any]) -> Literal["found", "unread", "certified"]:
    """Returns what a crawl says about a task with these keys of `unachievable`."""
    answer = json.dumps({"unachievable": "no such thing", **keys})
    ground: Ground = make_task(f"intent: x\nsites: []\nchecks: [{{answer: {answer}}}]", id="t").checks[0].spec.ground
    server = Server(site)
    walk = Walk(sources=server, sites={"shop": HOME}, most=150)
    walk.run([f"{HOME}/"])
    crawl = Crawl(walk=walk, sources=server, ground=ground)
    crawl.run([f"{HOME}/"])
    if crawl.found:
        return "found"
    return "unread" if crawl.unread or (ground.about and not crawl.names_subject) else "certified"


def listed(query: Query) -> str:
    number = int(query["path"].rpartition("/")[2])
    return f"<h1>Page {number}</h1>" + ("<p>A kettle" if number == 400 else f"<a href=/list/{number + 1}>next")


CARDS = "<div class=card><h3>Clay cup</h3><div>{}</div></div><div class=card><h3>Tin pot</h3><div>{}</div></div>"
COLUMNS = "<div class=left><div>Clay cup</div><div>Tin pot</div></div><div class=right><div>{}</div><div>{}</div></div>"
PAIRS = (("Clay cup", "300 grams"), ("Tin pot", "red"))
GRID = "<main><div>Clay cup</div><div>red</div><div>300 grams</div></main>"
CUP: dict[str, Any] = {"absent": "grams", "about": "clay cup"}

POSSIBLE: dict[str, tuple[Site, dict[str, Any], str]] = {
    "choice of a form": (
        {"/": FORM.format(""), "/report": lambda query: "<p>A kettle" if query.get("year") == "2025" else "<p>Nothing"},
        {"absent": "kettle"}, "found",
    ),
    "button of a form": (
        {
            "/": FORM.format("<input type=radio name=unit value=a><input type=radio name=unit value=b>"),
            "/report": lambda query: "<p>A kettle" if query.get("unit", "") + query.get("year", "") == "b2025" else "x",
        },
        {"absent": "kettle"}, "found",
    ),
    "more choices than are tried": (
        {"/": FORM.format("".join(f"<select name={name}>{'<option>1<option>2' * 4}</select>" for name in "abc"))},
        {"absent": "kettle"}, "unread",
    ),
    "frame": ({"/": "<iframe src=/inner></iframe>", "/inner": "<p>A kettle"}, {"absent": "kettle"}, "found"),
    "forwarding page": (
        {"/": "<meta http-equiv=refresh content='5;url=/next'>", "/next": "<p>A kettle"}, {"absent": "kettle"}, "found",
    ),
    "table as a file": (
        {"/": "<a href=/a.csv download>x</a>", "/a.csv": 'item,price\ncup,"1,000.50"\npot,"204"'},
        {"absent": 1204.5}, "found",
    ),
    "data as a file": (
        {"/": "<a href=/a.json>x</a>", "/a.json": '{"cup": {"weight": 300.5}}'}, {"absent": 300.5}, "found",
    ),
    "file that is not read": ({"/": "<a href=/a.pdf>Prices</a>"}, {"absent": "kettle"}, "unread"),
    "drawing": ({"/": "<p>Sales<canvas></canvas>"}, {"absent": 1204.5}, "unread"),
    "page 400": ({"/": "<a href=/list/1>x</a>", "/list/*": listed}, {"absent": "kettle"}, "unread"),
    "broken page": ({"/": "<a href=/a>x</a>", "/a": "out of order"}, {"absent": "kettle"}, "unread"),
    "silent page": ({"/": "<a href=/a>x</a>", "/a": "silence"}, {"absent": "kettle"}, "unread"),
    "sign-out history": (
        {"/": "<a href=/sign-out-history>x</a>", "/sign-out-history": "<p>A kettle"}, {"absent": "kettle"}, "found",
    ),
    "list of properties": ({"/": "<dl><dt>Tin pot</dt><dd>red</dd><dt>Clay cup</dt><dd>300 grams</dd>"}, CUP, "found"),
    "properties of one thing": (
        {"/": "<dl><div><dt>Name<dd>Clay cup</div><div><dt>Weight<dd>300 grams</div></dl>"}, CUP, "found",
    ),
    "table of properties": (
        {"/": "<table><tr><th>Name<td>Clay cup<tr><th>Weight<td>300 grams</table>"}, CUP, "found",
    ),
    "table with things as columns": (
        {"/": "<table><tr><th>Clay cup<th>Tin pot<tr><td>300 grams<td>2 kg</table>"}, CUP, "found",
    ),
    "cards": ({"/": CARDS.format("300 grams", "red")}, CUP, "found"),
    "paragraphs of a card": (
        {"/": "".join(f"<div class=card><p>{name}<p>{text}</div>" for name, text in PAIRS)}, CUP, "found",
    ),
    "columns": ({"/": COLUMNS.format("300 grams", "red")}, CUP, "found"),
    "grid without rows": ({"/": GRID}, CUP, "found"),
    "invisible characters": ({"/": "<p>A ket&shy;t&#8203;le"}, {"absent": "kettle"}, "found"),
    "wide characters": ({"/": "<p>A \uff4b\uff45\uff54\uff54\uff4c\uff45"}, {"absent": "kettle"}, "found"),
    "millions": ({"/": "<p>Earned: $1.25M"}, {"absent": 1250000}, "found"),
    "thousands in words": ({"/": "<p>2.5 thousand cups"}, {"absent": 2500}, "found"),
    "groups": ({"/": "<p>1&nbsp;204,50 crowns"}, {"absent": 1204.5}, "found"),
    "power": ({"/": "<p>1.2e4 cups"}, {"absent": 12000}, "found"),
    "per cent": ({"/": "<p>45 % of them"}, {"absent": 0.45}, "found"),
    "share": ({"/": "<p>A share of 0.45"}, {"absent": "45 %"}, "found"),
    "list of searches with a hit": (
        {"/": SEARCH, "/find": lambda query: "RECENT<p>A kettle for two" if query.get("q") == "kettle" else "RECENT"},
        {"absent": "kettle"}, "found",
    ),
    "subject on no page": ({"/": "<p>Tin pot"}, CUP, "unread"),
}  # fmt: skip
IMPOSSIBLE: dict[str, tuple[Site, dict[str, Any]]] = {
    "nothing": ({"/": "<a href=/a>x</a>", "/a": "<p>A cup"}, {"absent": ["kettle", 17.5]}),
    "other card": ({"/": CARDS.format("red", "300 grams")}, CUP),
    "other paragraph": ({"/": "<p>See the clay cup<p>Soap: 300 grams"}, CUP),
    "other place of a column": ({"/": COLUMNS.format("red", "300 grams")}, CUP),
    "other row": ({"/": "<table><tr><td>Clay cup<td>red<tr><td>Tin pot<td>300 grams</table>"}, CUP),
    "other entry": ({"/": "<dl><dt>Clay cup</dt><dd>red</dd><dt>Tin pot</dt><dd>300 grams</dd>"}, CUP),
    "list of searches": ({"/": SEARCH + "RECENT", "/find": "<p>Nothing RECENT"}, {"absent": "kettle"}),
    "list of searches on a page that only they lead to": (
        {"/": SEARCH, "/find": lambda query: "<a href=/late>x</a>" * ("q" in query), "/late": "<p>Nothing RECENT"},
        {"absent": "kettle"},
    ),
    "options without end tags": (
        {"/": "<form method=post><select><option>Cancel<option>Merge</select></form>"},
        {"absent_controls": "cancel merge"},
    ),
    "other numbers": ({"/": "<p>$1.25M, 45 kg, 1.2e5, B1204"}, {"absent": [1.25e5, 4500, 12000, 1204]}),
    "choices of a form": ({"/": FORM.format(""), "/report": "<p>Nothing"}, {"absent": "kettle"}),
}


@pytest.mark.parametrize("name", POSSIBLE)
def test_possible_task_is_never_certified(name: str) -> None:
    site, keys, expected = POSSIBLE[name]
    assert verdict(site, keys) == expected


@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_impossible_task_is_certified(name: str) -> None:
    assert verdict(*IMPOSSIBLE[name]) == "certified"
