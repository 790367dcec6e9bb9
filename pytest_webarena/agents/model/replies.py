"""Reads an action from a model's reply: text in a grammar, a tool call, or JSON. Anything else becomes `Invalid`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pytest_webarena.actions import Action, Invalid
from pytest_webarena.llm.messages import COMPUTER, Image, Message, ModelReply, Schema

if TYPE_CHECKING:
    from pytest_webarena.agents.model.computer.reading import ComputerTurn, SafetyCheck
    from pytest_webarena.agents.model.computer.screens import Region

__all__ = [
    "ACTION_SCHEMA", "Decision", "QueuedAction", "ReplyForm", "decide", "reply_with_result", "retry_messages",
]  # fmt: skip

ReplyForm = Literal["text", "tools", "json", "computer"]

_MOST_CALLS = 20
"""Maximum number of tool calls in one reply."""

ACTION_SCHEMA = Schema(
    name="next_action",
    schema={
        "type": "object",
        "properties": {
            "thought": {"type": "string", "description": "Your reasons, in a sentence or two."},
            "action": {"type": "string", "description": "One action."},
        },
        "required": ["thought", "action"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True)
class QueuedAction:
    """An action that is carried out later, and how the model wrote it."""

    action: Action
    text: str = ""
    call: int = 0
    """Index of its tool call in the reply."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The content of a model's reply."""

    action: Action
    raw: str
    """The reply as text, for the record."""
    thought: str = ""
    description: str = ""
    """Intended effect of the action, if the grammar has a field for it."""
    next: tuple[QueuedAction, ...] = ()
    """Further actions to carry out without another request, unless the action has no effect."""
    action_text: str = ""
    """The action as the model wrote it, if it is separate from the rest."""
    checks: tuple[SafetyCheck, ...] = ()
    """Safety checks of computer calls."""
    zooms: tuple[Region | None, ...] = ()
    """Parts of the screenshot that the results of computer calls show, by call."""


def decide(
    reply: ModelReply,
    form: ReplyForm,
    parse: Callable[[str], Action],
    parse_call: Callable[[str, str], Action],
    remarks: Callable[[str], tuple[str, str, str]] | None = None,
    *,
    limit: str = "its limit of tokens",
    read: Callable[[ModelReply], ComputerTurn] | None = None,
) -> Decision:
    """The decision in a reply; ``remarks`` is as in a `Grammar`, and ``read`` reads computer calls. Never raises.

    ``limit`` names the token limit (`limit_words`), for replies without an action because the limit cut them off.
    """
    if not reply.cut_by and not reply.tool_calls and (reply.is_malformed or reply.is_empty):
        what = "held a tool call that can't be read" if reply.is_malformed else "was empty; thinking alone is no action"
        reason = f"The reply {what} (finish reason {reply.finish!r}). Reply with one action in the form asked for."
        return Decision(action=Invalid(reply.text, reason), raw=reply.text)
    decision = _decide(reply, form, parse, parse_call, remarks, read)
    if reply.cut_by != "length" or not isinstance(decision.action, Invalid):
        return decision
    reason = (
        f"The reply reached {limit} before it held an action; thinking counts. Think and reply more briefly, or raise "
        "the limit."
    )
    if reply.text_without_thought or reply.tool_calls:
        reason = f"{reason} {decision.action.reason}"
    return replace(decision, action=Invalid(decision.action.text, reason))


def _decide(
    reply: ModelReply,
    form: ReplyForm,
    parse: Callable[[str], Action],
    parse_call: Callable[[str, str], Action],
    remarks: Callable[[str], tuple[str, str, str]] | None,
    read: Callable[[ModelReply], ComputerTurn] | None,
) -> Decision:
    if reply.refusal and not reply.tool_calls:
        return Decision(
            action=Invalid(reply.refusal, f"The model refused: {reply.refusal[:200]}"), raw=reply.refusal, thought=""
        )
    if read is not None:
        return _from_computer(reply, read(reply))
    if form == "tools":
        return _from_tools(reply, parse_call)
    if form == "json":
        return _from_json(reply, parse)
    text = reply.text_without_thought
    if remarks is not None:
        thought, description, action_text = remarks(text)
        return Decision(
            action=parse(text), raw=reply.text, thought=thought, description=description, action_text=action_text
        )
    return Decision(action=parse(text), raw=reply.text, thought=_before_fence(text), action_text=text)


def _from_tools(reply: ModelReply, parse_call: Callable[[str, str], Action]) -> Decision:
    calls = reply.tool_calls
    raw = "\n".join([*([reply.text] if reply.text else []), *(f"{call.name}({call.arguments})" for call in calls)])
    if not calls:
        reason = "No tool was called. Act by calling exactly one tool; to end the task, call stop."
        return Decision(action=Invalid(raw, reason), raw=raw, thought="")
    if len(calls) > _MOST_CALLS:
        reason = f"{len(calls)} tools were called at once, so none was carried out. Call one tool at a time."
        return Decision(action=Invalid(raw, reason), raw=raw, thought=reply.text)
    actions = [parse_call(call.name, call.arguments) for call in calls]
    wrong = next((each for each in actions if isinstance(each, Invalid)), None)
    if wrong is not None:
        reason = f"{wrong.reason} None of the {len(calls)} calls was carried out." if len(calls) > 1 else wrong.reason
        return Decision(action=replace(wrong, reason=reason), raw=raw, thought=reply.text)
    later = (
        QueuedAction(action, f"{call.name}({call.arguments})", number)
        for number, (action, call) in enumerate(zip(actions, calls, strict=True))
    )
    return Decision(
        action=actions[0], raw=raw, thought=reply.text, next=tuple(later)[1:],
        action_text=f"{calls[0].name}({calls[0].arguments})" if len(calls) > 1 else "",
    )  # fmt: skip


def _from_computer(reply: ModelReply, turn: ComputerTurn) -> Decision:
    raw = "\n".join([*([reply.text] if reply.text else []), *(f"{c.name}({c.arguments})" for c in reply.tool_calls)])
    checks = "; ".join(check.text for check in turn.checks)
    safety_note = f"(the endpoint wants a confirmation: {checks})" if checks else ""
    thought = "\n".join(part for part in (reply.text if reply.tool_calls else "", safety_note) if part)
    later = tuple(QueuedAction(each.action, call=each.call) for each in turn.steps[1:])
    return Decision(
        action=turn.steps[0].action, raw=raw, thought=thought, next=later, checks=turn.checks, zooms=turn.zooms
    )


def _from_json(reply: ModelReply, parse: Callable[[str], Action]) -> Decision:
    text = reply.text_without_thought.strip().removeprefix("```json").removeprefix("```").removesuffix("```").strip()
    try:
        data = json.loads(text)
        action, thought = data["action"], data.get("thought", "")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        reason = 'Expected a JSON object {"thought": "…", "action": "…"} and nothing else.'
        return Decision(action=Invalid(reply.text, reason), raw=reply.text)
    if not isinstance(action, str):
        action = json.dumps(action)
    bare = "```" not in action or action.lstrip().startswith("stop")  # an answer may contain code
    fenced = f"```{action}```" if bare else action
    return Decision(action=parse(fenced), raw=reply.text, thought=str(thought))


def _before_fence(text: str) -> str:
    return text.partition("```")[0].strip() if "```" in text else ""


def reply_with_result(
    reply: ModelReply, result: str, *, screenshot: Image | None = None, checks: Sequence[SafetyCheck] = ()
) -> tuple[Message, ...]:
    """The reply as messages of a dialogue; each of its tool calls gets a result, as the API requires.

    ``screenshot`` is the one of a computer-use tool, whose results are errors here; they acknowledge ``checks``.
    """
    if not reply.tool_calls:
        return (reply.message,)
    if any(call.name == COMPUTER and not call.id for call in reply.tool_calls):  # a result needs the call's id
        text = "\n".join([reply.text, *(call.arguments for call in reply.tool_calls)]).strip()
        return (Message(role="assistant", text=text), Message(role="user", text=result))
    results = (
        Message(
            role="tool",
            name=call.name,
            answers=call.id,
            text=result,
            failed=screenshot is not None,
            images=(screenshot,) if screenshot is not None else (),
            acknowledged=tuple(check.data for check in checks if check.call == number),
        )
        for number, call in enumerate(reply.tool_calls)
    )
    message = Message(role="assistant", text=reply.text, tool_calls=reply.tool_calls, items=reply.items)
    return (message, *results)


def retry_messages(
    reply: ModelReply, reason: str, *, screenshot: Image | None = None, checks: Sequence[SafetyCheck] = ()
) -> tuple[Message, ...]:
    """Messages that ask again after a reply without an action."""
    messages = reply_with_result(reply, reason, screenshot=screenshot, checks=checks)
    text = f"That was no action, and nothing was done. {reason}"
    return messages if reply.tool_calls else (*messages, Message(role="user", text=text))
