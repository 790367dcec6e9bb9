"""Adds corrected references next to the published ones, for the grading ``repaired``."""

from __future__ import annotations

from pytest_webarena.checks.upstream.corrections import corrected
from pytest_webarena.suites.forms import Form

__all__ = ["correct"]


def correct(form: Form, number: int) -> None:
    """Add the corrections of a WebArena task to its checks."""
    for check in form["checks"]:
        for kind, data in check.items():
            check[kind] = corrected(kind, data, number)
