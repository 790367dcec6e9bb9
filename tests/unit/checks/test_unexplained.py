"""The rule ``unsure``: what the rules can't vouch for is asked of a judge model, or undecided."""

from __future__ import annotations

import json

import pytest

from pytest_webarena.checks import ORIGINAL, REPAIRED, Verdict, find_grading, judge
from pytest_webarena.checks.judge_protocol import Decision, Grade, JudgeOff, Question
from pytest_webarena.checks.upstream.stated_numbers import question_of
from pytest_webarena.checks.upstream.unexplained import doubt, unexplained
from pytest_webarena.errors import JudgeError
from tests.cases import each_case

from .helpers import evidence, task

PENDING = "How many reviews are pending?"
MORE = "5 reviews are pending, says Ann, but Bob is asleep"
"""An answer that the rules read as 5, with more in it than they know."""


class Judge:
    """A judge model that says what it is told to."""

    def __init__(self, decision: Decision = "correct", error: Exception | None = None) -> None:
        self.decision = decision
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        return Grade(decision=self.decision, replies=("so",), model="m", prompt="p@1", temperature=0.0)


def judged(spec: object, answer: str, intent: str = PENDING, asker: Judge | None = None, text: str = "") -> Verdict:
    made = task(text or f"- string_match: {json.dumps(spec)}", intent=intent)
    return judge(made, evidence(answer), grading=REPAIRED, asker=asker)


@each_case(
    ("answer", "left"),
    [
        ("5", ()),
        ("There are **5** pending reviews.", ()),
        ("I opened the grid and filtered by status: 5 of 351 reviews are pending.", ()),
        ("Five reviews (as of 5/4/2023)", ()),
        ("5 reviews; Ann knitted them", ("ann", "knitted")),
        ("5, of which 3 are new", ("3",)),
        ("5 are, but they are old", ("but", "old")),
    ],
)
def test_what_is_left_over(answer: str, left: tuple[str, ...]) -> None:
    found = unexplained(answer, ["5"], question_of(PENDING))
    assert sorted((*found.names, *found.numbers, *found.turns, *found.words)) == sorted(left)
    assert found.complete


@each_case(
    ("references", "answer"),
    [
        (["914 km"], "It's 914 km (568 miles, about 9 hours) to the Massachusetts Institute of Technology."),
        (["Ann", "Bob", "Eve"], "1. Ann\n2. Bob\n3. Eve"),
        (["Ann", "Bob", "Eve"], "| # | Who |\n|---|---|\n| 1 | Ann |\n| 2 | Bob |\n| 3 | Eve |"),
        (["10.5"], "4.5 + 3 + 3 = 10.5"),
        (["Ann", "Bob"], "The second is Bob, the first Ann."),
    ],
)
def test_what_explains_itself(references: list[str], answer: str) -> None:
    found = unexplained(answer, references, question_of("How far is it from here to MIT?"))
    assert (found.names, found.numbers, found.turns, found.complete) == ((), (), (), True)


SPENT = "How much did I spend in May? They gave me a 20% discount on all."


@each_case(
    ("question", "answer"),
    [
        (PENDING, "Each of them has 5 pending reviews."),
        (PENDING, "The average is 5 pending reviews."),
        (PENDING, "5 dozen are pending."),
        ("What is the difference of the pending and the approved?", "The approved ones sum up to 5."),
        (SPENT, "The discount in May was 5."),
        (PENDING, "Bangor has 5 pending reviews."),
        (PENDING, "I found that Bangor has 5 pending reviews."),
        (PENDING, "Bangor: 5 pending reviews"),
        (PENDING, "The pending reviews of the mayor of the town are 5."),
    ],
)
def test_another_measure_or_name_is_doubted(question: str, answer: str) -> None:
    """Also where a sentence begins with it, or tells what was found."""
    assert doubt(answer, ["5"], question_of(question), holds=True, original=True)


def test_what_the_question_says_itself_is_not_doubted() -> None:
    for question, answer in (
        ("What is the average price?", "The average price is 5."),
        (PENDING, "In total 5 reviews are pending."),
    ):
        assert doubt(answer, ["5"], question_of(question), holds=True, original=True) == ""


def test_another_date_is_no_detail_where_a_date_is_asked_for() -> None:
    asked = question_of("When did I order last?")
    assert unexplained("May 3, 2023; June 7", ["May 3, 2023"], asked).numbers == ("7",)
    assert unexplained("Acme; June 7", ["Acme"], asked).numbers == ()


@pytest.mark.parametrize("original", [True, False])
def test_a_single_word_that_is_not_explained_is_doubted(original: bool) -> None:
    """It may say of which ones, of what time, in which state: "346 of them still wait to be approved"."""
    asked = question_of(PENDING)
    assert doubt("5 ones are pending", ["5"], asked, holds=True, original=original) == ""
    assert "'old'" in doubt("5 old ones are pending", ["5"], asked, holds=True, original=original)


ROUTE = "The order is Acme, Bolt Hall, Cog Hall"


@each_case(
    ("question", "references", "answer"),
    [
        (PENDING, ["5"], "5 reviews are pending, though old"),
        (PENDING, ["5"], "I saw 12 approved ones before; so the pending ones: 5"),
        (PENDING, ["0"], "There is not a single pending one"),
        (PENDING, ["1"], "There was just the one"),
        ("What did I spend?", ["36.39"], "36.4 dollars"),
        ("What did I spend?", ["359.546"], "USD 359.55"),
        ("Where is it?", ["40.444", "-79.948"], "lat 40.4443 / lon -79.94889"),
        ("In which order are Acme, Bolt Hall and Cog Hall best visited?", [ROUTE], "Acme -> Bolt -> Cog"),
        ("Which park is closest to Bangor?", ["Acadia Park"], "From Bangor, Acadia is it"),
        ("Check if it can be reached in one hour", ["Yes"], "By car that works out well"),
    ],
)
def test_a_fail_is_doubted_when_all_of_it_stands_there_in_some_form(
    question: str, references: list[str], answer: str
) -> None:
    """And nothing is given or said against it that the rules know for sure."""
    for original in (True, False):
        assert doubt(answer, references, question_of(question), holds=False, original=original)


@each_case(
    ("question", "references", "answer"),
    [
        (PENDING, ["5"], "6"),
        (PENDING, ["5"], "I can't tell; 5?"),
        (PENDING, ["5"], "5 or a few of them"),
        (PENDING, ["5"], "Not 5"),
        (PENDING, ["5"], "5 are new, 6 are pending"),
        (PENDING, ["5"], ""),
        ("What did I spend?", ["36.39"], "37 dollars"),
        ("Which shops are open?", ["Acme", "Bolt"], "Acme"),
        ("Check if it is closed", ["Yes"], "It is still open"),
        ("Check if it is closed", ["No"], "Yes"),
    ],
)
def test_a_fail_stays_one_that_lacks_something_speaks_against_it_or_gives_another(
    question: str, references: list[str], answer: str
) -> None:
    for original in (True, False):
        assert doubt(answer, references, question_of(question), holds=False, original=original) == ""


def test_a_name_with_words_of_its_own_may_be_another_one_where_the_original_passes() -> None:
    asked = question_of(PENDING)
    for original in (True, False):
        found = doubt("5 old reviews by Ann are pending", ["5"], asked, holds=False, original=original)
        assert bool(found) is not original


def test_a_yes_that_only_follows_is_doubted() -> None:
    """The original, which looks for the word, fails it."""
    asked = question_of("Check if it can be reached in one hour by car")
    for answer in ("It can", "By car it takes less than one hour", "You can do it in one hour by car"):
        assert doubt(answer, ["Yes"], asked, holds=True, original=False)
    assert doubt("It can be reached by car in one hour", ["Yes"], asked, holds=True, original=False) == ""


def test_an_answer_that_is_known_to_be_right_is_not_doubted() -> None:
    """It says the title of a post, which neither the question nor the reference of task 28 does."""
    intent = (
        "Tell me the count of comments that have received more downvotes than upvotes for the user who made the "
        "latest post on the Worcester forum."
    )
    spec = {"must_include": ["0"]}
    assert judged(spec, "- mineinhusdson\n- Best place for a foot rub?\n- 0", intent).passed is True
    assert judged(spec, "- mineinhusdson\n- Best place for a foot?\n- 0", intent).judgeable


def test_an_answer_that_says_more_is_undecided() -> None:
    made = task("- string_match: {must_include: ['5']}", intent=PENDING)
    assert judge(made, evidence(MORE), grading=find_grading("repaired", ["unsure"])).passed
    verdict = judged({"must_include": ["5"]}, MORE)
    assert (verdict.passed, verdict.judgeable, verdict.known_score) == (None, True, 0.0)
    why = verdict.results[0].why
    assert why.startswith("it says more than the rules can vouch for: 'ann', 'bob', 'but', 'asleep'; ")
    assert "there is none (--judge)" in why


def test_an_answer_that_fails_without_a_reason_is_undecided() -> None:
    """The reference is there, by its words."""
    verdict = judged({"exact_match": "Carnegie Science Center"}, "Science Center (Carnegie)", "Which museum is it?")
    assert verdict.judgeable
    assert verdict.results[0].why.startswith("all that is asked for stands in it")
    sure = judged({"exact_match": "Carnegie Science Center"}, "The Warhol", "Which museum is it?")
    assert sure.passed is False


def test_negation_of_an_undecided_answer_is_undecided() -> None:
    inverted = judged(None, MORE, text="- not: {string_match: {must_include: ['5']}}")
    assert (inverted.passed, inverted.judgeable) == (None, True)


@pytest.mark.parametrize(
    ("decision", "passed"), [("correct", True), ("incorrect", False), ("partially_correct", False)]
)
def test_a_judge_decides(decision: Decision, passed: bool) -> None:
    asker = Judge(decision)
    verdict = judged({"must_include": ["5 |OR| 6"]}, MORE, asker=asker)
    assert verdict.passed is passed
    assert verdict.results[0].why.startswith("beyond the rules (")
    assert [(each.kind, each.reference) for each in asker.asked] == [("equivalent", "5 or 6")]


def test_a_judge_is_not_asked_about_what_is_sure() -> None:
    asker = Judge()
    assert judged({"must_include": ["5"]}, "5 reviews are pending.", asker=asker).passed is True
    assert judged({"must_include": ["5"]}, "6 reviews are pending.", asker=asker).passed is False
    assert asker.asked == []


@pytest.mark.parametrize("error", [JudgeOff("the judge does not reach the bar"), JudgeError("no connection")])
def test_a_judge_that_can_not_say_leaves_it_undecided(error: Exception) -> None:
    verdict = judged({"must_include": ["5"]}, MORE, asker=Judge(error=error))
    assert (verdict.passed, verdict.judgeable) == (None, True)
    assert str(error) in verdict.results[0].why


def test_a_copy_in_another_case_is_no_copy_of_a_token() -> None:
    """A judge is asked about what is unsure, even where the answer is the reference but for case."""
    asker = Judge("incorrect")
    assert judged({"exact_match": "glft_aB3dE5fG7hK"}, "glft_ab3de5fg7hk", "What is my token?", asker).passed is False


def test_other_gradings_and_kinds_of_reference_are_left_alone() -> None:
    made = task("- string_match: {must_include: ['5']}", intent=PENDING)
    answer = evidence(MORE)
    assert judge(made, answer, grading=ORIGINAL).passed is True
    fuzzy = judge(task("- string_match: {fuzzy_match: [it is old]}", intent="Why?"), answer, grading=REPAIRED)
    assert fuzzy.results[0].cause == "judge"


def test_answers_that_are_long_cost_little() -> None:
    """Nor do those made to: names, brackets, numbers."""
    for answer in ("Ab " * 2600, "( " * 3900, "1 " * 3900, "5 of all the " * 600, "1-" * 3900):
        unexplained(answer, ["5"], question_of("Where is MIT?"))
