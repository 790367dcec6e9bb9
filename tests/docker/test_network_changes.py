"""Starting a container changes the machine's network, which makes browsers drop requests of loading pages."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.browser.config import Deadlines, EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.launching.discovery import find_browser
from tests.browser.conftest import Request, Web

if TYPE_CHECKING:
    from pathlib import Path

    from docker import DockerClient

pytestmark = [pytest.mark.docker, pytest.mark.browser]

CALM = Deadlines(settle=20.0)


@pytest.mark.matrix(1)
@pytest.mark.parametrize("notified", [False, True], ids=["steady", "notified"])
def test_page_loads_completely_while_a_container_starts(
    engine: DockerClient, embedded_image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, notified: bool
) -> None:
    """Browsers open six connections to a host. Six scripts occupy them, so that further requests wait and would be
    dropped.

    On Linux, browsers are shielded from network changes. With ``notified`` they are not, and the page is loaded again.
    """
    if notified:
        monkeypatch.setattr("pytest_webarena.browser.loop.steady_command", list)
    web = Web()
    pages: list[str] = []
    containers: list[Any] = []

    def page(request: Request) -> str:
        pages.append(request.url)
        if len(pages) == 1:
            start = engine.containers.run
            containers.append(
                start(embedded_image, ["-c", "input()"], entrypoint="python3", stdin_open=True, detach=True)
            )
        scripts = "".join(f"<script src=/slow{number}.js></script>" for number in range(6))
        return f"<p>poor</p>{scripts}<script src=/a.js></script>"

    def slow(request: Request) -> object:
        # The container's interface gets its address after about two seconds.
        ends = time.monotonic() + 4
        while len(pages) == 1 and time.monotonic() < ends:
            web.released.wait(0.05)
        return web.reply("", Content_Type="text/javascript")

    web.file("/a.js", "document.querySelector('p').textContent = 'rich'", "text/javascript", Cache_Control="no-store")
    for number in range(6):
        web.put(f"/slow{number}.js", slow)  # type: ignore[arg-type]
    try:
        browser = EngineConfig(executable=find_browser(None).executable, temp_dir=tmp_path)
        with BrowserEngine(browser) as engine_, engine_.session(SessionConfig(proxy=web.proxy, deadlines=CALM)) as tab:
            tab.open_tabs([web.put("/", page)])
            assert tab.read_page(open=None, locate="css=p").texts == ("rich",)
        if notified and len(pages) == 1:
            pytest.skip("a container's start changes no address of this machine (no IPv6?)")
        assert len(pages) == (2 if notified else 1)
    finally:
        for container in containers:
            container.remove(force=True)
        web.close()
