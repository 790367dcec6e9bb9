"""The README of an exported run: its rates, how they came about, and how to check them."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pytest_webarena.docs_site import docs
from pytest_webarena.results.conditions import invocations
from pytest_webarena.results.plan import read_plan
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.stored_records import Stored
from pytest_webarena.results.table_forms import as_markdown
from pytest_webarena.results.tables import Row, tables

__all__ = ["began_at", "readme", "suites_of"]

_CONDITIONS = {
    "agents": "agents",
    "models": "models",
    "suites": "suites",
    "catalogue": "sites",
    "site_urls": "addresses of sites",
    "allow_unreset": "without reset",
    "limits": "limits",
    "trials": "trials per task",
    "grading": "grading",
    "judge": "judge",
    "answer_format": "form of answers",
    "env_retries": "retries after errors",
    "workers": "workers",
    "versions": "versions",
    "python": "Python",
    "platform": "platform",
}
"""Facts of an invocation that a reader needs, and what they are called here."""


def readme(run: RunDir, rows: Sequence[Row], stored: Stored, *, has_tasks: bool, leaderboards: bool) -> str:
    """Return Markdown about a run that is exported; equal for equal records."""
    facts = run.facts()
    parts = invocations(run.path, facts)
    began = began_at(parts)
    known = {record.key for record in stored.records}
    tests = [*(["checked/tasks"] if has_tasks else []), *(f"--suite={shlex.quote(name)}" for name in suites_of(parts))]
    missing = sum(key not in known for key in read_plan(run.path))
    lines = [
        f"# Run {facts['id']}",
        "",
        f"Began on {began:%Y-%m-%d at %H:%M} UTC. {len(known)} finished trials"
        + (f"; {missing} planned ones have no result." if missing else "."),
        *(f"- Changed after the run, {mark}" for mark in _marks(stored)),
        "",
        as_markdown(tables(rows)),
        "",
        "## Commands",
        "",
        "```console",
        *(f"$ pytest {shlex.join(map(str, part.get('argv', ())))}" for part in parts),
        "```",
        "",
        "## Conditions",
        "",
        *_conditions(parts),
        "",
        "## How to check it",
        "",
        "Offline, with the version of pytest-webarena that is named above:",
        "",
        "```console",
        "$ webarena runs import FILE -o checked    # digests, and that all else fits the records",
        "$ webarena runs verify checked    # each trial's files, and trials that are missing",
        f"$ pytest --rescore=checked {' '.join(tests) or 'TASKS'}    # judge the recorded evidence again",
        "```",
        "",
        "Read task files with `python` checks first: they are code. Digests show damage and edits; nothing proves that",
        "a trial took place as recorded.",
        f"More: {docs('results', 'a-run-in-one-file')}",
    ]
    if leaderboards:
        lines += [
            "",
            "## Leaderboards",
            "",
            "`leaderboards/webarena.csv` has a row per agent for the authors' sheet, and each",
            "`leaderboards/AGENT/webarena.json` is an entry for BrowserGym's. Empty cells and each `Yes/No` are for",
            "the author to fill in. The rates are those of the original evaluators, with errors as failures.",
        ]
    return "\n".join(lines) + "\n"


def began_at(parts: Sequence[Mapping[str, Any]]) -> datetime:
    """Return when the first of a run's invocations began, in UTC."""
    return datetime.fromtimestamp(min(part.get("started") or 0.0 for part in parts), UTC)


def suites_of(parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the suites whose tasks a run's invocations asked for."""
    asked = ((part.get("asked") or {}).get("options") or {} for part in parts)
    return list(dict.fromkeys(name for options in asked for name in options.get("--suite") or ()))


def _marks(stored: Stored) -> Iterator[str]:
    for record in stored.accepted:
        yield f"{record.key.folder}: {record.accepted[-1]['because']}"
    for trial in stored.removed:
        yield f"{trial.key.folder}, removed: {'; '.join(trial.removed)}"


def _conditions(parts: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the facts; where invocations differ, each value with the numbers of the commands that it belongs to."""
    for name, words in _CONDITIONS.items():
        values: dict[str, list[int]] = {}
        for number, part in enumerate(parts, start=1):
            values.setdefault(_plain(part.get(name)), []).append(number)
        if len(values) == 1:
            text = next(iter(values))
        else:
            text = "; ".join(f"{value or 'none'} (command {', '.join(map(str, of))})" for value, of in values.items())
        if text:
            yield f"- {words}: {text}"


def _plain(value: Any) -> str:
    """Return a fact as text; empty for one that says nothing."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {text}" for name, each in value.items() if (text := _plain(each)))
    if isinstance(value, list | tuple):
        return ", ".join(filter(None, map(_plain, value)))
    return "" if value is None or value is False else "yes" if value is True else str(value)
