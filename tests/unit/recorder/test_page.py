"""The recorder page: access control, remote input and the actions of the author."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import AcceptDialog, Action, Check, Click, CloseTab, FocusTab, Goto, Select, Selector, Type
from pytest_webarena.browser.remote_input import BrowserState, Key, Offer, Pointer, RemoteInput, ShownTab
from pytest_webarena.errors import UsageError
from pytest_webarena.recorder.page.input_relay import InputRelay
from pytest_webarena.recorder.page.panel import Panel, Result
from pytest_webarena.recorder.page.server import PageServer
from pytest_webarena.recorder.proposing import ProposedCheck
from pytest_webarena.recorder.steps import RecordedStep
from pytest_webarena.recorder.variables import in_action
from pytest_webarena.recorder.variables import shown as in_file


class Browser(RemoteInput):
    """Records remote input instead of sending it."""

    def __init__(self) -> None:
        self.done: list[Any] = []
        self.offers: Offer | None = None

    def point(self, pointer: Pointer) -> Offer | None:
        self.done.append(pointer)
        return self.offers if pointer.kind == "down" else None

    def key(self, key: Key) -> None:
        self.done.append(key)

    def insert(self, text: str) -> None:
        self.done.append(text)

    def act(self, action: Action) -> str:
        self.done.append(action)
        return ""

    def take(self, offer: Offer, value: str) -> str:
        self.done.append((offer.kind, value))
        return ""

    def state(self) -> BrowserState:
        return BrowserState(tabs=(ShownTab(title="A", url="http://a.test/", active=True),), loading=False, dialog=None)

    def selected(self) -> str:
        return "12.50"

    def choose_files(self, paths: Any) -> str:
        self.done.append([path.name for path in paths])
        return ""


@pytest.fixture
def browser() -> Browser:
    return Browser()


@pytest.fixture
def panel() -> Panel:
    panel = Panel("Add a note", "", ["homepage"])
    panel.begin()
    panel.set_steps(STEPS)
    return panel


@pytest.fixture
def server(panel: Panel, browser: Browser, tmp_path: Path) -> Iterator[PageServer]:
    with PageServer(panel, live=True) as server:
        server.input_relay = InputRelay(browser, tmp_path, lambda typed: f"http://{typed}")
        yield server


STEPS = (
    RecordedStep(action=Click(Selector('role=link[name="New note"s]')), selectors=("a",), time=1.0),
    RecordedStep(action=Type(Selector("css=#title"), "Rye", clear=True), selectors=("b",), time=2.0),
    RecordedStep(action=Select(Selector("css=#label"), ("travel",)), selectors=("c",), time=3.0),
)
JSON = {"Content-Type": "application/json"}


def ask(server: PageServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    heads = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path.replace("TOKEN", server.token), sent, heads)
    answer = connection.getresponse()
    found = answer.status, answer.read()
    connection.close()
    return found


def post(server: PageServer, path: str, body: Any) -> dict[str, Any]:
    status, content = ask(server, "POST", f"/TOKEN/{path}", body, **JSON)
    found: dict[str, Any] = json.loads(content)
    assert status == (409 if "problem" in found and status != 200 else 200)
    return found


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Origin": "http://evil.test"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "evil.test"}, 403),
        ({"Host": "127.0.0.1"}, 403),  # another server's port
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
    ],
)
def test_requests_of_other_origins_are_refused(server: PageServer, headers: dict[str, str], status: int) -> None:
    assert ask(server, "GET", "/TOKEN/state.json", **headers)[0] == status
    body: dict[str, Any] = {"events": []}
    assert ask(server, "POST", "/TOKEN/input", body, **{**JSON, **headers})[0] == status


@pytest.mark.parametrize("path", ["/", "/state.json", "/wrong/state.json", "/TOKEN", "/TOKEN/../x", "/TOKEN/passwd"])
def test_paths_without_the_token_are_not_found(server: PageServer, path: str) -> None:
    assert ask(server, "GET", path)[0] == 404


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_cross_site_content_types_are_refused(server: PageServer, browser: Browser, kind: str) -> None:
    body = {"events": [{"kind": "insert", "text": "x"}]}
    heads = {"Content-Type": kind} if kind else {}
    assert ask(server, "POST", "/TOKEN/input", body, **heads)[0] == 415
    assert browser.done == []


def test_page_has_a_content_security_policy(server: PageServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("GET", f"/{server.token}/")
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    page = answer.read().decode()
    assert "default-src 'none'; script-src 'sha256-" in page
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert answer.headers["Referrer-Policy"] == "no-referrer"  # the secret is in the address
    connection.close()


def test_page_is_served_in_one_response(server: PageServer) -> None:
    """A network change aborts requests of the browser: a partial page would look complete."""
    page = ask(server, "GET", "/TOKEN/")[1].decode()
    assert "const using =" in page
    assert "const nameOf =" in page
    assert "<script src" not in page
    assert 'rel="stylesheet"' not in page


def test_mouse_and_keyboard_events_keep_their_order(server: PageServer, browser: Browser) -> None:
    events = [
        {"kind": "move", "x": 1, "y": 2.5},
        {"kind": "down", "x": 1, "y": 2.5, "button": 0, "clicks": 2, "modifiers": 8},
        {"kind": "keydown", "key": "a"},
        {"kind": "insert", "text": "é"},
    ]
    assert post(server, "input", {"events": events}) == {"offer": None}
    assert browser.done == [
        Pointer(kind="move", x=1, y=2.5),
        Pointer(kind="down", x=1, y=2.5, clicks=2, modifiers=8),
        Key(kind="down", key="a"),
        "é",
    ]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"kind": "fly"},
        {"kind": "down", "x": "1"},
        {"kind": "down", "x": 1e9},
        {"kind": "down", "button": 7},
        {"kind": "keydown", "key": ""},
        {"kind": "keydown", "key": "x" * 41},
        "down",
    ],
)
def test_invalid_events_are_reported(server: PageServer, browser: Browser, event: Any) -> None:
    assert "expected" in post(server, "input", {"events": [event]})["problem"]
    assert browser.done == []


def test_native_select_is_offered_and_its_value_taken(server: PageServer, browser: Browser) -> None:
    browser.offers = Offer(
        kind="select", label="Size", value="small", options=("small", "large"), at=Selector("css=#a")
    )
    events = [{"kind": "down", "x": 1, "y": 1}, {"kind": "up", "x": 1, "y": 1}]
    response = post(server, "input", {"events": events})
    assert response["offer"] == {"kind": "select", "label": "Size", "value": "small", "options": ["small", "large"]}
    assert len(browser.done) == 1  # nothing is released that was not pressed
    post(server, "act", {"do": "take", "value": "large"})
    assert browser.done[1:] == [("select", "large")]
    assert "expected something to do" in post(server, "act", {"do": "take", "value": "large"})["problem"]


def test_browser_controls_become_actions(server: PageServer, browser: Browser) -> None:
    for request in ({"do": "goto", "address": "a.test"}, {"do": "tab", "index": 1}, {"do": "accept", "text": "x"},
                 {"do": "close_tab"}):  # fmt: skip
        assert post(server, "act", request) == {"problem": ""}
    assert browser.done == [Goto("http://a.test"), FocusTab(1), AcceptDialog("x"), CloseTab()]
    assert "expected something to do" in post(server, "act", {"do": "format the disk"})["problem"]


def test_uploaded_files_are_stored_by_base_name(server: PageServer, browser: Browser, tmp_path: Path) -> None:
    heads = {"Content-Type": "application/octet-stream"}
    status, content = ask(server, "POST", "/TOKEN/file/..%2F..%2Fb%20c.csv", b"a,b", **heads)
    assert (status, json.loads(content)) == (200, {"name": "b c.csv"})
    assert (tmp_path / "b c.csv").read_bytes() == b"a,b"
    assert ask(server, "POST", "/TOKEN/file/..", b"a,b", **heads)[0] == 409
    post(server, "act", {"do": "files", "names": ["b c.csv", "../x"]})
    assert browser.done == [["b c.csv", "x"]]


def test_occupied_port_is_a_usage_error(server: PageServer, panel: Panel) -> None:
    with pytest.raises(UsageError, match="expected a free port"):
        PageServer(panel, port=server.server_port, live=True)


def steps(panel: Panel) -> list[tuple[str, str]]:
    return [(step["text"], step["name"]) for step in panel.snapshot()["steps"]]


def key(panel: Panel, number: int) -> str:
    return str(panel.snapshot()["steps"][number]["key"])


def test_steps_can_be_edited_named_deleted_and_restored(panel: Panel) -> None:
    panel.change({"give": key(panel, 1), "value": "Oats"})
    panel.change({"name": key(panel, 1), "variable": "title"})
    panel.change({"leave_out": key(panel, 0)})
    assert steps(panel) == [("type css=#title 'Oats'", "title"), ("select css=#label 'travel'", "")]
    assert panel.snapshot()["variables"] == {"title": "Oats"}
    panel.change({"leave_out_last": True})
    panel.change({"take_back": True})
    panel.change({"take_back": True})
    assert len(steps(panel)) == 3
    panel.change({"take_back": True})
    panel.change({"take_back": True})
    assert steps(panel)[1] == ("type css=#title 'Rye'", "")
    assert panel.snapshot()["can_undo"] is False


def test_checked_box_can_be_named_by_its_label(panel: Panel) -> None:
    box = RecordedStep(action=Check(Selector('role=checkbox[name="Gift wrap"s]')), selectors=("d",), time=4.0)
    bare = RecordedStep(action=Check(Selector("css=#t")), selectors=("e",), time=5.0)
    panel.set_steps((box, bare))
    shown = panel.snapshot()["steps"]
    assert [(each["value"], each["editable"]) for each in shown] == [("Gift wrap", False), (None, False)]
    panel.change({"name": key(panel, 0), "variable": "extra"})
    variables = panel.snapshot()["variables"]
    assert variables == {"extra": "Gift wrap"}
    written: Any = in_action(box.action, variables, own="extra")
    assert in_file(written.target.selector) == 'role=checkbox[name="{{ extra }}"s]'


def test_edited_value_is_replaced_by_further_typing(panel: Panel) -> None:
    """Typing again replaces the edited value."""
    panel.change({"give": key(panel, 1), "value": "Oats"})
    later = RecordedStep(action=Type(Selector("css=#title"), "Rye bread", clear=True), selectors=("b",), time=2.5)
    panel.set_steps((STEPS[0], later, STEPS[2]))
    assert steps(panel)[1] == ("type css=#title 'Rye bread'", "")


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"name": "1", "variable": "x"}, "expected a step that is there"),
        ({"name": "answer", "variable": "no name"}, "expected a variable name"),
        ({"whatever": 1}, "expected something that can be changed"),
    ],
)
def test_invalid_changes_are_usage_errors(panel: Panel, change: dict[str, Any], expected: str) -> None:
    with pytest.raises(UsageError, match=expected):
        panel.change(change)


def test_variable_stands_for_one_value(panel: Panel) -> None:
    panel.change({"name": key(panel, 1), "variable": "title"})
    with pytest.raises(UsageError, match="expected title to keep its value 'Rye', found 'travel'"):
        panel.change({"name": key(panel, 2), "variable": "title"})


def test_requests_are_allowed_by_phase(panel: Panel) -> None:
    with pytest.raises(UsageError, match="expected one of finish, again, leave while doing, found 'try'"):
        panel.ask({"what": "try"})
    panel.change({"intent": " "})
    with pytest.raises(UsageError, match="expected what the agent is to do"):
        panel.ask({"what": "finish"})
    panel.change({"intent": "Add a  note"})
    panel.ask({"what": "finish"})
    asked = panel.next_request(1)
    assert asked is not None
    assert (asked.what, panel.intent) == ("finish", "Add a note")
    for act in (panel.ask, panel.change):
        with pytest.raises(UsageError):
            act({"what": "finish", "answer": "x"})
    panel.propose([ProposedCheck(about="x", lines=("- url: /",))], [], {}, panel.edits)
    panel.ask({"what": "try", "checks": [0, 1, True, "0", -1], "fillings": "a"})
    asked = panel.next_request(1)
    assert asked is not None
    assert (asked.checks, asked.fillings) == (frozenset({0}), "a")


def test_proof_is_stale_after_an_edit(panel: Panel) -> None:
    panel.propose([], [], {key(panel, 0): "it had no effect"}, panel.edits)
    assert panel.snapshot()["stale"] is False
    assert panel.snapshot()["steps"][0]["problem"] == "it had no effect"
    panel.change({"name": key(panel, 1), "variable": "title"})
    assert panel.snapshot()["stale"] is False
    panel.set_result(Result(passed=True, about="passed"))
    panel.change({"give": key(panel, 1), "value": "Oats"})
    assert panel.snapshot()["stale"] is True


def test_request_during_another_one_is_refused() -> None:
    panel = Panel("Buy tea.", "", ["shop"])
    panel.begin()
    panel.ask({"what": "finish"})
    with pytest.raises(UsageError, match="found something going on; wait"):
        panel.ask({"what": "finish"})
