"""Equivalence of actions for the "repeated" stop rule, as in the original WebArena harness."""

from __future__ import annotations

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Check,
    Click,
    Drag,
    FocusTab,
    Goto,
    Hover,
    Note,
    Press,
    Scroll,
    Search,
    Select,
    Stop,
    Type,
    Upload,
)
from pytest_webarena.browser.acting.keys import UnknownKey, playwright_keys

__all__ = ["equivalent"]


def equivalent(a: Action, b: Action) -> bool:
    """Return whether repeating ``a`` as ``b`` is no progress. Typed text is ignored, and all invalid actions are equal.

    Source: WebArena's ``is_equivalent``. Actions that it does not have are compared by their targets and values.

    >>> from pytest_webarena.actions import Element
    >>> equivalent(Type(Element("4"), "a"), Type(Element("4"), "b", enter=True))
    True
    """
    match a, b:
        case Click() | Hover() | Type(), Click() | Hover() | Type():
            return a.kind == b.kind and a.target == b.target
        case Press(), Press():
            return _keys(a.keys) == _keys(b.keys)
        case Scroll(), Scroll():
            return a.direction == b.direction
        case Goto(), Goto():
            return a.url == b.url
        case FocusTab(), FocusTab():
            return a.index == b.index
        case Stop(), Stop():
            return a.answer == b.answer
        case (
            (Select() | Check() | Drag() | Upload() | AcceptDialog() | Note() | Search()),
            (Select() | Check() | Drag() | Upload() | AcceptDialog() | Note() | Search()),
        ):
            return a == b
        case _:  # invalid, noop, wait, new tab, close tab, back, forward, reload: only the kind matters
            return a.kind == b.kind


def _keys(keys: str) -> str:
    try:
        return playwright_keys(keys)
    except UnknownKey:
        return keys
