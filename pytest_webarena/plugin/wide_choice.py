"""Which trials ``--wide`` can play ahead of their items."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results.records import DEFAULT_BROWSER

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.plugin.items import TaskItem

__all__ = ["check_width", "why_serial"]

_OURS = ("pytest_webarena", "_pytest", "pytest_playwright", "pytest_base_url")
"""Packages whose fixtures wrap nothing of a trial."""
_HOOKS = ("pytest_runtest_protocol", "pytest_runtest_setup", "pytest_runtest_call", "pytest_runtest_teardown")
_NOT_BESIDE = {
    "stepwise": "--stepwise, which goes by the order of tests",
    "stepwise_skip": "--stepwise-skip, which goes by the order of tests",
    "usepdb": "--pdb, which stops one test while others go on",
    "trace": "--trace, which stops one test while others go on",
}


def check_width(config: pytest.Config) -> None:
    """`UsageError` for what can't be had beside ``--wide``."""
    if config.getoption("tx", None) or hasattr(config, "workerinput"):
        raise UsageError(
            "--wide: expected no -n beside it, for items of xdist's workers come one at a time; leave -n out and give "
            "--wide all the trials that are to be in flight"
        )
    for name, told in _NOT_BESIDE.items():
        if config.getoption(name, False):
            raise UsageError(f"--wide: expected no {told}; leave one of them out")


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
        return f"{', '.join(hooks)} in a conftest.py would not be around it"
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
    for name in _HOOKS:
        for implementation in getattr(item.ihook, name).get_hookimpls():
            if str(getattr(implementation.plugin, "__file__", "")).endswith("conftest.py"):
                yield name
