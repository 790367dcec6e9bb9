"""Readers of parts of a reply that some endpoints write in another form than OpenAI does."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

__all__ = ["arguments_of", "object_of", "text_of"]


def text_of(content: object) -> str:
    """Return a message's content: a text, or the joined texts of a list of parts, without thoughts.

    >>> text_of([{"type": "thinking", "thinking": []}, {"type": "text", "text": "click 4"}])
    'click 4'
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (
        part.get("text")
        for part in content
        if isinstance(part, Mapping) and part.get("type", "text") in ("text", "output_text")
    )
    return "".join(text for text in texts if isinstance(text, str))


def arguments_of(value: object) -> str:
    """Return a tool call's arguments as JSON, also where the endpoint sends them as an object.

    >>> arguments_of({"answer": "B"}), arguments_of('{"answer": "B"}')
    ('{"answer": "B"}', '{"answer": "B"}')
    """
    return json.dumps(value) if isinstance(value, dict) else value if isinstance(value, str) else ""


def object_of(arguments: str) -> dict[str, Any]:
    """Return a tool call's arguments as an object, for APIs that take back no other ones.

    >>> object_of('{"answer": "B"}'), object_of('{"answer"')
    ({'answer': 'B'}, {'unreadable': '{"answer"'})
    """
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"unreadable": arguments}
