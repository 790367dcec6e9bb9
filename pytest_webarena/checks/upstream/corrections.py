"""The table of corrected reference answers, and putting them into a task's checks."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

__all__ = ["Correction", "corrected", "corrections"]

_KEPT = ("dialect", "prep_actions", "locator")
"""Keys that no correction touches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Correction:
    """What is wrong with the references of some tasks."""

    tasks: tuple[int, ...]
    part: str
    """The evaluator: ``string_match``, ``url_match`` or ``program_html``."""
    source: str
    why: str
    replace: Mapping[str, str]
    """Words and what stands in their place."""

    def apply(self, value: Any) -> Any:
        """``value`` (texts, lists and mappings) with the words replaced."""
        if isinstance(value, str):
            for wrong, right in self.replace.items():
                value = value.replace(wrong, right)
            return value
        if isinstance(value, list):
            return [self.apply(each) for each in value]
        if isinstance(value, Mapping):
            return {key: self.apply(each) for key, each in value.items()}
        return value


@functools.cache
def corrections() -> tuple[Correction, ...]:
    """The table."""
    import yaml

    text = (files(__package__) / "corrections.yaml").read_text("utf-8")
    return tuple(Correction(**{**entry, "tasks": tuple(entry["tasks"])}) for entry in yaml.load(text, yaml.CSafeLoader))


def corrected(kind: str, data: Any, task: int) -> Any:
    """``data``, a check of this kind in its YAML form, with the ``corrected`` keys for a task of WebArena.

    >>> corrected("url_match", {"reference_url": "__REDDIT__/f/a"}, 0)
    {'reference_url': '__REDDIT__/f/a'}
    """
    for correction in corrections():
        if kind == correction.part and task in correction.tasks:
            data = _with(kind, data, correction)
    return data


def _with(kind: str, data: Any, correction: Correction) -> Any:
    if kind == "program_html":
        if isinstance(data, Mapping):
            return {**data, "targets": _with(kind, data["targets"], correction)}
        return [_target(target, correction) for target in data]
    changed = correction.apply({key: value for key, value in data.items() if key not in _KEPT})
    if kind == "url_match":
        return {**data, "corrected": changed["reference_url"]}
    return {**data, "corrected": changed}


def _target(target: Mapping[str, Any], correction: Correction) -> dict[str, Any]:
    parts = {key: target[key] for key in ("url", "required_contents") if key in target}
    changes = {key: new for key, value in parts.items() if (new := correction.apply(value)) != value}
    return {**target, **({"corrected": changes} if changes else {})}
