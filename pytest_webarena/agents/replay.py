"""Agents of kind ``replay``: repeat a recorded trial, find its targets again, and say where it diverged."""

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
from pytest_webarena.agents.replay_agent import ANSWERS, FILE, LookAgain, ReplayAgent
from pytest_webarena.errors import AgentError, UsageError

if TYPE_CHECKING:
    from pytest_webarena.browser.config import DialogPolicy
    from pytest_webarena.checks.verdict import Verdict
    from pytest_webarena.tasks.model import Task

__all__ = ["KIND", "ReplayKeys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayKeys:
    """Keys of kind ``replay``."""

    run: str = ""
    """Run directory with the recorded trial, relative to the current directory or to the definition."""
    agent: str = ""
    """Whose trial; may be left out where only one agent tried the task."""


def _build(common: Common, keys: ReplayKeys) -> AgentDefinition:
    run = Path(keys.run) if keys.run and Path(keys.run).is_dir() else common.base / keys.run

    def check(settings: object) -> None:
        if not keys.run or not (run / "trials").is_dir():
            raise UsageError(
                f"{common.where}: run: expected a run directory, found {keys.run or 'none'}; "
                "give it with --agent-option run=DIR"
            )

    @lru_cache(maxsize=4)  # it is asked for several times in a row, and each time all of the run's trials are read
    def found(task: str, trial: int) -> Recording:
        return find_recording(run, task=task, agent=keys.agent, trial=trial)

    def make(assignment: Assignment) -> ReplayAgent:
        return ReplayAgent(found(assignment.task.id, assignment.trial), assignment.folder)

    def viewport(task: Task, trial: int) -> tuple[int, int] | None:
        """What was in sight is what targets were told apart by, and points count from its corner."""
        return found(task.id, trial).viewport

    def hears_scripts(task: Task, trial: int) -> bool:
        """As the session did in which an agent drove the browser itself: checks hear of the same then."""
        return found(task.id, trial).self_driven

    def dialogs(task: Task, trial: int) -> DialogPolicy | None:
        """Open until they are answered where an answer was recorded, or an agent with a client of its own had to."""
        recording = found(task.id, trial)
        answers = {step.action.get("kind") for step in recording.steps} & ANSWERS
        return "hold" if answers or recording.self_driven else None

    def judged(task: Task, trial: int, folder: Path, outcome: str, verdict: Verdict) -> str:
        """Whether the replay came to the recorded verdict, and if not, where it went another way first."""
        try:
            recording = find_recording(run, task=task.id, agent=keys.agent, trial=trial)
        except AgentError:  # it was there when the replay began; without it there is nothing to compare with
            return ""
        said, otherwise = verdict_text(recording, folder, outcome, verdict)
        with (folder / FILE).open("a", encoding="utf-8") as file:
            file.write(f"{said}\n")
        return said if otherwise else ""

    recorded = sorted((run / "trials").glob("*/attempt-*/steps.jsonl")) if keys.run else []
    files = [run / "run.json", *recorded] if keys.run and (run / "run.json").is_file() else []
    return common.definition(
        make,
        files=files,
        viewport_of=viewport,
        hears_scripts=hears_scripts,
        uncounted=lambda action: isinstance(action, ByScript | LookAgain),
        dialogs=dialogs,
        check=check,
        judged=judged,
        asks_models=False,
        raises=(AgentError,),
    )


KIND = AgentKind(
    name="replay",
    about="repeats a recorded trial and says where it diverged",
    keys=ReplayKeys,
    build=_build,
    remembers=False,
)
