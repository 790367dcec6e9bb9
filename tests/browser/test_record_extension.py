"""Recording in a person's own Chromium with the unpacked extension."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.commands import record
from pytest_webarena.commands.cli import main
from pytest_webarena.recorder.extension.packing import ORIGIN
from pytest_webarena.recorder.extension.serving import UNTRIED, pictures_before
from pytest_webarena.recorder.steps import steps_of
from pytest_webarena.recorder.writing import as_step
from pytest_webarena.tasks import load_tasks

from .extension_lab import PATIENCE, Chrome, in_chrome, recorded_steps, serve_pages, serve_recording

if TYPE_CHECKING:
    from playwright.async_api import Page

pytestmark = [pytest.mark.browser, pytest.mark.exhaustive, pytest.mark.timeout(300)]

HOME = """<title>Home</title><label>Name <input id="name"></label><label>Password <input id="password" type="password">
</label><label>Card <input id="card" autocomplete="cc-number"></label><button id="push">Push</button>
<a href="/next?from=home">Onwards</a> <a href="/next" target="_blank">Aside</a>"""
NEXT = "<title>Next</title><h1>Next</h1><a href='/'>Home</a>"


def pages(path: str) -> str:
    return {"/": HOME, "/inner": "<button>Inner</button>"}.get(path.partition("?")[0], NEXT)


@pytest.fixture
def site() -> Iterator[str]:
    with serve_pages(pages) as base:
        yield base


def test_history_tabs_and_addresses_are_recorded_and_secrets_are_not(site: str, tmp_path: Path) -> None:
    with serve_recording(tmp_path / "ext", site) as server:

        async def act(chrome: Chrome) -> None:
            outside = await chrome.context.new_page()
            page = await chrome.record(f"{site}/")
            await page.locator("#name").click()
            await page.keyboard.type("Rye")
            await page.locator("#password").click()
            await page.keyboard.type("hunter22")
            await page.locator("#card").click()
            await page.keyboard.type("4111222")
            await page.get_by_role("link", name="Onwards").click()
            await page.wait_for_url("**/next?from=home")
            await page.go_back()
            await page.goto(f"{site}/next?typed=1")
            async with chrome.context.expect_page() as opened:
                await page.goto(f"{site}/")
                await page.get_by_role("link", name="Aside").click()
            other = await opened.value
            await other.get_by_role("link", name="Home").click()
            await other.wait_for_url(f"{site}/")
            await outside.goto(f"{site}/next?private=1")  # in a window that is not recorded
            await outside.get_by_role("link", name="Home").click()
            await page.get_by_role("button", name="Push").click()
            steps = await asyncio.to_thread(recorded_steps, server)
            assert steps == [
                "type role=textbox[name=\"Name\"s] 'Rye'",
                'type role=textbox[name="Password"s]',
                'type role=textbox[name="Card"s]',
                'click role=link[name="Onwards"s]',
                "go_back",
                f"goto '{site}/next?typed=1'",
                f"goto '{site}/'",
                'click role=link[name="Aside"s]',
                'click role=link[name="Home"s]',
                "tab_focus",
                'click role=button[name="Push"s]',
            ]

        in_chrome(tmp_path / "ext", tmp_path / "profile", act)
        said = repr(server.extension.signals())
    assert not [word for word in ("hunter22", "4111222", "private") if word in said]


@pytest.mark.parametrize("is_allowed", [True, False])
def test_frames_of_other_hosts_are_recorded_only_where_that_is_allowed(is_allowed: bool, tmp_path: Path) -> None:
    """The page around a frame reports where it is. Input in a frame of a host that is not allowed is reported."""

    def framed(path: str) -> str:
        port = path.rpartition("=")[2]
        around = f"<title>Around</title><div><iframe src='http://localhost:{port}/inner'></iframe></div>"
        return around if "=" in path else pages(path)

    with serve_pages(framed) as base:
        port = base.rpartition(":")[2]
        origins = (f"http://localhost:{port}",) if is_allowed else ()
        with serve_recording(tmp_path / "ext", base, origins=origins) as server:

            async def act(chrome: Chrome) -> None:
                page = await chrome.record(f"{base}/")
                await page.goto(f"{base}/around?port={port}")
                await page.frame_locator("iframe").get_by_role("button").click()
                if not is_allowed:
                    await chrome.badge("?")
                steps = await asyncio.to_thread(recorded_steps, server)
                frame = "css=html > body > div > iframe >> internal:control=enter-frame >> "
                inside = f'click {frame}role=button[name="Inner"s]'
                assert steps == [f"goto '{base}/around?port={port}'", *([inside] if is_allowed else [])]

            in_chrome(tmp_path / "ext", tmp_path / "profile", act)
            warning = f"what is done on localhost:{port} is not recorded; allow that in the extension's popup"
            assert server.extension.warnings(at_end=True) == (() if is_allowed else (warning,))


def test_nothing_is_lost_silently_when_the_server_restarts_and_the_worker_is_stopped(site: str, tmp_path: Path) -> None:
    """A click that leaves the page before the worker runs again can't always be sent; then the recording is refused."""
    folder = tmp_path / "ext"

    async def act(chrome: Chrome) -> None:
        with serve_recording(folder, site) as server:
            page = await chrome.record(f"{site}/")
            await page.locator("#name").click()
            await page.keyboard.type("Rye")
            await page.locator("#push").click()
            assert len(await asyncio.to_thread(recorded_steps, server)) == 2
        await chrome.badge("!")
        await page.get_by_role("link", name="Onwards").click()
        await page.wait_for_url("**/next?from=home")
        await stop_worker(chrome)
        await page.get_by_role("link", name="Home").click()
        await page.wait_for_url(f"{site}/")
        await page.locator("#push").click()
        with serve_recording(folder, site) as server:
            assert server.extension_token
            await chrome.badge("REC")
            is_complete = await asyncio.to_thread(server.extension.wait_until_complete, PATIENCE)
            if not is_complete or server.extension.signals_lost:
                return  # the recording can't be finished
            assert await asyncio.to_thread(recorded_steps, server) == [
                "type role=textbox[name=\"Name\"s] 'Rye'",
                'click role=button[name="Push"s]',
                'click role=link[name="Onwards"s]',
                'click role=link[name="Home"s]',
                'click role=button[name="Push"s]',
            ]
            server.extension.end()
            await chrome.badge("")
            assert await chrome.popup.evaluate("chrome.storage.session.get()") == {}

    with serve_recording(folder, site):  # writes the folder
        pass
    in_chrome(folder, tmp_path / "profile", act)


def test_document_that_ended_while_it_reported_does_not_keep_the_recording_open(site: str, tmp_path: Path) -> None:
    """Its port throws when the extension asks all documents whether that is all."""
    with serve_recording(tmp_path / "ext", site) as server:

        async def act(chrome: Chrome) -> None:
            page = await chrome.record(f"{site}/")
            await page.locator("#push").click()
            await chrome.worker.evaluate("void ports.add({postMessage() { throw new Error('disconnected'); }})")
            assert await asyncio.to_thread(recorded_steps, server) == ['click role=button[name="Push"s]']

        in_chrome(tmp_path / "ext", tmp_path / "profile", act)


def test_nothing_is_sent_to_another_program_at_the_port_of_the_server(site: str, tmp_path: Path) -> None:
    received: list[tuple[str, bytes]] = []

    class Impostor(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            body = b'{"proof": "00", "have": 0, "state": "recording", "ready": true}'
            self.send_response(200)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_OPTIONS(self) -> None:
            self.send_response(204)
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Headers", "*")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    async def act(chrome: Chrome) -> None:
        with serve_recording(tmp_path / "ext", site) as server:
            page = await chrome.record(f"{site}/")
            await page.locator("#push").click()
            await asyncio.to_thread(recorded_steps, server)
            port = server.server_port
        server.extension = None  # type: ignore[assignment]  # so that its open connections end
        other = ThreadingHTTPServer(("127.0.0.1", port), Impostor)
        threading.Thread(target=other.serve_forever, args=(0.05,), daemon=True).start()
        try:
            await page.locator("#name").click()
            await page.keyboard.type("Rye")
            async with asyncio.timeout(PATIENCE):
                while not received or "Another" not in await chrome.popup.evaluate("chrome.action.getTitle({})"):
                    await asyncio.sleep(0.1)
        finally:
            other.shutdown()
            other.server_close()
        assert {path for path, _ in received} == {"/prove"}
        assert not [body for _, body in received if b"Rye" in body]

    with serve_recording(tmp_path / "ext", site):  # writes the folder
        pass
    in_chrome(tmp_path / "ext", tmp_path / "profile", act)


async def stop_worker(chrome: Chrome) -> None:
    """Stop the extension's script, as the browser does when it is idle."""
    browser = await chrome.context.new_cdp_session(chrome.popup)
    await browser.send("ServiceWorker.enable")
    await browser.send("ServiceWorker.stopAllWorkers")
    await browser.detach()


HOSTILE = """<title>Hostile</title><button id="real">Real</button><button id="fake">Fake</button><script>
const done = [];
const attempt = async (name, act) => {
  try { done.push([name, await act()]); } catch (error) { done.push([name, 'failed']); }
};
const body = JSON.stringify({recording: 'x', from: 0, events: []});
const read = async (url, options) => (await fetch(url, options)).text();
const send = (mode, type) => read('SERVER' + 'events', {method: 'POST', mode, headers: {'Content-Type': type}, body});
addEventListener('message', event => done.push(['message', event.data]));
(async () => {
  await attempt('config', () => read('ORIGIN/config.json'));
  await attempt('listener', () => read('ORIGIN/listener.js'));
  await attempt('post', () => send('cors', 'application/json'));
  await attempt('post', () => send('no-cors', 'text/plain'));
  await attempt('runtime', () => chrome.runtime.sendMessage(new URL('ORIGIN').host, {do: 'stop'}));
  document.querySelector('#fake').click();
  document.querySelector('#fake').dispatchEvent(new MouseEvent('click', {bubbles: true}));
  postMessage('webarena0123456789abcdef-x', '*');
  done.push(['names', Object.getOwnPropertyNames(window).filter(name => /webarena/i.test(name)).length]);
  window.attacked = done;
})();
</script>"""


def test_hostile_page_can_neither_post_events_nor_read_the_secret(tmp_path: Path) -> None:
    """Even if it knew the server's whole address, which the test gives it."""
    known = {"page": ""}
    with serve_pages(lambda path: known["page"]) as base, serve_recording(tmp_path / "ext", base) as server:
        known["page"] = HOSTILE.replace("SERVER", server.extension_address).replace("ORIGIN", ORIGIN)

        async def act(chrome: Chrome) -> None:
            page = await chrome.record(f"{base}/")
            await page.wait_for_function("window.attacked")
            await page.locator("#real").click()
            steps = await asyncio.to_thread(recorded_steps, server)
            assert steps == ['click role=button[name="Real"s]']
            done = await page.evaluate("window.attacked")
            failed = [[name, "failed"] for name in ("config", "listener", "post", "post", "runtime")]
            assert [each for each in done if each[0] != "message"] == [*failed, ["names", 0]]
            await chrome.badge("REC")

        in_chrome(tmp_path / "ext", tmp_path / "profile", act)


def test_screenshots_show_the_page_before_each_step(site: str, tmp_path: Path) -> None:
    with serve_recording(tmp_path / "ext", site, pictures=True) as server:
        manifest = json.loads((tmp_path / "ext" / "manifest.json").read_text())
        manifest["host_permissions"].append("<all_urls>")  # as if the person had allowed it in the popup
        (tmp_path / "ext" / "manifest.json").write_text(json.dumps(manifest))

        async def act(chrome: Chrome) -> None:
            page = await chrome.record(f"{site}/")
            for number, name in enumerate(("Onwards", "Home"), 1):
                async with asyncio.timeout(30):
                    while len(server.extension.pictures()) < number:
                        await asyncio.sleep(0.1)
                await page.get_by_role("link", name=name).click()
                await asyncio.sleep(0.2)
            await asyncio.to_thread(recorded_steps, server)

        in_chrome(tmp_path / "ext", tmp_path / "profile", act)
        steps = steps_of(server.extension.signals(), before=server.extension.signals_before)
        pictures = pictures_before(steps, server.extension.pictures())
    assert len(pictures) == 2
    assert all(each.startswith(b"\xff\xd8") for each in pictures)
    assert pictures[0] != pictures[1]
    assert server.extension.warnings(at_end=True) == ()


SHOP = """<title>Tea</title><form action="/search"><label>Search <input name="q"></label></form><p id="price">8.50</p>
<div id="member"></div><script>
if (document.cookie.includes('member')) document.querySelector('#member').innerHTML = '<a href="/orders">My orders</a>';
</script>"""
CATALOGUE = """
schema_version: 1
apps:
  tea:
    backend: external
    sites: {tea: {url: "%s"}}
"""


@pytest.mark.parametrize("is_member", [False, True])
def test_task_is_written_from_a_recording(is_member: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It passes if the harness's browser can do the steps again. The steps that only the person's signed-in browser can
    do are kept, and the task does not count as tried."""
    monkeypatch.chdir(tmp_path)
    opened: queue.Queue[str] = queue.Queue()
    codes: list[int] = []
    monkeypatch.setattr(record, "_show_nowhere", opened.put)
    folder, made, seen = tmp_path / "ext", tmp_path / "made.yaml", tmp_path / "seen"
    with serve_pages(lambda path: SHOP) as base:
        (tmp_path / "sites.yaml").write_text(CATALOGUE % base)
        words = [
            f"{base}/",
            "--sites",
            "sites.yaml",
            "--extension",
            str(folder),
            "-o",
            str(made),
            "--annotate",
            str(seen),
        ]
        recording = threading.Thread(target=lambda: codes.append(main(["tasks", "record", *words])))
        recording.start()
        address = opened.get(timeout=60)

        async def act(chrome: Chrome) -> None:
            panel = await chrome.context.new_page()
            await panel.goto(address)
            await panel.get_by_label("Intent").fill("What does Assam cost?")
            await panel.get_by_label("Intent").blur()
            page = await chrome.record(f"{base}/")
            if is_member:
                await page.evaluate("document.cookie = 'member=1'")
                await page.goto(f"{base}/")
            await page.get_by_label("Search").click()
            await page.keyboard.type("assam")
            await page.keyboard.press("Enter")
            await page.wait_for_url("**/search?q=assam")
            if is_member:
                await page.get_by_role("link", name="My orders").click()
            await panel.get_by_label("The answer, if there is one").fill("8.50")
            await panel.get_by_role("button", name="Finish and verify").click()
            await until(panel, "state.phase === 'choosing'")
            await panel.get_by_label("the address has q = assam").check()
            await panel.get_by_role("button", name="Try the task on fresh sites").click()
            await until(panel, "state.trials > 0 && state.phase === 'choosing'")
            if is_member:
                assert await panel.inner_text("#verdict") == "not tried: 1 of 3 steps could not be done again here"
                await panel.get_by_role("button", name="Save anyway").click()
            await until(panel, "state.result.written")
            await panel.get_by_role("button", name="Leave", exact=True).click()
            await asyncio.to_thread(recording.join, 60)

        try:
            in_chrome(folder, tmp_path / "profile", act)
        finally:
            recording.join(60)
    assert codes == [int(is_member)]
    [task] = load_tasks(made)
    field = 'role=textbox[name="Search"s]'
    search = [{"fill": {field: "assam"}}, {"press": {field: "Enter"}}]
    orders = {"click": 'role=link[name="My orders"s]'}
    expected = [*search, *([orders] if is_member else []), {"stop": "8.50"}]
    assert [as_step(step) for step in task.solution or ()] == expected
    assert [check.kind for check in task.checks][-1] == "key_nodes"
    assert (UNTRIED in made.read_text()) is is_member
    annotated = json.loads((seen / "annotation.json").read_text())["steps"]
    assert [each["solution"] for each in annotated] == expected[:-1]
    if is_member:
        assert annotated[-1]["element"]["name"] == "My orders"
    assert not list(tmp_path.glob("*.recording.json")) or is_member


async def until(panel: Page, expression: str) -> None:
    """Wait for an expression to be true on the recorder's page, whose policy forbids Playwright's own way."""
    async with asyncio.timeout(120):
        while not await panel.evaluate(expression):
            await asyncio.sleep(0.1)
