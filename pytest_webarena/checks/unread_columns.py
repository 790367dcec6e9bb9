"""Finds columns that `changes` checks let be written and no query names, without a run. Only an audit proves them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_webarena.checks.changes import ChangesSpec
from pytest_webarena.checks.judging import leaves
from pytest_webarena.checks.state import StateSpec
from pytest_webarena.docs_site import docs
from pytest_webarena.tasks.model import Task

__all__ = ["CLOCK_NAMES", "with_unread_columns"]

CLOCK_NAMES = re.compile(
    r"(?:\A|_)(?:at|on|time|date|stamp|timestamp|updated|modified|created|seen|version|hits|views|visits)\Z",
    re.IGNORECASE,
)
"""Names of columns that contain times, or what is counted when a row is viewed or saved."""
_NAMED = 3
"""Number of columns that a note names."""
_WORD = re.compile(r"\w+")


def with_unread_columns(tasks: Sequence[Task]) -> str:
    """Returns a note about columns that a solution may write while no query or ``where`` names them; empty when there
    are none. Clocks are left out, by their names."""
    found = dict.fromkeys(
        (task.template or task.id, column) for task in tasks for column in _unread(task)
    )  # fmt: skip
    if not found:
        return ""
    named = ", ".join(f"{column} ({task})" for task, column in list(found)[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return (
        f"'changes' allows values of {named}{more}, which no query names: the verdict may not depend on them, "
        f"as 'pytest --audit' tries out ({docs('audit', 'written-values')})"
    )


def _unread(task: Task) -> Iterator[str]:
    specs = [check.spec for check, _ in leaves(task.checks)]
    named = {word for spec in specs if isinstance(spec, StateSpec) for word in _WORD.findall(spec.sql)}
    for spec in specs:
        for tables in spec.sites.values() if isinstance(spec, ChangesSpec) else ():
            for table, allowed in tables.items():
                for column in dict.fromkeys((*allowed.columns, *allowed.allowed_columns)):
                    if column not in named and column not in allowed.where and not CLOCK_NAMES.search(column):
                        yield f"{table}.{column}"
