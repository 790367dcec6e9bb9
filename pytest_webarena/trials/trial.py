"""One trial from lease to record: the attempt, its retries after environment errors, its verdict."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.definitions import observed_as
from pytest_webarena.agents.protocol import AgentDefinition, AgentLimits, Assignment, TaskView
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.checks import REPAIRED, Grading, collect, judge_all, signals
from pytest_webarena.checks.grading import answer_format
from pytest_webarena.episode import Ending, Episode, EpisodeLimits, run_episode
from pytest_webarena.errors import Cause, HarnessError, SiteMissing, TrialError
from pytest_webarena.evidence import Evidence, Probe, StepRecord, Usage
from pytest_webarena.results.records import Attempt, Outcome, TrialKey, TrialRecord
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.trials.outcome import decide
from pytest_webarena.trials.remembering import Recollection, recollection
from pytest_webarena.trials.self_driving import run_self_driven
from pytest_webarena.trials.spending import Spending
from pytest_webarena.trials.stage import Stage, set_stage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pytest_webarena.answers import AnswerFormat, AskedFormat
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.session import SessionConfig
    from pytest_webarena.checks import Verdict
    from pytest_webarena.judging import JudgeSession
    from pytest_webarena.llm.config import ModelSettings
    from pytest_webarena.results.memory import Memory
    from pytest_webarena.results.rundir import AttemptWriter, TrialFolder
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.stage import Resources

__all__ = ["RETRIED_CAUSES", "TrialPlan", "run_trial"]

RETRIED_CAUSES: frozenset[Cause] = frozenset({"site", "browser", "model"})
"""Errors of the environment. The others would only come again, or are not ours to hide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialPlan:
    """What to run."""

    task: Task
    agent: AgentDefinition
    trial: int
    limits: EpisodeLimits
    models: ModelSettings | None = None
    """Budget, ledger and cache of model calls."""
    grading: Grading = REPAIRED
    """The grading that counts."""
    answers: AskedFormat = "auto"
    """The form of answer to ask the agent for."""
    asker: JudgeSession | None = None
    """The judge model; without one, what needs it is inconclusive."""
    temp_dir: Path | None = None
    """For files of agents that go with the run."""
    memory: Memory | None = None
    """What the agent keeps from trial to trial, if its definition asks for that."""
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
    def answer_format(self) -> AnswerFormat:
        """The form of answer that the agent is asked for."""
        return answer_format(self.task, self.grading, self.answers)

    @property
    def effective_limits(self) -> EpisodeLimits:
        """The run's limits, replaced by the agent's where its definition has some, and those by the task's own."""
        limits, task = self.limits, self.task.limits
        given = {name: value for name, value in asdict(self.agent.limits).items() if value is not None}
        given |= {name: value for name in ("steps", "seconds") if (value := getattr(task, name)) is not None}
        return replace(limits, **given)


@dataclass(slots=True)
class _Progress:
    """What is known of an attempt so far; an error keeps what came before it."""

    seconds: dict[str, float] = field(default_factory=dict)
    episode: Episode | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By grading, the one that counts first."""
    replicas: dict[str, str] = field(default_factory=dict)
    browser: str = ""
    environment: dict[str, Any] = field(default_factory=dict)
    steps: int = 0
    usage: Usage | None = None

    @property
    def verdict(self) -> Verdict | None:
        """The one that counts."""
        return next(iter(self.verdicts.values()), None)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - began, 4)


def run_trial(plan: TrialPlan, resources: Resources, folder: TrialFolder) -> TrialRecord:
    """Run one trial and write its record. Returns for every outcome.

    Raises `SiteMissing`, and leaves no record, when a site is not there to be tried; else only `KeyboardInterrupt` and
    the like.
    """
    if plan.memory is None or (keys := plan.agent.memory) is None:
        return _run_attempts(plan, resources, folder, None)
    # Before anything is leased: whoever waits here for another trial to end must hold nothing that it may need.
    with recollection(keys, plan.memory, of=keys.of(plan.task), trial=folder.key.folder) as recalled:
        return _run_attempts(plan, resources, folder, recalled)


def _run_attempts(
    plan: TrialPlan, resources: Resources, folder: TrialFolder, recalled: Recollection | None
) -> TrialRecord:
    attempts: list[Attempt] = []
    while True:
        writer = folder.begin(worker=plan.worker, node_id=plan.node_id, task=_task_facts(plan))
        try:
            record, again = _attempt(plan, resources, writer, recalled)
        except SiteMissing:
            folder.withdraw(writer.number)
            raise
        if recalled is not None:
            record = replace(record, memory=recalled.settle(judged=record.outcome != "error"))
        attempts.append(
            Attempt(
                number=writer.number,
                outcome=record.outcome,
                cause=record.cause,
                message=record.message,
                started=record.started,
                seconds=record.seconds.get("total", 0.0),
            )
        )
        record = TrialRecord.from_json(
            scrub_plain(replace(record, attempt=writer.number, attempts=tuple(attempts)).to_json())
        )
        if record.cause not in RETRIED_CAUSES or not again or len(attempts) > plan.env_retries:
            folder.finish(record)
            return record


def _attempt(
    plan: TrialPlan, resources: Resources, writer: AttemptWriter, recalled: Recollection | None
) -> tuple[TrialRecord, bool]:
    """The attempt's record, and whether another attempt could end better."""
    started = time.time()
    progress = _Progress()
    outcome: Outcome = "error"
    cause: Cause | None = None
    message, again = "", True
    with progress.timed("total"):
        try:
            evidence = _gather(plan, resources, writer, progress, recalled)
            writer.finish(evidence)
            with progress.timed("judge"):
                progress.verdicts = judge_all(plan.task, evidence, headline=plan.grading, asker=plan.asker)
            assert progress.verdict is not None
            ending = progress.episode.ending if progress.episode is not None else None
            outcome, cause, message = decide(
                progress.verdict,
                stop_reason=ending.reason if ending is not None else None,
                stop_detail=ending.detail if ending is not None else "",
            )
        except SiteMissing:
            raise
        except TrialError as error:
            cause, message, again = error.cause, str(error), error.again
        except Exception as error:  # a bug of ours must not look like a failed task, nor end the run
            cause, message = "harness", _unexpected(error)
            writer.note_traceback(error)
    return _record(plan, progress, outcome, cause, message, started), again


def _gather(
    plan: TrialPlan,
    resources: Resources,
    writer: AttemptWriter,
    progress: _Progress,
    recalled: Recollection | None,
) -> Evidence:
    """Everything that needs sites and a browser; afterwards both are free again."""
    task = plan.task
    with ExitStack() as exits:
        stage = exits.enter_context(
            set_stage(
                task,
                resources,
                holder=_holder(plan),
                timed=progress.timed,
                tailor=partial(_tailored, plan),
                self_driving=plan.agent.self_driving,
            )
        )
        progress.replicas = stage.replicas
        progress.browser = stage.session.browser_version
        progress.environment = stage.session.environment
        if external := stage.external_sites:
            progress.environment["external_sites"] = external
        recorder = _Recorder(writer, task, stage, progress)
        with progress.timed("episode"):
            stage.open_first_pages()
            progress.episode = episode = _run_agent(plan, stage, recorder, writer, recalled)
        with progress.timed("collect"):
            requests = [request for request in stage.requests() if not recorder.was_probing(request.time)]
            if not signals(task.every_check).responses:
                requests = [replace(request, response_body=None) for request in requests]
            stage.check_sites()  # a site that died must not look like an agent that failed
            tabs = stage.session.tabs()
            writer.screenshot("final", stage.session.screenshot())
            probes = [*recorder.probes, *collect(task.every_check, stage.live, state="end")]
        return Evidence(
            answer=episode.answer,
            stop_reason=episode.ending.reason,
            tabs=tabs,
            steps=episode.steps,
            requests=tuple(requests),
            probes=tuple(probes),
            sites=stage.live.sites,
            answer_format=plan.answer_format,
        )


def _tailored(plan: TrialPlan, config: SessionConfig) -> SessionConfig:
    """The run's browser context, with what the agent's definition asks for."""
    agent = plan.agent
    if (dialogs := agent.dialogs(plan.task, plan.trial)) is not None:
        config = replace(config, dialogs=dialogs)
    if agent.viewport is not None:
        config = replace(config, viewport=agent.viewport)
    if agent.observation:
        config = replace(config, observation=observed_as(agent.observation, config.observation))
    return config


def _run_agent(
    plan: TrialPlan, stage: Stage, recorder: _Recorder, writer: AttemptWriter, recalled: Recollection | None
) -> Episode:
    limits = plan.effective_limits
    sites = stage.live.sites
    view = TaskView(
        intent=resolve_placeholders(plan.task.intent, sites),
        sites=sites, start=stage.start, max_steps=limits.steps, seed=plan.seed, answer_format=plan.answer_format,
        memory=recalled.begun.text if recalled is not None else None,
    )  # fmt: skip
    key = TrialKey(plan.task.id, plan.agent.id, plan.trial).folder
    assignment = Assignment(
        view=view, task=plan.task, trial=plan.trial, attempt=writer.number, key=key, folder=writer.path,
        temp_dir=plan.temp_dir, limits=_agent_limits(limits), worker=plan.worker or "main", models=plan.models,
    )  # fmt: skip
    spending = _spending(plan, key)
    parse: Callable[[str], Any] = grammar(plan.agent.grammar).parse
    name = f"{plan.task.id}-{plan.agent.id}"
    try:
        worker = AgentWorker(lambda: plan.agent.make(assignment), name=name, timeout=limits.seconds)
    except AgentCrashed as crash:
        if crash.__cause__ is not None:
            writer.note_traceback(crash.__cause__, name="agent-traceback.txt")
        return Episode(answer=None, ending=Ending("agent_crash", f"when it was made: {crash}"), steps=(), seconds=0.0)
    except AgentTimeout:
        return Episode(
            answer=None, ending=Ending("time", "the agent was not ready in time"), steps=(), seconds=limits.seconds
        )
    with worker:
        if stage.driven is not None:
            episode = run_self_driven(stage.session, stage.driven, worker, limits=limits, recorder=recorder)
            if spending is not None and episode.usage is not None:
                spending.spend(episode.usage)
        else:
            episode = run_episode(
                stage.session, worker, parse=parse, limits=limits, recorder=recorder,
                spend=spending.spend if spending is not None else lambda usage: None,
            )  # fmt: skip
        if worker.crash is not None:
            writer.note_traceback(worker.crash, name="agent-traceback.txt")
        if recalled is not None:
            recalled.ask(worker, episode.ending.reason, writer)
            if recalled.usage is not None:
                if spending is not None:
                    spending.spend(recalled.usage)
                episode = replace(episode, usage=recalled.usage + (episode.usage or Usage()))
        return episode


def _spending(plan: TrialPlan, trial: str) -> Spending | None:
    """Where to book what the agent says it used; None for those whose calls are booked as they are made."""
    agent, models = plan.agent, plan.models
    if agent.kind == "model" or models is None or models.ledger is None:
        return None
    spending = Spending(models, models.ledger, trial=trial, model=agent.model or agent.id, worker=plan.worker or "main")
    spending.check()
    return spending


def _agent_limits(limits: EpisodeLimits) -> AgentLimits:
    return AgentLimits(**{each.name: getattr(limits, each.name) for each in fields(AgentLimits)})


class _Recorder:
    """Passes each step to the attempt's files and gathers what ``when: any_step`` checks need of its state."""

    def __init__(self, writer: AttemptWriter, task: Task, stage: Stage, progress: _Progress) -> None:
        self._writer = writer
        self._stage = stage
        self._progress = progress
        self._every_step = signals(task.every_check).each_step
        self._probing: list[tuple[float, float]] = []
        self.probes: list[Probe] = []

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        return self._writer.observed(index, observation)

    def stepped(self, step: StepRecord) -> None:
        self._writer.stepped(step)
        self._progress.steps = step.index + 1
        if step.usage is not None:
            self._progress.usage = step.usage + (self._progress.usage or Usage())
        if self._every_step:
            began = time.time()
            self.probes += collect(self._every_step, self._stage.live, state=step.index)
            self._probing.append((began, time.time()))
        began = time.time()
        if renewed := self._stage.stay_signed_in(step):
            self._progress.environment.setdefault("renewed_sign_ins", []).append(renewed)
            self._probing.append((began, time.time()))

    def was_probing(self, moment: float) -> bool:
        """Whether a request at this Unix time was ours: looking at pages between steps is no traffic of the agent."""
        return any(began <= moment <= ended for began, ended in self._probing)


def _holder(plan: TrialPlan) -> str:
    return f"{plan.task.id} ({plan.agent.id}, trial {plan.trial})"


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
        grading=next(iter(progress.verdicts), ""),
        verdicts={name: each.to_json() for name, each in progress.verdicts.items()},
        judge=plan.asker.use if plan.asker is not None else None,
        answer=episode.answer if episode else None,
        answer_format=plan.answer_format,
        steps=progress.steps,
        usage=episode.usage if episode else progress.usage,
        sites_digest=hashlib.sha256(repr(sorted(progress.replicas.items())).encode()).hexdigest()[:16],
        browser=progress.browser,
        environment=progress.environment,
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
        "source": dict(task.source),
        "tags": task.tags,
        "task_digest": task.digest,
        "agent_digest": agent.digest,
        "model": agent.model,
        "isolation": agent.tier,
        "privileged": agent.privileged,
    }
