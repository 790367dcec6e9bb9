"""The ``exact`` extractor: the browser's own accessibility tree and one layout snapshot, made into lines."""

from __future__ import annotations

import asyncio

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.axtree import render_tree
from pytest_webarena.browser.observation.extraction import Extraction
from pytest_webarena.browser.observation.model import Scroll
from pytest_webarena.browser.observation.snapshot import DocumentLayout, read_snapshot
from pytest_webarena.browser.tab import Tab

__all__ = ["ExactExtractor"]


class ExactExtractor:
    """From the browser's own accessibility tree and one layout snapshot: two calls, and one for each visible iframe.

    Chromium only. Iframes of other sites (in processes of their own) are a bare line.
    """

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page."""
        tree, raw = await asyncio.gather(
            tab.send("Accessibility.getFullAXTree", seconds=seconds),
            tab.send("DOMSnapshot.captureSnapshot", {"computedStyles": []}, seconds=seconds),
        )
        layouts = read_snapshot(raw)
        if not layouts:
            return Extraction(lines=(), title="", elements={}, focused="", scroll=Scroll())
        main = layouts[0]
        trees = {main.frame_id: tree["nodes"]}
        frames = [layout for layout in layouts[1:] if not config.current_viewport_only or _shows(layout, main)]
        answers = await asyncio.gather(
            *(tab.send("Accessibility.getFullAXTree", {"frameId": each.frame_id}, seconds=seconds) for each in frames),
            return_exceptions=True,  # a frame may go between the two calls
        )
        for layout, answer in zip(frames, answers, strict=True):
            if isinstance(answer, dict):
                trees[layout.frame_id] = answer["nodes"]
        rendered = render_tree(trees, layouts, config)
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


def _shows(frame: DocumentLayout, main: DocumentLayout) -> bool:
    return frame.window.overlaps(main.window)
