"""What other installed packages bring along: the objects that their entry points name."""

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
    """Name to ``module:attribute`` of a group's entry points. Looks through all that is installed: ask late."""
    from importlib.metadata import entry_points

    return {point.name: point.value for point in sorted(entry_points(group=group))}


def load(target: str, what: str) -> Any:
    """The object at ``module:attribute``. `UsageError` that begins with ``what`` when it can't be loaded.

    >>> load("math:tau", "the number 'tau'")
    6.283185307179586
    """
    module, _, attribute = target.partition(":")
    try:
        return functools.reduce(getattr, attribute.split("."), import_module(module))
    except (ImportError, AttributeError, SyntaxError, ValueError) as error:
        raise UsageError(f"{what} ({target}) can't be loaded: {error}") from error
