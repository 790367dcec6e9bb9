"""Dates that depend on the day of the recording: named, or compared with the current day."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from types import MappingProxyType

import pytest

from pytest_webarena.changes import RowChange, SiteChanges, Value
from pytest_webarena.checks.near_days import near_days, relative_words
from pytest_webarena.recorder import row_values
from pytest_webarena.recorder.proposing import proposed_checks
from pytest_webarena.testing import make_task
from pytest_webarena.trials.written_tables import WrittenTable
from tests.cases import each_case
from tests.unit.recorder.test_selector_proving import changed

TODAY = date(2026, 12, 1)


class Stopped(date):
    """Dates of a machine whose clock stands."""

    @classmethod
    def today(cls) -> Stopped:
        return cls(2026, 12, 1)


@each_case(
    ("words", "found"),
    [
        ("Set the due date of ticket 3 to tomorrow.", "tomorrow"),
        ("Remind me in three days.", "in three days"),
        ("Which orders came in last Friday?", "last Friday"),
        ("Open the note 'Rye' of 3 May 2026.", ""),
        ('Open the note "Tomorrow".', ""),
        ("We take goods back within 60 days.", ""),
    ],
)
def test_words_that_mean_another_day_each_day(words: str, found: str) -> None:
    assert relative_words(words) == found


@each_case(
    ("intent", "typed", "places"),
    [
        ("Ticket 3 is due in 3 days", "2026-12-04", ["2026-12-04 (step 1, checks[0]) is in 3 days"]),
        ("Ticket 3 is due in 3 days", "4 December 2026", ["2026-12-04 (step 1, checks[0]) is in 3 days"]),
        ("Ticket 3 is due on 4 December 2026", "2026-12-04", []),
        ("Ticket 3 is due in a year", "2027-12-04", ["2026-12-04 (checks[0]) is in 3 days"]),
    ],
)
def test_dates_near_the_recording_are_named_with_their_places(intent: str, typed: str, places: list[str]) -> None:
    task = make_task(f"""
intent: {intent}
sites: [shop]
checks: [{{state: {{sql: "select count(*) from tickets where id = 3 and due = '2026-12-04'", equals: 1}}}}]
solution: [{{fill: {{css=#due: {typed}}}}}]
""")
    assert [each.partition(", and the intent")[0] for each in near_days(task, TODAY)] == places
    assert not list(near_days(task, TODAY + timedelta(days=300)))


def query(monkeypatch: pytest.MonkeyPatch, due: str, intent: str, made: Value) -> str:
    """The query that is proposed for an added row."""
    monkeypatch.setattr(row_values, "date", Stopped)
    row: dict[str, Value] = {"id": 7, "title": "Rye", "due": due, "made": made}
    changes: SiteChanges = changed(RowChange(kind="added", key={"id": 7}, row=row))
    tables = MappingProxyType({(changes.app, changes.tables[0].name): WrittenTable()})
    task = make_task(f"intent: {intent}\nsites: [shop, map]\nchecks: [{{url: /}}]")
    found = proposed_checks(task, answer="", url="", steps=[], ignored={}, changes=[changes], tables=tables)
    [check] = [each for each in found if "state" in each.lines[0]]
    return " ".join(check.lines)


NOW = "2026-12-01 10:30:00"


def test_date_that_the_site_counts_from_today_is_compared_with_the_day(monkeypatch: pytest.MonkeyPatch) -> None:
    condition = "substr(due, 1, 10) between date('now', '+13 days') and date('now', '+15 days')"
    assert condition in query(monkeypatch, "2026-12-15", "Add 'Rye'", NOW)
    assert "due = '2026-12-15'" in query(monkeypatch, "2026-12-15", "Add 'Rye', due 2026-12-15", NOW)
    assert "due = '2025-05-14'" in query(monkeypatch, "2025-05-14", "Add 'Rye'", NOW)
    assert "due = '2026-12-15'" in query(monkeypatch, "2026-12-15", "Add 'Rye'", "2025-05-14 10:30:00")
    with closing(sqlite3.connect(":memory:")) as database:
        later = condition.replace("'now'", "'2027-03-05'")
        assert database.execute(f"select {later} from (select '2027-03-19' due)").fetchone() == (1,)
        assert database.execute(f"select {later} from (select '2026-12-15' due)").fetchone() == (0,)
