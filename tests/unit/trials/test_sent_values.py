"""Values that a client chose, by what its steps entered and its requests sent."""

from __future__ import annotations

import pytest

from pytest_webarena.changes import Value
from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord
from pytest_webarena.trials.other_values import Table
from pytest_webarena.trials.sent_values import is_addressed, sent_values

FORM = (("Content-Type", "application/x-www-form-urlencoded"),)
JSON = (("Content-Type", "application/json"),)


def post(url: str, body: str | None = None, headers: tuple[tuple[str, str], ...] = FORM) -> RequestRecord:
    return RequestRecord(
        time=1.0, method="POST", url=url, status=303, request_body=body, request_headers=headers,
        request_bytes=len(body or ""),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("column", "value", "request_record", "chosen"),
    [
        ("body", "Battery swapped", post("http://shop.test/add", "text=Battery+swapped"), True),
        ("body", "a\nb", post("http://shop.test/add", "text=a%0D%0Ab"), True),
        ("ticket", 12, post("http://shop.test/tickets/12/comment"), True),
        ("ticket", 2, post("http://shop.test/tickets/2/comment"), True),
        ("author", 2, post("http://shop.test/tickets/2/comment"), False),  # a short number means what its field means
        ("stars", 5, post("http://shop.test/rate", '{"review": {"stars": 5}}', JSON), True),
        ("pinned", 1, post("http://shop.test/add", "pinned=on"), True),
        ("skill", "milling", post("http://shop.test/save", "milling=on"), True),  # a ticked box is chosen by its name
        ("skill", "milling", post("http://shop.test/save", "skills%5Bmilling%5D=1"), True),
        ("skill", "milling", post("http://shop.test/save", "milling=5"), False),
        ("due", "2026-07-09 00:00:00", post("http://shop.test/add", "until=2026-07-09"), True),
        ("up", 1, post("http://shop.test/add", "title=1"), False),
        ("made", "2026-07-09T10:12:00", post("http://shop.test/add", "title=Tea"), False),
        ("body", None, post("http://shop.test/add", "title="), False),
        ("body", "Tea", RequestRecord(time=1.0, method="GET", url="http://shop.test/?q=Tea", status=200), False),
    ],
)
def test_value_is_chosen_when_a_writing_request_has_it(
    column: str, value: Value, request_record: RequestRecord, chosen: bool
) -> None:
    evidence = Evidence(answer="", stop_reason="answered", requests=(request_record,))
    assert sent_values(evidence).has(column, value) is chosen


@pytest.mark.parametrize(("text", "chosen"), [("Battery swapped", True), ("Brakes", False)])
def test_value_is_chosen_when_a_step_enters_it(text: str, chosen: bool) -> None:
    step = StepRecord(index=0, action={"kind": "type", "text": "Battery swapped"}, raw="")
    assert sent_values(Evidence(answer="", stop_reason="answered", steps=(step,))).has("body", text) is chosen


STARS = Table("stars", ["ticket", "person"], {"ticket": ("tickets", "id")}, others=["tickets", "people"])


@pytest.mark.parametrize(
    ("column", "path", "chosen"),
    [
        ("ticket", "/star/9", True),  # an action, or the table's own name
        ("ticket", "/favourite/9", True),
        ("ticket", "/9/star", True),
        ("ticket", "/tickets/9/star", True),
        ("ticket", "/people/9/star", False),
        ("ticket", "/star/8", False),
        ("person", "/tickets/9/star", False),
        ("user_id", "/star/9", True),
        ("position", "/star/9", False),  # identifies no row
    ],
)
def test_short_number_in_a_path_identifies_a_row(column: str, path: str, chosen: bool) -> None:
    evidence = Evidence(answer="", stop_reason="answered", requests=(post(f"http://shop.test{path}"),))
    assert is_addressed(sent_values(evidence).path_words(9), column, STARS) is chosen


def test_short_number_in_a_path_identifies_a_row_of_a_link_table() -> None:
    evidence = Evidence(answer="", stop_reason="answered", requests=(post("http://shop.test/people/1/skills"),))
    words = sent_values(evidence).path_words(1)
    skills = Table("skills", ["person_id", "skill"], {}, others=["people"])
    assert is_addressed(words, "person_id", skills)
    assert not is_addressed(words, "person_id", Table("skills", ["id"], {}, others=["people"]))
