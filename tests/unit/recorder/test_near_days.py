"""Dates that depend on the day of the recording: named, or compared with the current day."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import date, timedelta
from types import MappingProxyType

import pytest

from pytest_webarena.changes import RowChange, SiteChanges, Value
from pytest_webarena.checks.near_days import NEAR, dates_of, near_days, relative_words
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


@each_case(
    ("text", "day"),
    [
        ("Thu 3 Dec", "2026-12-03"),
        ("Thursday, December 3", "2026-12-03"),
        ("3rd of December", "2026-12-03"),
        ("Dec 3, 2026", "2026-12-03"),
        ("day = '20261215'", "2026-12-15"),
        ("20261215", "2026-12-15"),
        ("2026-W51", "2026-12-14"),
        ("2026-W51-2", "2026-12-15"),
        ("letters/2026-12-01-acme.txt", "2026-12-01"),
        ("/day/2026-12-01", "2026-12-01"),
        ("/day/2026/12/01/", "2026-12-01"),
        ("notes_2026-12-01", "2026-12-01"),
        ("at = '2026-12-01T10:30'", "2026-12-01"),
        ("bis 3.12.", "2026-12-03"),
        ("due 15/12/2026", "2026-12-15"),
        ("due 12/15/2026", "2026-12-15"),
        ("remind_at = 1796601600 and id = 7", "2026-12-07"),
        ("remind_at = '1796601600000'", "2026-12-07"),
        ("3 Dec 2025", ""),
        ("13 Decks", ""),
        ("INV-20261215", ""),
        ("order 20261215 of Acme", ""),
        ("version 3.12.4", ""),
        ("2026-12-011", ""),
        ("/day/2025-12-01", ""),
        ("Dec 31st", "2026-12-31"),
        ("Dec 3rd and Dec 12", "2026-12-03 2026-12-12"),
    ],
)
def test_dates_near_today_are_found_in_the_forms_that_apps_use(text: str, day: str) -> None:
    near = {each for each in dates_of(text, TODAY) if abs((each - TODAY).days) <= NEAR}
    assert " ".join(sorted(map(str, near))) == day


def query(monkeypatch: pytest.MonkeyPatch, due: Value, intent: str, made: Value) -> str:
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


def test_midnight_as_a_number_is_a_day_that_is_compared_with_today(monkeypatch: pytest.MonkeyPatch) -> None:
    midnight = 1796601600
    for due, column in ((midnight, "due"), (str(midnight), "due"), (midnight * 1000, "due / 1000")):
        condition = f"date({column}, 'unixepoch') between date('now', '+5 days') and date('now', '+7 days')"
        assert condition in query(monkeypatch, due, "Add 'Rye'", NOW)
        with closing(sqlite3.connect(":memory:")) as database:
            for later, expected in (("2026-12-01", 1), ("2027-12-01", 0)):
                asked = condition.replace("'now'", f"'{later}'")
                assert database.execute(f"select {asked} from (select {due!r} due)").fetchone() == (expected,)
    for clock in (midnight + 7, str(midnight + 7)):
        assert "due" not in query(monkeypatch, clock, "Add 'Rye'", NOW)
