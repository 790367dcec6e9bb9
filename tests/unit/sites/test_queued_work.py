"""Waiting in the broker until apps have no queued work left: deadlines, invalid questions, dead replicas."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.errors import SiteBusy, SiteError, TaskError
from pytest_webarena.evidence import QuietWait
from pytest_webarena.sites.backends.base import Replica, Rows
from pytest_webarena.sites.broker.queued_work import QueuedWork
from pytest_webarena.sites.catalogues.manifest import AppManifest, HttpReady, Quiet

SQL = "select count(*) from jobs"


class Pool:
    """Answers the query of an app with the given values in turn, repeating the last one; raises those that are
    errors."""

    def __init__(self, *values: Any, dies: bool = False) -> None:
        self._values: Iterator[Any] = iter(values)
        self._last: Any = None
        self._dies = dies
        self.asked = 0

    async def query(self, *_: Any, write: bool) -> Rows:
        assert not write
        self.asked += 1
        self._last = next(self._values, self._last)
        if isinstance(self._last, Exception):
            raise self._last
        return Rows(columns=("count",), rows=((self._last,),) if self._last != "no row" else ())

    async def check(self, *_: Any) -> None:
        if self._dies:
            raise SiteError("it ended with exit code 3")


def wait(
    pool: Pool, quiet: Quiet, *, port: int = 0, spent: float = 0.0, once: bool = False, strict: bool = False
) -> QuietWait:
    app = AppManifest(name="shop", sites=(), backend="docker", quiet=quiet)
    replica = Replica(id="shop-1", app="shop", host="127.0.0.1", port=port)
    work = QueuedWork(pool=cast(Any, pool), apps={"shop": app}, backend=lambda name: cast(Any, object()), strict=strict)
    lease = cast(Any, SimpleNamespace(replicas={"shop": replica}))
    (found,) = asyncio.run(work.end([lease], spent=spent, once=once))
    return found


def test_quiet_app_is_asked_once_and_costs_no_time() -> None:
    for value in (0, "0", None, "f", "no row"):
        pool = Pool(value)
        assert wait(pool, Quiet(sql=SQL)) == QuietWait(app="shop", seconds=0.0)
        assert pool.asked == 1


def test_work_is_waited_for_also_while_the_database_is_locked() -> None:
    found = wait(Pool(2, SiteBusy("the database is locked"), "1", 0), Quiet(sql=SQL, deadline=20))
    assert not found.busy
    assert 0.1 < found.seconds < 10


def test_work_that_does_not_end_is_reported_at_the_deadline() -> None:
    began = time.monotonic()
    found = wait(Pool(3), Quiet(sql=SQL, deadline=0.5))
    assert str(found) == "shop still had work after 0.5 s: select count(*) from jobs returned 3"
    assert 0.4 < time.monotonic() - began < 5


@pytest.mark.parametrize("how", [{"once": True}, {"spent": 30.0}, {"spent": 1e6}])
def test_no_time_left_means_one_question(how: Any) -> None:
    pool = Pool(3)
    assert wait(pool, Quiet(sql=SQL, deadline=30), **how).busy
    assert pool.asked == 1


def test_invalid_query_is_work_unless_the_agent_has_not_begun() -> None:
    """Afterwards an agent may have deleted the table, and must not gain from that."""
    wrong = TaskError("no such table: jobs")
    assert wait(Pool(wrong), Quiet(sql=SQL, deadline=0.1)).busy == "no such table: jobs"
    with pytest.raises(TaskError, match="'quiet' of the app shop: no such table: jobs"):
        wait(Pool(wrong), Quiet(sql=SQL), strict=True)


def test_dead_replica_ends_the_wait() -> None:
    with pytest.raises(SiteError, match="exit code 3"):
        wait(Pool(3, dies=True), Quiet(sql=SQL, deadline=60))


def test_hanging_query_does_not_outlast_the_deadline() -> None:
    class Hangs(Pool):
        async def query(self, *_: Any, write: bool) -> Rows:
            await asyncio.sleep(60)
            raise AssertionError

    began = time.monotonic()
    assert "had no result within 1 s" in wait(Hangs(), Quiet(sql=SQL, deadline=0.2)).busy
    assert time.monotonic() - began < 10


def test_http_is_quiet_when_the_response_is_as_given() -> None:
    answers = iter(["3 left", "3 left", "0 left"])

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"GET /queue ")
        writer.write(f"HTTP/1.1 200 OK\r\n\r\n{next(answers)}".encode())
        writer.close()

    async def main() -> QuietWait:
        async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
            port = server.sockets[0].getsockname()[1]
            quiet = Quiet(probe=HttpReady(path="/queue", includes="0 left"), deadline=20)
            return await asyncio.to_thread(wait, Pool(), quiet, port=port)

    found = asyncio.run(main())
    assert not found.busy
    assert found.seconds > 0.1
