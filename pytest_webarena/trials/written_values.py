"""Changes what a solution wrote, one value at a time, and judges again: on which written values the verdict depends."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.audit_trials import may_read_answer, reads_requests
from pytest_webarena.changes import FILES, LONGEST_VALUE, RowChange, SiteChanges, TableChanges, Value
from pytest_webarena.checks import collect
from pytest_webarena.checks.bounded import judge_bounded
from pytest_webarena.checks.judging import leaves
from pytest_webarena.checks.proof import failed_subjects
from pytest_webarena.checks.state import StateSpec
from pytest_webarena.errors import TaskError
from pytest_webarena.sites.ledger.dialects import Dialect
from pytest_webarena.trials.generated_values import Renumbering, renumberings
from pytest_webarena.trials.other_tables import probes_of_other_tables
from pytest_webarena.trials.other_values import Table, is_clock, is_set_or_cleared, is_state, other_values, read_table
from pytest_webarena.trials.row_places import Place, Unable, dialect_in, site_with
from pytest_webarena.trials.row_repairs import is_cut, repairs
from pytest_webarena.trials.sent_facts import answer_facts, changed_leaves, known_texts, request_facts
from pytest_webarena.trials.sent_values import SentValues, is_addressed, is_same, sent_values
from pytest_webarena.trials.written_facts import Fact, Facts, Tried, Unit, Untried
from pytest_webarena.trials.written_tables import Order, WrittenTable, written_table

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence, Probe
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["ValueChanger", "change_values"]

MOST_SECONDS = 90.0
"""Seconds after which the remaining values of a task are not tried."""
_MOST_ROWS = 4
"""Maximum number of rows of a table whose values are tried, for each kind of change."""
_MOST_FIELDS = 12
"""Maximum number of values of a JSON document that are tried."""
_CUT = f"its values are longer than {LONGEST_VALUE} characters"


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

    def judged(changed: Evidence) -> bool | None:
        verdict = judge_bounded(task, changed, seconds=check_timeout)
        failed.update(failed_subjects(everything, verdict))
        return verdict.passed

    def with_probes(changes: tuple[SiteChanges, ...], again: Sequence[Probe]) -> Evidence:
        replaced = {(probe.check, probe.state): probe for probe in again}
        probes = tuple(replaced.get((probe.check, probe.state), probe) for probe in evidence.probes)
        return replace(evidence, changes=changes, probes=probes)

    def passes(changes: tuple[SiteChanges, ...], pages: bool) -> bool | None:
        with environment.session.own_pages():
            checks = everything if pages else queries
            again = collect(checks, environment.live, state="end", ends_session=task.ends_session, tabs=tabs)
        return judged(with_probes(changes, again))

    sent = sent_values(evidence)
    changer = ValueChanger(
        lease, evidence, passes=passes, sent=sent.has, path_words=sent.path_words, entered=sent.is_entered,
        fields=sent.fields_not_in(known_texts(task.every_check, evidence)),
    )  # fmt: skip
    facts: dict[str, Any] = {"tried": [], "untried": []}
    if reads_requests(task) or any(app.total or app.unknown for app in changer.before):
        if passes(changer.before, True) is not True:
            return {"tried": [], "untried": [asdict(Untried(what="all values", why="the solution did not pass"))]}
        for fact in _of_evidence(task, evidence, judged, sent):
            changer.facts.add(fact)
        facts = changer.run()
    for probes in probes_of_other_tables(queries, environment.live, lambda check: check.path not in failed):
        judged(with_probes(changer.before, probes))
    return {**facts, "failed": sorted(failed)}


def _of_evidence(
    task: Task, evidence: Evidence, passes: Callable[[Evidence], bool | None], sent: SentValues
) -> Iterator[Fact | Untried]:
    """Yield what the answer and requests say, if a check reads them."""
    if may_read_answer(task):
        yield from answer_facts(evidence, passes)
    if reads_requests(task):
        rows = [row for app in evidence.changes or () for table in app.tables for row in table.rows]
        written = [value for row in rows for value in (row.now if row.kind == "changed" else row.row).values()]

        def is_written(value: Value) -> bool:
            return any(is_same(value, other) for other in written)

        yield from request_facts(evidence, passes, lambda _, value: sent.is_entered(value), is_written)


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
        fields: Sequence[str] = (),
        seconds: float = MOST_SECONDS,
    ) -> None:
        """``passes`` judges changes again; its second argument is whether pages are read again, too. ``sent`` returns
        whether the client chose the value of a column, ``path_words`` the words before a value in requests' paths,
        ``entered`` whether a step typed or chose it. ``fields`` are those that only files may have."""
        self._lease, self._passes, self._sent, self._path_words = lease, passes, sent, path_words
        self._entered, self._fields = entered, fields
        self.before = tuple(evidence.changes or ())
        self.facts = Facts(ends=time.monotonic() + seconds)
        self._renumberings: list[tuple[str, Place, Renumbering]] = []

    def run(self) -> dict[str, Any]:
        """Try all values and rows. Returns the facts for the trial's record, which `results.value_audit` reads."""
        for app in self.before:
            if app.unknown:
                self.facts.skip(next(iter(app.sites), app.app), f"its changes are unknown: {app.unknown}")
                continue
            for table in app.tables:
                site = site_with(self._lease, app, table.database)
                if table.table == FILES:
                    for row in table.rows:
                        what = f"{site}: {row.key['path']}"
                        attempt = partial(self._file, what, site, row)
                        self.facts.add(Fact(what=what, unit="file", chosen=False, group=what, attempt=attempt))
                    continue
                try:
                    self._table(site, table, app)
                except TaskError as error:
                    self.facts.skip(f"{site}: {table.name}", str(error))
        self.facts.work()
        return {
            "tried": [asdict(each) for each in self.facts.tried],
            "untried": [asdict(each) for each in self.facts.untried],
            "generated": list(dict.fromkeys(self._needed_numbers())),
        }

    def _needed_numbers(self) -> Iterator[str]:
        """Yield the generated values on which the verdict depends."""
        for name, place, each in self._renumberings:
            if self.facts.is_over:
                return
            with suppress(Unable, TaskError):  # some databases let nobody change a key
                if self._judged(place, each.do, each.undo) is False:
                    yield f"{name}.{each.column}"

    def _table(self, site: str, changes: TableChanges, app: SiteChanges) -> None:
        name = f"{site}: {changes.name}"
        if changes.more:
            self.facts.skip(f"{name}: {changes.more} more rows", "the record lists no more")
        ask = partial(self._lease.query, site, database=changes.database)
        table = read_table(lambda sql: ask(sql).rows, changes.table, dialect_in(self._lease, site, changes.database))
        known = written_table(ask, changes, table)
        for order in known.orders:
            self._order(name, site, changes, table, order)
        for kind in ("added", "changed", "removed"):
            rows = [row for row in changes.rows if row.kind == kind]
            if len(rows) > _MOST_ROWS:
                self.facts.skip(f"{name}: {len(rows) - _MOST_ROWS} more rows that are {kind}", "there are too many")
            for row in rows[:_MOST_ROWS]:
                self._row(name, site, changes, table, known, row, is_first=row is rows[0])
                if kind == "added":
                    written = [each for each in app.tables if each.database == changes.database]
                    place = Place(site, changes.database, table, "")
                    for each in renumberings(place.ask(self._lease), table, row, known.counted, written):
                        self._renumberings.append((name, place, each))

    def _order(self, name: str, site: str, changes: TableChanges, table: Table, order: Order) -> None:
        """Plan to swap the row that moved furthest with the next one."""
        rows = [order.rows[index] for index in order.neighbours]
        keys = [RowChange(kind="changed", key={column: row[column] for column in table.key}) for row in rows]
        places = [Place(site, changes.database, table, _where(table, each)) for each in keys]
        attempt = partial(self._swap, name, places[0], places[1], order)
        what = f"{name}.{order.column}"
        self.facts.add(Fact(what=what, unit="column", chosen=True, group=what, attempt=attempt))

    def _swap(self, name: str, one: Place, other: Place, order: Order) -> Tried:
        column = order.column
        first, second = (self._own(each, [column])[column] for each in (one, other))
        last: Any = order.rows[-1][column]
        free = one.table.dialect.literal(f"{last}~" if isinstance(last, str) else last + 1)  # values may have to differ

        def exchange(mine: str, theirs: str) -> list[str]:
            return [one.update({column: free}), other.update({column: theirs}), one.update({column: mine})]

        passed = self._judged(one, exchange(second, first), exchange(first, second))
        return Tried(
            table=name, column=column, kind="changed", was=f"{first} where {one.where}", became=second, sent=True,
            caught=None if passed is None else not passed,
        )  # fmt: skip

    def _row(
        self, name: str, site: str, changes: TableChanges, table: Table, known: WrittenTable, row: RowChange, *,
        is_first: bool,
    ) -> None:  # fmt: skip
        written = dict(row.now) if row.kind == "changed" else {} if row.kind == "removed" else _with_value(row.row)
        try:
            place = Place(site, changes.database, table, _where(table, row))
        except Unable as error:
            for column in written:
                self.facts.skip(f"{name}.{column}", str(error), "column")
            return
        chosen = row.kind == "removed"
        group = object()

        def plan(what: str, unit: Unit, sent: bool, attempt: Callable[[], Tried]) -> None:
            self.facts.add(Fact(what=f"{name}.{what}", unit=unit, chosen=sent, group=group, attempt=attempt))

        for column, value in written.items():
            if row.kind == "added" and column == table.generated:
                continue  # which number a new row gets is not the agent's choice
            if column in known.ordering:
                continue  # only the order of its values means something
            if row.kind == "added" and column in known.counted and not self._is_named(value):
                continue
            if fields := list(self._document(place, column, value)):
                for path, leaf, others in fields:
                    sent = self._sent(path.rpartition(".")[2], leaf)
                    if (not sent and is_clock(leaf)) or self._is_generated(leaf):
                        continue
                    chosen |= sent
                    plan(f"{column}.{path}", "column", sent, partial(
                        self._value, name, place, row, column, leaf, sent, path=path, others=others,
                    ))  # fmt: skip
                continue
            sent = self._sent(column, value) or is_addressed(self._path_words(value), column, table)
            restored: list[str] = []
            former = row.row.get(column)
            if is_clock(value or former) and not sent:
                if row.kind != "changed" or not is_set_or_cleared(former, value):
                    continue  # nor is the time at which it writes
                restored, sent = [table.dialect.literal(former)], True
            sent |= row.kind == "changed" and is_state(place.ask(self._lease), table, column, value)
            chosen |= sent
            plan(column, "column", sent, partial(self._value, name, place, row, column, value, sent, others=restored))
        if row.kind == "added" and is_first:
            for column in (each for each in row.row if each not in written):
                value = row.row[column]
                attempt = partial(self._value, name, place, row, column, value, False, unit="empty column")
                plan(column, "empty column", False, attempt)
        if row.kind == "removed" or (row.kind == "changed" and not known.ordering.issuperset(written)):
            attempt = partial(self._neighbour, name, place, changes, row, chosen)
            self.facts.add(Fact(what=f"{name} (row)", unit="row", chosen=chosen, group=group, attempt=attempt))

    def _file(self, name: str, site: str, row: RowChange) -> Tried:
        """Change the content of a file."""
        if row.kind == "removed":
            raise Unable("it was removed")
        path = str(row.key["path"])
        self._lease.flip(site, path)
        try:
            passed = self._passes(self._lease.changes(), True)
        finally:
            self._lease.flip(site, path)
        return Tried(
            table=name, column="", unit="file", kind=row.kind, was="its content", became="another last byte",
            caught=None if passed is None else not passed, fields=tuple(self._fields),
        )  # fmt: skip

    def _document(self, place: Place, column: str, value: Value) -> Iterator[tuple[str, Value, list[str]]]:
        """Yield path, value and the literals of documents with other values, if a text is a JSON document."""
        if not isinstance(value, str) or value[:1] not in ("{", "["):
            return
        dialect = place.table.dialect
        rows = place.ask(self._lease)(f"select {dialect.name(column)} from {place.source} where {place.where} limit 1")
        try:
            data = json.loads(str(rows[0][0]))
        except (ValueError, IndexError):
            return
        for path, leaf, others in islice(changed_leaves(data), _MOST_FIELDS):
            yield path, leaf, [dialect.literal(json.dumps(other, ensure_ascii=False)) for other in others]

    def _is_generated(self, value: Value) -> bool:
        """Whether a value is the key of a new row."""
        rows = (row for app in self.before for table in app.tables for row in table.rows if row.kind == "added")
        return any(value == key and type(value) is type(key) for row in rows for key in row.key.values())

    def _is_named(self, value: Value) -> bool:
        """Whether the client itself chose a number that the site could have counted on."""
        return self._entered(value) or bool(self._path_words(value))

    def _value(
        self, name: str, place: Place, row: RowChange, column: str, value: Value, sent: bool, *,
        unit: Unit = "column", path: str = "", others: Sequence[str] = (),
    ) -> Tried:  # fmt: skip
        """Change one value until the verdict is a failure, with at most two values for a text; then remove it."""
        own = self._own(place, [column])[column]

        def attempt(other: str) -> Tried:
            replaced = {column: other} if column in row.key or not row.key else {}
            moved = replace(place, where=_where(place.table, row, replaced))
            passed = self._judged(place, [place.update({column: other})], [moved.update({column: own})])
            return Tried(
                table=name, column=f"{column}.{path}" if path else column, unit=unit, kind=row.kind,
                was=str(value) if path else own, became=other, caught=None if passed is None else not passed, sent=sent,
            )  # fmt: skip

        if value is None and row.kind == "changed" and not is_cut(former := row.row.get(column)):
            others = [place.table.dialect.literal(former)]
        refused = "no other value is known"
        found: Tried | None = None
        attempts = 2  # an addition to a text may be allowed
        for other in others or other_values(place.ask(self._lease), place.table, column, value, own):
            try:
                found = attempt(other)
            except TaskError as error:
                refused = f"the database takes no other value: {error}"
                continue
            attempts -= 1
            if found.caught or not attempts or not isinstance(value, str):
                break
        may_be_null = unit == "column" and not path and value is not None and column not in row.key
        if may_be_null and (found is None or found.caught):
            with suppress(TaskError):  # a column may need a value
                removed = attempt("NULL")
                found = removed if found is None or removed.caught is False else found
        if found is None:
            raise Unable(refused)
        return found

    def _neighbour(self, name: str, place: Place, changes: TableChanges, row: RowChange, chosen: bool) -> Tried:
        """Undo what was done to a row, and do it to its neighbour. A row of which the record lacks the former values
        gets those of its neighbour."""
        table, dialect = place.table, place.table.dialect
        values = row.key or row.row
        names = table.key or tuple(values)
        key = ", ".join(map(dialect.name, names))
        touched = " or ".join(f"({_where(table, each)})" for each in changes.rows)
        first = f"{dialect.name(names[0])} < {dialect.literal(values[names[0]])}"
        quotes = ", ".join(map(table.as_literal, names))
        others = f"select {quotes} from {place.source} where not ({touched}) order by {first}, {key} limit 1"
        nearest = place.ask(self._lease)(others)
        if not nearest:
            raise Unable("its table has no other row")
        where = dialect.condition(dict(zip(names, map(str, nearest[0]), strict=True)))
        other = replace(place, where=where)
        if row.kind == "changed":
            mine, theirs = self._own(place, row.now), self._own(other, row.now)
            whole = not any(is_cut(row.row[column]) for column in row.now)
            old = _literals(dialect, row.row, row.now) if whole else theirs
            do = [place.update(old), other.update(mine)]
            undo = [other.update(theirs), place.update(mine)]
        else:
            theirs = self._own(other, row.row)
            mine = _literals(dialect, row.row, row.row)
            do = [other.delete(), dialect.insert(table.name, mine)]
            undo = [place.delete(), dialect.insert(table.name, theirs)]
        passed = self._judged(place, do, undo)
        return Tried(
            table=name, column="", unit="row", kind=row.kind, was=place.where, became=where, sent=chosen,
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
            why = f": {error}"
        if (now := self._lease.changes()) != self.before:
            now = self._repaired(now)
        if now != self.before:
            if not self._passes(now, True):
                table = f"{place.site}: {place.database}.{place.table.name}"
                self.facts.altered = f"a change of {table} could not be put back"
                raise Unable(f"it could not be put back{why}")
            self.before = now

    def _repaired(self, now: tuple[SiteChanges, ...]) -> tuple[SiteChanges, ...]:
        """Restore rows that differ after a change was undone, such as those of triggers. Returns the changes then."""
        for was, app in zip(self.before, now, strict=False):
            with suppress(TaskError):  # the comparison shows what is left
                for database, statements in repairs(was, app, partial(self._dialect, app)).items():
                    script = "; ".join(["begin", *statements, "commit"])
                    self._lease.query(site_with(self._lease, app, database), script, database=database, write=True)
        return self._lease.changes()

    def _dialect(self, app: SiteChanges, database: str) -> Dialect:
        return dialect_in(self._lease, site_with(self._lease, app, database), database)

    def _own(self, place: Place, columns: Iterable[str]) -> dict[str, str]:
        """The present values of a row as literals."""
        names = list(columns)
        quotes = ", ".join(map(place.table.as_literal, names))
        one = "" if place.table.key else " limit 1"
        rows = place.ask(self._lease)(f"select {quotes} from {place.source} where {place.where}{one}")
        if len(rows) != 1:
            raise Unable(f"{len(rows)} rows have its key")
        return dict(zip(names, map(str, rows[0]), strict=True))

    def _write(self, place: Place, statements: Sequence[str]) -> None:
        script = "; ".join(["begin", *statements, "commit"])
        self._lease.query(place.site, script, database=place.database, write=True)


def _with_value(row: Mapping[str, Value]) -> dict[str, Value]:
    return {column: value for column, value in row.items() if value not in (None, "")}


def _literals(dialect: Dialect, row: Mapping[str, Value], columns: Iterable[str]) -> dict[str, str]:
    """Former values as literals. Raises `Unable` for one that the record does not have in full."""
    values = {column: row[column] for column in columns}
    if any(is_cut(value) for value in values.values()):
        raise Unable(_CUT)
    return {column: dialect.literal(value) for column, value in values.items()}


def _where(table: Table, row: RowChange, replaced: Mapping[str, str] = MappingProxyType({})) -> str:
    """The condition that finds a row as it is now: by its key, else by all of its values."""
    values = _literals(table.dialect, row.key or row.row, row.key or row.row) | dict(replaced)
    return table.dialect.condition(values)
