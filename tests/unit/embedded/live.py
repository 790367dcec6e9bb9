"""Judges of shipped tasks on pristine embedded sites without a browser; a page is its whole text."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from werkzeug.test import Client

from pytest_webarena.actions import Stop
from pytest_webarena.changes import SiteChanges, TableChanges
from pytest_webarena.checks import collect, judge
from pytest_webarena.checks.kind import Live
from pytest_webarena.evidence import Evidence, RequestRecord, TabState
from pytest_webarena.tasks import Task

__all__ = ["LightSites", "Page", "PristineJudge", "Rows", "answer_of", "rows_of", "text_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    columns: Sequence[str]
    rows: Sequence[Sequence[str | int | float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    url: str
    status: int | None
    texts: Sequence[str]
    error: str = ""
    hidden: str = ""
    refused: str = ""


def rows_of(connection: sqlite3.Connection, sql: str) -> Rows:
    cursor = connection.execute(sql)
    return Rows(columns=[column[0] for column in cursor.description], rows=cursor.fetchall())


def text_of(html: str) -> str:
    return re.sub(r"<[^>]+>", " ", html)


class LightSites:
    """Pristine sites as plain WSGI applications, each with a client and its data folder."""

    def __init__(self, visits: Mapping[str, tuple[Client, Path]]) -> None:
        self.sites: Mapping[str, str] = {site: f"http://{site}.test" for site in visits}
        self._visits = visits

    def read_page(self, *, open: str | None, locate: str | None, prepare: Sequence[str] = ()) -> Page:
        assert open is not None
        site = next(site for site, base in self.sites.items() if open.startswith(f"{base}/"))
        response = self._visits[site][0].get(open.removeprefix(self.sites[site]))
        return Page(url=open, status=response.status_code, texts=(text_of(response.get_data(as_text=True)),))

    def query(self, site: str, sql: str, *, database: str = "") -> Rows:
        with closing(sqlite3.connect(self._visits[site][1] / "main.sqlite3")) as connection:
            return rows_of(connection, sql)

    def fetch(
        self,
        site: str,
        path: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        body: str | None = None,
    ) -> tuple[int, str]:
        raise AssertionError("no task here asks an API")


class PristineJudge:
    """Judges an answer to a task whose sites are unchanged, except for ``changed`` on its first site.

    The agent's page is the start page or the address ``at``: a URL, or a path on the task's first site.
    """

    def __init__(self, task: Task, live: Live, sites: Mapping[str, str]) -> None:
        self._task = task
        self._sites = sites
        self._probes = collect(task.checks, live, state="end")
        assert not [probe.error for probe in self._probes if probe.error]

    def passes(self, answer: str, *, at: str = "", changed: Sequence[TableChanges] = ()) -> bool:
        starts = [f"{self._sites[start.site]}{start.path}" for start in self._task.start]
        starts = starts or [f"{self._sites[self._task.sites[0]]}/"]
        if at:
            starts = [f"{self._sites[self._task.sites[0]]}{at}" if at.startswith("/") else at]
        evidence = Evidence(
            answer=answer,
            stop_reason="answered",
            tabs=tuple(TabState(url=url, title="", html="", active=url == starts[0]) for url in starts),
            requests=tuple(RequestRecord(time=0, method="GET", url=url, status=200) for url in starts),
            probes=self._probes,
            sites=self._sites,
            changes=tuple(
                SiteChanges(app=site, sites=(site,), tables=() if number else tuple(changed))
                for number, site in enumerate(self._sites)
            ),
        )
        return judge(self._task, evidence).passed is True

    def assert_fails_without_work(self) -> None:
        """Assert that no answer, "Done.", the intent, or the right words alone fail."""
        task = self._task
        assert not self.passes("")
        assert not self.passes("Done.")
        assert not self.passes(task.intent)
        assert self.passes("N/A") is (task.category == "unachievable")
        if task.category in ("content", "navigation"):
            assert not self.passes(answer_of(task) or "Yes")

    def assert_other_answers_fail(self, answered: Iterable[Task], *, off_by: int = 0) -> None:
        """Assert that answers of other tasks of the template fail, and the own answer with another number.

        The other numbers have a digit before them, or are ``off_by`` too high.
        """
        task, answer = self._task, answer_of(self._task)
        others = [(other.id, answer_of(other)) for other in answered if other.template == task.template]
        assert not [id for id, other in others if other != answer and self.passes(other)]
        if found := re.search(r"\d+(\.\d+)?", answer):
            assert not self.passes(answer.replace(found[0], f"1{found[0]}"))
            assert not off_by or not self.passes(answer.replace(found[0], str(Decimal(found[0]) + off_by)))


def answer_of(task: Task) -> str:
    """Return the answer of the task's solution."""
    assert task.solution is not None
    last = task.solution[-1]
    assert isinstance(last, Stop)
    return last.answer
