"""Reads what an endpoint reports of an error: its codes and its own messages, wherever its body has them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ErrorBody", "read_error"]

_DEEPEST = 12
_MOST = 500
"""Values of one body that are looked at."""
_LONGEST = 20_000
"""Characters of a message that are looked at."""

_CODES = ("code", "type", "error_type", "error_code", "status", "reason", "flagged_input")
_MESSAGES = ("message", "msg", "detail", "details", "error", "errors", "raw", "title")
_ECHOES = frozenset(("input", "inputs", "input_value", "failed_generation", "prompt", "messages", "body", "request"))
"""Names of what an endpoint repeats of the request."""
_CODE = re.compile(r"[\w.:-]{1,80}")
"""A code is one word: some endpoints put a sentence in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """All that an error's body says, the outermost first."""

    codes: tuple[str, ...] = ()
    """As they are, numbers as texts. The name ``flagged_input`` is one where it has a value."""
    messages: tuple[str, ...] = ()
    """Without what they repeat of the request in a field of its own. Pages of HTML are none."""

    @property
    def status(self) -> int:
        """The first code that may be an HTTP status of an error; 0 when there is none."""
        return next((int(code) for code in self.codes if re.fullmatch("[45][0-9][0-9]", code)), 0)


def read_error(body: object) -> ErrorBody:
    """The codes and messages of all errors in ``body``: an object, a list, a text, or one in another. Never raises.

    >>> read_error([{"error": {"code": 400, "message": {"detail": [{"msg": "too long", "input": "hello"}]}}}])
    ErrorBody(codes=('400',), messages=('too long',))
    """
    codes: list[str] = []
    messages: list[str] = []
    level: list[tuple[str, object]] = [("message", body)]
    for _ in range(_DEEPEST):
        deeper: list[tuple[str, object]] = []
        for name, value in level[:_MOST]:
            if isinstance(value, str) and name in _MESSAGES:
                rest, inner = _apart(value)
                deeper += [("", each) for each in inner]
                if rest and not _is_page(rest):
                    messages.append(rest[:_LONGEST])
            elif isinstance(value, Mapping):
                codes += _codes(value)
                deeper += [(str(key), each) for key, each in value.items() if key not in _ECHOES]
            elif isinstance(value, list | tuple):
                deeper += [(name, each) for each in value]
        level = deeper
    return ErrorBody(codes=tuple(dict.fromkeys(codes)), messages=tuple(dict.fromkeys(messages)))


def _codes(part: Mapping[str, Any]) -> Iterator[str]:
    for name in _CODES:
        value = part.get(name)
        if name == "flagged_input":
            if value:
                yield name
        elif isinstance(value, int | str) and not isinstance(value, bool) and _CODE.fullmatch(str(value)):
            yield str(value)


def _apart(text: str) -> tuple[str, list[object]]:
    """A message without the body that it holds, as gateways pass on what they got, and that body.

    It is written as JSON, or as Python writes it.
    """
    begin = re.search(r"[\[{]\s*[\[{'\"]", text[:_LONGEST])
    if begin is None:
        return text, []
    before, inner = text[: begin.start()], text[begin.start() : _LONGEST]
    try:
        found, end = json.JSONDecoder().raw_decode(inner)
        return f"{before} {inner[end:]}".strip(), [found]
    except (ValueError, RecursionError):
        pass
    end = max(inner.rfind("}"), inner.rfind("]")) + 1
    try:
        return f"{before} {inner[end:]}".strip(), [ast.literal_eval(inner[:end])]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return text, []


def _is_page(text: str) -> bool:
    start = text[:2000].lower()
    return "<html" in start or "<!doctype" in start
