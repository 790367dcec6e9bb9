"""Finds the browser to start, and builds its launch options."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_webarena.browser.config import BrowserName, EngineConfig, SessionConfig
from pytest_webarena.browser.launching import firefox
from pytest_webarena.errors import BrowserError
from pytest_webarena.gateway.egress import CHROMIUM_EGRESS_ARGS, PROXY_BYPASS, trust_arguments

__all__ = [
    "BrowserChoice",
    "driven_arguments",
    "find_browser",
    "is_sandbox_failure",
    "launch_options",
    "make_temp_dir",
    "page_options",
    "playwright_has",
    "require_ffmpeg",
]

_ON_PATH = (
    "chromium-headless-shell",
    "chrome-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
)
_MAC = ("Chromium.app/Contents/MacOS/Chromium", "Google Chrome.app/Contents/MacOS/Google Chrome")
_WINDOWS = (r"Chromium\Application\chrome.exe", r"Google\Chrome\Application\chrome.exe")
_PLACES = {"chromium": (_ON_PATH, _MAC, _WINDOWS), "firefox": (firefox.ON_PATH, firefox.MAC, firefox.WINDOWS)}
"""Names of installed browsers: on the PATH, as macOS applications, as Windows programs. WebKit has none."""

_OMITTED_ARGS = ("--disable-ipc-flooding-protection",)
"""Playwright's arguments that are left out. Normal browsers let a page change its address some 200 times in 10 s.
Without that limit, a page in a loop does so 200,000 times, and each change is an event."""
_QUIET_ARGS = ("--no-first-run", "--no-default-browser-check")
"""Arguments that prevent requests of the browser itself: every request of a run belongs to a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserChoice:
    """The browser that will be started."""

    executable: str | None
    """Path of the browser; None: Playwright starts its own build, or the requested channel."""
    name: str
    """Name for messages and records, e.g. ``chromium-headless-shell`` or ``chromium (Playwright)``."""
    version: str = ""
    """Version as the running browser reports it; empty before its start."""
    kind: BrowserName = "chromium"
    """Kind of browser, which determines its flags and settings."""
    playwrights: bool = False
    """Whether it is a build of Playwright's given by its path. Playwright uses another protocol for its own Firefox."""


def find_browser(
    explicit: str | None = None, *, browser_name: BrowserName = "chromium", headed: bool = False
) -> BrowserChoice:
    """Return the first of: ``explicit``, Playwright's own build if installed, a browser of the system.

    A headless shell has no window, so it is skipped if ``headed``. `BrowserError` says what to install.
    """
    if explicit:
        return _of_system(_explicit(explicit), browser_name)
    if playwright_has("chromium-headless-shell" if browser_name == "chromium" and not headed else browser_name):
        return BrowserChoice(executable=None, name=f"{browser_name} (Playwright)", kind=browser_name)
    for path in _system_candidates(browser_name):
        if not (headed and "headless-shell" in path.name):
            return _of_system(path, browser_name)
    raise BrowserError(_what_to_install(browser_name, headed))


def launch_options(
    choice: BrowserChoice, launch_args: Mapping[str, Any], *, proxy: str, temp: Path | None = None, trust: str = ""
) -> dict[str, Any]:
    """Return keyword arguments for Playwright's ``launch``: the user's, with our proxy, arguments and sandbox.

    ``temp`` is the folder for temporary files; None: the system's. ``trust``: see `EngineConfig`.
    """
    options = {key: value for key, value in launch_args.items() if value is not None}
    options["proxy"] = {"server": proxy, "bypass": PROXY_BYPASS}
    if choice.executable is not None:
        options["executable_path"] = choice.executable
        options.pop("channel", None)
    # Ctrl-C must reach pytest, which still has to read the pages, and closes the browser itself.
    options |= {"handle_sigint": False, "handle_sigterm": False, "handle_sighup": False}
    if choice.kind == "chromium":
        user_args = [str(arg) for arg in options.get("args", ())]
        options["args"] = list(
            dict.fromkeys([*_QUIET_ARGS, *CHROMIUM_EGRESS_ARGS, *trust_arguments(trust), *user_args])
        )
        options.setdefault("chromium_sandbox", not _is_root())
        if (left_out := options.get("ignore_default_args")) is not True:
            options["ignore_default_args"] = list(dict.fromkeys([*(left_out or ()), *_OMITTED_ARGS]))
    elif choice.kind == "firefox":
        options["firefox_user_prefs"] = firefox.preferences(options.get("firefox_user_prefs"))
        if choice.executable is not None and not choice.playwrights:
            options |= firefox.launch_options(choice.executable, options, temp)
    return options


def page_options(choice: BrowserChoice, launch_args: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``launch_args`` with the found browser, for pages outside of the harness; no proxy is set."""
    if choice.executable is None:
        return dict(launch_args)
    options: dict[str, Any] = {**launch_args, "executable_path": choice.executable}
    if choice.kind == "firefox" and not choice.playwrights:
        options["firefox_user_prefs"] = firefox.preferences(launch_args.get("firefox_user_prefs"), closed=False)
        options |= firefox.launch_options(choice.executable, launch_args, None)
    return options


def driven_arguments(engine: EngineConfig, session: SessionConfig, executable: str, *, sandbox: bool) -> list[str]:
    """Return the command line of a separate browser for one trial, whose default context uses the session's proxy."""
    width, height = session.viewport
    headed = engine.launch_args.get("headless") is False
    arguments = [
        *_QUIET_ARGS,
        *CHROMIUM_EGRESS_ARGS,
        *trust_arguments(engine.trust),
        f"--proxy-server={session.proxy or engine.proxy}",
        f"--proxy-bypass-list={session.proxy_bypass}",
        f"--window-size={width},{height}",
        f"--force-device-scale-factor={session.device_scale:g}",
        f"--lang={session.locale}",
        f"--accept-lang={session.locale}",
        "--force-prefers-reduced-motion",
        # Tabs in the background must not be suspended.
        "--disable-background-timer-throttling",
        "--disable-backgrounding-occluded-windows",
        "--disable-renderer-backgrounding",
        "--disable-component-extensions-with-background-pages",
        "--disable-component-update",
        "--disable-default-apps",
        "--disable-dev-shm-usage",
        "--disable-extensions",
        "--disable-popup-blocking",
        "--disable-sync",
        "--mute-audio",
        "--no-startup-window",
        "--password-store=basic",
        "--use-mock-keychain",
    ]
    if not headed:
        arguments += ["--hide-scrollbars", *(() if "headless" in Path(executable).name else ("--headless=new",))]
    if not sandbox:
        arguments.append("--no-sandbox")
    return list(dict.fromkeys([*arguments, *(str(arg) for arg in engine.launch_args.get("args") or ())]))


def is_sandbox_failure(message: str) -> bool:
    """Return whether a failed launch reports that this machine has no usable sandbox for the browser."""
    return any(text in message for text in ("No usable sandbox", "SUID sandbox", "zygote_host_impl_linux", "sandbox!"))


def _explicit(executable: str) -> Path:
    path = shutil.which(executable) or shutil.which(str(Path(executable).expanduser()))
    if path is None:
        raise BrowserError(
            f"browser executable: expected an executable file, found none at {executable!r}; "
            "give the path of a Chromium or Chrome (of a Firefox with --browser firefox), or leave it out to have "
            "one found"
        )
    return Path(path)


def _of_system(path: Path, browser_name: BrowserName) -> BrowserChoice:
    name = path.stem if path.suffix == ".exe" else path.name
    own = browser_name == "firefox" and firefox.is_playwrights(path)
    return BrowserChoice(executable=str(path), name=name, kind=browser_name, playwrights=own)


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def require_ffmpeg() -> None:
    """Raise `BrowserError` unless Playwright's video encoder is installed."""
    if not playwright_has("ffmpeg"):
        raise BrowserError(
            "expected Playwright's ffmpeg for videos, found it not installed; run: playwright install ffmpeg"
        )


def playwright_has(program: str) -> bool:
    """Return whether ``playwright install`` installed the program that this Playwright would start, e.g. ``firefox``.

    No driver is started for that.
    """
    spec = find_spec("playwright")
    if spec is None or spec.origin is None:
        return False
    package = Path(spec.origin).parent / "driver" / "package"
    try:
        listing = json.loads((package / "browsers.json").read_text("utf-8"))["browsers"]
    except (OSError, ValueError, KeyError):
        return False
    revisions = {
        str(revision)
        for browser in listing
        if browser.get("name") == program
        for revision in (browser.get("revision"), *browser.get("revisionOverrides", {}).values())
    }
    folder = program.replace("-", "_")
    return any(
        (_registry(package) / f"{folder}-{revision}" / "INSTALLATION_COMPLETE").exists() for revision in revisions
    )


def _registry(package: Path) -> Path:
    """Return the folder of Playwright's browsers."""
    configured = os.environ.get("PLAYWRIGHT_BROWSERS_PATH", "")
    if configured == "0":
        return package / ".local-browsers"
    if configured:
        return Path(configured)
    if platform.system() == "Darwin":
        return Path.home() / "Library" / "Caches" / "ms-playwright"
    if platform.system() == "Windows":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "ms-playwright"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ms-playwright"


def _system_candidates(browser_name: BrowserName) -> list[Path]:
    on_path, mac, windows = _PLACES.get(browser_name, ((), (), ()))
    found = [Path(path) for name in on_path if (path := shutil.which(name))]
    usual: list[Path] = []
    if platform.system() == "Darwin":
        usual = [root / name for root in (Path("/Applications"), Path.home() / "Applications") for name in mac]
    elif platform.system() == "Windows":
        roots = [os.environ.get(name) for name in ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")]
        usual = [Path(root) / name for root in roots if root for name in windows]
    return found + [path for path in usual if path.exists()]


def _what_to_install(browser_name: BrowserName, headed: bool) -> str:
    if browser_name == "webkit":
        return "expected Playwright's webkit, found it not installed; run: playwright install webkit"
    if browser_name == "firefox":
        return (
            "expected a Firefox, found neither Playwright's own nor one of "
            f"{', '.join(firefox.ON_PATH)} on the PATH; run one of\n"
            "    apt-get install firefox-esr         (Debian)\n"
            "    playwright install firefox\n"
            "or give one with --browser-executable=PATH"
        )
    system = "chromium" if headed else "chromium-headless-shell"
    kind = "a Chromium or Chrome with a window" if headed else "a Chromium or Chrome"
    return (
        f"expected {kind}, found neither Playwright's own nor one of {', '.join(_ON_PATH)} on the PATH; run one of\n"
        "    playwright install chromium\n"
        f"    apt-get install {system}        (Debian)\n"
        "or give one with --browser-executable=PATH"
    )


def make_temp_dir(directory: Path) -> None:
    """Create the directory of `EngineConfig.temp_dir`, but not its parents.

    The parent belongs to the run. If it is missing, the run has ended, and files of a late worker would never be
    removed: `BrowserError`.
    """
    try:
        directory.mkdir(exist_ok=True)
    except OSError as error:
        raise BrowserError(
            f"expected the run's directory {directory.parent} for temporary files: {error.strerror}; has the run ended?"
        ) from error
