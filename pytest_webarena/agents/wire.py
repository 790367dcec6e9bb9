"""Messages between the harness and an external agent: one JSON object each, the same for pipes and HTTP.

Harness to agent::

    {"type": "task", "protocol": 1, "trial": "5f0c…", "intent": "…", "images": ["data:image/png;base64,…"],
     "sites": {"homepage": "http://homepage.test"}, "reach": {}, "start": ["http://homepage.test/"], "max_steps": 30,
     "max_seconds": 600.0, "seed": 7, "answer_format": "text", "answer_instructions": "", "answer_schema": null,
     "options": {…}}
    {"type": "observation", "trial": "5f0c…", "step": 0, "text": "…", "url": "…", "title": "…", "tabs": […], …}
    {"type": "remember", "trial": "5f0c…", "stop_reason": "answered"}
    {"type": "end", "trial": "5f0c…"}

Agent to harness, one for each observation::

    {"type": "action", "text": "```click [42]```"}
    {"type": "action", "action": {"kind": "click", "target": {"id": "42"}}}
    {"type": "answer", "answer": "408"}
    {"type": "error", "cause": "model", "message": "the endpoint is overloaded"}

and one for ``remember``, which is sent only to agents with memory across trials (their task has a ``memory``)::

    {"type": "memory", "text": "the price list is on the second tab"}

An action or answer may add ``"thought"`` (text), and each reply ``"usage"``: what its model calls used, as
`evidence.Usage`.

`PROTOCOL` increases when a field changes its meaning or is removed. New fields may be added at any time, so readers
must ignore unknown ones.
"""

from __future__ import annotations

import base64
import json
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any

from pytest_webarena import actions
from pytest_webarena.actions import Action, ByScript, Element, Invalid, Point, Selector, Stop, Target
from pytest_webarena.agents.memory import Remembered
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.errors import DeclaredError, closest
from pytest_webarena.evidence import cut
from pytest_webarena.evidence.usage import Usage, is_count, is_money
from pytest_webarena.text import within

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import Assignment
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StopReason

__all__ = [
    "PROTOCOL", "ProtocolBroken", "action_from_record", "clip", "encode", "end_message", "observation_message",
    "read_memory", "read_reply", "remember_message", "task_message",
]  # fmt: skip

PROTOCOL = 1
"""Version of these messages."""

_REPLIES = ("action", "answer", "error")
_FARTHEST = 10**9
"""Maximum of coordinates, distances and click counts; no browser can carry out larger ones."""
_KINDS: dict[str, type[Any]] = {kind.kind: kind for kind in typing.get_args(Action) if kind not in (ByScript, Invalid)}


class ProtocolBroken(Exception):
    """The agent's data is not a valid message; the text says what was expected and found."""


def task_message(assignment: Assignment, *, trial: str, options: Mapping[str, Any], cdp: str = "") -> dict[str, Any]:
    """The first message. ``trial`` identifies the trial at an endpoint that serves several at the same time."""
    view = assignment.view
    message: dict[str, Any] = {
        "type": "task",
        "protocol": PROTOCOL,
        "trial": trial,
        "intent": view.intent,
        "images": [image.data_url for image in view.images],
        "sites": dict(view.sites),
        "reach": dict(view.reach),
        "start": list(view.start),
        "max_steps": view.max_steps,
        "max_seconds": assignment.limits.seconds,
        "seed": view.seed,
        "answer_format": view.answer_format,
        "answer_instructions": view.answer_instructions,
        "answer_schema": view.answer_schema,
        "options": dict(options),
    }
    if view.memory is not None:
        message["memory"] = view.memory
    return {**message, "cdp_url": cdp} if cdp else message


def observation_message(observation: Observation, *, trial: str, step: int) -> dict[str, Any]:
    """The agent's observation, numbered from 0. Images are base64, or null when the definition asks for none."""
    return {
        "type": "observation",
        "trial": trial,
        "step": step,
        "text": observation.text,
        "url": observation.url,
        "title": observation.title,
        "tabs": [{"title": tab.title, "url": tab.url, "active": tab.active} for tab in observation.tabs],
        "error": observation.error,
        "dialog": observation.dialog,
        "notes": list(observation.notes),
        "focused": observation.focused,
        "scroll": {
            "x": observation.scroll.x,
            "y": observation.scroll.y,
            "viewport_height": observation.scroll.viewport_height,
            "content_height": observation.scroll.content_height,
        },
        "viewport": list(observation.viewport),
        "screenshot": _base64(observation.screenshot),
        "marked": _base64(observation.marked),
    }


def _base64(image: bytes | None) -> str | None:
    return base64.b64encode(image).decode() if image else None


def remember_message(*, trial: str, reason: StopReason) -> dict[str, Any]:
    """The message that asks for notes for later trials."""
    return {"type": "remember", "trial": trial, "stop_reason": reason}


def end_message(*, trial: str) -> dict[str, Any]:
    """The last message; no reply is expected."""
    return {"type": "end", "trial": trial}


def encode(message: Mapping[str, Any]) -> bytes:
    """The message as one line: JSON contains no raw line feed, and lone surrogates, which pages can produce, are
    escaped."""
    return json.dumps(message).encode() + b"\n"


def read_reply(data: bytes) -> Reply:
    """The action, or the text in the definition's grammar, and the usage in a reply.

    `ProtocolBroken` when it is no valid message, `DeclaredError` when the agent reports that its model is unavailable.
    An invalid action becomes `Invalid`: the agent receives the reason and may try again.
    """
    message = _message(data, _REPLIES)
    return Reply(
        _reply_action(message, data),
        raw=data.decode("utf-8", "replace").strip(),
        thought=str(message.get("thought") or ""),
        usage=_usage(message.get("usage")),
    )


def read_memory(data: bytes) -> Remembered | None:
    """The notes that the agent leaves for later trials; None to keep the old ones. Raises as `read_reply`."""
    message = _message(data, ("memory", "error"))
    text = message.get("text")
    if text is None:
        return None
    if not isinstance(text, str):
        raise ProtocolBroken(f"expected 'text' in a memory message to be text or null, found {clip(data)}")
    return Remembered(text=text, usage=_usage(message.get("usage")))


def action_from_record(record: Mapping[str, Any]) -> Action:
    """The action from which `actions.as_record` made ``record``; `ValueError` with a sentence when it is invalid.

    >>> action_from_record({"kind": "click", "target": {"id": "4"}})
    Click(target=Element(id='4'), button='left', count=1, modifiers=())
    """
    name = record.get("kind")
    if name == "invalid":
        return Invalid(str(record.get("text", "")), str(record.get("reason", "")))
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ValueError(f"there is no action {name!r}; {closest(str(name), _KINDS)}")
    hints = typing.get_type_hints(kind, vars(actions))
    known = {field.name: field for field in fields(kind)}
    for key in record:
        if key not in known and key != "kind":
            raise ValueError(f"the action {name} has no {key!r}; {closest(str(key), known)}")
    values: dict[str, Any] = {}
    for field in known.values():
        if field.name in record:
            values[field.name] = _value(record[field.name], hints[field.name], f"{field.name!r} of the action {name}")
        elif field.default is MISSING:
            raise ValueError(f"the action {name} needs {field.name!r}")
    action: Action = kind(**values)
    return action


def clip(data: bytes, limit: int = 200) -> str:
    """The beginning of an agent's data, for messages."""
    text = data[: 4 * limit].decode("utf-8", "replace").strip()
    return repr(within(text, limit))


def _message(data: bytes, kinds: Sequence[str]) -> dict[str, Any]:
    """The message if it has one of these types; an ``error`` message is raised."""
    try:
        message = json.loads(data)
    except (ValueError, RecursionError):
        raise ProtocolBroken(
            f'expected a JSON message such as {{"type": "{kinds[0]}", …}}, found {clip(data)}'
        ) from None
    if not isinstance(message, dict) or message.get("type") not in kinds:
        raise ProtocolBroken(f"expected a message of type {', '.join(kinds)}, found {clip(data)}")
    if message["type"] == "error":
        raise _given_up(message)
    return message


def _given_up(message: Mapping[str, Any]) -> Exception:
    reason = str(message.get("message") or "no reason given")[:500]
    if message.get("cause") == "model":
        return DeclaredError(f"the agent's model can't be had: {reason}")
    return ProtocolBroken(f"the agent gave up: {reason}")


def _reply_action(message: Mapping[str, Any], data: bytes) -> Action | str:
    if message["type"] == "answer":
        answer = message.get("answer")
        return Stop("" if answer is None else answer if isinstance(answer, str) else json.dumps(answer))
    text, record = message.get("text"), message.get("action")
    if isinstance(text, str):
        return text
    if isinstance(record, dict):
        try:
            return action_from_record(record)
        except ValueError as error:
            return Invalid(json.dumps(record)[:500], str(error))
    raise ProtocolBroken(f"expected 'text' or 'action' in an action message, found {clip(data)}")


def _usage(value: Any) -> Usage | None:
    """The usage that the agent reports; an unknown price stays unknown."""
    if value is None:
        return None
    counts = {field.name for field in fields(Usage)} - {"cost", "saved"}
    cost, saved = (value.get("cost"), value.get("saved")) if isinstance(value, dict) else (None, None)
    if (
        not isinstance(value, dict)
        or not set(value) <= {*counts, "cost", "saved"}
        or not all(is_count(value[name]) for name in counts & set(value))
        or not (saved is None or is_money(saved))
        or not (cost is None or is_money(cost))
    ):
        known = f"{', '.join(sorted(counts))}, cost, saved"
        raise ProtocolBroken(f"expected 'usage' to hold {known}, each from 0 to 10**15; found {_short_repr(value)}")
    try:
        return Usage(**{**value, "cost": None if cost is None else float(cost)})
    except TypeError as error:
        raise ProtocolBroken(f"{error}; found {_short_repr(value)}") from None


def _short_repr(value: Any) -> str:
    """A value for messages; numbers may have more digits than Python writes."""
    try:
        return cut(repr(value), 80)
    except (ValueError, RecursionError):
        return f"a {type(value).__name__} that is too long to be shown"


def _value(value: Any, hint: Any, what: str) -> Any:
    """``value`` converted to a field of type ``hint``. `ValueError` when it does not fit."""
    if hint == Target or (isinstance(hint, types.UnionType) and Element in typing.get_args(hint)):
        if value is None and type(None) in typing.get_args(hint):
            return None
        return _target(value, what)
    if typing.get_origin(hint) is typing.Literal:
        if value not in typing.get_args(hint):
            raise ValueError(f"expected {what} to be one of {', '.join(typing.get_args(hint))}, found {value!r}")
        return value
    if typing.get_origin(hint) is tuple:
        each_hint = typing.get_args(hint)[0]
        if not isinstance(value, list | tuple):
            kind = {str: "texts", Point: "points"}.get(each_hint, "values")
            raise ValueError(f"expected {what} to be a list of {kind}, found {_short_repr(value)}")
        return tuple(_value(each, each_hint, f"each of {what}") for each in value)
    if hint is Point:
        if not isinstance(value, Mapping) or not isinstance(point := _target(value, what), Point):
            raise ValueError(f'expected {what} to be {{"x": 10, "y": 20}}, found {_short_repr(value)}')
        return point
    if isinstance(value, int | float) and not -_FARTHEST <= value <= _FARTHEST:
        raise ValueError(f"expected {what} to be a number of at most 10**9, found {_short_repr(value)}")
    if float in (hint, *typing.get_args(hint)) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise ValueError(f"expected {what} to be {_TYPES.get(hint, hint)}, found {value!r}")
    return value


_TYPES = {str: "a text", int: "a whole number", bool: "true or false"}


def _target(value: Any, what: str) -> Target:
    match value:
        case {"id": str() | int() as id, **rest} if not rest and not isinstance(id, bool):
            return Element(str(id))
        case {"selector": str() as selector, **rest} if not rest:
            return Selector(selector)
        case {"x": int() | float() as x, "y": int() | float() as y, **rest} if set(rest) <= {"relative"} and all(
            -_FARTHEST <= each <= _FARTHEST for each in (x, y)
        ):
            return Point(float(x), float(y), relative=rest.get("relative") is True)
    forms = '{"id": "42"}, {"selector": "css=…"} or {"x": 10, "y": 20}'
    raise ValueError(f"expected {what} to be {forms}, found {_short_repr(value)}")
