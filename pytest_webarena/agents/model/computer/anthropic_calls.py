"""Calls of Anthropic's computer tools: `computer_toolset_20260801`, `computer_20251124` and `computer_20250124`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from pytest_webarena.actions import Action, Hover, Noop, Point
from pytest_webarena.agents.model.computer import gestures
from pytest_webarena.agents.model.computer.screens import Screen, UnusableCall

__all__ = ["ACTIONS", "UNAVAILABLE", "read_action"]

_NOTCH = 100.0
"""CSS pixels of one click of the scroll wheel."""

UNAVAILABLE: Mapping[str, str] = {
    "cursor_position": "every action takes a coordinate",
    "hold_key": "use key, or hold modifiers by the text of a click",
    "left_mouse_down": "use left_click_drag",
    "left_mouse_up": "use left_click_drag",
}
"""Actions of the tools that can't be carried out, and what to use."""


def read_action(name: str, values: Mapping[str, Any], screen: Screen, cursor: Point | None) -> tuple[Action, ...]:
    """Return the actions that a call stands for. ``cursor`` is where the mouse is. Raises `UnusableCall`."""
    return ACTIONS[name](values, partial(_at, screen, cursor, values))


_At = Callable[..., Point]


def _at(screen: Screen, cursor: Point | None, values: Mapping[str, Any], name: str = "coordinate") -> Point:
    place = values.get(name)
    if place is None:
        if cursor is None:
            raise UnusableCall(f"expected {name!r}, because the mouse is nowhere yet")
        return cursor
    if not isinstance(place, list) or len(place) != 2:
        raise UnusableCall(f"{name}: expected [x, y], found {place!r}")
    return screen.point(*place)


def _click(
    values: Mapping[str, Any], at: _At, button: Literal["left", "right", "middle"] = "left", count: int = 1
) -> tuple[Action, ...]:
    return (gestures.click(at(), button, count=count, held=values.get("text")),)


def _drag(values: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    gestures.require(values, "coordinate")
    return (gestures.drag([at("start_coordinate"), at()], held=values.get("text")),)


def _move(values: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    gestures.require(values, "coordinate")
    return (Hover(at()),)


def _scroll(values: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    pixels = gestures.number(gestures.require(values, "scroll_amount")) * _NOTCH
    return (gestures.scroll(values.get("scroll_direction"), pixels, at(), held=values.get("text")),)


def _key(values: Mapping[str, Any], at: _At) -> tuple[Action, ...]:
    repeat = values.get("repeat")
    return gestures.press(gestures.text(values.get("text")), repeat=1 if repeat is None else repeat)


ACTIONS: Mapping[str, Callable[[Mapping[str, Any], _At], tuple[Action, ...]]] = {
    "double_click": partial(_click, count=2),
    "key": _key,
    "left_click": _click,
    "left_click_drag": _drag,
    "middle_click": partial(_click, button="middle"),
    "mouse_move": _move,
    "right_click": partial(_click, button="right"),
    "screenshot": lambda values, at: (Noop(),),  # the result has one
    "scroll": _scroll,
    "triple_click": partial(_click, count=3),
    "type": lambda values, at: (gestures.typing(values.get("text")),),
    "wait": lambda values, at: (gestures.wait(gestures.require(values, "duration")),),
    "zoom": lambda values, at: (Noop(),),  # the result has the enlarged region
}
"""Readers of actions by name."""
