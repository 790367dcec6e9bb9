"""What a trial changed on the sites, as an Allure step with a diff of the databases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from allure_commons.model2 import TestStepResult

from pytest_webarena.text import printable, within

if TYPE_CHECKING:
    from pytest_webarena.changes import RowChange, SiteChanges, TableChanges
    from pytest_webarena.plugin.reporting.allure.files import Attachments

__all__ = ["changes_diff", "changes_step"]


def changes_step(changes: Sequence[SiteChanges], at: int, files: Attachments) -> TestStepResult:
    """Return a step with one part for each table that changed. ``at`` is its time in milliseconds."""
    tables = [(app, table) for app in changes for table in app.tables if table.total]
    count = sum(table.total for _, table in tables)
    unknown = [app for app in changes if app.unknown]
    name = f"Changed on the sites: {_plural(count, 'row')} in {_plural(len(tables), 'table')}"
    if not count:
        name = "Changed on the sites: nothing" if not unknown else "Changed on the sites: not known"
    step = _step(name, at)
    for app in unknown:
        step.steps.append(_step(f"{app.app}: not known: {within(app.unknown, 300)}", at, status="broken"))
    for app, table in tables:
        counts = {"added": table.added, "changed": table.changed, "removed": table.removed}
        words = ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
        step.steps.append(_step(f"{app.app} {table.name}: {words}", at))
    if tables:
        step.attachments.append(files.text("Database diff", changes_diff(changes), ".diff"))
    return step


def changes_diff(changes: Sequence[SiteChanges]) -> str:
    """Return the changes as a diff, with a section for each row."""
    tables = ((app, table) for app in changes for table in app.tables if table.total)
    return "\n".join(line for app, table in tables for line in _table(app, table))


def _table(app: SiteChanges, table: TableChanges) -> Iterator[str]:
    for row in table.rows:
        key = " ".join(f"{name}={value!r}" for name, value in row.key.items())
        yield f"@@ {app.app} {table.name} {key}".rstrip() + f": {row.kind}"
        yield from _row(row)
    if table.more:
        yield f"@@ {app.app} {table.name}: {table.more} more rows, which the record does not have"


def _row(row: RowChange) -> Iterator[str]:
    if row.kind == "changed":
        for name, value in row.now.items():
            yield f"-{name}: {row.row.get(name)!r}"
            yield f"+{name}: {value!r}"
        return
    yield from _columns("+" if row.kind == "added" else "-", row.row)


def _columns(sign: str, row: Mapping[str, object]) -> Iterator[str]:
    for name, value in row.items():
        if value not in (None, ""):
            yield f"{sign}{name}: {value!r}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'s' * (count != 1)}"


def _step(name: str, at: int, *, status: str = "passed") -> TestStepResult:
    return TestStepResult(name=printable(name), status=status, start=at, stop=at)
