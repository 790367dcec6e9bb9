"""Sign-ins by a program of the user's, which prints the browser state with the cookies of a session."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import SiteError
from pytest_webarena.secrets import scrub
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Account, LoginRecipe

__all__ = ["state_of_command"]

_SECONDS = 120.0


def state_of_command(recipe: LoginRecipe, account: Account, url: str, label: str) -> Mapping[str, Any]:
    """Run the recipe's program and return the storage state that it prints as JSON.

    It runs in the catalogue's folder. The variables ``WEBARENA_URL``, ``WEBARENA_USERNAME`` and ``WEBARENA_PASSWORD``
    say who signs in and where. `SiteError` if it fails, with the end of its error output; what it prints is not shown.
    """
    words = [word.replace("{username}", account.username).replace("{url}", url) for word in recipe.command]
    known = {"URL": url, "USERNAME": account.username, "PASSWORD": account.password}
    environment = {**os.environ, **{f"WEBARENA_{name}": value for name, value in known.items()}}
    name = recipe.command[0]
    try:
        done = subprocess.run(
            words, cwd=recipe.folder or None, env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            timeout=_SECONDS, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise SiteError(f"{label}: expected {name} to end within {_SECONDS:g} s, found it still running") from None
    except OSError as error:
        raise SiteError(f"{label}: {name} can't be run: {error.strerror or error}") from None
    if done.returncode:
        errors = shorten(scrub(done.stderr.decode(errors="replace")).strip()[-500:], 300)
        raise SiteError(f"{label}: expected {name} to succeed, found exit code {done.returncode}: {errors}")
    try:
        state = json.loads(done.stdout)
    except ValueError:
        state = None
    if not isinstance(state, dict) or not isinstance(state.get("cookies"), list):
        raise SiteError(
            f"{label}: expected the JSON of Playwright's storage_state() from {name}, found other output\n"
            'it has to print {"cookies": [...], "origins": []}'
        )
    return state
