"""``--audit`` of impossible tasks, most of which are possible after all, on small sites with a broker and a browser."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.browser.control_probe import ControlProbe, ProbedPage

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

SITES = """
apps:
  shop:
    backend: process
    sites:
      shop:
        host: shop.test
        user: emma
        sign_in:
          path: /login
          steps:
            - fill: {"css=[name=user]": "{username}", "css=[name=password]": "{password}"}
            - click: role=button[name="Log in"]
          check: {path: /, includes: "Hello {username}"}
    users: {emma: {password: paper-lantern-86}, owner: {password: brass-kettle-12}}
    process: {factory: "pages:shop"}
  board: {backend: process, sites: {board: {host: board.test}}, process: {factory: "pages:board"}}
"""
PAGES = """
import json
from urllib.parse import parse_qs

LOGIN = "<form method=post action=/login><input name=user><input name=password><button>Log in</button></form>"
HOME = '''<title>Shop</title><p>Hello {user}<form action=/find><input name=q></form>
<a href=/orders>Orders</a> <a href=/products/1>Cup</a> <a href=/drawn/1>More</a> <a href=/report>Report</a>
<a href=/routes>App</a> <a href=/logout>Log out</a>'''
ROUTES = '''<div id=view></div><a href="#/walrus">One</a> <div id=go>Two</div>
<p id=tab style="cursor: pointer">Three</p>
<select id=choice><option>a<option>heron</select><button id=more>More</button><button id=write>Write</button>
<input id=field><script>
const by = id => document.getElementById(id), on = (id, type, then) => by(id).addEventListener(type, then)
const view = by("view")
onhashchange = () => { view.textContent = "A " + location.hash.slice(2) }
on("go", "click", () => { location = "/behind" })
document.body.addEventListener("click", event => { if (event.target.id === "tab") view.textContent = "The badger" })
on("choice", "change", event => { view.textContent = event.target.value })
let times = 0
on("more", "click", () => {
  times += 1
  view.innerHTML += times < 6 ? "<p>again" : "<p>The marten"
  if (times == 6) by("more").remove()
})
on("write", "click", () => fetch("/written", {method: "POST"}).then(() => { view.textContent = "The weasel" }))
on("field", "input", event => { view.textContent = event.target.value === "lynx" ? "The lynx sleeps" : "No animal" })
</script>'''
ORDERS = '''<table><tr><th>Order<th>Total<tr><td>100<td>1,200.50<tr><td>101<td>4.00</table>
<p>To cancel an order, write to us.'''
DRAWN = '''<script>fetch("/text").then(text => text.json()).then(text => document.body.append(text))</script>'''

def answer(start_response, html, status="200 OK", **headers):
    kind = [("Content-Type", "text/html; charset=utf-8")]
    start_response(status, [*kind, *((name.replace("_", "-"), value) for name, value in headers.items())])
    return [html.encode()]

def shop(data):
    def app(environ, start_response):
        path, cookie = environ["PATH_INFO"], environ.get("HTTP_COOKIE", "")
        user = cookie.partition("user=")[2]
        if environ["REQUEST_METHOD"] == "POST":
            form = parse_qs(environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode())
            return answer(start_response, "", "302 Found", Set_Cookie=f"user={form['user'][0]}; Path=/", Location="/")
        if path == "/login" or not user:
            return answer(start_response, LOGIN)
        if path == "/logout":
            return answer(start_response, "", "302 Found", Set_Cookie="user=; Path=/; Max-Age=0", Location="/login")
        if path == "/find":
            words = parse_qs(environ["QUERY_STRING"]).get("q", [""])[0]
            hit = "<li><a href=/products/77>Hit" if "teapot" in words else "<p>No luck"
            return answer(start_response, f"<title>{words}</title>{hit}<p>You searched for {words}.")
        if path == "/report":
            if user != "owner":
                return answer(start_response, "<p>Only for the owner", "403 Forbidden")
            return answer(start_response, "<p>Earned: 73,125.25 crowns <button>Send to tax office</button>")
        if path == "/text":
            start_response("200 OK", [("Content-Type", "application/json")])
            return [json.dumps("The unicorn is drawn by a script.").encode()]
        pages = {
            "/": HOME.format(user=user), "/orders": ORDERS, "/drawn/1": DRAWN,
            "/products/1": "<h1>Clay cup</h1><p>Weight: 310 grams<p><button>Add to basket</button>",
            "/products/77": "<h1>Teapot</h1>", "/routes": ROUTES, "/behind": "<p>The otter",
        }
        found = pages.get(path)
        return answer(start_response, found or "nothing", "200 OK" if found else "404 Not Found")
    return app

def board(data):
    def app(environ, start_response):
        return answer(start_response, "<table><tr><td>owner<td>brass-kettle-12</table>")
    return app
"""
TASKS = """
defaults: {sites: [shop], mutates: false, solution: [{stop: N/A}]}
tasks:
"""
GROUNDS = {
    "honest": "absent: [airport, 17.5, weasel], absent_controls: cancel",
    "there": "absent: [grams, 1200.5, 1204.5, teapot, unicorn], absent_controls: add to basket",
    "subject": "absent: grams, about: tin cup",
    "owner": "absent: 73125.25, absent_controls: tax office, visible_to: owner",
    "nobody": "absent: 73125.26, visible_to: owner",
    "password": "absent: 73125.25, visible_to: owner",
    "routes": "absent: [lynx, walrus, otter, badger, heron, marten]",
}
FURTHER = {"password": "reach: environment"}
"""Further keys of these tasks."""
Audited = Mapping[str, dict[str, Any]]
MADE: list[Audited] = []
PROBED: list[str] = []
"""Addresses of the pages whose controls the run used."""


@pytest.fixture
def audited(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Audited:
    """The findings by task. The first test makes the run, in this process; all tests read it."""
    if not MADE:
        (pytester.path / "sites.yaml").write_text(SITES)
        (pytester.path / "pages.py").write_text(PAGES)
        (pytester.path / "demo.tasks.yaml").write_text(TASKS + "".join(map(task, GROUNDS)))
        pytester.syspathinsert()
        look = ControlProbe.look

        def noted(self: ControlProbe, url: str, kind: str) -> ProbedPage:
            PROBED.append(url)
            return look(self, url, kind)

        monkeypatch.setattr(ControlProbe, "look", noted)
        only = ("-k", "audit-crawl or audit-privileged")
        options = ("--sites=sites.yaml", "--run-dir=run", "--record=minimal", "--concurrency=6")
        pytester.runpytest_inprocess("--audit", *only, *options)
        MADE.append(findings(pytester.path))
    return MADE[0]


def task(name: str) -> str:
    further = f", {FURTHER[name]}" if name in FURTHER else ""
    check = f"answer: {{unachievable: no such thing, {GROUNDS[name]}}}"
    return f"  - {{id: {name}, intent: x{further}, checks: [{{{check}}}]}}\n"


def findings(folder: Path) -> Audited:
    data: dict[str, Any] = json.loads((folder / "run" / "audit.json").read_text())
    return {task["task"]: task for task in data["tasks"]}


def outcomes(task: Mapping[str, Any]) -> dict[str, str]:
    return {trial["agent"]: trial["outcome"] for trial in task["trials"] if trial["outcome"] != "not run"}


def doubts(task: Mapping[str, Any]) -> list[str]:
    return [reason["text"] for reason in task["reasons"] if reason["finding"] == "weak check"]


def test_ground_that_holds(audited: Audited) -> None:
    """The weasel appears only if a control writes, which the crawl does not allow."""
    assert (outcomes(audited["honest"]), doubts(audited["honest"])) == ({"audit-crawl": "passed"}, [])
    assert audited["honest"]["notes"][-1].startswith("audit-crawl, as emma, looked at ")
    assert audited["honest"]["notes"][-1].endswith(" pages, all that links, controls and searches lead to")


def test_what_is_found_is_named_with_its_place(audited: Audited) -> None:
    assert sorted(doubts(audited["there"])) == [
        "emma finds '1200.5' at http://shop.test/orders: '100 1,200.50'",
        "emma finds 'grams' at http://shop.test/products/1: 'Weight: 310 grams'",
        "emma finds 'teapot' at http://shop.test/products/77: 'Teapot'",
        "emma finds 'unicorn' at http://shop.test/drawn/1: 'The unicorn is drawn by a script.'",
        "emma finds 1204.5 at http://shop.test/orders, as the sum of the column 'Total'",
        "emma finds a control named 'add to basket' at http://shop.test/products/1: 'Add to basket'",
    ]
    assert audited["there"]["finding"] == "weak check"
    assert outcomes(audited["there"]) == {"audit-crawl": "failed"}


def test_tasks_share_the_walk_of_their_account(audited: Audited) -> None:
    """Another account looks for each task on its own."""
    assert audited["nobody"]["trials"]
    assert PROBED.count("http://shop.test/routes") == 2


def test_subject_that_no_page_names(audited: Audited) -> None:
    (text,) = doubts(audited["subject"])
    assert text.startswith("no page has the name 'tin cup', so nothing was proved (looked at ")


def test_privileged_account_must_find_it(audited: Audited) -> None:
    assert outcomes(audited["owner"]) == {"audit-crawl": "passed", "audit-privileged": "passed"}
    assert outcomes(audited["nobody"]) == {"audit-crawl": "passed", "audit-privileged": "failed"}
    (text,) = doubts(audited["nobody"])
    assert text.startswith("owner does not find '73125.26', although 'visible_to' says so (looked at ")


def test_password_in_reach(audited: Audited) -> None:
    assert doubts(audited["password"]) == [
        "emma can sign in as owner, whose password is at http://board.test/: 'owner brass-kettle-12'"
    ]


def test_what_only_controls_show_is_found(audited: Audited) -> None:
    found = sorted(text.split("'")[1] for text in doubts(audited["routes"]))
    assert found == ["badger", "heron", "lynx", "marten", "otter", "walrus"]


def test_field_that_only_scripts_read_is_typed_into(audited: Audited) -> None:
    assert "emma finds 'lynx' at http://shop.test/routes: 'The lynx sleeps'" in doubts(audited["routes"])


def test_crawls_are_no_wrong_agents(audited: Audited) -> None:
    assert audited["there"]["mutation"] == {"wrong": 0, "caught": 0}
