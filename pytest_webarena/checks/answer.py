"""The kind ``answer``: what the agent said when it stopped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from pytest_webarena.checks.asked_units import in_another_unit, not_as_asked, without_powers
from pytest_webarena.checks.asserted import doubted, unsaid, unsaid_find
from pytest_webarena.checks.converted import converted, summed
from pytest_webarena.checks.done_by import said_of_another
from pytest_webarena.checks.given_number import gives_number, normalise_kept, places_of, within
from pytest_webarena.checks.json_answer import SCHEMA, explain_schema, same_json
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.named_beside import named_beside
from pytest_webarena.checks.numbers import final_answer, mask_words
from pytest_webarena.checks.opposed import opposed
from pytest_webarena.checks.plain_answers import spelt_alike, unaccented, unmarked
from pytest_webarena.checks.refusals import declines, takes_back
from pytest_webarena.checks.text import ANY_TEXT, TEXT_FIELDS, TextMatch, judge_text, normalise, take_text, text_fault
from pytest_webarena.checks.turned import turned
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, Record
from pytest_webarena.tasks.shapes import Bool, Fault, Json, Text
from pytest_webarena.text import clip

__all__ = ["ANSWER", "UNACHIEVABLE", "AnswerSpec", "Wanted", "says_unachievable"]

UNACHIEVABLE = (
    "n/a",
    "na",
    "not achievable",
    "unachievable",
    "infeasible",
    "not feasible",
    "impossible",
    "not possible",
)
"""How an agent says that a task can't be done: one of these, alone or followed by punctuation and a reason."""

_SAYS = re.compile(
    rf"(?:{'|'.join(map(re.escape, sorted(UNACHIEVABLE, key=len, reverse=True)))})"
    r"(?:$|\s*[:;,.!(\[]|\s+-|-\s|\s+(?:because|since|as)\b|(?<=/a)\s)"
)
_UNDONE = re.compile(
    r"\bi (?:did not|didn't|have not|haven't|could not|couldn't) (?:check|look|open|read|count|visit|go through|finish)"
    r"(?:ed|ing)?\b(?: \w+){0,3}"
    r"|\bi (?:may|might|could) (?:well )?(?:have (?:missed|overlooked)|be (?:missing|wrong|mistaken))\b"
    r"|\b(?:could not|couldn't|cannot|can't|(?:was |am )?unable to|did not|didn't) (?:\w+ )?(?:verify|double-check)\b"
)
"""Whose work is half done has no result yet, nor who says that it may be wrong."""
_AROUND = "\"'* "
"""What may be around it."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A value that may be null, apart from no value."""

    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSpec:
    """What the answer must be; all that is given must hold."""

    text: TextMatch = ANY_TEXT
    unachievable: str = ""
    """Why the task can't be done; the agent must say that it can't."""
    json: Wanted | None = None
    any_order: bool = False
    schema: Any = None
    only: bool = False
    """Whether nothing may be named in one list with what the text includes."""

    def __str__(self) -> str:
        parts = [str(self.text)] if self.text else []
        if self.only:
            parts.append("and nothing else")
        if self.unachievable:
            parts.append(f'"N/A" ({self.unachievable})')
        if self.json:
            parts.append(f"the JSON {_dumps(self.json.value)}")
        if self.schema is not None:
            parts.append(f"JSON that fits {_dumps(self.schema)}")
        return "; ".join(parts)


def _build(**values: Any) -> AnswerSpec:
    text = take_text(values)
    return AnswerSpec(text=text, **values)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if fault := text_fault(values, node, reading):
        return fault
    text = TextMatch(**{field.key: values[field.key] for field in TEXT_FIELDS})
    structured = values["json"] is not None or values["schema"] is not None
    if values["unachievable"] and (text or structured):
        return Fault("'unachievable' alone", "further conditions", "such a task has no other right answer")
    if not (text.positive or structured or values["unachievable"]):
        if text:
            hint = "add what the answer must be; 'excludes' alone accepts any other answer, even 'N/A'"
            return Fault("a condition that the answer must meet", "only 'excludes'", hint)
        return Fault("a condition on the answer", "none", "e.g. exact, includes, one_of, number or unachievable")
    if values["only"] and not text.includes:
        return Fault("'only' with 'includes'", "it alone")
    if values["any_order"] and values["json"] is None:
        return Fault("'any_order' with 'json'", "it alone")
    return None


def _of_answers(field: Field) -> Field:
    """A condition on text, as it is one on an answer."""
    return replace(field, doc=f"{field.doc} {_IN_ANSWERS[field.key]}") if field.key in _IN_ANSWERS else field


_IN_ANSWERS = {
    "regex": "In an answer, the match must be asserted, as with `includes`.",
    "includes": (
        "In an answer, each text must be asserted: not denied (`not …`, `I could not find …`), doubted "
        "(`maybe …`, `…?`) or one of a choice (`… or …`). A text about another action than the intended one "
        "does not count (`Ann opened it; Bo closed it`)."
    ),
    "number": (
        "In an answer, other numbers may explain it: `2 × 18 = 36` (if correct), `36 crowns (18 a night)`, "
        "`18 a night, so 36`, `**36**, …`. Denials (`not 408`, `408 is wrong`, `408?`), bounds (`less than "
        "408`) and choices fail. So do numbers for something else than the intent asks: `24 km` for minutes, "
        "`45 fewer` for more, `18 a day`, `half of 18`, `18, minus the discount`, `18 in 2023` for 2024, `18 "
        "by Bo` for Ann, `18 for 2 nights` for 3, `18 return` for a single."
    ),
}


FORM: Any = Either(
    "a text, or a mapping of conditions on the answer",
    scalar=Convert(Text("an answer"), lambda text, _: AnswerSpec(text=TextMatch(exact=text))),
    mapping=Record(
        "answer check",
        _build,
        [
            *map(_of_answers, TEXT_FIELDS),
            Field(
                key="only",
                shape=Bool(),
                default=False,
                doc=(
                    "Whether a list in the answer may hold only what `includes` names. Lists are separated "
                    "by commas, semicolons, slashes, `and`, `plus` or line breaks. Other items, e-mail or "
                    "page addresses and capitalised names fail, but not streets and dates. Names in small "
                    "letters, after a dash (`A - B`) or in a separate sentence (`B is open, too.`) may pass; "
                    "a place after a comma (`A, Ivesham`) fails. So put likely mistakes in `excludes` too."
                ),
                example="- answer: {includes: [Coffee Grinder, Gooseneck Kettle], only: true}",
            ),
            Field(
                key="unachievable",
                shape=Text("the reason in words", strip=True),
                default="",
                default_text="none",
                doc=(
                    "The task can't be done, for this reason, and the agent must say so. Accepted in any case are "
                    + ", ".join(f"`{form}`" for form in ("N/A", *UNACHIEVABLE[1:]))
                    + (
                        ", alone or before punctuation and a reason (`N/A: there is no such page`). "
                        "Sentences also count (`Issues can't be pinned.`, `There is no such forum.`, `Only "
                        "moderators may do that.`, `This wiki is read-only.`). The answer fails if it also "
                        "gives up, doubts, reports a breakdown or an action, or gives a number, value or "
                        "guess (`N/A, but 8.40`, `N/A: the site was down`). The agent's reason is compared "
                        "in one point. If this reason says that something can't or may not be done, an "
                        "answer that it does not exist fails; a missing button is accepted. Where another "
                        "answer is expected, one that begins with `N/A` fails."
                    )
                ),
                example="- answer: {unachievable: the shop lists no phone number}",
            ),
            Field(
                key="json",
                shape=Convert(Json("a JSON value"), lambda value, _: Wanted(value)),
                default=None,
                default_text="none",
                doc=(
                    "The answer is JSON, bare or in a code fence, and equals this value. Texts compare as "
                    "with `exact`, numbers by value. Objects must have the same keys."
                ),
                example="- answer: {json: {name: Coffee Grinder, price: 84.97}}",
            ),
            Field(
                key="any_order",
                shape=Bool(),
                default=False,
                doc="Whether lists in `json` may be in any order.",
                example="- answer: {json: [tea, coffee], any_order: true}",
            ),
            Field(
                key="schema",
                shape=SCHEMA,
                default=None,
                default_text="none",
                doc=(
                    "The answer is JSON that matches this JSON schema. Supported: `type`, `enum`, `const`, "
                    "`properties`, `required`, `additionalProperties` (true or false), `items`, `minItems`, "
                    "`maxItems`, `minimum`, `maximum`, `minLength`, `maxLength`, `pattern`."
                ),
                example="- answer: {schema: {type: array, items: {type: number}, minItems: 2}}",
            ),
        ],
        rule=_fault,
        doc="All given conditions must hold.",
        owner="an answer check",
    ),
)


def says_unachievable(answer: str) -> bool:
    """Whether an answer says that the task can't be done.

    >>> says_unachievable("N/A: no such page"), says_unachievable("Impossible Burger")
    (True, False)
    """
    return _SAYS.match(normalise(answer).strip(_AROUND)) is not None


def judge(spec: AnswerSpec, view: View) -> Judgement:
    """Judge the agent's last word."""
    answer = view.evidence.text_answer
    expected = str(spec)
    if answer is None:
        reason = view.evidence.stop_reason
        stopped = f"the agent was stopped ({reason}) before it answered"
        why = "the agent gave no answer" if reason == "answered" else stopped
        return Judgement.of(False, expected=expected, actual="no answer", why=why)
    actual = f'"{answer}"'
    if spec.unachievable:
        holds, why = _judge_refusal(answer, view.intent, spec.unachievable)
        return Judgement.of(holds, expected=expected, actual=actual, why=why)
    why = _judge_said(spec.text, answer, view.intent) if spec.text else ""
    if not why and spec.only and (more := named_beside(spec.text.includes, answer, view.intent)):
        why = f'it also names "{more}"'
    spoken = unsaid_find(answer, spec.text.regex, view.intent) if not why and spec.text.regex is not None else ""
    why = why or spoken
    if not why and (spec.json or spec.schema is not None):
        why = _judge_json(spec, answer)
    if says_unachievable(answer) and (why or not _wants_refusal(spec.text, answer, view.intent)):
        why = "the agent said that the task can't be done, but it can"
    # What is only denied stands there, after all: neither it nor its contrary is met.
    return replace(
        Judgement.of(not why, expected=expected, actual=actual, why=why), contrary="agent" if spoken else None
    )


def _judge_refusal(answer: str, question: str, reason: str) -> tuple[bool, str]:
    """Whether an answer says that the task can't be done, and else why not."""
    if said := _SAYS.match(text := normalise(answer).strip(_AROUND)):
        cased = normalise(answer, case=True).strip(_AROUND)
        rest = (cased if len(cased) == len(text) else text)[said.end() :]
        if takes_back(rest, question, reason):
            return False, "it says that the task can't be done, and then something else than why"
        return True, ""
    holds = declines(answer, question, reason)
    return holds, "" if holds else "the agent did not say that the task can't be done"


def _judge_said(wanted: TextMatch, answer: str, question: str) -> str:
    """Why an answer does not say what is wanted; empty when it does."""
    plain = without_powers(unmarked(answer)) if wanted.number is not None else unmarked(answer)
    if " & " in plain and "&" not in str(wanted):
        plain = plain.replace(" & ", " and ")
    if wanted.number is None:
        return _judge_plain(wanted, answer, plain, question)
    number = TextMatch(number=wanted.number, tolerance=wanted.tolerance)
    if other := converted(question, plain):  # only the number is another one; words are looked for as they are said
        rest = replace(wanted, number=None, tolerance=None)
        why = _judge_plain(number, other, other, question)
        return why or (_judge_plain(rest, answer, plain, question) if rest else "")
    why = _judge_plain(wanted, answer, plain, question)
    other = summed(question, plain)
    if why and other and not judge_text(number, other, question=question).holds:
        return why  # what is told twice, in hours and in minutes, has to be the same
    return _judge_plain(number, other, other, question) if other else why


def _judge_plain(wanted: TextMatch, answer: str, plain: str, question: str) -> str:
    why = min((_judge_words(each, text, question) for each, text in _readings(wanted, answer, plain)), key=bool)
    if not why and wanted.number is not None:
        why = _judge_meant(wanted, answer, plain, question)
    if not why and (undone := _UNDONE.search(normalise(plain))):
        return f'it says "{undone[0]}"'
    why = why or unsaid(plain, wanted.includes, question)
    return why or (said_of_another(plain, wanted.includes, question) if wanted.includes else "")


def _readings(wanted: TextMatch, answer: str, plain: str) -> Iterator[tuple[TextMatch, str]]:
    """What is compared with what: as it is written, without Markdown, in plain letters, spelt alike."""
    if "~~" not in answer:
        yield wanted, answer
    yield wanted, plain
    if bare := unaccented(wanted):
        yield bare, plain
    if alike := spelt_alike(wanted, plain):
        yield alike


def _judge_words(wanted: TextMatch, text: str, question: str) -> str:
    found = judge_text(wanted, text, question=question)
    if not found.holds and wanted.number is not None and gives_number(text, wanted.number, wanted.tolerance, question):
        rest = replace(wanted, number=None, tolerance=None)
        return judge_text(rest, text, question=question).why
    return found.why


def _judge_meant(wanted: TextMatch, answer: str, plain: str, question: str) -> str:
    """Why the number in an answer, which is the wanted one, is not given for what is asked."""
    assert wanted.number is not None
    if why := opposed(plain, wanted.number):
        return why
    text = mask_words(final_answer(plain))
    if re.search(r"\bhow many\b", question.casefold()) and re.fullmatch(r"\W*[#\u2116]\s?\d+\W*", plain):
        return "it is the number of one thing, and how many there are is asked"
    if wanted.number and _says_none(text, question):
        return "it also says that there are none"
    whys = []
    for place in places_of(text):
        if within(place.value, wanted.number, wanted.tolerance):
            why = in_another_unit(question, text, place.end) or not_as_asked(question, text, place.start, place.end)
            why = why or turned(question, text, place.start, place.end)
            if not why and doubted(normalise_kept(text), place.start, place.end, normalise(question)):
                why = "it speaks against the number, or leaves it open"
            whys.append(why)
    return whys[0] if whys and all(whys) else ""


def _says_none(text: str, question: str) -> bool:
    from pytest_webarena.checks.upstream.folding import fold
    from pytest_webarena.checks.upstream.stated_none import says_none
    from pytest_webarena.checks.upstream.stated_numbers import question_of

    asked = question_of(question)
    return asked.dimension == "count" and says_none(fold(text), asked)


def _wants_refusal(wanted: TextMatch, answer: str, question: str) -> bool:
    """Whether an answer that declares the task undoable holds by these very words, as where "N/A" is what a page says.

    If what follows them holds by itself, the answer says two things at once, and would be right whichever is.
    """
    said = _SAYS.match(text := normalise(answer).strip(_AROUND))
    return said is not None and bool(judge_text(wanted, text[said.end() :], question=question).why)


_AMISS = re.compile(
    r"[{\[]|\b(?:wait|actually|correction|scratch|sorry|wrong|incorrect|not|isn't|maybe|perhaps|probably|guess"
    r"|instead)\b|\?",
    re.IGNORECASE,
)
"""What an answer that is JSON can't have beside it."""


def _judge_json(spec: AnswerSpec, answer: str) -> str:
    """Why the answer is not the JSON that is wanted; empty when it is."""
    fenced = re.search(r"```(?:json)?\s*\n?(.*?)```", answer, re.DOTALL | re.IGNORECASE)
    if fenced and _AMISS.search(beside := answer[: fenced.start()] + "\n" + answer[fenced.end() :]):
        why = "another value is next to the one in the code fence" if "{" in beside or "[" in beside else ""
        return why or "what is next to the code fence speaks against it, or leaves it open"
    try:
        text = (fenced.group(1) if fenced else answer).strip()
        value = json.loads(text, parse_constant=_no_number, object_pairs_hook=_each_once)
    except _Ambiguous as error:
        return str(error)
    except (ValueError, RecursionError):
        return "it is not JSON"
    if spec.json and not same_json(value, spec.json.value, any_order=spec.any_order):
        return "the values differ"
    return explain_schema(value, spec.schema) if spec.schema is not None else ""


class _Ambiguous(Exception):
    """Which key an object has twice."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Readers differ in which of two values they take, so an answer with both says neither."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for number, (name, _) in enumerate(pairs) if name in dict(pairs[:number]))
        raise _Ambiguous(f"it has the key {clip(json.dumps(twice), 80)} more than once, so it says several things")
    return found


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def _dumps(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False), 200)


def _category(spec: AnswerSpec) -> str:
    return "unachievable" if spec.unachievable else "information"


ANSWER: Kind[AnswerSpec] = Kind(
    name="answer",
    doc=(
        "Checks the answer that the agent stops with. A text alone is short for `exact`. Markdown formatting "
        "is ignored, and struck-out text does not count. Accents in the task's texts are optional (`Cafe` "
        "matches *Café*) unless `case` is true."
    ),
    form=FORM,
    judge=judge,
    category=_category,
    looks_at=lambda spec: {"answer"},
    examples=('- answer: "84.97"', "- answer: {unachievable: the shop lists no phone number}"),
)
