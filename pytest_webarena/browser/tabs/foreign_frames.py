"""Frames of other sites, which can't be watched from the page around them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame

from pytest_webarena.browser.faults import Unresponsive
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["watch_foreign_frames"]

_MOST = 20
"""Maximum number of frames that are watched."""


@dataclass(slots=True)
class _Restless:
    """Frames of a document that never settle or do not answer."""

    document: int = -1
    frames: set[Frame] = field(default_factory=set)


def _origin(frame: Frame) -> tuple[str, str]:
    """Return scheme and host of a frame; those of its parent if it has no address of its own."""
    parts = urlsplit(frame.url)
    if parts.netloc or frame.parent_frame is None:
        return parts.scheme, parts.netloc
    return _origin(frame.parent_frame)


async def watch_foreign_frames(tab: Tab, function: str, args: Sequence[Any], seconds: float) -> bool:
    """Return whether the frames of other sites in ``tab`` have changed, and are to be watched again.

    ``function`` is called in each and returns first whether it is settled, then the number of its changes. A frame that
    is not settled after ``seconds``, or does not answer, is not watched again: it must not delay every action.
    """
    restless: _Restless = tab.extras.setdefault(_Restless, _Restless())
    if restless.document != tab.document:
        restless.document, restless.frames = tab.document, set()
    found = [frame for frame in tab.page.frames if (around := frame.parent_frame) and _origin(frame) != _origin(around)]

    async def watch(frame: Frame) -> bool:
        with contextlib.suppress(PlaywrightError, Unresponsive):
            call = frame.evaluate(f"args => ({function})(...args)", list(args))
            is_calm, changes, *_ = await tab.run(call, seconds, "waiting for a frame")
            if is_calm:
                return bool(changes)
        restless.frames.add(frame)
        return False

    frames = [frame for frame in found if frame not in restless.frames][:_MOST]
    return any(await asyncio.gather(*map(watch, frames)))
