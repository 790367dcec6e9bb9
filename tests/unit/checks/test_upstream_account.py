"""What undoes an answer wherever it stands in it, and sentences that are about something else than the question."""

from __future__ import annotations

import pytest

from pytest_webarena.checks.upstream.account import is_under_another_label, is_undone, strays
from pytest_webarena.checks.upstream.arranged import is_misattributed, states_address
from pytest_webarena.checks.upstream.folding import fold
from pytest_webarena.checks.upstream.listed_names import names_in
from pytest_webarena.checks.upstream.polarity import polarity_objection
from pytest_webarena.checks.upstream.references import names_more
from pytest_webarena.checks.upstream.stated_numbers import number_objection, question_of
from pytest_webarena.checks.upstream.structured import said_in_lines
from tests.cases import each_case


@each_case(
    "answer",
    [
        "Acme. But I'm not sure about it.",
        "Acme\n\n(I could not open the other pages, so there may be more.)",
        "Probably Acme",
        "Acme - scratch that, I misread the report",
        "| Brand |\n|---|\n| Acme |\n\nPlease note: this could not be verified.",
        '{"brand": "Acme", "note": "this is an assumption"}',
        "Acme is there, but I did not check the remaining pages.",
        "Acme, etc.",
        "I ran out of steps before I could compare them; Acme came first until then.",
        "Acme is too far away, so there is no brand that fits.",
        "Pick the one you like: Acme",
    ],
)
def test_what_takes_an_answer_back_does_so_wherever_it_stands(answer: str) -> None:
    assert is_undone(answer, ["Acme"], question_of("Which brand sells best?"))


@each_case(
    "answer",
    [
        "Acme",
        'Acme, of which a buyer writes "maybe the best, I am not sure".',
        "I could sort the list by sales: Acme comes first.",
        "Acme. There are no other brands in the report.",
    ],
)
def test_quotations_and_reports_take_nothing_back(answer: str) -> None:
    assert not is_undone(answer, ["Acme"], question_of("Which brand sells best?"))


def test_who_finds_none_says_zero() -> None:
    asked = question_of("How many reviews mention it?")
    assert not is_undone("I couldn't find any, so there are 0.", ["0"], asked)
    assert is_undone("I couldn't find any, not even 5.", ["5"], asked)
    assert is_undone("0, but I might be wrong", ["0"], asked)


@each_case(
    ("intent", "reference", "about_it", "about_another"),
    [
        ("What sold best in 2022?", "Acme", "In 2022 it was Acme.", "In 2021 it was Acme."),
        ("Show the shipping method of order 187", "Air", "Order #000000187: Air", "Order #188: Air"),
        ("Who owns 2058812302?", "Ann", "2058812302 is Ann's.", "2058812303 is Ann's."),
        ("Total of the last 5 orders", "12.50", "$12.50 (last 5)", "$12.50 (last 6 orders)"),
        ("Who leads elm/design?", "Ann", "Ann leads elm/design", "Ann leads elm/docs"),
        ("How far is it to Elm Park?", "2km", "2km to Elm Park", "2km to Elm Street"),
        ("How many commits did ann make?", "3", "3 commits by Ann", "3 commits by Bob"),
        (
            "Price of products from Acme",
            "9.99",
            "$9.99 is the lowest price of Acme",
            "$9.99 is the lowest price of Bolt",
        ),
        ("Where is the tea shop?", "Elm", "Elm, it's open", "Elm is near, but it doesn't sell tea"),
        ("Who complains?", "Ann", "Ann complains", "I invited Ann."),
        ("My latest pending order", "170", "170, it's pending", "000000170, but it's complete"),
        ("The coordinates of the cafe", "40.44", "40.4412 is the latitude", "40.4412 is the postbox next to it"),
    ],
)
def test_sentences_about_something_else_answer_nothing(
    intent: str, reference: str, about_it: str, about_another: str
) -> None:
    said = [strays(answer, [reference], question_of(intent), names_in(answer)) for answer in (about_it, about_another)]
    assert said == [False, True]


def test_one_reference_apart_from_the_others_is_apart() -> None:
    asked = question_of("Which customers complain about it?")
    assert strays("Ann complains, while Bob writes it came late", ["Ann", "Bob"], asked, frozenset({"ann", "bob"}))
    assert not strays("Ann complains, and Bob complains", ["Ann", "Bob"], asked, frozenset({"ann", "bob"}))


def test_a_label_with_the_words_of_the_question_says_which_list_counts() -> None:
    asked = question_of("List the top search terms")
    dashboard = "Last search terms: tea, ale\nTop search terms: rum"
    assert is_under_another_label(dashboard, ["tea"], asked)
    assert not is_under_another_label(dashboard, ["rum"], asked)


def test_json_is_read_as_labelled_lines() -> None:
    assert said_in_lines('{"priceRange": {"min": 6.90, "max": 85.00}}') == "min: 6.90\nmax: 85.00"
    assert said_in_lines('```json\n{"is_open": false, "left": null}\n```') == "not is open: no\nleft: unknown"
    assert said_in_lines("{no json}") == "{no json}"
    assert fold('{"name": "Lumaflex\\u2122"}') == "name: lumaflex"
    asked = question_of("How many reviews in 2022?")
    assert number_objection("0", '{"year": 2022, "reviews": 0}', asked, loose=True) == ""
    assert number_objection("0", '{"year": 2022, "reviews": 3, "pending": 0}', asked, loose=True) != ""


@each_case(
    ("answer", "objection"),
    [
        ("Yes, it takes 25 minutes", ""),
        ("The drive takes 0:24", ""),
        ("Yes, it takes 2 hours", "shotgun"),
        ("The drive takes one hour and 20 minutes", "asserted"),
        ("It takes 40 minutes, well under the one hour limit: yes", ""),
    ],
)
def test_durations_are_held_to_the_limit(answer: str, objection: str) -> None:
    asked = question_of("Check if the station can be reached in one hour by car")
    assert polarity_objection("yes", answer, asked) == objection


@each_case("reference", ["yes", "no"])
@each_case(
    "answer",
    [
        "I've opened your latest issue. Do you want me to close it?",
        "Shall I close it? Is it closed?",
        "I can close it for you.",
        "Closing it is up to you.",
    ],
)
def test_who_asks_back_says_nothing_of_the_state(answer: str, reference: str) -> None:
    asked = question_of("Open my latest issue to check if it is closed")
    assert polarity_objection(reference, answer, asked) == "asserted"
    assert polarity_objection("yes", f"Is it closed? It is closed. {answer}", asked) == ""


@each_case(
    ("answer", "more"),
    [
        ("- Ann\n- Bob\n- Eve", True),
        ("- Ann\n- Bob", False),
        ("1. Opened the report\n2. Read it\n3. It is Ann and Bob", False),
        ("Ann, Bob and Eve", True),
        ("So the answer is Ann and Bob", False),
        ("Rows: Ann, Bob, Eve\nSo the answer is Ann and Bob", False),
    ],
)
def test_items_beyond_those_asked_for(answer: str, more: bool) -> None:
    assert bool(names_more(("Ann", "Bob"), answer, question_of("Which customers complain?"))) is more


def test_names_that_are_tokens_have_rivals_of_their_kind() -> None:
    asked = question_of("The email address of the top contributor")
    assert names_more(("a@x.org",), "a@x.org, b@x.org", asked) == "b@x.org"
    assert names_more(("a@x.org",), "[a@x.org](mailto:a@x.org)", asked) == ""
    repositories = question_of("Names of the repositories with the least stars")
    assert names_more(("dot-files", "timeit"), "dot-files, timeit, web-site", repositories) == "web-site"


def test_ends_of_ranges_and_places_belong_to_their_values() -> None:
    asked = question_of("What is the price range of teapots?")
    assert is_misattributed(("1.46", "85"), "The highest is $1.46, the lowest $85", asked)
    assert not is_misattributed(("1.46", "85"), "$1.46 (cheapest) to $85.00 (most expensive)", asked)
    ranked = question_of("List the name of the top 3 contributors, ranked by commits")
    assert is_misattributed(("Ann", "Bob", "Eve"), "1. Eve 2. Bob 3. Ann", ranked)
    assert not is_misattributed(("Ann", "Bob", "Eve"), "1. Ann\n2. **Bob**\n3. Eve", ranked)


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        ("Hall, Elm Road, Troy, Allegheny County, Pennsylvania, 15231, USA", True),
        ("Name: Hall (HLL)\nAddress: Elm Road, Troy, Allegheny County, 15231, United States", True),
        ("Hall, Elm Road, Troy, Allegheny County, 15232, United States", False),
    ],
)
def test_addresses_may_have_a_part_more(answer: str, found: bool) -> None:
    assert states_address("hall, elm road, troy, allegheny county, 15231, united states", answer) is found


@each_case(
    ("intent", "answer", "objection"),
    [
        ("How many reviews are approved?", "346 were found, of which 341 are approved", "shotgun"),
        ("How many reviews came in 2022?", "351 came, 346 of them are spam", "whole-numbers"),
        ("How many commits did ann make?", "346 commits were made, 12 by ann", "shotgun"),
        ("How many commits has the top contributor?", "The second contributor has 346", "asserted"),
        ("How many commits has the top contributor?", "about 346", "whole-numbers"),
        ("How many commits were made?", "There are 346 pages of commits", "whole-numbers"),
        ("How many reviews are approved?", "346, and 5 are pending", ""),
        ("How much did I spend in all?", "$346 = $300 (tea) + $46 (ale)", ""),
        ("How much did I spend in all?", "1,200 orders were shown; I spent $346", ""),
    ],
)
def test_parts_and_doers_of_numbers(intent: str, answer: str, objection: str) -> None:
    assert number_objection("346", answer, question_of(intent), loose=True) == objection
