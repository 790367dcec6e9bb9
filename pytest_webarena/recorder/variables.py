"""Replaces recorded values by `{{ variables }}`, and writes the values of further instances ("fillings")."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any
from urllib.parse import quote, quote_plus

from pytest_webarena.actions import Action, Check, Click, Selector
from pytest_webarena.errors import UsageError

__all__ = ["VARIABLE", "each_of", "fillings_of", "in_action", "in_data", "in_text", "shown"]

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""Pattern of a variable name."""
_OPEN, _CLOSE = "\ue000", "\ue001"
"""Placeholders around a name until the file is written, so that real braces in texts stay unchanged."""
_SHORT = 3
"""Minimum number of characters of a value that is replaced inside longer texts; shorter ones may match by chance."""
_NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,14})(?:\.\d+)?")


def shown(text: str) -> str:
    """Return the text to write, with braces around the names of variables."""
    return text.replace(_OPEN, "{{ ").replace(_CLOSE, " }}")


def in_text(text: str, variables: Mapping[str, str]) -> str:
    """Return a text in which whole words that equal a variable's value are replaced by the variable."""
    return _replaced(text, variables, lambda value: [(_as_word(value), "")])


def in_action(action: Action, variables: Mapping[str, str], *, own: str = "") -> Action:
    """Return a step with variables in it. ``own``: the variable for the step's value, which may be of any length."""
    found: Any = action
    for each in fields(found):
        value = getattr(found, each.name)
        if isinstance(value, Selector):
            found = replace(found, **{each.name: _in_target(value, action, variables, own)})
        elif isinstance(value, str) and each.name in ("text", "url", "answer"):
            make = _in_url if each.name == "url" else _in_value
            found = replace(found, **{each.name: make(value, variables, own)})
        elif each.name == "options":
            found = replace(found, options=tuple(_in_value(option, variables, own) for option in value))
    return found  # type: ignore[no-any-return]


def in_data(data: Any, variables: Mapping[str, str], key: str = "") -> Any:
    """Return a check's data with variables in it. Numbers are replaced only under the key ``number``."""
    if isinstance(data, Mapping):
        return {name: in_data(value, variables, str(name)) for name, value in data.items()}
    if isinstance(data, list):
        return [in_data(value, variables, key) for value in data]
    if key == "number" and not isinstance(data, bool):
        name = next((name for name, value in variables.items() if _is_number(value, data)), "")
        return f"{_OPEN}{name}{_CLOSE}" if name else data
    if not isinstance(data, str):
        return data
    if key == "sql":
        return _in_sql(data, variables)
    return _in_url(data, variables, "") if key == "url" else _in_value(data, variables, "")


def each_of(variables: Mapping[str, str], fillings: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """Return the value of ``each:``, with the recorded values first."""
    return [{name: _plain(value) for name, value in filling.items()} for filling in (variables, *fillings)]


def fillings_of(text: str, names: Sequence[str]) -> list[dict[str, str]]:
    """Read further fillings that an author wrote as CSV, one a line.

    The values are in the order of ``names``, or of a first line that contains the names. `UsageError` for a line with
    more or fewer values.
    """
    rows = [row for row in csv.reader(io.StringIO(text.strip()), skipinitialspace=True) if row]
    order = list(names)
    if rows and sorted(cell.strip() for cell in rows[0]) == sorted(names):
        order = [cell.strip() for cell in rows.pop(0)]
    for number, row in enumerate(rows, 1):
        if len(row) != len(order):
            raise UsageError(
                f"line {number} of the fillings: expected {len(order)} values ({', '.join(order)}), found {len(row)}: "
                f"{', '.join(row)[:80]!r}; a value with a comma in it needs double quotes"
            )
    return [dict(zip(order, (cell.strip() for cell in row), strict=True)) for row in rows]


def _plain(value: str) -> Any:
    """Convert plain numbers to numbers, as when reading a file of fillings."""
    if not _NUMBER.fullmatch(value):
        return value
    number = float(value) if "." in value else int(value)
    return number if str(number) == value else value


def _is_number(value: str, data: object) -> bool:
    return bool(_NUMBER.fullmatch(value)) and isinstance(data, int | float) and float(value) == data


def _as_word(value: str) -> str:
    return rf"(?<![^\W_]){re.escape(value)}(?![^\W_])"


_Ways = Callable[[str], Sequence[tuple[str, str]]]
"""Returns the patterns that find a value in a text, each with the template filter for its variable there."""


def _replaced(text: str, variables: Mapping[str, str], patterns_of: _Ways) -> str:
    """Replace all matches at the same time, so that no value is searched for inside another's replacement."""
    found: list[tuple[str, str]] = []
    for name, value in sorted(variables.items(), key=lambda item: -len(item[1])):
        found += [(pattern, name + filter) for pattern, filter in patterns_of(value)] if value else []
    if not found:
        return text
    any_value = "|".join(f"(?P<v{number}>{pattern})" for number, (pattern, _) in enumerate(found))

    def stand_in(match: re.Match[str]) -> str:
        return f"{_OPEN}{found[int((match.lastgroup or 'v0')[1:])][1]}{_CLOSE}"

    return re.sub(any_value, stand_in, text)


def _in_value(text: str, variables: Mapping[str, str], own: str) -> str:
    for name, value in variables.items():
        if text == value and own in ("", name):
            return f"{_OPEN}{name}{_CLOSE}"
    return in_text(text, _long(variables))


def _in_target(target: Selector, action: Action, variables: Mapping[str, str], own: str) -> Selector:
    """Return the selector for any filling, without alternatives that are only valid for the recorded values."""
    selector = target.selector
    if isinstance(action, Click | Check):  # for other steps, the selector is a mapping key, which can't be a template
        selector = _in_selector(selector, variables, own)
    others = [way for way in target.repair_selectors if _in_selector(way, variables, own) == way]
    return Selector(selector, repair_selectors=tuple(others) if selector == target.selector else ())


def _in_selector(selector: str, variables: Mapping[str, str], own: str) -> str:
    known = {**_long(variables), **({own: variables[own]} if own in variables else {})}
    return in_text(selector, {name: json.dumps(value, ensure_ascii=False)[1:-1] for name, value in known.items()})


def _in_url(url: str, variables: Mapping[str, str], own: str) -> str:
    if own and url == variables.get(own):
        return f"{_OPEN}{own}{_CLOSE}"

    def ways(value: str) -> list[tuple[str, str]]:
        return [(_as_word(way), " | urlencode") for way in dict.fromkeys((quote_plus(value), quote(value)))]

    return _replaced(url, _long(variables), ways)


def _in_sql(sql: str, variables: Mapping[str, str]) -> str:
    def ways(value: str) -> list[tuple[str, str]]:
        literal = re.escape("'" + value.replace("'", "''") + "'")
        number = [(rf"(?<== ){re.escape(value)}(?![\w.])", "")] if _NUMBER.fullmatch(value) else []
        return [(literal, " | sql"), *number]

    return _replaced(sql, variables, ways)


def _long(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if len(value) >= _SHORT}
