"""Which trials ``--wide`` can play ahead of their items."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results.records import DEFAULT_BROWSER

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.plugin.items import TaskItem

__all__ = ["check_width", "serial_lines", "why_serial"]

_OURS = ("pytest_webarena", "_pytest", "pytest_playwright", "pytest_base_url")
"""Packages whose fixtures wrap nothing of a trial."""
_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtest_teardown",
)
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of plugins that know nothing of a project's tests: pytest-timeout, rerunfailures, …"""
_NOT_BESIDE = {
    "stepwise": "--stepwise, which goes by the order of tests",
    "stepwise_skip": "--stepwise-skip, which goes by the order of tests",
    "usepdb": "--pdb, which stops one test while others go on",
    "trace": "--trace, which stops one test while others go on",
}


def check_width(config: pytest.Config) -> None:
    """`UsageError` for what can't be had beside ``--wide``."""
    if config.getoption("tx", None) and (dist := config.getoption("dist")) != "load":
        raise UsageError(
            f"--wide: expected -n to hand trials out one by one (--dist load), found --dist {dist}; leave --dist out"
        )
    for name, told in _NOT_BESIDE.items():
        if config.getoption(name, False):
            raise UsageError(f"--wide: expected no {told}; leave one of them out")


def serial_lines(reasons: Mapping[str, int]) -> list[str]:
    """What is told of trials that are played one at a time: ``reasons`` and how many for each."""
    return [
        f"webarena: --wide: {count} trial{'s' * (count > 1)} one at a time: {why}" for why, count in reasons.items()
    ]


def why_serial(item: TaskItem, kinds: dict[str, str]) -> str:
    """Why the trial of ``item`` can't be played ahead, as half a sentence; empty if it can.

    ``kinds`` keeps what was found out of agents.
    """
    config = item.config
    if config.getoption("--headed", False):
        return "browsers that are seen (--headed)"
    if item.browser != DEFAULT_BROWSER:
        return f"only {DEFAULT_BROWSER} is shared, this is {item.browser}"
    if item.agent_name not in kinds:
        kinds[item.agent_name] = _kind(item)
    if kinds[item.agent_name] == "human":
        return "a person does one task at a time"
    if config.stash[SETTINGS].offline:
        return "stored runs are judged one after the other"
    if names := sorted(set(_wrapping(item))):
        return f"{', '.join(names)} would not be around it (only fixtures of the whole session are)"
    if hooks := sorted(set(_hooked(item))):
        return f"{', '.join(hooks)} would not be around it"
    return ""


def _kind(item: TaskItem) -> str:
    from pytest_webarena.agents import resolve_agent

    settings = item.config.stash[SETTINGS]
    with suppress(UsageError):  # the trial says so
        return resolve_agent(item.agent_name, settings.agent_directories, settings.overrides).kind
    return ""


def _wrapping(item: TaskItem) -> Iterable[str]:
    """Fixtures of users that end before the session does: they would be over while the trial goes on."""
    for name, definitions in item._fixtureinfo.name2fixturedefs.items():
        for definition in definitions:
            function: Any = definition.func
            package = str(getattr(function, "__module__", "")).partition(".")[0]
            policy = name.startswith(("webarena_", "browser_")) and not inspect.isgeneratorfunction(function)
            if definition.scope != "session" and package not in _OURS and not policy:
                yield f"the fixture {name}"


def _hooked(item: TaskItem) -> Iterable[str]:
    """Hooks around tests in the project's own files: conftest.py, or plugins beside it (``pytest_plugins``, ``-p``)."""
    for name in _HOOKS:
        for implementation in getattr(item.ihook, name).get_hookimpls():
            module = inspect.getmodule(implementation.function)
            file = getattr(module, "__file__", None)
            if module is None or file is None or module.__name__.partition(".")[0] in _OURS:
                continue
            path = Path(file)
            if path.name == "conftest.py" or _INSTALLED.isdisjoint(path.parts):
                yield f"{name} in {path.name}"
