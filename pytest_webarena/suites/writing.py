"""Writes YAML that is parsed to the same data again: every text that could be misread is quoted."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["yaml_lines", "yaml_scalar"]

_WIDTH = 110
_WORD = r"(?:[A-Za-z0-9_.,()/+$%'?!;=&@\"-]|:(?=[^\s\"']))"
_BARE = re.compile(rf"[A-Za-z]{_WORD}*(?: {_WORD}+)*")
"""Text that every YAML parser reads as text: words, no ': ', no ' #', no brackets, no quotes at its beginning."""
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"))
_NUMBER = re.compile(r"[-+]?(?:\.?[0-9]|\.(?:inf|nan))", re.IGNORECASE)
_IN_FLOW = re.compile(r"[,\[\]{}:?]")
_SIGNS = re.compile(r"\{\{|\{%|\r")
_ESCAPED = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def yaml_scalar(value: str | int | float | bool | None, *, flow: bool = False) -> str:
    """Returns one value as YAML; ``flow`` inside ``[…]`` or ``{…}``. Template signs in texts are escaped.

    >>> yaml_scalar("no"), yaml_scalar("a: b"), yaml_scalar("Coffee Grinder"), yaml_scalar("{{ x }}")
    ('"no"', '"a: b"', 'Coffee Grinder', '"{{ \\'{{\\' }} x }}"')
    """
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return repr(value)
    if "{{" in value or "{%" in value:
        # Templates normalise line ends; a carriage return must be written as an escape to survive.
        value = _SIGNS.sub(lambda sign: "{{ '" + sign[0].replace("\r", r"\r") + "' }}", value)
    return _quoted(value, flow)


def _quoted(value: str, flow: bool) -> str:
    """Returns a text or a key, in which template signs are not escaped."""
    if (
        _BARE.fullmatch(value)
        and value.lower() not in _WORDS
        and not _NUMBER.match(value)
        and not (flow and _IN_FLOW.search(value))
    ):
        return value
    return _ESCAPED.sub(lambda char: f"\\u{ord(char[0]):04x}", json.dumps(value, ensure_ascii=False))


def yaml_lines(value: Any, indent: int = 0) -> list[str]:
    """Returns a mapping or list as block lines; short, flat values stay on one line."""
    pad = " " * indent
    if isinstance(value, Mapping):
        lines = []
        for name, item in value.items():
            key = f"{pad}{_quoted(str(name), False)}:"
            lines += _under(key, item, indent + (0 if isinstance(item, list | tuple) else 2))
        return lines
    lines = []
    for item in value:
        inner = yaml_lines(item, indent + 2) if _is_block(item, indent + 2) else [pad + "  " + _flow(item)]
        lines += [f"{pad}- {inner[0].lstrip(' ')}", *inner[1:]]
    return lines


def _under(key: str, item: Any, indent: int) -> list[str]:
    if not _is_block(item, len(key) + 1):
        return [f"{key} {_flow(item, top=True)}"]
    if isinstance(item, list | tuple):
        indent += 2
    return [key, *yaml_lines(item, indent)]


def _is_block(value: Any, before: int) -> bool:
    """Whether a value is written over several lines."""
    if not isinstance(value, Mapping | list | tuple) or not value:
        return False
    if any(isinstance(item, Mapping | list | tuple) and item for item in _items(value)):
        return True
    return before + len(_flow(value)) > _WIDTH


def _items(value: Mapping[str, Any] | Sequence[Any]) -> Sequence[Any]:
    return list(value.values()) if isinstance(value, Mapping) else value


def _flow(value: Any, *, top: bool = False) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_quoted(str(k), True)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return yaml_scalar(value, flow=not top)
