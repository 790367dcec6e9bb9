"""The ``fast`` extractor, which computes the lines of ``exact`` in the page, for visible content only."""

from __future__ import annotations

import re

from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.messages import writable
from pytest_webarena.browser.observation.extraction import Box, Extraction
from pytest_webarena.browser.observation.fast.worlds import LostWorld
from pytest_webarena.browser.observation.markup import rules
from pytest_webarena.browser.observation.model import ScrollPosition
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["FastExtractor"]

_ID = re.compile(r"^\t*\[(\d+)\]", re.MULTILINE)


class FastExtractor:
    """Extractor for all browsers, with one call per observation whatever the page's size.

    Roles, names and states are those of ARIA in HTML and accname, with the words of Chromium's accessibility tree.
    ``docs/observations.md`` lists differences between the extractors. Nothing is written into the page.
    """

    async def extract(self, tab: Tab, config: ObservationConfig, *, seconds: float) -> Extraction:
        """Read the page."""
        options = {
            "viewport": config.current_viewport_only,
            "urls": config.link_urls,
            "maxOptions": config.max_options,
        }
        html: tuple[str, ...] = ()
        marks: dict[str, Box] = {}
        try:
            if config.needs("html"):
                asked = {"viewport": config.html_viewport_only, "maxOptions": config.max_options, "rules": rules()}
                found = await tab.in_page.markup(asked, seconds=seconds)
                html = tuple(writable(found.text).split("\n"))
            if config.needs("tree", "marks") or not config.needs("html"):
                found = await tab.in_page.read(options, seconds=seconds)
            if config.needs("marks"):
                places = await tab.in_page.boxes(_ID.findall(found.text), seconds=seconds)
                marks = {id: Box(*place) for id, place in places.items()}
        except LostWorld as error:
            raise PlaywrightError(str(error)) from error  # handled like any call during which the page navigates
        x, y, height, content, width = found.scroll
        return Extraction(
            lines=tuple(writable(found.text).split("\n")) if config.needs("tree", "marks") else (),
            title=writable(found.title),
            elements={},  # the page itself maps ids to elements: `InPage.locate`
            focused=found.focused,
            scroll=ScrollPosition(x=x, y=y, viewport_height=height, content_height=content),
            width=width,
            html=html,
            marks=marks,
        )
