"""Choice of browser, errors without one, and launch options."""

from __future__ import annotations

import json
import os
import platform
import sys
from pathlib import Path

import playwright
import pytest

from pytest_webarena.browser.launching.discovery import (
    BrowserChoice,
    find_browser,
    is_sandbox_failure,
    launch_options,
    page_options,
)
from pytest_webarena.browser.launching.firefox import named_executable
from pytest_webarena.errors import BrowserError
from pytest_webarena.gateway.egress import CHROMIUM_EGRESS_ARGS, FIREFOX_EGRESS_PREFS, PROXY_BYPASS

SHELL, FULL = "chromium-headless-shell", "chromium"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without any browser; executables put into the folder are on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path / "playwright"))
    monkeypatch.setattr(platform, "system", lambda: "Linux")
    return tmp_path


def install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)


def install_playwright_build(folder: Path, name: str) -> None:
    package = Path(playwright.__file__).parent / "driver" / "package"
    builds = json.loads((package / "browsers.json").read_text())["browsers"]
    revision = next(build["revision"] for build in builds if build["name"] == name)
    home = folder / "playwright" / f"{name.replace('-', '_')}-{revision}"
    home.mkdir(parents=True)
    (home / "INSTALLATION_COMPLETE").touch()


def test_an_explicit_executable_wins(machine: Path) -> None:
    install(machine, SHELL, "my-chrome")
    assert find_browser(str(machine / "my-chrome")).executable == str(machine / "my-chrome")
    assert find_browser("my-chrome").name == "my-chrome"


def test_an_explicit_executable_must_exist(machine: Path) -> None:
    install(machine, SHELL)
    with pytest.raises(BrowserError, match="expected an executable file, found none at 'my-chrome'"):
        find_browser("my-chrome")


def test_playwright_build_is_preferred_to_the_system_browser(machine: Path) -> None:
    install(machine, FULL)
    install_playwright_build(machine, SHELL)
    assert find_browser() == BrowserChoice(executable=None, name="chromium (Playwright)")
    # Only the headless build is installed, so a window needs the system browser.
    assert find_browser(headed=True).executable == str(machine / FULL)


def test_the_headless_shell_is_preferred_but_has_no_window(machine: Path) -> None:
    install(machine, FULL, SHELL)
    assert find_browser().name == SHELL
    assert find_browser(headed=True).name == FULL


@pytest.mark.skipif(os.name != "posix", reason="the paths are those of macOS")
def test_macos_application_is_found(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    monkeypatch.setenv("HOME", str(machine))
    app = machine / "Applications" / "Google Chrome.app" / "Contents" / "MacOS" / "Google Chrome"
    app.parent.mkdir(parents=True)
    app.touch()
    assert find_browser().executable == str(app)


@pytest.mark.parametrize(("headed", "package"), [(False, SHELL), (True, FULL)])
def test_missing_browser_error_says_what_to_install(machine: Path, headed: bool, package: str) -> None:
    with pytest.raises(BrowserError) as caught:
        find_browser(headed=headed)
    assert "playwright install chromium" in str(caught.value)
    assert f"apt-get install {package} " in str(caught.value)


def test_webkit_is_found_only_as_a_playwright_build(machine: Path) -> None:
    with pytest.raises(BrowserError, match="playwright install webkit"):
        find_browser(browser_name="webkit")
    install_playwright_build(machine, "webkit")
    assert find_browser(browser_name="webkit").executable is None


def test_system_firefox_is_used_without_a_playwright_build(machine: Path) -> None:
    with pytest.raises(BrowserError, match="apt-get install firefox-esr"):
        find_browser(browser_name="firefox")
    install(machine, "firefox", "firefox-esr", SHELL)
    found = find_browser(browser_name="firefox")
    assert (found.name, found.executable, found.kind) == ("firefox-esr", str(machine / "firefox-esr"), "firefox")
    install_playwright_build(machine, "firefox")
    assert find_browser(browser_name="firefox").executable is None


def test_launch_options_keep_user_options_and_force_the_proxy() -> None:
    given = {
        "headless": False,
        "slow_mo": 5,
        "args": ["--x"],
        "proxy": {"server": "http://elsewhere:1"},
        "channel": None,
    }
    options = launch_options(BrowserChoice(executable="/b/chromium", name=FULL), given, proxy="http://127.0.0.1:1")
    assert options["proxy"] == {"server": "http://127.0.0.1:1", "bypass": PROXY_BYPASS}
    assert options["executable_path"] == "/b/chromium"
    assert (options["headless"], options["slow_mo"]) == (False, 5)
    assert set(CHROMIUM_EGRESS_ARGS) | {"--x"} <= set(options["args"])
    assert "channel" not in options
    assert options["handle_sigint"] is False


@pytest.mark.parametrize(
    ("given", "left_out"),
    [
        ({}, ["--disable-ipc-flooding-protection"]),
        ({"ignore_default_args": ["--mute-audio"]}, ["--mute-audio", "--disable-ipc-flooding-protection"]),
        ({"ignore_default_args": True}, True),
    ],
)
def test_ipc_flooding_protection_stays_enabled(given: dict[str, object], left_out: object) -> None:
    choice = BrowserChoice(executable=None, name="chromium (Playwright)")
    assert launch_options(choice, given, proxy="http://127.0.0.1:1")["ignore_default_args"] == left_out


@pytest.mark.parametrize(("uid", "sandbox"), [(0, False), (1000, True)])
def test_chromium_sandbox_is_disabled_only_for_root(monkeypatch: pytest.MonkeyPatch, uid: int, sandbox: bool) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid, raising=False)
    choice = BrowserChoice(executable=None, name="chromium (Playwright)")
    assert launch_options(choice, {}, proxy="http://127.0.0.1:1")["chromium_sandbox"] is sandbox
    assert launch_options(choice, {"chromium_sandbox": False}, proxy="http://127.0.0.1:1")["chromium_sandbox"] is False


def test_chromium_of_any_name_gets_the_egress_arguments(machine: Path) -> None:
    install(machine, "browser-of-mine")
    options = launch_options(find_browser("browser-of-mine"), {}, proxy="http://127.0.0.1:1")
    assert set(CHROMIUM_EGRESS_ARGS) <= set(options["args"])


def test_playwrights_firefox_gets_preferences_not_flags() -> None:
    choice = BrowserChoice(executable=None, name="firefox (Playwright)", kind="firefox")
    given = {"firefox_user_prefs": {"mine": 1, "network.dns.disabled": False, "ui.prefersReducedMotion": 0}}
    options = launch_options(choice, given, proxy="http://127.0.0.1:1")
    assert "args" not in options
    assert "chromium_sandbox" not in options
    assert "channel" not in options
    preferences = options["firefox_user_prefs"]
    assert (preferences["mine"], preferences["ui.prefersReducedMotion"]) == (1, 0)
    assert FIREFOX_EGRESS_PREFS.items() <= preferences.items()


@pytest.mark.skipif(sys.platform == "win32", reason="there it is started directly")
def test_stock_firefox_is_started_through_the_bridge(
    machine: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    install(machine, "firefox-esr")
    home, temp = tmp_path_factory.mktemp("home"), tmp_path_factory.mktemp("temp")
    monkeypatch.setenv("HOME", str(home))
    found = find_browser(browser_name="firefox")
    options = launch_options(found, {}, proxy="http://127.0.0.1:1", temp=temp)
    assert os.access(options["executable_path"], os.X_OK)
    assert options["channel"] == "moz-firefox"
    assert (options["env"]["HOME"], options["env"]["TMPDIR"]) == (str(home), str(temp))
    assert named_executable(options) == found.executable  # such options may be passed in again as the user's
    pages = page_options(found, {"slow_mo": 5})  # of other plugins' tests
    assert (pages["executable_path"], pages["slow_mo"]) == (options["executable_path"], 5)
    assert not FIREFOX_EGRESS_PREFS.keys() & pages["firefox_user_prefs"].keys()
    monkeypatch.setenv("HOME", str(home / "nowhere"))  # as under sudo, or in a container without a home
    assert launch_options(found, {}, proxy="http://127.0.0.1:1", temp=temp)["env"]["HOME"] == str(temp)


def test_patched_firefox_given_by_path_is_a_playwright_build(machine: Path) -> None:
    install(machine, "firefox")
    (machine / "playwright.cfg").touch()
    options = launch_options(find_browser("firefox", browser_name="firefox"), {}, proxy="http://127.0.0.1:1")
    assert "channel" not in options
    assert options["executable_path"] == str(machine / "firefox")


def test_a_missing_sandbox_is_recognised() -> None:
    assert is_sandbox_failure("[1:1:FATAL:zygote_host_impl_linux.cc(128)] No usable sandbox! …")
    assert not is_sandbox_failure("Executable doesn't exist")
