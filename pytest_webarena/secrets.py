"""Values that must never be written: keys and whatever the user marks are masked in every file and message."""

from __future__ import annotations

import base64
import json
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, quote_plus

from pytest_webarena.errors import UsageError

__all__ = ["MASK", "SHORTEST", "has_secret", "mark", "mark_environment", "scrub", "scrub_plain"]

MASK = "[secret]"
SHORTEST = 6
"""Minimum length of a secret in characters. A shorter value would occur in harmless text."""

_KEPT = ("!$%&'()*+,/:;=@[\\]|^", "!$%&()*+,/:;=?@[\\]^`{|}", "!$%&'()*+,/:;=?@[\\]^`{|}")
"""Characters that browsers leave unescaped in paths and in queries, if the address is not encoded as a whole."""

_marked: dict[str, None] = {}
_lock = threading.Lock()


def mark(value: str) -> None:
    """Replace ``value``, also in the usual encodings, by `MASK` in everything that this process writes from now on.

    Surrounding whitespace is not part of the secret. Values shorter than `SHORTEST` are ignored.
    """
    value = value.strip()
    if len(value) < SHORTEST:
        return
    with _lock:
        _marked.update(dict.fromkeys(_forms(value)))


def mark_environment(names: Iterable[str]) -> None:
    """Mark the values of these environment variables. Raises `UsageError` for a value that is too short to be
    recognised."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if value and len(value) < SHORTEST:
            raise UsageError(f"secret {name}: expected at least {SHORTEST} characters, found {len(value)}")
        mark(value)


def scrub(text: str) -> str:
    """Returns ``text`` with secrets masked."""
    for secret in sorted(_marked, key=len, reverse=True) if _marked else ():
        text = text.replace(secret, MASK)
    return text


def scrub_plain(data: Any) -> Any:
    """Returns plain JSON data with secrets masked, in keys of mappings, too."""
    if not _marked:
        return data
    if isinstance(data, str):
        return scrub(data)
    if isinstance(data, dict):
        return {scrub_plain(key): scrub_plain(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [scrub_plain(each) for each in data]
    return data


def has_secret(data: Any) -> bool:
    """Whether any text in plain data contains a secret.

    >>> has_secret({"replies": ("GRADE: 1", ["none here"])})
    False
    """
    if not _marked:
        return False
    if isinstance(data, str):
        return scrub(data) != data
    if isinstance(data, Mapping):
        return any(has_secret(key) or has_secret(value) for key, value in data.items())
    return isinstance(data, list | tuple) and any(map(has_secret, data))


def _forms(value: str) -> set[str]:
    """Returns the forms that the value takes in JSON, in an address, in a form, in HTML and in an authorization
    header."""
    raw = value.encode()
    html = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return {
        value,
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        quote(value),
        quote(value, safe=""),
        quote_plus(value),
        *(quote(value, safe=kept) for kept in _KEPT),
        *(quote(value, safe=kept).replace("%20", "+") for kept in _KEPT),
        html,
        html.replace('"', "&quot;"),
        base64.b64encode(raw).decode(),
        base64.urlsafe_b64encode(raw).decode(),
    }
