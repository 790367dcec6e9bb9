"""Runs one attempt's agent from its construction to its final answer, on live sites or on a recorded trial."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.agents.protocol import Assignment, InputImage, TaskView
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.errors import RecordingError
from pytest_webarena.evidence import Usage
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.trials.episode import Ending, Episode, run_episode
from pytest_webarena.trials.external_spending import ExternalSpending
from pytest_webarena.trials.self_driving import run_self_driven

if TYPE_CHECKING:
    from pytest_webarena.agents.watchdog import Watched
    from pytest_webarena.browser.driven import Driven
    from pytest_webarena.browser.session import Session
    from pytest_webarena.results.attempts import AttemptWriter
    from pytest_webarena.trials.episode import Recorder
    from pytest_webarena.trials.memory import Recollection
    from pytest_webarena.trials.plan import TrialPlan

__all__ = ["Scene", "run_agent"]


class Scene(Protocol):
    """The environment an agent acts on: a `TrialEnvironment`, or the recording of one."""

    @property
    def session(self) -> Session | Pageless: ...

    @property
    def sites(self) -> Mapping[str, str]:
        """Base URLs of the task's sites, by name."""

    @property
    def reach(self) -> Mapping[str, str]:
        """Base URLs of other reachable sites, by name."""

    @property
    def images(self) -> tuple[InputImage, ...]: ...

    @property
    def start(self) -> tuple[str, ...]: ...

    @property
    def driven(self) -> Driven | None: ...

    def arrive(self) -> float:
        """Wait for reachable sites that were requested; return the seconds that took."""

    def refusal(self, url: str) -> str:
        """Why the gateway refused a request for ``url``; empty when it did not."""


def run_agent(
    plan: TrialPlan,
    scene: Scene,
    recorder: Recorder,
    writer: AttemptWriter,
    recalled: Recollection | None,
    guard: Watched | None,
) -> Episode:
    """Make the agent and let it act on ``scene`` until it stops or is stopped.

    Raises what `run_episode` raises. ``recalled`` is the agent's memory of earlier trials; ``guard`` is the watchdog
    for its code.
    """
    limits = plan.effective_limits
    sites = scene.sites
    view = TaskView(
        intent=resolve_placeholders(plan.task.intent, sites), images=scene.images,
        sites=sites, reach=scene.reach, start=scene.start, max_steps=limits.steps, seed=plan.seed,
        answer_format=plan.answer_format, answer_form=plan.answer_form, answer_schema=plan.answer_schema,
        memory=recalled.begun.text if recalled is not None else None,
    )  # fmt: skip
    key = plan.key.folder
    assignment = Assignment(
        view=view, task=plan.task, trial=plan.trial, attempt=writer.number, key=key, folder=writer.path,
        temp_dir=plan.temp_dir, limits=plan.agent_limits, worker=plan.worker or "main", models=plan.options.models,
        waiting=plan.waiting,
        find_neighbour=lambda selector: scene.session.find_neighbour(selector), refusal=lambda url: scene.refusal(url),
    )  # fmt: skip
    spending = _spending(plan, key)
    parse: Callable[[str], Any] = grammar(plan.agent.grammar).parse
    name = f"{plan.task.id}-{plan.agent.id}"
    try:
        worker = AgentWorker(
            lambda: plan.agent.make(assignment), name=name, timeout=limits.seconds, raises=plan.agent.raises,
            calling=guard.call if guard is not None else None,
        )  # fmt: skip
    except AgentCrashed as crash:
        if crash.__cause__ is not None:
            with suppress(RecordingError):
                writer.note_traceback(crash.__cause__, name="agent-traceback.txt")
        crashed = Ending("agent_crash", f"when it was made: {crash}")
        return Episode(answer=None, ending=crashed, steps=(), seconds=0.0, usage_gap="the agent crashed")
    except AgentTimeout:
        return Episode(
            answer=None, ending=Ending("time", "the agent was not ready in time"), steps=(), seconds=limits.seconds,
            usage_gap="the agent was not ready in time",
        )  # fmt: skip
    with worker, plan.cancellation.ended_by(worker.cancel):
        if scene.driven is not None and not isinstance(scene.session, Pageless):
            episode = run_self_driven(scene.session, scene.driven, worker, limits=limits, recorder=recorder)
            if spending is not None and episode.usage is not None:
                ending = spending.spend(episode.usage)
                if ending is not None and ending.reason == "agent_crash":
                    episode = replace(episode, ending=ending)
        else:
            episode = run_episode(
                scene.session, worker, parse=parse, limits=limits, recorder=recorder,
                spend=spending.spend if spending is not None else lambda usage: None, arrive=scene.arrive,
                uncounted=plan.agent.is_uncounted,
            )  # fmt: skip
        if worker.crash is not None:
            with suppress(RecordingError):
                writer.note_traceback(worker.crash, name="agent-traceback.txt")
        if recalled is not None:
            recalled.ask(worker, episode.ending.reason, writer)
            if recalled.usage is None:
                gap = episode.usage_gap or "the agent did not report the usage of its notes for later trials"
                episode = replace(episode, usage_gap=gap)
            else:
                if spending is not None:
                    spending.spend(recalled.usage)
                episode = replace(episode, usage=recalled.usage + (episode.usage or Usage()))
        return episode


def _spending(plan: TrialPlan, trial: str) -> ExternalSpending | None:
    """The account for usage that the agent reports; None for agents whose model calls are recorded as they are made."""
    agent, models = plan.agent, plan.options.models
    if agent.kind == "model" or models.calls is None:
        return None
    spending = ExternalSpending(
        models, models.calls, trial=trial, model=agent.model or agent.id, worker=plan.worker or "main"
    )
    spending.check()
    return spending
