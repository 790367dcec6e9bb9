"""Deselection of trials: finished ones (``--resume``) and those of other shards (``--shard``)."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.plugin import replay_run
from pytest_webarena.plugin.items import TaskItem
from pytest_webarena.plugin.rescoring import stored_trials
from pytest_webarena.plugin.run_start import run_info
from pytest_webarena.plugin.shards import Shard
from pytest_webarena.plugin.stash import LEFT_OUT, SETTINGS
from pytest_webarena.results import RunDir, TrialKey

if TYPE_CHECKING:
    import pytest

    from pytest_webarena.plugin.items import TaskItem

__all__ = ["FACTS", "Digests", "LeftOut", "check_mark_expression", "deselect", "left_out"]


FACTS = ("site", "evaluation", "category", "template", "mutates", "achievable", "suite", "sites", "user")
"""Keywords of the mark ``webarena``: of tasks, and of Python tests."""


class Digests(NamedTuple):
    """Digests that must be equal for a recorded trial to count as the current one."""

    task: str
    agent: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """Numbers of collected trials that this invocation does not run, by reason."""

    other_shards: int = 0
    """Number of trials of other shards."""
    finished: int = 0
    """Number of trials that an earlier invocation finished."""
    may_fail: tuple[str, ...] = ()
    """Node ids of the finished trials that are marked ``xfail``."""
    unrecorded: int = 0
    """Number of items without a record in the run that is judged again."""
    stored: int = 0
    """Number of the run's records without a collected item."""


def check_mark_expression(config: pytest.Config, items: Iterable[pytest.Item]) -> None:
    """Raise `UsageError` if ``-m`` selected no item and asks for a fact that the marks of tasks lack.

    Marks of Python tests may have other facts, so nothing is said while an item is selected.
    """
    try:
        expression = ast.parse(config.getoption("markexpr").strip() or "None", mode="eval")
    except SyntaxError:  # its names are no names of Python; pytest reports other errors
        return
    for call in ast.walk(expression) if not any(True for _ in items) else ():
        if not isinstance(call, ast.Call) or ast.unparse(call.func) != "webarena":
            continue
        if wrong := [keyword.arg or "" for keyword in call.keywords if keyword.arg not in FACTS]:
            raise UsageError(
                f"-m: expected a fact of the mark webarena, found {wrong[0]!r}; {closest(wrong[0], FACTS)}; "
                "-k selects by tags and ids"
            )


def deselect(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Remove other shards' and finished trials from ``items``. All processes of a run compute the same list."""
    from pytest_webarena.agents import resolve_agent

    settings = config.stash[SETTINGS]
    if settings.rescore is not None:
        kept, others, stored = stored_trials(items, RunDir(settings.rescore))
        config.stash[LEFT_OUT] = LeftOut(unrecorded=len(others), stored=stored)
        config.hook.pytest_deselected(items=others)
        items[:] = kept
        return
    if settings.on_record is not None:
        unrecorded = replay_run.unrecorded(items, settings.on_record)
        config.stash[LEFT_OUT] = LeftOut(unrecorded=len(unrecorded))
        config.hook.pytest_deselected(items=unrecorded)
        removed = set(map(id, unrecorded))
        items[:] = [item for item in items if id(item) not in removed]
    finished = run_info(config).finished if settings.resume is not None else ()
    if settings.shard is None and not finished:
        return
    definitions = {
        name: resolve_agent(name, settings.agent_directories, settings.overrides) for name in settings.agents
    }
    other_shards, done = left_out(
        [item for item in items if isinstance(item, TaskItem)],
        shard=settings.shard,
        finished={
            TrialKey(task, agent, trial, browser): Digests(digest, other)
            for task, agent, trial, browser, digest, other in finished
        },
        agent_digests={name: definition.digest for name, definition in definitions.items()},
    )
    config.stash[LEFT_OUT] = LeftOut(
        other_shards=len(other_shards),
        finished=len(done),
        may_fail=tuple(item.nodeid for item in done if item.get_closest_marker("xfail") is not None),
    )
    if other_shards or done:
        config.hook.pytest_deselected(items=[*other_shards, *done])
        removed = set(map(id, (*other_shards, *done)))
        items[:] = [item for item in items if id(item) not in removed]


def left_out(
    items: Iterable[TaskItem],
    *,
    shard: Shard | None,
    finished: Mapping[TrialKey, Digests],
    agent_digests: Mapping[str, str],
) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """Return items of other shards, and items whose trial is finished with the same digests.

    ``agent_digests`` maps the name given to ``--agent`` to the agent's digest.
    """
    other_shards: list[pytest.Item] = []
    done: list[pytest.Item] = []
    for item in items:
        if shard is not None and not shard.holds(item.task.id):
            other_shards.append(item)
        elif finished.get(item.key) == Digests(item.task.digest, agent_digests[item.agent_name]):
            done.append(item)
    return other_shards, done
