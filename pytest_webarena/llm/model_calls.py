"""The run's account of model calls: one SQLite file that all workers write before and after each request.

A request is *reserved* before it is sent. It is then *settled* with its cost, or *released* when the endpoint refused
it. The reservation of a worker that dies stays, so money that may have been spent is never lost from the account. Once
the sum of spent and reserved dollars reaches the budget, requests are refused; only running requests can exceed it.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pytest_webarena.errors import recording, unwritten
from pytest_webarena.evidence.usage import MOST, Usage
from pytest_webarena.rpc_proxies import stand_in

__all__ = [
    "Bill",
    "BudgetSpent",
    "CallTotals",
    "ModelCalls",
    "Purpose",
    "Ticket",
    "calls_of",
    "open_model_calls",
    "read_bills",
    "read_model_calls",
]

Purpose = Literal["agent", "judge", "reward"]
"""Purpose of a call.

``reward`` is a model that reports progress to an agent; it is separate from the agent's own model.
"""

_NAME = "model-calls.sqlite"
"""The file's name in a run's folder."""

_MINUTE = 60.0
_BUSY = 60.0
"""Seconds to wait for other workers' transactions, which take milliseconds."""

_TABLE = """
create table if not exists calls (
    id integer primary key,
    at real not null,
    worker text not null,
    trial text not null,
    purpose text not null,
    model text not null,
    state text not null,
    reserved real not null,
    cost real,
    saved real,
    input_tokens integer not null default 0,
    cached_input_tokens integer not null default 0,
    output_tokens integer not null default 0,
    reasoning_tokens integer not null default 0,
    calls integer,
    cached_calls integer,
    untold_calls integer,
    reported integer,
    cache_write_tokens integer,
    cache_write_1h_tokens integer
) strict;
create index if not exists calls_at on calls (at);
"""

_LATER_COLUMNS = (
    "calls", "cached_calls", "untold_calls", "reported", "cache_write_tokens", "cache_write_1h_tokens",
)  # fmt: skip
"""Columns that are null in rows of earlier versions.

They are fields of `Usage`, but for ``reported``, which is 1 for calls that an agent made itself and reported.
"""


class BudgetSpent(Exception):
    """The run's budget does not allow another request. ``str()`` says how much of it was spent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticket:
    """One reserved request."""

    id: int
    not_before: float
    """Unix time at which the request may be sent, because of the run's request rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTotals:
    """All settled calls of one model for one purpose."""

    purpose: Purpose
    model: str
    usage: Usage
    """Usage; its cost covers the calls with a known price, and is None when no call has one."""
    unknown: int
    """Number of calls without a known price."""
    open: int
    """Number of requests that were never settled: running, from a worker that died, or without reported usage."""
    assumed: float = 0.0
    """US dollars that were reserved for calls of unknown cost, and count for them."""
    reserved: float = 0.0
    """US dollars reserved for the ``open`` requests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bill:
    """The account of one trial: all attempts and reruns, without judges."""

    usage: Usage
    """Usage; requests that were abandoned or whose worker died are included in its `untold_calls`."""
    reported: bool
    """Whether an agent reported calls that it made itself. Calls that it did not report are not in the account."""


class ModelCalls:
    """The account. It opens the file for each operation, so nothing has to be closed or is inherited by a fork."""

    def __init__(
        self, path: Path, *, worker: str, max_cost: float | None = None, requests_per_minute: int | None = None
    ) -> None:
        self._path = path
        self._worker = worker
        self._max_cost = max_cost
        self._rate = requests_per_minute
        with recording(path):
            path.parent.mkdir(parents=True, exist_ok=True)
        with self._connected() as database:
            database.executescript(_TABLE)
            if set(_LATER_COLUMNS) - _columns(database):  # a file of an earlier version
                database.execute("begin immediate")
                _add_later_columns(database)  # unless another worker added them
                database.execute("commit")

    def reserve(self, *, trial: str, purpose: Purpose, model: str, estimate: float, now: float) -> Ticket:
        """Reserve one request that is expected to cost ``estimate`` US dollars. Raises `BudgetSpent`."""
        with self._transaction() as database:
            if exhausted := self._exhausted(database):
                raise BudgetSpent(exhausted)
            not_before = now
            if self._rate is not None:
                row = database.execute(
                    "select at from calls where state != 'cached' order by at desc limit 1 offset ?", (self._rate - 1,)
                ).fetchone()
                not_before = max(now, row[0] + _MINUTE) if row is not None else now
            cursor = database.execute(
                "insert into calls (at, worker, trial, purpose, model, state, reserved) values (?, ?, ?, ?, ?, ?, ?)",
                (not_before, self._worker, trial, purpose, model, "reserved", estimate),
            )
            assert cursor.lastrowid is not None
            return Ticket(id=cursor.lastrowid, not_before=not_before)

    def settle(self, ticket: Ticket, usage: Usage) -> None:
        """Record that the request was answered and used this much."""
        with self._transaction() as database:
            database.execute(f"update calls set state = 'settled', {_SET} where id = ?", (*_values(usage), ticket.id))

    def keep(self, ticket: Ticket, usage: Usage) -> None:
        """Record that the request was abandoned and used at least this much: it stays reserved, for no less."""
        with self._transaction() as database:
            database.execute(
                f"update calls set reserved = max(reserved, ?), {_SET} where id = ?",
                (usage.cost or 0.0, *_values(usage), ticket.id),
            )

    def release(self, ticket: Ticket) -> None:
        """Record that the request was refused and cost nothing; it still counts for the request rate."""
        with self._transaction() as database:
            database.execute("update calls set state = 'released', cost = 0 where id = ?", (ticket.id,))

    def cached(self, *, trial: str, purpose: Purpose, model: str, usage: Usage, now: float) -> None:
        """Record a call that the cache answered: no request, no cost."""
        self._add(now, trial, purpose, model, "cached", usage)

    def book(self, *, trial: str, model: str, usage: Usage, now: float) -> None:
        """Record calls that an agent made itself and reported, as one entry."""
        self._add(now, trial, "agent", model, "settled", usage, reported=True)

    def _add(
        self, now: float, trial: str, purpose: Purpose, model: str, state: str, usage: Usage, *, reported: bool = False
    ) -> None:
        with self._transaction() as database:
            added = database.execute(
                "insert into calls (at, worker, trial, purpose, model, state, reserved, reported) "
                "values (?, ?, ?, ?, ?, ?, 0, ?)",
                (now, self._worker, trial, purpose, model, state, int(reported)),
            )
            database.execute(f"update calls set {_SET} where id = ?", (*_values(usage), added.lastrowid))

    def exhausted(self) -> str:
        """Return how much is spent and reserved once the budget allows no more; else an empty text."""
        if self._max_cost is None:
            return ""
        with self._connected() as database:
            return self._exhausted(database)

    def _exhausted(self, database: sqlite3.Connection) -> str:
        if self._max_cost is None:
            return ""
        (spent,) = database.execute(
            "select total(case state when 'reserved' then reserved else coalesce(cost, reserved) end) from calls"
        ).fetchone()
        text = f"${spent:.4f} of the run's ${self._max_cost:g} are spent or reserved"
        return text if spent >= self._max_cost else ""

    def lines(self) -> tuple[CallTotals, ...]:
        """Return the account, by purpose and model."""
        with self._connected() as database:
            return _lines(database)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        """Open the database. Raises `RecordingError` when that fails, because the caller is not at fault."""
        try:
            with closing(sqlite3.connect(self._path, timeout=_BUSY, isolation_level=None)) as database:
                yield database
        except sqlite3.Error as error:
            raise unwritten(self._path, str(error)) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as database:
            database.execute("begin immediate")
            try:
                yield database
            except BaseException:
                if database.in_transaction:  # a full disk rolls back automatically
                    database.execute("rollback")
                raise
            database.execute("commit")


def calls_of(folder: Path) -> Path:
    """Return the path of a run's file."""
    return folder / _NAME


def open_model_calls(
    path: Path, *, worker: str, max_cost: float | None = None, requests_per_minute: int | None = None
) -> ModelCalls:
    """Return the account at ``path``, or its RPC proxy where the driver owns it (`rpc_proxies`)."""
    made = {"worker": worker, "max_cost": max_cost, "requests_per_minute": requests_per_minute}
    calls: ModelCalls = stand_in("model_calls", path, **made) or ModelCalls(
        path, worker=worker, max_cost=max_cost, requests_per_minute=requests_per_minute
    )
    return calls


def read_model_calls(path: Path) -> tuple[CallTotals, ...]:
    """Return the account in a run's file; empty when there is none that can be read. Creates nothing."""
    if not path.is_file():
        return ()
    try:
        with _opened(path) as database:
            return _lines(database)
    except sqlite3.Error:
        return ()


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """Open an account to be read. A file of an earlier version gets its missing columns in a copy in memory."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", timeout=5, uri=True)) as database:
        if not set(_LATER_COLUMNS) - _columns(database):
            yield database
            return
        with closing(sqlite3.connect(":memory:")) as copy:
            database.backup(copy)
            _add_later_columns(copy)
            yield copy


def _add_later_columns(database: sqlite3.Connection) -> None:
    for name in sorted(set(_LATER_COLUMNS) - _columns(database)):
        database.execute(f"alter table calls add column {name} integer")


_USED = (
    "cost", "saved", "calls", "cached_calls", "input_tokens", "cached_input_tokens", "cache_write_tokens",
    "cache_write_1h_tokens", "output_tokens", "reasoning_tokens", "untold_calls",
)  # fmt: skip
"""Columns that are fields of `Usage`."""
_SET = ", ".join(f"{name} = ?" for name in _USED)


def _values(usage: Usage) -> tuple[float | int | None, ...]:
    return tuple(getattr(usage, name) for name in _USED)


def _columns(database: sqlite3.Connection) -> set[str]:
    return {name for _, name, *_ in database.execute("pragma table_info(calls)")}


def read_bills(path: Path, trial: str = "") -> dict[str, Bill]:
    """Return each trial's bill, by the trial's name in the account: all of them, or only ``trial``.

    Empty when there is no account that can be read.
    """
    if not path.is_file():
        return {}
    try:
        with _opened(path) as database:
            return {name: _bill(sums) for name, *sums in database.execute(_BILLS, {"trial": trial})}
    except sqlite3.Error:
        return {}


_BILLS = f"""
select trial,
       total(state in ('settled', 'cached') and cost is null) > 0,
       total(reported) > 0,
       min(total(cost), {MOST}.0),
       min(total(case when state = 'cached' or reported then saved end), {MOST}.0),
       min(total(case when state = 'reserved' then 0 else coalesce(calls, 1) end), {MOST}.0),
       min(total(coalesce(cached_calls, state = 'cached')), {MOST}.0),
       min(total(input_tokens), {MOST}.0),
       min(total(cached_input_tokens), {MOST}.0),
       min(total(cache_write_tokens), {MOST}.0),
       min(total(cache_write_1h_tokens), {MOST}.0),
       min(total(output_tokens), {MOST}.0),
       min(total(reasoning_tokens), {MOST}.0),
       min(total(case when state = 'reserved' then 1 else untold_calls end), {MOST}.0)
from calls where purpose != 'judge' and state != 'released' and :trial in ('', trial) group by trial
"""
"""Query for bills; from the fourth column on in the order of `_USED`."""


def _bill(sums: Sequence[float]) -> Bill:
    unknown, reported, cost, saved, *counts = sums
    usage = Usage(cost=None if unknown else cost, saved=saved, **dict(zip(_USED[2:], map(int, counts), strict=True)))
    return Bill(usage=usage, reported=bool(reported))


_SUMS = f"""
select purpose, model,
       sum(state = 'settled' and cost is null) as unknown,
       sum(state = 'reserved') as open,
       total(case when state = 'settled' and cost is null then reserved end) as assumed,
       total(case when state = 'reserved' then reserved end) as still_reserved,
       sum(state in ('settled', 'cached')) as calls,
       sum(state = 'cached') as cached_calls,
       cast(min(total(input_tokens), {MOST}.0) as integer) as input_tokens,
       cast(min(total(cached_input_tokens), {MOST}.0) as integer) as cached_input_tokens,
       cast(min(total(cache_write_tokens), {MOST}.0) as integer) as cache_write_tokens,
       cast(min(total(cache_write_1h_tokens), {MOST}.0) as integer) as cache_write_1h_tokens,
       cast(min(total(output_tokens), {MOST}.0) as integer) as output_tokens,
       cast(min(total(reasoning_tokens), {MOST}.0) as integer) as reasoning_tokens,
       min(sum(case when state in ('settled', 'cached') then cost end), {MOST}.0) as cost,
       min(total(case when state = 'cached' then saved end), {MOST}.0) as saved
from calls group by purpose, model order by purpose, model
"""
"""Query for totals; from the seventh column on, fields of `Usage` within the bounds of one."""


def _lines(database: sqlite3.Connection) -> tuple[CallTotals, ...]:
    cursor = database.execute(_SUMS)
    used = [column[0] for column in cursor.description[6:]]
    lines = []
    for purpose, model, unknown, still_open, assumed, reserved, *sums in cursor:
        usage = Usage(**dict(zip(used, sums, strict=True)))
        if not usage.calls:  # no call ended, so nothing was spent; otherwise null is an unknown cost
            usage = replace(usage, cost=0.0)
        lines.append(
            CallTotals(
                purpose=purpose, model=model, usage=usage, unknown=unknown, open=still_open, assumed=assumed,
                reserved=reserved,
            )
        )  # fmt: skip
    return tuple(lines)
