"""The calendar: a month at a glance and a page for each event of the region."""

from __future__ import annotations

import calendar
from datetime import date

from flask import Blueprint, abort, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded import clock, world

__all__ = ["pages"]

_FIRST, _LAST = (2025, 1), (2026, 6)
"""Months that the calendar has pages for."""

pages = Blueprint("agenda", __name__, url_prefix="/calendar")


@pages.get("/")
def this_month() -> ResponseReturnValue:
    today = clock.today()
    return redirect(url_for("agenda.month", year=today.year, number=today.month), 303)


@pages.get("/<int(fixed_digits=4):year>-<int(fixed_digits=2):number>")
def month(year: int, number: int) -> ResponseReturnValue:
    if not (_FIRST <= (year, number) <= _LAST and 1 <= number <= 12):
        abort(404)
    first = date(year, number, 1)
    last = date(year, number, calendar.monthrange(year, number)[1])
    events = [event for event in world.EVENTS if event.first <= last and event.last >= first]
    weeks = [
        [(day, [event for event in events if event.first <= day <= event.last]) for day in week]
        for week in calendar.Calendar().monthdatescalendar(year, number)
    ]
    return render_template(
        "month.html", first=first, weeks=weeks, events=events, before=_shifted(first, -1), after=_shifted(first, 1),
        weekdays=world.WEEKDAYS,
    )  # fmt: skip


@pages.get("/events/<key>")
def event(key: str) -> ResponseReturnValue:
    found = next((event for event in world.EVENTS if event.key == key), None)
    if found is None:
        abort(404)
    return render_template("event.html", event=found)


def _shifted(first: date, months: int) -> date | None:
    """The first day of a neighbouring month, if there is a page for it."""
    index = first.year * 12 + first.month - 1 + months
    shifted = date(index // 12, index % 12 + 1, 1)
    return shifted if _FIRST <= (shifted.year, shifted.month) <= _LAST else None
