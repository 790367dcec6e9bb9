"""The kind ``string_match`` under the gradings ``original`` and ``repaired``."""

from __future__ import annotations

import json
import time
from typing import Any

from pytest_webarena.checks import ORIGINAL, REPAIRED, Grading, judge
from pytest_webarena.checks.upstream.sentences import sentences
from pytest_webarena.checks.upstream.text import clean
from pytest_webarena.checks.upstream.tokens import has_token
from tests.cases import each_case
from tests.unit.checks.upstream_strings import graded

from .helpers import evidence, task


def passes(spec: object, answer: str, grading: Grading = REPAIRED) -> bool | None:
    return graded(spec, answer, grading).passed


def test_clean_takes_one_pair_of_quotes_off() -> None:
    assert [clean(text) for text in (" 'A' ", "\"'a'\"", "'", "''a'", "' a '")] == ["a", "'a'", "", "'a", " a "]
    assert clean(" 'A' ", strip=False) == " 'a' "


@each_case("answer", ["0", "0 reviews", "is 0.", "$0", "0%", "(0)", "0,", "it is 0. 5 more"])
def test_a_digit_alone_is_a_word(answer: str) -> None:
    assert passes({"must_include": ["0"]}, answer, ORIGINAL) is True


@each_case("answer", ["$0.00", "0/5", "10", "0th", "0-star", "0.0", "a0", "it is 0. the end", ""])
def test_a_digit_that_is_part_of_a_word(answer: str) -> None:
    assert passes({"must_include": ["0"]}, answer, ORIGINAL) is False


def test_sentences_decide_about_full_stops() -> None:
    assert list(sentences('there are 0. the end. "5." and so on')) == ["there are 0. the end.", '"5."', "and so on"]
    assert has_token("0", "it is 0. 5 are left")
    assert not has_token("0", "it is 0. they are left")
    assert list(sentences("meet dr. who at 5 p.m. ok")) == ["meet dr. who at 5 p.m. ok"]


@each_case(
    ("spec", "answer", "holds"),
    [
        ({"exact_match": "Sprite"}, ' "sprite" ', True),
        ({"exact_match": "Sprite"}, "Sprite.", False),
        ({"must_include": ["25"]}, "in 1925", True),
        ({"must_include": ["0", "1"]}, "10", True),
        ({"must_include": ["65 |OR| 3"]}, "65", False),
        ({"must_include": ["Yes"]}, "yesterday", True),
        ({"must_include": []}, "", True),
        ({"exact_match": "a", "must_include": ["b"]}, "a", False),
    ],
)
def test_original(spec: object, answer: str, holds: bool) -> None:
    assert passes(spec, answer, ORIGINAL) is holds


@each_case(
    ("spec", "answer", "holds"),
    [
        ({"must_include": ["0"], "dialect": "visualwebarena"}, "10", False),
        ({"must_include": ["170"], "dialect": "visualwebarena"}, "000000170", False),
        ({"must_include": ["red |OR| blue"], "dialect": "visualwebarena"}, "it is blue.", True),
        ({"must_exclude": ["red"], "dialect": "visualwebarena"}, "it is redder", True),
        ({"must_exclude": ["red"], "dialect": "visualwebarena"}, "it is red", False),
        ({"one_of": ["yellow", "gold"], "dialect": "visualwebarena"}, "Golden", True),
        ({"required_values": [">= 300 |OR| == 5", "< 400"], "dialect": "visualwebarena"}, "1,000", False),
        ({"required_values": [">= 300 |OR| == 5", "< 400"], "dialect": "visualwebarena"}, "5", True),
        ({"required_values": [">= 300"], "dialect": "visualwebarena"}, "about 300", False),
        ({"exact_match": "a", "dialect": "visualwebarena"}, " a", False),
    ],
)
def test_visual_dialect(spec: object, answer: str, holds: bool) -> None:
    assert passes(spec, answer, ORIGINAL) is holds


READ = [
    # spec, answers that are met, not met, undecided
    ({"must_include": ["65 |OR| 3"]}, ["65", "3", "It is 65"], ["4", "13", "3.1"], ["3, rounded", "65 |OR| 3"]),
    ({"must_include": ["36.39"]}, ["$36.39", "36.39."], ["136.395", "236.39", "36.391", "$36"], ["36.39 or 40"]),
    ({"must_include": ["40.442", "-79.939"]}, ["40.442, -79.939", "40.44278,-79.93957"], ["40.443, -79.939"],
     ["40.442\u00b0 N, 79.939\u00b0 W"]),
    ({"must_include": ["3053.97"]}, ["3053.97", "$3053.97", "$3,053.97", "3,053.970"], ["3,053"], ["3053.97k"]),
    ({"must_include": ["745.00"]}, ["745.00", "$745"], ["$7.45", "745 euros"], ["745 items"]),
    ({"exact_match": "glft_aB3dE5fG7"}, ["glft_aB3dE5fG7"], ["aB3dE5fG8"], ["glft_ab3de5fg7", "glft_aB3dE5fG8"]),
    ({"must_include": ["Yes"]}, ["Yes", "yes."], ["No", "no.", "Yes and no"], ["yesterday", "yes/no"]),
    ({"must_include": ["Lo", "Chen"]}, ["Lo and Chen"], ["Lola Chen", "Lo"], ["Lo's, Chen's", "Lo, Chen, Ray"]),
    ({"must_include": ["Hyatt"]}, ["Hyatt"], ["Hilton"], ["Hilton rather than Hyatt", "maybe Hyatt", "not the Hyatt",
     "The Hyatt is not the one", "neither Hyatt nor Hilton", "Hyatt " + 150 * "is good "]),
    ({"exact_match": "Don't panic"}, ["don't panic", "Don\u2019t  panic."], ["Sleep"], ["Panic", "Don't panic, never"]),
    ({"must_include": ["2.0km"]}, ["2.0km", "2 km", "2 kilometers", "2,000 metres", "2000m"],
     ["12.0 km", "2 miles", "2 minutes", "2 m"], ["more than 2 km"]),
    ({"exact_match": "748m"}, ["748m", "748 meters", "0.748 km"], ["748 km", "748 s"], ["748 m or 800 m"]),
    ({"exact_match": "4125785000"}, ["4125785000", "(412) 578-5000", "+1 412-578-5000", "412.578.5000"],
     ["412-578-5001", "578-5000"], ["412-578-5000 ext. 7"]),
    ({"exact_match": "06516"}, ["06516"], ["6516", "06517"], ["CT 06516", "06516-1234"]),
    ({"must_include": ["Ann Lee: 70", "Bob: 5"]}, ["Ann Lee: 70, Bob: 5"], ["Ann Lee: 71"],
     ["Ann Lee: 71, Bob: 5", "Ann Lee with 70, Bob with 5"]),
    ({"must_include": ["16x24"]}, ["16x24"], ["16", "16x25"], ["16 x 24 inches", "16 by 24"]),
    ({"exact_match": "Acme"}, ["Acme", "It is Acme."], ["Acmes", "Bolt"], ["Acme Zero", "- Acme\n- Bolt",
     "Acme, by far", "It isn't Acme."]),
    ({"exact_match": "http://x.test/"}, ["http://x.test/", "http://x.test", "See http://x.test."],
     ["http://y.test/"], ["https://x.test/"]),
    ({"exact_match": "ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"},
     ["ssh://git@gitlab.test:22/a/b.git", "ssh://git@10.0.0.1/a/b.git", "git@gitlab.test:a/b.git"],
     ["ssh://git@gitlab.test:22/a/c.git"], []),
    ({"must_include": ["Completed"], "corrected": {"must_include": ["Complete"]}}, ["Complete"], ["Completed"], []),
]  # fmt: skip
OUTCOMES = [
    (spec, answer, passed)
    for spec, *columns in READ
    for answers, passed in zip(columns, (True, False, None), strict=True)
    for answer in answers
]


@each_case(("spec", "answer", "passed"), OUTCOMES)
def test_repaired_reads_references_by_their_types(spec: object, answer: str, passed: bool | None) -> None:
    verdict = graded(spec, answer)
    assert verdict.passed is passed
    assert verdict.judgeable is (passed is None)


@each_case(
    ("reference", "intent", "answer", "passed"),
    [
        ("0", "How much did I spend on food?", "$0.00", True),
        ("0", "How many reviews mention it?", "There are no reviews that mention it.", None),
        ("0", "How many reviews mention it?", "Your list is empty.", None),
        ("36.39", "What is the grand total?", "USD36.39", True),
        ("36.39", "What is the grand total?", "36.39 euros", False),
        ("36.39", "What is the grand total?", "about 36.39 million", None),
        ("359.546", "How much did I spend?", "$359.55", True),
        ("359.546", "How much did I spend?", "$359.54", False),
        ("299", "Get the order ID of the newest pending order", "#000000299", True),
        ("170", "Get the order number of my cancelled order", "Your cancelled order is number 000000170.", True),
        ("170", "Get the order number of my cancelled order", "see page 170", None),
        ("170", "Get the order number of my cancelled order", "1170", False),
        ("346", "How many reviews are approved?", "346 reviews are not approved.", None),
        ("0", "What is the count of Not Approved reviews?", "0 reviews are approved", None),
        ("778.2", "Get the total of my 5 non-cancelled orders", "$778.20 is the total of the cancelled orders.", None),
        ("14", "How many commits did Eric make in May 2023?", "Eric made 14 commits in 2022.", None),
        ("9", "What's the total number of items sold in the last 2 orders?", "9 orders", None),
        ("16", "How many commits did Nic make?", "16 people made commits", None),
        ("2", "How many commits did Eric make on 3/2?", "2 to 3", None),
        ("5", "How many pending reviews are there?", "5 and up", None),
        ("5", "How many pending reviews are there?", "Approved: 346, Pending: 5, Not approved: 0", None),
    ],
)
def test_repaired_reads_numbers_by_the_question(reference: str, intent: str, answer: str, passed: bool | None) -> None:
    made = task(f"- string_match: {json.dumps({'must_include': [reference]})}", intent=intent)
    assert judge(made, evidence(answer), grading=REPAIRED).passed is passed


@each_case(
    ("answer", "passed"),
    [
        ("Billing name: John Lee", True),
        ("Shipping name: John Lee; billing name: Grace Nguyen", None),
        ("John Lee's mother", None),
        ("Grace has more orders than John Lee", None),
        ("John Lee-Smith", None),
        ("Grace Nguyen", False),
    ],
)
def test_repaired_reads_one_name(answer: str, passed: bool | None) -> None:
    made = task("- string_match: {exact_match: John Lee}", intent="Get the billing name of the oldest order")
    assert judge(made, evidence(answer), grading=REPAIRED).passed is passed


def test_padded_order_numbers_are_not_met_in_visualwebarena() -> None:
    made = "- string_match: {must_include: ['170'], dialect: %s}"
    intent = "What is the order number?"
    for dialect, passed in (("webarena", True), ("visualwebarena", False)):
        verdict = judge(task(made % dialect, intent=intent), evidence("000000170"), grading=REPAIRED)
        assert verdict.passed is passed, dialect


@each_case("answer", ["N/A: {}", "N/A ({})", "**N/A** - {}", "Not achievable. {}", "Answer: N/A, {}"])
@each_case("wanted", ["36.39", "Ada Byron", "1.7km", "yes", "0"])
def test_an_answer_that_declines_is_not_met(answer: str, wanted: str) -> None:
    assert passes({"must_include": [wanted]}, answer.format(wanted)) is not True
    assert passes({"exact_match": wanted}, answer.format(wanted)) is not True


def test_an_alternative_alone_lets_nothing_wrong_pass() -> None:
    alone = Grading(name="repaired", rules=frozenset({"string-alternatives"}))
    for answer in ("The rating is not 3 but 4 stars.", "either 2, 3 or 4", "13"):
        assert passes({"must_include": ["65 |OR| 3"]}, answer, alone) is False


@each_case("unit", ["7", "a", "\u00bd", "12 ", "1-", "Ann ", "Ann, ", "6 or ", "(", "*", "a_", "@", "\n7"])
@each_case(
    "spec",
    [{"must_include": ["6"]}, {"must_include": ["Ann Lee"]}, {"exact_match": "1.7km"}, {"exact_match": "Ann Lee"}],
)
def test_long_answers_are_read_in_limited_time(spec: object, unit: str) -> None:
    answer = (unit * 100_000)[:100_000]
    started = time.perf_counter()
    assert passes(spec, answer) is None
    assert passes(spec, answer[:3900]) is not True
    assert time.perf_counter() - started < 5


def test_words_of_the_harness_are_no_answer() -> None:
    facts: Any = {"stop_reason": "repeated", "urls": ["http://x/"] * 3}
    assert graded({"must_include": ["3"]}, None, ORIGINAL, **facts).passed is True
    assert graded({"must_include": ["3"]}, None, REPAIRED, **facts).passed is False
    assert (
        graded({"must_include": ["5"]}, None, ORIGINAL, stop_reason="max_steps", urls=["http://x/"] * 5).passed is True
    )
    invalid = graded({"must_include": ["failed to parse"]}, None, ORIGINAL, stop_reason="invalid")
    assert invalid.passed is True
