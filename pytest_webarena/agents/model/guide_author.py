"""Writes guides once, with a model, from a task's solution and key nodes. People review them before they are used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from pytest_webarena.agents.model.guides import Guide, guide_from, material
from pytest_webarena.browser.grammars.replies import json_objects
from pytest_webarena.errors import ModelError, UsageError
from pytest_webarena.llm.messages import Message, ModelReply, Schema
from pytest_webarena.llm.reply_retries import converse
from pytest_webarena.llm.templates import Template
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import clip

__all__ = ["GUIDE_SCHEMA", "PROMPT", "author_guide", "prompt_version", "read_reply"]

PROMPT = Path(__file__).parent / "prompts" / "guide_author.j2"
_ASKS = 3
_TEXTS = {"type": "array", "items": {"type": "string"}}

GUIDE_SCHEMA = Schema(
    name="guide",
    schema={
        "type": "object",
        "properties": {"goal": {"type": "string"}, "steps": _TEXTS, "done_when": _TEXTS},
        "required": ["goal", "steps", "done_when"],
        "additionalProperties": False,
    },
)


def author_guide(send: Callable[[tuple[Message, ...]], ModelReply], task: Task) -> Guide:
    """The guide for a task. `UsageError` for a task without solution and key nodes; `ModelError` when no reply is a
    guide."""
    made_of = material(task)
    if set(made_of) == {"intent"}:
        raise UsageError(f"task {task.id}: expected a solution or key nodes to make a guide from, found neither")
    data = {name: json.dumps(each, ensure_ascii=False, indent=1, default=str) for name, each in made_of.items()}
    values = {"intent": task.intent, "solution": data.get("solution", ""), "key_nodes": data.get("key_nodes", "")}
    result = converse(send, Template(PROMPT, "webarena judge guide").messages(values), read_reply, most=_ASKS)
    if isinstance(result.read, str):
        raise ModelError(
            f"task {task.id}: expected a guide, found none in {result.requests} replies: {result.read} "
            f"The last one was {clip(result.last, 120)!r}"
        )
    return result.read


def prompt_version() -> str:
    """``name@hash`` of the prompt."""
    return f"{PROMPT.stem}@{hashlib.sha256(PROMPT.read_bytes()).hexdigest()[:12]}"


def read_reply(text: str) -> Guide | str:
    """The guide in a reply, or else a message to the model that says what is wrong.

    >>> read_reply('{"goal": "A kettle is in the cart.", "done_when": ["The cart lists a kettle."]}').goal
    'A kettle is in the cart.'
    """
    for each in json_objects(text):
        if "goal" in each or "done_when" in each:
            found = guide_from(each)
            return found if isinstance(found, Guide) else f"{found}. Please write the whole object again."
    return "Expected a JSON object with 'goal', 'steps' and 'done_when', found none. Please write it with nothing else."
