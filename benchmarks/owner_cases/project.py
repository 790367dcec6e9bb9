"""A project whose trials end in events: pytest and ``webarena`` run there as users run them, with injected faults."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.agents import resolve_agent
from pytest_webarena.commands.cli import main as webarena
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.tasks import Task
from pytest_webarena.testing import ScriptedAgent
from pytest_webarena.trials.plan import TrialPlan
from pytest_webarena.trials.trial import run_trial
from tests.unit.trials.owner_events import ATTACKS, SCENARIOS, Result, launched_by
from tests.unit.trials.owner_events import run as run_scenario
from tests.unit.trials.test_fault_attribution import HalfDownSite

STEADY, TEMPTED = "steady", "tempted"

CONFTEST = """
import pytest
from owner_cases.project import FaultyRuntime

@pytest.fixture
def webarena_runtime(webarena_run, webarena_config):
    return FaultyRuntime(webarena_run, webarena_config)
"""
OPTIONS = (
    "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:hypothesispytest", "-p", "no:anyio", "-p", "no:faker",
    "-p", "no:timeout", "-p", "no:html", "-p", "no:html_fixtures", "-p", "no:metadata", "--assert=plain", "--tb=no",
    "--check-timeout=0",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Fate:
    """How one trial ends. Later attempts and later runs of it pass, so that a wrongly repeated trial is seen."""

    event: str = ""
    """Event or attack; empty: the answer decides."""
    result: Result = None
    answer: str = "42"


PASSES, FAILS = Fate(), Fate(answer="41")
DIES, LOSES_WORKER = Fate(event="its agent ends the process"), Fate(event="the process ends")
"""Fates of trials whose process ends while the agent runs, which its code could do, or could not."""


class _Killed(BaseException):
    """The end of a process; the trial leaves no record."""


def _die(*trial: object) -> None:
    raise _Killed


Trial = tuple[str, str, int]
"""Agent, task, number."""
_fates: dict[Trial, Fate | tuple[Fate, ...]] = {}
_begun: list[Trial] = []


def once(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``make`` for the first attempt; agents of later ones answer rightly."""
    made: list[object] = []

    def agent(assignment: Any) -> Any:
        made.append(assignment)
        return make(assignment) if len(made) == 1 else ScriptedAgent(Stop("42"))

    return agent


class FaultyRuntime:
    """Runs each trial of the project with its fate, like a worker's `Runtime`."""

    def __init__(self, info: Any, config: Any) -> None:
        self._info, self._config, self._run = info, config, RunDir(info.run_dir)

    def run(self, task: Task, agent: str, trial: int, *, browser: str, node_id: str) -> TrialRecord:
        definition = resolve_agent(agent, self._config.agent_directories, self._config.overrides)
        key = (definition.id, task.id, trial)
        given = _fates.get(key, PASSES)
        order = given if isinstance(given, tuple) else (given,)
        fate = order[number] if (number := _begun.count(key)) < len(order) else PASSES
        _begun.append(key)
        self._run.describe(self._info.facts)

        def launch(plan: TrialPlan, resources: Any) -> TrialRecord:
            known = {"id": definition.id, "digest": definition.digest, "make": once(plan.agent.make)}
            own = replace(
                plan, task=replace(plan.task, id=task.id, digest=task.digest, template=task.template), trial=trial,
                agent=replace(plan.agent, **known), node_id=node_id, worker=self._config.worker,
                options=replace(self._config.options, grading=plan.options.grading),
                since=self._info.facts["started"],
            )  # fmt: skip
            return run_trial(own, resources, self._run.folder(own.key))

        with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch, launched_by(launch):
            if fate in (DIES, LOSES_WORKER):
                patch.setattr("pytest_webarena.trials.trial.run_agent", _die)
                return run_scenario(Path(folder), HalfDownSite(), kind="python" if fate == DIES else "model")
            if fate.event:
                return {**SCENARIOS, **ATTACKS}[fate.event](Path(folder), patch, fate.result)
            agent_of = lambda assignment: ScriptedAgent(Stop(fate.answer))  # noqa: E731
            return run_scenario(Path(folder), HalfDownSite(), make=agent_of)

    def folder(self, record: TrialRecord) -> Path:
        return self._run.folder(record.key).path

    def prune(self, record: TrialRecord) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Output:
    """What a command printed."""

    code: int
    text: str

    @property
    def lines(self) -> list[str]:
        """The lines without colours and with single spaces."""
        return [" ".join(line.split()) for line in self.text.splitlines()]


@dataclass(frozen=True)
class Project:
    """A folder with task files and two agents."""

    path: Path

    def pytest(self, *arguments: str, fates: Mapping[Trial, Fate | tuple[Fate, ...]] | None = None) -> Output:
        """Run pytest in this process. ``fates`` replaces those of earlier runs, and may have one for each time that a
        trial runs; None: each trial passes."""
        _fates.clear()
        _begun.clear()
        _fates.update(fates or {})
        (self.path / "summary.md").unlink(missing_ok=True)
        agents = [] if any(each.startswith(("--resume", "--rescore")) for each in arguments) else [
            f"--agent={STEADY}.yaml", f"--agent={TEMPTED}.yaml",
        ]  # fmt: skip
        return self._run(lambda: int(pytest.main([*OPTIONS, *agents, *arguments])))

    def webarena(self, *arguments: str) -> Output:
        """Run the command ``webarena`` in this process."""
        return self._run(lambda: webarena(list(arguments)))

    def _run(self, command: Any) -> Output:
        printed = io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(printed), redirect_stderr(printed):
            patch.chdir(self.path)
            patch.setenv("COLUMNS", "200")
            patch.setenv("PY_COLORS", "0")
            patch.setenv("GITHUB_ACTIONS", "true")
            patch.setenv("GITHUB_STEP_SUMMARY", str(self.path / "summary.md"))
            for name in ("PYTEST_ADDOPTS", "PYTEST_CURRENT_TEST", "CI"):
                patch.delenv(name, raising=False)
            try:
                code = command()
            except SystemExit as ended:
                code = int(ended.code or 0)
        return Output(code=code, text=printed.getvalue())

    @property
    def begun(self) -> list[Trial]:
        """The trials that the last run of pytest began, in order."""
        return list(_begun)

    def records(self, run: str) -> dict[Trial, TrialRecord]:
        """The records of a run."""
        return {(each.key.agent, each.key.task, each.key.trial): each for each in RunDir(self.path / run).records()}


@contextmanager
def project(tasks: Sequence[str]) -> Iterator[Project]:
    """A project with ``tasks``, each with its own template."""
    with tempfile.TemporaryDirectory(prefix="owners-") as folder:
        path = Path(folder)
        (path / "conftest.py").write_text(CONFTEST)
        (path / "pytest.ini").write_text("[pytest]\n")
        (path / "owner_agent.py").write_text(
            "class Agent:\n    def act(self, observation):\n        return 'stop [42]'\n"
        )
        for name in (STEADY, TEMPTED):
            (path / f"{name}.yaml").write_text("python: owner_agent.py:Agent\n")
        lines = "".join(
            f"  - {{id: {task}, sites: [], intent: 'How many in {task}?', checks: [{{answer: {{number: 42}}}}], "
            "solution: [{stop: '42'}]}\n"
            for task in tasks
        )
        (path / "a.tasks.yaml").write_text(f"tasks:\n{lines}")
        yield Project(path)
