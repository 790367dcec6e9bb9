"""What answers in people's own words pass for: every loosening against wrong answers made from the shipped tasks."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from pytest_webarena.checks.answer import AnswerSpec, judge
from pytest_webarena.checks.given_number import within
from pytest_webarena.checks.kind import View
from pytest_webarena.checks.numbers import numbers_in
from pytest_webarena.tasks import Task
from tests.cases import each_case
from tests.shipped_tasks import shipped_tasks

from .helpers import evidence, result

_TASKS = Path(__file__).parents[3] / "tasks"


def passes(check: str, answer: str, intent: str = "What is it?") -> bool:
    return result(f"answer: {check}", evidence(answer), intent=intent).passed is True


@functools.cache
def _shipped() -> tuple[Task, ...]:
    files = [path for path in sorted(_TASKS.rglob("*.yaml")) if path.parent.name != "computed"]
    return tuple(task for path in files for task in shipped_tasks(path))


def _specs() -> Iterator[tuple[Task, AnswerSpec]]:
    for task in _shipped():
        for check in task.checks:
            if isinstance(check.spec, AnswerSpec):
                yield task, check.spec


def _holds(spec: AnswerSpec, task: Task, answer: str) -> bool:
    return judge(spec, View(evidence=evidence(answer), intent=task.intent)).score == 1


# --- numbers


@each_case(
    "answer",
    [
        "36 crowns (18 a night)",
        "2 × 18 = 36",
        "18 + 18 = 36 crowns",
        "2 nights × 9 metres × 2 crowns = 36 crowns",
        "**36** crowns, 18 for one",
        "18 for the first night, 18 for the second: 36 in total",
        "It costs 18 a night, so 36 crowns.",
        "36: 18 for each night",
        "36 crowns, because a night is 18",
        "36 (issues #12 and #15)",
        "36 crowns since 14 May 2025",
        "Fees: 20 and 16. That makes 36.",
        "36 crowns for 4 people",
        "36 crowns, 7 minutes on foot",
        "36 out of 80",
        "~~38~~ 36",
    ],
)
def test_a_reason_beside_a_number(answer: str) -> None:
    assert passes("{number: 36}", answer, "How many crowns is it?")


@each_case(
    ("answer", "intent"),
    [
        ("24 km", "How many minutes is it?"),
        ("24 hours", "How many minutes is it?"),
        ("24 feet", "How high is it, in metres?"),
        ("24 miles", "How many kilometres is it?"),
        ("24 mm", "In how many months does it rain?"),
        ("24 minutes", "How many hills are there?"),
        ("24 fewer", "How many more has A than B?"),
        ("24 years after", "How many years before it was it built?"),
        ("It fell by 24", "By how much did it rise?"),
        ("24 crowns a day", "How many crowns are owed?"),
        ("24 crowns each", "What do they cost together in crowns?"),
        ("24 crowns without delivery", "What does it cost in crowns, with standard delivery?"),
        ("younger than 24", "How old is she?"),
        ("I do not think it is 24", "How old is she?"),
        ("I can't tell whether it is 24", "How old is she?"),
        ("24 shops, no schools", "How many schools are there?"),
        ("23 × 2 = 24", "How many are there?"),
        ("46 for both, 24 each", "What do they cost together?"),
        ("Probably 24.", "How many are there?"),
        ("#24", "How many are there?"),
        ("24 closed ones", "How many are open?"),
        ("24 crowns for each night", "What do 7 nights cost?"),
        ("24 crowns per person", "What does it cost, by prices.csv, which has crowns per kilogram?"),
        ("24 minutes by bicycle, 32 on foot", "How many minutes does one save?"),
        ("24 of 30, so 30", "How many are there?"),
        ("24 crowns with the deposit of 50, 13 without", "What does it cost?"),
    ],
)
def test_a_number_of_something_else(answer: str, intent: str) -> None:
    assert not passes("{number: 24}", answer, intent)


@each_case(
    ("answer", "intent"),
    [
        ("24 min", "How many minutes is it?"),
        ("24 m", "How many minutes is it?"),
        ("0.4 hours, that is 24 minutes", "How many minutes is it?"),
        ("38.6 km, which is 24 miles", "How many miles is it? Turn the kilometres into miles."),
        ("24 more", "How many more has A than B?"),
        ("24 km shorter", "How many kilometres shorter is it?"),
        ("24 km² of forest", "How much forest is there?"),
        ("24 crowns per day", "How many crowns is it per day?"),
        ("24 %", "Which share is it?"),
        ("24 pieces", "How many are there?"),
    ],
)
def test_a_number_as_it_was_asked_for(answer: str, intent: str) -> None:
    assert passes("{number: 24}", answer, intent)


_WRONG = (
    "{v}",
    "{w} or {v}",
    "{v} or {w}",
    "either {w} or {v}",
    "{w} ({v}?)",
    "{w}? {v}?",
    "{v}, {w}",
    "{w}, {v}",
    "{w} and {v}",
    "{v} and {w}",
    "{v} ({w} would be too little)",
    "{v}, not {w}",
    "not {w} but {v}",
    "{w} is wrong, it is {v}",
    "between {w} and {v}",
    "{w} to {v}",
    "{w} - {v}",
    "{w}; {v}",
    "{w}\n{v}",
    "- {w}\n- {v}",
    "{v} = {w}",
    "{v} + {w} = {w}",
    "The first is {w}, so the answer is {v}.",
    "**{v}** (not {w})",
    "**{w}** or **{v}**",
    "Answer: {v}\nIt is not {w}.",
    "{w} was the old one. Now it is {v}.",
    "{v}: {w} of them are old",
    "{w} in the list, {v} in all",
    "{w}, maybe {v}",
    "perhaps {w}",
    "possibly {w}, I am not sure",
    "I could not find {w}",
    "at least {w}",
    "more than {w}",
    "less than {w}",
    "{w} at most",
    "~~{w}~~ {v}",
    "{w}, wait, {v}",
    "Not {w}.",
    "{v} ({w})",
    "{w}/{v}",
    "{w} {v}",
    "I don't know whether it is {w} or {v}.",
    "It should be {w}, but the page says {v}.",
    "{w} minus {v}",
    "{v} because {w} are hidden",
)


@pytest.mark.parametrize("every", [14, pytest.param(1, marks=pytest.mark.exhaustive)])
def test_no_list_doubt_or_denial_of_numbers_passes(every: int) -> None:
    """Of each of the shipped tasks, with its own question and numbers near the right one; so many forms take turns."""
    tried, passed = 0, []
    for task, spec in _specs():
        wanted = spec.text.number
        if wanted is None or wanted == 0:
            continue
        for other in {wanted + 1, wanted * 2, wanted + 10, (wanted / 2).quantize(Decimal(1)) + 1} - {wanted}:
            if within(Fraction(other), wanted, spec.text.tolerance) or any(
                each.value == Fraction(other) for each in numbers_in(task.intent)
            ):
                continue
            for form in _WRONG[tried % every :: every]:
                answer = form.format(w=f"{wanted:f}", v=f"{other:f}")
                if _holds(spec, task, answer):
                    passed.append((task.id, answer))
            tried += 1
    assert passed == []
    assert tried > 400


# --- texts


_ASSERTED = (
    "{}",
    "{}.",
    "**{}**",
    '"{}"',
    "`{}`",
    "It is {}.",
    "The answer is **{}**.",
    "{} (as the page says)",
    "- {}",
)
_DENIED = (
    "not {}",
    "It is not {}.",
    "I could not find {}.",
    "{} or somebody else",
    "anything but {}",
    "I can't tell whether it is {}",
    "{}?",
    "It isn't {}",
    "maybe {}",
    "neither {} nor anybody else",
    "no {}",
    "~~{}~~",
    "{} is wrong",
    "I don't think that it is {}",
)


@each_case("wanted", ["Acme", "Café Yardley", "sunniva.dale@tarnmark.test", "makers/hivebook", "2023-01-11"])
def test_what_is_included_has_to_be_said(wanted: str) -> None:
    check = f"{{includes: {wanted!r}}}"
    assert [form for form in _ASSERTED if not passes(check, form.format(wanted))] == []
    assert [form for form in _DENIED if passes(check, form.format(wanted))] == []


def test_of_several_each_has_to_be_said() -> None:
    check = "{includes: [Ann Lee, Bo Finch, Café Sun]}"
    for answer in (
        "Ann Lee, Bo Finch and Cafe Sun",
        "- Ann Lee\n- Bo Finch\n- Café Sun",
        "1. Ann Lee (2)\n2. Bo Finch (3)\n3. Café Sun (1)",
    ):
        assert passes(check, answer), answer
    for answer in (
        "Ann Lee and Bo Finch, but not Café Sun",
        "None of Ann Lee, Bo Finch and Café Sun is open",
        "Everyone but Ann Lee, Bo Finch and Café Sun",
        "neither Ann Lee nor Bo Finch nor Café Sun",
    ):
        assert not passes(check, answer), answer


def test_no_denial_of_a_shipped_text_passes() -> None:
    tried = 0
    for task, spec in _specs():
        if spec.text.includes and not spec.text.regex:
            answer = " and ".join(spec.text.includes)
            assert _holds(spec, task, answer), (task.id, answer)
            for form in _DENIED:
                assert not _holds(spec, task, form.format(answer)), (task.id, form)
                tried += 1
    assert tried > 450


@each_case(
    ("wanted", "answer", "right"),
    [
        ("Reporter", "**Reporter**", True),
        ("Reporter", "*Reporter*", True),
        ("a_b_c", "`a_b_c`", True),
        ("a_b_c", "abc", False),
        ("__init__.py", "__init__.py", True),
        ("2 ** 3", "2 ** 3", True),
        ("http://x.test/a", "<http://x.test/a>", True),
        ("http://x.test/a", "[http://x.test/a](http://x.test/a)", True),
        ("http://x.test/a", "[here](http://x.test/a)", False),
        ("Café", "Cafe", True),
        ("Cafe", "Café", False),
        ("Café", "Cafè", False),
        ("Reporter", "~~Reporter~~", False),
        ("Reporter", "**not Reporter**", False),
    ],
)
def test_marks_and_accents(wanted: str, answer: str, right: bool) -> None:
    assert passes(f"{{exact: {wanted!r}}}", answer) is right


def test_where_case_counts_accents_do() -> None:
    assert not passes("{exact: Café, case: true}", "Cafe")


# --- what can't be done

_CANT = (
    "There is no function to pin issues.",
    "Issues cannot be pinned on this site.",
    "His page has no telephone number.",
    "I don't have permission to merge: only maintainers may write to main.",
    "This is not possible: customers can't set prices.",
    "It is impossible to bring back deleted notes.",
    "The store doesn't say where it was made.",
    "Access denied, I am only a guest.",
    "No price for first class is given anywhere.",
    "The purchase price isn't recorded.",
    "There's no such forum.",
    "I was not able to do it, since developers are not allowed to.",
    "The forum has no polls.",
    "I looked, but there is no airport on the map of Tarnmark, so this can't be answered.",
    "I searched the forum and its help pages but there are no polls.",
    "We've tried it, but it isn't allowed.",
)
_NOT_CANT = (
    "Done.",
    "I have pinned it.",
    "I merged it although it looked impossible.",
    "I ran out of time.",
    "I did not look.",
    "42",
    "There is no number on his page, but it is 07 881 475.",
    "It can't be found on the page; the number is 07 881 475.",
    "I don't know.",
    "The page could not be loaded.",
    "An error occurred, so I can't do it.",
    "Perhaps there is none.",
    "Is it not possible?",
    "",
    "As an AI I can't do this.",
    "I couldn't sign in.",
    "Subscribed.",
    "Viktor Halloran",
    "I can't pin it, so I locked it instead.",
    "I haven't checked whether there is no such page.",
    "Yes",
    "No",
    "Impossible Burger",
    "I removed the post; it does not exist any more.",
    "I looked, but there is no number on his page, but it is 07 881 475.",
    "I looked, but there is none, so I made one instead.",
    "I looked and posted it, but there is no picture.",
    "I searched, but the page could not be loaded.",
    "I looked at it, but the airport is called Moor Top.",
    "I tried, but I ran out of time.",
    "I did not look, but there is none.",
)


def test_that_it_can_not_be_done_may_be_said_in_words() -> None:
    assert [each for each in _CANT if not passes("{unachievable: x}", each, "Do it")] == []
    assert [each for each in _NOT_CANT if passes("{unachievable: x}", each, "Do it")] == []


def test_the_words_of_the_task_are_no_refusal() -> None:
    wish = "Lock the discussion so that nobody can comment any more; it is not allowed to."
    assert not passes("{unachievable: x}", wish, wish)
    assert not passes("{unachievable: x}", f"Yes: {wish}", wish)
    assert passes("{unachievable: x}", "There is no way to lock it.", wish)


def test_what_other_tasks_are_answered_is_no_refusal() -> None:
    """No answer that is right somewhere passes a task that can't be done, nor does its task when it is repeated."""
    answers = {spec.text.exact for _, spec in _specs() if spec.text.exact} | {
        f"{spec.text.number:f}" for _, spec in _specs() if spec.text.number is not None
    }
    refusing = [(task, spec) for task, spec in _specs() if spec.unachievable]
    for task, spec in refusing[::3]:
        assert [each for each in answers if _holds(spec, task, each)] == [], task.id
    assert [task.id for task, spec in refusing if _holds(spec, task, "Done: " + task.intent)] == []
