"""The ``exact`` extractor: the browser's own accessibility tree and one layout snapshot, made into lines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.axtree import RenderedTree, render_tree
from pytest_webarena.browser.observation.compat import render_compat
from pytest_webarena.browser.observation.extraction import Extraction, RemoteFrame
from pytest_webarena.browser.observation.model import Scroll
from pytest_webarena.browser.observation.remote import remote_frames
from pytest_webarena.browser.observation.snapshot import Box, DocumentLayout, read_snapshot
from pytest_webarena.browser.tab import Tab

__all__ = ["ExactExtractor"]

_TREE = "Accessibility.getFullAXTree"
_SNAPSHOT = "DOMSnapshot.captureSnapshot"


class ExactExtractor:
    """Chromium only. Two calls, one more for each visible iframe, and two for each process that renders one."""

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page."""
        reading = _Reading(tab, config, seconds)
        await reading.process(None, None)
        if not reading.layouts:
            return Extraction(lines=(), title="", elements={}, focused="", scroll=Scroll())
        main = reading.layouts[0]
        if config.compat:
            return _extraction(render_compat(reading.trees[main.frame_id], main, config), main)
        return _extraction(render_tree(reading.trees, reading.layouts, config), main)


class _Reading:
    """What was read of one page, process by process."""

    def __init__(self, tab: Tab, config: ObservationConfig, seconds: float) -> None:
        self._tab, self._config, self._seconds = tab, config, seconds
        self.layouts: list[DocumentLayout] = []
        """The main frame's first."""
        self.trees: dict[str, Sequence[Mapping[str, Any]]] = {}
        """Frame id to accessibility nodes."""

    async def process(self, remote: RemoteFrame | None, window: Box | None) -> None:
        """Read the documents that one process renders, then those of processes inside it."""
        tree, raw = await asyncio.gather(
            self._send(remote, _TREE), self._send(remote, _SNAPSHOT, {"computedStyles": []})
        )
        layouts = list(read_snapshot(raw, window=window, remote=remote))
        if not layouts:
            return
        first = len(self.layouts)
        self.layouts += layouts
        self.trees[layouts[0].frame_id] = tree["nodes"]
        if self._config.compat:
            return
        frames = [layout for layout in layouts[1:] if self._shows(layout.window)]
        answers = await asyncio.gather(
            *(self._send(remote, _TREE, {"frameId": each.frame_id}) for each in frames),
            return_exceptions=True,  # a frame may go between the two calls
        )
        for layout, answer in zip(frames, answers, strict=True):
            if isinstance(answer, dict):
                self.trees[layout.frame_id] = answer["nodes"]
        for index, layout in enumerate(layouts, first):
            hollow = {owner: box for owner, box in layout.hollow.items() if self._shows(box)}
            if hollow:
                self.layouts[index] = layout.with_frames(await self._inner(remote, hollow))

    async def _inner(self, around: RemoteFrame | None, hollow: Mapping[int, Box]) -> dict[int, str]:
        """Read what is in iframes of other processes; owner to frame id of those that could be."""
        found = {}
        for frame in await remote_frames(self._tab, around, seconds=self._seconds):
            if frame.owner in hollow:
                try:
                    await self.process(frame, hollow[frame.owner])
                except PlaywrightError:
                    continue  # it has gone elsewhere meanwhile: for now, a bare line
                found[frame.owner] = frame.frame_id
        return found

    def _shows(self, box: Box) -> bool:
        return not self._config.current_viewport_only or not self.layouts or box.overlaps(self.layouts[0].window)

    async def _send(self, remote: RemoteFrame | None, method: str, parameters: dict[str, Any] | None = None) -> Any:
        if remote is None:
            return await self._tab.send(method, parameters, seconds=self._seconds)
        return await self._tab.run(remote.session.send(method, parameters or {}), self._seconds, method)


def _extraction(rendered: RenderedTree, main: DocumentLayout) -> Extraction:
    return Extraction(
        lines=rendered.lines,
        title=rendered.title,
        elements=rendered.elements,
        focused=rendered.focused,
        scroll=Scroll(
            x=main.scroll[0],
            y=main.scroll[1],
            viewport_height=main.window.height,
            content_height=main.content[1],
        ),
    )
