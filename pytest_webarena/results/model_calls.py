"""Readable form of the dialogue between an agent and its model, from the files of ``model_calls/``."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["model_calls_text"]


def model_calls_text(text: str) -> str:
    """Return a step's model calls in readable form: each message under its role, the reply last.

    ``text`` is the content of a file in ``model_calls/``; other text is returned unchanged.
    """
    try:
        calls = json.loads(text)["calls"]
        return "\n\n".join(_call_words(call, number, len(calls)) for number, call in enumerate(calls, 1))
    except (ValueError, KeyError, TypeError, AttributeError):
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
