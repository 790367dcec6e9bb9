"""Rubrics that a model writes from a problem and its solution; people review them before they are used."""

from __future__ import annotations

import hashlib
import math
import re
from pathlib import Path

from pytest_webarena.checks.judge_protocol import RubricItem
from pytest_webarena.errors import JudgeError
from pytest_webarena.llm.templates import Template
from pytest_webarena.llm_judge.judge import Judge, lines

__all__ = ["PROMPT", "TOTAL", "author", "prompt_version", "read_items_of_reply"]

PROMPT = Path(__file__).parent / "prompts" / "rubric_author.j2"

TOTAL = 10.0
"""Sum of a rubric's points, as in the ARB paper."""

_MOST = 12
_TOKENS = 4096
_ITEM = re.compile(
    r"[\s*_#>•-]*(?:(?:item\s*)?\d{1,2}\s*[.):]\s*)?\**points?\**\s*[:=]?\s*(\d{1,2}(?:\.\d{1,2})?)\**\s*[:,;–—-]?\s*"
    r"\**what\**\s*[:=]?\s*(\S.*)",
    re.IGNORECASE,
)


def author(judge: Judge, *, intent: str, solution: str) -> tuple[RubricItem, ...]:
    """Return the items for a problem.

    Raises:
        JudgeError: the model can't be reached, or writes no items that can be used.
    """
    messages = Template(PROMPT, "webarena judge rubric").messages(
        {"intent": intent, "solution": solution, "lines": lines}
    )
    conversation = judge.session("rubric-author").converse(messages, read_items_of_reply, most=_TOKENS)
    if isinstance(conversation.read, str):
        raise JudgeError(
            f"{judge.settings.model}: expected items that come to {TOTAL:g} points, found none in "
            f"{len(conversation.replies)} replies: {conversation.read}"
        )
    return conversation.read


def prompt_version() -> str:
    """Return ``name@hash`` of the prompt."""
    return f"{PROMPT.stem}@{hashlib.sha256(PROMPT.read_bytes()).hexdigest()[:12]}"


def read_items_of_reply(text: str) -> tuple[RubricItem, ...] | str:
    """Return the items of a reply, or the text to send before the model is asked again.

    >>> len(read_items_of_reply("POINTS 4 WHAT Sets up.\\nPOINTS 6 WHAT Solves."))
    2
    >>> read_items_of_reply("POINTS 4 WHAT Sets up.\\nPOINTS 5 WHAT Solves.")
    'The points come to 9, and not to 10. Please write all items again.'
    """
    found = [match for line in text.splitlines() if (match := _ITEM.fullmatch(line.rstrip()))]
    items = tuple(RubricItem(points=float(match[1]), what=match[2].strip("* ")) for match in found)
    if not 2 <= len(items) <= _MOST:
        return f"Expected 2 to {_MOST} lines that begin with POINTS, found {len(items)}. Please write all items again."
    if not all(item.points > 0 for item in items):
        return "An item is worth nothing. Please write all items again."
    total = math.fsum(item.points for item in items)
    if not math.isclose(total, TOTAL):
        return f"The points come to {total:g}, and not to {TOTAL:g}. Please write all items again."
    if len({item.what.casefold() for item in items}) < len(items):
        return "Two items are the same. Please write all items again."
    return items
