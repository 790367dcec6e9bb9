"""A Firefox of the system: its location, and the settings with which it behaves like the other browsers.

Playwright drives its own patched Firefox, and an unpatched one by WebDriver BiDi.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.gateway.egress import FIREFOX_EGRESS_PREFS

__all__ = [
    "CHANNEL",
    "MAC",
    "ON_PATH",
    "WINDOWS",
    "is_playwrights",
    "launch_options",
    "named_executable",
    "preferences",
]

CHANNEL = "moz-firefox"
"""Channel that makes Playwright use WebDriver BiDi."""

ON_PATH = ("firefox-esr", "firefox")
MAC = ("Firefox.app/Contents/MacOS/firefox",)
WINDOWS = (r"Mozilla Firefox\firefox.exe",)

_BRIDGE = Path(__file__).with_name("bidi_bridge.sh")

_PREFERENCES: dict[str, bool | int | str] = {
    # Going back loads a page again, as in the other browsers, instead of resuming its scripts half-way.
    "browser.sessionhistory.max_total_viewers": 0,
    "fission.bfcacheInParent": False,
    # Input is sent to one process: with isolation, frames of other sites would get none, or would be missed.
    "fission.autostart": False,
    "fission.webContentIsolationStrategy": 0,
    # Only pages make requests.
    "browser.chrome.site_icons": False,
    "browser.chrome.favicons": False,
    # Addresses are used as given; the sites use http.
    "dom.security.https_first": False,
    "dom.security.https_first_schemeless": False,
    "dom.security.https_only_mode": False,
    # As in contexts of Chromium, because BiDi can't set `reduced_motion`.
    "ui.prefersReducedMotion": 1,
    # Windows that a page opens are tabs, and those opened by a click are permitted as in Chromium.
    "dom.disable_open_during_load": False,
    "dom.popup_maximum": 1000,
    # No prompts, because nobody would answer them.
    "browser.translations.automaticallyPopup": False,
    "dom.disable_beforeunload": False,
    "dom.require_user_interaction_for_beforeunload": True,
    "print.always_print_silent": True,
    "print.print_to_file": True,
    "signon.rememberSignons": False,
}


def preferences(given: Mapping[str, Any] | None, *, closed: bool = True) -> dict[str, Any]:
    """Return preferences for the start in addition to ``given``. ``closed``: the gateway is the only network exit."""
    return {**_PREFERENCES, **(given or {}), **(FIREFOX_EGRESS_PREFS if closed else {})}


def is_playwrights(executable: Path) -> bool:
    """Return whether it is Playwright's patched build, which uses Playwright's own protocol instead of BiDi."""
    folder = executable.resolve().parent
    return any((place / "playwright.cfg").exists() for place in (folder, folder.parent / "Resources"))


def launch_options(executable: str, given: Mapping[str, Any], temp: Path | None) -> dict[str, Any]:
    """Return Playwright's ``launch`` arguments for a stock Firefox, added to ``given``; it uses the bridge where
    possible.

    As root, Firefox refuses to start with another user's home (``sudo`` keeps HOME; CI runners mount one). Then its
    home is ``temp``, which also contains its profile.
    """
    options: dict[str, Any] = {"executable_path": executable, "channel": CHANNEL}
    if sys.platform == "win32":
        return options
    environment = dict(os.environ if given.get("env") is None else given["env"])
    folder = str(temp.resolve()) if temp is not None else tempfile.gettempdir()
    environment |= {"TMPDIR": folder, "MOZ_REMOTE_SETTINGS_DEVTOOLS": "1"}
    if not _owns_home():
        environment["HOME"] = folder
    environment |= {"WEBARENA_BRIDGE_FIREFOX": executable, "WEBARENA_BRIDGE_PYTHON": sys.executable}
    return {**options, "executable_path": str(_BRIDGE), "env": environment}


def named_executable(launch_args: Mapping[str, Any]) -> str | None:
    """Return the browser in ``launch_args``, which may be those of `launch_options`, with the bridge as executable."""
    executable = launch_args.get("executable_path")
    if executable == str(_BRIDGE):
        return str(launch_args["env"]["WEBARENA_BRIDGE_FIREFOX"])
    return None if executable is None else str(executable)


def _owns_home() -> bool:
    try:
        return Path.home().stat().st_uid == os.geteuid() and os.access(Path.home(), os.W_OK)
    except (OSError, RuntimeError):
        return False
