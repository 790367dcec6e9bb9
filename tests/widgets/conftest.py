"""One browser and one site for the widgets of a worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_webarena.browser.engine import BrowserEngine
from tests.browser.conftest import browser_executable, engine
from tests.widgets.measuring import Bench
from tests.widgets.site import WidgetSite

__all__ = ["bench", "browser_executable", "engine"]


@pytest.fixture(scope="session")
def bench(engine: BrowserEngine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """Measures cells with the worker's browser."""
    site = WidgetSite()
    bench = Bench(engine, site, tmp_path_factory.mktemp("uploads"))
    yield bench
    bench.close()
    site.close()
