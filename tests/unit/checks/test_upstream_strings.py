"""The kind ``string_match``: the original's rules to the letter, and each of their repairs."""

from __future__ import annotations

import json
from typing import Any

from pytest_webarena.checks import ORIGINAL, Grading, judge
from pytest_webarena.checks.upstream.rules import RULES
from pytest_webarena.checks.upstream.sentences import sentences
from pytest_webarena.checks.upstream.text import clean
from pytest_webarena.checks.upstream.tokens import has_token
from tests.cases import each_case
from tests.unit.checks.upstream_strings import RULES_ALONE, graded

from .helpers import evidence, task


def passes(spec: object, answer: str, grading: Grading = RULES_ALONE) -> bool | None:
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


REPAIRS = [
    # rule, reference, answers that the original has right and the repair keeps, answers whose verdict it changes
    ("string-alternatives", {"must_include": ["65 |OR| 3"]}, [], ["65", "3", "It is 65", "3, rounded"]),
    ("whole-numbers", {"must_include": ["170"]}, ["170", "000000170", "$170", "170, all told", "a total of 170"],
     ["1170", "170km", "more than 170", "170-180", "10/170/2023", "170k", "-170", "see page 170", "17:170"]),
    ("whole-numbers", {"must_include": ["36.39"]}, ["$36.39", "36.39."], ["136.395", "236.39", "36.391"]),
    ("whole-numbers", {"must_include": ["40.442", "-79.939"]}, ["40.442, -79.939", "40.44278,-79.93957"], []),
    ("whole-numbers", {"must_include": ["25"]}, ["25", "25 in total", "it's 25!"], ["1925", "25.5", "2.25", "16x25x3"]),
    ("number-values", {"must_include": ["0"]}, ["0", "$0", "0 reviews"], ["$0.00", "0.0", "zero"]),
    ("number-values", {"must_include": ["3053.97"]}, ["3053.97", "$3053.97"], ["$3,053.97", "3,053.970"]),
    ("number-values", {"must_include": ["745.00"]}, ["745.00"], ["$745"]),
    ("number-values", {"exact_match": "7"}, ["7"], ["7.0"]),
    ("case-of-codes", {"exact_match": "glft_aB3dE5fG7"}, ["glft_aB3dE5fG7"], ["glft_ab3de5fg7"]),
    ("case-of-codes", {"exact_match": "WSH09-29-White"}, ["wsh09-29-white"], []),
    ("whole-words", {"must_include": ["Yes"]}, ["Yes", "yes.", "Well, yes, it is"], ["yesterday"]),
    ("whole-words", {"must_include": ["Lo", "Chen"]}, ["Lo and Chen", "Lo's, Chen's"], ["Lola Chen"]),
    ("whole-words", {"must_include": ["Dry", "Top"]}, ["dry, top", "drying out; tops"], []),
    ("shotgun", {"must_include": ["Yes"]}, ["Yes", "Yes, there is no problem", "No doubt: yes"],
     ["yes/no", "Yes or no."]),
    ("shotgun", {"must_include": ["3"]}, ["3", "3 of 12 in 2022", "3 (last year: 2)"],
     ["0 1 2 3 4 5", "3 4", "- 2\n- 3"]),
    ("shotgun", {"must_include": ["Hyatt"]}, ["Hyatt", "Hyatt " + 150 * "is good "], ["Hyatt " + 400 * "is good "]),
    ("plain-text", {"exact_match": "Don't panic"}, ["don't panic"], ["Don\u2019t  panic."]),
    ("plain-text", {"must_include": ["914km"]}, ["914km", "about 914km away"], ["914 km"]),
    ("asserted", {"must_include": ["Hyatt"]}, ["Hyatt", "It's the Hyatt, not the Hilton", "The Hyatt isn't far"],
     ["not the Hyatt but the Hilton", "Hilton rather than Hyatt", "maybe Hyatt", "The Hyatt is not the one",
      "I'm not sure, Hyatt?", "Anything other than the Hyatt", "neither Hyatt nor Hilton"]),
    ("asserted", {"must_include": ["12"]}, ["12", "It is 12, not 13"],
     ["It isn't 12", "Not 12", "maybe 12", "12? I don't know"]),
    ("written-forms", {"must_include": ["2.0km"]}, ["2.0km"], ["2 km", "2 kilometers", "2,000 metres", "2000m"]),
    ("written-forms", {"exact_match": "748m"}, ["748m"], ["748 meters", "0.748 km", "It is 748 m on foot."]),
    ("written-forms", {"exact_match": "4125785000"}, ["4125785000"],
     ["(412) 578-5000", "+1 412-578-5000", "412.578.5000"]),
    ("written-forms", {"exact_match": "06516"}, ["06516"], ["CT 06516", "06516-1234"]),
    ("written-forms", {"must_include": ["Forbes Avenue", "Noir\u00e9"]}, ["Forbes Avenue, Noir\u00e9"],
     ["Forbes Ave., Noire", "FORBES AVE and Noire"]),
    ("written-forms", {"must_include": ["Ann Lee: 70", "Bob: 5"]}, ["Ann Lee: 70, Bob: 5"],
     ["Ann Lee (70 commits), Bob (5 commits)", "Ann Lee with 70, Bob with 5"]),
    ("written-forms", {"must_include": ["16x24"]}, ["16x24"], ["16 x 24 inches", "16 by 24"]),
    ("whole-sentences", {"exact_match": "Acme"}, ["Acme"],
     ["It is Acme.", "The brand asked for is **Acme**.", "Acme, by far"]),
    ("whole-sentences", {"exact_match": "http://x.test/"}, ["http://x.test/"], ["http://x.test", "See http://x.test."]),
    ("site-hosts", {"exact_match": "ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"},
     ["ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"],
     ["ssh://git@gitlab.test:22/a/b.git", "git@gitlab.test:a/b.git", "ssh://git@10.0.0.1/a/b.git"]),
    ("corrections", {"must_include": ["Completed"], "corrected": {"must_include": ["Complete"]}},
     ["Completed"], ["Complete"]),
]  # fmt: skip


@each_case(
    ("reference", "intent", "answer"),
    [
        ("0", "How many reviews mention it?", "There are no reviews that mention it."),
        ("0", "How many commits did Ann make?", "None."),
        ("0", "How many commits did Ann make?", "Ann didn't make any commits."),
        ("0", "How much did I spend on food?", "$0.00"),
        ("2", "How many commits did Ann make?", "Ann committed twice."),
        ("36.39", "What is the grand total?", "USD36.39"),
        ("36.39", "What is the grand total?", "thirty-six dollars and thirty-nine cents"),
        ("182.4", "What is the total of the last 2 orders?", "$100.00 + $82.40 = $182.40"),
        ("182.4", "What is the total of the last 2 orders?", "Total: $182.40 ($100.00 and $82.40)"),
        ("2", "How many reviews mention it?", "Out of 351 reviews, two do."),
        ("5", "How many pending reviews are there?", "Approved: 346, Pending: 5, Not approved: 0"),
        (
            "14",
            "How many commits did Eric make between Feb 2023 and May 2023?",
            "In 2022 there were 3 commits, but 14 then.",
        ),
        ("299", "Get the order ID of the newest pending order", "#000000299"),
        ("170", "Get the order number of my cancelled order", "Your cancelled order is number 000000170."),
        ("1", "How many commits did Eric and Kilian make?", "Kilian made one commit and Eric made none: 1 in total."),
        ("406.53", "How much refund should I expect?", "You get $406.53, including the shipping fee of $15."),
        ("-79.939", "Tell me the coordinates of the Caf\u00e9", "longitude 79.93974\u00b0 W"),
    ],
)
def test_natural_numbers(reference: str, intent: str, answer: str) -> None:
    made = task(f"- string_match: {json.dumps({'must_include': [reference]})}", intent=intent)
    assert judge(made, evidence(answer), grading=RULES_ALONE).passed is True


@each_case(
    ("reference", "intent", "answer"),
    [
        ("0", "How many reviews mention it?", "No information was available."),
        ("0", "How many reviews mention it?", "No reviews in April, but 3 in May."),
        ("346", "How many reviews are approved?", "346 reviews are not approved."),
        ("778.2", "Get the total of the last 5 non-cancelled orders", "$778.20 is the total of the cancelled orders."),
        ("1", "How many commits did they make?", "Eric made 3 and Kilian made 1, hence 4 in total."),
        ("14", "How many commits did Eric make in May 2023?", "Eric made 14 commits in 2022."),
        ("265.69", "How much did I spend?", "265.69 items"),
        ("36.39", "What is the grand total?", "36.39 euros"),
        ("9", "What's the total number of items sold in the last 2 orders?", "9 orders"),
        ("16", "How many commits did Nic make?", "16 people made commits"),
        ("0", "How many commits did Philip make?", "There is no user Philip."),
        ("36.39", "What is the grand total?", "about 36.39 million"),
    ],
)
def test_numbers_of_something_else(reference: str, intent: str, answer: str) -> None:
    made = task(f"- string_match: {json.dumps({'must_include': [reference]})}", intent=intent)
    assert judge(made, evidence(answer), grading=RULES_ALONE).passed is False


@each_case(
    ("answer", "holds"),
    [
        ("Billing name: John Lee", True),
        ("Shipping name: John Lee; billing name: Grace Nguyen", False),
        ("John Lee's mother", False),
        ("John Lee is happy; the one is Ann", False),
        ("John Lee paid the bill.", True),
        ("Grace comes first, John Lee second", False),
        ("Grace has more orders than John Lee", False),
        ("It is none other than John Lee", True),
        ("John Lee-Smith", False),
        ("John Lee, 500+ orders", True),
    ],
)
def test_the_one_name_asked_for(answer: str, holds: bool) -> None:
    made = task("- string_match: {exact_match: John Lee}", intent="Get the billing name of the oldest order")
    assert judge(made, evidence(answer), grading=RULES_ALONE).passed is holds


@each_case(
    ("reference", "answer", "holds"),
    [
        ("Yes", "It is already closed.", True),
        ("Yes", "Yes, no problem.", True),
        ("Yes", "Yes, it is open.", False),
        ("No", "It's still open.", True),
        ("No", "No answer could be determined.", False),
        ("No", "The issue is not closed", True),
    ],
)
def test_yes_and_no_by_what_is_said(reference: str, answer: str, holds: bool) -> None:
    made = task(
        f"- string_match: {{exact_match: '{reference}'}}", intent="Open my latest issue to check if it is closed"
    )
    assert judge(made, evidence(answer), grading=RULES_ALONE).passed is holds


ADDRESS = "Ann Hall, 5, Elm Street, Troy, 12345"


@each_case(
    ("spec", "answer", "holds"),
    [
        ({"exact_match": ADDRESS}, "Just one qualifies:\n\n**Ann Hall**\n5, Elm Street, Troy, 12345", True),
        ({"exact_match": ADDRESS}, '{"hall": [{"name": "Ann Hall", "address": "5, Elm Street, Troy, 12345"}]}', True),
        ({"exact_match": ADDRESS}, "- Hall: Ann Hall\n- Street: 5, Elm Street\n- City: Troy\n- Code: 12345", True),
        ({"exact_match": ADDRESS}, "Ann Hall, 5, Elm Street, Troy, 12345 and Bob Barn, 6, Oak Street", False),
        ({"exact_match": ADDRESS}, "It isn't Ann Hall, 5, Elm Street, Troy, 12345", False),
        ({"must_include": [ADDRESS]}, "**Ann Hall** – 5, Elm Street, Troy, 12345", True),
        ({"must_include": [ADDRESS]}, "Ann Hall (full address: 5, Elm Street, Troy, 12345)", True),
        ({"must_include": [ADDRESS]}, f"{ADDRESS} is 75 km away and therefore does not qualify.", False),
        ({"must_include": ["Ann Lee"]}, '{"customer": {"first_name": "Ann", "last_name": "Lee"}}', True),
        ({"must_include": ["Ann Lee"]}, '{"customer": {"first_name": "Lee", "last_name": "Ann"}}', False),
    ],
)
def test_addresses_and_names_in_parts(spec: object, answer: str, holds: bool) -> None:
    made = task(f"- string_match: {json.dumps(spec)}", intent="Tell me the full address of all halls in reach")
    assert judge(made, evidence(answer), grading=RULES_ALONE).passed is holds


def test_names_beyond_those_asked_for() -> None:
    made = task("- string_match: {must_include: [Ann, Bob]}", intent="Which customers complain?")
    judged = [
        judge(made, evidence(answer), grading=RULES_ALONE).passed
        for answer in ("Ann and Bob", "Ann, Bob and Eve", "- Ann\n- Bob\n- Eve", "Bob, and Ann too; Eve is happy")
    ]
    assert judged == [True, False, False, True]


@each_case(("rule", "spec", "kept", "changed"), REPAIRS)
def test_repairs(rule: str, spec: object, kept: list[str], changed: list[str]) -> None:
    """What was right stays right; what a rule is there for it does by itself, in the direction that it declares."""
    alone = Grading(name="repaired", rules=frozenset({rule}))
    after = {"tightens": False, "loosens": True}.get(RULES[rule].effect)
    for answer in kept:
        assert (passes(spec, answer), answer) == (True, answer)
        assert (passes(spec, answer, ORIGINAL), answer) == (True, answer)
    for answer in changed:
        assert (passes(spec, answer, alone), answer) == (passes(spec, answer), answer)
        assert (passes(spec, answer), answer) != (passes(spec, answer, ORIGINAL), answer)
        assert after is None or passes(spec, answer) is after


@each_case(
    ("spec", "answer"),
    [
        ({"exact_match": "06516"}, "6516"),
        ({"exact_match": "git clone ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"}, "git clone ssh://git@x:22/a/c.git"),
        ({"must_include": ["0"]}, "10"),
        ({"must_include": ["0"]}, "4 reviews, none of them 0-star, rated 0/5, the 0th"),
        ({"must_include": ["65 |OR| 3"]}, "3.1"),
        ({"must_include": ["65 |OR| 3"]}, "65 |OR| 3"),
        ({"must_include": ["6"]}, "the last at 12:06"),
        ({"must_include": ["6"]}, "on Mar 06, 2023"),
        ({"must_include": ["6"]}, "I looked at six pages and found none"),
        ({"must_include": ["1"]}, "no one but Eric"),
        ({"must_include": ["2"]}, "zero, one, two, three, four"),
        ({"must_include": ["2"]}, "0|1|2|3"),
        ({"must_include": ["2"]}, "1 or 2 or 3"),
        ({"must_include": ["346"]}, "3,46"),
        ({"must_include": ["346"]}, "34,6 kg"),
        ({"must_include": ["2.0km"]}, "12.0 km"),
        ({"must_include": ["36.39"]}, "$34.39, $35.39, $36.39, $37.39"),
        ({"must_include": ["36.39"]}, "- $35.39\n- $36.39\n- $37.39"),
        ({"must_include": ["16"]}, "-16"),
        ({"must_include": ["16"]}, "16-17"),
        ({"must_include": ["16"]}, "10/16/2023"),
        ({"must_include": ["16"]}, "99:16"),
        ({"must_include": ["148"]}, "148k"),
        ({"must_include": ["Yes"]}, "yes or no, depending"),
        ({"exact_match": "Yes"}, "Yes, no, maybe"),
        ({"exact_match": "Acme"}, "It isn't Acme."),
        ({"exact_match": "Acme"}, "Acme, Bolt and Coil"),
        ({"exact_match": "Acme"}, "- Acme\n- Bolt"),
        ({"exact_match": "Acme"}, "Acme Zero"),
        ({"exact_match": "Acme"}, "Bolt is the best, Acme comes second."),
        ({"exact_match": "4125785000"}, "412-578-5001"),
    ],
)
def test_repairs_do_not_pass_what_is_wrong(spec: object, answer: str) -> None:
    assert passes(spec, answer) is False


@each_case("key", ["must_include", "exact_match"])
@each_case("listed", ["({})", "[{}]", "{{{}}}", "the {},", "all {}, "])
@each_case(
    ("wanted", "candidates"),
    [
        ("37", [str(number) for number in range(1, 101)]),
        ("36.39", [f"36.{cents:02}" for cents in range(100)]),
    ],
)
def test_lists_of_candidates_fail_however_they_are_marked(
    key: str, listed: str, wanted: str, candidates: list[str]
) -> None:
    spec = {key: [wanted] if key == "must_include" else wanted}
    for between in (" ", "", "\n", " or "):
        answer = between.join(listed.format(each) for each in candidates)
        assert (answer[:40], passes(spec, answer)) == (answer[:40], False)


@each_case("answer", ["N/A: {}", "N/A ({})", "**N/A** - {}", "Not achievable. {}", "Answer: N/A, {}"])
@each_case("wanted", ["36.39", "Ada Byron", "1.7km", "yes", "0"])
def test_who_declines_states_no_value(answer: str, wanted: str) -> None:
    assert passes({"must_include": [wanted]}, answer.format(wanted)) is False
    assert passes({"exact_match": wanted}, answer.format(wanted)) is False


def test_an_alternative_alone_lets_nothing_wrong_pass() -> None:
    alone = Grading(name="repaired", rules=frozenset({"string-alternatives"}))
    for answer in ("The rating is not 3 but 4 stars.", "either 2, 3 or 4", "13"):
        assert passes({"must_include": ["65 |OR| 3"]}, answer, alone) is False


def test_names_in_brackets_are_a_list() -> None:
    names = "(Ada Byron) (Bob Hale) (Cy Moss)"
    assert passes({"exact_match": "Ada Byron"}, names) is False
    assert passes({"exact_match": "Bob Hale"}, names.replace(" (", "(")) is False
    assert passes({"exact_match": "Bob Hale"}, names.replace("(", "[").replace(")", "]")) is False


@each_case("unit", ["7", "a", "\u00bd", "12 ", "1-", "Ann ", "Ann, ", "6 or ", "(", "*", "a_", "@", "\n7"])
@each_case(
    "spec",
    [{"must_include": ["6"]}, {"must_include": ["Ann Lee"]}, {"exact_match": "1.7km"}, {"exact_match": "Ann Lee"}],
)
def test_floods_are_failed_without_reading_them(spec: object, unit: str) -> None:
    """Read word by word these would take minutes; with and without the rule that fails them for their length."""
    answer = (unit * 100_000)[:100_000]
    assert passes(spec, answer) is False
    rest = Grading(name="repaired", rules=frozenset(RULES) - {"shotgun"})
    assert passes(spec, answer, rest) is passes(spec, answer, ORIGINAL)
    assert passes(spec, answer[:1900]) is False


def test_words_of_the_harness_are_no_answer() -> None:
    facts: Any = {"stop_reason": "repeated", "urls": ["http://x/"] * 3}
    assert graded({"must_include": ["3"]}, None, ORIGINAL, **facts).passed is True
    assert graded({"must_include": ["3"]}, None, RULES_ALONE, **facts).passed is False
    assert (
        graded({"must_include": ["5"]}, None, ORIGINAL, stop_reason="max_steps", urls=["http://x/"] * 5).passed is True
    )
    invalid = graded({"must_include": ["failed to parse"]}, None, ORIGINAL, stop_reason="invalid")
    assert invalid.passed is True
