"""Choice of the trials that ``--concurrency`` can run before their items."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.stash import SETTINGS
from pytest_webarena.results.records import DEFAULT_BROWSER

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.agents import AgentDefinition
    from pytest_webarena.plugin.items import TaskItem

__all__ = ["Agents", "check_width", "serial_lines", "why_serial"]

_OURS = ("pytest_webarena", "_pytest", "pytest_playwright", "pytest_base_url")
"""Packages whose fixtures need not be active while a trial runs."""
_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_setup",
    "pytest_runtest_call",
    "pytest_pyfunc_call",
    "pytest_runtest_teardown",
)
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed plugins, which are independent of a project's tests: pytest-timeout, rerunfailures, …"""
_EXCLUDED_OPTIONS = {
    "stepwise": "--stepwise, which depends on the order of tests",
    "stepwise_skip": "--stepwise-skip, which depends on the order of tests",
    "usepdb": "--pdb, which stops one test while others go on",
    "trace": "--trace, which stops one test while others go on",
}


def check_width(config: pytest.Config) -> None:
    """Raise `UsageError` for options that can't be combined with ``--concurrency``."""
    if config.getoption("tx", None) and (dist := config.getoption("dist")) != "load":
        raise UsageError(f"--concurrency: expected -n with --dist load, found --dist {dist}; leave --dist out")
    for name, conflict in _EXCLUDED_OPTIONS.items():
        if config.getoption(name, False):
            raise UsageError(f"--concurrency: expected no {conflict}; leave one of them out")


def serial_lines(reasons: Mapping[str, int]) -> list[str]:
    """Return lines about trials that run one at a time, with ``reasons`` and their numbers."""
    return [
        f"webarena: --concurrency: {count} trial{'s' * (count > 1)} one at a time: {why}"
        for why, count in reasons.items()
    ]


class Agents:
    """Agents' definitions before their trials; each is resolved once."""

    def __init__(self) -> None:
        self._found: dict[str, AgentDefinition | None] = {}

    def of(self, item: TaskItem) -> AgentDefinition | None:
        """Return the definition of the item's agent; None if there is none, which the trial reports."""
        from pytest_webarena.agents import resolve_agent

        name, settings = item.agent_name, item.config.stash[SETTINGS]
        if name not in self._found:
            self._found[name] = None
            with suppress(UsageError):
                self._found[name] = resolve_agent(name, settings.agent_directories, settings.overrides)
        return self._found[name]

    def memory(self, item: TaskItem) -> tuple[str, str, str] | None:
        """Return the key of the memory that the trial uses exclusively while it runs; None without a memory."""
        agent = self.of(item)
        if agent is None or agent.memory is None:
            return None
        return (agent.id, item.browser, agent.memory.name_for(item.task))


def why_serial(item: TaskItem, agents: Agents) -> str:
    """Return why the trial of ``item`` can't be prefetched, as half a sentence; empty if it can."""
    config = item.config
    if config.getoption("--headed", False):
        return "browsers that are seen (--headed)"
    if item.browser != DEFAULT_BROWSER:
        return f"only {DEFAULT_BROWSER} is shared, this is {item.browser}"
    if (agent := agents.of(item)) is not None and agent.kind == "human":
        return "a person does one task at a time"
    if config.stash[SETTINGS].offline:
        return "stored runs are judged one after the other"
    if names := sorted(set(_wrapping(item))):
        return f"{', '.join(names)} would not be around it (only fixtures of the whole session are)"
    if hooks := sorted(set(_hooked(item))):
        return f"{', '.join(hooks)} would not be around it"
    return ""


def _wrapping(item: TaskItem) -> Iterable[str]:
    """Names of users' fixtures with a narrower scope than the session, which would end before the trial."""
    for name, definitions in _fixtures(item).items():
        for definition in definitions:
            function: Any = definition.func
            package = str(getattr(function, "__module__", "")).partition(".")[0]
            policy = name.startswith(("webarena_", "browser_")) and not inspect.isgeneratorfunction(function)
            if definition.scope != "session" and package not in _OURS and not policy:
                yield f"the fixture {name}"


def _fixtures(item: TaskItem) -> dict[str, Sequence[Any]]:
    """All fixtures that the item sets up, with their dependencies.

    They include those that a hook added to ``fixturenames``.
    """
    found: dict[str, Sequence[Any]] = dict(item._fixtureinfo.name2fixturedefs)
    names = list(item.fixturenames)
    while names:
        if (name := names.pop()) not in found:
            found[name] = item.session._fixturemanager.getfixturedefs(name, item) or ()
            names += [argument for definition in found[name] for argument in definition.argnames]
    return found


def _hooked(item: TaskItem) -> Iterable[str]:
    """Names of hooks around tests in the project's own files.

    These are conftest.py and local plugins (``pytest_plugins``, ``-p``).
    """
    for name in _HOOKS:
        for implementation in getattr(item.ihook, name).get_hookimpls():
            module = inspect.getmodule(implementation.function)
            file = getattr(module, "__file__", None)
            if module is None or file is None or module.__name__.partition(".")[0] in _OURS:
                continue
            path = Path(file)
            if path.name == "conftest.py" or _INSTALLED.isdisjoint(path.parts):
                yield f"{name} in {path.name}"
