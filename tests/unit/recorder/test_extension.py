"""The recorder's browser extension: its folder, what its server accepts, and what becomes of its events."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Goto, Selector
from pytest_webarena.commands.record_extension import extension_options, site_of_address
from pytest_webarena.errors import TrialError, UsageError
from pytest_webarena.recorder.extension.packing import ORIGIN, read_secret
from pytest_webarena.recorder.extension.receiving import ExtensionRecording, Picture
from pytest_webarena.recorder.extension.serving import (
    UNTRIED,
    ExtensionOptions,
    ExtensionServer,
    open_server,
    pictures_before,
    with_untried_steps,
)
from pytest_webarena.recorder.key_nodes import VisitedStep
from pytest_webarena.recorder.page.panel import Panel
from pytest_webarena.recorder.selector_proving import Chosen
from pytest_webarena.recorder.steps import RecordedStep, steps_of
from pytest_webarena.recorder.task_building import ReplayedSteps
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.tasks import parse_tasks

SHOP = "https://shop.example"
ELEMENT = ["button", {"id": "buy"}, 1, 1, 1, 1, "root"]
TARGET = {"selector": "#buy", "role": "button", "name": "Buy", "tag": "button", "text": "Buy", "x": 1, "y": 1}
CLICK = {
    "event": "click", "target": TARGET, "value": None, "chain": [ELEMENT], "whole": True, "field": 1, "omits": "",
    "control": None, "frame": "", "maker": "",
}  # fmt: skip


def report(payload: Any, time: int = 9000, document: str = "D") -> dict[str, Any]:
    return {
        "kind": "report", "time": time, "tab": 7, "frame": 0, "document": document, "payload": json.dumps(payload),
    }  # fmt: skip


def address(url: str, time: int, cause: str = "browser", document: str = "D") -> dict[str, Any]:
    return {"kind": "address", "time": time, "tab": 7, "url": url, "cause": cause, "document": document}


OPENED = {"kind": "opened", "time": 1000, "tab": 7, "cause": "browser"}
BEGUN = {"kind": "begun", "time": 1000}
EVENTS = [OPENED, address(f"{SHOP}/", 1000), BEGUN, report({"listening": True}, 1100), report(CLICK, 9000)]


def sent(events: list[dict[str, Any]], first: int = 0, recording: str = "R", **more: Any) -> dict[str, Any]:
    return {"recording": recording, "from": first, "events": events, "waiting": 0, **more}


@pytest.fixture
def recording() -> ExtensionRecording:
    return ExtensionRecording({"shop": SHOP}, f"{SHOP}/", pictures=True)


def receive(recording: ExtensionRecording, body: Mapping[str, Any]) -> dict[str, Any]:
    answer = recording.answer(["events"], {}, body)
    assert answer is not None
    return {name: value for name, value in answer.items() if name != "ask"}


def actions_of(recording: ExtensionRecording) -> list[Any]:
    return [step.action for step in steps_of(recording.signals(), before=recording.signals_before)]


BUY = Click(Selector('role=button[name="Buy"s]'))


def test_events_become_steps_however_often_they_are_sent(recording: ExtensionRecording) -> None:
    assert receive(recording, sent(EVENTS[:3])) == {"have": 3, "state": "recording"}
    assert receive(recording, sent(EVENTS)) == {"have": 5, "state": "recording"}  # its answer was not received
    assert receive(recording, sent([address(f"{SHOP}/x", 20000)], 9)) == {"have": 5, "state": "recording"}  # a gap
    assert receive(recording, sent([address(f"{SHOP}/cart", 20000)], 5)) == {"have": 6, "state": "recording"}
    assert actions_of(recording) == [BUY, Goto(f"{SHOP}/cart")]
    assert (recording.signals_lost, recording.warnings(at_end=True)) == (0, ())


def test_server_that_restarts_gets_everything_again(recording: ExtensionRecording) -> None:
    assert receive(recording, sent([address(f"{SHOP}/cart", 20000)], 5)) == {"have": 0, "state": "recording"}
    assert receive(recording, sent([*EVENTS, address(f"{SHOP}/cart", 20000)])) == {"have": 6, "state": "recording"}
    assert actions_of(recording) == [BUY, Goto(f"{SHOP}/cart")]


def test_discarded_recording_is_forgotten_by_the_extension(recording: ExtensionRecording) -> None:
    receive(recording, sent(EVENTS))
    recording.restart()
    assert receive(recording, sent(EVENTS)) == {"have": 0, "state": "over"}
    assert receive(recording, sent(EVENTS[:4], recording="S")) == {"have": 4, "state": "recording"}
    assert actions_of(recording) == []
    recording.end()
    assert receive(recording, sent(EVENTS, recording="S")) == {"have": 0, "state": "over"}
    assert recording.answer(["hello"], {}, {}) == {"ready": False, "start": f"{SHOP}/", "pictures": True}


@pytest.mark.parametrize(
    "event",
    [
        {"kind": "lost", "time": 1},
        {"kind": "unknown", "time": 1, "tab": 7},
        {"kind": "address", "time": 1, "tab": 8, "url": SHOP, "cause": "", "document": ""},  # of no opened tab
        {"kind": "address", "tab": 7},
        {"time": "soon"},
        {},
        report({"event": "click"}),
        report([1]),
        report("text"),
        report({**CLICK, "sign": "forged"}),
        report({"again": 1, "value": "x"}),
    ],
)
def test_events_that_cannot_be_read_make_the_recording_incomplete(
    recording: ExtensionRecording, event: dict[str, Any]
) -> None:
    assert receive(recording, sent([*EVENTS[:4], event]))["have"] == 5
    assert recording.signals_lost == 1


@pytest.mark.parametrize(
    "body", [{}, sent(EVENTS, -1), sent(EVENTS, recording=""), {**sent([]), "events": None}, {**sent([]), "from": True}]
)
def test_malformed_batches_are_refused(recording: ExtensionRecording, body: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="expected"):
        recording.answer(["events"], {}, body)
    assert not recording.is_connected


def test_what_is_not_recorded_is_reported(recording: ExtensionRecording) -> None:
    receive(recording, sent([
        *EVENTS, {"kind": "unrecorded", "time": 9, "host": "pay.example"}, {"kind": "moved", "time": 9},
        address("https://silent.example/x", 9, document="E"), address("https://late.example/", 9, document="F"),
        report({"listening": True}, 9, document="F"),
    ]))  # fmt: skip
    silent = "nothing was recorded on a page of silent.example: what was done there is missing"
    known = (
        "what is done on pay.example is not recorded; allow that in the extension's popup",
        "a tab was moved into the recording window: what is done in it is not recorded",
    )
    assert (recording.warnings(), recording.warnings(at_end=True)) == (known, (*known, silent))


def test_frame_of_another_origin_gets_its_place_from_the_page_around_it(recording: ExtensionRecording) -> None:
    frame = ["iframe", {"id": "pay"}, 1, 1, 1, 1, "root"]
    inner = {**CLICK, "chain": [[*ELEMENT[:-1], "frame"]], "whole": False, "frame": "https://pay.example/"}
    around = report({"around": "4", "chain": [frame], "whole": True, "maker": ""})
    attached = {"kind": "frame", "time": 1, "tab": 7, "frame": 4, "parent": 0}
    inside = {**report(inner, document="P"), "frame": 4}
    receive(recording, sent([*EVENTS[:4], attached, around, inside, {**inside, "frame": 5}]))
    found = steps_of(recording.signals(), before=recording.signals_before)
    assert 'iframe[id="pay"]' in found[0].selectors[0] or "#pay" in found[0].selectors[0]
    assert found[-1].problem == "the element is in a frame that the page around it did not report"


# --- the server


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ExtensionServer]:
    options = ExtensionOptions(
        folder=tmp_path_factory.mktemp("recorder") / "ext", sites={"shop": SHOP}, start=f"{SHOP}/", origins=[SHOP],
        named=lambda text: text,
    )  # fmt: skip
    with open_server(Panel("", "", ["shop"]), options, port=0, pictures=False) as server:
        assert isinstance(server, ExtensionServer)
        yield server


@pytest.fixture
def server(running: ExtensionServer, recording: ExtensionRecording) -> ExtensionServer:
    running.extension = recording
    return running


def ask(server: ExtensionServer, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    heads = {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}
    named = path.replace("EXTENSION", server.extension_token).replace("PAGE", server.token)
    connection.request(method, named, json.dumps(body) if body is not None else None, heads)
    answer = connection.getresponse()
    answer.read()
    found = answer.status, answer.headers["Access-Control-Allow-Origin"]
    connection.close()
    return found


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        ("/EXTENSION/events", {"Origin": ORIGIN}, 200),
        ("/EXTENSION/events", {}, 404),  # a page's token is expected without the extension's origin
        ("/EXTENSION/events", {"Origin": SHOP}, 403),
        ("/EXTENSION/events", {"Origin": "null"}, 403),
        ("/EXTENSION/events", {"Origin": "chrome-extension://abcdefghijklmnopabcdefghijklmnop"}, 403),
        ("/EXTENSION/events", {"Origin": ORIGIN, "Host": "evil.example"}, 403),
        ("/EXTENSION/events", {"Origin": ORIGIN, "Content_Type": "text/plain"}, 415),
        ("/PAGE/events", {"Origin": ORIGIN}, 404),
        ("/PAGE/state.json", {"Origin": ORIGIN}, 404),
        ("/wrong/events", {"Origin": ORIGIN}, 404),
        ("/EXTENSION/ask", {"Origin": ORIGIN}, 404),
    ],
)
def test_only_the_extension_with_its_secret_may_send_events(
    server: ExtensionServer, path: str, headers: dict[str, str], status: int
) -> None:
    found = ask(server, "POST", path, sent(EVENTS), **headers)
    assert found == (status, ORIGIN if status == 200 else None)
    assert server.extension.is_connected is (status == 200)


@pytest.mark.parametrize(("origin", "status"), [(ORIGIN, 204), (SHOP, 403), ("null", 403)])
def test_only_the_extension_passes_the_preflight(server: ExtensionServer, origin: str, status: int) -> None:
    assert ask(server, "OPTIONS", "/EXTENSION/events", Origin=origin) == (status, ORIGIN if status == 204 else None)
    assert ask(server, "OPTIONS", "/wrong/events", Origin=ORIGIN) == (404, None)


def test_server_proves_that_it_knows_the_secret_of_its_own_port(server: ExtensionServer) -> None:
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    headers = {"Content-Type": "application/json", "Origin": ORIGIN}
    connection.request("POST", "/prove", json.dumps({"nonce": "N"}), headers)
    proof = json.loads(connection.getresponse().read())["proof"]
    connection.close()
    message = f"{server.server_port}:N".encode()
    assert proof == hmac.new(server.extension_token.encode(), message, hashlib.sha256).hexdigest()
    assert ask(server, "POST", "/prove", {"nonce": "N"}, Origin=SHOP) == (403, None)
    assert ask(server, "POST", "/prove", {"nonce": "N"}) == (404, None)
    assert ask(server, "OPTIONS", "/prove", Origin=ORIGIN) == (204, ORIGIN)


def test_session_without_the_last_events_is_refused(server: ExtensionServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_webarena.recorder.extension.serving._LAST_EVENTS", 0.01)
    assert server.session("").steps == ()  # no extension has sent anything
    receive(server.extension, sent(EVENTS))
    with pytest.raises(UsageError, match="expected the extension to send its last events"):
        server.session("")
    monkeypatch.setattr(server.extension, "wait_until_complete", lambda seconds: True)
    assert [step.action for step in server.session("5").steps] == [BUY]
    receive(server.extension, sent([{"kind": "lost", "time": 1}], 5))
    with pytest.raises(UsageError, match="found that 1 events were lost"):
        server.session("")


# --- the folder


def test_folder_has_a_secret_that_only_its_owner_and_the_extension_can_read(
    server: ExtensionServer,
) -> None:
    folder = server.folder
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["host_permissions"] == [f"{SHOP}/*"]
    assert not {"web_accessible_resources", "externally_connectable", "content_scripts"} & set(manifest)
    assert sorted(manifest["permissions"]) == ["activeTab", "alarms", "scripting", "storage", "webNavigation"]
    holders = [path.name for path in folder.iterdir() if server.extension_token in path.read_text()]
    assert holders == ["config.json"]
    assert (folder / "config.json").stat().st_mode & 0o77 == 0
    assert folder.stat().st_mode & 0o77 == 0
    assert read_secret(folder) == (server.extension_token, server.server_port)
    listener = (folder / "listener.js").read_text()
    assert not [name for name in ("'BINDING'", "NONCE", "SECRET_FIELDS", "// ELEMENTS") if name in listener]
    assert "cc-number" in listener


def test_other_folders_are_not_written(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    options = ExtensionOptions(folder=tmp_path, sites={}, start="", origins=[], named=str)
    with pytest.raises(UsageError, match="expected a new or empty folder, found other files"):
        open_server(Panel("", "", []), options, port=0, pictures=False)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


# --- sites


CATALOGUE = """
schema_version: 1
apps:
  forum: {backend: external, sites: {forum: {url: "http://10.0.0.1:7770"}}}
  teas: {backend: live, sites: {teas: {url: "https://www.teahouse.com"}}}
  pad: {backend: process, process: {command: [pad, '{port}']}, sites: {pad: {host: pad.test}}}
"""


def options_for(tmp_path: Path, keys: str, catalogue: str = "") -> ExtensionOptions:
    file = tmp_path / "sites.yaml"
    file.write_text(CATALOGUE)
    [task] = parse_tasks(f"tasks: [{{id: a, intent: b, checks: [{{answer: c}}], {keys}}}]")
    return extension_options(tmp_path / "ext", task, load_catalogue(catalogue or str(file)))


@pytest.mark.parametrize(
    ("keys", "catalogue", "start", "origins"),
    [
        ("sites: [forum]", "", "http://10.0.0.1:7770/", ["http://10.0.0.1:7770"]),
        ("sites: [forum], start: /f", "", "http://10.0.0.1:7770/f", ["http://10.0.0.1:7770"]),
        ("sites: [teas], start: /a", "", "https://www.teahouse.com/a", [".teahouse.com"]),
        (
            "sites: [live], start: 'https://shop.example.co.uk/a'",
            "live",
            "https://shop.example.co.uk/a",
            [".example.co.uk"],
        ),
    ],
)
def test_extension_may_read_the_sites_of_the_task_only(
    tmp_path: Path, keys: str, catalogue: str, start: str, origins: list[str]
) -> None:
    options = options_for(tmp_path, keys, catalogue)
    assert (options.start, list(options.origins)) == (start, origins)


def test_own_addresses_become_those_of_tasks(tmp_path: Path) -> None:
    options = options_for(tmp_path, "sites: [forum]")
    site = options.sites["forum"]
    assert options.named('{"url": "http://10.0.0.1:7770/f?a=1"}') == f'{{"url": "{site}/f?a=1"}}'
    assert options.named("http://10.0.0.1:77701/") == "http://10.0.0.1:77701/"


@pytest.mark.parametrize(
    ("keys", "catalogue", "message"),
    [("sites: [pad]", "", "which runs only here"), ("sites: [live]", "live", "expected the address of the first page")],
)
def test_sites_without_an_address_of_their_own_are_refused(
    tmp_path: Path, keys: str, catalogue: str, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        options_for(tmp_path, keys, catalogue)


def test_address_belongs_to_the_longest_site_or_to_the_one_for_any() -> None:
    assert site_of_address("https://www.example.com/a", load_catalogue("live")) == "live"
    assert site_of_address("https://www.example.com/a", load_catalogue("external")) == ""


# --- steps that can't be done again


STEPS = tuple(
    RecordedStep(
        action=Click(Selector(f"css=#{name}")), selectors=(f"css=#{name}",), time=float(time), url=f"{SHOP}/{name}"
    )
    for time, name in enumerate("abc", 1)
)


def replayed(count: int, problem: str = "") -> ReplayedSteps:
    chosen = [Chosen(action=step.action) for step in STEPS[:count]]
    chosen[-1:] = [replace(each, problem=problem) for each in chosen[-1:]]
    passed = tuple(VisitedStep(action=step.action, before="", after="") for step in STEPS[:count])
    return ReplayedSteps(chosen=tuple(chosen), passed=passed, url="/end", sites={"shop": SHOP}, changes=())


def failing() -> ReplayedSteps:
    raise TrialError("blocked: a captcha")


@pytest.mark.parametrize(
    ("replay", "untried"),
    [
        (lambda: replayed(3), 0),
        (lambda: replayed(2, "it had no effect: nothing matches"), 2),
        (lambda: replayed(3, "it had no effect: nothing matches"), 1),
        (failing, 3),
    ],
)
def test_steps_that_cannot_be_done_again_are_kept_and_marked(
    recording: ExtensionRecording, replay: Any, untried: int
) -> None:
    messages: list[str] = []
    found = with_untried_steps(replay, STEPS, recording, messages.append)
    assert (len(found.chosen), len(found.passed), found.untried) == (3, 3, untried)
    assert [each.problem == UNTRIED for each in found.chosen] == [n >= 3 - untried for n in range(3)]
    assert bool(messages) is bool(untried)


def test_picture_of_a_step_is_the_first_after_the_previous_step() -> None:
    pictures = [Picture(time=time, tab=0, data=str(time).encode()) for time in (0.5, 1.2, 1.8, 3.5)]
    assert pictures_before(STEPS, pictures) == [b"0.5", b"1.2", b""]
