"""The rule that no task has to write down: who is only to look, or to say that it can't be done, changes nothing.

It holds for tasks of one's own, on sites with ``forbid_side_effects: true``; nobody's published gradings know it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from pytest_webarena.changes import SiteChanges
from pytest_webarena.checks.changes import ChangesSpec, TableSpec, judge_changes
from pytest_webarena.checks.counts import Count
from pytest_webarena.checks.grading import gradings_of
from pytest_webarena.checks.kind import Judgement
from pytest_webarena.docs_site import docs
from pytest_webarena.tasks.model import Check, Task

__all__ = ["PATH", "only_looks", "side_effects", "unguarded", "wants_ledger", "without_guard"]

PATH = "side effects"
"""Where the result stands in a verdict, among those of the checks that the task lists."""


_NAMED = 5
"""Tasks that a message names."""


def only_looks(task: Task) -> str:
    """Why nothing may change, if nothing may: what the task says of itself; empty otherwise."""
    if any(map(_impossible, task.checks)):
        return "the task can't be done"
    return "mutates: false" if task.mutates is False else ""


def wants_ledger(task: Task) -> bool:
    """Whether what changed may count in judging ``task``: it is one of our own kind, not of a published suite's."""
    return not gradings_of(task)


def unguarded(task: Task, ledgers: Collection[str]) -> bool:
    """Whether anything may change on the task's own sites, because it says nothing of that, though one of them is among
    ``ledgers``, the sites that keep one."""
    keeps = any(site in ledgers for site in task.sites)
    return keeps and wants_ledger(task) and not only_looks(task) and not list(_bound(task.checks))


def without_guard(tasks: Sequence[Task], ledgers: Collection[str]) -> str:
    """What to tell of those of ``tasks`` in which damage would pass, and what to do; empty when there are none."""
    found = list(dict.fromkeys(task.template or task.id for task in tasks if unguarded(task, ledgers)))
    if not found:
        return ""
    named = ", ".join(found[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
    return (
        f"whatever else changes on the sites would pass in {named}: a task that only looks says 'mutates: false', "
        "others list what may change in a check 'changes', "
        f"which 'webarena tasks side-effects' writes ({docs('side-effects')})"
    )


def side_effects(task: Task, changes: Sequence[SiteChanges] | None) -> Judgement | None:
    """What the rule says; None where it says nothing: of another suite's tasks, of sites that allow side effects, and
    of tasks with a `changes` check that decides by itself, because nothing passes without it.

    Elsewhere what `changes` checks list may change, and need not: that is for them to judge. One that is an
    alternative or a contrary lists nothing for a task that is only to look. Of sites that the task does not list,
    nothing else may change whatever it is.
    """
    if changes is None or not wants_ledger(task):
        return None
    bound = list(_bound(task.checks))
    if bound and task.score != "mean":
        return None
    why = only_looks(task)
    counted = [app for app in changes if app.strict and (why or bound or not app.listed)]
    if not counted:
        return None
    allowed = _allowed(bound if why else list(_listed(task.checks)), counted, task)
    where = "" if why or bound else " on sites that the task does not list"
    but = " but what 'changes' lists" if any(allowed.sites.values()) else ""
    expected = f"nothing{but} has changed{where}" + (f" ({why})" if why else "")
    first = next(iter(task.sites), "")
    return judge_changes(allowed, counted, first=first, expected=expected)


def _allowed(specs: Sequence[ChangesSpec], counted: Sequence[SiteChanges], task: Task) -> ChangesSpec:
    """All that any of them lists, on the sites that count; none of it must be."""
    known = {site for app in counted for site in app.sites}
    first = next(iter(task.sites), "")
    sites: dict[str, dict[str, TableSpec]] = {}
    for spec in specs:
        for name, tables in spec.sites.items():
            if (site := name or first) in known:
                _join(sites.setdefault(site, {}), tables)
    return ChangesSpec(sites=sites)


def _join(joined: dict[str, TableSpec], tables: Mapping[str, TableSpec]) -> None:
    for table, spec in tables.items():
        other = joined.get(table)
        joined[table] = _at_most(spec) if other is None else _either(other, _at_most(spec))


def _at_most(spec: TableSpec) -> TableSpec:
    return replace(spec, added=_upper(spec.added), changed=_upper(spec.changed), removed=_upper(spec.removed))


def _upper(count: Count) -> Count:
    return Count(high=count.high)


def _either(one: TableSpec, other: TableSpec) -> TableSpec:
    """What one of two alternatives allows, or more where they differ in which rows are meant."""

    def most(first: Count, second: Count) -> Count:
        return Count(high=None if first.high is None or second.high is None else max(first.high, second.high))

    any_column = any(spec.changed.high != 0 and not spec.columns for spec in (one, other))
    any_value = any(spec.added.high != 0 and not spec.allowed_columns for spec in (one, other))
    return TableSpec(
        added=most(one.added, other.added),
        changed=most(one.changed, other.changed),
        removed=most(one.removed, other.removed),
        columns=() if any_column else tuple(dict.fromkeys((*one.columns, *other.columns))),
        allowed_columns=()
        if any_value
        else tuple(dict.fromkeys((*one.allowed_columns, *other.allowed_columns, *one.where, *other.where))),
        where=one.where if one.where == other.where else {},
    )


def _bound(checks: Sequence[Check]) -> Iterator[ChangesSpec]:
    """Of the `changes` checks those that must hold, whatever else does."""
    for check in checks:
        if check.kind == "all":
            yield from _bound(check.children)
        elif isinstance(check.spec, ChangesSpec):
            yield check.spec


def _listed(checks: Sequence[Check]) -> Iterator[ChangesSpec]:
    """And those that are an alternative."""
    for check in checks:
        if check.kind in {"all", "any"}:
            yield from _listed(check.children)
        elif isinstance(check.spec, ChangesSpec):
            yield check.spec


def _impossible(check: Check) -> bool:
    """Whether it wants to hear that the task can't be done, and not a deed that it lists as another way."""
    if check.kind == "not" or (check.kind == "any" and list(_listed(check.children))):
        return False
    if check.children:
        return any(map(_impossible, check.children))
    return bool(getattr(check.spec, "unachievable", ""))
