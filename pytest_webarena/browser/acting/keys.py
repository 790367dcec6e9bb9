"""Conversion of key names in agents' spelling to Playwright's names."""

from __future__ import annotations

import difflib

__all__ = ["HELD", "HELD_ALIASES", "UnknownKey", "is_modifier", "playwright_keys"]

_NAMED = (
    "Alt", "AltGraph", "ArrowDown", "ArrowLeft", "ArrowRight", "ArrowUp", "Backspace", "CapsLock", "ContextMenu",
    "Control", "ControlOrMeta", "Delete", "End", "Enter", "Escape", "Home", "Insert", "Meta", "NumLock", "PageDown",
    "PageUp", "Pause", "PrintScreen", "ScrollLock", "Shift", "Space", "Tab", *(f"F{n}" for n in range(1, 13)),
    # Keys by their place on the keyboard, with the names of web standards.
    *(f"Key{letter}" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), *(f"Digit{n}" for n in range(10)),
    *(f"Numpad{n}" for n in range(10)), "NumpadAdd", "NumpadDecimal", "NumpadDivide", "NumpadEnter", "NumpadMultiply",
    "NumpadSubtract", "AltLeft", "AltRight", "ControlLeft", "ControlRight", "MetaLeft", "MetaRight", "ShiftLeft",
    "ShiftRight", "Backquote", "Backslash", "BracketLeft", "BracketRight", "Comma", "Equal", "Minus", "Period",
    "Quote", "Semicolon", "Slash", "AudioVolumeDown", "AudioVolumeMute", "AudioVolumeUp", "MediaPlayPause",
    "MediaTrackNext", "MediaTrackPrevious",
)  # fmt: skip
"""All key names of Playwright."""
_BY_LOWER = {name.lower(): name for name in _NAMED}
_ALIASES = {
    "ctrl": "Control", "cmd": "ControlOrMeta", "command": "ControlOrMeta", "cmdorctrl": "ControlOrMeta",
    "option": "Alt", "win": "Meta", "windows": "Meta", "super": "Meta", "esc": "Escape", "return": "Enter",
    "del": "Delete", "ins": "Insert", "bksp": "Backspace", "spacebar": "Space", "up": "ArrowUp", "down": "ArrowDown",
    "left": "ArrowLeft", "right": "ArrowRight", "pgup": "PageUp", "pgdn": "PageDown", "pgdown": "PageDown",
    "plus": "+", "control_l": "ControlLeft", "control_r": "ControlRight", "shift_l": "ShiftLeft",
    "shift_r": "ShiftRight", "alt_l": "AltLeft", "alt_r": "AltRight", "page_up": "PageUp", "page_down": "PageDown",
    "prtsc": "PrintScreen", "print": "PrintScreen", "apps": "ContextMenu", "menu": "ContextMenu", "dot": ".",
    "equals": "=",
    # X11's names, which Anthropic's computer tool uses, and those of Google's.
    **{f"kp_{n}": f"Numpad{n}" for n in range(10)}, "kp_enter": "NumpadEnter", "kp_add": "NumpadAdd",
    "kp_subtract": "NumpadSubtract", "kp_multiply": "NumpadMultiply", "kp_divide": "NumpadDivide",
    "kp_decimal": "NumpadDecimal", "add": "NumpadAdd", "subtract": "NumpadSubtract", "multiply": "NumpadMultiply",
    "divide": "NumpadDivide", "decimal": "NumpadDecimal", "prior": "PageUp", "next": "PageDown", "super_l": "MetaLeft",
    "super_r": "MetaRight", "meta_l": "MetaLeft", "meta_r": "MetaRight", "exclam": "!", "at": "@", "numbersign": "#",
    "dollar": "$", "percent": "%", "asciicircum": "^", "ampersand": "&", "asterisk": "*", "parenleft": "(",
    "parenright": ")", "underscore": "_", "colon": ":", "quotedbl": '"', "apostrophe": "'", "less": "<",
    "greater": ">", "question": "?", "bar": "|", "braceleft": "{", "braceright": "}", "asciitilde": "~", "grave": "`",
}  # fmt: skip
HELD = ("Alt", "Control", "ControlOrMeta", "Meta", "Shift")
"""Keys that can be held during a click."""
HELD_ALIASES = {alias: name for alias, name in _ALIASES.items() if name in HELD}
"""Aliases of these keys."""
_MODIFIERS = frozenset(
    {"Alt", "Control", "ControlOrMeta", "Meta", "Shift"}
    | {f"{name}{side}" for name in ("Alt", "Control", "Meta", "Shift") for side in ("Left", "Right")}
)


class UnknownKey(Exception):
    """There is no such key; the text names similar ones."""


def playwright_keys(keys: str) -> str:
    """Convert key names and combinations to Playwright's, whatever their case and spelling.

    Any single character is a key. ``ControlOrMeta`` is Meta on macOS, else Control.

    >>> playwright_keys("ctrl+shift+arrowleft")
    'Control+Shift+ArrowLeft'
    >>> playwright_keys("CMD + a")
    'ControlOrMeta+a'
    """
    parts = _split(keys)
    names = [_name(part) for part in parts]
    for name in names[:-1]:
        if name not in _MODIFIERS:
            raise UnknownKey(f"{keys!r}: {name} can't be held down; put Control, Shift, Alt or Meta before one key")
    if len(names) > 1 and "Shift" not in names and names[-1].isalpha() and len(names[-1]) == 1:
        names[-1] = names[-1].lower()  # "Ctrl+A" is the shortcut; an upper-case key would also press Shift
    return "+".join(names)


def is_modifier(key: str) -> bool:
    """Return whether ``key``, in any spelling, is a key that others are pressed with."""
    name = key.strip().lower()
    return (_BY_LOWER.get(name) or _ALIASES.get(name)) in _MODIFIERS


def _split(keys: str) -> list[str]:
    """Split at plus signs; ``Control++`` and ``+`` mean the plus key itself."""
    keys = keys.strip() or keys
    if keys.strip() == "":
        return ["Space"] if keys else [""]
    if keys == "+":
        return ["+"]
    if keys.endswith("++"):
        return [*(part.strip() for part in keys[:-2].split("+")), "+"]
    return [part.strip() for part in keys.split("+")]


def _name(part: str) -> str:
    if len(part) == 1:
        return part
    lower = part.lower()
    name = _BY_LOWER.get(lower) or _ALIASES.get(lower) or _BY_LOWER.get(lower.replace(" ", "").replace("_", ""))
    if name:
        return name
    similar = difflib.get_close_matches(part.title().replace(" ", ""), _NAMED, n=1, cutoff=0.6)
    hint = (
        f"did you mean {similar[0]}?"
        if similar
        else "known are single characters and names such as Enter, Tab, ArrowDown"
    )
    raise UnknownKey(f"there is no key {part!r}; {hint}" if part else f"expected a key, found none; {hint}")
