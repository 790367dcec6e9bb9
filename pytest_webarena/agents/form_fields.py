"""Parses elements and form field values from observations as text, recorded ones and those of a replay."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord

__all__ = ["field_value", "named_elements", "pieces_of", "rewrite_typing"]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LINE = re.compile(rf"^\s*\[\w+\] (\w+) ({_QUOTED})(.*)$", re.MULTILINE)
_ELEMENT = re.compile(r"^\s*\[(\w+)\] (\w+) (?:'(.*?)'|(\"(?:[^\"\\]|\\.)*\"))(?= \w+:|$)", re.MULTILINE)
_VALUE = re.compile(rf" value: ({_QUOTED}|\S+)")
_ERASING = frozenset({"Backspace", "Delete"})
_FIELDS = frozenset({"combobox", "searchbox", "slider", "spinbutton", "textbox"})


def named_elements(text: str) -> list[tuple[str, str, str]]:
    """Id, role and name of all elements.

    >>> named_elements("[3] link 'Home' url: /")
    [('3', 'link', 'Home')]
    """
    return [(id, role, _read(quoted) if quoted else name) for id, role, name, quoted in _ELEMENT.findall(text)]


def field_value(text: str, role: str, name: str) -> str | None:
    """The value of the only field with this role and name; None if it is unknown.

    >>> field_value("[3] textbox 'Name' required: True value: 'Ada'", "textbox", "Name")
    'Ada'
    >>> field_value("[3] textbox 'Name'", "textbox", "Name")
    ''
    """
    if role not in _FIELDS:
        return None
    found = [rest for kind, quoted, rest in _LINE.findall(text) if (kind, _read(quoted)) == (role, name)]
    if len(found) != 1:
        return None
    value = _VALUE.search(found[0])
    return _read(value[1]) if value else ""


def rewrite_typing(
    action: Mapping[str, Any],
    before: str | None,
    after: str | None,
    now: str | None = None,
    entered_value: str | None = None,
) -> dict[str, Any] | None:
    """The typing or erasing ``action``, changed so that its field contains ``after`` again, whatever was selected,
    where the cursor was, and whatever a script had put there ``before``. None if the action has that effect already, or
    the page changed the text.

    ``now`` is the field's value in the replay, ``entered_value`` its value right after the text was entered; None:
    unknown.

    >>> rewrite_typing({"kind": "type", "text": "Bo", "clear": False}, "Ada", "Bo")
    {'kind': 'type', 'text': 'Bo', 'clear': True}
    >>> rewrite_typing({"kind": "type", "text": "Bo", "clear": False}, "Ada", "AdaBo")
    {'kind': 'type', 'text': 'AdaBo', 'clear': True}
    >>> rewrite_typing({"kind": "type", "text": "Bo", "clear": False}, "", "Bo", now="Ada")
    {'kind': 'type', 'text': 'Bo', 'clear': True}
    >>> rewrite_typing({"kind": "type", "text": "6", "clear": False}, None, None, entered_value="6")
    {'kind': 'type', 'text': '6', 'clear': True}
    >>> rewrite_typing({"kind": "press", "keys": "Backspace"}, "Ada", "")
    {'kind': 'type', 'text': '', 'clear': True, 'enter': False}
    """
    if action.get("kind") == "press":
        least = 1 if action.get("target") is None else 2  # a click may leave one character before the cursor
        erased = action.get("keys") in _ERASING and after == "" and len(before or "") >= least
        return {"kind": "type", "text": "", "clear": True, "enter": False} | _target_of(action) if erased else None
    text = str(action.get("text", ""))
    if (
        entered_value is not None
        and not action.get("clear")
        and (new_text := _whole_text(text, before, now, entered_value)) is not None
    ):
        return {**action, "text": new_text, "clear": True} if new_text else None
    if action.get("clear") or not after or text not in after or set(after) <= {"•"}:
        return None
    if not before and not (now and now != before):
        return None
    rest = after.replace(text, "", 1)
    return {**action, "text": after, "clear": True} if _is_part(rest, before or "") else None


def pieces_of(step: StepRecord, text: str) -> tuple[tuple[str, bool | None], ...]:
    """``text``, which contains what ``step`` wrote, split into pieces; for each piece whether the step inserted it at
    once, or None for text that the field contained in addition. Empty if all of it was typed key by key."""
    wrote = str(step.action.get("text", ""))
    spans = step.at_once
    if not spans and step.raw.startswith("Input.insertText(") and f"text={wrote!r}"[:200] in step.raw:
        spans = ((0, len(wrote)),)  # a record from before `at_once` existed
    begins = text.find(wrote) if wrote else -1
    if begins < 0:  # the page converts the text again
        return ((text, True),) if text and wrote and spans == ((0, len(wrote)),) else ()
    if not spans and text == wrote:
        return ()
    ends = begins + len(wrote)
    cuts = sorted({0, begins, ends, len(text), *(begins + each for span in spans for each in span)})
    inserted = {begins + start for start, _ in spans}
    return tuple(
        (text[start:end], start in inserted if begins <= start < ends else None) for start, end in pairwise(cuts)
    )


def _whole_text(text: str, before: str | None, now: str | None, entered_value: str) -> str | None:
    """The text to write so that the field contains ``left``; empty if ``text`` itself does that, None if that is
    unknown."""
    if before == now == "" and text:
        return ""
    is_same_characters = bool(characters := _characters(text)) and characters == _characters(entered_value)
    if text and text in entered_value and (before is not None or not is_same_characters):
        return entered_value if before is None or _is_part(entered_value.replace(text, "", 1), before) else None
    return text if is_same_characters or text == entered_value != "" else None  # an input mask formats the text again


def _characters(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def _target_of(action: Mapping[str, Any]) -> dict[str, Any]:
    return {"target": action["target"]} if "target" in action else {}


def _is_part(rest: str, before: str) -> bool:
    """Whether ``rest`` is ``before`` without a selected part, possibly an empty one."""
    return any(before.startswith(rest[:cut]) and before.endswith(rest[cut:]) for cut in range(len(rest) + 1))


def _read(shown: str) -> str:
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
    return value if isinstance(value, str) else shown
