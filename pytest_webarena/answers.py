"""Forms of answers: plain text, or the typed response of WebArena-Verified; and the conversion between them.

>>> read_response('{"task_type": "navigate", "status": "not_found_error"}').status
'NOT_FOUND_ERROR'
>>> sorted(RESPONSE_SCHEMA["required"])
['status', 'task_type']
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

__all__ = [
    "ANSWER_FORMATS",
    "RESPONSE_SCHEMA",
    "STATUSES",
    "TASK_TYPES",
    "UNACHIEVABLE",
    "AnswerFormat",
    "AskedFormat",
    "Response",
    "as_response",
    "as_text",
    "instructions",
    "plain_text",
    "read_response",
]

AnswerFormat = Literal["text", "verified"]
ANSWER_FORMATS: tuple[AnswerFormat, ...] = ("text", "verified")
"""Forms of answers. ``text``: the answer alone. ``verified``: a JSON object that states the task type and the
outcome."""

AskedFormat = Literal["auto", "text", "verified"]
"""The form that a run requests from agents; ``auto`` is a form that the counting grading can read."""

TASK_TYPES = ("RETRIEVE", "MUTATE", "NAVIGATE")
STATUSES = (
    "SUCCESS",
    "NOT_FOUND_ERROR",
    "ACTION_NOT_ALLOWED_ERROR",
    "PERMISSION_DENIED_ERROR",
    "DATA_VALIDATION_ERROR",
    "UNKNOWN_ERROR",
)

UNACHIEVABLE = frozenset({"NOT_FOUND_ERROR", "ACTION_NOT_ALLOWED_ERROR", "PERMISSION_DENIED_ERROR"})
"""Statuses by which an agent reports that the task can't be done; plain answers use ``N/A`` for all of them."""

RESPONSE_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "required": ["task_type", "status"],
    "properties": {
        "task_type": {"enum": list(TASK_TYPES)},
        "status": {"enum": list(STATUSES)},
        "retrieved_data": {"type": ["array", "null"]},
        "error_details": {"type": ["string", "null"]},
    },
}
"""JSON schema of a typed response."""

_INSTRUCTIONS = """\
Your answer has a fixed form. When you stop, whatever came of the task, answer with one JSON object on one line, and \
nothing before or after it, no code fence either:
{"task_type": "…", "status": "…", "retrieved_data": …, "error_details": …}
- task_type: RETRIEVE if the task asks for information, MUTATE if it has something created, changed or deleted, \
NAVIGATE if it only asks to be shown a page.
- status: SUCCESS if the task is done. Otherwise NOT_FOUND_ERROR (what it is about does not exist), \
ACTION_NOT_ALLOWED_ERROR (the site has no such function, or not here), PERMISSION_DENIED_ERROR (this account may not), \
DATA_VALIDATION_ERROR (something needed was not given, or was refused as invalid) or UNKNOWN_ERROR (anything else).
- retrieved_data: for RETRIEVE the list of what was asked for, one item or many, all of one kind: numbers and amounts \
as numbers, yes or no as true or false, objects where the task names keys, else text; [] if there is nothing. \
For MUTATE and NAVIGATE null.
- error_details: null with SUCCESS, otherwise the reason in a sentence."""

_FENCED = re.compile(r"```(?:json)?\s*\n?(.*?)\n?```", re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A typed response; fields that could not be read are empty."""

    task_type: str
    """Upper case; one of `TASK_TYPES`, if the agent kept to the form."""
    status: str
    """Upper case; one of `STATUSES`, if the agent kept to the form."""
    retrieved_data: Any = None
    """Plain data. A number with a fraction is kept as the text that was written, so that 12.50 keeps its zero."""
    error_details: str = ""

    @property
    def text(self) -> str:
        """The response as a plain answer: the data, ``N/A`` when the task can't be done, else the error details."""
        if self.status in UNACHIEVABLE:
            return "N/A"
        return _text(self.retrieved_data) if self.status == "SUCCESS" else self.error_details


def instructions(form: AnswerFormat) -> str:
    """Returns the instructions on the answer's form for an agent; empty for plain text."""
    return _INSTRUCTIONS if form == "verified" else ""


def read_response(answer: str | None) -> Response | None:
    """Parse a typed response, with or without a code fence. Returns None when the answer is not one.

    >>> read_response('{"task_type": "retrieve", "status": "success", "retrieved_data": [3, 12.50]}').text
    '3, 12.50'
    """
    text = (answer or "").strip()
    if fenced := _FENCED.search(text):
        text = fenced[1].strip()
    if not text.startswith("{"):
        return None
    try:
        data = json.loads(text, parse_float=_Written)
    except (ValueError, RecursionError):
        return None
    kind, status = data.get("task_type", data.get("performed_operation")), data.get("status")
    if not isinstance(kind, str) or not isinstance(status, str):
        return None
    details = data.get("error_details")
    return Response(
        task_type=kind.strip().upper(),
        status=status.strip().upper(),
        retrieved_data=data.get("retrieved_data"),
        error_details=details if isinstance(details, str) else "",
    )


def as_text(answer: str | None) -> str | None:
    """Returns a typed response as plain text, for checks that read only text. Any other answer is returned
    unchanged."""
    response = read_response(answer)
    return answer if response is None else response.text


def plain_text(value: Any) -> str:
    """Returns an answer in JSON, as from a tool call, as plain text: lists as lines, true and false as yes and no.

    >>> plain_text(3), plain_text(["tea", "rye"]), plain_text({"price": 2.5})
    ('3', 'tea\\nrye', '{"price": 2.5}')
    """
    match value:
        case bool() | None:
            return _text(value)
        case list() if not any(isinstance(item, dict | list) for item in value):
            return "\n".join(_text(item) for item in value)
        case dict() | list():
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def as_response(answer: str) -> str:
    """Returns a plain answer as a typed response with the task type ``RETRIEVE``; ``N/A`` becomes
    ``NOT_FOUND_ERROR``."""
    if answer.strip().upper() == "N/A":
        fields: dict[str, Any] = {"status": "NOT_FOUND_ERROR", "retrieved_data": None, "error_details": answer}
    else:
        fields = {"status": "SUCCESS", "retrieved_data": [answer] if answer else [], "error_details": None}
    return json.dumps({"task_type": "RETRIEVE", **fields}, ensure_ascii=False)


class _Written(str):
    """A number as the text that was written."""

    __slots__ = ()


def _text(value: Any) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{key}: {_text(item)}" for key, item in value.items())
        case list():
            between = "; " if any(isinstance(item, dict | list) for item in value) else ", "
            return between.join(_text(item) for item in value)
    return str(value)
