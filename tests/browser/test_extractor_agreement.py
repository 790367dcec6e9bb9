"""The two extractors print the same lines, except for known differences explained in docs/observations.md."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_webarena.browser.config import ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from tests.browser.conftest import QUICK, Web

PAGES = sorted(Path(__file__).with_name("agreement").glob("*.html"))

KNOWN: dict[str, list[str]] = {
    "editors viewport": ["- link 'Home / '", "+ link 'Home /'"],
    "editors page": ["- link 'Home / '", "+ link 'Home /'"],
    "names viewport": ["- textbox ' Spaced out ' required: False", "+ textbox 'Spaced out' required: False"],
    "names page": ["- textbox ' Spaced out ' required: False", "+ textbox 'Spaced out' required: False"],
    "structure page": ["- StaticText 'fallback'"],
    "titles viewport": ["- link ' x'", "+ link 'x'"],
    "titles page": ["- link ' x'", "+ link 'x'"],
    "trees viewport": ["- DisclosureTriangle 'Details'", "- StaticText 'floated'", "+ link 'floated'"],
    "trees page": [
        "+ generic '' scroll: 2 screens below",
        "- generic '' scroll: 1.6 screens below",
        "- DisclosureTriangle 'Details'",
        "- MathMLIdentifier ''",
        "- StaticText '\N{MATHEMATICAL ITALIC SMALL X}'",
        "+ StaticText 'x'",
    ],
}
"""Lines that only ``exact`` (-) or only ``fast`` (+) prints."""

Read = dict[tuple[str, bool], Session]


@pytest.fixture(scope="module")
def sessions(engine: BrowserEngine) -> Iterator[tuple[Web, Read]]:
    """One session for each extractor, viewport only or not."""
    web = Web()
    with ExitStack() as stack:
        stack.callback(web.close)
        found: Read = {}
        for extractor in ("exact", "fast"):
            for viewport in (True, False):
                observation = ObservationConfig.from_plain({"extractor": extractor, "current_viewport_only": viewport})
                config = SessionConfig(proxy=web.proxy, deadlines=QUICK, observation=observation)
                found[extractor, viewport] = stack.enter_context(engine.session(config))
        yield web, found


@pytest.mark.matrix(4)
@pytest.mark.parametrize("viewport", [True, False], ids=["viewport", "page"])
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_both_extractors_print_the_same_lines(sessions: tuple[Web, Read], page: Path, viewport: bool) -> None:
    web, read = sessions
    url = web.put(f"/{page.name}", page.read_text("utf-8"))
    exact, fast = (lines(read[extractor, viewport], url) for extractor in ("exact", "fast"))
    assert len(exact) > 30
    found = [
        line[0] + " " + line[1:].strip()
        for line in difflib.unified_diff(exact, fast, lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    assert sorted(found) == sorted(KNOWN.get(f"{page.stem} {'viewport' if viewport else 'page'}", []))


def lines(session: Session, url: str) -> list[str]:
    """Return the lines below the tab line, without ids."""
    session.open_tabs([url])
    return [re.sub(r"^(\t*)\[\d+\] ", r"\1", line) for line in session.observe().text.split("\n")[2:]]
