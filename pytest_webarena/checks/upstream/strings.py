"""The kind ``string_match``: the agent's answer as the original evaluator judges it, defects included or repaired."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_webarena.checks.answer_types.reading import read
from pytest_webarena.checks.judge_protocol import Grade, JudgeOff, JudgeUnreadable, Question, QuestionKind
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.undecided_answers import ask_judge, judge_or_undecided, said
from pytest_webarena.checks.upstream.numeric import as_int, meets_all
from pytest_webarena.checks.upstream.parts import COMPARISONS, DIALECT, TEXTS, Dialect, Part, judgement_of, resolved
from pytest_webarena.checks.upstream.replies import loosely
from pytest_webarena.checks.upstream.text import ALTERNATIVE, clean, equals, includes, unquoted
from pytest_webarena.checks.upstream.typed_references import is_copy, typed
from pytest_webarena.errors import Cause
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.tasks.record_shapes import Either, Field, Record
from pytest_webarena.tasks.shapes import Choice, Fault, Text
from pytest_webarena.text import clip

__all__ = ["STOP_WORDS", "STRING_MATCH", "StringSpec", "ask", "original_answer"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StringSpec:
    """What the answer is compared with; all that is given must hold."""

    exact_match: str | None = None
    required_values: tuple[str, ...] | None = None
    must_include: tuple[str, ...] | None = None
    must_exclude: tuple[str, ...] | None = None
    one_of: tuple[str, ...] | None = None
    fuzzy_match: tuple[str, ...] | str | None = None
    """Reference answers for a judge model, or ``N/A``: the task can't be done."""
    note: str = ""
    """With ``N/A``: the true reason."""
    dialect: Dialect = "webarena"
    corrected: StringSpec | None = None
    """What the repair ``corrections`` puts in place of the above."""

    def __str__(self) -> str:
        parts = []
        if self.exact_match is not None:
            parts.append(f'exactly "{clip(self.exact_match, 80)}"')
        for word, given in (
            ("number", self.required_values),
            ("includes", self.must_include),
            ("excludes", self.must_exclude),
            ("one of", self.one_of),
        ):
            if given is not None:
                parts.append(f"{word} " + ", ".join(f'"{clip(each, 60)}"' for each in given))
        if isinstance(self.fuzzy_match, str):
            parts.append(f"it can't be done: {clip(self.note, 160)}")
        elif self.fuzzy_match is not None:
            parts.append("means " + ", ".join(f'"{clip(each, 80)}"' for each in self.fuzzy_match))
        return "; ".join(parts)

    @property
    def unachievable(self) -> str:
        """Why the task can't be done; empty when it can."""
        return (self.note or "N/A") if isinstance(self.fuzzy_match, str) else ""

    @property
    def texts(self) -> tuple[str, ...]:
        """All references that are to be found in the answer."""
        exact = (self.exact_match,) if self.exact_match is not None else ()
        return (*exact, *(self.must_include or ()))


STOP_WORDS = (
    "Early stop: Reach max steps 30",
    "Early stop: Failed to parse actions for 3 times",
    "Early stop: Same action for 3 times",
    "Early stop: Same typing action for 3 times",
)
"""What the original harness grades in place of an answer when it ends an episode, with its default limits."""


def original_answer(evidence: Evidence) -> str:
    """What the original harness grades: its own words where it ended the episode."""
    answer = evidence.text_answer
    if answer is not None or evidence.stop_reason == "answered":
        return answer or ""
    match evidence.stop_reason:
        case "max_steps":
            return f"Early stop: Reach max steps {len(evidence.steps)}"
        case "invalid":
            return STOP_WORDS[1]
        case "repeated":
            typed = bool(evidence.steps) and evidence.steps[-1].action.get("kind") == "type"
            return STOP_WORDS[3 if typed else 2]
    return ""


def judge(spec: StringSpec, view: View) -> Judgement:
    """Judge the answer under the view's grading."""
    rules = view.grading.repairs
    if spec.corrected is not None and rules("corrections"):
        spec = spec.corrected
    answer = (view.evidence.text_answer or "") if rules("early-stops") else original_answer(view.evidence)
    shown = f'"{clip(answer, 200)}"' if answer else "no answer"
    filled = _filled(spec, view.evidence.sites)
    parts = tuple(_judged(filled, answer, view))
    unread = next((part for part in parts if part.holds is None and part.judgeable), None)
    if unread is not None and not any(part.holds is False for part in parts):
        return Judgement.undecided(expected=str(spec), actual=shown, why=unread.why)
    return judgement_of(parts, view, expected=str(spec), actual=shown)


def _judged(spec: StringSpec, answer: str, view: View) -> Iterator[Part]:
    """Yields the comparisons in the original's order; where a failure decides, up to the first one."""
    rules = view.grading.repairs
    strip = spec.dialect != "visualwebarena"
    text = clean(answer, strip=strip)
    if rules("early-stops") and spec.fuzzy_match is not None and not text.strip():
        yield Part(False, "there is no answer")
        return
    compared = list(_compared(spec, unquoted(answer, strip=strip), view))
    failed = any(part.holds is False for part in compared)
    if isinstance(spec.fuzzy_match, str):  # N/A; a reason that counts makes up for whatever else fails
        said = equals(spec.fuzzy_match, text, strip=strip)
        if not failed and (said or (rules("equal-answers") and is_copy(spec.fuzzy_match, text))):
            yield from compared
        elif not failed or not view.grading.decides:
            yield ask("unachievable", spec.note, text, view)
        else:
            yield from compared
        return
    yield from compared
    if failed and view.grading.decides:
        return
    for reference in spec.fuzzy_match or ():
        part = ask("equivalent", reference, text, view)
        yield part
        if part.holds is None if not view.grading.decides else part.holds is False:
            return  # the original stops where it raises, a repaired one at what decides


def _filled(spec: StringSpec, sites: Mapping[str, str]) -> StringSpec:
    """With the sites' addresses in place of placeholders."""
    names = ("exact_match", "must_include", "must_exclude", "one_of", "fuzzy_match", "note")
    return replace(spec, **{name: resolved(getattr(spec, name), sites) for name in names})


def _compared(spec: StringSpec, given: str, view: View) -> Iterator[Part]:
    """Yields what needs no judge model. ``given`` is the answer without its quotes."""
    text = given.lower()
    strip = spec.dialect != "visualwebarena"
    if view.grading.repairs("typed-references"):
        yield from _typed(spec, given, view)
    else:
        yield from _as_parts(spec, text, strip=strip)
    if spec.required_values is not None:
        number = as_int(text)
        yield Part(number is not None and meets_all(number, spec.required_values), f"the number is {number}")
    for reference in spec.must_exclude or ():
        holds = not includes(reference, text, tokens=True, strip=strip)
        yield Part(holds, "" if holds else f'"{clip(reference, 60)}" is in it')


def _typed(spec: StringSpec, answer: str, view: View) -> Iterator[Part]:
    """``typed-references``: yields one comparison of all references, by their types; a judge decides what is
    undecided."""
    references = [*spec.texts, *([ALTERNATIVE.join(spec.one_of)] if spec.one_of else [])]
    if not references:
        return
    if not view.grading.repairs("string-alternatives") and not spec.one_of:
        references = [reference.replace(ALTERNATIVE, " ") for reference in references]
    question, padded = _asked(view), spec.dialect != "visualwebarena"
    values = typed(references, question, any_host=view.grading.repairs("site-hosts"), padded=padded)
    found = read(answer, values, question)
    if found.outcome != "undecided":
        yield Part(found.outcome == "met", found.why)
        return
    reference = "; ".join(each.replace(ALTERNATIVE, " or ") for each in references)
    judged = judge_or_undecided("equivalent", reference, answer, replace(view, intent=question), found.why)
    holds = None if judged.score is None else judged.score == 1
    yield Part(holds, judged.why, judged.cause, judgeable=judged.judgeable)


def _as_parts(spec: StringSpec, text: str, *, strip: bool) -> Iterator[Part]:
    """Yields the comparisons of the original: references are parts of the answer."""
    if spec.exact_match is not None:
        holds = equals(spec.exact_match, text, strip=strip)
        yield Part(holds, "" if holds else "it is another text")
    alone = len(spec.must_include or ()) == 1
    for reference in spec.must_include or ():
        if spec.dialect == "visualwebarena":
            holds = any(includes(each, text, tokens=True, strip=False) for each in reference.split(ALTERNATIVE))
        else:
            holds = includes(reference, text, tokens=alone and len(clean(reference)) == 1)
        yield Part(holds, "" if holds else f'"{clip(reference, 60)}" is not in it')
    if spec.one_of is not None:
        holds = any(clean(each, strip=strip) in text for each in spec.one_of)
        yield Part(holds, "" if holds else "none of them is in it")


def _asked(view: View) -> str:
    return resolve_placeholders(view.intent, view.evidence.sites)


def ask(kind: QuestionKind, reference: str, answer: str, view: View, *, intent: str = "") -> Part:
    """Returns what a judge model says, read as the original reads replies, or strictly. It need not be asked about the
    reference itself."""
    if view.grading.repairs("equal-answers") and is_copy(reference, answer):
        return Part(True, "it is the reference itself")
    question = Question(kind=kind, intent=intent or _asked(view), reference=reference, answer=answer)
    cause: Cause = "judge"
    strict = view.grading.repairs("strict-judge")
    match ask_judge(question, view):
        case Grade() as grade if strict:
            return Part(grade.decision == "correct", said(grade))
        case Grade() as grade:
            who, reply = f"{grade.model} ({grade.prompt})", grade.replies[0]
        case JudgeUnreadable() as error if not strict:
            who, reply, cause = "the judge", error.replies[0], error.cause
        case JudgeUnreadable() as error:
            return Part(None, str(error), error.cause)
        case JudgeOff() as off:
            return Part(None, str(off), "judge")
        case error:
            return Part(None, str(error), error.cause)
    holds = loosely(kind, reply)
    if holds is None:
        return Part(None, f"{who}: no grade in its reply: {clip(reply, 300)}", cause)
    return Part(holds, f"{who}: {clip(reply, 300)}")


_FIELDS = (
    Field(
        key="exact_match",
        shape=Text(blank=True),
        default=None,
        default_text="none",
        doc="The answer equals this text. Case, surrounding white space and one pair of quotes are ignored.",
        example='- string_match: {exact_match: "Sprite"}',
    ),
    Field(
        key="must_include",
        shape=TEXTS,
        default=None,
        default_text="none",
        doc="The answer contains each of these. A single digit must be a word of its own.",
        example="- string_match: {must_include: [Hyatt, 2.0km]}",
    ),
    Field(
        key="must_exclude",
        shape=TEXTS,
        default=None,
        default_text="none",
        doc="The answer contains none of these (VisualWebArena).",
        example="- string_match: {must_exclude: [red], dialect: visualwebarena}",
    ),
    Field(
        key="one_of",
        shape=TEXTS,
        default=None,
        default_text="none",
        doc="The answer contains one of these (VisualWebArena).",
        example="- string_match: {one_of: [yellow, gold], dialect: visualwebarena}",
    ),
    Field(
        key="required_values",
        shape=COMPARISONS,
        default=None,
        default_text="none",
        doc=(
            "The answer is a whole number that meets all of these comparisons; ` |OR| ` separates alternatives "
            "(VisualWebArena)."
        ),
        example='- string_match: {required_values: [">= 300", "< 400"], dialect: visualwebarena}',
    ),
    Field(
        key="fuzzy_match",
        shape=Either("'N/A' or a list of texts", scalar=Choice("N/A"), sequence=TEXTS),
        default=None,
        default_text="none",
        doc=(
            "A judge model finds that the answer means each of these. `N/A`: that the task can't be done, for "
            "the reason in `note`."
        ),
        example="- string_match: {fuzzy_match: [It is comfortable]}",
    ),
    Field(
        key="note",
        shape=Text(blank=True),
        default="",
        default_text="none",
        doc="The reason why the task can't be done.",
        example="- string_match: {fuzzy_match: N/A, note: There is no such product}",
    ),
)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    keys = ("exact_match", "must_include", "must_exclude", "one_of", "required_values", "fuzzy_match")
    if all(values[key] is None for key in keys):
        return Fault("a reference answer", "none", f"known: {', '.join(keys)}")
    return None


_CORRECTED: Record[StringSpec] = Record(
    "corrected string_match", StringSpec, _FIELDS, rule=_fault, doc="The corrected reference.", owner="'corrected'"
)

FORM: Record[StringSpec] = Record(
    "string_match check",
    StringSpec,
    (
        *_FIELDS,
        DIALECT,
        Field(
            key="corrected",
            shape=_CORRECTED,
            default=None,
            default_text="nothing",
            doc="Replaces the other keys under the repair `corrections`.",
            example="- string_match: {exact_match: Sepetember, corrected: {exact_match: September}}",
        ),
    ),
    rule=_fault,
    doc="All given conditions must hold.",
)


def _category(spec: StringSpec) -> str:
    return "unachievable" if isinstance(spec.fuzzy_match, str) else "information"


STRING_MATCH: Kind[StringSpec] = Kind(
    name="string_match",
    doc="Judges the agent's answer as WebArena's own evaluator does ([grading](grading.md)).",
    form=FORM,
    judge=judge,
    category=_category,
    looks_at=lambda spec: {"answer"},
    needs_judge=lambda spec: spec.fuzzy_match is not None,
    examples=("- string_match: {must_include: [Hyatt Regency, 2.0km]}",),
)
