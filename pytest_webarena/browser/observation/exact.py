"""The ``exact`` extractor, which makes lines from the browser's accessibility tree and one layout snapshot."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.axtree import RenderedTree, render_tree
from pytest_webarena.browser.observation.compat import render_compat
from pytest_webarena.browser.observation.editors import STYLES
from pytest_webarena.browser.observation.extraction import Box, ElementInfo, Extraction, RemoteFrame
from pytest_webarena.browser.observation.html import HOLE, SNAPSHOT_STYLES, Html, fill_holes, render_html
from pytest_webarena.browser.observation.model import ScrollPosition
from pytest_webarena.browser.observation.remote_frames import remote_frames
from pytest_webarena.browser.observation.snapshot import DocumentLayout, read_snapshot
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["ExactExtractor"]

_TREE = "Accessibility.getFullAXTree"
_SNAPSHOT = "DOMSnapshot.captureSnapshot"


class ExactExtractor:
    """Extractor for Chromium only.

    It makes two calls, one more for each visible iframe, and two for each process that renders one. The ``html`` form
    is made from the same layout snapshot and has the same ids.
    """

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page."""
        reading = _Reading(tab, config, seconds)
        await reading.process(None, None)
        if not reading.layouts:
            return Extraction(lines=(), title="", elements={}, focused="", scroll=ScrollPosition())
        main = reading.layouts[0]
        rendered = RenderedTree(lines=(), elements={}, title=main.title, focused="")
        if config.needs("marks") or (config.needs("tree") and not config.compat):
            rendered = render_tree(reading.trees, reading.layouts, config)
        marks = rendered.marks if config.needs("marks") else {}
        if config.compat and config.needs("tree"):
            rendered = render_compat(reading.trees[main.frame_id], main, config)
        html = reading.html()
        return Extraction(
            lines=rendered.lines,
            title=rendered.title,
            elements={**rendered.elements, **html.elements},
            focused=rendered.focused,
            scroll=ScrollPosition(
                x=main.scroll[0],
                y=main.scroll[1],
                viewport_height=main.window.height,
                content_height=main.content[1],
            ),
            width=main.window.width,
            html=html.lines,
            marks=marks,
        )


class _Reading:
    """Data of one page, collected process by process."""

    def __init__(self, tab: Tab, config: ObservationConfig, seconds: float) -> None:
        self._tab, self._config, self._seconds = tab, config, seconds
        self.layouts: list[DocumentLayout] = []
        """Layouts of all documents, the main frame's first."""
        self._raw: list[tuple[Mapping[str, Any], Sequence[DocumentLayout]]] = []
        self.trees: dict[str, Sequence[Mapping[str, Any]]] = {}
        """Accessibility nodes by frame id."""

    async def process(self, remote: RemoteFrame | None, window: Box | None) -> None:
        """Read the documents that one process renders, then those of processes of frames in them."""
        config = self._config
        wants_html = config.needs("html")
        wants_tree = config.needs("tree", "marks")
        styles = (*(SNAPSHOT_STYLES if wants_html else ()), *STYLES)
        requests = [self._send(remote, _SNAPSHOT, {"computedStyles": list(styles)})]
        if wants_tree:
            requests.append(self._send(remote, _TREE))
        raw, *trees = await asyncio.gather(*requests)
        layouts = list(read_snapshot(raw, window=window, remote=remote))
        if not layouts:
            return
        first = len(self.layouts)
        self.layouts += layouts
        if wants_html:
            self._raw.append((raw, tuple(layouts)))
        if trees:
            self.trees[layouts[0].frame_id] = trees[0]["nodes"]
        if config.compat and not config.needs("html", "marks"):
            return
        frames = [layout for layout in layouts[1:] if trees and self._shows(layout.window)]
        answers = await asyncio.gather(
            *(self._send(remote, _TREE, {"frameId": each.frame_id}) for each in frames),
            return_exceptions=True,  # a frame may be removed between the two calls
        )
        for layout, answer in zip(frames, answers, strict=True):
            if isinstance(answer, dict):
                self.trees[layout.frame_id] = answer["nodes"]
        for index, layout in enumerate(layouts, first):
            hollow = {owner: box for owner, box in layout.remote_iframes.items() if self._shows(box)}
            if hollow:
                self.layouts[index] = layout.with_frames(await self._inner(remote, hollow))

    def html(self) -> Html:
        """Return the ``html`` form with frames of other processes in their places; empty if it is not requested."""
        elements: dict[str, ElementInfo] = {}
        lines: list[str] = []
        for raw, layouts in self._raw:  # outer documents come before inner ones
            html = render_html(raw, layouts, self._config)
            elements |= html.elements
            owner = layouts[0].remote
            lines = list(html.lines) if owner is None else fill_holes(lines, owner, html.lines)
        return Html(lines=tuple(line for line in lines if HOLE not in line), elements=elements)

    async def _inner(self, parent: RemoteFrame | None, hollow: Mapping[int, Box]) -> dict[int, str]:
        """Read iframes of other processes; return the frame ids of those that could be read, by owner."""
        found = {}
        for frame in await remote_frames(self._tab, parent, seconds=self._seconds):
            if frame.owner in hollow:
                try:
                    await self.process(frame, hollow[frame.owner])
                except PlaywrightError:
                    continue  # it has navigated meanwhile: a bare line represents it this time
                found[frame.owner] = frame.frame_id
        return found

    def _shows(self, box: Box) -> bool:
        return not self._config.current_viewport_only or not self.layouts or box.overlaps(self.layouts[0].window)

    async def _send(self, remote: RemoteFrame | None, method: str, parameters: dict[str, Any] | None = None) -> Any:
        if remote is None:
            return await self._tab.send(method, parameters, seconds=self._seconds)
        return await self._tab.run(remote.session.send(method, parameters or {}), self._seconds, method)
