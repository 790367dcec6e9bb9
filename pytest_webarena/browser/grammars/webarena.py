"""WebArena's id grammar: one action inside a pair of triple backticks, e.g. ```` ```click [42]``` ````.

It accepts what the original harness accepts and parses it in the same way, including its quirks: the verb is the text
before the first bracket, arguments are found anywhere, ``type`` presses Enter by default and does not clear the field.

All differences are where the original crashed, did nothing or lost the text: any Unicode may be typed, typed text and
answers may have several lines, key names have aliases (``ctrl``, ``esc``, ``space``), ``scroll [direction=down]``
scrolls, ``page_focus`` is ``tab_focus``, ``tab_close`` is ``close_tab``, ``noop`` exists, and an invalid reply gets an
error message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    CloseTab,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    Invalid,
    NewTab,
    Noop,
    Press,
    Scroll,
    Stop,
    Type,
)
from pytest_webarena.browser.grammars.forms import no_verb, wrong_form
from pytest_webarena.browser.grammars.replies import fenced_text, to_its_end

__all__ = ["describe", "parse"]

_Reader = Callable[[str], Action | None]
"""Parses the text of an action; returns None if its arguments are invalid."""


def parse(text: str) -> Action:
    """Return the action in an agent's reply; `Invalid` with a reason for the agent if there is none. Never raises.

    >>> parse("The search box is 164. ```type [164] [coffee] [1]```")
    Type(target=Element(id='164'), text='coffee', clear=False, enter=True)
    """
    action = fenced_text(text, "click [42]")
    if isinstance(action, Invalid):
        return action
    action = to_its_end(text, action, _VERBS)
    verb = action.partition("[")[0].strip() if "[" in action else action.split()[0]
    if verb not in _VERBS:
        return Invalid(text, no_verb(action, verb, _VERBS, "click [42]"))
    form, read = _VERBS[verb]
    parsed = read(action)
    if parsed is None:
        return Invalid(text, wrong_form(action, verb, form))
    return parsed


def describe() -> str:
    """Return a short description of the grammar for prompts."""
    return _DESCRIPTION


def _with_id(make: Callable[[Element], Action], verb: str) -> _Reader:
    pattern = re.compile(verb + r" ?\[(\d+)\]", re.ASCII)

    def read(text: str) -> Action | None:
        match = pattern.search(text)
        return make(Element(match[1])) if match else None

    return read


_TYPE = r"type ?\[(\d+)\] ?\[(.+)\] ?\[(\d+)\]"
# Upstream only matches one line; text of several lines, which it could not read, is tried second.
_TYPE_LINE, _TYPE_LINES = re.compile(_TYPE, re.ASCII), re.compile(_TYPE, re.ASCII | re.DOTALL)


def _type(text: str) -> Action | None:
    if not text.endswith(("[0]", "[1]")):
        text += " [1]"
    match = _TYPE_LINE.search(text) or _TYPE_LINES.search(text)
    return Type(Element(match[1]), match[2], enter=match[3] == "1") if match else None


def _with_text(make: Callable[[str], Action], pattern: str) -> _Reader:
    compiled = re.compile(pattern)

    def read(text: str) -> Action | None:
        match = compiled.search(text)
        return make(match[1]) if match else None

    return read


_SCROLL = re.compile(r"scroll ?\[?(?:direction ?= ?)?(up|down)\]?")


def _scroll(text: str) -> Action | None:
    match = _SCROLL.search(text)
    if match is None:
        return None
    return Scroll("up" if match[1] == "up" else "down")


_TAB = re.compile(r"(?:tab|page)_focus ?\[(\d+)\]", re.ASCII)


def _tab_focus(text: str) -> Action | None:
    match = _TAB.search(text)
    # Tab numbers are shorter, and int() refuses thousands of digits.
    return FocusTab(int(match[1])) if match and len(match[1]) < 10 else None


_STOP_LINE, _STOP_LINES = re.compile(r"stop ?\[(.+)\]"), re.compile(r"stop ?\[(.+)\]", re.DOTALL)


def _stop(text: str) -> Action:
    match = _argument(text) or _STOP_LINE.search(text) or _STOP_LINES.search(text)
    return Stop(match[1] if match else "")


def _argument(text: str) -> re.Match[str] | None:
    """Match everything between the outer brackets of an answer of several lines, which may contain brackets.

    None if the answer ends with its first line, as far as brackets show, or if another action follows: then upstream's
    rule applies.
    """
    first, _, rest = text.partition("\n")
    ends = first.rstrip().endswith("]") and all(part.count("[") == part.count("]") for part in (first, rest))
    if not rest or ends or _FURTHER.search(rest):
        return None
    return _STOP_LINES.fullmatch(text)


_META = re.compile(r"\bmeta\b", re.IGNORECASE)


def _press(keys: str) -> Action:
    return Press(_META.sub("ControlOrMeta", keys))  # as upstream, where Meta means Control except on macOS


_VERBS: Mapping[str, tuple[str, _Reader]] = {
    "click": ("click [id]", _with_id(Click, "click")),
    "hover": ("hover [id]", _with_id(Hover, "hover")),
    "type": ("type [id] [text] [1] (or [0] to type without pressing Enter)", _type),
    "press": ("press [key], e.g. press [Control+a]", _with_text(_press, r"press ?\[(.+)\]")),
    "scroll": ("scroll [down] or scroll [up]", _scroll),
    "goto": ("goto [address]", _with_text(Goto, r"goto ?\[(.+)\]")),
    "new_tab": ("new_tab", lambda text: NewTab()),
    "close_tab": ("close_tab", lambda text: CloseTab()),
    "tab_close": ("close_tab", lambda text: CloseTab()),  # what the paper's table of actions calls it
    "tab_focus": ("tab_focus [number of the tab]", _tab_focus),
    "page_focus": ("tab_focus [number of the tab]", _tab_focus),  # what upstream's own history texts call it
    "go_back": ("go_back", lambda text: Back()),
    "go_forward": ("go_forward", lambda text: Forward()),
    "noop": ("noop", lambda text: Noop()),
    "stop": ("stop [answer]", _stop),
}

_FURTHER = re.compile(rf"^[ \t`]*(?:{'|'.join(_VERBS)}) ?\[", re.MULTILINE)

"""Start of a further action on a line of its own."""

_DESCRIPTION = """\
Reply with one action between two ```, for example: I open the cart. ```click [42]```
The number in brackets is the id that the observation shows before an element.

click [id]                 click the element
hover [id]                 move the mouse over it
type [id] [text] [1]       click it, type the text and press Enter; [0] instead of [1] leaves Enter out;
                           what the field already holds stays; in a drop-down list it chooses the option of that name
press [key]                press a key or a combination: Enter, Tab, Escape, ArrowDown, Control+a, …
scroll [down]              scroll the page by one screen; or scroll [up]
goto [address]             open an address in the current tab
go_back                    go back to the page before; go_forward goes the other way
new_tab                    open an empty tab; close_tab closes the current one
tab_focus [number]         make a tab current; the first line of the observation numbers them from 0
stop [answer]              end the task; give the answer if the task asks for one
"""
