"""The worker's browser: started once, replaced after a crash, always stopped at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.actions import Goto, Noop
from pytest_webarena.browser.config import Deadlines, EngineConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import BrowserError
from tests.processes import Process, descendants, kill, name_of, still_running

if TYPE_CHECKING:
    from tests.browser.conftest import Web

OpenSession = Callable[..., Session]


@pytest.fixture
def own_engine(browser_executable: str | None, tmp_path: Path) -> EngineConfig:
    return EngineConfig(executable=browser_executable, temp_dir=tmp_path / "temp")


def driver_processes(before: list[Process]) -> tuple[list[Process], list[Process]]:
    """Return Playwright's driver started since ``before``, and the processes of its browser.

    Processes of the shared test browser are excluded.
    """
    drivers = [each for each in descendants(but=before) if "node" in name_of(each)]
    assert len(drivers) == 1
    return drivers, descendants(drivers[0])


def test_engine_version_names_browser_and_number(engine: BrowserEngine) -> None:
    name, _, version = engine.version.partition(" ")
    assert name == engine.choice.name
    assert version.split(".")[0].isdigit()


def test_browser_profile_is_in_run_folder_and_own_environment_is_kept(own_engine: EngineConfig, web: Web) -> None:
    temp, environment = tempfile.gettempdir(), dict(os.environ)
    assert own_engine.temp_dir is not None
    with BrowserEngine(own_engine) as engine, engine.session(SessionConfig(proxy=web.proxy)):
        assert any("profile" in path.name for path in own_engine.temp_dir.iterdir())
        assert (tempfile.gettempdir(), dict(os.environ)) == (temp, environment)
    assert list(own_engine.temp_dir.iterdir()) == []


def test_closing_leaves_no_process(own_engine: EngineConfig) -> None:
    before = descendants()
    engine = BrowserEngine(own_engine)
    with engine.session(SessionConfig()):
        driver, browser = driver_processes(before)
        assert browser
    engine.close()
    assert still_running(driver + browser) == []
    engine.close()  # twice is fine
    with pytest.raises(BrowserError, match="has been closed"), engine.session(SessionConfig()):
        pass


def test_engine_starts_no_process_before_first_session(own_engine: EngineConfig) -> None:
    before = descendants()
    BrowserEngine(own_engine).close()
    assert [each for each in descendants(but=before) if "node" in name_of(each)] == []


def test_killed_browser_is_a_browser_error_and_is_replaced(own_engine: EngineConfig, web: Web) -> None:
    web.put("/", "<title>T</title>")
    before = descendants()
    with BrowserEngine(own_engine) as engine:
        with engine.session(SessionConfig(proxy=web.proxy)) as session:
            session.open_tabs(["http://a.test/"])
            _, browser = driver_processes(before)
            assert browser
            kill(browser)
            with pytest.raises(BrowserError, match="the browser crashed or was killed"):
                session.observe()
        with engine.session(SessionConfig(proxy=web.proxy)) as session:
            session.open_tabs(["http://a.test/"])
            assert session.observe().title == "T"


@pytest.mark.exhaustive
def test_killed_driver_is_replaced(own_engine: EngineConfig, web: Web) -> None:
    web.put("/", "<title>T</title>")
    before = descendants()
    with BrowserEngine(own_engine) as engine:
        with engine.session(SessionConfig(proxy=web.proxy)) as session:
            session.open_tabs(["http://a.test/"])
            driver, _ = driver_processes(before)
            kill(driver)
            with pytest.raises(BrowserError):
                session.observe()
        with engine.session(SessionConfig(proxy=web.proxy)) as session:
            session.open_tabs(["http://a.test/"])
            assert session.observe().title == "T"


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is POSIX")
def test_killed_worker_leaves_no_browser_process(own_engine: EngineConfig, tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from pytest_webarena.browser.config import EngineConfig, SessionConfig\n"
        "from pytest_webarena.browser.engine import BrowserEngine\n"
        "engine = BrowserEngine(EngineConfig(executable=sys.argv[1] or None))\n"
        "with engine.session(SessionConfig()):\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(60)\n"
    )
    command = [sys.executable, "-c", script, own_engine.executable or ""]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
        processes = descendants(worker.pid)
        assert len(processes) > 1
        worker.send_signal(signal.SIGKILL)
    assert still_running(processes) == []


def test_session_without_proxy_reaches_nothing(engine: BrowserEngine, web: Web) -> None:
    port = web.proxy.rpartition(":")[2]
    with engine.session(SessionConfig()) as session:
        for url in (f"http://127.0.0.1:{port}/", f"http://localhost:{port}/", "http://a.test/"):
            assert "can't be reached from here" in session.execute(Goto(url)).error
    assert web.requests == []


def test_sessions_share_no_cookies_or_storage(open_session: OpenSession, web: Web) -> None:
    web.put("/in", "<script>document.cookie = 'who=ada'; localStorage.who = 'ada'</script>")
    web.put("/who", "<p id=p><script>p.textContent = document.cookie + '/' + localStorage.who</script>")
    first, second = open_session(), open_session()
    first.open_tabs(["http://a.test/in"])
    second.open_tabs(["http://a.test/who"])
    assert second.read_page(open=None, locate="css=p").texts == ("/undefined",)
    third = open_session(storage_state=first.storage_state())
    third.open_tabs(["http://a.test/who"])
    assert third.read_page(open=None, locate="css=p").texts == ("who=ada/ada",)


def test_session_settings_apply_to_page(open_session: OpenSession, web: Web) -> None:
    web.put(
        "/",
        "<p id=p><script>p.textContent = [innerWidth, innerHeight, navigator.language, new Date(0).getHours(),"
        "Intl.DateTimeFormat().resolvedOptions().timeZone, matchMedia('(prefers-reduced-motion)').matches]</script>",
    )
    plain, other = open_session(), open_session(viewport=(800, 600), locale="de-DE", timezone="Europe/Berlin")
    texts: list[str] = []
    for session in (plain, other):
        session.open_tabs(["http://a.test/"])
        texts += session.read_page(open=None, locate="css=p").texts
    assert texts == ["1280,720,en-US,0,UTC,true", "800,600,de-DE,1,Europe/Berlin,true"]
    assert other.observe().viewport == (800, 600)


def test_context_args_override_settings_except_the_proxy(open_session: OpenSession, web: Web) -> None:
    web.put("/", "<p id=p><script>p.textContent = navigator.userAgent</script>")
    session = open_session(context_args={"user_agent": "mine", "proxy": {"server": "http://127.0.0.1:1"}})
    session.open_tabs(["http://a.test/"])
    assert session.read_page(open=None, locate="css=p").texts == ("mine",)


def test_trace_is_written_when_configured(open_session: OpenSession, web: Web, tmp_path: Path) -> None:
    web.put("/", "<title>T</title>")
    session = open_session(trace=tmp_path / "trace.zip")
    session.open_tabs(["http://a.test/"])
    session.close()
    assert (tmp_path / "trace.zip").read_bytes()[:2] == b"PK"


def test_broken_browser_executable_is_a_browser_error(tmp_path: Path) -> None:
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\necho 'error while loading shared libraries: libx.so' >&2\nexit 127\n")
    fake.chmod(0o755)
    config = EngineConfig(executable=str(fake), deadlines=Deadlines(launch=10.0))
    with BrowserEngine(config) as engine, pytest.raises(BrowserError) as caught, engine.session(SessionConfig()):
        pass
    assert f"chromium ({fake}) did not start" in str(caught.value)
    assert "libx.so" in str(caught.value)


def test_browser_start_times_out(tmp_path: Path) -> None:
    fake = tmp_path / "chromium"
    fake.write_text("#!/bin/sh\nexec sleep 600\n")
    fake.chmod(0o755)
    config = EngineConfig(executable=str(fake), deadlines=Deadlines(launch=1.0, close=3.0))
    with (
        BrowserEngine(config) as engine,
        pytest.raises(BrowserError, match=r"chromium.* did not start within 1 s|chromium.*Timeout 1000ms"),
        engine.session(SessionConfig()),
    ):
        pass


def test_sessions_can_be_used_from_several_threads(open_session: OpenSession, web: Web) -> None:
    from concurrent.futures import ThreadPoolExecutor

    web.put("/", "<title>T</title>")
    session = open_session()
    session.open_tabs(["http://a.test/"])
    with ThreadPoolExecutor(4) as pool:
        outcomes = list(pool.map(lambda _: (session.observe().title, session.execute(Noop()).error), range(12)))
    assert outcomes == [("T", "")] * 12


def test_engine_does_not_recreate_a_removed_run_folder(browser_executable: str, tmp_path: Path) -> None:
    removed = tmp_path / "run" / "browser"
    engine = BrowserEngine(EngineConfig(executable=browser_executable, temp_dir=removed))
    with pytest.raises(BrowserError, match="has the run ended"), engine.session(SessionConfig()):
        pass
    engine.close()
    assert not removed.parent.exists()


def test_only_localhost_subdomains_are_secure_contexts_over_http(web: Web, open_session: OpenSession) -> None:
    script = "<script>document.title = window.isSecureContext ? 'secure' : 'plain'</script>"
    urls = [web.put("http://shop.localhost/", script), web.put("http://shop.test/", script)]
    session = open_session()
    session.open_tabs(urls)
    assert [tab.title for tab in session.tabs()] == ["secure", "plain"]
