"""Loads the objects that other installed packages offer by their entry points."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from pytest_webarena.errors import UsageError

__all__ = ["AGENTS", "BACKENDS", "CHECKS", "OBSERVATIONS", "load", "offered"]

CHECKS = "webarena.checks"
AGENTS = "webarena.agents"
OBSERVATIONS = "webarena.observations"
BACKENDS = "webarena.backends"


def offered(group: str) -> Mapping[str, str]:
    """Returns the entry points of a group: name to ``module:attribute``. Reads every installed package, so call it
    late."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in sorted(entry_points(group=group))}


def load(target: str, what: str) -> Any:
    """Returns the object at ``module:attribute``. Raises `UsageError`, beginning with ``what``, when it can't be
    loaded.

    >>> load("math:tau", "the number 'tau'")
    6.283185307179586
    """
    module, _, attribute = target.partition(":")
    try:
        return functools.reduce(getattr, attribute.split("."), import_module(module))
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise UsageError(f"{what} ({target}) can't be loaded: {error}") from error
