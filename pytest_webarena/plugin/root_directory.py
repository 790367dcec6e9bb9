"""Correction of the root directory that pytest determines before it knows all options.

pytest determines it before plugins declare their options. With ``--run-dir ../x`` it treats ``../x`` as tests and, if
the folder exists by then, as a hint at the root directory. In xdist's workers that is another directory than in the
process that created the folder. Agents, settings and node ids all depend on it. ``--run-dir=../x`` has no such effect.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from _pytest.config.findpaths import determine_setup, parse_override_ini

__all__ = ["correct_root_directory", "join_values"]


def correct_root_directory(config: pytest.Config, arguments: list[str]) -> None:
    """Correct root directory and settings where values of options have misled pytest.

    ``arguments`` are all of this run's; those of settings that are found only now are added. Raises `pytest.UsageError`
    when settings of another project have been read already, because their effects can't be undone.
    """
    known = config.known_args_namespace
    tests = set(known.file_or_dir)
    values = [text for text in arguments if text[:1] != "-" and text not in tests and _exists(text)]
    if not values:
        return
    root, ini, settings, ignored = determine_setup(
        inifile=known.inifilename,
        override_ini=known.override_ini,
        args=known.file_or_dir,
        rootdir_cmd_arg=known.rootdir or None,
        invocation_dir=config.invocation_params.dir,
    )
    if ini != config.inipath and config.inipath is not None:
        raise pytest.UsageError(
            f"expected the settings of {ini or f'none, because {root} has no such file'}, found that pytest has read "
            f"those of {config.inipath}, because it takes {' and '.join(values)} for test paths; "
            "write options with such values as --option=VALUE"
        )
    if known.confcutdir == str(config.inipath.parent if config.inipath else config.rootpath):  # not set by the user
        known.confcutdir = str(ini.parent if ini else root)
    config._rootpath = root
    if ini is not None and config.inipath is None:
        config._ignored_config_files = ignored
        _read_settings(config, arguments, ini, settings)


def join_values(config: pytest.Config) -> None:
    """Pass options to xdist's workers as ``--option=VALUE``, however they were written."""
    params = config.invocation_params
    joined = tuple(_joined([str(text) for text in params.args], _takes_one_value(config)))
    config.invocation_params = pytest.Config.InvocationParams(args=joined, plugins=params.plugins, dir=params.dir)


def _read_settings(config: pytest.Config, arguments: list[str], ini: Path, settings: Mapping[str, Any]) -> None:
    """Repeat the steps of `pytest.Config.parse` between finding settings and loading the first conftest files."""
    confcutdir = config.known_args_namespace.confcutdir
    config._inipath, config._inicfg = ini, dict(settings)
    config._inicache.clear()
    config._parser.extra_info |= {"rootdir": str(config.rootpath), "inifile": str(ini)}
    arguments[:] = config._validate_args(config.getini("addopts"), "via addopts config") + arguments
    known = config._parser.parse_known_args(arguments, namespace=copy.copy(config.option))
    config._inicfg.update(parse_override_ini(known.override_ini))
    config._inicache.clear()
    config._checkversion()
    config._configure_python_path()
    config.pluginmanager.consider_preparse(arguments, exclude_only=False)
    known = config._parser.parse_known_args(arguments, namespace=copy.copy(config.option))
    config._validate_plugins()
    if known.confcutdir is None:
        known.confcutdir = confcutdir
    config.known_args_namespace = known


def _takes_one_value(config: pytest.Config) -> frozenset[str]:
    """Long options with exactly one value, which can be joined with it in one word."""
    options = (option for group in config._parser._groups for option in group.options)
    plain = (each for each in options if each.attrs().get("action") in (None, "store", "append"))
    ones = (each for each in plain if each.attrs().get("nargs") is None)
    return frozenset(name for each in ones for name in each.names() if name.startswith("--"))


def _joined(arguments: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    rest = iter(arguments)
    for text in rest:
        if text == "--":
            yield text
            yield from rest
        elif text in options and (value := next(rest, None)) is not None:
            yield f"{text}={value}"
        else:
            yield text


def _exists(text: str) -> bool:
    try:
        return Path(text.partition("::")[0]).exists()
    except (OSError, ValueError):
        return False
