"""Text grammars, which parse agents' replies to `actions` values."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_webarena.actions import Action
from pytest_webarena.errors import UsageError, closest

__all__ = ["Grammar", "grammar", "grammars"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Grammar:
    """A notation for actions."""

    name: str
    parse: Callable[[str], Action]
    """Parses a reply to an action; `Invalid` for anything else. Never raises."""
    describe: Callable[[], str]
    """Returns a description of the grammar for prompts."""
    dialogs: bool = True
    """Whether it has actions for answering native dialogs."""
    remarks: Callable[[str], tuple[str, str, str]] | None = None
    """Returns thought, description and the action alone from a reply. None: replies have no fields for these, and the
    text before the action is the thought."""


def _webarena() -> Grammar:
    from pytest_webarena.browser.grammars import webarena

    return Grammar(name="webarena", parse=webarena.parse, describe=webarena.describe, dialogs=False)


def _playwright() -> Grammar:
    from pytest_webarena.browser.grammars import playwright

    return Grammar(name="playwright", parse=playwright.parse, describe=playwright.describe)


def _set_of_marks() -> Grammar:
    from pytest_webarena.browser.grammars.brackets import set_of_marks

    return Grammar(name="set_of_marks", parse=set_of_marks.parse, describe=set_of_marks.describe)


def _coordinates() -> Grammar:
    from pytest_webarena.browser.grammars.brackets import coordinates

    return Grammar(name="coordinates", parse=coordinates.parse, describe=coordinates.describe)


def _tools() -> Grammar:
    from pytest_webarena.browser.grammars import tools

    return Grammar(name="tools", parse=tools.parse, describe=tools.describe)


def _webcanvas() -> Grammar:
    from pytest_webarena.browser.grammars import webcanvas

    return Grammar(
        name="webcanvas",
        parse=webcanvas.parse,
        describe=webcanvas.describe,
        dialogs=False,
        remarks=webcanvas.remarks,
    )


_GRAMMARS: Mapping[str, Callable[[], Grammar]] = {
    "webarena": _webarena,
    "playwright": _playwright,
    "set_of_marks": _set_of_marks,
    "coordinates": _coordinates,
    "tools": _tools,
    "webcanvas": _webcanvas,
}
"""What makes each; modules are loaded on first use, as a run has one or two of them."""


def grammars() -> tuple[str, ...]:
    """Return the names of all grammars."""
    return tuple(_GRAMMARS)


@functools.cache
def grammar(name: str) -> Grammar:
    """Return the grammar of that name; `UsageError` for an unknown name lists the known ones."""
    if name not in _GRAMMARS:
        raise UsageError(f"unknown action grammar {name!r}; {closest(name, _GRAMMARS)}")
    return _GRAMMARS[name]()
