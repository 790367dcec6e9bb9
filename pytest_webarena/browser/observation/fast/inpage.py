"""Elements of one tab as scripts in the page know them: the worlds of its frames, and the element of each id."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from playwright.async_api import CDPSession, Frame
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import ScriptFailed, Unresponsive
from pytest_webarena.browser.observation.fast.element_ids import IdCounter
from pytest_webarena.browser.observation.fast.worlds import IsolatedWorld, LostWorld, PageWorld, World

if TYPE_CHECKING:
    from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["InPage", "Located", "Reading"]

_BOXES = "(script, ids) => script.boxes(ids)"
_CORNER = "(script, id) => script.cornerOf(id)"
_CALL = """(script, id, ...args) => {
  const node = script.FIND(id), description = script.descriptionOf(id);
  if (!node) return {detached: true, description};
  return Promise.resolve((%s)(node, ...args)).then(value => ({value, description}));
}"""

_COUNT = itertools.count(1)
_FRAME_SECONDS = 2.0
"""Seconds that each frame of another site may take; the page itself has its own time limit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Text:
    """A text that the script makes of a document."""

    function: str
    ids: re.Pattern[str]
    """Ids in it."""
    scrolled: Callable[[str, str], str]
    """Adds how far the document of an iframe can be scrolled to the line of the iframe."""


_TREE = _Text(
    function="(script, options) => script.look(options)",
    ids=re.compile(r"^(\t*)\[(\d+)\]|(?<= into )\[(\d+)\]$", re.MULTILINE),
    scrolled=lambda line, scroll: f"{line} scroll: {scroll}",
)
_HTML = _Text(
    function="(script, options) => script.markup(options)",
    ids=re.compile(r"^(\t*)\[(\d+)\](?= <)|(?<= into )\[(\d+)\]$", re.MULTILINE),
    scrolled=lambda line, scroll: f'{line.removesuffix(">")} scroll="{scroll}">',
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """Result of the script for the page."""

    text: str
    title: str
    focused: str
    scroll: tuple[float, float, float, float, float]
    """Left and top edge of the viewport, its height, the height of the scrollable content, and the viewport's width, in
    CSS pixels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The iframe element that contains a frame of another site."""

    world: World
    number: int
    """Number of the iframe element in that world."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Located:
    """The element of an id, by its number in the world that contains it."""

    world: World
    number: int
    host: Host | None
    """Iframe around the element's document, if that is of another site."""
    around: bool = False
    """Whether the element around it that only scripts make usable is meant."""

    async def call(self, function: str, *args: Any, seconds: float) -> Mapping[str, Any]:
        """Call a JavaScript function on the element; return its ``value`` and ``description``, or ``detached``."""
        source = _CALL.replace("FIND", "usableOf" if self.around else "find") % function
        try:
            answer: Mapping[str, Any] = await self.world.call(source, self.number, *args, seconds=seconds)
        except LostWorld:
            return {"detached": True, "description": ""}
        return answer


class _Frame:
    """A document of another site within the page."""

    def __init__(self, world: World, host: Host) -> None:
        self.world, self.host = world, host
        self.ids: dict[int, int] = {}
        """Map from the world's own numbers to the session's ids."""


class InPage:
    """Reads one tab with the script, and locates the elements of the ids."""

    isolated = True
    """Whether to use an isolated world where the browser supports it; tests also cover the other case."""

    def __init__(self, tab: Tab, numbers: IdCounter) -> None:
        self._tab = tab
        self._number = next(_COUNT)
        """Key of this tab in the context's numbers, which outlive it and must not keep the context alive."""
        self._numbers = numbers
        self._main: World | None = None
        self._document = -1
        self._frames: dict[object, _Frame] = {}
        self._foreign: dict[int, tuple[_Frame, int]] = {}
        self._sessions: dict[Frame, tuple[CDPSession, str] | None] = {}

    @property
    def next_number(self) -> int:
        """The next number to be assigned, for `discard`."""
        return self._numbers.next

    def discard(self, first: int) -> None:
        """Discard what was read since `next_number` was ``first``, because it is not shown.

        If a page navigates while it is read, which depends on milliseconds, the ids of the next page must not change:
        runs have to be reproducible. Elements of a page that still exists keep their ids.
        """
        if self._main is None or self._document != self._tab.document:
            self._numbers.give_back(first)

    async def read(self, options: Mapping[str, Any], *, seconds: float) -> Reading:
        """Observe the page: one call to it, two more for a new document, and those for visible frames of other sites.

        Raises what `Tab.run` does, and `LostWorld` if the page navigates meanwhile.
        """
        return await self._reading(_TREE, options, seconds)

    async def markup(self, options: Mapping[str, Any], *, seconds: float) -> Reading:
        """Return the page as pruned HTML, with as many calls as `read`."""
        return await self._reading(_HTML, options, seconds)

    async def _reading(self, text: _Text, options: Mapping[str, Any], seconds: float) -> Reading:
        depth = 1 if text is _TREE else 0
        here = {**options, "first": self._numbers.next, "depth": depth, "view": None, "root": True, "focus": True}
        main = self._world_of_page()
        try:
            found = await self._call(text, main, here, seconds)
        except LostWorld:
            if self._main is main:
                self._main = None
            main = self._world_of_page()
            found = await self._call(text, main, here, seconds)
        self._numbers.taken_until(found["next"], self._page)
        shown, focused = found["text"], found["focused"]
        if found["frames"]:
            shown, inner = await self._with_frames(text, main, shown, found["frames"], options)
            focused = inner or focused
        return Reading(text=shown, title=found["title"], focused=focused, scroll=tuple(found["scroll"]))

    @staticmethod
    async def _call(text: _Text, world: World, options: Mapping[str, Any], seconds: float) -> Any:
        if text is _HTML:
            await world.note_listeners(seconds=seconds)
        return await world.call(text.function, options, seconds=seconds)

    async def ask(self, function: str, *args: Any, seconds: float) -> Any:
        """Return the result of a JavaScript function of another module, called in the world of the script."""
        return await self._world_of_page().call(f"(script, ...args) => ({function})(...args)", *args, seconds=seconds)

    async def boxes(self, ids: Sequence[str], *, seconds: float) -> dict[str, tuple[float, float, float, float]]:
        """Return left, top, width and height in the viewport of visible elements that can be acted on."""
        groups: dict[World, tuple[Host | None, dict[int, str]]] = {}
        for id in ids:
            located = self.locate(id)
            if not isinstance(located, str):
                groups.setdefault(located.world, (located.host, {}))[1][located.number] = id
        found: dict[str, tuple[float, float, float, float]] = {}
        for world, (host, numbers) in groups.items():
            try:
                await world.note_listeners(seconds=seconds)
                x, y = await self._corner(host, seconds)
                for number, left, top, width, height in await world.call(_BOXES, list(numbers), seconds=seconds):
                    found[numbers[number]] = (x + left, y + top, width, height)
            except (LostWorld, ScriptFailed):
                continue
        return found

    async def _corner(self, host: Host | None, seconds: float) -> tuple[float, float]:
        """Return the origin of the document of a frame of another site, in the viewport."""
        x = y = 0.0
        while host is not None:
            corner = await host.world.call(_CORNER, host.number, seconds=seconds)
            if corner is None:
                raise LostWorld("the frame is gone")
            x, y, host = x + corner[0], y + corner[1], self.host_of(host.world)
        return x, y

    def locate(self, id: str) -> Located | str:
        """Return the element with that id, or a sentence that says why there is none."""
        number = int(id) if id.isdecimal() and len(id) < 10 else 0  # int() refuses thousands of digits
        page = self._numbers.page_of(number)
        if page is None:
            return (
                f"There is no element [{id}] on this page. Ids are the numbers in brackets of the latest observation."
            )
        if page == self._page and self._main is not None:
            if number in self._foreign:
                frame, local = self._foreign[number]
                return Located(world=frame.world, number=local, host=frame.host)
            return Located(world=self._main, number=number, host=None)
        where = "an earlier page of this tab" if page[0] == self._number else "another tab"  # type: ignore[index]
        return f"Element [{id}] is on {where}, not on the page shown now. Use an id of the latest observation."

    def host_of(self, world: World) -> Host | None:
        """Return the iframe around a world's document; None for the page itself."""
        return next((frame.host for frame in self._frames.values() if frame.world is world), None)

    @property
    def _page(self) -> tuple[int, int]:
        return (self._number, self._tab.document)

    def _world_of_page(self) -> World:
        if self._main is None or self._document != self._tab.document:
            tab = self._tab
            self._document = tab.document
            self._frames.clear()
            self._foreign.clear()
            session = tab.session if self.isolated else None
            if session is not None:
                self._main = IsolatedWorld(session, tab.frame_id, tab.run)
            else:
                self._main = PageWorld(tab.page.main_frame, tab.run)
        return self._main

    async def _with_frames(
        self, text: _Text, world: World, shown: str, found: Sequence[Mapping[str, Any]], options: Mapping[str, Any]
    ) -> tuple[str, str]:
        """Insert frames of other sites into what is ``shown``; return it with the focused element in them."""
        try:
            keys = await world.frames([each["id"] for each in found], seconds=_FRAME_SECONDS)
        except (LostWorld, ScriptFailed, Unresponsive):
            keys = {}
        inner: list[tuple[str, str]] = []
        focused = ""
        for each in found:
            read, focus, scroll = "", "", ""
            if keys.get(each["id"]) is not None:
                host = Host(world=world, number=each["id"])
                read, focus, scroll = await self._read_frame(text, keys[each["id"]], host, each, options)
            inner.append((read, scroll))
            focused = focused or focus
        lines: list[str] = []
        for line in shown.split("\n"):
            if not line.startswith("\1"):
                lines.append(line)
                continue
            read, scroll = inner[int(line[1:])]
            if scroll:
                lines[-1] = text.scrolled(lines[-1], scroll)  # the line of the iframe element
            if read:
                lines.append(read)
        return "\n".join(lines), focused

    async def _read_frame(
        self, text: _Text, key: object, host: Host, placement: Mapping[str, Any], options: Mapping[str, Any]
    ) -> tuple[str, str, str]:
        """Return the lines of a frame of another site, its focused element, and how far it can be scrolled.

        There are none if it does not answer or is still loading.
        """
        frame_options = {**options, "first": 1, "depth": placement["depth"], "view": placement["view"], "root": False}
        frame_options["focus"] = placement["focus"]
        for _ in range(2):
            frame = self._frames.get(key)
            try:
                if frame is None:
                    world = await self._world_of_frame(key, host.world)
                    if world is None:
                        return "", "", ""
                    frame = self._frames[key] = _Frame(world, host)
                found = await self._call(text, frame.world, frame_options, _FRAME_SECONDS)
            except LostWorld:  # it has navigated since the last observation
                self._frames.pop(key, None)
                continue
            except (ScriptFailed, Unresponsive):
                return "", "", ""
            shown = self._renumbered(text, found["text"], frame)
            focused = self._renumbered(text, found["focused"], frame)
            if found["frames"]:
                shown, inner = await self._with_frames(text, frame.world, shown, found["frames"], options)
                focused = inner or focused
            return shown, focused, found["pageScroll"]
        return "", "", ""

    def _renumbered(self, text: _Text, shown: str, frame: _Frame) -> str:
        """Replace the ids in a frame's lines by those of the session, which its script does not know."""

        def replace(match: re.Match[str]) -> str:
            local = int(match[2] or match[3])
            number = frame.ids.get(local)
            if number is None:
                number = frame.ids[local] = self._numbers.take(self._page)
                self._foreign[number] = (frame, local)
            return f"{match[1] or ''}[{number}]"

        return text.ids.sub(replace, shown)

    async def _world_of_frame(self, key: object, parent: World) -> World | None:
        if isinstance(key, Frame):
            return PageWorld(key, self._tab.run)
        assert isinstance(key, str)
        assert isinstance(parent, IsolatedWorld)
        local = IsolatedWorld(parent.session, key, self._tab.run)
        try:
            await local.start(_FRAME_SECONDS)
        except LostWorld:
            pass  # a frame in a process of its own has its own protocol session
        else:
            return local
        for frame in self._tab.page.frames:
            if frame not in self._sessions:
                self._sessions[frame] = await self._session_of(frame)
            known = self._sessions[frame]
            if known is not None and known[1] == key:
                return IsolatedWorld(known[0], key, self._tab.run)
        return None

    async def _session_of(self, frame: Frame) -> tuple[CDPSession, str] | None:
        run = self._tab.run
        try:
            session = await run(self._tab.page.context.new_cdp_session(frame), _FRAME_SECONDS, "reading a frame")
            tree = await run(session.send("Page.getFrameTree"), _FRAME_SECONDS, "reading a frame")
        except (PlaywrightError, Unresponsive):
            return None  # it shares its parent's session, or was removed
        return session, tree["frameTree"]["frame"]["id"]


def role_and_name(description: str) -> tuple[str, str]:
    """Split the script's description of an element into role and name.

    >>> role_and_name("button 'Save'")
    ('button', 'Save')
    """
    role, _, name = description.partition(" ")
    return role, str(ast.literal_eval(name)) if name else ""
