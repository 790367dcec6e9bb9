"""The kind ``model`` of agent definitions: its keys, what they default to, and what is checked before a run."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pytest_webarena.actions import Action
from pytest_webarena.agents.kinds import Common, Kind
from pytest_webarena.agents.model.history import HistoryKeys, Policy
from pytest_webarena.agents.model.hosts import PAPER_NAMES
from pytest_webarena.agents.model.prompt import Prompt, read_prompt
from pytest_webarena.agents.model.replies import ReplyForm
from pytest_webarena.agents.protocol import Agent, AgentDefinition, Assignment
from pytest_webarena.browser.config import DialogPolicy
from pytest_webarena.errors import ModelError, RecordingError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Sampling
from pytest_webarena.llm.prices import read_prices

__all__ = ["KIND", "ModelKeys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKeys:
    """Keys of kind ``model``."""

    model: str = ""
    """Name of the model, as its endpoint knows it."""
    endpoint: Endpoint = field(default_factory=Endpoint)
    """Where it is reached, by which of the two APIs, and with which key."""
    prompt: str = "standard"
    """``webarena``, ``standard``, or a file beside the definition: Jinja2 (.j2) or the original harness's .json."""
    reply: ReplyForm = "text"
    """``text``: an action in the grammar. ``tools``: a function call. ``json``: structured output, action inside."""
    reasoning: bool = True
    """Whether the model is to say its reasons before the action."""
    examples: bool = False
    """Whether the prompt shows its two worked examples."""
    unachievable_hint: bool = True
    """Whether the prompt says what to do with a task that can't be done."""
    error_feedback: bool = True
    """Whether the model is told why an action had no effect, and what else happened on the page."""
    history: Policy | HistoryKeys = "actions"
    """What it is told of earlier steps."""
    invalid_retries: int = 2
    """0 to 10: replies that are no action which are asked for again without using a step."""
    sampling: Sampling = field(default_factory=Sampling)
    host_names: Literal["paper"] | Mapping[str, str] | None = None
    """Addresses to show in place of the sites' own, by site; ``paper``: those of WebArena's paper."""
    image_detail: Literal["auto", "low", "high"] = "auto"
    tools: tuple[str, ...] = ()
    """Names of the tools to offer; empty: all."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of each request, e.g. ``{max_tokens: 400}`` for servers that know no ``max_completion_tokens``."""

    def __post_init__(self) -> None:
        if not 0 <= self.invalid_retries <= 10:
            raise ValueError(f"invalid_retries: expected 0 to 10, found {self.invalid_retries}")


def _build(common: Common, keys: ModelKeys) -> AgentDefinition:
    prompt = read_prompt(keys.prompt, common.base, common.where)
    known = {tool["name"] for tool in _tools(keys, common)} if keys.reply == "tools" else set()
    for name in keys.tools:
        if keys.reply != "tools":
            raise UsageError(f"{common.where}: tools: expected 'reply: tools' with it, found reply {keys.reply!r}")
        if name not in known:
            raise UsageError(f"{common.where}: tools: unknown tool {name!r}")
    if common.memory is not None and not any("memory" in file.read_text("utf-8") for file in prompt.files):
        raise UsageError(f"{common.where}: memory: expected a prompt that shows '{{{{ memory }}}}', found none in it")
    offered = not keys.tools or bool({"accept_dialog", "dismiss_dialog"} & set(keys.tools))
    held: DialogPolicy | None = "hold" if keys.reply == "tools" and offered else None
    return common.definition(
        lambda assignment: _make(common, keys, prompt, assignment),
        files=prompt.files,
        model=keys.model,
        dialogs=(lambda task, trial: held) if keys.reply == "tools" else None,
        check=lambda settings: _check(common, keys, settings),
        reach=lambda settings: _reach(keys, settings),
        raises=(ModelError, UsageError, RecordingError),  # the endpoint fails; its key is gone; the disk is full
    )


def _make(common: Common, keys: ModelKeys, prompt: Prompt, assignment: Assignment) -> Agent:
    from pytest_webarena.agents.model.agent import ModelAgent, Style
    from pytest_webarena.browser.config import ObservationConfig
    from pytest_webarena.browser.grammars import grammar
    from pytest_webarena.llm.client import ModelClient
    from pytest_webarena.llm.messages import Tool

    spoken = grammar(common.keys.grammar)
    if assignment.view.answer_format != "text":
        keys = replace(keys, unachievable_hint=False)  # the form of the answer has its own way of saying so
    shown = ObservationConfig.from_plain(common.observation, where=common.where)
    style = Style(
        model=keys.model,
        prompt=prompt,
        form=keys.reply,
        parse=spoken.parse,
        parse_call=_call,
        grammar=_explained(spoken.describe(), keys.unachievable_hint),
        tools=tuple(Tool(**tool) for tool in _tools(keys, common)) if keys.reply == "tools" else (),
        sampling=keys.sampling,
        history=keys.history if isinstance(keys.history, HistoryKeys) else HistoryKeys(policy=keys.history),
        kinds=shown.kinds,
        reasoning=keys.reasoning,
        examples=keys.examples,
        unachievable_hint=keys.unachievable_hint,
        error_feedback=keys.error_feedback,
        invalid_retries=keys.invalid_retries,
        host_names=PAPER_NAMES if keys.host_names == "paper" else keys.host_names,
        image_detail=keys.image_detail,
        extra=keys.extra,
    )
    settings = assignment.models or ModelSettings()
    client = ModelClient(
        keys.endpoint, settings, trial=assignment.key, worker=assignment.worker, waiting=assignment.waiting
    )
    return ModelAgent(assignment, style, client)


def _explained(grammar: str, hint: bool) -> str:
    """The grammar without the lines about tasks that can't be done, unless the model is to be told of these."""
    lines = grammar.strip().splitlines()
    return "\n".join(line for line in lines if hint or "can't be done" not in line)


def _call(name: str, arguments: str) -> Action:
    from pytest_webarena.browser.grammars.tools import parse_call

    action: Action = parse_call(name, arguments)
    return action


def _tools(keys: ModelKeys, common: Common) -> list[dict[str, Any]]:
    from pytest_webarena.browser.config import ObservationConfig
    from pytest_webarena.browser.grammars.tools import tools

    shown = ObservationConfig.from_plain(common.observation, where=common.where)
    by_id = any(form.ids for form in shown.forms)
    targets: Literal["elements", "points", "both"] = "elements" if by_id else "points"
    if by_id and shown.pictured("plain"):
        targets = "both"
    offered = tools(targets=targets, only=keys.tools)
    return [tool for tool in offered if keys.unachievable_hint or tool["name"] != "report_infeasible"]


def _check(common: Common, keys: ModelKeys, settings: ModelSettings) -> None:
    """What must be there before a run: `UsageError` says what is missing."""
    if not keys.model:
        raise UsageError(f"{common.where}: expected the name of a model: give --model, or the key 'model'")
    if importlib.util.find_spec("openai") is None:
        raise UsageError(f"{common.where}: expected the package 'openai', it is not installed; pip install openai")
    _ = keys.endpoint.url
    keys.endpoint.key()
    bounded = "--max-cost" if settings.max_cost is not None else "a limit of cost" if common.keys.limits.cost else ""
    if bounded and read_prices(settings.prices).price(keys.model) is None:
        raise UsageError(
            f"{common.where}: expected a price for model {keys.model!r}, because {bounded} is to be held; "
            "add it to a table and name that with --prices"
        )
    read_prices(settings.prices)  # a table with a mistake in it is better found now


def _reach(keys: ModelKeys, settings: ModelSettings) -> None:
    """`ModelError` when nobody takes connections at the endpoint. With a cache it may not be needed at all."""
    from pytest_webarena.llm.client import connect

    if settings.cache is None:
        connect(keys.endpoint, keys.model)


KIND = Kind(name="model", about="a model behind an OpenAI-compatible endpoint", keys=ModelKeys, build=_build)
