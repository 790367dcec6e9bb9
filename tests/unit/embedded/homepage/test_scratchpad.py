"""Notes: creation, search, edits, pins and deletion, per owner."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from werkzeug.test import Client

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.homepage.scratchpad import MOST_NOTES

Rows = Callable[..., list[tuple[Any, ...]]]


def _titles(client: Client, query: str = "") -> list[str]:
    html = client.get(f"/scratchpad/{query}").get_data(as_text=True)
    return re.findall(r'<h3><a href="/scratchpad/\d+">([^<]+)</a></h3>', html)


def _number(rows: Rows, title: str) -> int:
    [(number,)] = rows("SELECT id FROM notes WHERE title = ?", title)
    assert isinstance(number, int)
    return number


def test_note_is_created_and_shown(mara: Client, rows: Rows) -> None:
    data = {"title": " Bus times ", "body": "6:30\r\n7:00\n", "label": "travel", "pinned": "yes"}

    response = mara.post("/scratchpad/new", data=data)

    [(number, *note)] = rows("SELECT id, owner, title, body, label, pinned FROM notes WHERE title LIKE 'Bus%'")
    assert note == ["mara.linden", "Bus times", "6:30\n7:00", "travel", 1]
    assert response.status_code == 303
    assert response.location == f"/scratchpad/{number}"
    html = mara.get(response.location).get_data(as_text=True)
    assert "The note has been created." in html
    assert "6:30\n7:00" in html
    assert "The note has been created." not in mara.get(response.location).get_data(as_text=True)


def test_note_times_use_the_worlds_clock(mara: Client, rows: Rows) -> None:
    clock.restart()
    mara.post("/scratchpad/new", data={"title": "Now"})

    [(created, updated)] = rows("SELECT created, updated FROM notes WHERE title = 'Now'")
    assert created == updated
    assert created.startswith("2025-05-14T09:0")


def test_refused_note_keeps_what_was_typed_and_stores_nothing(mara: Client, rows: Rows) -> None:
    before = rows("SELECT count(*) FROM notes")

    html = mara.post("/scratchpad/new", data={"title": "  ", "body": "long story"}).get_data(as_text=True)

    assert "A note needs a title." in html
    assert "long story" in html
    assert rows("SELECT count(*) FROM notes") == before
    for field, length in (("title", 121), ("body", 5001), ("label", 25)):
        data = {"title": "t", "body": "b", "label": "l", field: "x" * length}
        assert mara.post("/scratchpad/new", data=data).status_code == 422
        assert mara.post("/scratchpad/new", data=data | {field: "x" * (length - 1)}).status_code == 303


def test_number_of_notes_is_limited(mara: Client, visitor: Client, rows: Rows) -> None:
    [(held,)] = rows("SELECT count(*) FROM notes WHERE owner = 'mara.linden'")
    for index in range(MOST_NOTES - held):
        assert mara.post("/scratchpad/new", data={"title": f"Note {index}"}).status_code == 303

    assert mara.post("/scratchpad/new", data={"title": "One more"}).status_code == 422
    assert visitor.post("/scratchpad/new", data={"title": "Elsewhere"}).status_code == 303


def test_note_is_edited(mara: Client, rows: Rows) -> None:
    number = _number(rows, "Kettle")
    form = mara.get(f"/scratchpad/{number}/edit").get_data(as_text=True)
    assert 'value="Kettle"' in form
    assert "The old one leaks." in form

    response = mara.post(f"/scratchpad/{number}/edit", data={"title": "Kettle, red", "body": "", "label": "done"})

    assert response.location == f"/scratchpad/{number}"
    assert rows("SELECT title, body, label, substr(updated, 1, 10) FROM notes WHERE id = ?", number) == [
        ("Kettle, red", "", "done", "2025-05-14")
    ]
    assert "Your changes have been saved." in mara.get(response.location).get_data(as_text=True)


def test_pin_and_unpin_leave_the_date_alone(mara: Client, rows: Rows) -> None:
    number = _number(rows, "Locker at the baths")
    assert _titles(mara)[0] == "Reading circle in May"

    assert mara.post(f"/scratchpad/{number}/pin").status_code == 303
    assert rows("SELECT pinned, updated FROM notes WHERE id = ?", number) == [(1, "2025-01-15T07:55:01")]
    assert set(_titles(mara)[:2]) == {"Reading circle in May", "Locker at the baths"}

    mara.post(f"/scratchpad/{number}/pin")
    assert rows("SELECT pinned FROM notes WHERE id = ?", number) == [(0,)]


def test_delete_asks_first(mara: Client, rows: Rows) -> None:
    number = _number(rows, "Kettle")

    assert "Delete this note?" in mara.get(f"/scratchpad/{number}/delete").get_data(as_text=True)
    assert rows("SELECT count(*) FROM notes WHERE id = ?", number) == [(1,)]

    response = mara.post(f"/scratchpad/{number}/delete")
    assert response.location == "/scratchpad/"
    assert rows("SELECT count(*) FROM notes WHERE id = ?", number) == [(0,)]
    assert "“Kettle” has been deleted." in mara.get("/scratchpad/").get_data(as_text=True)
    assert mara.get(f"/scratchpad/{number}").status_code == 404


def test_search_requires_every_word_in_title_or_text(mara: Client) -> None:
    assert _titles(mara, "?q=gorsehythe") == ["Weekend in Gorsehythe", "Weekend in Gorsehythe (old)"]
    assert _titles(mara, "?q=Gorsehythe+storm") == ["Weekend in Gorsehythe (old)"]
    assert _titles(mara, "?q=enamel") == ["Kettle"]
    assert _titles(mara, "?q=50%25") == []


def test_label_and_search_and_order_combine(mara: Client) -> None:
    assert _titles(mara, "?label=LIBRARY&sort=title") == [
        "Reading circle in May",
        "Overdue pieces, to be written to",
        "Shelves for local history",
    ]
    assert _titles(mara, "?label=travel&sort=created&q=weekend") == [
        "Weekend in Gorsehythe",
        "Weekend in Gorsehythe (old)",
    ]
    assert _titles(mara, "?label=nothing") == []


def test_notes_sort_orders(mara: Client) -> None:
    by_title = _titles(mara, "?sort=title")
    assert by_title[0] == "Reading circle in May"  # pinned
    assert by_title[1:] == sorted(by_title[1:], key=str.lower)
    assert _titles(mara)[1] == "Weekend in Gorsehythe"
    assert _titles(mara, "?sort=created")[1] == "Overdue pieces, to be written to"
    assert _titles(mara, "?sort=nonsense") == _titles(mara)


def test_notes_are_private_to_their_owner(
    mara: Client, visitor: Client, signed_in: Callable[[str], Client], rows: Rows
) -> None:
    tobin = signed_in("tobin.ashgrove")
    number = _number(rows, "Kettle")

    assert "Crossings on 9 May" in _titles(tobin)
    assert "Crossings on 9 May" not in _titles(mara)
    assert "House rules of this pad" in _titles(visitor)
    for stranger in (tobin, visitor):
        assert stranger.get(f"/scratchpad/{number}").status_code == 404
        assert stranger.post(f"/scratchpad/{number}/edit", data={"title": "Mine"}).status_code == 404
        assert stranger.post(f"/scratchpad/{number}/pin").status_code == 404
        assert stranger.post(f"/scratchpad/{number}/delete").status_code == 404
    assert rows("SELECT title, pinned FROM notes WHERE id = ?", number) == [("Kettle", 0)]


def test_note_numbers_are_not_reused(mara: Client, rows: Rows) -> None:
    first = mara.post("/scratchpad/new", data={"title": "A"}).location
    mara.post(f"{first}/delete")

    assert mara.post("/scratchpad/new", data={"title": "B"}).location != first
