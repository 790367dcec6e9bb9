"""OpenAI's computer tool as a reply form: converts calls with coordinates on the last screenshot to actions.

Names are those of the Responses API. A call may contain several actions, which are carried out one after the other,
each as a step. An unknown action is reported by name, and nothing is carried out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from pytest_webarena.actions import (
    Action,
    Back,
    Click,
    Drag,
    Forward,
    Hover,
    Invalid,
    Noop,
    Point,
    Press,
    Scroll,
    Stop,
    Type,
    Wait,
)
from pytest_webarena.llm.messages import ModelReply

__all__ = ["COMPUTER", "read_computer"]

COMPUTER = "computer"
"""Name of the tool's calls among the tool calls of a reply."""
_MOST = 50
"""Maximum number of actions in one call."""
_FARTHEST = 100_000
"""Maximum distance in CSS pixels."""


def read_computer(reply: ModelReply) -> tuple[tuple[Action, ...], str]:
    """The actions of a reply, and the safety checks that the endpoint wants acknowledged.

    A reply of text only is the answer: that is how the tool signals the end. Never raises.
    """
    raw = "\n".join([reply.text, *(call.arguments for call in reply.tool_calls)]).strip()
    if not reply.tool_calls and reply.is_cut:
        return (Invalid(raw, f"The reply was cut off ({reply.finish}), so it is no answer."),), ""
    if not reply.tool_calls:
        return (Stop(reply.text.strip()),), ""
    others = sorted({call.name for call in reply.tool_calls if call.name != COMPUTER})
    if others or len(reply.tool_calls) > 1:
        found = f"calls of {', '.join(others)}" if others else f"{len(reply.tool_calls)} calls"
        return (Invalid(raw, f"Expected one computer_call, found {found}; nothing was carried out."),), ""
    try:
        data = json.loads(reply.tool_calls[0].arguments)
        actions = tuple(_read(each) for each in data["actions"])
        checks = "; ".join(f"{each.get('code')}: {each.get('message')}" for each in data["checks"])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        return (Invalid(raw, f"A computer_call that can't be read ({type(error).__name__}: {error})."),), ""
    wrong = next((each for each in actions if isinstance(each, Invalid)), None)
    if wrong is not None or not 0 < len(actions) <= _MOST:
        reason = wrong.reason if wrong is not None else f"Expected 1 to {_MOST} actions, found {len(actions)}."
        return (Invalid(raw, reason),), checks
    return actions, checks


def _read(action: Mapping[str, Any]) -> Action:
    kind = action.get("type")
    read = _KINDS.get(kind) if isinstance(kind, str) else None
    if read is None:
        return Invalid(json.dumps(action), f"There is no computer action {kind!r}; known are {', '.join(_KINDS)}.")
    try:
        return read(action)
    except (KeyError, TypeError, ValueError) as error:
        return Invalid(json.dumps(action), f"The computer action {kind} can't be read: {error}.")


def _click(action: Mapping[str, Any]) -> Action:
    button = action.get("button", "left")
    if button in ("back", "forward"):
        return Back() if button == "back" else Forward()
    buttons: dict[str, Any] = {"left": "left", "right": "right", "wheel": "middle"}
    if button not in buttons:
        raise ValueError(f"expected one of the buttons {', '.join(buttons)}, back, forward, found {button!r}")
    return Click(_point(action), button=buttons[button], modifiers=_held(action))


def _double_click(action: Mapping[str, Any]) -> Action:
    return Click(_point(action), count=2, modifiers=_held(action))


def _drag(action: Mapping[str, Any]) -> Action:
    path = action["path"]
    if not isinstance(path, list) or len(path) < 2:
        raise ValueError("expected a path of at least two points")
    _require_no_keys(action)
    return Drag(_point(path[0]), _point(path[-1]))


def _keypress(action: Mapping[str, Any]) -> Action:
    return Press("+".join(_keys(action["keys"])))


def _move(action: Mapping[str, Any]) -> Action:
    _require_no_keys(action)
    return Hover(_point(action))


def _scroll(action: Mapping[str, Any]) -> Action:
    """A scroll along one axis. `ValueError` for a scroll along both."""
    _require_no_keys(action)
    x, y = _number(action["scroll_x"]), _number(action["scroll_y"])
    if x and y:
        raise ValueError(f"expected to scroll along one axis, found {x:g} and {y:g}")
    if not x and not y:
        return Noop()
    if y:
        return Scroll("down" if y > 0 else "up", target=_point(action), pixels=abs(y))
    return Scroll("right" if x > 0 else "left", target=_point(action), pixels=abs(x))


def _type(action: Mapping[str, Any]) -> Action:
    if not isinstance(action["text"], str):
        raise ValueError("expected a text")
    return Type(None, action["text"])


_KINDS: Mapping[str, Callable[[Mapping[str, Any]], Action]] = {
    "click": _click,
    "double_click": _double_click,
    "drag": _drag,
    "keypress": _keypress,
    "move": _move,
    "screenshot": lambda action: Noop(),  # the next request includes one
    "scroll": _scroll,
    "type": _type,
    "wait": lambda action: Wait(),
}

_NAMES = {"CTRL": "Control", "CMD": "Meta", "WIN": "Meta", "SUPER": "Meta", "OPTION": "Alt"}


def _keys(keys: object) -> list[str]:
    named = [key for key in keys if isinstance(key, str) and key] if isinstance(keys, list) else []
    if not named or named != keys:
        raise ValueError(f"expected a list of keys, found {keys!r}")
    return [_NAMES.get(key.upper(), key) for key in named]


def _held(action: Mapping[str, Any]) -> tuple[str, ...]:
    """Modifier keys, capitalised as in this project's actions."""
    return tuple(key.capitalize() for key in _keys(action["keys"])) if action.get("keys") else ()


def _require_no_keys(action: Mapping[str, Any]) -> None:
    if action.get("keys"):
        raise ValueError("keys can't be held with it")


def _point(place: Mapping[str, Any]) -> Point:
    return Point(_number(place["x"]), _number(place["y"]))


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not -_FARTHEST <= value <= _FARTHEST:
        raise ValueError(f"expected a number of pixels, found {value!r}")
    return float(value)
