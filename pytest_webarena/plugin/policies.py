"""Conversion of policy fixtures' values to a worker's settings. Errors name the fixture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, get_args

import pytest

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.plugin.stash import settings_of
from pytest_webarena.sites.catalogues.running import Pulls

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_webarena.agents.protocol import AgentDefinition
    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.policies import AgentOf

__all__ = [
    "agents_of",
    "asks_for_context",
    "before_collection",
    "broker_order",
    "check_record",
    "default_agents",
    "overridden",
    "session_config",
]

_CONTEXT: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "viewport": ("viewport", lambda size: (size["width"], size["height"])),
    "locale": ("locale", str),
    "timezone_id": ("timezone", str),
    "device_scale_factor": ("device_scale", float),
    "geolocation": ("geolocation", lambda place: _geolocation(place)),
    "storage_state": ("storage_state", lambda state: state),
}
"""Playwright's context arguments that are fields of `SessionConfig`, with their conversion."""
_NOT_FOR_TASKS = ("base_url", "proxy", "record_har_path", "record_video_dir", "record_video_size")
"""Context arguments that trials set themselves: network access, and files that would not be kept."""


def session_config(
    own: Mapping[str, Any], playwrights: Mapping[str, Any], *, record_screenshots: bool
) -> SessionConfig:
    """Return the context settings of trials: ``own`` fields of `SessionConfig` override ``playwrights`` arguments."""
    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.plain_data import read_keys

    fields: dict[str, Any] = {"record_screenshots": record_screenshots}
    others: dict[str, Any] = {}
    for name, value in playwrights.items():
        if value is None or name in _NOT_FOR_TASKS:
            continue
        if name in _CONTEXT:
            field, read = _CONTEXT[name]
            try:
                fields[field] = read(value)
            except (KeyError, TypeError, ValueError):
                raise UsageError(
                    f"fixture browser_context_args: expected {name} as Playwright's new_context takes it, "
                    f"found {value!r}"
                ) from None
        else:
            others[name] = value
    if others:
        fields["context_args"] = others
    given = read_keys(SessionConfig, own, where="fixture webarena_context_args")
    session = replace(SessionConfig(**fields), **{name: getattr(given, name) for name in own})
    session.observation.require()
    return session


def _geolocation(place: Mapping[str, float]) -> Any:
    from pytest_webarena.browser.config import Geolocation

    return Geolocation(**place)


def agents_of(definition_of: AgentOf, grammar_of: Callable[[AgentDefinition, Task], str]) -> AgentOf:
    """Combine both policies in one function that checks what records rely on."""
    from pytest_webarena.agents.protocol import AgentDefinition
    from pytest_webarena.agents.registry import agent_id
    from pytest_webarena.browser.grammars import grammars

    def agent_of(name: str, task: Task) -> AgentDefinition:
        definition = definition_of(name, task)
        if not isinstance(definition, AgentDefinition):
            raise UsageError(f"fixture webarena_agent: expected an AgentDefinition for {name}, found {definition!r}")
        if definition.id != agent_id(name):
            raise UsageError(
                f"fixture webarena_agent: expected an agent with the id {agent_id(name)!r}, by which records know "
                f"--agent={name}, found {definition.id!r}; keep the id: dataclasses.replace(definition, id=...)"
            )
        spoken = grammar_of(definition, task)
        if spoken == definition.grammar:
            return definition
        if spoken not in grammars():
            raise UsageError(
                f"fixture webarena_grammar: expected a known grammar, found {spoken!r}; {closest(spoken, grammars())}"
            )
        if definition.kind == "model":
            raise UsageError(
                f"fixture webarena_grammar: expected {definition.grammar!r} for {name}, whose prompt explains that "
                f"grammar to the model, found {spoken!r}; set grammar: {spoken} in the agent's definition instead"
            )
        return replace(definition, grammar=spoken)

    return agent_of


def check_record(policy: Any) -> None:
    """Raise `UsageError` for a value that does not define which trials keep their pictures."""
    if policy not in ("all", "failures", "minimal") and not callable(policy):
        raise UsageError(
            f"fixture webarena_record: expected all, failures, minimal or a function of a record, found {policy!r}"
        )


_BROKER: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "max_replicas": (lambda value: _whole(value) and value >= 1, "a whole number from 1 on"),
    "spares": (lambda value: value is None or (_whole(value) and value >= 0), "a whole number from 0 on, or None"),
    "memory": (lambda value: value is None or (_whole(value) and value > 0), "a number of bytes, or None"),
    "pulls": (lambda value: value in get_args(Pulls), f"one of {', '.join(get_args(Pulls))}"),
}


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def broker_order(
    *, catalogue: str, site_urls: Mapping[str, str], broker_args: Mapping[str, Any], docker: Mapping[str, str]
) -> dict[str, Any]:
    """Return the settings for the broker, which is another process, so only plain values."""
    for name, value in broker_args.items():
        if name not in _BROKER:
            raise UsageError(f"fixture webarena_broker_args: unknown key {name!r}; {closest(name, _BROKER)}")
        is_valid, expected = _BROKER[name]
        if not is_valid(value):
            raise UsageError(f"fixture webarena_broker_args: {name}: expected {expected}, found {value!r}")
    if wrong := next((name for name, value in docker.items() if not isinstance(value, str)), None):
        raise UsageError(f"fixture webarena_docker_environment: {wrong}: expected a text, found {docker[wrong]!r}")
    order = {"catalogue": catalogue, "site_urls": dict(site_urls), **broker_args}
    if "max_replicas" in broker_args:
        order.setdefault("memory", None)  # replicas set by the user are not limited by memory, as with --replicas
    return order | ({"environment": dict(docker)} if docker else {})


# --- fixtures before there are any


def overridden(node: pytest.Item | pytest.Collector, name: str) -> bool:
    """Return whether a conftest or a plugin overrides the fixture ``name`` at ``node``."""
    return len(_definitions(node, name)) > 1


def before_collection(node: pytest.Collector, name: str) -> Any:
    """Return the value of a fixture that collection needs, at ``node``.

    pytest provides fixtures only to running tests. Therefore the function is called directly, and its only arguments
    may be ``pytestconfig`` and the fixture that it overrides.
    """
    return _value(node.config, name, _definitions(node, name))


def _value(config: pytest.Config, name: str, definitions: list[Any]) -> Any:
    definition, others = definitions[-1], definitions[:-1]
    arguments: dict[str, Any] = {}
    for argument in definition.argnames:
        if argument == "pytestconfig":
            arguments[argument] = config
        elif argument == name and others:
            arguments[argument] = _value(config, name, others)
        else:
            raise UsageError(
                f"fixture {name}: expected no other arguments than pytestconfig and {name}, because it is called while "
                f"tasks are collected, before fixtures exist; found {argument}"
            )
    return definition.func(**arguments)


def _definitions(node: pytest.Item | pytest.Collector, name: str) -> list[Any]:
    return list(node.session._fixturemanager.getfixturedefs(name, node) or ())


def asks_for_context(item: pytest.Item) -> bool:
    """Return whether pytest-playwright's ``browser_context_args`` may have content; requesting it starts a driver."""
    return bool(item.config.getoption("--device", None)) or overridden(item, "browser_context_args")


def default_agents(config: pytest.Config) -> AgentOf:
    """Return a function that resolves ``--agent``'s names, each once, independent of the task."""
    from functools import cache

    from pytest_webarena.agents import resolve_agent

    settings = settings_of(config)
    find = cache(lambda name: resolve_agent(name, settings.agent_directories, settings.overrides))
    return lambda name, task: find(name)
