"""Grammars with all actions in brackets, on numbered elements (``set_of_marks``) or points (``coordinates``).

The syntax is WebArena's, ``verb [argument] [argument]`` between two ```, with a verb for every action. The two grammars
differ only in the notation of targets.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, cast

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Back,
    Check,
    Click,
    CloseTab,
    DismissDialog,
    Drag,
    Element,
    FocusTab,
    Forward,
    Goto,
    Hover,
    NewTab,
    Noop,
    Note,
    Point,
    Press,
    Reload,
    Scroll,
    Select,
    Stop,
    Target,
    Type,
    Upload,
    Wait,
    infeasible,
)
from pytest_webarena.browser.acting.keys import HELD, HELD_ALIASES
from pytest_webarena.browser.grammars.forms import ArgumentForm, Verbs, number, parse_form

__all__ = ["BracketGrammar", "coordinates", "set_of_marks"]

_TEXT = r"\[(?P<text>.*)\]"
_MODIFIERS = {name.lower(): name for name in HELD} | HELD_ALIASES
_COUNTS = {"single": 1, "double": 2, "triple": 3}
_BUTTONS = {"left", "right", "middle"}
_Direction = Literal["up", "down", "left", "right"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Targets:
    """Notation of targets."""

    shown: str
    pattern: str
    """Regular expression with groups ``{n}a`` and ``{n}b``."""
    read: Callable[[re.Match[str], str], Target | None]


def _element(match: re.Match[str], which: str) -> Target | None:
    return Element(match[f"{which}a"])


def _point(match: re.Match[str], which: str) -> Target | None:
    left, top = match[f"{which}a"], match[f"{which}b"]
    x, y = number(left), number(top)
    if x is None or y is None:
        return None
    # WebArena's own coordinates are fractions of the viewport, and pixel 0.5 makes no sense.
    fractions = 0 <= x <= 1 and 0 <= y <= 1 and "." in left + top
    return Point(x, y, relative=fractions)


_NUMBER = r"-?\d+(?:\.\d+)?"
_ELEMENTS = _Targets(shown="[id]", pattern=r"\[\s*(?P<{n}a>\d+)\s*\]", read=_element)
_POINTS = _Targets(
    shown="[x] [y]",
    pattern=rf"\[\s*(?P<{{n}}a>{_NUMBER})\s*(?:\]\s*\[|,)\s*(?P<{{n}}b>{_NUMBER})\s*\]",
    read=_point,
)


class BracketGrammar:
    """A grammar in brackets; ``parse`` and ``describe`` are those of a `Grammar`."""

    def __init__(self, targets: _Targets, example: str, introduction: str) -> None:
        self._example = example
        self._introduction = introduction
        self._targets = targets
        self._verbs = self._make_verbs()

    def parse(self, text: str) -> Action:
        """Return the action in an agent's reply; `Invalid` with a reason if there is none. Never raises."""
        return parse_form(text, self._verbs, self._example)

    def describe(self) -> str:
        """Return a short description of the grammar for prompts."""
        return f"{self._introduction}\n\n{_DESCRIPTION.replace('TARGET', self._targets.shown)}"

    def _form(self, shown: str, pattern: str, make: Callable[[re.Match[str]], Action | None]) -> ArgumentForm:
        """Return a form in whose pattern ``@`` is a target, and ``@@`` a second one."""
        first, second = (self._targets.pattern.format(n=which) for which in "tu")
        compiled = re.compile(pattern.replace("@@", second).replace("@", first), re.DOTALL | re.ASCII)
        return ArgumentForm(shown=shown.replace("@", self._targets.shown), pattern=compiled, make=make)

    def _on(self, shown: str, pattern: str, make: Callable[[re.Match[str], Target], Action | None]) -> ArgumentForm:
        """Return a form that begins with a target."""

        def with_target(match: re.Match[str]) -> Action | None:
            target = self._targets.read(match, "t")
            return None if target is None else make(match, target)

        return self._form(shown, r"@\s*" + pattern, with_target)

    def _make_verbs(self) -> Verbs:
        on, form = self._on, self._form

        def click(count: int = 1, button: str = "left") -> Callable[[re.Match[str], Target], Action | None]:
            return lambda match, target: _click(match["how"], target, count, button)

        how = r"(?P<how>(?:\[\s*\w+\s*\]\s*)*)"
        typed = r"\[(?P<text>.*?)\]\s*(?:\[(?P<flag>[01])\])?"

        def typing(clear: bool) -> Callable[[re.Match[str], Target], Action | None]:
            return lambda match, target: Type(target, match["text"], clear=clear, enter=match["flag"] == "1")

        def bare(verb: str, action: Action) -> tuple[ArgumentForm, ...]:
            return (form(verb, r"(?:\[\s*\])?", lambda match: action),)

        far = r"(?:\[\s*(?P<far>[^\[\]]+?)\s*\])?"
        way = r"\[?\s*(?:direction\s*=\s*)?(?P<way>up|down|left|right)\s*\]?\s*"
        return {
            "click": (on("click @", how, click()),),
            "double_click": (on("double_click @", how, click(count=2)),),
            "right_click": (on("right_click @", how, click(button="right")),),
            "middle_click": (on("middle_click @", how, click(button="middle")),),
            "hover": (on("hover @", "", lambda match, target: Hover(target)),),
            "type": (
                on("type @ [text] [1]", typed, typing(clear=False)),
                form(
                    "type [text] [1]",
                    typed,
                    lambda match: Type(None, match["text"], enter=match["flag"] == "1"),
                ),
            ),
            "fill": (on("fill @ [text] [0]", typed, typing(clear=True)),),
            "clear": (on("clear @", "", lambda match, target: Type(target, "", clear=True)),),
            "press": (
                on("press @ [key]", _TEXT, lambda match, target: Press(match["text"], target)),
                form("press [key]", _TEXT, lambda match: Press(match["text"])),
            ),
            "scroll": (
                form("scroll [down]", way + far, lambda match: _scroll(match, None)),
                on("scroll @ [down]", way + far, _scroll),
            ),
            "select": (
                on(
                    "select @ [option]",
                    _TEXT,
                    lambda match, target: Select(target, _several(match["text"])),
                ),
            ),
            "check": (on("check @", "", lambda match, target: Check(target)),),
            "uncheck": (on("uncheck @", "", lambda match, target: Check(target, checked=False)),),
            "drag": (self._form("drag @ @", r"@\s*@@", self._drag),),
            "upload": (
                on("upload @ [file]", _TEXT, lambda match, target: Upload(target, _several(match["text"]))),
                form("upload [file]", _TEXT, lambda match: Upload(None, _several(match["text"]))),
            ),
            "accept": (
                form("accept", "", lambda match: AcceptDialog()),
                form("accept [text]", _TEXT, lambda match: AcceptDialog(match["text"])),
            ),
            "dismiss": bare("dismiss", DismissDialog()),
            "goto": (form("goto [address]", _TEXT, lambda match: Goto(match["text"])),),
            "go_back": bare("go_back", Back()),
            "go_forward": bare("go_forward", Forward()),
            "reload": bare("reload", Reload()),
            "new_tab": bare("new_tab", NewTab()),
            "close_tab": bare("close_tab", CloseTab()),
            "tab_close": bare("close_tab", CloseTab()),
            "tab_focus": (
                form("tab_focus [number of the tab]", r"\[\s*(\d{1,9})\s*\]", lambda match: FocusTab(int(match[1]))),
            ),
            "wait": (form("wait [seconds]", r"(?:\[\s*(?P<far>[^\[\]]*?)\s*\])?", _wait),),
            "noop": bare("noop", Noop()),
            "note": (form("note [text]", _TEXT, lambda match: Note(match["text"])),),
            "stop": (
                form("stop [answer]", _TEXT, lambda match: Stop(match["text"])),
                form("stop", "", lambda match: Stop()),
            ),
            "infeasible": (
                form("infeasible [reason]", _TEXT, lambda match: infeasible(match["text"])),
                form("infeasible", "", lambda match: infeasible()),
            ),
        }

    def _drag(self, match: re.Match[str]) -> Action | None:
        source, destination = self._targets.read(match, "t"), self._targets.read(match, "u")
        return None if source is None or destination is None else Drag(source, destination)


def _click(how: str, target: Target, count: int, button: str) -> Action | None:
    modifiers: list[str] = []
    for word in (word.lower() for word in re.findall(r"\w+", how)):
        if word in _COUNTS:
            count = _COUNTS[word]
        elif word in _BUTTONS:
            button = word
        elif word in _MODIFIERS:
            modifiers.append(_MODIFIERS[word])
        else:
            return None
    return Click(target, cast(Literal["left", "right", "middle"], button), count, tuple(modifiers))


def _scroll(match: re.Match[str], target: Target | None) -> Action | None:
    pixels = number(match["far"])
    if match["far"] and pixels is None:
        return None
    return Scroll(cast(_Direction, match["way"]), target, pixels)


def _wait(match: re.Match[str]) -> Action | None:
    if not match["far"]:
        return Wait()
    seconds = number(match["far"])
    return None if seconds is None else Wait(seconds)


def _several(text: str) -> tuple[str, ...]:
    """Split names at ``] [``."""
    return tuple(part.strip() for part in re.split(r"\]\s*\[", text))


_DESCRIPTION = """\
click TARGET               click it; click TARGET [Shift] holds a key meanwhile
double_click TARGET        click it twice; right_click and middle_click use the other buttons
hover TARGET               move the mouse over it
type TARGET [text] [1]     click it, type the text after what is there, press Enter; [0] instead of [1]: no Enter
type [text] [1]            the same wherever the cursor is
fill TARGET [text] [0]     the same, but what the field holds is removed first; clear TARGET only removes it
press [key]                press a key or a combination: Enter, Tab, Escape, ArrowDown, Control+a, …
scroll [down]              scroll by one screen: up, down, left or right; scroll [down] [300] by pixels;
                           scroll TARGET [down] scrolls what is there
select TARGET [option]     choose an option of a drop-down list by its text; several: select TARGET [one] [two]
check TARGET               tick a box or choose a radio button; uncheck TARGET unticks it
drag TARGET TARGET         drag the first to where the second is
upload TARGET [file]       choose a file in a file field
accept                     press OK in an open dialog; accept [text] answers a prompt; dismiss presses Cancel
goto [address]             open an address in the current tab
go_back                    go back to the page before; go_forward goes the other way; reload loads the page again
new_tab                    open an empty tab; close_tab closes the current one
tab_focus [number]         make a tab current; they are numbered from 0
wait [seconds]             wait until the page changes, at most so long; noop does nothing
note [text]                keep a finding on record
stop [answer]              end the task; give the answer if the task asks for one
infeasible [reason]        end the task by saying that it can't be done, and why
"""

set_of_marks = BracketGrammar(
    _ELEMENTS,
    "click [42]",
    "Reply with one action between two ```, for example: I open the cart. ```click [42]```\n"
    "[id] is the number of an element: on its box in the picture and in front of it in the list.",
)
coordinates = BracketGrammar(
    _POINTS,
    "click [640] [360]",
    "Reply with one action between two ```, for example: I open the cart. ```click [640] [360]```\n"
    "[x] [y] is a point of the picture in pixels, counted from its top left corner; or in fractions of its width and\n"
    "height, written with a decimal point: [0.5] [0.25].",
)
