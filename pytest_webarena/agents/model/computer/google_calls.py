"""Calls of Google's tool `computer_use`: the functions of Gemini 3.5 and later, and those of earlier models.

Coordinates are on a grid of 1000 by 1000, whatever the size of the screenshot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

from pytest_webarena.actions import Action, Back, Forward, Goto, Hover, Noop, Point
from pytest_webarena.agents.model.computer import gestures
from pytest_webarena.agents.model.computer.screens import Screen

__all__ = ["ACTIONS", "UNAVAILABLE", "read_action"]

UNAVAILABLE: Mapping[str, str] = {
    "key_down": "use hotkey",
    "key_up": "use hotkey",
    "mouse_down": "use drag_and_drop",
    "mouse_up": "use drag_and_drop",
    "search": "there is no search engine; use navigate",
}
"""Functions of the tool that can't be carried out, and what to use."""


def read_action(name: str, values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    """Return the actions that a call stands for. Raises `UnusableCall`."""
    return ACTIONS[name](values, screen)


def _at(values: Mapping[str, Any], screen: Screen, x: str = "x", y: str = "y") -> Point:
    return screen.point(values.get(x), values.get(y))


def _click(
    values: Mapping[str, Any],
    screen: Screen,
    button: Literal["left", "right", "middle"] = "left",
    count: int = 1,
) -> tuple[Action, ...]:
    return (gestures.click(_at(values, screen), button, count=count),)


def _move(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (Hover(_at(values, screen)),)


def _type(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    return (gestures.typing(values.get("text"), enter=values.get("press_enter", False)),)


def _type_at(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    clear, enter = values.get("clear_before_typing", True), values.get("press_enter", True)
    return (gestures.typing(values.get("text"), _at(values, screen), clear=clear, enter=enter),)


def _drag(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    earlier = "destination_x" in values or "destination_y" in values
    begin, end = (
        (("x", "y"), ("destination_x", "destination_y")) if earlier else (("start_x", "start_y"), ("end_x", "end_y"))
    )
    return (gestures.drag([_at(values, screen, *begin), _at(values, screen, *end)]),)


def _scroll(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    pixels = gestures.number(values.get("magnitude_in_pixels", 300))
    return (gestures.scroll(values.get("direction"), pixels, _at(values, screen)),)


def _scroll_at(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    """A scroll whose distance is on the grid, too."""
    share = gestures.number(values.get("magnitude", 800)) / screen.height
    size = screen.viewport[1] if values.get("direction") in ("up", "down") else screen.viewport[0]
    return (gestures.scroll(values.get("direction"), share * size, _at(values, screen)),)


def _look(values: Mapping[str, Any], screen: Screen) -> tuple[Action, ...]:
    """Nothing: the result has a screenshot."""
    return (Noop(),)


ACTIONS: Mapping[str, Callable[[Mapping[str, Any], Screen], tuple[Action, ...]]] = {
    "click": _click,
    "double_click": partial(_click, count=2),
    "drag_and_drop": _drag,
    "go_back": lambda values, screen: (Back(),),
    "go_forward": lambda values, screen: (Forward(),),
    "hotkey": lambda values, screen: gestures.press(gestures.require(values, "keys")),
    "middle_click": partial(_click, button="middle"),
    "move": _move,
    "navigate": lambda values, screen: (Goto(gestures.text(values.get("url"))),),
    "press_key": lambda values, screen: gestures.press(gestures.text(values.get("key"))),
    "right_click": partial(_click, button="right"),
    "scroll": _scroll,
    "take_screenshot": _look,
    "triple_click": partial(_click, count=3),
    "type": _type,
    "wait": lambda values, screen: (gestures.wait(values.get("seconds", 1)),),
    # Of Gemini 2.5 and 3.
    "click_at": _click,
    "hover_at": _move,
    "key_combination": lambda values, screen: gestures.press(gestures.text(values.get("keys"))),
    "open_web_browser": _look,
    "scroll_at": _scroll_at,
    "scroll_document": lambda values, screen: (gestures.scroll(values.get("direction"), None),),
    "type_text_at": _type_at,
    "wait_5_seconds": lambda values, screen: (gestures.wait(5),),
}
"""Readers of functions by name."""
