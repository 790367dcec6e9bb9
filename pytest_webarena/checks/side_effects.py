"""The implicit rule on side effects: a task that is only to read something, or can't be done, must not change anything.

It applies to users' own tasks on sites whose manifest has ``forbid_side_effects: true``. Published gradings don't
include it.
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
"""Path of the rule's result in a verdict, next to the paths of the task's checks."""


_NAMED = 5
"""Maximum number of tasks that a message names."""


def only_looks(task: Task) -> str:
    """Returns why nothing may change: the task's own statement; empty if it makes none."""
    if any(map(_impossible, task.checks)):
        return "the task can't be done"
    return "mutates: false" if task.mutates is False else ""


def wants_ledger(task: Task) -> bool:
    """Whether side effects may count in judging ``task``: it is a user's own task, not one of a published suite."""
    return not gradings_of(task)


def unguarded(task: Task, ledgers: Collection[str]) -> bool:
    """Whether side effects on the task's sites go undetected: the task does not restrict them, although one of its
    sites is among ``ledgers``, the sites with a ledger."""
    keeps = any(site in ledgers for site in task.sites)
    return keeps and wants_ledger(task) and not only_looks(task) and not list(_bound(task.checks))


def without_guard(tasks: Sequence[Task], ledgers: Collection[str]) -> str:
    """Returns a warning about those of ``tasks`` in which side effects go undetected, and what to do; empty when there
    are none."""
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
    """Returns the rule's judgement; None where the rule does not apply: for tasks of published suites, for sites
    without a ledger, and for tasks with a `changes` check that must hold, because it decides itself.

    Elsewhere the changes that `changes` checks list are allowed but not required; those checks judge them. A check that
    is an alternative or negated lists nothing for a task that must not change anything. On sites that the task does not
    list, no other change is allowed.
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
    """Returns the union of what the specs list on the counted sites, with nothing required."""
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
    """Returns what one of two alternatives allows, or more if they differ in which rows they select."""

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
    """Yields the `changes` checks that must hold in any case."""
    for check in checks:
        if check.kind == "all":
            yield from _bound(check.children)
        elif isinstance(check.spec, ChangesSpec):
            yield check.spec


def _listed(checks: Sequence[Check]) -> Iterator[ChangesSpec]:
    """Yields the `changes` checks that must hold, and those that are alternatives."""
    for check in checks:
        if check.kind in {"all", "any"}:
            yield from _listed(check.children)
        elif isinstance(check.spec, ChangesSpec):
            yield check.spec


def _impossible(check: Check) -> bool:
    """Whether the check expects the answer that the task can't be done, without listing changes as an alternative."""
    if check.kind == "not" or (check.kind == "any" and list(_listed(check.children))):
        return False
    if check.children:
        return any(map(_impossible, check.children))
    return bool(getattr(check.spec, "unachievable", ""))
