"""Runs agents on recorded trials, without sites or browser. Only agents that repeat the recorded actions get a
verdict."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.definitions import with_observation
from pytest_webarena.agents.protocol import InputImage
from pytest_webarena.agents.recording import Recording, find_recording
from pytest_webarena.checks import judge_all_bounded
from pytest_webarena.errors import HarnessError, RecordingError, TrialError, UsageError
from pytest_webarena.evidence import Evidence, StepRecord, Usage, cut
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.results.attempts import INTENT_IMAGES, AttemptWriter, read_evidence
from pytest_webarena.results.records import Attempt, TrialKey
from pytest_webarena.secrets import scrub_plain
from pytest_webarena.trials.agent_run import run_agent
from pytest_webarena.trials.outcome import Decided, decide
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.recorded_environment import LeftRecord, RecordedScene, RecordedSession

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import AgentDefinition
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.llm_judge.judge import Judge
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.episode import Episode
    from pytest_webarena.trials.run_info import RunInfo
    from pytest_webarena.trials.runtime import RuntimeConfig

__all__ = ["RecordReplay", "recorded_agent"]

_AMOUNTS = ("max_obs_length", "max_tokens", "max_chars", "tokenizer")
"""Observation settings that limit how much is shown, not how; mentioned last in messages."""


def recorded_agent(run: Path, *, task: str, agents: tuple[str, ...]) -> str:
    """The agent whose trial of ``task`` is replayed: the first of ``agents`` that tried it, otherwise the only one that
    did.

    Empty when ``run`` has none. `UsageError` when there are several and none of ``agents`` is among them.
    """
    found = sorted({key.agent for key in _keys(run) if key.task == task})
    if (named := next((name for name in agents if name in found), None)) is not None:
        return named
    if len(found) > 1:
        raise UsageError(f"--replay-run: {task} was tried by {', '.join(found)} in {run}; choose one with --replay-of")
    return found[0] if found else ""


def _keys(run: Path) -> tuple[TrialKey, ...]:
    return tuple(record.key for record in RunDir(run).records())


class RecordReplay:
    """Replaces a worker's `Runtime`: runs trials on the recordings of the same tasks in ``source``."""

    def __init__(self, info: RunInfo, config: RuntimeConfig, *, judge: Judge, source: Path, of: str = "") -> None:
        """``of`` is the agent whose trials are followed; empty: the agent of the same name, otherwise the only one."""
        self._info = info
        self._config = config
        self._judge = judge
        self._source = source
        self._of = of
        self._run = RunDir(info.run_dir)
        self._ready: set[tuple[str, str]] = set()

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """Run one agent on one recorded trial and write its record.

        `UsageError` when that is impossible: the agent drives its browser itself, or is to see pages in another form.
        """
        config = self._config
        definition = config.agent_of(agent, task) if config.agent_of is not None else self._named(agent)
        if definition.self_driving:
            raise UsageError(
                f"--replay-run: expected an agent that returns actions, found {agent}, which drives a "
                "browser itself; a replay has none"
            )
        self._run.describe(self._info.facts)
        if (definition.id, definition.digest) not in self._ready:
            definition.check_connection(config.options.models)
            self._ready.add((definition.id, definition.digest))
        plan = TrialPlan(
            task=task,
            agent=definition,
            trial=trial,
            browser=browser,
            limits=config.limits,
            options=config.options,
            temp_dir=self._info.agents_dir or self._info.temp_dir,
            node_id=node_id,
            worker=config.worker,
            since=self._info.facts.get("started", math.inf),
        )
        recorded_by = self._of or recorded_agent(self._source, task=task.id, agents=(definition.id,))
        recorded = find_recording(self._source, task=task.id, agent=recorded_by, trial=trial)
        self._require_same_observation(definition, recorded.folder, recorded_by)
        plan = replace(plan, asker=self._judge.session(plan.key.folder))
        folder = self._run.folder(plan.key)
        writer = folder.begin(worker=plan.worker, node_id=node_id, task=plan.facts())
        record = _Following(plan, recorded, recorded_by, self._source).play(writer)
        attempt = Attempt(
            number=writer.number, outcome=record.outcome, cause=record.cause, message=record.message,
            started=record.started, seconds=record.seconds.get("total", 0.0), usage=record.usage,
        )  # fmt: skip
        record = replace(record, attempt=writer.number, attempts=(attempt,))
        return folder.finish(TrialRecord.from_json(scrub_plain(record.to_json())), since=plan.since)

    def folder(self, record: TrialRecord) -> Path:
        """The directory of a trial's files."""
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord) -> None:
        """Do nothing: the files show where an agent left the recording."""

    def _named(self, agent: str) -> AgentDefinition:
        return resolve_agent(agent, self._config.agent_directories, self._config.overrides)

    def _require_same_observation(self, agent: AgentDefinition, attempt: Path, recorded_by: str) -> None:
        """Raise `UsageError` when the recording shows pages in another form than the agent is to see."""
        before = RunDir(self._source)
        record = next((each for each in before.records() if before.folder(each.key).path == attempt.parent), None)
        summary: object = (record.environment if record is not None else {}).get("observation")
        if not isinstance(summary, Mapping):
            return  # a task without pages, or a record from before it was stored
        observation = with_observation(agent.observation, self._config.session.observation).to_plain()
        for name in sorted(observation, key=lambda each: (each in _AMOUNTS, each)):
            if name in summary and observation[name] != summary[name]:
                raise UsageError(
                    f"--replay-run: expected {agent.id} to see pages as {recorded_by} did, whose trial is recorded: "
                    f"observation.{name} is {observation[name]!r} and was {summary[name]!r}; choose another recording "
                    "(--replay-of), or set it in the agent's definition"
                )


@dataclass(slots=True)
class _Recorder:
    """Stores what the agent does on the recording."""

    writer: AttemptWriter
    steps: list[StepRecord]
    usage: Usage | None = None

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        return self.writer.observed(index, observation)

    def stepped(self, step: StepRecord) -> None:
        self.writer.stepped(step)
        self.steps.append(step)
        if step.usage is not None:
            self.usage = step.usage + (self.usage or Usage())


class _Following:
    """Runs one agent on one recording."""

    def __init__(self, plan: TrialPlan, recorded: Recording, recorded_by: str, source: Path) -> None:
        self._plan = plan
        self._recorded = recorded
        self._recorded_by = recorded_by
        self._source = source

    def play(self, writer: AttemptWriter) -> TrialRecord:
        plan, started = self._plan, time.time()
        session = RecordedSession(self._recorded.folder, self._recorded.steps)
        recorder = _Recorder(writer, [])
        facts: dict[str, Any] = {}
        evidence: Evidence | None = None
        try:
            evidence = read_evidence(self._recorded.folder, manifest=self._recorded.manifest)
            scene = RecordedScene(
                session=session, sites=evidence.sites, start=self._start(session), images=_images(self._recorded.folder)
            )
            try:
                episode = run_agent(plan, scene, recorder, writer, None, None)
            except LeftRecord as departure:
                decided = Decided("failed", None, str(departure))
            else:
                ending = episode.ending
                facts = {"stop_reason": ending.reason, "stop_detail": ending.detail, "answer": episode.answer}
                recorder.usage = episode.usage
                decided, judged = self._ended(session, recorder, evidence, episode)
                facts |= judged
        except ValueError as error:
            decided = Decided("error", "harness", f"{error}. An agent can be run on finished trials of whole runs")
        except TrialError as error:
            decided = Decided("error", error.cause, str(error))
            if error.usage is not None:
                recorder.usage = error.usage + (recorder.usage or Usage())
        except Exception as error:  # a bug in the harness must not look like the agent's failure
            decided = Decided("error", "harness", str(HarnessError(f"unexpected {type(error).__name__}: {error}")))
            with suppress(RecordingError):
                writer.note_traceback(error)
        summary = {
            "run": str(self._source), "agent": self._recorded_by, "steps": len(self._recorded.steps),
            "followed": session.followed,
        }  # fmt: skip
        return TrialRecord(
            key=plan.key,
            **decided._replace(message=cut(decided.message))._asdict(),
            **facts,
            answer_format=plan.answer_format,
            judge=plan.asker.use if plan.asker is not None else None,
            steps=len(recorder.steps),
            usage=recorder.usage,
            environment={**session.environment, "on_record": summary},
            seconds={"total": round(time.time() - started, 4)},
            started=round(started, 3),
            node_id=plan.node_id,
            worker=plan.worker,
            **plan.facts(evidence.sites if evidence is not None else {}),
        )

    def _start(self, session: RecordedSession) -> tuple[str, ...]:
        return (session.address,) if session.address else ()

    def _ended(
        self, session: RecordedSession, recorder: _Recorder, evidence: Evidence, episode: Episode
    ) -> tuple[Decided, dict[str, Any]]:
        """The outcome after the agent stopped or was stopped. If it repeated all recorded actions, the recorded
        evidence applies: only the answer is the agent's own, and the checks judge both together."""
        ending = episode.ending
        if ending.reason == "agent_crash":
            return Decided("failed", None, f"the agent crashed: {ending.detail}"), {}
        if ending.reason != "answered":
            where = f"after {session.followed} of {len(self._recorded.steps)} recorded steps"
            return Decided("failed", None, f"on the record, but stopped {where}: {ending.detail or ending.reason}"), {}
        if (why := self._stopped_elsewhere(session)) is not None:
            return Decided("failed", None, why), {}
        judged = replace(
            evidence, answer=episode.answer, stop_reason="answered", steps=tuple(recorder.steps), usage=recorder.usage,
            usage_gap="" if recorder.usage is not None else "usage was not reported on the record",
        )  # fmt: skip
        verdicts = judge_all_bounded(
            self._plan.task, judged, headline=self._plan.options.grading, asker=self._plan.asker,
            seconds=self._plan.options.check_timeout,
        )  # fmt: skip
        name, verdict = next(iter(verdicts.items()))
        decided = decide(verdict, stop_reason="answered", stop_detail="")
        return decided, {
            "score": verdict.known_score,
            "verdict": verdict.to_json(),
            "grading": name,
            "verdicts": {each: verdict_of_grading.to_json() for each, verdict_of_grading in verdicts.items()},
        }

    def _stopped_elsewhere(self, session: RecordedSession) -> str | None:
        """Why stopping now differs from the recording; None if the recording stops here, too."""
        rest = [step for step in self._recorded.steps[session.followed :] if step.action.get("kind") != "stop"]
        if not rest:
            return None
        return (
            f"left the record at step {session.followed + 1} of {len(self._recorded.steps)}, at {session.address}: it "
            f"stopped, where {len(rest)} more steps are recorded"
        )


def _images(attempt: Path) -> tuple[InputImage, ...]:
    """The images of the intent."""
    files = sorted((attempt / INTENT_IMAGES).glob("*"), key=lambda file: file.stem.zfill(4))
    kinds = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
    return tuple(
        InputImage(name=file.name, media_type=kinds.get(file.suffix[1:], "image/png"), data=file.read_bytes())
        for file in files
    )
