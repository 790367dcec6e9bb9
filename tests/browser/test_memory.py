"""Memory use: a closed session leaves no objects behind, or a thousand trials would fill the process."""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.browser.config import ObservationConfig, SessionConfig
from pytest_webarena.browser.tabs.tab import Tab

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from tests.browser.conftest import Web


def tabs() -> int:
    gc.collect()
    return sum(type(each) is Tab for each in gc.get_objects())


@pytest.mark.matrix(1)
@pytest.mark.parametrize("extractor", ["fast", "exact"])
def test_closed_session_leaves_no_tab_objects(engine: BrowserEngine, web: Web, extractor: str) -> None:
    web.put("http://inner.test/", "<button>Within</button>")
    web.put("http://outer.test/", "<button>Around</button><iframe src='http://inner.test/'></iframe>")

    def play() -> None:
        observation = ObservationConfig(extractor=extractor)  # type: ignore[arg-type]
        with engine.session(SessionConfig(proxy=web.proxy, observation=observation)) as session:
            session.open_tabs(["http://outer.test/"])
            assert "Within" in session.observe().text

    play()
    before = tabs()
    for _ in range(3):
        play()
    assert tabs() <= before + 1  # the last one's loop may not have come round yet
