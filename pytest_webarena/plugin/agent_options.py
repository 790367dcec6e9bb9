"""Options that name agents or change agents' definitions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.option_groups import Subject
from pytest_webarena.plugin.option_values import positive_float, positive_int

if TYPE_CHECKING:
    from pytest_webarena.agents.overrides import Overrides
    from pytest_webarena.agents.protocol import AgentDefinition
    from pytest_webarena.plugin.presets import Preset
    from pytest_webarena.plugin.settings import Settings

__all__ = ["add_agent_options", "check_agents", "check_ids", "directories_of_agents", "read_overrides"]


def add_agent_options(group: Subject) -> None:
    """Declare the options, each with its default and unit."""
    group.addoption(
        "--agent",
        action="append",
        default=[],
        metavar="NAME",
        help="Agent to run; repeat to compare several: a built-in (oracle, null, na, echo, dump, random), a "
        "definition in agents/ or a .yaml path, module:attr, file.py:attr. Default: oracle, which replays "
        "each task's solution.",
    )
    group.addoption("--model", default=None, metavar="NAME", help="Use this model for all agents that call one.")
    group.addoption(
        "--observation",
        default=None,
        metavar="KINDS",
        help="Observation forms shown to agents, separated by commas, e.g. accessibility_tree,screenshot. An "
        "unknown one lists all.",
    )
    group.addoption(
        "--agent-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="Override a key of the agents' definitions, e.g. sampling.temperature=0; repeatable. For a Python "
        "agent: a keyword argument.",
    )
    _add_limits(group)
    _add_model_options(group)


def _add_limits(group: Subject) -> None:
    group.addoption(
        "--max-steps",
        type=positive_int,
        default=None,
        metavar="N",
        help="Actions per trial (default: the agent's own, else 30 as in WebArena).",
    )
    group.addoption(
        "--time-limit",
        type=positive_float,
        default=None,
        metavar="SECONDS",
        help="Wall time per trial in seconds, including the agent's thinking (default: the agent's own, else 600).",
    )
    group.addoption(
        "--stop-rule",
        choices=("paper", "upstream"),
        default=None,
        help="End a trial on repeated or invalid actions as WebArena's paper says, or as its code does (default: "
        "paper).",
    )
    group.addoption(
        "--max-input-tokens",
        type=positive_int,
        default=None,
        metavar="N",
        help="Input tokens per trial (default: the agent's own, else no limit).",
    )
    group.addoption(
        "--max-output-tokens",
        type=positive_int,
        default=None,
        metavar="N",
        help="Output tokens per trial (default: the agent's own, else no limit).",
    )
    group.addoption(
        "--max-trial-cost",
        type=positive_float,
        default=None,
        metavar="DOLLARS",
        help="US dollars for model calls per trial (default: the agent's own, else no limit).",
    )


def _add_model_options(group: Subject) -> None:
    group.addoption(
        "--max-cost",
        type=positive_float,
        default=None,
        metavar="DOLLARS",
        help="US dollars for model calls of the whole run, over all workers (default: no limit).",
    )
    group.addoption(
        "--requests-per-minute",
        type=positive_int,
        default=None,
        metavar="N",
        help="Model requests started in any 60 seconds, over all workers (default: no limit).",
    )
    group.addoption(
        "--model-cache",
        default=None,
        metavar="DIR",
        help="Cache model replies in this directory. Re-running the same trial then makes no model calls.",
    )
    group.addoption(
        "--prices",
        default=None,
        metavar="FILE",
        help="Price table (YAML, dollars per million tokens by model) that extends the shipped one.",
    )


def read_overrides(config: pytest.Config, preset: Preset | None) -> Overrides:
    """Return what the options and a preset change in agents' definitions."""
    from pytest_webarena.agents.overrides import Overrides, parse_option
    from pytest_webarena.agents.protocol import AgentLimits

    option = config.getoption
    return Overrides(
        model=option("--model"),
        observation=tuple(part.strip() for part in (option("--observation") or "").split(",") if part.strip()),
        limits=AgentLimits(
            steps=option("--max-steps"),
            seconds=option("--time-limit"),
            input_tokens=option("--max-input-tokens"),
            output_tokens=option("--max-output-tokens"),
            cost=option("--max-trial-cost"),
        ),
        options=tuple(parse_option(text) for text in option("--agent-option")),
        preset=preset.agents if preset is not None else (),
    )


def check_ids(agents: Sequence[str]) -> None:
    """Raise `UsageError` when records can't distinguish two agents.

    Records have the same id for ``v1/my.py:Agent`` and ``v2/my.py:Agent``.
    """
    from pytest_webarena.agents.registry import agent_id

    known: dict[str, str] = {}
    for name in agents:
        if (other := known.setdefault(agent_id(name), name)) != name:
            raise UsageError(
                f"--agent: expected agents with different names in records, found {other} and {name}, both "
                f"called {agent_id(name)!r} there; rename one, or run them separately"
            )


def check_agents(settings: Settings, *, collecting: bool = False) -> None:
    """Check that each agent exists and, unless tasks are only collected, has what it needs. Raises `UsageError`."""
    from pytest_webarena.agents import resolve_agent

    if not collecting:
        settings.judge.check(settings.options.models)
    unused = dict.fromkeys(settings.overrides.names)
    for name in settings.agents:
        agent = resolve_agent(name, settings.agent_directories, settings.overrides)
        if not collecting:
            agent.check(settings.options.models)
            _check_browsers(name, agent, settings.browsers)
        for used in agent.overridden:
            unused.pop(used, None)
        if settings.audit and not agent.source.startswith("built-in"):
            raise UsageError(
                f"--audit: expected the built-in agent {name}, found {agent.source} by that name; rename it"
            )
    if unused:
        raise UsageError(
            f"{next(iter(unused))}: expected an agent with this key, found {', '.join(settings.agents)} without it"
        )


def _check_browsers(name: str, agent: AgentDefinition, browsers: Sequence[str]) -> None:
    """Raise `UsageError` for an agent that needs Chromium and another browser."""
    from pytest_webarena.agents.definitions import with_observation
    from pytest_webarena.browser.config import ObservationConfig

    other = next((browser for browser in browsers if browser != "chromium"), None)
    if other is None:
        return
    if agent.self_driving:
        raise UsageError(
            f"--agent={name}: expected --browser chromium for an agent that drives its browser itself, found {other}"
        )
    if with_observation(agent.observation, ObservationConfig()).extractor == "exact":
        raise UsageError(
            f"--agent={name}: expected --browser chromium for the extractor exact, found {other}; "
            "set extractor: fast in its definition (without compat), or omit --browser"
        )


def directories_of_agents(config: pytest.Config) -> tuple[Path, ...]:
    """Return the directories of agent definitions: the project's own, then those of the package."""
    from pytest_webarena.agents.shipped import agent_directories

    own = tuple(config.rootpath / name for name in config.getini("webarena_agents"))
    return tuple(dict.fromkeys((*own, *agent_directories())))
