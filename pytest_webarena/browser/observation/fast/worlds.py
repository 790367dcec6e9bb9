"""Execution contexts of the script: an isolated world next to the page's (Chromium), or the page's own."""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Awaitable, Sequence
from typing import Any, Protocol, TypeVar

from playwright.async_api import CDPSession, Frame, JSHandle
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.faults import ScriptFailed
from pytest_webarena.browser.observation.fast.source import script

__all__ = ["WORLD", "IsolatedWorld", "LostWorld", "PageWorld", "Runner", "World"]

T = TypeVar("T")

WORLD = f"pytest-webarena-{secrets.token_hex(8)}"
"""Name of the isolated world. It is random, because whoever knows it can have functions added to the world."""


_GESTURES = frozenset({
    "auxclick", "click", "contextmenu", "dblclick", "dragstart", "drop", "mousedown", "mouseup", "pointerdown",
    "pointerup", "touchend", "touchstart",
})  # fmt: skip
"""Events of a person's pointer."""
_MOST_LISTENERS = 200
"""Maximum number of elements that one observation asks about; the next observation asks about the others."""
_MOST_ROOTS = 50
"""Maximum number of frames and shadow trees whose listeners one observation asks for."""

_NOTE = "(script, ...nodes) => script.noteListeners(...nodes)"


class LostWorld(Exception):
    """The document was replaced, and the data about its elements is lost."""


class Runner(Protocol):
    """Limits the time of calls to the page: `Tab.run`."""

    async def __call__(self, awaitable: Awaitable[T], seconds: float, what: str) -> T:
        """Return the result of ``awaitable`` within ``seconds``."""
        ...


class World(Protocol):
    """The script in one document."""

    async def call(self, function: str, *args: Any, seconds: float) -> Any:
        """Call a JavaScript function with the script's interface and ``args``. `LostWorld` if the document is gone."""
        ...

    async def frames(self, numbers: list[int], *, seconds: float) -> dict[int, object]:
        """Return keys by which `InPage` finds the worlds of iframes that can't be read from here, by their ids."""
        ...

    async def note_listeners(self, *, seconds: float) -> None:
        """Report the elements to which the page's scripts listen to the script, if the browser knows them."""
        ...


class IsolatedWorld:
    """World isolated from the page's scripts, which can neither see nor change it or its built-in functions."""

    def __init__(self, session: CDPSession, frame_id: str, run: Runner) -> None:
        self.session, self.frame_id = session, frame_id
        self._run = run
        self._context: int | None = None
        self._name = secrets.token_hex(8)
        """Name of this script in the world's globals, because a restored document may contain an earlier one."""
        self._has_script = False
        self._root: str | None = None
        """Remote object of the document in the page's own world."""
        self._reported: set[int] = set()
        """Backend node ids of the elements that `note_listeners` has reported."""

    async def call(self, function: str, *args: Any, seconds: float) -> Any:
        answer = await self._call(function, [{"value": arg} for arg in args], by_value=True, seconds=seconds)
        return answer.get("value")

    async def frames(self, numbers: list[int], *, seconds: float) -> dict[int, object]:
        found: dict[int, object] = {}
        for number in numbers:
            node = await self._call(
                "(script, id) => script.find(id)", [{"value": number}], by_value=False, seconds=seconds
            )
            if "objectId" in node:
                what = {"objectId": node["objectId"]}
                described = await self._send("DOM.describeNode", what, seconds)
                await self._send("Runtime.releaseObject", what, seconds)
                found[number] = described["node"].get("frameId")
        return found

    async def note_listeners(self, *, seconds: float) -> None:
        if self._root is None:
            # In the page's own world: with a document of this world, or ``pierce``, Chromium makes objects of the wrong
            # world for the elements, so that no later script of this world can use them.
            found = await self._send("Runtime.evaluate", {"expression": "document"}, seconds)
            self._root = found["result"]["objectId"]
        roots = [self._root, *await self._inner_roots(seconds)]
        heard = await asyncio.gather(*(self._heard(root, seconds) for root in roots))
        new = [node for node in dict.fromkeys(itertools.chain(*heard)) if node not in self._reported][:_MOST_LISTENERS]
        if new:
            self._reported.update(new)
            resolved = await asyncio.gather(*(self._resolved(node, self._context, seconds) for node in new))
            nodes = [{"objectId": each} for each in resolved if each is not None]
            await self._call(_NOTE, nodes, by_value=True, seconds=seconds)
        if new or len(roots) > 1:
            await self._send("Runtime.releaseObjectGroup", {"objectGroup": self._name}, seconds)

    async def _heard(self, root: str, seconds: float) -> list[int]:
        """Return the elements of one tree to which scripts listen."""
        whole = {"objectId": root, "depth": -1}
        listeners = (await self._send("DOMDebugger.getEventListeners", whole, seconds))["listeners"]
        return [each["backendNodeId"] for each in listeners if each["type"] in _GESTURES and "backendNodeId" in each]

    async def _inner_roots(self, seconds: float) -> list[str]:
        """Return the visible frames of the same site and open shadow trees, as objects of the page's own world."""
        found = await self._call("(script, most) => script.innerRoots(most)", [{"value": _MOST_ROOTS}], by_value=False,
                                 seconds=seconds)  # fmt: skip
        if "objectId" not in found:
            return []
        own = {"objectId": found["objectId"], "ownProperties": True}
        listed = await self._send("Runtime.getProperties", own, seconds)
        objects = [each["value"] for each in listed["result"] if each["name"].isdecimal()]
        nodes = await asyncio.gather(
            *(self._send("DOM.describeNode", {"objectId": each["objectId"]}, seconds) for each in objects)
        )
        roots = await asyncio.gather(*(self._resolved(each["node"]["backendNodeId"], None, seconds) for each in nodes))
        for each in (found, *objects):
            await self._send("Runtime.releaseObject", {"objectId": each["objectId"]}, seconds)
        return [each for each in roots if each is not None]

    async def _resolved(self, backend: int, context: int | None, seconds: float) -> str | None:
        """Return the object of a node in an execution context; None: in the page's own one."""
        node = {"backendNodeId": backend, "objectGroup": self._name}
        if context is not None:
            node["executionContextId"] = context
        try:
            found: str = (await self._send("DOM.resolveNode", node, seconds))["object"]["objectId"]
        except LostWorld:
            return None  # it was removed meanwhile
        return found

    async def start(self, seconds: float) -> None:
        """Create the world with one call. The script is sent with the first call that needs it."""
        parameters = {"frameId": self.frame_id, "worldName": WORLD, "grantUniveralAccess": True}  # sic
        world = await self._send("Page.createIsolatedWorld", parameters, seconds)
        self._context = world["executionContextId"]

    async def _call(self, function: str, args: Sequence[Any], *, by_value: bool, seconds: float) -> Any:
        if self._context is None:
            await self.start(seconds)
        script_object = f"globalThis[Symbol.for('{self._name}')]"
        put = "" if self._has_script else f" ??= {script()}"
        source = f"function(...args) {{ const script = {script_object}{put}; return ({function})(script, ...args); }}"
        parameters = {
            "executionContextId": self._context,
            "functionDeclaration": source,
            "arguments": list(args),
            "awaitPromise": True,
            "returnByValue": by_value,
        }
        answer = await self._send("Runtime.callFunctionOn", parameters, seconds)
        self._has_script = True
        return result_of(answer)

    async def _send(self, method: str, parameters: dict[str, Any], seconds: float) -> Any:
        try:
            return await self._run(self.session.send(method, parameters), seconds, "reading the page")
        except PlaywrightError as error:
            raise LostWorld(str(error)) from error


class PageWorld:
    """The page's own world, for browsers where Playwright offers no isolated one. The script leaves no trace in it."""

    def __init__(self, frame: Frame, run: Runner) -> None:
        self.frame = frame
        self._run = run
        self._handle: JSHandle | None = None

    async def call(self, function: str, *args: Any, seconds: float) -> Any:
        handle = await self._script(seconds)
        source = f"(script, args) => ({function})(script, ...args)"
        return await self._bounded(handle.evaluate(source, list(args)), seconds)

    async def frames(self, numbers: list[int], *, seconds: float) -> dict[int, object]:
        handle = await self._script(seconds)
        found: dict[int, object] = {}
        for child in self.frame.child_frames:
            element = await self._bounded(child.frame_element(), seconds)
            number = await self._bounded(handle.evaluate("(script, el) => script.known(el)", element), seconds)
            if number in numbers:
                found[number] = child
        return found

    async def note_listeners(self, *, seconds: float) -> None:
        pass  # no protocol of the browser reports them

    async def _script(self, seconds: float) -> JSHandle:
        if self._handle is None:
            self._handle = await self._bounded(self.frame.evaluate_handle(script()), seconds)
        return self._handle

    async def _bounded(self, awaitable: Awaitable[T], seconds: float) -> T:
        try:
            return await self._run(awaitable, seconds, "reading the page")
        except PlaywrightError as error:
            if "context" in str(error) or "navigat" in str(error) or "detached" in str(error):
                raise LostWorld(str(error)) from error
            raise ScriptFailed(str(error).split("\n")[0]) from error


def result_of(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the remote object in an answer; `ScriptFailed` if the function threw."""
    details = answer.get("exceptionDetails")
    if details is not None:
        thrown = details.get("exception", {})
        text = str(thrown.get("description") or thrown.get("value") or details.get("text") or "an error")
        raise ScriptFailed(" ".join(text.split("\n    at ")[0].split())[:300])
    found: dict[str, Any] = answer["result"]
    return found
