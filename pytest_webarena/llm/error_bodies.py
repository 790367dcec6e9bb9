"""Reader of error bodies: an endpoint's codes and messages, wherever its JSON has them."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pytest_webarena.secrets import scrub

__all__ = ["ErrorBody", "read_error"]

_MAX_DEPTH = 12
"""Maximum nesting depth that is read."""
_MAX_VALUES = 500
"""Maximum number of values that are read at each depth."""
_LONGEST = 20_000
"""Maximum number of characters of a message that are read."""

_CODES = ("code", "type", "error_type", "error_code", "status", "reason", "flagged_input")
_FIELDS = ("param", "field", "loc")
"""Names of fields with the part of the request that an error is about: of OpenAI, of Google, and of Pydantic."""
_MESSAGES = ("message", "msg", "detail", "details", "error", "errors", "raw", "title")
_ECHOES = frozenset(("input", "inputs", "input_value", "failed_generation", "prompt", "messages", "body", "request"))
"""Names of fields that repeat parts of the request."""
_LONGEST_FIELD = 200
_CODE = re.compile(r"[\w.:-]{1,80}")
"""A code is one word; some endpoints have a sentence in its place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorBody:
    """Codes and messages of an error's body, the outermost first."""

    codes: tuple[str, ...] = ()
    """Codes as the endpoint wrote them, numbers as text.

    The name ``flagged_input`` is a code if that field has a value.
    """
    fields: tuple[str, ...] = ()
    """Parts of the request that the errors are about, such as ``max_tokens`` or ``messages[1].content``."""
    messages: tuple[str, ...] = ()
    """Messages, without fields that repeat the request and without HTML pages."""

    @property
    def status(self) -> int:
        """The first code that may be an HTTP status of an error; 0 when there is none."""
        return next((int(code) for code in self.codes if re.fullmatch("[45][0-9][0-9]", code)), 0)


def read_error(body: object) -> ErrorBody:
    """Return the codes and messages of all errors in ``body``: an object, a list, a text, or nested ones. Never raises.

    >>> read_error([{"error": {"code": 400, "message": {"detail": [{"msg": "too long", "input": "hello"}]}}}])
    ErrorBody(codes=('400',), fields=(), messages=('too long',))
    """
    codes: list[str] = []
    fields: list[str] = []
    messages: list[str] = []
    level: list[tuple[str, object]] = [("message", body)]
    for _ in range(_MAX_DEPTH):
        deeper: list[tuple[str, object]] = []
        for name, value in level[:_MAX_VALUES]:
            if isinstance(value, str) and name in _MESSAGES:
                rest, inner = _split_message(value)
                deeper += [("", each) for each in inner]
                if rest and not _is_page(rest):
                    messages.append(scrub(rest)[:_LONGEST])
            elif isinstance(value, Mapping):
                codes += _codes(value)
                fields += _fields(value)
                deeper += [(str(key), each) for key, each in value.items() if key not in _ECHOES]
            elif isinstance(value, list | tuple):
                deeper += [(name, each) for each in value]
        level = deeper
    return ErrorBody(
        codes=tuple(dict.fromkeys(codes)),
        fields=tuple(dict.fromkeys(fields)),
        messages=tuple(dict.fromkeys(messages)),
    )


def _codes(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the codes in the fields of one object."""
    for name in _CODES:
        value = part.get(name)
        if name == "flagged_input":
            if value:
                yield name
        elif isinstance(value, int | str) and not isinstance(value, bool) and _CODE.fullmatch(str(value)):
            yield str(value)


def _fields(part: Mapping[str, Any]) -> Iterator[str]:
    """Yield the part of the request that one object names; Pydantic names it by a list whose last text counts."""
    for name in _FIELDS:
        value = part.get(name)
        if isinstance(value, list):
            value = next((each for each in reversed(value) if isinstance(each, str)), None)
        if isinstance(value, str) and len(value) <= _LONGEST_FIELD:
            yield value


def _split_message(text: str) -> tuple[str, list[object]]:
    """Return a message without the error body that it quotes, and that body (JSON or a Python literal), if any.

    Gateways quote the errors of the endpoints that they call.
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
