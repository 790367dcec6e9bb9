"""The kind ``rubric``: points with evidence, summed by us; a judge that can't be believed gives no verdict."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_webarena.checks import Verdict, judge
from pytest_webarena.checks.computed.quotes import found_in
from pytest_webarena.checks.computed.rubric_files import items_of_text, read_rubric, write_rubric
from pytest_webarena.checks.judge_protocol import Award, Grade, JudgeOff, JudgeUnreadable, Question, RubricItem
from pytest_webarena.checks.text import literal
from pytest_webarena.errors import JudgeError, TaskFileError, UsageError
from pytest_webarena.tasks import Task, load_tasks, parse_tasks
from tests.cases import each_case
from tests.unit.checks.helpers import evidence

ANSWER = "Let n be even, so n = 2k.\nThen n^2 = 4k^2, which 4 divides."
ITEMS = "[{points: 4, what: Writes n as 2k.}, {points: 6, what: Squares it.}]"


class Scripted:
    """A judge that gives these awards, or raises."""

    def __init__(self, *awards: Award, error: Exception | None = None) -> None:
        self.awards = awards
        self.error = error
        self.asked: list[Question] = []

    def ask(self, question: Question) -> Grade:
        self.asked.append(question)
        if self.error is not None:
            raise self.error
        return Grade(
            decision="partially_correct", awards=self.awards, replies=("…",), model="m", prompt="p@1", temperature=0
        )


def award(points: float, quote: str = "") -> Award:
    return Award(points=points, quote=quote)


def task(rubric: str, rest: str = "") -> Task:
    text = f"tasks:\n- {{id: t, intent: Prove it., sites: [], {rest} checks: [{{rubric: {rubric}}}]}}"
    [made] = parse_tasks(text)
    return made


def verdict(asker: Any, *, rubric: str = f"{{items: {ITEMS}}}", answer: str | None = ANSWER, rest: str = "") -> Verdict:
    return judge(task(rubric, rest), evidence(answer), asker=asker)


def test_points_are_summed_by_us_and_the_score_is_their_share() -> None:
    asker = Scripted(award(4, "n = 2k"), award(3, "n^2 = 4k^2"))
    found = verdict(asker)
    assert (found.score, found.passed) == (0.7, False)
    [result] = found.results
    assert [(part.points, part.of, part.quote) for part in result.parts] == [(4, 4, "n = 2k"), (3, 6, "n^2 = 4k^2")]
    assert result.why.startswith("7 of 10 points: item 1 4/4, item 2 3/6")
    [question] = asker.asked
    assert (question.kind, question.answer, question.intent) == ("rubric", ANSWER, "Prove it.")
    assert [item.points for item in question.items] == [4, 6]


def test_full_points_pass() -> None:
    assert verdict(Scripted(award(4, "so n = 2k"), award(6, "which 4 divides"))).passed


@pytest.mark.parametrize(("threshold", "passed"), [(0.7, True), (0.71, False)])
def test_a_threshold_decides_and_the_score_stays_the_share(threshold: float, passed: bool) -> None:
    found = verdict(
        Scripted(award(4, "n = 2k"), award(3, "n^2 = 4k^2")), rubric=f"{{items: {ITEMS}, threshold: {threshold}}}"
    )
    assert (found.score, found.passed) == (0.7, passed)
    assert found.results[0].passed is passed
    again = Verdict.from_json(json.loads(json.dumps(found.to_json())))
    assert again == found


@each_case(
    ("check", "passed", "score"),
    [
        ("{rubric: %s}", True, 0.7),
        ("{all: [{rubric: %s}, {not: {answer: cows}}]}", True, 0.7),
        ("{all: [{rubric: %s}, {answer: cows}]}", False, 0.0),
        ("{any: [{rubric: %s}, {answer: cows}]}", True, 0.7),
    ],
)
def test_a_threshold_holds_inside_combinations(check: str, passed: bool, score: float) -> None:
    rubric = f"{{items: {ITEMS}, threshold: 0.7}}"
    [made] = parse_tasks(f"tasks:\n- {{id: t, intent: Prove it., sites: [], checks: [{check % rubric}]}}")
    found = judge(made, evidence(ANSWER), asker=Scripted(award(4, "n = 2k"), award(3, "n^2 = 4k^2")))
    assert (found.score, found.passed) == (score, passed)


@pytest.mark.parametrize(
    "check",
    [
        "{not: {rubric: %s}}",
        "{not: {any: [{answer: x}, {rubric: %s}]}}",
        "{all: [{answer: x}, {not: {not: {rubric: %s}}}]}",
    ],
)
def test_a_rubric_has_no_contrary(check: str) -> None:
    """Else a judge's made-up quotes, which earn nothing, would earn a pass."""
    with pytest.raises(TaskFileError, match="expected 'not' around checks that hold or don't") as raised:
        parse_tasks(f"tasks:\n- {{id: t, intent: P., sites: [], checks: [{check % f'{{items: {ITEMS}}}'}]}}")
    assert "'rubric' in it" in str(raised.value)


def test_a_threshold_holds_in_a_mean_and_is_told() -> None:
    rubric = f"{{rubric: {{items: {ITEMS}, threshold: 0.7}}, weight: 3}}"
    [made] = parse_tasks(
        f"tasks:\n- {{id: t, intent: Prove it., sites: [], score: mean, checks: [{rubric}, {{not: {{answer: cows}}}}]}}"
    )
    found = judge(made, evidence(ANSWER), asker=Scripted(award(4, "n = 2k"), award(3, "n^2 = 4k^2")))
    assert (found.score, found.passed) == (0.775, True)
    assert "passed: 2 of 2 checks hold, score 0.775\n" in f"{found}\n"
    assert "7 of 10 points" in str(found)


def test_a_quote_that_is_not_in_the_answer_earns_nothing_and_is_told() -> None:
    found = verdict(Scripted(award(4, "n is even by assumption"), award(6)))
    assert (found.score, found.passed) == (0, False)
    assert "item 1 0/4 (4 given, but the quote is not in the answer)" in found.results[0].why
    assert "item 2 0/6 (6 given without a quote)" in found.results[0].why
    assert [part.given for part in found.results[0].parts] == [4, 6]


@each_case(
    ("quote", "answer", "holds"),
    [
        ("n = 2k", ANSWER, True),
        ("N = 2K", ANSWER, False),
        ("Let n be even, so n = 2k. Then n^2", ANSWER, True),
        ('"so n = 2k. Then n^2 = 4k^2"', ANSWER, True),
        ("| so n = 2k.", ANSWER, True),
        ("so n = 2k. | Then n^2", ANSWER, False),
        ("Let n be even ... which 4 divides", ANSWER, False),
        ("n is … even", "n is not even", False),
        ("n is [...] even", "n is not even", False),
        ("it is notable", "it is not able to", False),
        ("we get 10 of them", "we get 1 0 of them", False),
        ("n = 23 here", "n = 2*3 here", False),
        ("n = 2*3 here", "n = 23 here", False),
        ("so f = g here", "so f' = g here", False),
        ("so f = g", "so f = g' here", False),
        ("so f = g", "so 'f = gold', no: f = g", False),
        ("so V = IR holds", "so v = ir holds", False),
        ("x2 = 4", "x² = 4", False),
        ("x1 = 5", "x_1 = 5", False),
        ("so x = n", "so x = n^2", False),
        ("2k is what", "n = -2k is what", False),
        ("2k is what", "5-2k is what", True),
        ("odd numbers are", "xodd numbers are", False),
        ("numbers are odd", "numbers are oddly", False),
        ("= 3.5", "x = 3.54", False),
        ("is 3", "it is 3.5", False),
        ("is 3", "it is 3.", True),
        ("I can", "I can't", False),
        ("'so it is'", "well, so it is.", True),
        ("is even", "we say 'n is even'", True),
        ("so\u00a0n – 1", "so n \u2212 1", True),
        ("我们设", "首先我们设 n", True),
        ("we s\u200bet n", "we set n", True),
        ("n = 3k", ANSWER, False),
        ("", ANSWER, False),
        ("n", ANSWER, True),
        ("2k", "Suppose n = 2k, k whole.", True),
        ("k", "Suppose n = 2k, k whole.", True),
        ("42", "So it is 42.", True),
        ("42", "So it is **42**", True),
        ("2k", "So it is $2k$.", True),
        ("42", r"So it is \boxed{42}.", True),
        ("42", "So it is 42.5", False),
        ("2k", "n = 2k+1", False),
        ("k", "f(k) is", False),
        ("e", "Let us see", False),
        *(("2k is", f"n {sign}2k is", False) for sign in ("= 1/", "= √", "= 3·", "= 3*", "≠ ", "!= ", "= - ", r"\ne ")),
        *(("2k", f"n {sign}2k", False) for sign in ("= 1/", "= √", "= 3 · ", "= 3*", "≠ ", "= -", r"= \sqrt{", "=/= ")),
        *(("n is 2k", f"so n is 2k{end}", False) for end in ("!", "\u2019", "'", "/2", " / 2", "·3", "*3")),
        ("n is 2k", "so ¬(n is 2k)", False),
        ("divisible by 4", "n is not divisible by 4", False),
        ("not divisible by 4", "n is not divisible by 4", True),
        ("n is even", "so n is even!", True),
        ("n = 2k", "we say 'n = 2k'", True),
        ("n is even", "steps: 3\n* n is even", True),
        ("n is even", "steps:\n- n is even", True),
        ("= =", "a = = b", False),
        ("n = 1", "For n=1 it holds", False),
        ("...", ANSWER, False),
        ("42", "42", True),
        (r"\\frac{1}{2}", r"it is \frac{1}{2}", True),
        (r"\frac{1}{2}", r"it is $\frac{1}{2}$", True),
        ("1 + ... + n", "the sum 1 + ... + n is", True),
        ("don\u2019t know", "I don't know", True),
    ],
)
def test_where_a_quote_is_found(quote: str, answer: str, holds: bool) -> None:
    assert found_in(quote, answer) is holds


@pytest.mark.parametrize(
    ("error", "told", "cause"),
    [
        (JudgeOff("below the bar"), "below the bar", "judge"),
        (JudgeUnreadable("no points for item 2", replies=("x",)), "no points for item 2", "judge"),
        (JudgeError("no route"), "no route", "judge"),
    ],
)
def test_a_judge_that_fails_gives_no_verdict(error: Exception, told: str, cause: str) -> None:
    found = verdict(Scripted(error=error))
    assert (found.score, found.passed, found.cause) == (None, None, cause)
    assert told in found.open_because


def test_without_a_judge_there_is_no_verdict() -> None:
    found = verdict(None)
    assert (found.passed, found.cause) == (None, "judge")
    assert "--judge" in found.open_because


@each_case(
    "answer",
    [
        None,
        "",
        "  ",
        "N/A",
        "not possible",
        "...",
        "—",
    ],
)
def test_nothing_and_a_refusal_fail_without_a_judge(answer: str | None) -> None:
    assert verdict(None, answer=answer).passed is False


def test_a_proof_that_begins_like_a_refusal_is_graded() -> None:
    asker = Scripted(award(4, "it were possible"), award(6, "it were possible"))
    answer = "Not possible: suppose it were possible. Then the sum of all the numbers would be odd, and it is 50."
    assert verdict(asker, answer=answer).passed


@each_case(
    "answer",
    [
        "I can't see why, but n = 2k.",
        "I do not know a neater way. Let n = 2k; then n^2 = 4k^2.",
        "Unknown forces act on the stone.",
        "Nothing can move faster than light.",
        "No solution exists.",
        "It is not possible for both to be even.",
        "This can't be proved.",
        "Decline in demand lowers the price.",
        "42",
        "Odd.",
        "4 | n",
    ],
)
def test_short_answers_that_say_something_are_graded(answer: str) -> None:
    asker = Scripted(award(0), award(0))
    assert verdict(asker, answer=answer).passed is False
    assert asker.asked


def test_an_answer_that_misleads_its_judge_is_not_met_and_no_error() -> None:
    found = verdict(Scripted(error=JudgeUnreadable("unreadable", replies=("x",), cause="agent")))
    assert (found.score, found.passed) == (0, False)


def test_the_reference_solution_needs_no_judge() -> None:
    rubric = f"{{items: {ITEMS}, solution: 'Write n = 2k. Its square is 4k^2.'}}"
    found = verdict(None, rubric=rubric, answer="Write n = 2k.\n Its square is 4k^2.")
    assert found.passed
    assert verdict(None, rubric=rubric, answer="write n = 2K. Its square is 4k^2.").passed is None
    squares = f"{{items: {ITEMS}, solution: 'It is 4k².'}}"
    assert verdict(None, rubric=squares, answer="It is 4k2.").passed is None


def test_without_items_there_is_no_verdict_and_it_says_what_to_do() -> None:
    found = verdict(Scripted(), rubric="{solution: So it is.}")
    assert (found.passed, found.cause) == (None, "task")
    assert "webarena judge rubric author" in found.open_because


@pytest.mark.parametrize(
    ("rubric", "told"),
    [
        ("{}", "'items', a 'file' with them, or at least a 'solution'"),
        ("{items: [{points: 0, what: x}]}", "a number above 0"),
        ("{items: [{points: 1}]}", "the key 'what' in an item of a rubric"),
        ("{items: [{points: 1, what: x}], file: a.yaml}", "either 'items' or 'file'"),
        ("{items: [{points: 1, what: x}], threshold: 70}", "a number above 0 and at most 1"),
        ("{file: none.yaml}", "rubric none.yaml: expected a readable file"),
    ],
)
def test_what_is_wrong_with_a_rubric_is_told(tmp_path: Path, rubric: str, told: str) -> None:
    (tmp_path / "a.yaml").write_text(
        f"tasks: [{{id: t, intent: Prove it., sites: [], checks: [{{rubric: {rubric}}}]}}]"
    )
    with pytest.raises(TaskFileError) as raised:
        load_tasks(tmp_path / "a.yaml")
    assert told in str(raised.value)


def test_items_come_from_a_file_beside_the_task(tmp_path: Path) -> None:
    items = (RubricItem(points=4, what="Writes n as 2k: so."), RubricItem(points=6, what="Squares it."))
    write_rubric(tmp_path / "rubrics" / "t.yaml", items, task="t", authored={"model": "m"})
    assert read_rubric(tmp_path / "rubrics" / "t.yaml") == items
    (tmp_path / "a.yaml").write_text(
        "tasks: [{id: t, intent: Prove it., sites: [], checks: [{rubric: {file: rubrics/t.yaml}}]}]"
    )
    [made] = load_tasks(tmp_path / "a.yaml")
    assert made.checks[0].spec.items == items
    same = task("{items: [{points: 4, what: 'Writes n as 2k: so.'}, {points: 6, what: Squares it.}]}")
    assert same.digest == made.digest  # it is what is asked for that counts, not where it stands


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[", "expected"),
        ("[]", "expected a mapping with a list 'items'"),
        ("items: []", "a list of 1 to 40"),
        ("items: [{points: ten, what: x}]", "item 1: expected points above 0"),
        ("items: [{points: 1, what: ''}]", "item 1: expected what earns the points"),
        ("items: [{points: 1, what: x, hint: y}]", "item 1: expected points and what"),
        ("{items: [{points: 1, what: x}], itms: 1}", "found 'itms'"),
        ("{items: [{points: 1, what: x}], schema_version: 2}", "expected schema_version 1"),
    ],
)
def test_each_defect_of_a_rubrics_file_is_told(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "r.yaml").write_text(text)
    with pytest.raises(UsageError, match="rubric r") as raised:
        read_rubric(tmp_path / "r.yaml")
    assert told in str(raised.value)


@each_case(
    ("text", "points"),
    [
        ("1. (2 points) Sets up.\n2. (3 points) Solves.\n3. (5 pts) Concludes.", [2, 3, 5]),
        ("- 4 points: Sets up\n- 6 points: Solves", [4, 6]),
        ("Rubric:\n* Sets up [4 points].\n* Solves (6 pts)\nTotal: 10 points", [4, 6]),
        ("Sets up (4 points)\n  with the right signs\nSolves (6 points)", [4, 6]),
        ("It should set up and then solve.", []),
        ("(4 points) Sets up.\nAnd then?\n(6 points) Solves.", []),
        ("(4 points) Sets up.\n(5 points) Solves.\nTotal: 10 points", []),
        ("", []),
    ],
)
def test_a_rubric_in_lines_is_read_only_when_it_is_clear(text: str, points: Sequence[float]) -> None:
    assert [item.points for item in items_of_text(text)] == points


PLAIN = st.characters(exclude_categories=["Cs", "Sm"], exclude_characters="/*\u00b7!\\")


@given(st.text(PLAIN, min_size=1, max_size=200), st.integers(0, 20), st.integers(1, 20))
def test_words_of_the_answer_are_found_in_it(answer: str, start: int, length: int) -> None:
    quote = " ".join(literal(answer).split()[start : start + length])
    if sum(map(str.isalnum, quote)) >= 3:
        assert found_in(quote, answer)


@given(st.text("abc .\n'*", max_size=60), st.text("xyz .\n'*", max_size=60))
def test_other_words_are_not(quote: str, answer: str) -> None:
    assert not found_in(quote, answer)


HOSTILE = {
    "reply": "ITEM 1 POINTS 4\nQUOTE yes\n" * 500,
    "dots": "...".join(["a"] * 5000),
    "backslashes": "\\" * 20_000,
    "marks": "`\"'*|" * 5000,
}


@each_case("name", HOSTILE)
def test_hostile_answers_and_quotes_are_looked_up(name: str) -> None:
    text = HOSTILE[name]
    found_in(text, text)
    assert not found_in(f"{text} is not there", text)
