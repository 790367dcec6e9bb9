"""Raw Playwright: does the steps of a cell without the harness, and reads what its page shows."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Locator, Page
from playwright.async_api import TimeoutError as PlaywrightTimeout

from pytest_webarena import actions
from pytest_webarena.actions import Action, Selector, Target

__all__ = ["Item", "Shown", "do_step", "eyes", "ready", "show_of", "state_of"]

UPLOADS = {"report.csv": b"a,b\n"}
_SECONDS = 10_000
_DROP = """(zone, [name, data]) => {
  const files = new DataTransfer(), bytes = Uint8Array.from(atob(data), each => each.charCodeAt(0));
  files.items.add(new File([bytes], name, {type: 'text/csv'}));
  for (const kind of ['dragenter', 'dragover', 'drop']) {
    zone.dispatchEvent(new DragEvent(kind, {dataTransfer: files, bubbles: true, cancelable: true}));
  }
}"""
_SET = (
    """el => ['date', 'time', 'month', 'week', 'datetime-local', 'color', 'range'].includes((el.control ?? el).type)"""
)
_COVERED = """() => [...document.querySelectorAll('*')].filter(el => {
  const box = el.getBoundingClientRect();
  const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
  return hit && !el.contains(hit) && !hit.contains(el);
}).flatMap(el => [el.getAttribute('aria-label'), el.title, el.innerText]).filter(Boolean)"""
_TWO_FRAMES = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
_FIELDS = ("textbox", "searchbox", "combobox", "spinbutton", "slider", "checkbox", "radio", "switch")
_CONTROLS = frozenset((*_FIELDS, "button", "link", "menuitem", "option", "tab"))
"""Roles of elements that agents act on."""
_DRAWN = ("Date", "DateTime", "InputTime", "ColorWell")
"""Chromium's roles of fields that it draws with parts of its own."""


@dataclass(frozen=True, slots=True)
class Item:
    """A text that raw Playwright reads from a page, with the role of its element if that can be acted on."""

    text: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class Shown:
    """An element as raw Playwright shows it."""

    role: str
    name: str
    text: str
    point: tuple[float, float] | None
    """Its centre in the viewport; None if that is outside."""
    classes: str = ""
    """Its classes, if it has no text and no name: the only words about it."""


def located(page: Page, target: Target | None) -> Locator:
    """Return the first match of a step's selector."""
    if not isinstance(target, Selector):
        raise TypeError(f"expected a selector, found {target!r}")
    return page.locator(target.selector).first


async def ready(page: Page) -> None:
    """Wait until the widget is there: the page has its function ``state``."""
    await page.wait_for_function("typeof state === 'function'", timeout=_SECONDS)


async def state_of(page: Page, expected: Any, seconds: float = 3.0) -> Any:
    """Return the page's state, as soon as it is the expected one, or after some seconds."""
    end = asyncio.get_running_loop().time() + seconds
    while True:
        try:
            found = await page.evaluate("typeof state === 'function' ? state() : null")
        except PlaywrightError as error:
            found = f"not read: {error.message.splitlines()[0]}"
        if found == expected or asyncio.get_running_loop().time() > end:
            return found
        await asyncio.sleep(0.05)


async def do_step(page: Page, step: Action, following: Action | None = None) -> None:
    """Do one step; a dialog that it opens is answered as the following step says."""
    match following:
        case actions.AcceptDialog(text):
            page.once("dialog", lambda dialog: dialog.accept(text) if text is not None else dialog.accept())
        case actions.DismissDialog():
            page.once("dialog", lambda dialog: dialog.dismiss())
    match step:
        case actions.Click(target, button, count, modifiers):
            held: Any = list(modifiers)
            await located(page, target).click(button=button, click_count=count, modifiers=held, timeout=_SECONDS)
        case actions.Type(target, text, clear):
            locator = located(page, target)
            await (locator.fill(text, timeout=_SECONDS) if clear else locator.press_sequentially(text))
        case actions.Press(keys, None):
            await page.keyboard.press(keys)
        case actions.Press(keys, target):
            await located(page, target).press(keys, timeout=_SECONDS)
        case actions.Hover(target):
            await located(page, target).hover(timeout=_SECONDS)
        case actions.Select(target, options):
            await located(page, target).select_option(label=list(options), timeout=_SECONDS)
        case actions.Check(target, checked):
            await located(page, target).set_checked(checked, timeout=_SECONDS)
        case actions.Drag(target, to):
            await _drag(page, located(page, target), located(page, to))
        case actions.Scroll(direction, target):
            await _scroll(page, direction, target)
        case actions.Upload(target, files):
            await _upload(page, located(page, target), files)
        case actions.AcceptDialog() | actions.DismissDialog():
            pass
        case _:
            raise TypeError(f"expected a step that raw Playwright can do, found {step}")
    with contextlib.suppress(PlaywrightError):  # the step led to another page
        await page.evaluate(_TWO_FRAMES)


async def by_script(page: Page, step: Action) -> bool:
    """Return whether Playwright does a step by a script instead of by input, so that no recorder can see it."""
    match step:
        case actions.Select() | actions.Upload():
            return True
        case actions.Type(target, _, True):
            return bool(await located(page, target).evaluate(_SET, timeout=_SECONDS))
    return False


async def _drag(page: Page, source: Locator, goal: Locator) -> None:
    """Drag as Playwright's guide to input says: the second move over the goal makes all pages notice it."""
    await source.hover(timeout=_SECONDS)
    await page.mouse.down()
    await goal.hover(force=True, timeout=_SECONDS)
    await goal.hover(force=True, timeout=_SECONDS)
    await page.mouse.up()


async def _scroll(page: Page, direction: str, target: Target | None) -> None:
    size = page.viewport_size or {"width": 1280, "height": 720}
    if target is None:
        await page.mouse.move(size["width"] / 2, size["height"] / 2)
        height = float(size["height"])
    else:
        box = await located(page, target).bounding_box()
        assert box is not None
        await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        height = box["height"]
    await page.mouse.wheel(0, height if direction == "down" else -height)


async def _upload(page: Page, locator: Locator, names: Sequence[str]) -> None:
    files: Any = [{"name": name, "mimeType": "text/csv", "buffer": UPLOADS[name]} for name in names]
    if await locator.evaluate("el => (el.control ?? el).matches('input[type=file]')"):
        await locator.set_input_files(files)
        return
    try:
        async with page.expect_file_chooser(timeout=1500) as chooser:
            await locator.click(timeout=_SECONDS)
        await (await chooser.value).set_files(files)
    except PlaywrightTimeout:
        for name in names:
            await locator.evaluate(_DROP, [name, base64.b64encode(UPLOADS[name]).decode()])


async def show_of(page: Page, target: Target | None, point: str | None = None) -> Shown:
    """Return how raw Playwright shows the element of a step; ``point`` is the selector of what a person points at."""
    locator = located(page, target)
    try:
        lines = (await locator.aria_snapshot(timeout=_SECONDS)).splitlines()
        classes = await locator.evaluate("el => el.getAttribute('class') ?? ''", timeout=_SECONDS)
        text = await locator.evaluate("el => el.innerText ?? el.textContent ?? ''", timeout=_SECONDS)
        label = await locator.evaluate("el => el.ariaLabel || el.title || el.dataset.placeholder", timeout=_SECONDS)
        box = await (page.locator(point).first if point else locator).bounding_box(timeout=_SECONDS)
    except PlaywrightError:
        return Shown("", "", "", None)
    head = re.match(r'- (\w+)(?: "((?:[^"\\]|\\.)*)")?', lines[0]) if lines else None
    role, name = (head[1], (head[2] or "").replace('\\"', '"')) if head and head[1] != "text" else ("", "")
    centre = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2) if box else None
    size = page.viewport_size or {"width": 1280, "height": 720}
    if centre and not (0 <= centre[0] < size["width"] and 0 <= centre[1] < size["height"]):
        centre = None
    name, text = name or squeeze(str(label or "")), squeeze(str(text))
    return Shown(role, name, text, centre, "" if name or text else squeeze(classes))


def write_uploads(folder: Path) -> dict[str, Path]:
    """Write the files that are uploaded; return their paths by name."""
    for name, data in UPLOADS.items():
        (folder / name).write_bytes(data)
    return {name: folder / name for name in UPLOADS}


def squeeze(text: str) -> str:
    """Return a text without needless white space, icons of fonts, and characters without width."""
    return " ".join(re.sub("[\ue000-\uf8ff\u200b-\u200f\u2060\ufeff]", "", text).split())


async def eyes(page: Page) -> set[Item]:
    """Return what Playwright's aria snapshot and Chromium's accessibility tree have of a page and its frames.

    Behind a modal dialog, only Chromium's tree knows what is out of use.
    """
    items = await _trees(page)
    if not await page.evaluate("!!document.querySelector(':modal')"):
        for frame in page.frames:
            items |= await _snapshot(frame)
    return {item for item in items if item.text}


async def labels_of_texts(page: Page) -> set[str]:
    """Return labels of elements that contain text: a form that prints the text need not print the label."""
    found: list[str] = await page.evaluate(
        "() => [...document.querySelectorAll('[aria-label], [title]')].filter(el => el.textContent.trim())"
        ".flatMap(el => [el.getAttribute('aria-label'), el.title]).filter(Boolean)"
    )
    return set(map(squeeze, found))


async def covered(page: Page) -> set[str]:
    """Return texts and labels of elements whose centre is covered by another element, so that none can click them."""
    found: list[str] = await page.evaluate(_COVERED)
    return set(map(squeeze, found))


async def _snapshot(frame: Frame) -> set[Item]:
    try:
        lines = await frame.locator("body").aria_snapshot(timeout=_SECONDS)
    except PlaywrightError:
        return set()
    return set(_items(yaml.load(lines, Loader=yaml.BaseLoader)))  # all scalars stay texts


def _items(node: Any) -> Iterator[Item]:
    match node:
        case list():
            for each in node:
                yield from _items(each)
        case dict():
            for key, value in node.items():
                if not key.startswith("/"):
                    yield from _head(key)
                    yield from [Item(squeeze(str(value)))] if not isinstance(value, list) else _items(value)
        case str():
            yield from _head(node)


def _head(text: str) -> Iterator[Item]:
    head = re.match(r'\w+ "((?:[^"\\]|\\.)*)"', text)
    if head:
        yield Item(squeeze(head[1].replace('\\"', '"')))


async def _trees(page: Page) -> set[Item]:
    """Return names and values of Chromium's accessibility trees: of the page, and of its frames."""
    items = set[Item]()
    for frame in page.frames:
        try:
            protocol = await page.context.new_cdp_session(page if frame is page.main_frame else frame)
        except PlaywrightError:
            continue  # the frame is in its parent's process, so its parent has its tree
        try:
            top = (await protocol.send("Page.getFrameTree"))["frameTree"]
            for number in _frame_ids(top):
                with contextlib.suppress(PlaywrightError):  # a frame in a process of its own
                    items |= _nodes((await protocol.send("Accessibility.getFullAXTree", {"frameId": number}))["nodes"])
        finally:
            await protocol.detach()
    return items


def _frame_ids(tree: Any) -> list[str]:
    children = [number for child in tree.get("childFrames", ()) for number in _frame_ids(child)]
    return [tree["frame"]["id"], *children]


def _nodes(nodes: Any) -> set[Item]:
    """Return the items of a tree. What the browser draws inside of a date field, such as a field for the day, is none;
    options of a closed list are no controls."""
    by_id = {node["nodeId"]: node for node in nodes}
    roles = {number: node.get("role", {}).get("value", "") for number, node in by_id.items()}
    items = set[Item]()
    for number, node in by_id.items():
        role, around = roles[number], roles.get(node.get("parentId", ""), "")
        if node["ignored"] or role in ("InlineTextBox", "RootWebArea") or _is_inside_of_a_field(node, by_id, roles):
            continue
        is_control = role in _CONTROLS and not (role == "option" and around == "MenuListPopup")
        for key in (
            ("name",) if role in _DRAWN else ("name", "value")
        ):  # a value of these is a number of the browser's own
            text = squeeze(str(node.get(key, {}).get("value", "")))
            items.add(Item(text, role if is_control and key == "name" else ""))
    return items


def _is_inside_of_a_field(node: Any, by_id: Any, roles: Any) -> bool:
    while (node := by_id.get(node.get("parentId", ""))) is not None:
        if roles[node["nodeId"]] in _DRAWN:
            return True
    return False
