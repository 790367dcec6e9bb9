"""Baselines: a run's figures in a small file that can be committed and compared with later runs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.evidence.usage import is_count, is_money
from pytest_webarena.results.comparing.sides import Side, SideTask, Trait, Try, sides_of
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.records import JudgeErrors, Outcome

__all__ = ["BASELINE_VERSION", "read_baseline", "save_baseline", "sides_at"]

BASELINE_VERSION = 3
"""Version of the file; 2 marks undecided trials; 3 has stopped trials, and no errors that count as not passed."""
_KIND = "pytest-webarena baseline"
_LETTERS: Mapping[Outcome, str] = {"passed": "p", "failed": "f", "error": "e"}
_OUTCOMES: Mapping[str, Outcome] = {letter: outcome for outcome, letter in _LETTERS.items()}
_SHORT = "es"
"""Before version 3, an error that a gate counted as not passed: undecided since then."""
_JUDGED = "j"
_UNDECIDED = "u"


class _DamagedBaseline(Exception):
    """A damaged baseline; ``str()`` says what is wrong."""


def sides_at(path: Path, *, label: str = "") -> list[Side]:
    """Return the sides of a run directory or of a baseline's file. Raises `UsageError` when ``path`` is neither."""
    return read_baseline(path, label=label) if path.is_file() else sides_of(path, label=label)


def save_baseline(sides: Sequence[Side], target: Path) -> int:
    """Write the figures of ``sides``, one task per line so that diffs are readable; return the size in bytes."""
    lines = []
    for side in sides:
        tasks = ",\n".join(json.dumps(_task(side.tasks[name]), ensure_ascii=False) for name in sorted(side.tasks))
        # Tasks have digests of their own, and the addresses of private sites must not be published.
        traits = [each for each in side.traits if not each[0].startswith(("digest of the task ", "site_urls"))]
        head: dict[str, Any] = {
            "name": side.name,
            "agent": side.agent,
            "browser": side.browser,
            "run": side.run,
            "traits": traits,
        }
        if side.missing:
            head["missing"] = dict(side.missing)
        if side.stopped:
            head["stopped"] = dict(side.stopped)
        if side.looked:
            head["looked"] = True
        if side.judge_errors is not None:
            head["judge_errors"] = asdict(side.judge_errors)
        lines.append(f'{json.dumps(head, ensure_ascii=False)[:-1]}, "tasks": [\n{tasks}\n]}}')
    text = f'{{"kind": "{_KIND}", "version": {BASELINE_VERSION}, "sides": [\n' + ",\n".join(lines) + "\n]}\n"
    target.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(target, text)
    return len(text.encode())


def _task(task: SideTask) -> dict[str, Any]:
    known: dict[str, Any] = {
        "task": task.task,
        "cluster": task.cluster,
        "digest": task.digest,
        "sites": list(task.sites),
        "category": task.category,
        "tags": list(task.tags),
        **({"node": task.node} if task.node else {}),
        "outcomes": " ".join(
            f"{each.trial}{_LETTERS[each.outcome]}{_JUDGED * each.judge}{_UNDECIDED * each.undecided}"
            for each in task.tries
        ),
        "cost": [round(each.cost, 6) if each.cost is not None else None for each in task.tries],
        "saved": [round(each.saved, 6) for each in task.tries],
        "tokens": [each.tokens for each in task.tries],
        "steps": [each.steps for each in task.tries],
        "seconds": [round(each.seconds, 1) for each in task.tries],
    }
    if all(value is None for value in known["cost"]):
        del known["cost"]
    if not any(known["saved"]):
        del known["saved"]
    if all(value is None for value in known["tokens"]):
        del known["tokens"]
    return {name: value for name, value in known.items() if value not in ("", [])}


def read_baseline(path: Path, *, label: str = "") -> list[Side]:
    """Read a file of `save_baseline`. Raises `UsageError` for a file that can't be read."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: expected a run directory or a baseline, found none: {error.strerror}") from None
    except ValueError as error:
        raise UsageError(f"{path}: expected a baseline, found a file that is no JSON: {error}") from None
    if not isinstance(data, dict) or data.get("kind") != _KIND:
        raise UsageError(
            f"{path}: expected a baseline, as 'webarena compare baseline save' writes it, found other JSON"
        )
    if not isinstance(data.get("version"), int) or data["version"] > BASELINE_VERSION:
        raise UsageError(
            f"{path}: expected a baseline of version {BASELINE_VERSION} or older, found {data.get('version')!r}; "
            "a newer pytest-webarena wrote it"
        )
    try:
        sides = [_side(each, label or path.name) for each in data["sides"]]
    except _DamagedBaseline as damage:
        raise UsageError(f"{path}: found a baseline that is damaged: {damage}; save it again") from None
    except KeyError as error:
        raise UsageError(
            f"{path}: expected a baseline, found one that is damaged: {error} is missing or unknown; save it again"
        ) from None
    except (TypeError, ValueError, AttributeError, IndexError):
        raise UsageError(
            f"{path}: expected a baseline, found one that is damaged: a field is not of its form; save it again"
        ) from None
    if not sides:
        raise UsageError(f"{path}: expected a baseline with an agent, found none")
    return sides


def _side(data: Mapping[str, Any], run: str) -> Side:
    tasks = [_read_task(each) for each in data["tasks"]]
    traits: list[Trait] = [(str(what), str(value), bool(matters)) for what, value, matters in data["traits"]]
    return Side(
        name=str(data["name"]),
        agent=str(data["agent"]),
        browser=str(data["browser"]),
        run=run,
        tasks={task.task: task for task in tasks},
        traits=tuple(traits),
        order=tuple(task.task for task in tasks),
        missing={str(task): int(count) for task, count in data.get("missing", {}).items()},
        stopped={str(task): int(count) for task, count in data.get("stopped", {}).items()},
        looked=bool(data.get("looked")),
        judge_errors=JudgeErrors(**found) if (found := data.get("judge_errors")) else None,
    )


def _read_task(data: Mapping[str, Any]) -> SideTask:
    codes = [each.replace(_SHORT, "fu") for each in data["outcomes"].split()]
    nothing = [None] * len(codes)
    for name in ("cost", "saved", "tokens", "steps", "seconds"):
        _check_amounts(name, data.get(name, []), data["task"], of=len(codes))
    tries = [
        Try(
            trial=int(each.rstrip("pfeju")),
            outcome=_OUTCOMES[each.lstrip("0123456789")[0]],
            judge=_JUDGED in each,
            undecided=_UNDECIDED in each,
            cost=cost,
            saved=saved,
            tokens=tokens,
            steps=steps,
            seconds=seconds,
        )
        for each, cost, saved, tokens, steps, seconds in zip(
            codes,
            data.get("cost", nothing),
            data.get("saved", [0.0] * len(codes)),
            data.get("tokens", nothing),
            data["steps"],
            data["seconds"],
            strict=True,
        )
    ]
    return SideTask(
        task=str(data["task"]),
        cluster=str(data["cluster"]),
        digest=str(data.get("digest", "")),
        sites=tuple(data.get("sites", ())),
        category=str(data.get("category", "")),
        tags=tuple(data.get("tags", ())),
        node=str(data.get("node", "")),
        tries=tuple(tries),
    )


def _check_amounts(name: str, values: object, task: object, *, of: int) -> None:
    """Raise `_DamagedBaseline` unless ``values`` has an amount from 0 for each trial, or is empty."""
    if not isinstance(values, list) or (values and len(values) != of):
        raise _DamagedBaseline(
            f"expected {name!r} of task {task!r} to list {of} amounts, one per trial; found {values!r:.80}"
        )
    for value in values:
        unknown = value is None and name in ("cost", "tokens")
        if not unknown and not (is_count(value) if name in ("tokens", "steps") else is_money(value)):
            raise _DamagedBaseline(
                f"expected {name!r} of task {task!r} to hold amounts from 0 to 10**15, found {value!r:.80}"
            )
