"""Answers in JSON, said in lines: what a key names becomes a label, so that one reading does for both."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

__all__ = ["said_in_lines"]

_FENCED = re.compile(r"```(?:json)?\s*([{\[].*?[}\]])\s*```", re.DOTALL | re.IGNORECASE)
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_UNITS = {"km": "km", "kilometers": "km", "m": "m", "meters": "m", "miles": "miles", "usd": "USD", "dollars": "USD",
          "min": "minutes", "mins": "minutes", "minutes": "minutes", "hours": "hours", "percent": "%"}  # fmt: skip
_BARE = frozenset({"answer", "result", "value", "final", "output", "response"})
_NAME = ("first_name", "last_name")
LONGEST = 8_000
"""Characters of JSON that are looked at."""


def said_in_lines(text: str) -> str:
    """``text`` with JSON, be it all of it or a fenced block, as lines ``label: value``; other text as it is.

    >>> said_in_lines('{"distance_km": 2.2, "isClosed": true, "answer": ["Ann", "Bob"]}')
    'distance: 2.2 km\\nis closed: yes\\nAnn\\nBob'
    """
    bare = text.strip()
    if bare[:1] in ("{", "[") and bare[-1:] in ("}", "]"):
        return _lines_of(bare) or text
    return _FENCED.sub(lambda match: _lines_of(match[1]) or match[0], text) if "```" in text else text


def _lines_of(source: str) -> str:
    if len(source) > LONGEST:
        return ""
    try:
        data = json.loads(source, parse_float=Decimal)
    except (ValueError, RecursionError):
        return ""
    return "\n".join(_said(data, ())) if isinstance(data, dict | list) else ""


def _said(data: Any, label: tuple[str, ...]) -> Iterator[str]:
    if isinstance(data, dict):
        if all(isinstance(data.get(part), str) for part in _NAME):  # one name, said in two fields
            data = {"name": " ".join(data[part] for part in _NAME), **data}
            data = {key: value for key, value in data.items() if key not in _NAME}
        for key, value in data.items():
            yield from _said(value, tuple(word.lower() for word in _WORDS.findall(str(key))))
    elif isinstance(data, list):
        for item in data:
            yield from _said(item, () if isinstance(item, str | int | Decimal) else label)
    else:
        unit = _UNITS.get(label[-1], "") if len(label) > 1 and isinstance(data, int | Decimal) else ""
        words = " ".join(word for word in (label[:-1] if unit else label) if word not in _BARE)
        words = f"not {words}" if data is False and words else words
        value = {"True": "yes", "False": "no", "None": "unknown"}.get(str(data), str(data))
        yield f"{words}: {value} {unit}".rstrip() if words else f"{value} {unit}".rstrip()
