"""Scripted judges that keep the required form: each line of a verdict begins with the code word from the prompt."""

from __future__ import annotations

import re
from typing import Any

from tests.model_server import Model, say

__all__ = ["seal_in", "sealed", "with_seal"]

_TOLD = re.compile(r"your code word, ([A-Z]{8}),|^([A-Z]{8}) is your code word", re.MULTILINE)
_VERDICT = re.compile(r"^(?=(?:ITEM|QUOTE|GRADE)\b)", re.MULTILINE)


def seal_in(body: dict[str, Any]) -> str:
    """Returns the code word in a request."""
    seal = _find(body)
    assert seal, "the prompt has no code word"
    return seal


def _find(body: dict[str, Any]) -> str:
    for message in body["messages"]:
        if message["role"] == "user" and (found := _TOLD.search(str(message["content"]))):
            return str(found[1] or found[2])
    return ""


def with_seal(text: str, body: dict[str, Any]) -> str:
    """Returns ``text`` with the code word, if the prompt has one, before each line of a verdict."""
    return _VERDICT.sub(f"{seal} ", text) if (seal := _find(body)) else text


def sealed(text: str, **rest: Any) -> Model:
    """Returns a model that replies with a text whose verdict has the code word."""
    return lambda body: say(with_seal(text, body), **rest)
