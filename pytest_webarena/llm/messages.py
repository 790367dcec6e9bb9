"""Requests to a model and its replies, independent of the API that carries them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_webarena.evidence import Usage
from pytest_webarena.llm.rejections import is_filter

__all__ = [
    "COMPUTER",
    "ComputerTool",
    "ComputerToolName",
    "CutBy",
    "Image",
    "Message",
    "ModelReply",
    "Request",
    "Sampling",
    "Schema",
    "Tool",
    "ToolCall",
    "beyond_thought",
    "cut_by",
    "ended_by_model",
    "limit_words",
    "media_type",
]

CutBy = Literal["", "length", "context", "filtered"]
"""What ended a reply early: a token limit, the end of the model's context, a content filter; empty: nothing."""

_THOUGHT = re.compile(r"\s*<think(?:ing)?>", re.IGNORECASE)
_THOUGHT_ENDS = re.compile(r".*</think(?:ing)?>", re.IGNORECASE | re.DOTALL)
_UNOPENED_THOUGHT = re.compile(r".*</think(?:ing)?>[ \t]*(?:\r?\n|\Z)", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """An image in a message."""

    data: bytes
    media_type: str = "image/jpeg"
    detail: Literal["auto", "low", "high", "original"] = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A function call that the model requests."""

    id: str
    name: str
    arguments: str
    """Arguments as the model wrote them, normally JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of a dialogue."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str = ""
    images: tuple[Image, ...] = ()
    name: str = ""
    """The speaker's name, where a role has several: examples are given as system messages. Of a tool message: the
    tool's name."""
    tool_calls: tuple[ToolCall, ...] = ()
    """Tool calls of an assistant's message."""
    answers: str = ""
    """Id of the tool call that a tool message answers."""
    failed: bool = False
    """Whether a tool message is an error, in APIs that distinguish them. Its images are sent only if they must be."""
    url: str = ""
    """Address of the page after a computer call that a tool message answers."""
    acknowledged: tuple[Mapping[str, Any], ...] = ()
    """Safety checks of a computer call that a tool message acknowledges, as received."""
    items: tuple[Mapping[str, Any], ...] = ()
    """An assistant's output as received. Models that think need their signed thoughts back with a tool call."""
    cache: bool = False
    """Whether later requests begin with the same messages up to this one. Anthropic's API caches only up to marks; the
    others find equal beginnings themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the model may call."""

    name: str
    description: str
    parameters: Mapping[str, Any]
    """JSON schema of the arguments."""


COMPUTER = "computer"
"""Name of the calls of computer-use tools that have one name for all actions."""

ComputerToolName = Literal[
    "computer", "computer_use_preview", "computer_toolset_20260801", "computer_20251124", "computer_20250124",
    "computer_use",
]  # fmt: skip
"""A computer-use tool: the first two are OpenAI's, the last one is Google's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputerTool:
    """A provider's tool for computer use, which is offered in place of functions."""

    name: ComputerToolName
    width: int
    height: int
    """Size in pixels of the screenshots that the model sees."""
    exclude: tuple[str, ...] = ()
    """Names of actions that are not offered, where the tool can leave them out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schema:
    """The required form of the reply, for endpoints with structured outputs."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Sampling parameters; None leaves a value to the endpoint."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    """Token limit of the reply, reasoning included."""
    seed: int | None = None
    stop: tuple[str, ...] = ()
    reasoning_effort: str | None = None
    thinking_tokens: int | None = None
    """Budget in tokens for the model's thoughts, for Anthropic and Google; 0: no thoughts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One question to a model."""

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    tools: tuple[Tool, ...] = ()
    computer: ComputerTool | None = None
    schema: Schema | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of the request, sent unchanged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelReply:
    """A model's reply."""

    text: str
    thought: str = ""
    """The model's thoughts or their summary, where the endpoint reports them separately. They are recorded only."""
    tool_calls: tuple[ToolCall, ...] = ()
    refusal: str = ""
    """The model's refusal, where the endpoint reports it separately."""
    finish: str = ""
    """The finish reason as the endpoint reports it: ``stop``, ``length``, ``content_filter``, …"""
    model: str = ""
    """The model that answered."""
    usage: Usage = field(default_factory=Usage)
    items: tuple[Mapping[str, Any], ...] = ()
    """The output as received, to be sent back with later requests."""

    @property
    def text_without_thought(self) -> str:
        """The text without the model's thought before it."""
        return beyond_thought(self.text)

    @property
    def cut_by(self) -> CutBy:
        """What ended the reply early, according to the endpoint."""
        return cut_by(self.finish)

    @property
    def is_cut(self) -> bool:
        """Whether the endpoint reports that the reply ended early, so that its end may be missing."""
        return bool(self.cut_by) or self.finish in _CUT

    @property
    def is_malformed(self) -> bool:
        """Whether the endpoint reports that it could not parse the model's tool call."""
        return _MALFORMED.search(self.finish) is not None

    @property
    def is_empty(self) -> bool:
        """Whether the reply contains nothing but thoughts."""
        return not (self.text_without_thought.strip() or self.tool_calls or self.refusal)

    @property
    def message(self) -> Message:
        """The reply without its tool calls, as a message of a dialogue.

        An empty reply becomes a placeholder, because endpoints reject empty messages and reasoning that nothing
        follows.
        """
        if text := self.text or self.refusal:
            return Message(role="assistant", text=text, items=self.items)
        return Message(role="assistant", text=_EMPTY)


_MALFORMED = re.compile(
    "malformed|tool_use_failed|unexpected_tool_call|too_many_tool_calls", re.IGNORECASE
)  # Gemini, Groq
_ENDED = frozenset(
    ("stop", "end_turn", "eos", "eos_token", "stop_sequence", "tool_calls", "tool_use", "function_call", "completed")
)
_CUT = ("incomplete", "failed", "cancelled")
_EMPTY = "(empty reply)"
_CUT_BY: Mapping[str, CutBy] = {
    "length": "length",
    "max_tokens": "length",
    "max_output_tokens": "length",
    "continuation": "length",  # Gemini
    "model_context_window_exceeded": "context",  # Anthropic
    "context_length_exceeded": "context",
    "model_length": "context",  # Mistral
    "refusal": "filtered",  # Anthropic: its classifiers, not the model
    "recitation": "filtered",  # this and the next: Gemini
    "blocklist": "filtered",
    "spii": "filtered",
}


def cut_by(finish: str) -> CutBy:
    """Return what a finish reason reports as the cause of an early end.

    >>> cut_by("max_output_tokens"), cut_by("content_filter: SAFETY"), cut_by("stop")
    ('length', 'filtered', '')
    """
    return _CUT_BY.get(finish.lower()) or ("filtered" if is_filter(finish) else "")


def ended_by_model(finish: str) -> bool:
    """Return whether the model ended the reply, according to the finish reason; if it is empty, the model is at fault.

    >>> ended_by_model("stop"), ended_by_model("MALFORMED_FUNCTION_CALL"), ended_by_model("error"), ended_by_model("")
    (True, True, False, False)
    """
    return finish.lower() in _ENDED or _MALFORMED.search(finish) is not None


def beyond_thought(text: str) -> str:
    """Return the text after the thought at a reply's beginning.

    Endpoints without support for reasoning leave the thought in the text. It contains drafts, such as actions that were
    not taken and grades that were revised. The last end mark counts, because a thought may quote one. A thought without
    an end is the whole reply. Where a chat template puts the begin mark into the prompt, the reply has an end mark
    only, which then has to end a line.

    >>> beyond_thought("<think>click 4? No.</think> click 5"), beyond_thought("click 4? No.\\n</think>\\nclick 5")
    (' click 5', 'click 5')
    >>> beyond_thought("<think>click 4"), beyond_thought("type </think> here")
    ('', 'type </think> here')
    """
    begins = _THOUGHT.match(text)
    ends = (_THOUGHT_ENDS if begins else _UNOPENED_THOUGHT).match(text)
    return text[ends.end() :] if ends else "" if begins else text


def media_type(data: bytes) -> str:
    """Return a screenshot's media type, from its first bytes."""
    if data.startswith(b"\x89PNG"):
        return "image/png"
    return "image/webp" if data[8:12] == b"WEBP" else "image/jpeg"


def limit_words(sampling: Sampling, extra: Mapping[str, Any]) -> str:
    """Name and value of the token limits that a definition sets for replies.

    >>> limit_words(Sampling(max_tokens=384), {}), limit_words(Sampling(), {"max_tokens": 400})
    ('sampling.max_tokens (384)', 'extra.max_tokens (400)')
    """
    limits = {f"extra.{name}": extra.get(name) for name in ("max_tokens", "max_completion_tokens", "max_output_tokens")}
    limits["sampling.max_tokens"] = sampling.max_tokens
    named = [f"{name} ({value})" for name, value in limits.items() if value is not None]
    return " or ".join(named) or "the endpoint's own limit of tokens (sampling.max_tokens sets another)"
