"""Corrected references beside the published ones, for the grading that repairs them."""

from __future__ import annotations

from pytest_webarena.checks.upstream.corrections import corrected
from pytest_webarena.suites.forms import Form

__all__ = ["correct"]


def correct(form: Form, number: int) -> None:
    """Put the corrections of a task of WebArena into its checks."""
    for check in form["checks"]:
        for kind, data in check.items():
            check[kind] = corrected(kind, data, number)
