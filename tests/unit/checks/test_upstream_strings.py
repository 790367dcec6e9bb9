"""The kind ``string_match``: the original's rules to the letter, and each of their repairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, Grading, Verdict, find_grading, judge, judge_all
from pytest_webarena.checks.asking import Decision, Grade, JudgeOff, JudgeUnreadable, Question
from pytest_webarena.checks.upstream.sentences import sentences
from pytest_webarena.checks.upstream.text import clean, includes
from pytest_webarena.checks.upstream.tokens import has_token
from pytest_webarena.errors import JudgeError, TaskFileError

from .helpers import evidence, task


class Judge:
    """A judge model that replies what it is told to."""

    def __init__(self, *replies: str, decision: Decision = "correct", error: Exception | None = None) -> None:
        self.replies = replies
        self.decision = decision
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        return Grade(decision=self.decision, replies=self.replies, model="m", prompt="p@1", temperature=0.0)


def graded(
    spec: object, answer: str | None, grading: Grading = REPAIRED, *, asker: Judge | None = None, **facts: Any
) -> Verdict:
    """The verdict on one answer."""
    made = task(f"- string_match: {json.dumps(spec)}", intent="Who asks on __REDDIT__?")
    return judge(made, evidence(answer, **facts), grading=grading, asker=asker)


def passes(spec: object, answer: str, grading: Grading = REPAIRED) -> bool | None:
    return graded(spec, answer, grading).passed


def test_clean_takes_one_pair_of_quotes_off() -> None:
    assert [clean(text) for text in (" 'A' ", "\"'a'\"", "'", "''a'", "' a '")] == ["a", "'a'", "", "'a", " a "]
    assert clean(" 'A' ", strip=False) == " 'a' "


@pytest.mark.parametrize("answer", ["0", "0 reviews", "is 0.", "$0", "0%", "(0)", "0,", "it is 0. 5 more"])
def test_a_digit_alone_is_a_word(answer: str) -> None:
    assert passes({"must_include": ["0"]}, answer, ORIGINAL) is True


@pytest.mark.parametrize("answer", ["$0.00", "0/5", "10", "0th", "0-star", "0.0", "a0", "it is 0. the end", ""])
def test_a_digit_that_is_part_of_a_word(answer: str) -> None:
    assert passes({"must_include": ["0"]}, answer, ORIGINAL) is False


def test_sentences_decide_about_full_stops() -> None:
    assert list(sentences('there are 0. the end. "5." and so on')) == ["there are 0. the end.", '"5."', "and so on"]
    assert has_token("0", "it is 0. 5 are left")
    assert not has_token("0", "it is 0. they are left")
    assert list(sentences("meet dr. who at 5 p.m. ok")) == ["meet dr. who at 5 p.m. ok"]


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
    ("string-alternatives", {"must_include": ["65 |OR| 3"]}, ["65 |OR| 3"], ["65", "3", "It is 65%", "3 stars"]),
    ("whole-numbers", {"must_include": ["170"]}, ["170", "000000170", "$170", "170km", "170, or so", "#170"], ["1170"]),
    ("whole-numbers", {"must_include": ["36.39"]}, ["$36.39", "36.39."], ["136.395", "236.39", "36.391"]),
    ("whole-numbers", {"must_include": ["40.442", "-79.939"]}, ["40.442, -79.939", "40.44278,-79.93957"], []),
    ("whole-numbers", {"must_include": ["25"]}, ["25", "25 in total", "it's 25!"], ["1925", "25.5", "2.25", "16x25x3"]),
    ("number-values", {"must_include": ["0"]}, ["0", "$0", "0 reviews"], ["$0.00", "0.0", "zero"]),
    ("number-values", {"must_include": ["3053.97"]}, ["3053.97", "$3053.97"], ["$3,053.97", "3,053.970"]),
    ("number-values", {"must_include": ["745.00"]}, ["745.00"], ["$745"]),
    ("number-values", {"exact_match": "7"}, ["7"], ["7.0"]),
    ("whole-words", {"must_include": ["Yes"]}, ["Yes", "yes.", "Well, yes, it is"], ["yesterday"]),
    ("whole-words", {"must_include": ["Lo", "Chen"]}, ["Lo and Chen", "Lo's, Chen's"], ["Lola Chen"]),
    ("whole-words", {"must_include": ["Dry", "Top"]}, ["dry, top", "drying out; tops"], []),
    ("shotgun", {"must_include": ["Yes"]}, ["Yes", "Yes, there is no problem", "No doubt: yes"],
     ["yes/no", "Yes or no."]),
    ("shotgun", {"must_include": ["3"]}, ["3", "3 of 12 in 2022", "Of 1, 2, 5, 7 and 9 only: 3"], ["0 1 2 3 4 5"]),
    ("shotgun", {"must_include": ["Hyatt"]}, ["Hyatt", "Hyatt " + 150 * "is good "], ["Hyatt " + 400 * "is good "]),
    ("plain-text", {"exact_match": "Don't panic"}, ["don't panic"], ["Don\u2019t  panic."]),
    ("plain-text", {"must_include": ["914km"]}, ["914km", "about 914km away"], ["914 km"]),
    ("site-hosts", {"exact_match": "ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"},
     ["ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"],
     ["ssh://git@gitlab.test:22/a/b.git", "git@gitlab.test:a/b.git", "ssh://git@10.0.0.1/a/b.git"]),
    ("corrections", {"must_include": ["Completed"], "corrected": {"must_include": ["Complete"]}},
     ["Completed"], ["Complete"]),
]  # fmt: skip


@pytest.mark.parametrize(("rule", "spec", "kept", "changed"), REPAIRS)
def test_repairs(rule: str, spec: object, kept: list[str], changed: list[str]) -> None:
    """What was right stays right; what a rule is there for depends on that rule."""
    without = find_grading("repaired", [rule])
    for answer in kept:
        assert (passes(spec, answer), answer) == (True, answer)
        assert (passes(spec, answer, ORIGINAL), answer) == (True, answer)
    for answer in changed:
        assert (passes(spec, answer), answer) != (passes(spec, answer, without), answer)
        assert (passes(spec, answer), answer) != (passes(spec, answer, ORIGINAL), answer)


@pytest.mark.parametrize(
    ("spec", "answer"),
    [
        ({"exact_match": "06516"}, "6516"),
        ({"exact_match": "git clone ssh://git@metis.lti.cs.cmu.edu:2222/a/b.git"}, "git clone ssh://git@x:22/a/c.git"),
        ({"must_include": ["0"]}, "10"),
        ({"must_include": ["0"]}, "4 reviews, none of them 0-star, rated 0/5, the 0th"),
        ({"must_include": ["65 |OR| 3"]}, "3.1"),
    ],
)
def test_repairs_do_not_pass_what_is_wrong(spec: object, answer: str) -> None:
    assert passes(spec, answer) is False


def test_words_of_the_harness_are_no_answer() -> None:
    facts: Any = {"stop_reason": "repeated", "urls": ["http://x/"] * 3}
    assert graded({"must_include": ["3"]}, None, ORIGINAL, **facts).passed is True
    assert graded({"must_include": ["3"]}, None, REPAIRED, **facts).passed is False
    assert (
        graded({"must_include": ["5"]}, None, ORIGINAL, stop_reason="max_steps", urls=["http://x/"] * 5).passed is True
    )
    invalid = graded({"must_include": ["failed to parse"]}, None, ORIGINAL, stop_reason="invalid")
    assert invalid.passed is True


@pytest.mark.parametrize(
    ("reply", "decision", "original", "repaired"),
    [
        ("GRADE: correct", "correct", True, True),
        ("That is not correct.\nGRADE: incorrect", "incorrect", False, False),
        ("It is not correct", "incorrect", True, False),
        ("Partially correct", "partially_correct", False, False),
        ("Well done", "correct", None, True),
    ],
)
def test_replies_of_the_judge(reply: str, decision: Decision, original: bool | None, repaired: bool) -> None:
    spec = {"fuzzy_match": ["Ann"]}
    judged = judge_all(
        task(f"- string_match: {json.dumps(spec)}", intent="Who asks on __REDDIT__?"),
        evidence(' "It was ANN" '),
        headline=ORIGINAL,
        asker=(asker := Judge(reply, decision=decision)),
    )
    assert [verdict.passed for verdict in judged.values()] == [original, repaired]
    question = Question(
        kind="equivalent", intent="Who asks on http://reddit.test?", reference="Ann", answer="it was ann"
    )
    assert asker.asked == [question, question]
    assert original is None or reply.splitlines()[0] in str(judged["original"].results[0]) or not original


def test_the_reference_itself_needs_no_judge_but_in_the_original() -> None:
    asker = Judge("GRADE: incorrect", decision="incorrect")
    spec = {"fuzzy_match": ["It\u2019s  too small"]}
    said = ' "it\'s too SMALL." '
    assert graded(spec, said, asker=asker).passed is True
    assert graded({"fuzzy_match": "N/A", "note": "There is no phone"}, "There is no phone.", asker=asker).passed is True
    assert graded(spec, said).passed is True, "with --judge=none too"
    assert asker.asked == []
    for grading in (ORIGINAL, find_grading("repaired", ["equal-answers"])):
        assert graded(spec, said, grading, asker=asker).passed is False
    assert len(asker.asked) == 2
    assert graded(spec, "small", asker=asker).passed is False
    assert graded({"fuzzy_match": [""]}, "", asker=asker).passed is False
    assert len(asker.asked) == 3


def test_unachievable_tasks() -> None:
    spec = {"fuzzy_match": "N/A", "note": "There is no phone"}
    assert graded(spec, "'n/a'", ORIGINAL).passed is True
    same = Judge("same", decision="correct")
    assert graded(spec, "no phone", ORIGINAL, asker=same).passed is True
    assert [(each.kind, each.reference) for each in same.asked] == [("unachievable", "There is no phone")]
    assert graded(spec, "no phone", ORIGINAL, asker=Judge("not the same", decision="incorrect")).passed is True
    assert graded(spec, "no phone", asker=Judge("not the same", decision="incorrect")).passed is False
    assert graded({**spec, "exact_match": "x"}, "no phone", ORIGINAL, asker=Judge("same")).passed is True


def test_what_can_not_be_judged_is_no_verdict() -> None:
    spec = {"fuzzy_match": ["Ann", "Bob"]}
    without = graded(spec, "Ann")
    assert (without.passed, without.cause) == (None, "judge")
    assert "--judge" in without.results[0].why
    off = graded(spec, "Ann", asker=Judge(error=JudgeOff("below the bar")))
    assert (off.passed, off.cause, off.results[0].why) == (None, "judge", "below the bar")
    gone = graded(spec, "Ann", asker=Judge(error=JudgeError("no answer")))
    assert (gone.passed, gone.cause) == (None, "judge")
    unreadable = Judge(error=JudgeUnreadable("three replies, no grade", replies=("So correct!", "x")))
    assert graded(spec, "Ann", asker=unreadable).passed is None
    assert graded(spec, "Ann", ORIGINAL, asker=unreadable).passed is True


def test_a_failure_decides_before_the_judge_is_asked() -> None:
    spec = {"must_include": ["Hyatt"], "fuzzy_match": ["5 min"]}
    asker = Judge(error=JudgeError("no answer"))
    assert graded(spec, "Hilton", asker=asker).passed is False
    assert asker.asked == []
    assert graded(spec, "Hilton", ORIGINAL, asker=asker).passed is None
    assert graded(spec, "Hilton", find_grading("repaired", ["failures-decide"]), asker=asker).passed is None


def test_an_error_anywhere_is_an_error_in_the_original_only() -> None:
    made = task("- url_match: {reference_url: __REDDIT__/x}\n- string_match: {fuzzy_match: [a]}")
    recorded = evidence("a", url="http://reddit.test/y")
    assert {name: each.passed for name, each in judge_all(made, recorded, headline=ORIGINAL).items()} == {
        "original": None,
        "repaired": False,
    }


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("{}", "expected a reference answer, found none"),
        ("{must_include: Hyatt}", "expected a list of texts, found 'Hyatt'"),
        ("{fuzzy_match: maybe}", "expected 'N/A'"),
        ("{exakt_match: a}", "did you mean 'exact_match'"),
        ("{required_values: ['about 5']}", "expected a comparison"),
    ],
)
def test_malformed(spec: str, message: str) -> None:
    with pytest.raises(TaskFileError) as caught:
        task(f"- string_match: {spec}")
    assert message in str(caught.value)


def test_includes_counts_words_in_the_reference() -> None:
    assert includes("a b", "xa bx", tokens=True)
    assert not includes("a", "xa bx", tokens=True)
