"""A Firefox of the system: where it is, and what has to be set for it to behave as the other browsers do.

Playwright drives its own patched Firefox, and an unpatched one over WebDriver BiDi.
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
"""Tells Playwright to speak WebDriver BiDi."""

ON_PATH = ("firefox-esr", "firefox")
MAC = ("Firefox.app/Contents/MacOS/firefox",)
WINDOWS = (r"Mozilla Firefox\firefox.exe",)

_BRIDGE = Path(__file__).with_name("bidi_bridge.sh")

_PREFERENCES: dict[str, bool | int | str] = {
    # A page that is gone back to is loaded anew, as in the other browsers: its scripts don't wake up half-way.
    "browser.sessionhistory.max_total_viewers": 0,
    "fission.bfcacheInParent": False,
    # What the mouse and the keys do goes to one process: frames of other sites get none of their own, or are missed.
    "fission.autostart": False,
    "fission.webContentIsolationStrategy": 0,
    # No requests but those of pages.
    "browser.chrome.site_icons": False,
    "browser.chrome.favicons": False,
    # Addresses mean what they say; the sites speak http.
    "dom.security.https_first": False,
    "dom.security.https_first_schemeless": False,
    "dom.security.https_only_mode": False,
    # As contexts of Chromium: `reduced_motion` is not among what BiDi can set.
    "ui.prefersReducedMotion": 1,
    # Windows that a page opens are tabs, and those it opens by a click are let through as in Chromium.
    "dom.disable_open_during_load": False,
    "dom.popup_maximum": 1000,
    # Nobody is asked, nobody answers.
    "browser.translations.automaticallyPopup": False,
    "dom.disable_beforeunload": False,
    "dom.require_user_interaction_for_beforeunload": True,
    "print.always_print_silent": True,
    "print.print_to_file": True,
    "signon.rememberSignons": False,
}


def preferences(given: Mapping[str, Any] | None, *, closed: bool = True) -> dict[str, Any]:
    """Preferences to start with beside those ``given``; ``closed``: they leave the gateway as the only way out."""
    return {**_PREFERENCES, **(given or {}), **(FIREFOX_EGRESS_PREFS if closed else {})}


def is_playwrights(executable: Path) -> bool:
    """Whether it is Playwright's patched build, which does not speak BiDi but Playwright's own protocol."""
    folder = executable.resolve().parent
    return any((place / "playwright.cfg").exists() for place in (folder, folder.parent / "Resources"))


def launch_options(executable: str, given: Mapping[str, Any], temp: Path | None) -> dict[str, Any]:
    """Arguments for Playwright's ``launch`` of a stock Firefox beside those ``given``: by our bridge, where that runs.

    As root, Firefox refuses to start with a home that is somebody else's (``sudo`` keeps HOME; CI runners mount one).
    Then its home is ``temp``, where its profile is as well.
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
    """The browser that ``launch_args`` name; they may be those of `launch_options`, which name the bridge."""
    executable = launch_args.get("executable_path")
    if executable == str(_BRIDGE):
        return str(launch_args["env"]["WEBARENA_BRIDGE_FIREFOX"])
    return None if executable is None else str(executable)


def _owns_home() -> bool:
    try:
        return Path.home().stat().st_uid == os.geteuid() and os.access(Path.home(), os.W_OK)
    except (OSError, RuntimeError):
        return False
