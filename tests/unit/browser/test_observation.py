"""Parts of an observation that need no browser."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.browser.config import ObservationConfig, SessionConfig
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.observation import Observation, ScrollPosition, TabInfo, tab_line
from pytest_webarena.browser.observation.budget import cut_lines
from pytest_webarena.browser.snapshotting import observe_tab
from pytest_webarena.errors import BrowserError
from tests.cases import each_case


def test_tab_line_numbers_tabs_and_marks_the_current_one() -> None:
    tabs = [TabInfo(title="Shop", url="", active=False), TabInfo(title="Your\n cart", url="", active=True)]
    assert tab_line(tabs) == "Tab 0: Shop | Tab 1 (current): Your cart"


@each_case(
    ("scroll", "text"),
    [
        (ScrollPosition(y=0, viewport_height=720, content_height=720), ""),
        (ScrollPosition(y=0, viewport_height=720, content_height=1440), "… 1 screen below"),
        (ScrollPosition(y=720, viewport_height=720, content_height=1440), "… 1 screen above"),
        (ScrollPosition(y=360, viewport_height=720, content_height=3240), "… 0.5 screens above, 3 screens below"),
        (ScrollPosition(), ""),
    ],
)
def test_scroll_position_is_described_in_screens(scroll: ScrollPosition, text: str) -> None:
    assert scroll.describe() == text


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=30), min_size=1), st.integers(60, 400))
def test_truncation_keeps_whole_lines_and_counts_the_rest(lines: list[str], limit: int) -> None:
    text = "\n".join(lines)
    cut = cut_lines(text, limit)
    assert len(cut) <= max(limit, 60)
    if cut == text:
        return
    *kept, notice = cut.split("\n")
    assert kept == text.removesuffix("\n").split("\n")[: len(kept)]
    missing = text.removesuffix("\n").split("\n")[len(kept) :]
    assert notice == f"… cut here: {len(missing)} more lines, {sum(map(len, missing)) + len(missing)} characters"


def test_render_adds_url_error_dialog_notes_and_scroll_position() -> None:
    observation = Observation(
        text="Tab 0 (current): A\n\n[1] button 'x'",
        url="http://a.test/",
        title="A",
        tabs=(),
        error="[9] is disabled.",
        dialog="confirm 'Sure?'",
        notes=("The file 'a.txt' was downloaded.",),
        scroll=ScrollPosition(viewport_height=100, content_height=300),
        focused="[1] button 'x'",
    )
    assert observation.render().split("\n") == [
        "URL: http://a.test/",
        "Tab 0 (current): A",
        "",
        "[1] button 'x'",
        "… 2 screens below",
        "Note: The file 'a.txt' was downloaded.",
        "Focused: [1] button 'x'",
        "A dialog is open: confirm 'Sure?'. Press Enter to accept it or Escape to dismiss it.",
        "The last action had no effect: [9] is disabled.",
    ]


def test_record_image_is_hidden_from_the_agent() -> None:
    bare = Observation(text="", url="", title="", tabs=())
    assert (bare.images, bare.picture) == ((), None)
    hidden = replace(bare, for_record=b"r")
    assert (hidden.images, hidden.picture) == ((), b"r")
    shown = replace(hidden, screenshot=b"s", marked=b"m")
    assert (shown.images, shown.picture) == ((b"s", b"m"), b"m")


def test_exact_extractor_error_names_chromium() -> None:
    tabs: Any = SimpleNamespace(current=SimpleNamespace(is_observable=False))
    config = SessionConfig(observation=ObservationConfig(extractor="exact"))
    with pytest.raises(BrowserError, match="the exact extractor needs Chromium; use --browser chromium, or the fast"):
        asyncio.run(observe_tab(tabs, config, Deadline(1.0)))
