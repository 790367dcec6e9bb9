"""Waiting for late work after the agent: how long, in which order, and what ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_webarena.changes import SiteChanges, TableChanges
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.evidence import QuietWait
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.sites.backends.base import Rows
from pytest_webarena.tasks import Task
from pytest_webarena.testing import make_task
from pytest_webarena.trials.late_work import LateWork, require_quiet


class Site:
    """A lease, a session and the view of checks in one; rows appear ``after`` seconds. Logs what was read."""

    sites = {"shop": "http://shop.test"}  # noqa: RUF012
    replicas = (SimpleNamespace(app="shop"),)

    def __init__(self, after: float = 0.0, waits: tuple[QuietWait, ...] = (), problem: Exception | None = None) -> None:
        self._appears = time.monotonic() + after
        self._waits = iter(waits)
        self._problem = problem
        self.log: list[str] = []
        self.asked: list[dict[str, Any]] = []

    @contextmanager
    def own_pages(self) -> Iterator[None]:
        yield

    def _look(self, what: str) -> bool:
        self.log.append(what)
        if self._problem is not None:
            raise self._problem
        return time.monotonic() >= self._appears

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        return Rows(columns=("n",), rows=((int(self._look(sql)),),))

    def fetch(self, site: str, path: str, **how: Any) -> tuple[int, str]:
        return 200, "1" if self._look(path) else "0"

    def changes(self) -> tuple[SiteChanges, ...]:
        tables = (TableChanges(table="notes", added=1),) if self._look("changes") else ()
        return (SiteChanges(app="shop", sites=("shop",), listed=True, tables=tables),)

    def wait_until_quiet(self, **how: Any) -> tuple[QuietWait, ...]:
        self.asked.append(how)
        found = next(self._waits, None)
        return () if found is None else (found,)


def late(checks: str, site: Site, *, patient: bool = True) -> LateWork:
    task: Task = make_task(f"intent: x\nsites: [shop]\nchecks: {checks}", id="t")
    environment = SimpleNamespace(lease=site, live=site, session=site, own_addresses=OwnAddresses({}))
    return LateWork(task, cast(Any, environment), seconds_per_check=0, patient=patient)


SQL = "{state: {sql: select %s, equals: 1}, within: %s}"


def test_check_is_waited_for_until_it_is_met() -> None:
    site = Site(after=0.6)
    work = late(f"[{SQL % ('late', '20s')}, {{state: {{sql: select once, equals: 1}}}}]", site)
    work.await_checks(that_visit=False)
    work.await_checks(that_visit=True)
    assert work.check_waits.keys() == {"checks[0]"}
    assert 0.5 < work.check_waits["checks[0]"] < 10
    assert set(site.log) == {"select late"}
    assert work.seconds == work.check_waits["checks[0]"]


@pytest.mark.parametrize("problem", [None, TaskError("no such table"), SiteError("no answer")])
def test_waits_run_at_the_same_time_and_end_in_time(problem: Exception | None) -> None:
    """What can't be read yet is not met yet."""
    checks = ", ".join([SQL % ("a", "0.8s"), SQL % ("b", "1s"), "{changes: {notes: {added: 1}}, within: 1s}",
                        "{any: [{state: {api: /c, equals: 1}, within: 0.9s}, {answer: x}]}"])  # fmt: skip
    site, began = Site(after=100, problem=problem), time.monotonic()
    work = late(f"[{checks}]", site)
    work.await_checks(that_visit=False)
    work.await_checks(that_visit=True)
    assert work.check_waits == {"checks[0]": 0.8, "checks[1]": 1, "checks[2]": 1, "checks[3].any[0]": 0.9}
    assert 0.9 < time.monotonic() - began < 3
    assert site.log[-1] == "/c"  # visits come last, and at least once


def test_stored_data_are_final_once_all_apps_are_quiet() -> None:
    site = Site(after=100, waits=(QuietWait(app="shop", seconds=2), QuietWait(app="shop", seconds=0)))
    work, waited = late(f"[{SQL % ('a', '30s')}, {{state: {{api: /c, equals: 1}}, within: 0.2s}}]", site), []
    work.await_quiet(cast(Any, site), lambda: waited.append(1))
    assert waited == [1]  # pages may have reacted to the work
    assert work.quiet_waits == (QuietWait(app="shop", seconds=2),)
    work.await_checks(that_visit=False)
    work.await_checks(that_visit=True)
    assert work.check_waits == {"checks[0]": 0, "checks[1]": 0.2}
    assert set(site.log) == {"/c"}
    assert work.seconds == 2.2


def test_busy_app_is_not_asked_again() -> None:
    site = Site(waits=(QuietWait(app="shop", seconds=4, busy="3 jobs"),))
    work = late("[{answer: x}]", site)
    work.await_quiet(cast(Any, site), _never)
    assert [each.busy for each in work.quiet_waits] == ["3 jobs"]
    assert [each["once"] for each in site.asked] == [False]


def test_impatient_wait_asks_once() -> None:
    site = Site(after=100)
    work = late(f"[{SQL % ('a', '30s')}]", site, patient=False)
    work.await_quiet(cast(Any, site), _never)
    work.await_checks(that_visit=False)
    assert (site.log, work.check_waits) == ([], {})
    assert site.asked[0]["once"] is True


def test_agent_begins_on_quiet_sites_only() -> None:
    require_quiet(cast(Any, Site(waits=(QuietWait(app="shop", seconds=3),))))
    site = Site(waits=(QuietWait(app="shop", seconds=3, busy="select 1 returned 1"),))
    with pytest.raises(SiteError, match="before the agent begins, found that shop still had work after 3 s: select 1"):
        require_quiet(cast(Any, site))
    assert site.asked == [{"strict": True}]


_never: Callable[[], None] = lambda: pytest.fail("nothing was waited for")  # noqa: E731
