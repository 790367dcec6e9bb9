"""Finds the action in an agent's reply: between fences, or as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from pytest_webarena.actions import Invalid

__all__ = ["fenced_text", "json_objects", "to_its_end"]

_FENCE = re.compile(r"```(.*?)```", re.DOTALL)
_MOST_JSON = 20
"""Maximum number of places in a reply that are tried as the start of an object."""


def fenced_text(text: str, example: str) -> str | Invalid:
    """Return the stripped text between the first pair of ```; `Invalid` if there is none."""
    fence = _FENCE.search(text)
    if fence is None:
        if text.count("```") == 1:
            return Invalid(text, f"The closing ``` is missing. Put one action between two ```, e.g. ```{example}```.")
        return Invalid(text, f"No action found. Put one action between two ```, e.g. ```{example}```.")
    inner = fence[1].strip()
    return inner or Invalid(text, f"There is nothing between the ```. Put one action there, e.g. ```{example}```.")


def to_its_end(text: str, action: str, verbs: Iterable[str]) -> str:
    """Extend ``action``, the text between the first pair of ```, to its end if it is an answer that contains ```."""
    closed = action.endswith("]") and action.count("[") <= action.count("]")
    if not action.startswith(("stop [", "stop[")) or closed:
        return action
    reply = text[text.index("```") + 3 :]
    if further := re.search(rf"```\s*(?:{'|'.join(map(re.escape, verbs))})\b", reply):
        reply = reply[: further.start()]
    whole = reply[: reply.rfind("```")].strip() if "```" in reply else ""
    return whole if whole.endswith("]") else action


def json_objects(text: str, *, outer: bool = False) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects in a text in the order of their starts, outer ones first; ``outer``: only those."""
    decoder, start = json.JSONDecoder(), -1
    for _ in range(_MOST_JSON):
        start = text.find("{", start + 1)
        if start < 0:
            return
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            yield found
        if outer:
            start = end - 1
