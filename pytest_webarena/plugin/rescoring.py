"""``pytest --rescore``: the run to judge again, its original settings, and the items of its trials."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.agents.registry import agent_id
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.results import RunDir
from pytest_webarena.results.conditions import RESCORED, add_note, browsers_of, check_on_sites, latest_judging
from pytest_webarena.results.plan import read_plan
from pytest_webarena.results.run_identity import IMPORTED
from pytest_webarena.suites.published import SUITES

if TYPE_CHECKING:
    from pytest_webarena.llm_judge.config import JudgeSettings
    from pytest_webarena.plugin.settings import Settings

__all__ = ["StoredRun", "agent_ids", "files_of", "name_files", "note", "read_stored_run", "stored_trials"]

_NAMED = "webarena_rescored_files"
_ALONE = ("--run-dir", "--resume", "--audit", "--shard")


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """A finished run's settings, as far as it recorded them. The command line takes precedence."""

    path: Path
    agents: tuple[str, ...]
    """The names given to ``--agent``, which node ids contain."""
    trials: int
    browsers: tuple[str, ...]
    catalogue: str
    grading: str
    without: tuple[str, ...]
    """Repairs that were disabled."""
    judge: Mapping[str, Any] | None
    """The output of `llm_judge.judge_facts`. Grading and judge are those of the latest judging."""

    def judged_by(self, settings: JudgeSettings, *, none: bool) -> JudgeSettings:
        """Return the judge to ask: the requested one, else the run's own, whose verdicts are in its cache."""
        if settings.model or none or self.judge is None:
            return settings
        place = self.judge.get("at", {})
        return replace(
            settings,
            model=self.judge["model"],
            prompt=self.judge.get("prompt_file", settings.prompt),
            temperature=self.judge["temperature"],
            endpoint=Endpoint(base_url=place.get("base_url", ""), key_env=place.get("key_env", "OPENAI_API_KEY")),
        )


def read_stored_run(config: pytest.Config) -> StoredRun | None:
    """Return the run of ``--rescore``; None without the option. Raises `UsageError` when it can't be judged again."""
    name = config.getoption("--rescore")
    if not name:
        return None
    for other in _ALONE:
        if config.getoption(other):
            raise UsageError(f"--rescore: expected no {other}; the named run is judged again in its place")
    path = Path(name).absolute()
    facts = RunDir(path).facts()
    check_on_sites(path, facts)
    parts: list[Mapping[str, Any]] = [facts, *facts.get("merged", ())]
    if any(part.get("audit") for part in parts):
        raise UsageError(f"--rescore: expected a run of agents, found an audit in {path}; run the audit again")
    latest = {**facts, **latest_judging(path)}
    grading = latest.get("grading") or {}
    return StoredRun(
        path=path,
        agents=tuple(dict.fromkeys(agent for part in parts for agent in part.get("agents", ()))),
        trials=max(int(part.get("trials", 1)) for part in parts),
        browsers=tuple(dict.fromkeys(browser for part in parts for browser in browsers_of(part))),
        catalogue=facts.get("catalogue", ""),
        grading=grading.get("name", ""),
        without=tuple(grading.get("without", ())),
        judge=None if facts.get(IMPORTED) else latest.get("judge"),  # its address must not get a key of this machine
    )


def note(run: RunDir, settings: Settings, argv: Sequence[str]) -> None:
    """Store next to ``run.json`` how the run was judged again, as the defaults for the next time."""
    from pytest_webarena.llm_judge.judge_eligibility import judge_facts  # only for --rescore

    grading = {"name": settings.options.grading.name, "without": list(settings.options.grading.left_out)}
    entry = {"at": round(time.time(), 3), "argv": list(argv), "grading": grading, "judge": judge_facts(settings.judge)}
    add_note(run.path / RESCORED, entry)


def agent_ids(settings: Settings) -> dict[str, str]:
    """Return each agent's id in records, by its name. Agents are not resolved, because they need not exist any more."""
    return {name: agent_id(name) for name in settings.agents}


def name_files(config: pytest.Config, run: RunDir) -> None:
    """Collect the files and suites of the run's own trials, when the command line names none."""
    named: list[str] | None = getattr(config.option, _NAMED, None)  # in a worker: the controller's result
    if named is None and config.args_source is not pytest.Config.ArgsSource.ARGS and not config.getoption("--suite"):
        named = files_of(run, config.rootpath, config.invocation_params.dir)
        setattr(config.option, _NAMED, named)
    if named:
        config.args = list(named)
        config.args_source = pytest.Config.ArgsSource.ARGS


def files_of(run: RunDir, *roots: Path, planned: bool = False) -> list[str]:
    """Return the existing task files of a run's trials, and its published suites.

    With ``planned``, those of trials that were never started are included.
    """
    trials = (*run.records(), *(read_plan(run.path).values() if planned else ()))
    names = dict.fromkeys(trial.node_id.partition("::")[0] for trial in trials)
    found = (next((root / name for root in roots if (root / name).is_file()), None) for name in names if name)
    return sorted({*(name for name in names if name in SUITES), *(str(file) for file in found if file is not None)})


def stored_trials(items: Iterable[pytest.Item], run: RunDir) -> tuple[list[TaskItem], list[pytest.Item], int]:
    """Return items whose trial has a record, the other items, and the number of records without an item."""
    kept: list[TaskItem] = []
    others: list[pytest.Item] = []
    folders = {path.name for path in run.trials.glob("*") if (path / "trial.json").is_file()}
    found: set[str] = set()
    for item in items:
        if isinstance(item, TaskItem):
            name = run.folder(item.key).path.name
            if name in folders:
                kept.append(item)
                found.add(name)
                continue
        others.append(item)
    return kept, others, len(folders - found)
