"""Text grammars, which parse agents' replies to `actions` values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_webarena.actions import Action
from pytest_webarena.browser.grammars import playwright, tools, webarena, webcanvas
from pytest_webarena.browser.grammars.brackets import coordinates, set_of_marks
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


_GRAMMARS: Mapping[str, Grammar] = {
    grammar.name: grammar
    for grammar in (
        Grammar(name="webarena", parse=webarena.parse, describe=webarena.describe, dialogs=False),
        Grammar(name="playwright", parse=playwright.parse, describe=playwright.describe),
        Grammar(name="set_of_marks", parse=set_of_marks.parse, describe=set_of_marks.describe),
        Grammar(name="coordinates", parse=coordinates.parse, describe=coordinates.describe),
        Grammar(name="tools", parse=tools.parse, describe=tools.describe),
        Grammar(
            name="webcanvas",
            parse=webcanvas.parse,
            describe=webcanvas.describe,
            dialogs=False,
            remarks=webcanvas.remarks,
        ),
    )
}


def grammars() -> tuple[str, ...]:
    """Return the names of all grammars."""
    return tuple(_GRAMMARS)


def grammar(name: str) -> Grammar:
    """Return the grammar of that name; `UsageError` for an unknown name lists the known ones."""
    if name not in _GRAMMARS:
        raise UsageError(f"unknown action grammar {name!r}; {closest(name, _GRAMMARS)}")
    return _GRAMMARS[name]
