"""The actions that all computer-use tools share, made of the values in their calls. All raise `UnusableCall`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pytest_webarena.actions import Action, Click, Drag, Noop, Point, Press, Scroll, Type, Wait
from pytest_webarena.agents.model.computer.screens import UnusableCall
from pytest_webarena.browser.acting.keys import UnknownKey, is_modifier, playwright_keys

__all__ = ["click", "drag", "number", "press", "require", "scroll", "text", "typing", "wait"]

_LONGEST_WAIT = 300.0
_FARTHEST = 100_000.0
"""Maximum distance of a scroll in CSS pixels."""
_MOST_PRESSES = 100


def click(
    point: Point, button: Literal["left", "right", "middle"] = "left", *, count: int = 1, held: object = None
) -> Click:
    """A click of one to three times, with the modifier keys ``held`` (a list, or a combination with ``+``)."""
    return Click(point, button=button, count=count, modifiers=_modifiers(held))


def drag(points: Sequence[Point], *, held: object = None) -> Drag:
    """A drag along ``points``, at least two."""
    _refuse_keys(held)
    if len(points) < 2:
        raise UnusableCall("expected a path of at least two points")
    return Drag(points[0], points[-1], path=tuple(points[1:-1]))


def scroll(direction: object, pixels: float | None, point: Point | None = None, *, held: object = None) -> Action:
    """A scroll of so many CSS pixels; None: about one screen. Nothing for 0."""
    _refuse_keys(held)
    match direction:
        case "up" | "down" | "left" | "right":
            pass
        case _:
            raise UnusableCall(f"expected one of the directions up, down, left, right, found {direction!r}")
    if pixels is not None and not 0 <= pixels <= _FARTHEST:
        raise UnusableCall(f"expected to scroll by 0 to {_FARTHEST:g} pixels, found {pixels:g}")
    return Noop() if pixels == 0 else Scroll(direction, target=point, pixels=pixels)


def press(keys: object, *, repeat: object = 1) -> tuple[Press, ...]:
    """Presses of a combination: a list of keys, or a text with ``+`` between them and blanks between combinations.

    Keys without a modifier among them are pressed one after the other.
    """
    combinations = [keys] if isinstance(keys, list) else _combinations(text(keys))
    times = _whole(repeat)
    if not 0 < times * len(combinations) <= _MOST_PRESSES:
        raise UnusableCall(f"expected 1 to {_MOST_PRESSES} key presses, found {times * len(combinations)}")
    return tuple(one for each in combinations for one in _presses(each)) * times


def typing(written: object, point: Point | None = None, *, clear: object = False, enter: object = False) -> Type:
    """Text typed at ``point``, or at the focus."""
    for name, value in (("clear", clear), ("enter", enter)):
        if not isinstance(value, bool):
            raise UnusableCall(f"{name}: expected true or false, found {value!r}")
    return Type(point, text(written), clear=bool(clear), enter=bool(enter))


def wait(seconds: object = 1) -> Wait:
    """A wait of so many seconds at most."""
    if not 0 <= (duration := number(seconds)) <= _LONGEST_WAIT:
        raise UnusableCall(f"expected to wait for 0 to {_LONGEST_WAIT:g} seconds, found {duration:g}")
    return Wait(duration)


def text(value: object) -> str:
    """A text."""
    if not isinstance(value, str):
        raise UnusableCall(f"expected a text, found {value!r}")
    return value


def number(value: object) -> float:
    """A number."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnusableCall(f"expected a number, found {value!r}")
    return float(value)


def require(values: Mapping[str, Any], name: str) -> Any:
    """The value of a key that a call must have."""
    if values.get(name) is None:
        raise UnusableCall(f"expected {name!r}, found none")
    return values[name]


def _combinations(keys: str) -> list[str]:
    """Combinations in a text such as ``ctrl+a BackSpace``; a single blank is the space key."""
    if not keys.strip():
        return ["Space"] if keys else [""]
    joined = keys.strip().replace(" + ", "+")
    return joined.split()


def _presses(keys: object) -> tuple[Press, ...]:
    found = keys if isinstance(keys, list) else [keys]
    parts = [part for part in found if isinstance(part, str) and part]
    if not parts or len(parts) < len(found):
        raise UnusableCall(f"expected keys, found {keys!r}")
    try:
        if len(parts) > 1 and not any(map(is_modifier, parts)):
            return tuple(Press(playwright_keys(part)) for part in parts)
        return (Press(playwright_keys("+".join(parts))),)
    except UnknownKey as unknown:
        raise UnusableCall(str(unknown)) from None


def _modifiers(held: object) -> tuple[str, ...]:
    if not held:
        return ()
    keys = held.split("+") if isinstance(held, str) else held
    if not isinstance(keys, list) or not all(isinstance(key, str) and is_modifier(key) for key in keys):
        raise UnusableCall(f"expected keys such as Control, Shift, Alt or Meta to hold, found {held!r}")
    return tuple(playwright_keys(key) for key in keys)


def _refuse_keys(held: object) -> None:
    if held:
        raise UnusableCall("keys can't be held with it")


def _whole(value: object) -> int:
    found = number(value)
    if not found.is_integer():
        raise UnusableCall(f"expected a whole number, found {value!r}")
    return int(found)
