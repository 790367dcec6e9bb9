"""One trial from lease to record: the attempt, its retries after environment errors, its verdict."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.agents.protocol import AgentDefinition, TaskView
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.checks import collect, judge, signals
from pytest_webarena.episode import Ending, Episode, EpisodeLimits, run_episode
from pytest_webarena.errors import Cause, HarnessError, TrialError
from pytest_webarena.evidence import Evidence, Probe, StepRecord
from pytest_webarena.trials.live import LiveTrial, absolute_url
from pytest_webarena.results.records import Attempt, Outcome, TrialKey, TrialRecord
from pytest_webarena.trials.setup import run_setup

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.session import Session, SessionConfig
    from pytest_webarena.checks import Verdict
    from pytest_webarena.results.rundir import AttemptWriter, TrialFolder
    from pytest_webarena.sites.client import Lease
    from pytest_webarena.tasks.model import Task

__all__ = ["RETRIED_CAUSES", "Resources", "TrialPlan", "run_trial"]

RETRIED_CAUSES: frozenset[Cause] = frozenset({"site", "browser", "model"})
"""Errors of the environment. The others would only come again, or are not ours to hide."""


class Resources(Protocol):
    """What a worker process offers its trials."""

    def lease(self, sites: Sequence[str], *, users: Mapping[str, str], holder: str) -> Lease:
        """Exclusive use of the apps behind ``sites``, to be visited as ``users``."""

    def engine(self) -> BrowserEngine:
        """The worker's browser, started on first use."""

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """How a trial's browser context is set up."""

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies that sign the task's users in on the leased sites; None when no site asks for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """What to run."""

    task: Task
    agent: AgentDefinition
    trial: int
    limits: EpisodeLimits
    env_retries: int = 1
    """How often an environment error is tried again, each time on a fresh replica."""
    node_id: str = ""
    worker: str = ""

    @property
    def seed(self) -> int:
        """The same for this task, agent and trial in every run."""
        text = f"{self.task.id}\0{self.agent.id}\0{self.trial}"
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")

    @property
    def effective_limits(self) -> EpisodeLimits:
        """The run's limits, tightened by the task's own."""
        own = self.task.limits
        return replace(
            self.limits,
            steps=own.steps if own.steps is not None else self.limits.steps,
            seconds=own.seconds if own.seconds is not None else self.limits.seconds,
        )


@dataclass(slots=True)
class _Progress:
    """What is known of an attempt so far; an error keeps what came before it."""

    seconds: dict[str, float] = field(default_factory=dict)
    episode: Episode | None = None
    verdict: Verdict | None = None
    replicas: dict[str, str] = field(default_factory=dict)
    browser: str = ""
    steps: int = 0

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - began, 4)


def run_trial(plan: TrialPlan, resources: Resources, folder: TrialFolder) -> TrialRecord:
    """Run one trial and write its record. Returns for every outcome; raises only for `KeyboardInterrupt` and the like."""
    attempts: list[Attempt] = []
    while True:
        writer = folder.begin(worker=plan.worker, node_id=plan.node_id, task=_task_facts(plan))
        record = _attempt(plan, resources, writer)
        attempts.append(Attempt(number=writer.number, outcome=record.outcome, cause=record.cause, message=record.message))
        record = replace(record, attempt=writer.number, attempts=tuple(attempts))
        if record.cause not in RETRIED_CAUSES or len(attempts) > plan.env_retries:
            folder.finish(record)
            return record


def _attempt(plan: TrialPlan, resources: Resources, writer: AttemptWriter) -> TrialRecord:
    started = time.time()
    progress = _Progress()
    outcome: Outcome = "error"
    cause: Cause | None = None
    message = ""
    with progress.timed("total"):
        try:
            evidence = _gather(plan, resources, writer, progress)
            writer.finish(evidence)
            with progress.timed("judge"):
                progress.verdict = verdict = judge(plan.task, evidence)
            outcome, cause, message = _outcome(verdict, progress.episode)
        except TrialError as error:
            cause, message = error.cause, str(error)
        except Exception as error:  # a bug of ours must not look like a failed task, nor end the run
            cause, message = "harness", _unexpected(error)
            writer.note_traceback(error)
    return _record(plan, progress, outcome, cause, message, started)


def _outcome(verdict: Verdict, episode: Episode | None) -> tuple[Outcome, Cause | None, str]:
    crashed = episode is not None and episode.ending.reason == "agent_crash"
    if crashed and episode is not None:
        return "failed", None, f"the agent crashed: {episode.ending.detail}\n{verdict.render()}"
    if verdict.passed is None:
        return "error", "task", f"no verdict: a check could not be judged\n{verdict.render()}"
    return ("passed", None, "") if verdict.passed else ("failed", None, verdict.render())


def _gather(plan: TrialPlan, resources: Resources, writer: AttemptWriter, progress: _Progress) -> Evidence:
    """Everything that needs sites and a browser; afterwards both are free again."""
    task = plan.task
    with ExitStack() as stack:
        lease: Lease | None = None
        state: Mapping[str, Any] | None = None
        with progress.timed("lease"):
            if task.sites:
                lease = stack.enter_context(resources.lease(task.sites, users=task.user, holder=_holder(plan)))
                progress.replicas = {replica.app: replica.digest for replica in lease.replicas}
        with progress.timed("session"):
            if lease is not None:
                state = resources.login_state(lease, task.user)
            engine = resources.engine()
            progress.browser = engine.version
            session = stack.enter_context(engine.session(resources.session_config(lease, state)))
            live = LiveTrial(session, lease)
        if task.setup:
            with progress.timed("setup"):
                assert lease is not None  # the format allows set-up steps only on a task's sites
                run_setup(task.setup, lease, live, lambda user: _visit(plan, resources, lease, user))
        start = _start_urls(task, live)
        recorder = _Recorder(writer, task, live)
        with progress.timed("episode"):
            session.open_tabs(start)
            progress.episode = episode = _run_agent(plan, session, live, start, recorder)
        progress.steps = len(episode.steps)
        with progress.timed("collect"):
            requests = lease.requests() if lease is not None else ()  # before our own look at the pages adds to it
            tabs = session.tabs()
            writer.screenshot("final", session.screenshot())
            probes = [*recorder.probes, *collect(task.checks, live, state="end")]
        return Evidence(
            answer=episode.answer,
            stop_reason=episode.ending.reason,
            tabs=tabs,
            steps=episode.steps,
            requests=requests,
            probes=tuple(probes),
            sites=live.sites,
        )


def _visit(plan: TrialPlan, resources: Resources, lease: Lease, user: str | None) -> AbstractContextManager[Session]:
    """A browser context for a set-up step, signed in as the task's users or as ``user`` everywhere."""
    users = plan.task.user if user is None else dict.fromkeys(plan.task.sites, user)
    return resources.engine().session(resources.session_config(lease, resources.login_state(lease, users)))


def _run_agent(plan: TrialPlan, session: Session, live: LiveTrial, start: Sequence[str], recorder: _Recorder) -> Episode:
    limits = plan.effective_limits
    view = TaskView(
        intent=plan.task.intent, sites=live.sites, start=tuple(start), max_steps=limits.steps, seed=plan.seed
    )
    parse: Callable[[str], Any] = grammar(plan.agent.grammar).parse
    name = f"{plan.task.id}-{plan.agent.id}"
    try:
        worker = AgentWorker(lambda: plan.agent.make(view, plan.task), name=name, timeout=limits.seconds)
    except AgentCrashed as crash:
        return Episode(answer=None, ending=Ending("agent_crash", f"when it was made: {crash}"), steps=(), seconds=0.0)
    except AgentTimeout:
        return Episode(answer=None, ending=Ending("time", "the agent was not ready in time"), steps=(), seconds=limits.seconds)
    with worker:
        return run_episode(session, worker, parse=parse, limits=limits, recorder=recorder)


class _Recorder:
    """Passes each step to the attempt's files and gathers what ``when: any_step`` checks need of its state."""

    def __init__(self, writer: AttemptWriter, task: Task, live: LiveTrial) -> None:
        self._writer = writer
        self._live = live
        self._every_step = signals(task.checks).each_step
        self.probes: list[Probe] = []

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        return self._writer.observed(index, observation)

    def stepped(self, step: StepRecord) -> None:
        self._writer.stepped(step)
        if self._every_step:
            self.probes += collect(self._every_step, self._live, state=step.index)


def _holder(plan: TrialPlan) -> str:
    return f"{plan.task.id} ({plan.agent.id}, trial {plan.trial})"


def _start_urls(task: Task, live: LiveTrial) -> list[str]:
    if task.start:
        return [absolute_url(live.sites, start.site, start.path) for start in task.start]
    return [live.start(task.sites[0])] if task.sites else ["about:blank"]


def _unexpected(error: Exception) -> str:
    bug = HarnessError(f"unexpected {type(error).__name__}: {error}; please report it with the attempt's traceback.txt")
    return str(bug)


def _record(
    plan: TrialPlan, progress: _Progress, outcome: Outcome, cause: Cause | None, message: str, started: float
) -> TrialRecord:
    task, episode, verdict = plan.task, progress.episode, progress.verdict
    return TrialRecord(
        key=TrialKey(task.id, plan.agent.id, plan.trial),
        outcome=outcome,
        score=verdict.score if verdict is not None else None,
        stop_reason=episode.ending.reason if episode else None,
        stop_detail=episode.ending.detail if episode else "",
        cause=cause,
        message=message,
        verdict=verdict.to_json() if verdict is not None else None,
        answer=episode.answer if episode else None,
        steps=progress.steps,
        sites_digest=hashlib.sha256(repr(sorted(progress.replicas.items())).encode()).hexdigest()[:16],
        browser=progress.browser,
        replicas=progress.replicas,
        seconds=progress.seconds,
        started=round(started, 3),
        node_id=plan.node_id,
        worker=plan.worker,
        **_task_facts(plan),
    )


def _task_facts(plan: TrialPlan) -> dict[str, Any]:
    """The fields of a record that are known before the trial begins."""
    task, agent = plan.task, plan.agent
    return {
        "intent": task.intent,
        "sites": task.sites,
        "category": task.category,
        "template": task.template,
        "tags": task.tags,
        "task_digest": task.digest,
        "agent_digest": agent.digest,
        "isolation": agent.tier,
        "privileged": agent.privileged,
    }
