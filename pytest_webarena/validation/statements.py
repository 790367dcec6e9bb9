"""Prepares the SQL of tasks in the databases of running sites, without executing it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from pytest_webarena.checks.state import StateSpec
from pytest_webarena.errors import Problem, SiteError, WebArenaError
from pytest_webarena.tasks.model import Location
from pytest_webarena.tasks.nodes import near
from pytest_webarena.tasks.setup_form import SqlSetup
from pytest_webarena.validation.places import Places, problem_at

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest
    from pytest_webarena.sites.catalogues.units import Unit
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Check, Task

__all__ = ["Statement", "database_problems", "statement_problems", "statements_of"]

_EXPLAINED = ("select", "with", "insert", "update", "delete", "replace", "values")
"""First words of statements that every engine explains. Others, such as ``create``, change what later ones find."""
_NAME = re.compile(r"[A-Za-z_][\w.]*")
_COLUMNS = "select m.name, c.name from sqlite_master m, pragma_table_info(m.name) c where m.type in ('table', 'view')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One SQL text of a task, and its place."""

    site: str
    database: str
    sql: str
    location: Location


def statements_of(tasks: Iterable[Task], places: Places) -> list[Statement]:
    """Returns the SQL of all instances of ``tasks``, each text at each place once."""
    found: dict[Statement, None] = {}
    for task in tasks:
        for check in _leaves(task.every_check):
            if isinstance(check.spec, StateSpec) and check.spec.sql:
                spec, place = check.spec, check.location or task.location
                found[Statement(site=spec.site, database=spec.database, sql=spec.sql, location=place)] = None
        for number, step in enumerate(task.setup, 1):
            if isinstance(step.spec, SqlSetup):
                place = places.setup_step(task, number)
                one = Statement(site=step.site, database=step.spec.database, sql=step.spec.sql, location=place)
                found[one] = None
    return list(found)


def statement_problems(
    unit: Unit, app: AppManifest, lease: Lease, statements: Sequence[Statement]
) -> Iterator[Problem]:
    """Yields a problem for each statement that the database of a site of ``app`` can't prepare. Nothing is written."""
    columns: dict[str, Mapping[str, list[str]]] = {}
    seen: set[tuple[Location, str]] = set()
    for each in statements:
        database = None
        try:
            database = unit.holder_of(each.database, app.name).database(each.database)
            for part in _explainable(each.sql, database):
                lease.query(each.site, f"explain {part}", database=database.name)
        except SiteError:
            raise
        except WebArenaError as error:
            why = str(error).partition(": explain ")[0].removeprefix("the SQL statement failed: ")
            if (each.location, why) in seen:
                continue
            seen.add((each.location, why))
            hint = ""
            if database is not None:
                known = columns.setdefault(each.database, _columns(lease, each.site, database))
                hint = _nearest(why, known)
            yield problem_at(each.location, f"SQL for a database of {each.site}", why, hint)


def database_problems(app: AppManifest, lease: Lease, file_place: Iterable[tuple[str, Location]]) -> Iterator[Problem]:
    """Yields a problem for each database of ``app`` that can't be read, or whose ``ignore`` names what it lacks."""
    site = app.sites[0].name
    for name, place in file_place:
        database = app.databases[name]
        try:
            lease.query(site, "select 1", database=name)
            known = _columns(lease, site, database)
        except WebArenaError as error:
            yield problem_at(place, f"a database that answers 'select 1' as {name!r}", str(error))
            continue
        names = [*known, *(f"{table}.{column}" for table, columns in known.items() for column in columns)]
        for entry in database.ignore if known else ():
            if not any(fnmatchcase(each, entry.removeprefix("+")) for each in names):
                hint = near(entry.removeprefix("+"), [each for each in names if ("." in each) == ("." in entry)])
                yield problem_at(place, f"tables and columns of {name!r} in 'ignore'", f"'{entry}'", hint)


def _leaves(checks: Sequence[Check]) -> Iterator[Check]:
    for check in checks:
        yield check
        yield from _leaves(check.children)


def _explainable(sql: str, database: DatabaseManifest) -> list[str]:
    """Returns the statements of a text; none if one of them can't be explained before another was executed."""
    parts = [sql]
    if ";" in sql.rstrip().rstrip(";"):  # it may be in a text
        parts = list(_split(sql)) if database.engine == "sqlite" else []
    parts = [part.strip().rstrip(";") for part in parts]
    return parts if all(part.lower().startswith(_EXPLAINED) for part in parts) else []


def _split(sql: str) -> Iterator[str]:
    part = ""
    for piece in re.split(r"(?<=;)", sql):
        part += piece
        if sqlite3.complete_statement(part):
            yield part
            part = ""
    if part.strip():
        yield part


def _columns(lease: Lease, site: str, database: DatabaseManifest) -> Mapping[str, list[str]]:
    """Returns the columns by table; empty for engines other than SQLite."""
    known: dict[str, list[str]] = {}
    if database.engine == "sqlite":
        for table, column in lease.query(site, _COLUMNS, database=database.name).rows:
            known.setdefault(str(table), []).append(str(column))
    return known


def _nearest(why: str, known: Mapping[str, list[str]]) -> str:
    """Returns a hint on the name at the end of a database's message, if it is like a table or column."""
    word = next(reversed(_NAME.findall(why)), "").rpartition(".")[2]
    hint = near(word, {*known, *(column for columns in known.values() for column in columns)}) if word else ""
    return hint if hint.startswith("did you mean") else ""
