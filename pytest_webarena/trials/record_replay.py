"""Runs agents on recorded trials: no sites, no browser, and a verdict only for those who do what was done."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.definitions import observed_as
from pytest_webarena.agents.protocol import InputImage
from pytest_webarena.agents.recording import Recording, find_recording
from pytest_webarena.checks import judge_all_bounded
from pytest_webarena.errors import HarnessError, RecordingError, TrialError, UsageError
from pytest_webarena.evidence import Evidence, StepRecord, Usage, cut
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.results.attempts import INPUTS, AttemptWriter, read_evidence
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

_SEEN_OTHERWISE = ("max_obs_length", "max_tokens", "max_chars", "tokenizer")
"""Settings of observations that say how much is shown, not how: told in messages last."""


def recorded_agent(run: Path, *, task: str, agents: tuple[str, ...]) -> str:
    """Whose trial of ``task`` an agent is run on: the first of ``agents`` that tried it, else the only one who did.

    Empty when ``run`` has none. `UsageError` where there are several, and nobody said whose.
    """
    found = sorted({key.agent for key in _keys(run) if key.task == task})
    if (named := next((name for name in agents if name in found), None)) is not None:
        return named
    if len(found) > 1:
        raise UsageError(
            f"--replay-run: {task} was tried by {', '.join(found)} in {run}; say whose trial with --replay-of"
        )
    return found[0] if found else ""


def _keys(run: Path) -> tuple[TrialKey, ...]:
    return tuple(record.key for record in RunDir(run).records())


class RecordReplay:
    """Stands in for a worker's `Runtime`: plays trials on what ``source`` holds of the same tasks."""

    def __init__(self, info: RunInfo, config: RuntimeConfig, *, judge: Judge, source: Path, of: str = "") -> None:
        """``of``: whose trials to follow; empty: those of the agent's own name, else of the only one."""
        self._info = info
        self._config = config
        self._judge = judge
        self._source = source
        self._of = of
        self._run = RunDir(info.run_dir)
        self._ready: set[tuple[str, str]] = set()

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        """Run one agent on one recorded trial and write its record.

        `UsageError` when the agent can't be run on it: it drives its browser itself, or was to see something else.
        """
        config = self._config
        definition = config.agent_of(agent, task) if config.agent_of is not None else self._named(agent)
        if definition.self_driving:
            raise UsageError(
                f"--replay-run: expected an agent that is asked for its next action, found {agent}, which drives a "
                "browser itself: there is none"
            )
        self._run.describe(self._info.facts)
        if (definition.id, definition.digest) not in self._ready:
            definition.reach(config.options.models)
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
        whose = self._of or recorded_agent(self._source, task=task.id, agents=(definition.id,))
        recorded = find_recording(self._source, task=task.id, agent=whose, trial=trial)
        self._require_same_sight(definition, recorded.folder, whose)
        plan = replace(plan, asker=self._judge.session(plan.key.folder))
        folder = self._run.folder(plan.key)
        writer = folder.begin(worker=plan.worker, node_id=node_id, task=plan.facts())
        record = _Following(plan, recorded, whose, self._source).play(writer)
        attempt = Attempt(
            number=writer.number, outcome=record.outcome, cause=record.cause, message=record.message,
            started=record.started, seconds=record.seconds.get("total", 0.0), usage=record.usage,
        )  # fmt: skip
        record = replace(record, attempt=writer.number, attempts=(attempt,))
        return folder.finish(TrialRecord.from_json(scrub_plain(record.to_json())), since=plan.since)

    def folder(self, record: TrialRecord) -> Path:
        """Where the files of a trial are."""
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord) -> None:
        """Nothing: where an agent left its record is worth looking at."""

    def _named(self, agent: str) -> AgentDefinition:
        return resolve_agent(agent, self._config.agent_directories, self._config.overrides)

    def _require_same_sight(self, agent: AgentDefinition, attempt: Path, whose: str) -> None:
        """`UsageError` when the recording shows pages otherwise than the agent is to see them."""
        before = RunDir(self._source)
        record = next((each for each in before.records() if before.folder(each.key).path == attempt.parent), None)
        told: object = (record.environment if record is not None else {}).get("observation")
        if not isinstance(told, Mapping):
            return  # a task without pages, or a record of before they told
        mine = observed_as(agent.observation, self._config.session.observation).to_plain()
        for name in sorted(mine, key=lambda each: (each in _SEEN_OTHERWISE, each)):
            if name in told and mine[name] != told[name]:
                raise UsageError(
                    f"--replay-run: expected {agent.id} to see pages as {whose} did, whose trial is recorded: "
                    f"observation.{name} is {mine[name]!r} and was {told[name]!r}; choose another recording "
                    "(--replay-of), or set it in the agent's definition"
                )


@dataclass(slots=True)
class _Recorder:
    """Writes down what the agent does on the record."""

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
    """One agent on one recording."""

    def __init__(self, plan: TrialPlan, recorded: Recording, whose: str, source: Path) -> None:
        self._plan = plan
        self._recorded = recorded
        self._whose = whose
        self._source = source

    def play(self, writer: AttemptWriter) -> TrialRecord:
        plan, started = self._plan, time.time()
        session = RecordedSession(self._recorded.folder, self._recorded.steps)
        recorder = _Recorder(writer, [])
        facts: dict[str, Any] = {}
        evidence: Evidence | None = None
        try:
            evidence = read_evidence(self._recorded.folder)
            scene = RecordedScene(
                session=session, sites=evidence.sites, start=self._start(session), images=_images(self._recorded.folder)
            )
            try:
                episode = run_agent(plan, scene, recorder, writer, None, None)
            except LeftRecord as left:
                decided = Decided("failed", None, str(left))
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
        except Exception as error:  # a bug of ours must not look like an agent's doing
            decided = Decided("error", "harness", str(HarnessError(f"unexpected {type(error).__name__}: {error}")))
            with suppress(RecordingError):
                writer.note_traceback(error)
        told = {
            "run": str(self._source), "agent": self._whose, "steps": len(self._recorded.steps),
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
            environment={**session.environment, "on_record": told},
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
        """The agent stopped, or was stopped. Where it did all that was done, what came of it is what came of that:
        its answer alone is its own, and the checks are asked about both."""
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
            "score": verdict.score,
            "verdict": verdict.to_json(),
            "grading": name,
            "verdicts": {each: its.to_json() for each, its in verdicts.items()},
        }

    def _stopped_elsewhere(self, session: RecordedSession) -> str | None:
        """Why stopping now is none of what was done; None where the recording stops here, too."""
        rest = [step for step in self._recorded.steps[session.followed :] if step.action.get("kind") != "stop"]
        if not rest:
            return None
        return (
            f"left the record at step {session.followed + 1} of {len(self._recorded.steps)}, at {session.address}: it "
            f"stopped, where {len(rest)} more steps are recorded"
        )


def _images(attempt: Path) -> tuple[InputImage, ...]:
    """The pictures that belonged to the intent."""
    files = sorted((attempt / INPUTS).glob("*"), key=lambda file: file.stem.zfill(4))
    kinds = {"png": "image/png", "jpg": "image/jpeg", "gif": "image/gif", "webp": "image/webp"}
    return tuple(
        InputImage(name=file.name, media_type=kinds.get(file.suffix[1:], "image/png"), data=file.read_bytes())
        for file in files
    )
