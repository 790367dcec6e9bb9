"""Reads a JSON task file as rows: one object per task with its position, and every problem of the file."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from pytest_webarena.errors import Problem
from pytest_webarena.text import clip

__all__ = ["MAX_PROBLEMS", "Row", "TaskRows", "parse_json", "read_rows", "said"]

MAX_PROBLEMS = 200
"""Maximum number of problems of one file that are listed; further ones are counted."""
_MAX_DEPTH = 40
_SPACE = re.compile(r"[ \t\r\n]*")
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f]")

Key = str | int
Path = tuple[Key, ...]


class _Twice(ValueError):
    """An object has a key twice."""


class _NotJson(ValueError):
    """A constant that Python accepts and JSON does not have."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(name for name, _ in pairs if name in seen or seen.add(name)))  # type: ignore[func-returns-value]
    return found


def _constant(name: str) -> Any:
    raise _NotJson(name)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=_constant)


def parse_json(text: str) -> Any:
    """Parse a JSON text in which no object has a key twice. Raises `ValueError` with the reason for an invalid text."""
    try:
        return _DECODER.decode(text)
    except _Twice as error:
        raise ValueError(f"the key '{clip(str(error), 60)}' is in it twice") from None


@dataclass(frozen=True, slots=True)
class Row:
    """One task as it is in the file."""

    index: int
    """Position in the file, from 0."""
    data: dict[str, Any]
    offset: int
    """Offset of its beginning in characters."""
    line: int
    """Line of its beginning, from 1."""

    @property
    def name(self) -> str:
        """Name in messages: its task id or index, else its position."""
        for number in (self.data.get("task_id"), self.data.get("index")):
            if isinstance(number, int) and not isinstance(number, bool):
                return f"task {number}"
        return f"task at position {self.index}"


class TaskRows:
    """The rows of one file, and its problems. Problems are collected, never raised."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.more = 0
        """Number of problems beyond `MAX_PROBLEMS`."""

    def problem(self, row: Row, keys: Path, expected: str, found: str, hint: str = "") -> None:
        """Note a problem at ``keys`` of a row, in the file's own terms."""
        where = written(keys)
        what = f"{expected} in '{where}'" if where else expected
        line, column = self.position(_locate(self.text, row.offset, keys))
        self.note(line, column, f"{what} of {row.name}", found, hint)

    def note(self, line: int, column: int, expected: str, found: str, hint: str = "") -> None:
        """Note a problem at a position of the file."""
        problem = Problem(
            path=self.path,
            line=line,
            column=column,
            expected=clip(expected, 300),
            found=clip(found, 300),
            hint=clip(hint, 300),
        )
        if problem in self.problems:
            return
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)
        else:
            self.more += 1

    def position(self, offset: int) -> tuple[int, int]:
        """Returns line and column, from 1, of an offset in the text."""
        line = self.text.count("\n", 0, offset) + 1
        return line, offset - self.text.rfind("\n", 0, offset)


def read_rows(data: bytes, path: str) -> TaskRows:
    """Returns the rows of a file, which has a list of tasks or a single one. Never raises for any bytes."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        rows = TaskRows(path, data[: error.start].decode("utf-8", "replace"))
        rows.note(*rows.position(len(rows.text)), "UTF-8 text", f"byte 0x{data[error.start]:02x}", "save it as UTF-8")
        return rows
    rows = TaskRows(path, text)
    begin = _after_space(text, 0)
    if begin == len(text):
        rows.note(1, 1, "a JSON list of tasks", "an empty file")
    elif text[begin] == "{":
        _read_one(rows, begin)
        end = _after_space(text, rows.rows[0].offset + _length(text, begin)) if rows.rows else len(text)
        if end < len(text):
            rows.note(
                *rows.position(end), "nothing after the task", shown_text(text, end), "several go into a list: […]"
            )
    elif text[begin] == "[":
        _read_list(rows, begin)
    else:
        rows.note(*rows.position(begin), "a JSON list of tasks", shown_text(text, begin))
    return rows


def _read_list(rows: TaskRows, begin: int) -> None:
    text = rows.text
    place = _after_space(text, begin + 1)
    if text[place : place + 1] == "]":
        rows.note(*rows.position(begin), "at least one task", "an empty list")
        return
    position, line, counted = 0, text.count("\n", 0, place) + 1, place
    while True:
        line += text.count("\n", counted, place)
        counted = place
        end = _read_value(rows, place, position, line)
        if end is None:
            return
        position += 1
        place = _after_space(text, end)
        sign = text[place : place + 1]
        if sign == "]":
            break
        if sign != ",":
            last = f"after {_ordinal(position)} task"
            found = shown_text(text, place)
            hint = "the file seems to be cut off" if place >= len(text) else ""
            rows.note(*rows.position(place), f"',' or ']' {last}", found, hint)
            return
        place = _after_space(text, place + 1)
    rest = _after_space(text, place + 1)
    if rest < len(text):
        rows.note(*rows.position(rest), "nothing after the list of tasks", shown_text(text, rest))


def _read_one(rows: TaskRows, begin: int) -> None:
    _read_value(rows, begin, 0, rows.text.count("\n", 0, begin) + 1)


def _read_value(rows: TaskRows, place: int, position: int, line: int) -> int | None:
    """Read one element. Returns its end, or None when nothing can be read after it."""
    text = rows.text
    where = f"in {_ordinal(position + 1)} task"
    try:
        value, end = _DECODER.raw_decode(text, place)
    except json.JSONDecodeError as error:
        cut = _after_space(text, error.pos) >= len(text) or "Unterminated" in error.msg
        hint = "the file seems to be cut off" if cut else ""
        what = "its end" if _after_space(text, error.pos) >= len(text) else error.msg[:1].lower() + error.msg[1:]
        rows.note(*rows.position(error.pos), f"valid JSON {where}", what, hint)
        return None
    except _Twice as error:
        rows.note(line, 1, f"each key once {where}", f"'{error}' again in one object")
        return _skip(text, place)
    except _NotJson as error:
        rows.note(line, 1, f"valid JSON {where}", f"{error}, which JSON does not have")
        return None
    except RecursionError:
        rows.note(line, 1, f"at most {_MAX_DEPTH} levels of nesting {where}", "more")
        return None
    except ValueError as error:  # a number with thousands of digits
        rows.note(line, 1, f"valid JSON {where}", str(error))
        return None
    if not isinstance(value, dict):
        rows.note(*rows.position(place), f"an object as {_ordinal(position + 1)} task", said(value))
    elif _too_deep(value):
        rows.note(line, 1, f"at most {_MAX_DEPTH} levels of nesting {where}", "more")
    elif (bad := _CONTROL.search(text, place, end)) or "\\u" in text[place:end]:
        fault = f"the control character U+{ord(bad[0]):04X}" if bad else _unwritable(value)
        if fault:
            rows.note(line, 1, f"text {where}", fault)
        else:
            rows.rows.append(Row(position, value, place, line))
    else:
        rows.rows.append(Row(position, value, place, line))
    return end


def said(value: Any) -> str:
    """Returns a short description of a value for a message."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f"the text '{clip(value)}'" if value else "an empty text"
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    if isinstance(value, dict):
        keys = [clip(str(name), 20) for name in list(value)[:3]]
        return f"an object with {', '.join(keys)}{', …' if len(value) > 3 else ''}" if keys else "an empty object"
    return f"the number {clip(str(value))}"


def shown_text(text: str, place: int) -> str:
    """Returns the text at an offset for a message."""
    rest = text[place : place + 30]
    return f"'{clip(rest, 20)}'" if rest.strip() else "the end of the file"


def written(keys: Sequence[Key]) -> str:
    """Returns a key path in the usual notation.

    >>> written(("eval", "program_html", 0, "url"))
    'eval.program_html[0].url'
    """
    parts = [f"[{key}]" if isinstance(key, int) else f".{key}" for key in keys]
    return "".join(parts).removeprefix(".")


def _ordinal(number: int) -> str:
    return f"the {number}{'th' if 10 < number % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _after_space(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return match.end() if match else place


def _length(text: str, place: int) -> int:
    return (_skip(text, place) or len(text)) - place


def _skip(text: str, place: int) -> int | None:
    """Returns the end of the value at ``place``; None when it can't be read."""
    try:
        return json.JSONDecoder().raw_decode(text, place)[1]
    except (ValueError, RecursionError):
        return None


def _locate(text: str, offset: int, keys: Sequence[Key]) -> int:
    """Returns the offset of the value at ``keys`` of the object at ``offset``, or of the closest existing one."""
    place = offset
    for key in keys:
        found = _member(text, place, key)
        if found is None:
            return place
        place = found
    return place


def _member(text: str, place: int, key: Key) -> int | None:
    if text[place : place + 1] != ("[" if isinstance(key, int) else "{"):
        return None
    index, at = 0, _after_space(text, place + 1)
    while at < len(text) and text[at] not in "]}":
        if isinstance(key, int):
            if index == key:
                return at
        else:
            name, at = scanstring(text, at + 1, True)
            at = _after_space(text, _after_space(text, at) + 1)
            if name == key:
                return at
        end = _skip(text, at)
        if end is None:
            return None
        at = _after_space(text, end)
        if text[at : at + 1] == ",":
            at = _after_space(text, at + 1)
        index += 1
    return None


def _too_deep(value: Any, level: int = 0) -> bool:
    if isinstance(value, dict):
        return level > _MAX_DEPTH or any(_too_deep(each, level + 1) for each in value.values())
    if isinstance(value, list):
        return level > _MAX_DEPTH or any(_too_deep(each, level + 1) for each in value)
    return False


def _unwritable(value: Any) -> str:
    """Returns a description of the first character that no YAML file can contain; empty when there is none."""
    if isinstance(value, str):
        for char in value:
            if "\ud800" <= char <= "\udfff" or (char < " " and char not in "\t\n\r"):
                return f"the character U+{ord(char):04X}"
        return ""
    parts = [*value, *value.values()] if isinstance(value, dict) else value if isinstance(value, list) else ()
    return next((fault for part in parts if (fault := _unwritable(part))), "")
