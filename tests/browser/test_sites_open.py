"""``webarena sites open``: a browser on sites that stand, signed in, and nothing of it left afterwards."""

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
def judge_eligibility_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The forum, up."""
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
    """Browsers that this process has started, each with all its processes."""
    return [process for process in descendants() if "chrom" in name_of(process)]


class Enter:
    """Somebody who looks at what runs before pressing Enter."""

    seen: list[Process]

    def readline(self) -> str:
        self.seen = browsers()
        return "\n"


def test_a_browser_opens_signed_in_and_ends_with_enter(
    judge_eligibility_of: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = set(browsers())
    somebody = Enter()
    monkeypatch.setattr("sys.stdin", somebody)
    browser = f"--browser-executable={find_browser(EngineConfig().executable).executable}"
    assert main(["sites", "open", "forum", "--sites=./sites.yaml", "--user=bob", browser]) == 0
    assert "http://forum.test/ as bob; Enter ends the browser, the sites stay up\n" in capsys.readouterr().out
    opened = set(somebody.seen) - before
    assert opened
    assert still_running(opened) == []
    assert main(["sites", "open", "forum", "--sites=./sites.yaml", "--user=zed"]) == 2
    assert "--user: expected an account of forum (ann, bob, zoe, …), found 'zed'" in capsys.readouterr().err
