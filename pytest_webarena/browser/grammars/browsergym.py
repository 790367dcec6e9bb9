"""BrowserGym's calls in the `playwright` grammar: without ``page.``, on elements given by their ids."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_webarena.actions import Element, Selector, Target
from pytest_webarena.browser.grammars.code import Call, WrongCode

__all__ = ["ALIASES", "bare_call", "split_target"]

ALIASES: Mapping[str, str] = {
    "mouse_click": "mouse.click",
    "mouse_dblclick": "mouse.dblclick",
    "mouse_move": "mouse.move",
    "keyboard_press": "keyboard.press",
    "keyboard_type": "keyboard.type",
    "keyboard_insert_text": "keyboard.insert_text",
    "tab_close": "page_close",
    "send_msg_to_user": "stop",  # in its WebArena tasks, the message is the answer and ends the episode
    "upload_file": "set_input_files",
}
"""Names in this grammar of calls that BrowserGym names differently."""

_BARE = frozenset(
    {"click", "dblclick", "hover", "fill", "clear", "press", "check", "uncheck", "select_option", "drag_and_drop"}
    | {"scroll", "goto", "go_back", "go_forward", "new_tab", "tab_focus", "noop", "report_infeasible"}
    | {"mouse_drag_and_drop", *ALIASES}
)
"""Names of all calls of BrowserGym."""
_CALL = re.compile(r"([a-z_]+)\(.*\)", re.DOTALL)
_BID = re.compile(r"\[?([A-Za-z]*)(\d+)\]?", re.ASCII)
"""An element id: a number, in BrowserGym's own trees after the letters of its frame."""
_TAGS = frozenset(f"h{level}" for level in range(1, 7))
"""HTML tags that look like an id of BrowserGym."""


def bare_call(reply: str) -> str:
    """Return the reply if it is only a BrowserGym call, because its agents write actions without ```; else empty.

    >>> bare_call("click('51')"), bare_call("I click('51')")
    ("click('51')", '')
    """
    match = _CALL.fullmatch(reply.strip())
    return match[0] if match and match[1] in _BARE else ""


def split_target(call: Call, *names: str) -> tuple[Target, Call]:
    """Return the target in the call's first argument (an id or a selector), and the call without that argument.

    ``names`` are the keywords by which the argument may be passed instead.
    """
    options = dict(call.options)
    if call.args:
        argument, args = call.args[0], call.args[1:]
    else:
        argument, args = next((options.pop(name) for name in names if name in options), None), ()
    return _target(call.name, argument), Call(call.name, args, options)


def _target(name: str, argument: object) -> Target:
    text = str(argument) if isinstance(argument, int) and not isinstance(argument, bool) else argument
    if not isinstance(text, str):
        raise WrongCode(f"{name}() expects a text in quotes")
    bid = _BID.fullmatch(text.strip())
    if bid is None or text in _TAGS:
        return Selector(text)
    if bid[1]:
        raise WrongCode(
            f"{text[:40]!r} is an id of BrowserGym's own tree; {name}() expects the number in brackets that the latest "
            "observation shows before the element, in quotes, or a selector"
        )
    return Element(bid[2])
