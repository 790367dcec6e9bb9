"""``webarena sites open``: a signed-in browser on running sites, which leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.browser.config import EngineConfig
from pytest_webarena.browser.launching.discovery import find_browser
from pytest_webarena.commands.cli import main
from pytest_webarena.sites.site_daemon import DaemonClient
from tests.forum import FORUM, SITES
from tests.processes import Process, descendants, name_of, still_running

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]


@pytest.fixture
def running_forum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Start the forum's sites; stop them afterwards."""
    monkeypatch.setenv("WEBARENA_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("DISPLAY", ":0")  # the headless shell needs none
    monkeypatch.chdir(tmp_path)
    (tmp_path / "forum.py").write_text(FORUM)
    (tmp_path / "sites.yaml").write_text(SITES)
    assert main(["sites", "up", "--sites=./sites.yaml"]) == 0
    yield
    if (client := DaemonClient.find("./sites.yaml")) is not None:
        client.end()


def browsers() -> list[Process]:
    """Return the browsers that this process has started, each with all its processes."""
    return [process for process in descendants() if "chrom" in name_of(process)]


class Enter:
    """A user who records the running browsers before pressing Enter."""

    seen: list[Process]

    def readline(self) -> str:
        self.seen = browsers()
        return "\n"


def test_browser_opens_signed_in_and_closes_on_enter(
    running_forum: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(browsers())
    user = Enter()
    monkeypatch.setattr("sys.stdin", user)
    browser = f"--browser-executable={find_browser(EngineConfig().executable).executable}"
    assert main(["sites", "open", "forum", "--sites=./sites.yaml", "--user=bob", browser]) == 0
    assert (
        "http://forum.test/, signed in as bob; press Enter to close the browser, the sites keep running\n"
        in capsys.readouterr().out
    )
    opened = set(user.seen) - before
    assert opened
    assert still_running(opened) == []
    assert main(["sites", "open", "forum", "--sites=./sites.yaml", "--user=zed"]) == 2
    assert "--user: expected an account of forum (ann, bob, zoe, …), found 'zed'" in capsys.readouterr().err
