"""BrowserGym's forms in the `playwright` grammar: calls without ``page.`` on elements by their ids."""

from __future__ import annotations

import re
from collections.abc import Mapping

from pytest_webarena.actions import Element, Selector, Target
from pytest_webarena.browser.grammars.code import Call, WrongCode

__all__ = ["SAME_AS", "bare_call", "split_target"]

SAME_AS: Mapping[str, str] = {
    "mouse_click": "mouse.click",
    "mouse_dblclick": "mouse.dblclick",
    "mouse_move": "mouse.move",
    "keyboard_press": "keyboard.press",
    "keyboard_type": "keyboard.type",
    "keyboard_insert_text": "keyboard.insert_text",
    "tab_close": "page_close",
    "send_msg_to_user": "stop",  # as its WebArena tasks take it: the message is the answer, and the end
    "upload_file": "set_input_files",
}
"""Calls that have another name in BrowserGym than in this grammar."""

_BARE = frozenset(
    {"click", "dblclick", "hover", "fill", "clear", "press", "check", "uncheck", "select_option", "drag_and_drop"}
    | {"scroll", "goto", "go_back", "go_forward", "new_tab", "tab_focus", "noop", "report_infeasible"}
    | {"mouse_drag_and_drop", *SAME_AS}
)
_CALL = re.compile(r"([a-z_]+)\(.*\)", re.DOTALL)
_BID = re.compile(r"\[?([A-Za-z]*)(\d+)\]?", re.ASCII)
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
    """Return the element in the call's first argument, by id or selector, and the call without that argument."""
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
            f"{text[:40]!r} is an id of another tree of the page (BrowserGym's); {name}() expects the number "
            "in brackets that the latest observation shows before the element, in quotes, or a selector"
        )
    return Element(bid[2])
