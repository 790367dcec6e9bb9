"""Readable form of the dialogue between an agent and its model, from the files of ``model_calls/``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["message_texts", "model_calls_text"]


_SHORT = 200
"""Length of a text in characters up to which repeating it costs nothing."""


def model_calls_text(text: str, shown: Mapping[str, str] | None = None) -> str:
    """Return a step's model calls in readable form: each message under its role, the reply last.

    ``text`` is the content of a file in ``model_calls/``; other text is returned unchanged. ``shown`` has texts that
    the reader has elsewhere, with their places; a long one is replaced by its place.
    """
    try:
        calls = json.loads(text)["calls"]
        for call in calls if shown else ():
            for message in call["messages"]:
                message["text"] = _without(message.get("text", ""), shown or {})
        return "\n\n".join(_call_words(call, number, len(calls)) for number, call in enumerate(calls, 1))
    except (ValueError, KeyError, TypeError, AttributeError):
        return text


def message_texts(text: str) -> Iterator[str]:
    """Yield the texts of the messages that a step sent to its model."""
    try:
        for call in json.loads(text)["calls"]:
            yield from (message["text"] for message in call["messages"] if isinstance(message.get("text"), str))
    except (ValueError, KeyError, TypeError, AttributeError):
        return


def _without(text: str, shown: Mapping[str, str]) -> str:
    for known, place in shown.items():
        if len(known) > _SHORT and known in text:
            text = text.replace(known, f"[{place}: {len(known):,} characters]")
    return text


def _call_words(call: dict[str, Any], number: int, of: int) -> str:
    sampling = {**call["sampling"], **({"tools": ", ".join(call["tools"])} if call["tools"] else {})}
    settings = "".join(f", {name}: {value}" for name, value in sampling.items())
    parts = [f"===== call {number} of {of} ({call['purpose']}): {call['model']}{settings}"]
    for message in call["messages"]:
        speaker = f" ({message['name']})" if message.get("name") else ""
        parts.append(f"--- {message['role']}{speaker}\n{message.get('text', '')}".rstrip())
        parts += [f"[picture: {image}]" for image in message.get("images", ())]
        parts += [f"{one['name']}({one['arguments']})" for one in message.get("tool_calls", ())]
    if reply := call.get("reply"):
        used = reply["usage"]
        tokens = f"{used['input_tokens']:,} tokens in, {used['output_tokens']:,} out"
        cached = ", from the cache" if used["cached_calls"] else ""
        parts.append(f"--- reply ({reply['model'] or call['model']}: {tokens}{cached}, ended with {reply['finish']})")
        parts += [reply["refusal"] and f"refused: {reply['refusal']}", reply["text"]]
        parts += [f"{one['name']}({one['arguments']})" for one in reply["tool_calls"]]
    if call.get("error"):
        parts.append(f"--- no reply: {call['error']}")
    return "\n".join(part for part in parts if part)
