"""Words, numbers, labels and sums that are found on a page."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.checks.ground import Ground
from pytest_webarena.html_pages.finding import hits, is_about, masked
from pytest_webarena.html_pages.page_text import read_html
from pytest_webarena.testing import make_task
from tests.cases import each_case


def ground(**keys: Any) -> Ground:
    answer = json.dumps({"unachievable": "no such thing", **keys})
    task = make_task(f"intent: x\nsites: []\nchecks: [{{answer: {answer}}}]", id="t")
    found: Ground = task.checks[0].spec.ground
    return found


def found(html: str, **keys: Any) -> list[tuple[str, str]]:
    page, wanted = read_html(html, "http://a.test/"), ground(**keys)
    everywhere = not wanted.about or is_about(page, wanted.about)
    return [(hit.way, hit.term.text) for hit in hits(page, wanted, everywhere=everywhere)]


@each_case(
    ("html", "absent"),
    [
        ("<p>It weighs 300 grams.", "grams"),
        ("<p>First-Class tickets", "first-class"),
        ("<p>a <b>bell</b>\nringing club", "Bell ringing"),
        ("<p>Café", "cafe"),
        ("<title>Airport</title>", "airport"),
        ("<img alt='The airport'>", "airport"),
        ("<input placeholder='Airport code'>", "airport"),
        ("<input value='airport'>", "airport"),
        ("<p>Answer: none. But first: grams", "grams"),
        ("<p>Food &amp; drink", "food and drink"),
        ("<p>1,204.50 crowns", 1204.5),
        ("<p>€1.204,50", 1204.5),
        ("<p>three cabins", 3),
        ("<p>Order #100703", 100703),
    ],
)
def test_words_and_numbers_are_found(html: str, absent: str | float) -> None:
    assert found(html, absent=absent) == [("text", str(absent))]


@each_case(
    ("html", "absent"),
    [
        ("<p>programs", "grams"),
        ("<p>bell, ringing", "bell ringing"),
        ("<p>bell</p><p>ringing", "bell ringing"),
        ("<script>grams</script><style>grams</style><input type=hidden value=grams>", "grams"),
        ("<p>2025-05-14 and 12:30", 14),
        ("<p>11204.50", 1204.5),
    ],
)
def test_other_words_and_numbers_are_not(html: str, absent: str | float) -> None:
    assert found(html, absent=absent) == []


TABLE = "<table><tr><th>Order<th>Total<tr><td>7<td>{}<tr><td>8<td>200.00 crowns</table>"


def test_sum_of_a_column_is_found() -> None:
    assert found(TABLE.format("1,004.50 crowns"), absent=1204.5) == [("sum", "1204.5")]
    assert found(TABLE.format("1,004.60 crowns"), absent=1204.5) == []
    assert found(TABLE.format("unknown"), absent=200.5) == []


@each_case(
    ("label", "words", "is_found"),
    [
        ("Merge", "merge", True),
        ("Merge 2", "merge", True),
        ("Merge requests", "merge", False),
        ("Cancel this order", "this order", True),
        ("Cancel this order", "cancel order", False),
    ],
)
def test_one_word_is_a_whole_label_and_several_may_be_a_part(label: str, words: str, *, is_found: bool) -> None:
    assert bool(found(f"<button>{label}</button>", absent_controls=words)) is is_found


def test_only_labels_of_controls_count_as_controls() -> None:
    assert found("<p>Cancel the order by mail", absent_controls="cancel") == []
    assert found("<button>Cancel order</button>", absent_controls="cancel order") == [("control", "cancel order")]


@each_case(
    ("html", "ways"),
    [
        ("<h1>Kettle Chapel</h1><p>Opening hours: none", ["text"]),
        ("<h1>Places</h1><p>Opening hours: none<p>Kettle Chapel", []),
        ("<table><tr><td>Kettle Chapel<td>Opening hours: none</table>", ["text"]),
    ],
)
def test_what_is_about_something_else_does_not_count(html: str, ways: list[str]) -> None:
    assert [way for way, _ in found(html, absent="opening hours", about="Kettle Chapel")] == ways


@pytest.mark.parametrize(("name", "ways"), [("Quern", ["control"]), ("Inkwash", [])])
def test_a_control_counts_for_the_passage_it_is_in(name: str, ways: list[str]) -> None:
    html = "<ul><li>Quern <button>Archive</button></li><li>Inkwash</li></ul>"
    assert [way for way, _ in found(html, absent_controls="archive", about=name)] == ways


def test_answers_to_different_searches_are_alike_when_masked() -> None:
    assert masked("12 results for 'bell ringing'", "bell ringing") == masked("0 results for 'zqvxkj'", "zqvxkj")
    assert masked("the bell ringing club", "bell ringing") != masked("zqvxkj", "zqvxkj")
