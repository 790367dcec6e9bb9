"""Defaults of commands from the project's pytest ini file: sites, their addresses, the browser."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.secrets import mark_environment

__all__ = ["DEFAULT_SITES", "fill_in", "import_as_pytest"]

DEFAULT_SITES = "embedded"


def fill_in(options: argparse.Namespace) -> None:
    """Set ``sites``, ``site_url`` and ``browser_executable``, where a command has them and they are not given. For
    commands that use sites, mark the ini file's secrets.

    The values come from the ini file, or else are the defaults. Raises `UsageError` for an ini file that pytest can't
    read either.
    """
    options.sites_given = getattr(options, "sites", None) is not None
    wanted = [name for name in ("sites", "site_url", "browser_executable") if getattr(options, name, ...) in (None, [])]
    if not wanted and not hasattr(options, "sites"):
        return
    root, settings = _ini([str(path) for path in getattr(options, "paths", ())])
    mark_environment(_list(settings.get("webarena_secrets", ())))
    for name in wanted:
        if name == "sites":
            sites = str(settings.get("webarena_sites", ""))
            options.sites = str(root / sites) if sites.endswith((".yaml", ".yml")) else sites or DEFAULT_SITES
        elif name == "site_url":
            options.site_url = _list(settings.get("webarena_site_urls", ()))
        else:
            options.browser_executable = settings.get("webarena_browser_executable") or None


def import_as_pytest(files: Iterable[Path]) -> None:
    """Let Python find the modules that pytest finds when it runs task ``files``: in the folders of the ini file's
    ``pythonpath``, and in those of each ``conftest.py`` above a file."""
    files = [file.absolute() for file in files]
    root, settings = _ini([str(file) for file in files])
    found = [root / path for path in _list(settings.get("pythonpath", ()))]
    for folder in dict.fromkeys(parent for file in files for parent in file.parents):
        if folder.is_relative_to(root) and (folder / "conftest.py").is_file():
            found.append(next(each for each in (folder, *folder.parents) if not (each / "__init__.py").is_file()))
    for path in map(str, found):
        if path not in sys.path:
            sys.path.insert(0, path)


def _ini(paths: Sequence[str]) -> tuple[Path, dict[str, Any]]:
    """The root directory and the ini values that pytest determines for ``paths``."""
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
    """An ini value as a list: ini files have text with spaces, TOML files have lists."""
    return shlex.split(value) if isinstance(value, str) else [str(each) for each in value]
