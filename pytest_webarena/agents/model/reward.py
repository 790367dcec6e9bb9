"""The reward model: after each step it assesses the progress of the task, for the planner and optionally to end the
trial."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_webarena.agents.model.upstream import UPSTREAM
from pytest_webarena.agents.model.webcanvas_prompt import WebCanvasReward, find_webcanvas_prompt
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.browser.grammars.replies import json_objects
from pytest_webarena.errors import ModelError
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Image, Message, ModelReply, Sampling, Schema
from pytest_webarena.llm.reply_retries import converse
from pytest_webarena.llm.templates import Template
from pytest_webarena.text import clip

__all__ = [
    "PROMPT",
    "REWARD_SCHEMA",
    "Assessment",
    "By",
    "Ends",
    "LimitReached",
    "RewardKeys",
    "RewardPrompt",
    "Rewarder",
    "Status",
    "read_verdict",
    "reward_identity",
]

By = Literal["none", "self", "reference"]
Ends = Literal["first", "twice", "never"]
Status = Literal["doing", "finished", "loop"]

RewardPrompt = Template | WebCanvasReward

SCORES = (1, 3, 7, 9, 10)
PROMPT = Path(__file__).parent / "prompts" / "reward.j2"
_LONGEST = 600
"""Maximum length of its texts in characters; longer ones are cut."""

REWARD_SCHEMA = Schema(
    name="progress",
    schema={
        "type": "object",
        "properties": {
            "reason": {"type": "string", "description": "What on the page or in the steps shows it."},
            "status": {"type": "string", "enum": list(get_args(Status))},
            "score": {"type": "integer", "enum": list(SCORES)},
            "description": {"type": "string", "description": "What has been reached and what is still missing."},
        },
        "required": ["reason", "status", "score", "description"],
        "additionalProperties": False,
    },
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardKeys:
    """The key ``reward`` of a definition."""

    by: By = "self"
    """``self``: judges from the task, the steps and the page. ``reference``: also from the task's guide."""
    model: str = ""
    """Name of the model at its endpoint; empty: the planner's model."""
    endpoint: Endpoint | None = None
    """The endpoint; None: the planner's."""
    sees: Literal["text", "screenshot"] = "text"
    """What it sees of the page: the planner's text, or a screenshot instead."""
    ends: Ends = "first"
    """When ``finished`` ends the trial: at once, after two consecutive steps, or never."""
    asks: int = 3
    """Maximum number of requests per step, 1 to 10, until a reply is readable."""
    prompt: str = ""
    """A Jinja2 file to use in place of the built-in prompt; ``upstream``: WebCanvas's own, read from a checkout."""
    sampling: Sampling = field(default_factory=Sampling)
    image_detail: Literal["auto", "low", "high"] = "auto"
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of each of its requests, passed unchanged."""

    def __post_init__(self) -> None:
        if not 1 <= self.asks <= 10:
            raise ValueError(f"asks: expected 1 to 10, found {self.asks}")

    def template(self, base: Path, where: str) -> RewardPrompt:
        """The prompt. `UsageError` when it cannot be read."""
        name, _, folder = self.prompt.partition(":")
        if name == UPSTREAM:
            path = find_webcanvas_prompt(folder, f"{where}: reward")
            return WebCanvasReward(path, f"{where}: reward", guided=self.by == "reference")
        if not self.prompt:
            return Template(PROMPT, f"{where}: reward")
        path = base / self.prompt
        return Template(path if path.is_file() else Path(self.prompt), f"{where}: reward")


def reward_identity(keys: RewardKeys, prompt: RewardPrompt) -> str:
    """Name of the reward model's prompt for records, with a hash."""
    if isinstance(prompt, WebCanvasReward):
        return prompt.identity
    file = prompt.files[0]
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return f"{'' if keys.prompt else 'ours '}{file.name} sha256:{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """The reward model's assessment after a step."""

    status: Status
    score: int
    reason: str
    description: str

    @property
    def reflection(self) -> str:
        """The assessment as text for the planner."""
        return f"{self.status}, {self.score} of 10: {self.description}"


def read_verdict(text: str) -> Assessment | str:
    """The assessment in a reply, or else a message to the model that says what is wrong. Never raises.

    The reply may quote the page, and a page may contain an assessment: if several differ, none counts.

    >>> read_verdict('{"status": "loop", "score": 3, "reason": "same page", "description": "Nothing new."}').status
    'loop'
    >>> read_verdict('{"status": "done", "score": 3}')
    "Expected 'status' to be one of doing, finished, loop, found 'done'. Please answer again."
    """
    found: list[Assessment] = []
    for each in json_objects(text):
        if "status" not in each:
            continue
        read = _verdict(each)
        if isinstance(read, str):
            return f"{read} Please answer again."
        if read not in found:
            found.append(read)
    if not found:
        return (
            "Expected a JSON object with 'status', 'score', 'reason' and 'description', found none. "
            "Please answer again with nothing else."
        )
    if len(found) > 1:
        return "Expected one JSON object, found several that differ. Please answer again with your own alone."
    return found[0]


def _verdict(data: Mapping[str, Any]) -> Assessment | str:
    status, score = data["status"], data.get("score")
    if status not in get_args(Status):
        return f"Expected 'status' to be one of {', '.join(get_args(Status))}, found {_shown(status)}."
    if isinstance(score, str) and score.strip() in map(str, SCORES):
        score = int(score)
    if isinstance(score, bool) or not isinstance(score, int | float) or score not in SCORES:
        return f"Expected 'score' to be one of {', '.join(map(str, SCORES))}, found {_shown(score)}."
    texts = {}
    for name in ("reason", "description"):
        value = data.get(name)
        if not isinstance(value, str) or not value.strip():
            return f"Expected {name!r} to be a sentence, found {_shown(value)}."
        texts[name] = clip(value, _LONGEST)
    return Assessment(status=status, score=int(score), **texts)


def _shown(value: Any) -> str:
    """A value for messages; nested values are only named, because they may be too deep to print."""
    return clip(repr(value)) if value is None or isinstance(value, str | int | float) else f"a {type(value).__name__}"


def _quoted(text: str) -> str:
    """``text`` with a bar before each line, so that no line of a page can look like one of the prompt's."""
    return "\n".join(f"| {line}" for line in text.splitlines() or [""])


class LimitReached(Exception):
    """A limit of the trial was reached between two requests about one step; ``reply`` ends the trial."""

    def __init__(self, reply: Reply) -> None:
        super().__init__()
        self.reply = reply


class Rewarder:
    """One trial's reward model. ``send`` sends a request; the last assessment is kept for `ends`."""

    def __init__(
        self,
        keys: RewardKeys,
        prompt: RewardPrompt,
        send: Callable[[tuple[Message, ...]], ModelReply],
        *,
        who: str,
        guide: str = "",
    ) -> None:
        """``who`` names the model in messages; ``guide`` is the task's guide as text."""
        self._keys, self._prompt, self._send, self._who, self._guide = keys, prompt, send, who, guide
        self._last: Assessment | None = None

    def judge(self, values: Mapping[str, Any], pictures: tuple[Image, ...]) -> tuple[Assessment, bool]:
        """The assessment of a step, and whether the trial ends with it.

        `ModelError` when none of the replies is readable. Continuing as if the status were ``doing`` would change the
        agent.
        """
        messages = self._prompt.messages({**values, "guide": self._guide, "sees": self._keys.sees, "quoted": _quoted})
        messages = (*messages[:-1], replace(messages[-1], images=pictures))
        conversation = converse(self._send, messages, read_verdict, most=self._keys.asks)
        if isinstance(conversation.read, str):
            raise ModelError(
                f"the reward {self._who}: expected a status, a score, a reason and a description, found them in "
                f"none of {conversation.requests} replies; the last one was {clip(conversation.last, 120)!r}"
            )
        last, self._last = self._last, conversation.read
        is_finished = conversation.read.status == "finished"
        is_finished_twice = is_finished and last is not None and last.status == "finished"
        return conversation.read, {"first": is_finished, "twice": is_finished_twice, "never": False}[self._keys.ends]
