"""How the agents of a definition prompt the model and read its replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_webarena.actions import Action
from pytest_webarena.agents.model.computer.session import ComputerUse
from pytest_webarena.agents.model.history import HistoryKeys
from pytest_webarena.agents.model.prompt import Prompt
from pytest_webarena.agents.model.replies import ReplyForm
from pytest_webarena.agents.model.reward import RewardKeys, RewardPrompt
from pytest_webarena.llm.client import ModelClient
from pytest_webarena.llm.messages import Sampling, Tool

__all__ = ["Reward", "Style"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """How the agents of a definition prompt the model and read its replies."""

    model: str
    prompt: Prompt
    form: ReplyForm
    parse: Callable[[str], Action]
    parse_call: Callable[[str, str], Action]
    grammar: str
    """Description of the grammar for prompts."""
    tools: tuple[Tool, ...] = ()
    computer: ComputerUse | None = None
    """The trial's computer use, for the reply form ``computer``."""
    sampling: Sampling = field(default_factory=Sampling)
    history: HistoryKeys = field(default_factory=HistoryKeys)
    kinds: tuple[str, ...] = ("accessibility_tree",)
    """Kinds of observation that the model is shown."""
    remarks: Callable[[str], tuple[str, str, str]] | None = None
    """Function that reads the remarks around the action in a reply."""
    planning: bool = False
    react: bool = False
    first_step: Literal["any", "search_or_goto"] = "any"
    searching: bool = False
    """Whether the trial has a search service."""
    reasoning: bool = True
    examples: bool = False
    unachievable_hint: bool = True
    error_feedback: bool = True
    invalid_retries: int = 0
    host_names: Mapping[str, str] | None = None
    image_detail: Any = "auto"
    extra: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward model of a definition in one trial."""

    keys: RewardKeys
    model: str
    prompt: RewardPrompt
    client: ModelClient
    where: str
    """Address of its endpoint, for messages."""
    guide: str = ""
