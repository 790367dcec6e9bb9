"""Wrong answers made from the references of a task, and right ones made from WebArena-Verified's typed answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

from pytest_webarena.checks.upstream.strings import StringSpec
from pytest_webarena.tasks.model import Task

__all__ = ["string_spec", "typed_answers", "wrong_answers"]

_NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
_DISTANCE = re.compile(r"(\d+(?:\.\d+)?)(km|m)")
_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


def string_spec(task: Task) -> StringSpec | None:
    """Return the corrected references of the task's answer."""
    spec = next((check.spec for check in task.checks if check.kind == "string_match"), None)
    return (spec.corrected or spec) if spec is not None else None


def wrong_answers(spec: StringSpec) -> Iterator[str]:
    """Return wrong answers: near misses, other senses, denials, doubts, guesses and parts."""
    references = spec.texts
    if not references or any(" |OR| " in each for each in references):
        return
    yield from (
        "I don't know.",
        "Unable to find it.",
        "Done.",
        "The answer is on the page.",
        "No answer could be determined.",
    )
    for at, reference in enumerate(references):
        if _is_implied(references, at):
            continue
        for changed in _changed(reference):
            yield from _sentences([*references[:at], changed, *references[at + 1 :]])
        if len(references) > 1:
            yield from _sentences([*references[:at], *references[at + 1 :]])
    if len(references) == 1:
        yield from _misused(references[0])


def _is_implied(references: Sequence[str], at: int) -> bool:
    """Return whether another reference contains the text of this one."""
    return any(references[at].lower() in each.lower() for index, each in enumerate(references) if index != at)


def _sentences(values: Sequence[str]) -> Iterator[str]:
    yield ", ".join(values)
    yield "\n".join(f"- {value}" for value in values)
    if len(values) == 1:
        yield f"The answer is {values[0]}."
        yield f"I looked it up, and it is **{values[0]}**."


def _changed(reference: str) -> Iterator[str]:
    """Return other values of the same kind."""
    if _NUMBER.fullmatch(reference):
        number = Decimal(reference.replace(",", ""))
        step = Decimal(1).scaleb(int(number.as_tuple().exponent))
        for other in (number + step, number * 10 + 1, number + 100, number + 1):
            yield f"{other:f}"
        if number:
            yield f"{number * 100:f}"
            yield f"{-number:f}"
            yield f"{number:f}%"
            yield f"{number:f}k"
            yield f"{number:f}M"
            yield f"{number:f} million"
            yield f"\u20ac{number:f}"
            yield f"{number:f} GBP"
    elif distance := _DISTANCE.fullmatch(reference):
        yield f"1{reference}"
        yield f"{distance[1]} miles"
        yield f"{distance[1]} minutes"
        yield f"{distance[1]} {'m' if distance[2] == 'km' else 'km'}"
        yield f"{Decimal(distance[1]) + Decimal('0.1')}{distance[2]}"
    elif reference.lower() in ("yes", "no"):
        yield "No" if reference.lower() == "yes" else "Yes"
    elif re.fullmatch(r"\d{5}|\d{10}", reference):
        yield reference[:-1] + str((int(reference[-1]) + 1) % 10)
        yield reference[1:]
    else:
        yield "Somebody Else"
        yield reference[: len(reference) // 2].rstrip() + "zz"


def _misused(reference: str) -> Iterator[str]:
    """Return texts that mention the reference without giving it as the answer."""
    if reference.lower() in ("yes", "no"):
        yield from (
            "yes or no",
            "Yes and no.",
            "yes/no",
            "Yes or no, depending on how you look at it",
            "maybe yes, maybe no",
            "Yes. No.",
        )
        return
    if _NUMBER.fullmatch(reference):
        yield from _number_misused(reference)
    elif distance := _DISTANCE.fullmatch(reference):
        amount, unit = Decimal(distance[1]), distance[2]
        yield f"{amount} or {amount + 1} or {amount + 2} {unit}"
        yield f"{amount}{unit} or {amount + 1}{unit}"
        yield f"{amount}{unit}, {amount + 1}{unit}, {amount + 2}{unit}"
        yield f"between {amount} and {amount + 1} {unit}"
        yield f"more than {amount} {unit}"
    for form in (
        "It is not {0}.", "It isn't {0} but something else.", "Maybe {0}, maybe not.", "{0} or something else",
        "Either {0} or nothing, I am not sure.", "I don't know whether it is {0}.", "Anything other than {0}.",
        "It could be {0}, it depends.", "{0}? No, I was wrong about that: it is something else, not {0}.",
    )[: None if len(reference.split()) <= 6 else 5]:  # fmt: skip
        yield form.format(reference)
    if not _NUMBER.fullmatch(reference) and "://" not in reference and len(reference.split()) <= 6:
        for form in (
            "{0} does not.", "{0} didn't.", "Everything but {0}.", "All of them but {0}", "{0} was another option.",
            "{0} is no longer the one.", "Somebody Else rather than "
            "{0}", "It used to be {0}.", "Only Somebody Else, not {0}",
        ):  # fmt: skip
            yield form.format(reference)


def _number_misused(reference: str) -> Iterator[str]:
    number = Decimal(reference.replace(",", ""))
    whole = number == number.to_integral_value() and number >= 0
    near = [f"{number + step:f}" for step in range(-2, 5) if number + step >= 0]
    guesses = near if reference in near else [reference, *near]
    for join in (", ", " or ", " | ", "|", "\n- ", "; ", " "):
        yield join.join(guesses)
        yield join.join(["$" + guess for guess in guesses])
    yield f"{number:f} or {number + 1:f}"
    yield f"{number:f} or {number + 1:f} or {number + 2:f}"
    yield f"somewhere between {number:f} and {number + 2:f}"
    yield f"{number:f}-{number + 1:f}"
    yield f"{number:f} to {number + 1:f}"
    yield f"more than {number:f}"
    if not re.fullmatch(r"\d{5}|\d{10}", reference):
        yield f"{number:f} and up"
        yield f"starting at {number:f}"
        yield f"{number:f} too many"
        yield f"up to {number:f}"
    yield f"A${number:f}" if number else "A$1"
    if whole:
        yield f"{number:f}/7"
    yield f"It is not {number:f}, it is {number + 1:f}."
    yield f"{number + 1:f}, not {number:f}"
    if len(reference) > 2 and whole:
        yield f"{reference[:-2]},{reference[-2:]}"
        yield f"{reference[:-1]},{reference[-1:]} kg"
    if not whole or number > 1000:
        return
    value = int(number)
    dated = ("on Mar {0:02d}, 2023", "on 10/{0}/2023", "on {0} May 2022", "somewhere on 2023-01-{0:02d}T10:00")
    for form in (
        *(dated if 0 < value <= 31 else ()), "the last at 12:{0:02d}", "It was at {0:02d}:30",
        "see item SKU-{0}", "see version 1.{0}.2", "call 412-{0:03d}-5000", "it is 99:{0:02d}", "see page {0}",
        "it took {0} km", "it took {0} minutes", "it took {0} hours", "the {0}th one", "a {0}-star hotel", "a "
        "size of {0}x{0}",
        "http://x.test/{0}/a", "mail{0}@x.test", "row {0} of the table",
    ):  # fmt: skip
        yield form.format(value)
    if 0 < value <= 10:
        yield f"I looked at {_WORDS[value]} pages and found none"
        yield f"I looked at {_WORDS[value]} pages and found {_WORDS[value - 1]}"
    if value <= 10:
        yield ", ".join(_WORDS)
        yield " or ".join(_WORDS)
        yield "No one but Eric"
        yield "no idea at all"
        yield f"{_WORDS[value]}-factor login is on"
    yield "0|1|2|3|4|5|6|7|8|9|" + str(value)


def typed_answers(expected: dict[str, Any]) -> Iterator[str]:
    """Return a typed answer as agents might write it."""
    data = expected.get("retrieved_data")
    if not isinstance(data, list) or not data:
        return
    values = [str(value) for item in data for value in (item.values() if isinstance(item, dict) else [item])]
    values = [{"True": "Yes", "False": "No"}.get(value, value) for value in values]
    if any("*" in value for value in values):
        return  # a pattern's remains
    yield ", ".join(values)
    yield "\n".join(values)
    yield "\n".join(f"- {value}" for value in values)
    yield json.dumps(data)
    if len(values) == 1:
        yield f"{values[0]}."
        yield f"The answer is {values[0]}."
        yield f"**{values[0]}**"
