"""Changes what a solution wrote, one value at a time, and judges again: on which written values the verdict depends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_webarena.changes import FILES, LONGEST_VALUE, RowChange, SiteChanges, TableChanges, Value, literal
from pytest_webarena.checks import collect
from pytest_webarena.checks.bounded import judge_bounded
from pytest_webarena.checks.judging import leaves
from pytest_webarena.checks.proof import failed_subjects
from pytest_webarena.checks.state import StateSpec
from pytest_webarena.errors import TaskError
from pytest_webarena.text import clip
from pytest_webarena.trials.generated_values import Renumbering, renumberings
from pytest_webarena.trials.other_tables import probes_of_other_tables
from pytest_webarena.trials.other_values import Table, is_clock, is_state, other_values, quoted, read_table
from pytest_webarena.trials.row_places import Place, Unable
from pytest_webarena.trials.row_repairs import is_cut, repairs
from pytest_webarena.trials.sent_values import is_addressed, sent_values
from pytest_webarena.trials.written_tables import Order, WrittenTable, written_table

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence, Probe
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["Tried", "Untried", "ValueChanger", "change_values"]

MOST_SECONDS = 90.0
"""Seconds after which the remaining values of a task are not tried."""
_MOST_ROWS = 4
"""Maximum number of rows of a table whose values are tried, for each kind of change."""
_LONGEST_REASON = 120
_CUT = f"its values are longer than {LONGEST_VALUE} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """One value that was changed, or one row that took the place of another."""

    table: str
    """Site, and table with its database."""
    column: str
    """The column; empty when a whole row was replaced by its neighbour."""
    kind: str
    """What the solution did to the row: ``added``, ``changed`` or ``removed``."""
    was: str
    became: str
    caught: bool | None
    """Whether the verdict was a failure; None if it was undecided."""
    sent: bool = False
    """Whether the client sent this value, or the row existed before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Untried:
    """Something written that was not changed, and why."""

    what: str
    why: str
    unit: str = ""
    """``column`` or ``row``; empty for anything else."""
    again: bool = False
    """Whether another run may change it: the time was up, or what was changed before could not be put back."""


def change_values(
    task: Task, environment: TrialEnvironment, evidence: Evidence, check_timeout: float
) -> dict[str, Any]:
    """Change what the trial wrote, one value at a time, and judge again. Returns the facts for the trial's record."""
    lease = environment.lease
    if lease is None:
        return {"tried": [], "untried": []}
    everything = task.every_check
    queries = [each for each, _ in leaves(everything) if isinstance(each.spec, StateSpec) and each.spec.api is None]
    tabs = [tab.url for tab in evidence.tabs]

    failed: set[str] = set()

    def passes(changes: tuple[SiteChanges, ...], pages: bool) -> bool | None:
        with environment.session.own_pages():
            checks = everything if pages else queries
            again = collect(checks, environment.live, state="end", ends_session=task.ends_session, tabs=tabs)
        return judged(changes, again)

    def judged(changes: tuple[SiteChanges, ...], again: Sequence[Probe]) -> bool | None:
        replaced = {(probe.check, probe.state): probe for probe in again}
        probes = tuple(replaced.get((probe.check, probe.state), probe) for probe in evidence.probes)
        verdict = judge_bounded(task, replace(evidence, changes=changes, probes=probes), seconds=check_timeout)
        failed.update(failed_subjects(everything, verdict))
        return verdict.passed

    sent = sent_values(evidence)
    changer = ValueChanger(
        lease, evidence, passes=passes, sent=sent.has, path_words=sent.path_words, entered=sent.is_entered
    )
    facts: dict[str, Any] = {"tried": [], "untried": []}
    if any(app.total or app.unknown for app in changer.before):
        if passes(changer.before, True) is not True:
            return {"tried": [], "untried": [asdict(Untried(what="all values", why="the solution did not pass"))]}
        facts = changer.run()
    for probes in probes_of_other_tables(queries, environment.live, lambda check: check.path not in failed):
        judged(changer.before, probes)
    return {**facts, "failed": sorted(failed)}


@dataclass(frozen=True, slots=True)
class _Attempt:
    """One value or row to change."""

    chosen: bool
    group: int
    """The row that it belongs to."""
    what: str
    unit: str
    attempt: Callable[[], Tried]


class ValueChanger:
    """Changes the values in the databases of a lease."""

    def __init__(
        self,
        lease: Lease,
        evidence: Evidence,
        *,
        passes: Callable[[tuple[SiteChanges, ...], bool], bool | None],
        sent: Callable[[str, Value], bool],
        path_words: Callable[[Value], Iterable[str]] = lambda _: (),
        entered: Callable[[Value], bool] = lambda _: False,
        seconds: float = MOST_SECONDS,
    ) -> None:
        """``passes`` judges changes again; its second argument is whether pages are read again, too. ``sent`` returns
        whether the client chose the value of a column, ``path_words`` the words before a value in requests' paths,
        ``entered`` whether a step typed or chose it."""
        self._lease, self._passes, self._sent, self._path_words = lease, passes, sent, path_words
        self._entered = entered
        self.before = tuple(evidence.changes or ())
        self._ends = time.monotonic() + seconds
        self._altered = ""
        """Why the data are not as the solution left them; empty while they are."""
        self._queue: list[_Attempt] = []
        self._renumberings: list[tuple[str, Place, Renumbering]] = []
        self.tried: list[Tried] = []
        self.untried: list[Untried] = []

    def run(self) -> dict[str, Any]:
        """Try all values and rows. Returns the facts for the trial's record, which `results.value_audit` reads."""
        for app in self.before:
            site = next((name for name in app.sites if name in self._lease.sites), "")
            if app.unknown:
                self.untried.append(Untried(what=app.sites[0], why=f"its changes are unknown: {app.unknown}"))
                continue
            for table in app.tables:
                if table.table == FILES:
                    self._skip(f"{site}: {table.total} of its files", "files are not changed")
                    continue
                try:
                    self._table(site, table, app)
                except TaskError as error:
                    self._skip(f"{site}: {table.name}", clip(str(error), _LONGEST_REASON))
        self._work()
        return {
            "tried": [asdict(each) for each in self.tried],
            "untried": [asdict(each) for each in self.untried],
            "generated": list(dict.fromkeys(self._needed_numbers())),
        }

    def _needed_numbers(self) -> Iterator[str]:
        """Yield the generated values on which the verdict depends."""
        for name, place, each in self._renumberings:
            if self._altered or time.monotonic() > self._ends:
                return
            with suppress(Unable, TaskError):  # some databases let nobody change a key
                if self._judged(place, each.do, each.undo) is False:
                    yield f"{name}.{each.column}"

    def _table(self, site: str, changes: TableChanges, app: SiteChanges) -> None:
        name = f"{site}: {changes.name}"
        if changes.more:
            self._skip(f"{name}: {changes.more} more rows", "the record lists no more")
        ask = partial(self._lease.query, site, database=changes.database)
        table = read_table(lambda sql: ask(sql).rows, changes.table)
        known = written_table(ask, changes, table)
        for order in known.orders:
            self._order(name, site, changes, table, order)
        for kind in ("added", "changed", "removed"):
            rows = [row for row in changes.rows if row.kind == kind]
            if len(rows) > _MOST_ROWS:
                self._skip(f"{name}: {len(rows) - _MOST_ROWS} more rows that are {kind}", "there are too many")
            for row in rows[:_MOST_ROWS]:
                self._row(name, site, changes, table, known, row)
                if kind == "added":
                    written = [each for each in app.tables if each.database == changes.database]
                    place = Place(site, changes.database, table, "")
                    for each in renumberings(place.ask(self._lease), table, row, known.counted, written):
                        self._renumberings.append((name, place, each))

    def _order(self, name: str, site: str, changes: TableChanges, table: Table, order: Order) -> None:
        """Plan to swap the row that moved furthest with the next one."""
        rows = [order.rows[index] for index in order.neighbours]
        keys = [RowChange(kind="changed", key={column: row[column] for column in table.key}) for row in rows]
        places = [Place(site, changes.database, table, _where(each)) for each in keys]
        attempt = partial(self._swap, name, places[0], places[1], order)
        group = len(self._queue)
        self._queue.append(_Attempt(True, group, f"{name}.{order.column}", "column", attempt))

    def _swap(self, name: str, one: Place, other: Place, order: Order) -> Tried:
        column = order.column
        first, second = (self._own(each, [column])[column] for each in (one, other))
        last: Any = order.rows[-1][column]
        free = literal(f"{last}~" if isinstance(last, str) else last + 1)  # for columns that must not repeat

        def exchange(mine: str, theirs: str) -> list[str]:
            return [one.update({column: free}), other.update({column: theirs}), one.update({column: mine})]

        passed = self._judged(one, exchange(second, first), exchange(first, second))
        return Tried(
            table=name, column=column, kind="changed", was=f"{first} where {one.where}", became=second, sent=True,
            caught=None if passed is None else not passed,
        )  # fmt: skip

    def _row(
        self, name: str, site: str, changes: TableChanges, table: Table, known: WrittenTable, row: RowChange
    ) -> None:
        written = dict(row.now) if row.kind == "changed" else {} if row.kind == "removed" else _with_value(row.row)
        try:
            place = self._place(site, changes, table, row)
        except Unable as error:
            for column in written:
                self._skip(f"{name}.{column}", str(error), "column")
            return
        chosen = row.kind == "removed"
        group = len(self._queue)
        for column, value in written.items():
            if row.kind == "added" and column == table.generated:
                continue  # which number a new row gets is not the agent's choice
            if column in known.ordering:
                continue  # only the order of its values means something
            if row.kind == "added" and column in known.counted and not self._is_named(value):
                continue
            sent = self._sent(column, value) or is_addressed(self._path_words(value), column, table)
            if is_clock(value or row.row.get(column)) and not sent:
                continue  # nor is the time at which it writes
            sent |= row.kind == "changed" and is_state(place.ask(self._lease), table, column, value)
            chosen |= sent
            attempt = partial(self._value, name, place, row, column, value, sent)
            self._queue.append(_Attempt(sent, group, f"{name}.{column}", "column", attempt))
        if row.kind == "removed" or (row.kind == "changed" and not known.ordering.issuperset(written)):
            attempt = partial(self._neighbour, name, place, changes, row, chosen)
            self._queue.append(_Attempt(chosen, group, f"{name} (row)", "row", attempt))

    def _is_named(self, value: Value) -> bool:
        """Whether the client itself chose a number that the site could have counted on."""
        return self._entered(value) or bool(self._path_words(value))

    def _place(self, site: str, changes: TableChanges, table: Table, row: RowChange) -> Place:
        """The row's place in its table: by its key, or by its ``rowid`` if there is none, because a change of a value
        would move a row that is found by its values."""
        place = Place(site, changes.database, table, _where(row))
        if row.key or row.kind == "removed" or not table.rowid:
            return place
        source = quoted(table.name)
        found = place.ask(self._lease)(f"select {table.rowid} from {source} where {place.where} limit 1")
        if not found:
            raise Unable("no row has its values")
        return replace(place, where=f"{table.rowid} = {found[0][0]}")

    def _work(self) -> None:
        """Make all attempts, those with chosen values first, because time may not suffice for all."""
        groups: dict[int, list[Tried]] = {}
        for each in sorted(self._queue, key=lambda each: not each.chosen):
            if self._altered:
                self._skip(each.what, self._altered, each.unit, again=True)
                continue
            if time.monotonic() > self._ends:
                self._skip(each.what, "the time for a task is up", each.unit, again=True)
                continue
            try:
                groups.setdefault(each.group, []).append(each.attempt())
            except (Unable, TaskError) as error:
                self._skip(each.what, clip(str(error), _LONGEST_REASON), each.unit)
        self.tried = [tried for row in groups.values() for tried in _accounted(row)]

    def _value(self, name: str, place: Place, row: RowChange, column: str, value: Value, sent: bool) -> Tried:
        """Change one value until the verdict is a failure, with at most two values for a text."""
        own = self._own(place, [column])
        refused = "no other value is known"
        found: Tried | None = None
        attempts = 2  # an addition to a text may be allowed
        for other in other_values(place.ask(self._lease), place.table, column, value):
            moved = replace(place, where=_where(row, {column: other})) if column in row.key else place
            try:
                passed = self._judged(place, [place.update({column: other})], [moved.update(own)])
            except TaskError as error:
                refused = f"the database takes no other value: {error}"
                continue
            found = Tried(
                table=name, column=column, kind=row.kind, was=own[column], became=other,
                caught=None if passed is None else not passed, sent=sent,
            )  # fmt: skip
            attempts -= 1
            if found.caught or not attempts or not isinstance(value, str):
                break
        if found is None:
            raise Unable(refused)
        return found

    def _neighbour(self, name: str, place: Place, changes: TableChanges, row: RowChange, chosen: bool) -> Tried:
        """Undo what was done to a row, and do it to its neighbour. A row of which the record lacks the former values
        gets those of its neighbour."""
        table = place.table
        source, key = quoted(table.name), ", ".join(map(quoted, table.key))
        if not key:
            raise Unable("its table has no key")
        touched = " or ".join(f"({_where(each)})" for each in changes.rows)
        first = f"{quoted(table.key[0])} < {literal(row.key[table.key[0]])}"
        quotes = ", ".join(f"quote({quoted(each)})" for each in table.key)
        others = f"select {quotes} from {source} where not ({touched}) order by {first}, {key} limit 1"
        nearest = place.ask(self._lease)(others)
        if not nearest:
            raise Unable("its table has no other row")
        where = " and ".join(f"{quoted(c)} is {v}" for c, v in zip(table.key, nearest[0], strict=True))
        other = replace(place, where=where)
        if row.kind == "changed":
            mine, theirs = self._own(place, row.now), self._own(other, row.now)
            whole = not any(is_cut(row.row[column]) for column in row.now)
            old = _literals(row.row, row.now) if whole else theirs
            do = [place.update(old), other.update(mine)]
            undo = [other.update(theirs), place.update(mine)]
        else:
            theirs = self._own(other, row.row)
            mine = _literals(row.row, row.row)
            do = [f"delete from {source} where {where}", _insert(table, mine)]
            undo = [f"delete from {source} where {place.where}", _insert(table, theirs)]
        passed = self._judged(place, do, undo)
        return Tried(
            table=name, column="", kind=row.kind, was=place.where, became=where, sent=chosen,
            caught=None if passed is None else not passed,
        )  # fmt: skip

    def _judged(self, place: Place, do: Sequence[str], undo: Sequence[str]) -> bool | None:
        """Whether the trial passes with these statements, which are undone afterwards."""
        self._write(place, do)
        try:
            changes = self._lease.changes()
            if changes == self.before:
                raise Unable("the comparison of data ignores it")
            passed = self._passes(changes, False)
            if passed is not False:
                passed = self._passes(changes, True)
        finally:
            self._put_back(place, undo)
        return passed

    def _put_back(self, place: Place, undo: Sequence[str]) -> None:
        """Undo a change. If the trial would not pass afterwards, nothing else can be judged, and that is reported."""
        why = ""
        try:
            self._write(place, undo)
        except TaskError as error:
            why = f": {clip(str(error), _LONGEST_REASON)}"
        if (now := self._lease.changes()) != self.before:
            now = self._repaired(now)
        if now != self.before:
            if not self._passes(now, True):
                self._altered = f"a change of {place.site}: {place.database}.{place.table.name} could not be put back"
                raise Unable(f"it could not be put back{why}")
            self.before = now

    def _repaired(self, now: tuple[SiteChanges, ...]) -> tuple[SiteChanges, ...]:
        """Restore rows that differ after a change was undone, such as those of triggers. Returns the changes then."""
        for was, app in zip(self.before, now, strict=False):
            site = next((name for name in app.sites if name in self._lease.sites), "")
            for database, statements in repairs(was, app).items():
                script = "; ".join(["begin", *statements, "commit"])
                with suppress(TaskError):  # the comparison shows what is left
                    self._lease.query(site, script, database=database, write=True)
        return self._lease.changes()

    def _own(self, place: Place, columns: Iterable[str]) -> dict[str, str]:
        """The present values of a row as literals."""
        names = list(columns)
        quotes = ", ".join(f"quote({quoted(each)})" for each in names)
        rows = place.ask(self._lease)(f"select {quotes} from {quoted(place.table.name)} where {place.where}")
        if len(rows) != 1:
            raise Unable(f"{len(rows)} rows have its key")
        return dict(zip(names, map(str, rows[0]), strict=True))

    def _write(self, place: Place, statements: Sequence[str]) -> None:
        script = "; ".join(["begin", *statements, "commit"])
        self._lease.query(place.site, script, database=place.database, write=True)

    def _skip(self, what: str, why: str, unit: str = "", *, again: bool = False) -> None:
        self.untried.append(Untried(what=what, why=why, unit=unit, again=again))


def _accounted(row: Sequence[Tried]) -> list[Tried]:
    """The changes of one row; numbers that were sent for another of its columns, whose change was caught, are not
    marked as sent."""
    read = {each.was for each in row if each.caught and each.was.isdecimal()}
    return [replace(each, sent=False) if each.was in read and not each.caught else each for each in row]


def _insert(table: Table, values: Mapping[str, str]) -> str:
    columns = ", ".join(map(quoted, values))
    return f"insert into {quoted(table.name)} ({columns}) values ({', '.join(values.values())})"


def _with_value(row: Mapping[str, Value]) -> dict[str, Value]:
    return {column: value for column, value in row.items() if value not in (None, "")}


def _literals(row: Mapping[str, Value], columns: Iterable[str]) -> dict[str, str]:
    """Former values as literals. Raises `Unable` for one that the record does not have in full."""
    values = {column: row[column] for column in columns}
    if any(is_cut(value) for value in values.values()):
        raise Unable(_CUT)
    return {column: literal(value) for column, value in values.items()}


def _where(row: RowChange, replaced: Mapping[str, str] = MappingProxyType({})) -> str:
    """The condition that finds a row as it is now: by its key, else by all of its values."""
    values = _literals(row.key or row.row, row.key or row.row) | dict(replaced)
    return " and ".join(f"{quoted(column)} is {value}" for column, value in values.items())
