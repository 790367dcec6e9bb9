"""Agents of kind ``replay``: repeat a recorded trial, recover its targets, and report where it diverged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.actions import ByScript
from pytest_webarena.agents.divergence import verdict_text
from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.protocol import AgentDefinition, Assignment
from pytest_webarena.agents.recording import Recording, find_recording
from pytest_webarena.agents.replay_agent import ANSWERS, FILE, ReplayAgent, WaitForContent
from pytest_webarena.errors import AgentError, UsageError

if TYPE_CHECKING:
    from pytest_webarena.browser.config import DialogPolicy
    from pytest_webarena.checks.verdict import Verdict
    from pytest_webarena.tasks.model import Task

__all__ = ["KIND", "ReplayKeys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayKeys:
    """Keys of a definition of kind ``replay``."""

    run: str = ""
    """Run directory with the recorded trial, relative to the current directory or to the definition."""
    agent: str = ""
    """The agent whose trial is replayed; optional if only one agent tried the task."""


def _build(common: Common, keys: ReplayKeys) -> AgentDefinition:
    run = Path(keys.run) if keys.run and Path(keys.run).is_dir() else common.base / keys.run

    def check(settings: object) -> None:
        if not keys.run or not (run / "trials").is_dir():
            raise UsageError(
                f"{common.where}: run: expected a run directory, found {keys.run or 'none'}; "
                "set it with --agent-option run=DIR"
            )

    @lru_cache(maxsize=4)  # called several times per trial, and each call reads all trials of the run
    def recording_of(task: str, trial: int) -> Recording:
        return find_recording(run, task=task, agent=keys.agent, trial=trial)

    def make(assignment: Assignment) -> ReplayAgent:
        return ReplayAgent(recording_of(assignment.task.id, assignment.trial), assignment.folder)

    def viewport(task: Task, trial: int) -> tuple[int, int] | None:
        """Return the recorded viewport: it decides which targets are visible, and points are relative to it."""
        return recording_of(task.id, trial).viewport

    def observes_scripts(task: Task, trial: int) -> bool:
        """Return whether checks get script events, which they do in sessions that an agent drove itself."""
        return recording_of(task.id, trial).self_driven

    def dialogs(task: Task, trial: int) -> DialogPolicy | None:
        """Return ``hold`` if the recording answers dialogs, or its agent had to answer them with its own client."""
        recording = recording_of(task.id, trial)
        answers = {step.action.get("kind") for step in recording.steps} & ANSWERS
        return "hold" if answers or recording.self_driven else None

    def judged(task: Task, trial: int, folder: Path, outcome: str, verdict: Verdict) -> str:
        """Log whether the replay reached the recorded verdict and where it first diverged; return this text if it
        differs, for the report."""
        try:
            recording = find_recording(run, task=task.id, agent=keys.agent, trial=trial)
        except AgentError:  # the recording was deleted during the replay
            return ""
        text, differs = verdict_text(recording, folder, outcome, verdict)
        with (folder / FILE).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
        return text if differs else ""

    recorded = sorted((run / "trials").glob("*/attempt-*/steps.jsonl")) if keys.run else []
    files = [run / "run.json", *recorded] if keys.run and (run / "run.json").is_file() else []
    return common.definition(
        make,
        files=files,
        viewport_of=viewport,
        observes_scripts=observes_scripts,
        is_uncounted=lambda action: isinstance(action, ByScript | WaitForContent),
        dialogs=dialogs,
        check=check,
        on_verdict=judged,
        asks_models=False,
        raises=(AgentError,),
    )


KIND = AgentKind(
    name="replay",
    about="repeats a recorded trial and reports where it diverged",
    keys=ReplayKeys,
    build=_build,
    remembers=False,
)
