"""What the project that a command is called in says in pytest's ini file: its sites, where they run, its browser."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError

__all__ = ["DEFAULT_SITES", "fill_in"]

DEFAULT_SITES = "embedded"


def fill_in(options: argparse.Namespace) -> None:
    """Give ``sites``, ``site_url`` and ``browser_executable``, where a command has them and its line does not say,
    what the ini file says; else the defaults. `UsageError` for an ini file that pytest could not read either."""
    options.sites_given = getattr(options, "sites", None) is not None
    wanted = [name for name in ("sites", "site_url", "browser_executable") if getattr(options, name, ...) in (None, [])]
    if not wanted:
        return
    root, said = _ini([str(path) for path in getattr(options, "paths", ())])
    for name in wanted:
        if name == "sites":
            sites = str(said.get("webarena_sites", ""))
            options.sites = str(root / sites) if sites.endswith((".yaml", ".yml")) else sites or DEFAULT_SITES
        elif name == "site_url":
            options.site_url = _list(said.get("webarena_site_urls", ()))
        else:
            options.browser_executable = said.get("webarena_browser_executable") or None


def _ini(paths: Sequence[str]) -> tuple[Path, dict[str, Any]]:
    """The root directory and the ini values that pytest would have for ``paths``."""
    import pytest
    from _pytest.config.findpaths import determine_setup

    try:
        root, _, values, *_ = determine_setup(
            inifile=None, override_ini=None, args=list(paths), rootdir_cmd_arg=None, invocation_dir=Path.cwd()
        )
    except pytest.UsageError as error:
        raise UsageError(str(error)) from None
    return root, {name: getattr(value, "value", value) for name, value in values.items()}


def _list(value: Any) -> list[str]:
    """Of an ini file it is text with blanks, of a TOML file a list."""
    return shlex.split(value) if isinstance(value, str) else [str(each) for each in value]
