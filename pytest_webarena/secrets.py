"""What must never be written down: keys and whatever the user marks, replaced in every file and message."""

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
"""Characters. A shorter value would be found in innocent text everywhere."""

_KEPT = ("!$%&'()*+,/:;=@[\\]|^", "!$%&()*+,/:;=?@[\\]^`{|}", "!$%&'()*+,/:;=?@[\\]^`{|}")
"""Characters that browsers leave as they are in paths and in queries of an address that is not encoded whole."""

_marked: dict[str, None] = {}
_lock = threading.Lock()


def mark(value: str) -> None:
    """From now on ``value`` is replaced by `MASK` in all that this process writes, in the usual encodings, too.

    Whitespace around it is not part of it. Values shorter than `SHORTEST` are left alone.
    """
    value = value.strip()
    if len(value) < SHORTEST:
        return
    with _lock:
        _marked.update(dict.fromkeys(_forms(value)))


def mark_environment(names: Iterable[str]) -> None:
    """Mark the values of these environment variables. `UsageError` for one that is too short to be told from text."""
    for name in names:
        value = os.environ.get(name, "").strip()
        if value and len(value) < SHORTEST:
            raise UsageError(f"secret {name}: expected at least {SHORTEST} characters, found {len(value)}")
        mark(value)


def scrub(text: str) -> str:
    """``text`` without secrets."""
    for secret in sorted(_marked, key=len, reverse=True) if _marked else ():
        text = text.replace(secret, MASK)
    return text


def scrub_plain(data: Any) -> Any:
    """Plain JSON data without secrets, keys of mappings included."""
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
    """Whether plain data repeats a secret, in any text of it.

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
    """The value as it may come in JSON, in an address, in a form, in HTML, in an authorization header."""
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
