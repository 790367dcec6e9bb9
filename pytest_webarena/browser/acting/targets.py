"""Converts targets (by id, by Playwright selector, by point) to objects that can be acted on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, Protocol

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Locator

from pytest_webarena.actions import Element, Point, Selector, Target
from pytest_webarena.browser.acting import element_probes, scripts
from pytest_webarena.browser.acting.script_actions import BY_SCRIPT
from pytest_webarena.browser.faults import ActionFailed, ScriptFailed
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.messages import first_line, is_navigation_error
from pytest_webarena.browser.observation.extraction import ElementInfo, RemoteFrame
from pytest_webarena.browser.observation.fast.inpage import Located, role_and_name
from pytest_webarena.browser.tabs.tab import Tab, script_value
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.text import shorten

__all__ = ["OBJECT_GROUP", "HitPoint", "TargetOnPage", "find_target"]

Purpose = Literal["click", "hover", "press", "type"]

_ONLY_ONCE = frozenset(
    {
        BY_SCRIPT, scripts.CHOOSE, scripts.CHOOSE_FILES, scripts.DROP, scripts.FOCUS, scripts.SCROLL, scripts.SET_VALUE,
    }
)  # fmt: skip
"""Scripts that a site may notice. The others only read, or make changes that vanish with their document, so they may
run again if the document was replaced meanwhile."""
_LAST_LOOK = 0.5
"""Seconds for the last try after the patience is used up."""

_IS_THERE = "() => true"

OBJECT_GROUP = "pytest-webarena"
"""Name of the group of resolved objects that the browser keeps until they are released together."""

_OTHER_NODE = "pytest-webarena: another node"
# Ids belong to a rendering process. In another one's document, the number may mean another node, so the node's name is
# compared with the one that was shown (the document is checked as well).
_ON_NODE = (
    "function(name, ...args) {"
    f" if (this.nodeName.toUpperCase() !== name) return {_OTHER_NODE!r};"
    " return (%s)(this, ...args); }"
)


class HitPoint:
    """A point of the target in the viewport, with a description of its element."""

    __slots__ = ("field", "focused", "kind", "option", "record", "x", "y")

    def __init__(
        self, record: TargetRecord, x: float, y: float, kind: str = "", state: str = "ready", field: bool = False
    ) -> None:
        self.record, self.x, self.y = record, x, y
        self.kind = kind
        """``select``, or the type of a field that is not typed into, such as ``date`` or ``checkbox``; else empty."""
        self.field = field
        """Whether it is an editable element or a form's field, or labels one."""
        self.option = state == "option"
        """Whether it is an option of a closed list, which can be chosen but not clicked."""
        self.focused = state == "focused"
        """Whether it has the keyboard focus; the point is its middle then, and may be covered."""


class TargetOnPage(Protocol):
    """An element to act on. All methods raise `ActionFailed` with a message for the agent."""

    async def place(self, purpose: Purpose) -> HitPoint:
        """Scroll it into view and return a point where nothing else would be hit.

        For the purpose ``press``, it gets the focus instead, if a script can give it; for ``type``, if it can't be hit.
        """
        ...

    async def call(self, script: str, *args: Any) -> Any:
        """Run one of `scripts` on it."""
        ...


def find_target(tab: Tab, target: Target, *, hang: float, patience: float) -> TargetOnPage:
    """Return the object for ``target``. Calls end after ``hang`` seconds; selectors wait ``patience`` seconds."""
    match target:
        case Element():
            info = tab.elements.get(target.id)
            if info is not None:
                return _ById(tab, target.id, info, hang)
            located = tab.in_page.locate(target.id)
            if isinstance(located, str):
                raise ActionFailed(located)
            return _InPage(tab, target.id, located, hang)
        case Selector():
            return _BySelector(tab, target.selector, hang, patience)
        case Point():
            return _ByPoint(tab, target.x, target.y, hang)


class _ById:
    def __init__(self, tab: Tab, id: str, info: ElementInfo, hang: float) -> None:
        self._tab, self._id, self._info, self._hang = tab, id, info, hang
        self._document = tab.document
        self._object = ""

    async def place(self, purpose: Purpose) -> HitPoint:
        found = await self.call(element_probes.PREPARE, purpose)
        state = found["state"]
        label = f"[{self._id}] {self._info.role} {shorten(self._info.name, 60)!r}"
        if state == "detached":
            raise self._stale()
        if state == "foreign":
            x, y = await self._quad_centre(label)
            found = {**found, "state": "ready", "x": x, "y": y}
        elif state in _UNREACHED and self._info.around is not None:
            self._info = replace(self._info, backend=self._info.around[0], node_name=self._info.around[1], around=None)
            self._object = ""
            return await self.place(purpose)
        elif state not in _FOUND:
            raise ActionFailed(_failure_text(label, found))
        return _hit_point(found, role=self._info.role, name=self._info.name)

    async def call(self, script: str, *args: Any) -> Any:
        try:
            if not self._object:
                node = {"backendNodeId": self._info.backend, "objectGroup": OBJECT_GROUP}
                answer = await self._send("DOM.resolveNode", node)
                self._object = answer["object"]["objectId"]
            parameters = {
                "objectId": self._object,
                "functionDeclaration": _ON_NODE % script,
                "arguments": [{"value": arg} for arg in (self._info.node_name.upper(), *args)],
                "awaitPromise": True,
                "returnByValue": True,
            }
            answer = await self._send("Runtime.callFunctionOn", parameters)
        except PlaywrightError as error:  # "No node with given id found", or its document was replaced
            raise self._stale() from error
        try:
            value = script_value(answer)
        except ScriptFailed as error:
            raise ActionFailed(f"The page got in the way of acting on [{self._id}]: {error}") from error
        if value == _OTHER_NODE or self._tab.document != self._document:
            raise self._stale()
        return value

    async def _quad_centre(self, label: str) -> tuple[float, float]:
        """Return the centre of an element in an iframe whose place only the browser knows."""
        node = {"backendNodeId": self._info.backend}
        try:
            await self._send("DOM.scrollIntoViewIfNeeded", node)
            quads = (await self._send("DOM.getContentQuads", node))["quads"]
            x, y = await self._window(self._info.frame)
        except PlaywrightError as error:
            raise ActionFailed(f"{label} is not visible.") from error
        if not quads:
            raise ActionFailed(f"{label} is not visible.")
        return x + sum(quads[0][0::2]) / 4, y + sum(quads[0][1::2]) / 4

    async def _window(self, frame: RemoteFrame | None) -> tuple[float, float]:
        """Return the origin, in the viewport, of the document of a frame of another process."""
        if frame is None:
            return 0.0, 0.0
        box = await self._send("DOM.getBoxModel", {"backendNodeId": frame.owner}, frame.parent)
        left, top = await self._window(frame.parent)
        return left + box["model"]["content"][0], top + box["model"]["content"][1]

    async def _send(self, method: str, parameters: dict[str, Any], frame: RemoteFrame | Literal[""] | None = "") -> Any:
        """Send a command to the process of the element, or of another frame."""
        process = self._info.frame if frame == "" else frame
        if process is None:
            return await self._tab.send(method, parameters, seconds=self._hang)
        return await self._tab.run(process.session.send(method, parameters), self._hang, method)

    def _stale(self) -> ActionFailed:
        label = f"{self._info.role} {shorten(self._info.name, 60)!r}"
        return ActionFailed(
            f"Element [{self._id}] ({label}) is no longer on the page. Use an id of the latest observation."
        )


class _InPage:
    """A target by an id of the ``fast`` extractor, whose script in the page still holds the element."""

    def __init__(self, tab: Tab, id: str, located: Located, hang: float) -> None:
        self._tab, self._id, self._located, self._hang = tab, id, located, hang
        self._document = tab.document
        self._description = ""

    async def place(self, purpose: Purpose) -> HitPoint:
        found = await self.call(element_probes.PREPARE, purpose)
        role, name = role_and_name(self._description)
        label = f"[{self._id}] {role} {shorten(name, 60)!r}"
        host = self._located.host
        while found["state"] == "foreign" and host is not None:
            # Only the parent page knows the place of a frame of another site.
            frame_element = await self._ask(
                Located(world=host.world, number=host.number, host=None), element_probes.THROUGH_FRAME, found
            )
            found, host = {**found, **frame_element}, self._tab.in_page.host_of(host.world)
        if found["state"] == "detached":
            raise self._stale()
        if found["state"] in _UNREACHED and not self._located.around:
            around = replace(self._located, around=True)
            if not (await around.call(_IS_THERE, seconds=self._hang)).get("detached"):
                self._located = around
                return await self.place(purpose)
        if found["state"] not in _FOUND:
            raise ActionFailed(_failure_text(label, found))
        return _hit_point(found, role=role, name=name)

    async def call(self, script: str, *args: Any) -> Any:
        return await self._ask(self._located, script, *args)

    async def _ask(self, located: Located, script: str, *args: Any) -> Any:
        try:
            answer = await located.call(script, *args, seconds=self._hang)
        except ScriptFailed as error:
            raise ActionFailed(f"The page got in the way of acting on [{self._id}]: {error}") from error
        if located is self._located:
            self._description = answer.get("description") or self._description
        if answer.get("detached") or self._tab.document != self._document:
            raise self._stale()
        return answer.get("value")

    def _stale(self) -> ActionFailed:
        role, name = role_and_name(self._description)
        label = f" ({role} {shorten(name, 60)!r})" if role else ""
        return ActionFailed(
            f"Element [{self._id}]{label} is no longer on the page. Use an id of the latest observation."
        )


_AT_ONCE = """async (nodes, args) => {
  if (!nodes.length) return null;
  try {
    return ['value', await (%s)(nodes[0], ...args)];
  } catch (error) {
    return ['threw', String(error)];
  }
}"""
_ENTER = " >> internal:control=enter-frame"
"""Playwright's suffix of a selector that leads into the frame that the selector matches."""


class _BySelector:
    """The first match of a Playwright selector. It is awaited, because pages of solutions and logins may be busy."""

    def __init__(self, tab: Tab, selector: str, hang: float, patience: float) -> None:
        self._tab, self._selector, self._hang = tab, selector, hang
        self._patience = Deadline(patience)
        self._found = False
        """Whether it was found once. Then a browser that is slow to act on it does not make it count as missing."""
        self._label = f"The element {shorten(selector, 100)!r}"

    async def place(self, purpose: Purpose) -> HitPoint:
        while True:
            found = await self.call(element_probes.PREPARE, purpose)
            frame = self._selector
            while found["state"] == "foreign" and _ENTER in frame:
                # Only the parent page knows the place of a frame of another site.
                frame = frame.rpartition(_ENTER)[0]
                found = {**found, **await self._ask(frame, element_probes.THROUGH_FRAME, found)}
            if found["state"] in _FOUND:
                return _hit_point(found)
            if self._patience.over or found["state"] == "foreign":
                raise ActionFailed(_failure_text(self._label, found))
            await self._tab.wait_for_activity(self._patience.left(0.05))

    async def call(self, script: str, *args: Any) -> Any:
        return await self._ask(self._selector, script, *args)

    async def _ask(self, selector: str, script: str, *args: Any) -> Any:
        first = self._tab.page.locator(selector).first
        repeatable = script not in _ONLY_ONCE
        if repeatable and (found := await self._at_once(first, script, args)) is not None:
            return found[0]
        if not repeatable and not self._found:
            await self._at_once(first, _IS_THERE)
        while True:
            try:
                return await self._patiently(first, script, args)
            except PlaywrightError as error:
                if not repeatable or self._patience.over or not is_navigation_error(error):
                    raise self._failed(selector, error) from error
            await self._tab.wait_for_activity(self._patience.left(0.05))

    async def _patiently(self, first: Locator, script: str, args: Sequence[Any]) -> Any:
        """Run the script when the element is found, across navigations; a navigation may still interrupt the script."""
        # After the patience is used up, one last try still needs some time.
        seconds = max(_LAST_LOOK, self._patience.left(), self._hang if self._found else 0.0)
        looking = first.evaluate(f"(node, args) => ({script})(node, ...args)", list(args), timeout=seconds * 1000)
        return await self._tab.run(looking, self._hang + seconds, self._label)

    def _failed(self, selector: str, error: PlaywrightError) -> ActionFailed:
        text = str(error)
        if "Timeout" in text:
            return ActionFailed(
                f"No element matches {selector!r} on {shorten(self._tab.url, 120)} "
                f"(waited {self._patience.seconds:g} s)."
            )
        if "selector" in text.lower():
            return ActionFailed(f"{selector!r} is not a selector: {first_line(error)}")
        return ActionFailed(f"{self._label} could not be acted on: {first_line(error)}")

    async def _at_once(self, first: Locator, script: str, args: Sequence[Any] = ()) -> list[Any] | None:
        """Run the script if the element already exists; None if not, or if the page navigates or interferes.

        It costs half as much as waiting: Playwright finds the element where the script runs, and so does not need its
        own 350 kB in two places of each document. But a navigation meanwhile is an error that leaves open whether the
        script has run. So this is only for scripts that may run again.
        """
        try:
            seconds = self._hang + self._patience.left()
            found = await self._tab.run(first.evaluate_all(_AT_ONCE % script, list(args)), seconds, self._label)
        except PlaywrightError:
            return None
        self._found = self._found or found is not None
        if found and found[0] == "threw":
            raise ActionFailed(f"{self._label} could not be acted on: {shorten(found[1], 300)}")
        return None if found is None else found[1:]


class _ByPoint:
    def __init__(self, tab: Tab, x: float, y: float, hang: float) -> None:
        self._tab, self._x, self._y, self._hang = tab, x, y, hang

    async def place(self, purpose: Purpose) -> HitPoint:
        found = await self._evaluate(element_probes.POINT_TARGET)
        if found is None:
            raise ActionFailed(f"The point ({self._x:g}, {self._y:g}) is outside the viewport.")
        record, state = _record(found["record"]), "ready"
        if purpose == "press":
            state = await self.call(element_probes.FOCUS_FOR_KEYS)
        elif purpose == "type":
            state = found["state"]
        if state in ("disabled", "readonly"):
            raise ActionFailed(_failure_text(f"{record.role} {shorten(record.name, 60)!r}", {"state": state}))
        return HitPoint(record, self._x, self._y, found["kind"], state, found["field"])

    async def call(self, script: str, *args: Any) -> Any:
        on_hit = f"{element_probes.AT_POINT} return ({script})(atPoint(x, y)[0] || document.documentElement, ...args);"
        return await self._evaluate(f"(x, y, ...args) => {{ {on_hit} }}", *args)

    async def _evaluate(self, script: str, *args: Any) -> Any:
        try:
            return await self._tab.evaluate(
                script, self._x, self._y, *args, seconds=self._hang, what="looking at a point of the page"
            )
        except ScriptFailed as error:
            raise ActionFailed(f"The page got in the way: {error}") from error


_FOUND = ("focused", "option", "ready")
_UNREACHED = ("covered", "hidden", "outside", "undrawn")
"""States of elements that no click reaches. A text that a page has moved away is reached through the element around."""


def _hit_point(found: Mapping[str, Any], **known: str) -> HitPoint:
    x, y = found.get("x", 0.0), found.get("y", 0.0)
    place = {"x": x, "y": y} if found.get("seen") is None else found["seen"]  # as in the screenshot before the action
    return HitPoint(_record(found["record"], **known, **place), x, y, found["kind"], found["state"], found["field"])


def _record(found: Mapping[str, Any], **known: Any) -> TargetRecord:
    return TargetRecord(**{**found, **{key: value for key, value in known.items() if value not in ("", None)}})


_STATES = {
    "disabled": "{who} is disabled.",
    "readonly": "{who} is read-only: nothing can be typed into it.",
    "hidden": "{who} is not visible.",
    "undrawn": "{who} can't be clicked: the page does not draw it. Use the control that the page shows in its place.",
    "outside": "{who} can't be scrolled into view.",
    "several": "{who} takes no keyboard focus and holds several controls: {controls}. Press the keys in one of them.",
    "acts": "{who} takes no keyboard focus, and a click on it would act on {controls}. Press the keys in that instead.",
    "foreign": "{who} is inside a frame of another site, where it can't be reached.",
}


def _failure_text(label: str, found: Mapping[str, Any]) -> str:
    if found["state"] == "covered":
        cover = found.get("cover")
        by = (
            f"{cover['role']} {cover['name']!r}"
            if cover and cover["name"]
            else f"a <{cover['tag']}>"
            if cover
            else "something"
        )
        return f"{label} is covered by {by}, which would get the click instead. Deal with that first."
    controls = [f"{each['role']} {each['name']!r}" for each in found.get("controls", ())]
    return _STATES[found["state"]].format(who=label, controls=", ".join(controls[:5]) + ", …" * (len(controls) > 5))
