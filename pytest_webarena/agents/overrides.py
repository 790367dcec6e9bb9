"""Command-line options that change an agent definition, and with it its digest."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from pytest_webarena.agents.protocol import AgentLimits
from pytest_webarena.errors import UsageError

__all__ = ["Overrides", "parse_option"]


def parse_option(text: str) -> tuple[str, Any]:
    """Return key and value of an ``--agent-option KEY=VALUE``: a dotted key, and a value in YAML.

    >>> parse_option("sampling.temperature=0")
    ('sampling.temperature', 0)
    """
    key, equals, value = text.partition("=")
    if not equals or not all(part.isidentifier() for part in key.split(".")):
        raise UsageError(f"--agent-option: expected KEY=VALUE, e.g. sampling.temperature=0, found {text!r}")
    try:
        return key, yaml.safe_load(value)
    except yaml.YAMLError:
        return key, value  # not valid YAML, so it is text


@dataclass(frozen=True, slots=True, kw_only=True)
class Overrides:
    """Command-line options that change every definition whose kind has the key."""

    model: str | None = None
    observation: tuple[str, ...] = ()
    """Forms of observation, e.g. ``accessibility_tree``."""
    limits: AgentLimits = field(default_factory=AgentLimits)
    options: tuple[tuple[str, Any], ...] = ()
    """Dotted keys of the definition and their values. A key that the definition's kind does not know goes to its
    ``options`` (keyword arguments)."""
    preset: tuple[tuple[str, Any], ...] = ()
    """Dotted keys and values of a run's preset, for definitions whose kind has the key. Keys below a part that the
    definition does not use, such as a reward model, are left out."""

    @property
    def names(self) -> tuple[str, ...]:
        """The given options that need a definition, by their names on the command line. Limits apply to every agent."""
        given = ["--model"] if self.model is not None else []
        given += ["--observation"] if self.observation else []
        return (*given, *(f"--agent-option {key}" for key, _ in self.options))

    def apply(self, data: Mapping[str, Any], known: Collection[str], where: str) -> tuple[dict[str, Any], list[str]]:
        """Return the definition ``data`` with these changes, and which of `names` had an effect.

        ``known`` are the keys of the definition's kind; ``where`` begins error messages.
        """
        changed, used = copy.deepcopy(dict(data)), []
        for key, value in self.preset:
            part, _, below = key.partition(".")
            if part in known and not (below and changed.get(part) in (None, "none")):  # a part that it does not use
                _set_key(changed, key, copy.deepcopy(value), where)
        if self.model is not None and "model" in known:
            changed["model"] = self.model
            used.append("--model")
        if self.observation:
            observation = changed.get("observation")
            rest = observation if isinstance(observation, dict) else {}
            changed["observation"] = {**rest, "kinds": list(self.observation)}
            used.append("--observation")
        for name in AgentLimits.__dataclass_fields__:
            if (value := getattr(self.limits, name)) is not None:
                _set_key(changed, f"limits.{name}", value, where)
        for key, value in self.options:
            path = key if key.split(".")[0] in known else f"options.{key}" if "options" in known else None
            if path is not None:
                _set_key(changed, path, value, where)
                used.append(f"--agent-option {key}")
        return changed, used


def _set_key(data: dict[str, Any], path: str, value: Any, where: str) -> None:
    """Set the value of a dotted key, making the mappings above it."""
    *parents, last = path.split(".")
    for name in parents:
        if data.get(name) is None:
            data[name] = {}
        data = data[name]
        if not isinstance(data, dict):
            raise UsageError(f"{where}: setting {path}: expected {name!r} to be a mapping, found {data!r}")
    data[last] = value
