"""The remote view of a headless browser: mouse, keyboard, clipboard, files and dialogs reach its pages as trusted
input and are recorded as real input.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.browser.session import Session
from pytest_webarena.recorder.page.input_relay import InputRelay
from pytest_webarena.recorder.page.panel import Panel
from pytest_webarena.recorder.page.server import PageServer
from pytest_webarena.recorder.steps import steps_of
from pytest_webarena.recorder.writing import as_step

from .conftest import OpenSession, PeoplesBrowser, Web
from .recording_page import Person, use_recorder_page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(180)]

Use = Callable[[str, Callable[[Person], Awaitable[None]]], list[Any]]


@pytest.fixture
def shown(open_session: OpenSession, quick: Any) -> Session:
    from .conftest import CALM

    return open_session(dialogs="hold", deadlines=CALM)


@pytest.fixture
def use(shown: Session, web: Web, peoples_browser: PeoplesBrowser, tmp_path: Path) -> Use:
    """Show HTML in the view, let someone use it, and return what was recorded."""

    def use(html: str, act: Callable[[Person], Awaitable[None]]) -> list[Any]:
        shown.open_tabs([web.put("/", html)])
        shown.signals.mark_agent_start()
        panel = Panel("", "", ["a"])
        with PageServer(panel, live=True) as server:
            server.input_relay = InputRelay(shown.remote_input(), tmp_path / "files", lambda typed: typed)
            panel.begin()
            use_recorder_page(peoples_browser, server.address, (1280, 800), shown.element_of, act)
        return [as_step(step.action) for step in steps_of(shown.signals.since(shown.signals.before))]

    return use


def text(session: Session, selector: str) -> str:
    texts = session.read_page(open=None, locate=selector).texts  # none while a dialog is open
    return texts[0] if texts else ""


async def until(session: Session, selector: str, wanted: str) -> None:
    """Wait until the recorded page shows a text."""
    async with asyncio.timeout(10):
        while await asyncio.to_thread(text, session, selector) != wanted:
            await asyncio.sleep(0.05)


def test_select_lists_and_date_pickers_are_shown_in_the_view(use: Use, shown: Session) -> None:
    html = """<label for=size>Size</label>
      <select id=size onchange="out.textContent = this.value"><option>small<option>large</select>
      <label>Day <input type=date id=day onchange="out.textContent = this.value"></label><p id=out>-</p>"""

    async def act(person: Person) -> None:
        await person.click("css=#size")
        await person.page.get_by_role("dialog", name="Size").get_by_role("listbox").select_option("large")
        await person.press("Choose")
        await until(shown, "css=#out", "large")
        await person.click("css=#day")
        await person.page.get_by_role("dialog", name="Day").get_by_label("Day").fill("2026-03-01")
        await person.press("Choose")
        await until(shown, "css=#out", "2026-03-01")

    assert use(html, act) == [
        {"select": {'role=combobox[name="Size"s]': "large"}},
        {"fill": {'role=textbox[name="Day"s]': "2026-03-01"}},
    ]


def test_dialogs_are_answered_in_the_view(use: Use, shown: Session) -> None:
    html = """<p id=out>-</p><button onclick="alert('Saved'); out.textContent = 'told'">tell</button>
      <button onclick="out.textContent = prompt('Name?', 'Ada')">ask</button>
      <button onclick="out.textContent = confirm('Sure?')">make sure</button>"""

    async def act(person: Person) -> None:
        await person.click("text=tell")
        await person.page.get_by_role("alertdialog", name="The page says").get_by_text("Saved").wait_for()
        await person.press("OK")
        await until(shown, "css=#out", "told")
        await person.click("text=ask")
        await person.page.get_by_label("Your answer").fill("Grace")
        await person.press("OK")
        await until(shown, "css=#out", "Grace")
        await person.click("text=make sure")
        await person.page.get_by_role("alertdialog").get_by_role("button", name="Cancel").click()
        await until(shown, "css=#out", "false")

    assert use(html, act) == [
        {"click": 'role=button[name="tell"s]'},
        "accept_dialog",
        {"click": 'role=button[name="ask"s]'},
        {"accept_dialog": "Grace"},
        {"click": 'role=button[name="make sure"s]'},
        "dismiss_dialog",
    ]


def test_file_chosen_in_the_view_is_uploaded(use: Use, shown: Session, tmp_path: Path) -> None:
    html = """<label>Report <input type=file id=report
      onchange="this.files[0].text().then(text => out.textContent = text)"></label><p id=out>-</p>"""
    (tmp_path / "Bericht ü.csv").write_text("a,b")

    async def act(person: Person) -> None:
        await person.click("css=#report")
        await (
            person.page.get_by_role("dialog", name="The page asks for a file")
            .locator("input")
            .set_input_files(tmp_path / "Bericht ü.csv")
        )
        await person.press("Give it to the page")
        await until(shown, "css=#out", "a,b")

    assert use(html, act) == [{"upload": {'role=textbox[name="Report"s]': "Bericht ü.csv"}}]
    assert (tmp_path / "files" / "Bericht ü.csv").read_text() == "a,b"


def test_paste_and_key_combinations_are_forwarded(use: Use, shown: Session) -> None:
    html = """<label>Text <input id=field oninput="out.textContent = this.value + event.isTrusted"></label>
      <p id=out>-</p>"""

    async def act(person: Person) -> None:
        await person.click("css=#field")
        await person.type("gone")
        await person.page.keyboard.press("Control+a")
        await person.page.evaluate(
            """() => {
              const given = new DataTransfer();
              given.setData('text/plain', 'Pasted Žoë {x}');
              keys.dispatchEvent(new ClipboardEvent('paste', {clipboardData: given, cancelable: true}));
            }"""
        )
        await person.type("!")
        await until(shown, "css=#out", "Pasted Žoë {x}!true")

    assert use(html, act) == [{"fill": {'role=textbox[name="Text"s]': "Pasted Žoë {x}!"}}]


def test_tabs_addresses_and_history_work_in_the_view(use: Use, shown: Session, web: Web) -> None:
    other = web.put("/other", "<title>Other</title><h1>Other</h1><button>here</button>")
    html = "<title>First</title><a href=/other target=_blank>out</a> <button>first</button>"

    async def act(person: Person) -> None:
        await person.click("text=out")
        await person.page.get_by_role("button", name="Other", exact=True).wait_for()
        await person.until("state.browser.tabs[1].active")
        await person.click("text=here")
        await person.page.get_by_role("button", name="First", exact=True).click()
        await person.until("state.browser.tabs[0].active")
        await person.click("text=first")
        await person.press("New tab")
        await person.until("state.browser.tabs.length === 3")
        await person.page.locator("#address").fill(other)
        await person.page.keyboard.press("Enter")
        await person.until("state.browser.tabs[2].title === 'Other'")

    assert use(html, act) == [
        {"click": 'role=link[name="out"s]'},
        {"click": 'role=button[name="here"s]'},
        {"tab": 0},
        {"click": 'role=button[name="first"s]'},
        "new_tab",
        {"goto": other},
    ]


def test_drag_and_text_selection_work_in_the_view(use: Use, shown: Session) -> None:
    html = """<p id=cost>It costs <b id=price>12.50</b></p><div id=thing draggable=true style="width:80px">thing</div>
      <div id=box ondragover="event.preventDefault()" ondrop="out.textContent = 'dropped'"
        style="width:200px;height:80px;border:1px solid">box</div><p id=out>-</p>"""

    async def act(person: Person) -> None:
        await person.click("css=#price", click_count=2)
        await person.page.get_by_role("button", name="This is the answer: what is selected in the page").click()
        await person.until("state.answer === '12.50'")
        await person.page.mouse.move(*await person.at("css=#thing"))
        await person.page.mouse.down()
        x, y = await person.at("css=#box")
        await person.page.mouse.move(x - 5, y, steps=4)
        await person.page.mouse.move(x, y)
        await person.page.mouse.up()
        await until(shown, "css=#out", "dropped")

    assert use(html, act)[-1] == {"drag": {'text="thing"': 'text="box"'}}
