"""Validates tasks and the apps of a catalogue on running sites."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_webarena.errors import Problem
from pytest_webarena.monitoring.checking import untried_reason
from pytest_webarena.validation.apps import Examination, examine_app
from pytest_webarena.validation.places import Places
from pytest_webarena.validation.solutions import replay
from pytest_webarena.validation.statements import statements_of

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.runtime import Runtime

__all__ = ["SiteReport", "validate_on_sites"]

_AT_ONCE = 3
"""Number of solutions that are replayed at the same time; most of their time they wait for pages."""
_NO_SOLUTION = "it has no solution, so that only its SQL, its set-up and the tables of its checks were validated"
_NAMED = 3
"""Maximum number of tasks that a note names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteReport:
    """The result of validation on running sites."""

    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    """What was not validated, and why."""
    summary: str
    """One line: how many apps, accounts and solutions were tried."""


def validate_on_sites(
    tasks: Sequence[Task], catalogue: Catalogue, runtime: Runtime, *, all_apps: bool, say: Callable[[str], None]
) -> SiteReport:
    """Start the apps of ``tasks``, or ``all_apps`` of the catalogue, once, and examine them; then do one instance of
    each template, unless its apps have problems. ``say`` receives progress."""
    began = time.monotonic()
    places = Places()
    used = {
        app.name
        for app in catalogue.apps_of([site for task in tasks for site in task.leased if site in catalogue.sites])
    }
    apps = [app for app in catalogue.apps.values() if app.sites and (all_apps or app.name in used)]
    examined = _examine(apps, tasks, catalogue, runtime, places, say)
    problems = [problem for each in examined for problem in each.problems]
    notes = [note for each in examined for note in each.notes]
    notes += [f"{each.app} was not examined: {each.unexamined}" for each in examined if each.unexamined]
    closed = {each.app: "has problems" if each.problems else "was not examined" for each in examined
              if each.problems or each.unexamined}  # fmt: skip
    statements = [problem for each in examined for problem in each.statements]
    known = {(problem.path, problem.line, problem.column) for problem in statements}
    problems += statements
    chosen, untried = _choose(tasks, catalogue, closed)
    say(f"replaying {_count(len(chosen), 'solution')}")
    replayed = 0
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for done in pool.map(lambda task: replay(task, runtime, places), chosen):
            problems += [each for each in done.problems if (each.path, each.line, each.column) not in known]
            why = done.untried or ("" if done.task.solution else _NO_SOLUTION)
            replayed += not why
            notes += done.notes
            if why:
                untried.setdefault(why, []).append(done.task.id)
    notes += [f"not done: {_names(names)}: {why}" for why, names in untried.items()]
    counts = (
        f"{_count(sum(not each.unexamined for each in examined), 'app')} started",
        f"{_count(sum(each.signed_in for each in examined), 'account')} signed in",
        f"{_count(replayed, 'solution')} replayed",
        *(["one of each template"] if len({task.id for task in tasks}) > len(chosen) else []),
        f"in {time.monotonic() - began:.0f} s",
    )
    return SiteReport(problems=tuple(dict.fromkeys(problems)), notes=tuple(notes), summary=", ".join(counts))


def _examine(
    apps: Sequence[AppManifest],
    tasks: Sequence[Task],
    catalogue: Catalogue,
    runtime: Runtime,
    places: Places,
    say: Callable[[str], None],
) -> list[Examination]:
    statements = statements_of(tasks, places)
    users: dict[str, set[str]] = {}
    for task in tasks:
        for site, user in task.user.items():
            users.setdefault(site, set()).add(user)
    found = []
    for app in apps:
        say(f"examining {app.name}")
        sites = {site.name for site in app.sites}
        own = [each for each in statements if each.site in sites]
        found.append(examine_app(app, catalogue, runtime, places, statements=own, users=users))
    return found


def _choose(
    tasks: Iterable[Task], catalogue: Catalogue, closed: dict[str, str]
) -> tuple[list[Task], dict[str, list[str]]]:
    """Returns one task of each template that can be done, and the others by the reason why they can't."""
    chosen: dict[str, Task] = {}
    untried: dict[str, list[str]] = {}
    for task in tasks:
        template = f"{task.location.path}::{task.template or task.id}"
        if template in chosen:
            continue
        why = untried_reason(task, catalogue) if task.solution is not None else ""
        sites = [site for site in task.leased if site in catalogue.sites]
        if len(sites) < len(task.leased):
            why = f"the catalogue {catalogue.name} lacks a site of it"
        for app in catalogue.apps_of(sites):
            why = why or (f"{app.name} {closed[app.name]}" if app.name in closed else "")
        if why:
            untried.setdefault(why, []).append(task.id)
        else:
            chosen[template] = task
    return list(chosen.values()), untried


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
