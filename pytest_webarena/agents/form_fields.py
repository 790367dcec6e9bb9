"""Elements and what form fields hold, read from observations as text, recorded ones and those of a repetition."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord

__all__ = ["field_value", "named_elements", "pieces_of", "rewritten"]

_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_LINE = re.compile(rf"^\s*\[\w+\] (\w+) ({_QUOTED})(.*)$", re.MULTILINE)
_ELEMENT = re.compile(r"^\s*\[(\w+)\] (\w+) (?:'(.*?)'|(\"(?:[^\"\\]|\\.)*\"))(?= \w+:|$)", re.MULTILINE)
_VALUE = re.compile(rf" value: ({_QUOTED}|\S+)")
_ERASING = frozenset({"Backspace", "Delete"})
_FIELDS = frozenset({"combobox", "searchbox", "slider", "spinbutton", "textbox"})


def named_elements(text: str) -> list[tuple[str, str, str]]:
    """Id, role and name of all.

    >>> named_elements("[3] link 'Home' url: /")
    [('3', 'link', 'Home')]
    """
    return [(id, role, _read(quoted) if quoted else name) for id, role, name, quoted in _ELEMENT.findall(text)]


def field_value(text: str, role: str, name: str) -> str | None:
    """What the only field with this role and name holds; None where there is no telling.

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


def rewritten(
    action: Mapping[str, Any],
    before: str | None,
    after: str | None,
    now: str | None = None,
    left: str | None = None,
) -> dict[str, Any] | None:
    """The typing or erasing ``action`` so that its field holds ``after`` again, whatever was marked or where the cursor
    was, and whatever a script had put there ``before``; None where it is that already, or the page made something else
    of the text. ``now`` is what the field holds in the repetition, ``left`` what it held when the text was in; None
    where there is no telling.

    >>> written_anew({"kind": "type", "text": "Bo", "clear": False}, "Ada", "Bo")
    {'kind': 'type', 'text': 'Bo', 'clear': True}
    >>> written_anew({"kind": "type", "text": "Bo", "clear": False}, "Ada", "AdaBo")
    {'kind': 'type', 'text': 'AdaBo', 'clear': True}
    >>> written_anew({"kind": "type", "text": "Bo", "clear": False}, "", "Bo", now="Ada")
    {'kind': 'type', 'text': 'Bo', 'clear': True}
    >>> written_anew({"kind": "type", "text": "6", "clear": False}, None, None, left="6")
    {'kind': 'type', 'text': '6', 'clear': True}
    >>> written_anew({"kind": "press", "keys": "Backspace"}, "Ada", "")
    {'kind': 'type', 'text': '', 'clear': True, 'enter': False}
    """
    if action.get("kind") == "press":
        least = 1 if action.get("target") is None else 2  # one character a click has before the cursor, no focus
        erased = action.get("keys") in _ERASING and after == "" and len(before or "") >= least
        return {"kind": "type", "text": "", "clear": True, "enter": False} | _target_of(action) if erased else None
    text = str(action.get("text", ""))
    if left is not None and not action.get("clear") and (whole := _whole(text, before, now, left)) is not None:
        return {**action, "text": whole, "clear": True} if whole else None
    if action.get("clear") or not after or text not in after or set(after) <= {"•"}:
        return None
    if not before and not (now and now != before):
        return None
    rest = after.replace(text, "", 1)
    return {**action, "text": after, "clear": True} if _is_part(rest, before or "") else None


def pieces_of(step: StepRecord, text: str) -> tuple[tuple[str, bool | None], ...]:
    """``text``, in which is what ``step`` wrote, in parts, and of each whether the step put it in at once; None of what
    the field held beside it. Empty where all of it was typed key by key.
    """
    wrote = str(step.action.get("text", ""))
    spans = step.at_once
    if not spans and step.raw.startswith("Input.insertText(") and f"text={wrote!r}"[:200] in step.raw:
        spans = ((0, len(wrote)),)  # of a record from before there was `at_once`
    begins = text.find(wrote) if wrote else -1
    if begins < 0:  # the page makes it of it again
        return ((text, True),) if text and wrote and spans == ((0, len(wrote)),) else ()
    if not spans and text == wrote:
        return ()
    ends = begins + len(wrote)
    cuts = sorted({0, begins, ends, len(text), *(begins + each for span in spans for each in span)})
    inserted = {begins + start for start, _ in spans}
    return tuple(
        (text[start:end], start in inserted if begins <= start < ends else None) for start, end in pairwise(cuts)
    )


def _whole(text: str, before: str | None, now: str | None, left: str) -> str | None:
    """What to write so that the field holds ``left``; empty where ``text`` alone does that, None where nobody knows."""
    if before == now == "" and text:
        return ""
    whole = bool(signs := _signs(text)) and signs == _signs(left)
    if text and text in left and (before is not None or not whole):
        return left if before is None or _is_part(left.replace(text, "", 1), before) else None
    return text if whole or text == left != "" else None  # of which a mask makes again what it has made


def _signs(text: str) -> str:
    return "".join(each for each in text.casefold() if each.isalnum())


def _target_of(action: Mapping[str, Any]) -> dict[str, Any]:
    return {"target": action["target"]} if "target" in action else {}


def _is_part(rest: str, before: str) -> bool:
    """Whether ``rest`` is what is left of ``before`` around a place where something was marked, or nothing."""
    return any(before.startswith(rest[:cut]) and before.endswith(rest[cut:]) for cut in range(len(rest) + 1))


def _read(shown: str) -> str:
    try:
        value = ast.literal_eval(shown)
    except (ValueError, SyntaxError):
        return shown
    return value if isinstance(value, str) else shown
