"""Surroundings of frames whose parent document belongs to another site, so that they can't see them.

The listener in the parent document can. The protocol identifies the element that contains the frame, and the listener
reports that element with its ancestors, again whenever they change. So the element chain of an event can be continued
as soon as the event arrives, without a query: a click in such a frame may navigate away at once.
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
"""Maximum number of frames of a tab whose place is remembered."""
_DEEPEST = 10
"""Maximum depth of nested origins."""
_AGAIN = (0.1, 0.5, 2.0)
"""Delays in seconds of further queries about a frame, which may be between two processes, or the browser busy."""


class Channel(Protocol):
    """A protocol session, or one nested in it."""

    async def send(self, method: str, params: dict[str, Any]) -> object:
        """Send one command; return its answer if the session provides it."""
        ...

    async def ask(self, method: str, params: dict[str, Any]) -> Mapping[str, Any]:
        """Send one command; return its answer. Playwright's error if it fails or is not answered."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The element that contains a frame, with its ancestors in the documents of its origin."""

    chain: tuple[ElementRecord, ...]
    whole: bool
    """Whether the chain reaches the root of the tab."""
    maker: str
    """Address of the page around the frame, or its origin, or empty."""


class FrameChains:
    """Surroundings of the frames of one tab, by protocol id."""

    def __init__(self, follow: str) -> None:
        self._follow = follow
        """JavaScript function that makes a listener follow the element on which it is called."""
        self._parents: dict[str, str] = {}
        self._contexts: dict[str, tuple[Channel, int]] = {}
        """Channel and context of the listener of each frame's document."""
        self._around: dict[str, Surroundings] = {}
        self._too_early: dict[str, Channel] = {}
        """Frames that came before there was a listener around them."""
        self._asking: set[str] = set()
        """Frames whose surroundings are being asked for."""

    def note_attached(self, frame: str, parent: str) -> None:
        """Note that a frame is within another one."""
        _keep(self._parents, frame, parent)

    def note_detached(self, frame: str) -> None:
        """Note that a frame was removed. Its surroundings are kept, because events of it may arrive late."""
        self._contexts.pop(frame, None)

    def note_listener(self, frame: str, channel: Channel, context: int) -> list[tuple[str, Channel]]:
        """Note the world of the listener in a frame's new document.

        Returns the frames in it that existed before, each with its channel, which are to be followed now.
        """
        _keep(self._contexts, frame, (channel, context))
        inside = [child for child in self._too_early if self._parents.get(child) == frame]
        return [(child, self._too_early.pop(child)) for child in inside]

    def contexts(self) -> list[tuple[Channel, int]]:
        """Return the present and former contexts of the listeners of all frames."""
        return list(self._contexts.values())

    async def follow(self, frame: str, channel: Channel) -> None:
        """Make the document around a frame report it. ``channel``: where the frame's own listener is."""
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
        if (listener := self._contexts.get(frame)) is not None:
            await self.follow(frame, listener[0])

    async def _follow_once(self, frame: str, channel: Channel) -> None:
        if frame not in self._parents:  # it was there before anybody listened
            self._note_all_attached((await channel.ask("Page.getFrameTree", {}))["frameTree"])
        listener = self._contexts.get(self._parents.get(frame, ""))
        if listener is None:
            _keep(self._too_early, frame, channel)
            return
        channel_around, context = listener
        owner = await channel_around.ask("DOM.getFrameOwner", {"frameId": frame})
        found = {"backendNodeId": owner["backendNodeId"], "executionContextId": context}
        node = (await channel_around.ask("DOM.resolveNode", found))["object"]["objectId"]
        call = {"objectId": node, "functionDeclaration": self._follow, "arguments": [{"value": frame}]}
        await channel_around.ask("Runtime.callFunctionOn", call)
        await channel_around.send("Runtime.releaseObject", {"objectId": node})

    def _note_all_attached(self, tree: Mapping[str, Any]) -> None:
        for child in tree.get("childFrames", ()):
            self.note_attached(str(child["frame"]["id"]), str(tree["frame"]["id"]))
            self._note_all_attached(child)

    def store_surroundings(self, frame: str, chain: tuple[ElementRecord, ...], *, whole: bool, maker: str) -> None:
        """Store the surroundings that the listener around a frame reports."""
        _keep(self._around, frame, Surroundings(chain=chain, whole=whole, maker=maker))

    def extend_chain(
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

    def nearest_maker(self, frame: str) -> str:
        """Return the maker of the nearest known page around ``frame``; empty if there is none."""
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
