"""The plan of a trial: a task, an agent, and the run's settings for both."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.definitions import with_observation
from pytest_webarena.agents.protocol import AgentDefinition, AgentLimits
from pytest_webarena.checks.answer_form import answer_form, answer_schema, chance_of
from pytest_webarena.checks.grading import answer_format
from pytest_webarena.errors import TaskError
from pytest_webarena.results.attempts import TRACE, VIDEOS
from pytest_webarena.results.records import DEFAULT_BROWSER, TrialKey
from pytest_webarena.tasks.placeholders import readable
from pytest_webarena.trials.cancellation import Cancellation
from pytest_webarena.trials.episode import EpisodeLimits, webcanvas_steps
from pytest_webarena.trials.options import TrialOptions, films

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_webarena.answers import AnswerFormat
    from pytest_webarena.browser.session import SessionConfig
    from pytest_webarena.llm_judge.judge import JudgeSession
    from pytest_webarena.results.attempts import AttemptWriter
    from pytest_webarena.results.memory import Memory
    from pytest_webarena.results.records import TrialRecord
    from pytest_webarena.tasks.model import Task

__all__ = ["TrialPlan"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """A trial to run."""

    task: Task
    agent: AgentDefinition
    trial: int
    limits: EpisodeLimits
    browser: str = DEFAULT_BROWSER
    """Name of the browser as in ``--browser``."""
    options: TrialOptions = field(default_factory=TrialOptions)
    """Options of all trials of the run."""
    asker: JudgeSession | None = None
    """The judge model; without one, checks that need it are undecided."""
    waiting: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Reports to the user what is waited for inside the block."""
    temp_dir: Path | None = None
    """Directory for agents' files that are removed with the run."""
    memory: Memory | None = None
    """The agent's memory across trials, if its definition asks for one."""
    node_id: str = ""
    worker: str = ""
    start: Callable[[], AbstractContextManager[object]] = nullcontext
    """Entered at the beginning of each attempt, until its agent has the first page. Limits how many of many concurrent
    trials do this processor-bound work at a time."""
    in_flight: int = 1
    """Maximum number of concurrent trials in this process."""
    cancellation: Cancellation = field(default_factory=Cancellation)
    """The run's cancellation."""
    counting: TrialRecord | None = None
    """The record of an earlier attempt that counts, because its agent caused the error that ended it."""
    since: float = math.inf
    """Unix time at which the invocation of pytest began: verdicts since then stand, see `TrialFolder.finish`."""

    @property
    def key(self) -> TrialKey:
        """Identifies the trial in records."""
        return TrialKey(self.task.id, self.agent.id, self.trial, self.browser)

    @property
    def seed(self) -> int:
        """Random seed, the same for this task, agent and trial in every run and browser."""
        text = f"{self.task.id}\0{self.agent.id}\0{self.trial}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @property
    def answer_format(self) -> AnswerFormat:
        """The answer format that the agent is asked for."""
        return answer_format(self.task, self.options.grading, self.options.answers)

    @property
    def answer_form(self) -> str:
        """Additional instructions for the agent: the kind of answer that the task's checks expect."""
        return answer_form(self.task, self.options.grading)

    @property
    def answer_schema(self) -> Mapping[str, Any] | None:
        """JSON schema of the answer in tool calls; None: any text."""
        return answer_schema(self.task, self.options.grading) if self.answer_format == "text" else None

    @property
    def effective_limits(self) -> EpisodeLimits:
        """The run's limits, overridden by those in the agent's definition, and these by the task's own."""
        limits, task = self.limits, self.task.limits
        given = {name: value for name, value in asdict(self.agent.limits).items() if value is not None}
        given |= {name: value for name in ("steps", "seconds") if (value := getattr(task, name)) is not None}
        if given.get("steps") == "webcanvas":
            if (length := self.task.reference_length) is None:
                raise TaskError(self.agent.missing_requirement(self.task))
            given["steps"] = webcanvas_steps(length)
        return replace(limits, **given)

    @property
    def agent_limits(self) -> AgentLimits:
        """The effective limits as the agent receives them."""
        limits = self.effective_limits
        return AgentLimits(**{each.name: getattr(limits, each.name) for each in fields(AgentLimits)})

    @property
    def conditions(self) -> dict[str, Any]:
        """The agent's settings and limits for a record's environment, without those that are not set."""
        limits = {name: value for name, value in asdict(self.effective_limits).items() if value is not None}
        agent = self.agent
        settings = {"prompt": agent.prompt, "asking": dict(agent.request_settings), "participant": agent.participant}
        return {"limits": limits, **{name: value for name, value in settings.items() if value}}

    @property
    def holder(self) -> str:
        """Who leases the sites, for display."""
        browser = f", {self.browser}" if self.browser != DEFAULT_BROWSER else ""
        return f"{self.task.id} ({self.agent.id}, trial {self.trial}{browser})"

    def facts(self, sites: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The record fields that are known before the trial begins. ``sites`` has the sites' addresses, once known."""
        task, agent = self.task, self.agent
        return {
            "intent": readable(task.intent, task.leased, sites or {}),
            "sites": task.sites,
            "category": task.category,
            "template": task.template,
            "source": dict(task.source),
            "tags": task.tags,
            "task_digest": task.digest,
            "agent_digest": agent.digest,
            "model": agent.model,
            "reward_model": agent.reward_model,
            "chance": chance_of(task),
            "reference_steps": task.reference_length,
            "isolation": agent.tier,
            "privileged": agent.privileged,
        }

    def tailored(self, config: SessionConfig) -> SessionConfig:
        """The browser context settings of the run, with those that the agent's definition asks for."""
        agent = self.agent
        if (dialogs := agent.dialogs(self.task, self.trial)) is not None:
            config = replace(config, dialogs=dialogs)
        if (viewport := agent.viewport_of(self.task, self.trial) or agent.viewport) is not None:
            config = replace(config, viewport=viewport)
        if agent.observes_scripts(self.task, self.trial):
            config = replace(config, observes_scripts=True)
        if agent.search is not None:
            config = replace(config, search=agent.search)
        if agent.observation:
            config = replace(config, observation=with_observation(agent.observation, config.observation))
        return config

    def filmed(self, config: SessionConfig, attempt: AttemptWriter) -> SessionConfig:
        """``config`` with the trace and video that the run asks for in this attempt; unchanged for agents that drive
        the browser themselves."""
        if self.agent.self_driving:
            return config
        if films(self.options.tracing, attempt.number):
            config = replace(config, trace=attempt.path / TRACE)
        if films(self.options.video, attempt.number):
            config = replace(config, video=attempt.path / VIDEOS)
        return config
