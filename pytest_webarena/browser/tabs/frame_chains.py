"""What is around a frame whose document can't see it, because another site's page shows it.

The listener in the document around it can. It is told which of its elements shows the frame (the protocol knows), tells
of that element and what is around it, and does so again whenever that changes. So an event's chain can be continued
when it comes, without asking anybody: who clicks in such a frame may be elsewhere in the next moment.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.signals import ElementRecord

__all__ = ["Channel", "FrameChains", "Surroundings"]

_FRAMES = 200
"""Of a tab, of which is known where they are."""
_DEEPEST = 10
"""Origins within each other."""
_AGAIN = (0.1, 0.5, 2.0)
"""Seconds until a frame is asked about once more: it may be between two processes, or the browser busy."""


class Channel(Protocol):
    """A protocol session, or one nested into it."""

    async def send(self, method: str, params: dict[str, Any]) -> object:
        """One command; its answer, where that is told."""
        ...

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """One command and its answer. Playwright's error where it fails or nobody answers."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The element that shows a frame, and what is around it in the documents of its origin."""

    chain: tuple[ElementRecord, ...]
    whole: bool
    """Whether that reaches the root of the tab."""
    maker: str
    """The address of the page around the frame, or its origin, or nothing."""


class FrameChains:
    """Those of one tab. Frames go by their protocol ids."""

    def __init__(self, follow: str) -> None:
        self._follow = follow
        """A JavaScript function that has a listener follow the element which it is called on."""
        self._parents: dict[str, str] = {}
        self._contexts: dict[str, tuple[Channel, int]] = {}
        """Where the listener of a frame's document is."""
        self._around: dict[str, Surroundings] = {}
        self._too_early: dict[str, Channel] = {}
        """Frames that came before there was a listener around them."""
        self._asking: set[str] = set()
        """Frames whose surroundings are being asked for."""

    def attached(self, frame: str, parent: str) -> None:
        """A frame is within another one."""
        _keep(self._parents, frame, parent)

    def detached(self, frame: str) -> None:
        """A frame has gone, and nobody is asked in it. What was told of its place stays: events of it may be late."""
        self._contexts.pop(frame, None)

    def listened(self, frame: str, channel: Channel, context: int) -> list[tuple[str, Channel]]:
        """There is a world for the listener in a frame's new document. What is to be followed now: frames in it that
        were there before, each with its channel."""
        _keep(self._contexts, frame, (channel, context))
        inside = [child for child in self._too_early if self._parents.get(child) == frame]
        return [(child, self._too_early.pop(child)) for child in inside]

    def contexts(self) -> list[tuple[Channel, int]]:
        """Where listeners are, or were, of all frames."""
        return list(self._contexts.values())

    async def follow(self, frame: str, channel: Channel) -> None:
        """Have the document around a frame tell of it. ``channel``: where the frame's own listener is."""
        if frame in self._asking:
            return
        self._asking.add(frame)
        try:
            for wait in (0.0, *_AGAIN):
                await asyncio.sleep(wait)
                with suppress(TimeoutError, PlaywrightError, KeyError):  # the frame may be detached meanwhile
                    await self._follow_once(frame, channel)
                    return
        finally:
            self._asking.discard(frame)

    async def follow_again(self, frame: str) -> None:
        """Follow a frame whose surroundings an event found unknown: on a busy machine every attempt may have failed."""
        if (where := self._contexts.get(frame)) is not None:
            await self.follow(frame, where[0])

    async def _follow_once(self, frame: str, channel: Channel) -> None:
        if frame not in self._parents:  # it was there before anybody listened
            self._attached_all((await channel.ask("Page.getFrameTree", {}))["frameTree"])
        where = self._contexts.get(self._parents.get(frame, ""))
        if where is None:
            _keep(self._too_early, frame, channel)
            return
        around, context = where
        owner = await around.ask("DOM.getFrameOwner", {"frameId": frame})
        found = {"backendNodeId": owner["backendNodeId"], "executionContextId": context}
        node = (await around.ask("DOM.resolveNode", found))["object"]["objectId"]
        call = {"objectId": node, "functionDeclaration": self._follow, "arguments": [{"value": frame}]}
        await around.ask("Runtime.callFunctionOn", call)
        await around.send("Runtime.releaseObject", {"objectId": node})

    def _attached_all(self, tree: Mapping[str, Any]) -> None:
        for child in tree.get("childFrames", ()):
            self.attached(str(child["frame"]["id"]), str(tree["frame"]["id"]))
            self._attached_all(child)

    def told(self, frame: str, chain: tuple[ElementRecord, ...], *, whole: bool, maker: str) -> None:
        """The listener around a frame says what there is."""
        _keep(self._around, frame, Surroundings(chain=chain, whole=whole, maker=maker))

    def continued(
        self, frame: str, chain: tuple[ElementRecord, ...], whole: bool
    ) -> tuple[tuple[ElementRecord, ...], bool, str]:
        """Return the chain of an element in ``frame`` past what its own listener sees, whether that chain reaches the
        root of the tab, and the frame whose surroundings are unknown (empty if there is none)."""
        found, piece = chain, chain
        for _ in range(_DEEPEST):
            if whole or not piece or piece[-1].within != "frame":
                break
            for _ in range(sum(each.within == "frame" for each in piece) - 1):  # frames that the listener sees into
                frame = self._parents.get(frame, "")
            around = self._around.get(frame)
            if around is None:
                return found, whole, frame
            piece, whole, frame = around.chain, around.whole, self._parents.get(frame, "")
            found = (*found, *piece)
        return found, whole, ""

    def maker_around(self, frame: str) -> str:
        """Whose the nearest page around ``frame`` is that is known; empty if none is."""
        for _ in range(_DEEPEST):
            around = self._around.get(frame)
            if around is None or around.maker:
                return around.maker if around else ""
            frame = self._parents.get(frame, "")
        return ""


_Value = TypeVar("_Value")


def _keep(known: dict[str, _Value], key: str, value: _Value) -> None:
    known.pop(key, None)
    known[key] = value
    if len(known) > _FRAMES:
        known.pop(next(iter(known)))
