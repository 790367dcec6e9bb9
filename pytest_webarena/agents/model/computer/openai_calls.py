"""Calls of OpenAI's computer tools (`computer`, `computer_use_preview`): each has one action or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_webarena.actions import Action, Back, Forward, Hover, Noop, Point
from pytest_webarena.agents.model.computer import gestures
from pytest_webarena.agents.model.computer.screens import Screen, UnusableCall

__all__ = ["ACTIONS", "read_action"]


def read_action(action: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    """Return the actions that one action of a call stands for. Raises `UnusableCall`."""
    return ACTIONS[str(action["type"])](action, lambda place: screen.point(place.get("x"), place.get("y")))


_At = Callable[[Mapping[str, Any]], Point]


def _click(action: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    match action.get("button", "left"):
        case "back":
            return (Back(),)
        case "forward":
            return (Forward(),)
        case "left" | "right" as button:
            return (gestures.click(at(action), button, held=action.get("keys")),)
        case "wheel":
            return (gestures.click(at(action), "middle", held=action.get("keys")),)
        case other:
            raise UnusableCall(f"expected one of the buttons left, right, wheel, back, forward, found {other!r}")


def _double_click(action: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    return (gestures.click(at(action), count=2, held=action.get("keys")),)


def _drag(action: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    path = action.get("path")
    if not isinstance(path, list) or not all(isinstance(place, Mapping) for place in path):
        raise UnusableCall(f"expected a path of points, found {path!r}")
    return (gestures.drag([at(place) for place in path], held=action.get("keys")),)


def _keypress(action: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    keys = action.get("keys")
    if not isinstance(keys, list):
        raise UnusableCall(f"expected a list of keys, found {keys!r}")
    return gestures.press(keys)


def _move(action: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    if action.get("keys"):
        raise UnusableCall("keys can't be held with it")
    return (Hover(at(action)),)


def _scroll(action: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    across, down = (gestures.number(gestures.require(action, name)) for name in ("scroll_x", "scroll_y"))
    if across and down:
        raise UnusableCall(f"expected to scroll along one axis, found {across:g} and {down:g}")
    direction = ("down" if down > 0 else "up") if not across else "right" if across > 0 else "left"
    return (gestures.scroll(direction, abs(across or down), at(action), held=action.get("keys")),)


ACTIONS: Mapping[str, Callable[[Mapping[str, Any], _At], tuple[Action, ...]]] = {
    "click": _click,
    "double_click": _double_click,
    "drag": _drag,
    "keypress": _keypress,
    "move": _move,
    "screenshot": lambda action, at: (Noop(),),  # the next request includes one
    "scroll": _scroll,
    "type": lambda action, at: (gestures.typing(action.get("text")),),
    "wait": lambda action, at: (gestures.wait(),),
}
"""Readers of actions by type."""
