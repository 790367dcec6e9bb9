"""Consistency of the invented world."""

from __future__ import annotations

from pytest_webarena.embedded import world


def test_keys_are_unique_and_references_exist() -> None:
    towns = {town.key for town in world.TOWNS}
    people = {person.username for person in world.PEOPLE}

    assert len(towns) == len(world.TOWNS) == 12
    assert len(people) == len(world.PEOPLE) == 40
    assert len({person.password for person in world.PEOPLE}) == 40
    assert all(person.town in towns for person in world.PEOPLE)
    assert all(business.town in towns and business.owner in people for business in world.BUSINESSES)
    assert all(project.maintainer in people for project in world.PROJECTS)
    assert all(event.town in towns for event in world.EVENTS)
    assert all(place in towns for line in world.LINES for place, _, _ in line.stops)
    assert len({business.phone for business in world.BUSINESSES}) == len(world.BUSINESSES)


def test_user_names_and_emails_are_plain() -> None:
    for person in world.PEOPLE:
        assert person.username.replace(".", "").isascii()
        assert person.email == f"{person.username}@tarnmark.test"
        assert person.born <= 2005


def test_dates_are_consistent_with_the_clock() -> None:
    assert world.EPOCH.strftime("%A %H:%M %Z") == "Wednesday 09:00 UTC"
    assert all(project.started < project.released < world.EPOCH.date() for project in world.PROJECTS)
    assert [event.first for event in world.EVENTS] == sorted(event.first for event in world.EVENTS)
    assert next(event for event in world.EVENTS if event.key == "harbour-lights").days == 9


def test_opening_hours_cover_the_week() -> None:
    for business in world.BUSINESSES:
        assert tuple(business.hours) == world.WEEKDAYS
        assert any(business.hours.values())
    pharmacy = next(business for business in world.BUSINESSES if business.key == "rahmani-pharmacy")
    assert (pharmacy.hours["Friday"], pharmacy.hours["Sunday"]) == ("08:30-19:00", "10:00-12:00")
    bicycles = next(business for business in world.BUSINESSES if business.key == "chainstay")
    assert [day for day, hours in bicycles.hours.items() if not hours] == ["Monday", "Tuesday"]


def test_stops_of_lines_are_in_order() -> None:
    for line in world.LINES:
        assert line.stops[0][1:] == (0, 0)
        for (_, minutes, km), (_, later, further) in zip(line.stops, line.stops[1:], strict=False):
            assert minutes < later
            assert km < further
