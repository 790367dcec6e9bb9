"""The keys of the kind ``answer`` in task files, and what they make."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from pytest_webarena.checks.answer_spec import UNACHIEVABLE, AnswerSpec, Wanted
from pytest_webarena.checks.answer_types.amounts import durations_in
from pytest_webarena.checks.answer_types.dates import parse_date, parse_time
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.answer_types.units import COMMON_UNITS, currencies, is_unit
from pytest_webarena.checks.answer_types.values import (
    Date,
    Duration,
    Name,
    Names,
    NumberValue,
    Pattern,
    Time,
    Url,
    Value,
    YesNo,
)
from pytest_webarena.checks.ground import GROUND_FIELDS, GROUND_KEYS, REASON, ground_of
from pytest_webarena.checks.json_answer import SCHEMA
from pytest_webarena.checks.text import TextMatch, Tolerance, read_tolerance
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Json, Number, Text
from pytest_webarena.tasks.syntax import REGEX
from pytest_webarena.text import clip

__all__ = ["FORM"]

_TYPES = ("number", "name", "names", "date", "time", "duration", "yes_no", "text", "url")
"""Keys of typed values."""

_MORE = ("includes", "excludes")
_GOES_WITH: Mapping[str, tuple[str, ...]] = {
    "number": ("unit", "tolerance", *_MORE),
    "name": ("aliases", "case", *_MORE),
    "names": ("ordered", "case", *_MORE),
    "date": _MORE,
    "time": _MORE,
    "duration": _MORE,
    "yes_no": _MORE,
    "text": ("aliases", "case", *_MORE),
    "url": _MORE,
    "unachievable": ("type", *GROUND_KEYS),
    "exact": ("case",),
    "one_of": ("case",),
    "regex": _MORE,
    "json": ("any_order",),
    "schema": ("excludes",),
    "includes": ("case", "excludes"),
}
"""What an answer must be, each with the keys that may qualify it. No other combination makes sense."""


def _value(given: dict[str, Any]) -> Value | None:
    """Returns the typed value among the keys of a check."""
    case = given["case"]
    if given["number"] is not None:
        within: Tolerance | None = given["tolerance"]
        return NumberValue(
            value=given["number"],
            unit=given["unit"],
            tolerance=within.amount if within else Decimal(0),
            relative=within.relative if within else False,
        )
    if given["name"]:
        return Name(forms=(given["name"], *given["aliases"]), cased=case)
    if given["text"]:
        return Name(forms=(given["text"], *given["aliases"]), is_text=True, cased=case)
    if given["names"]:
        names = tuple(Name(forms=(name,), cased=case) for name in given["names"])
        return Names(names=names, ordered=given["ordered"])
    if given["yes_no"]:
        return YesNo(value=given["yes_no"] == "yes")
    if given["regex"] is not None:
        return Pattern(regex=given["regex"])
    return given["date"] or given["time"] or given["duration"] or given["url"] or None


def _build(**given: Any) -> AnswerSpec:
    return AnswerSpec(
        value=_value(given),
        includes=tuple(Name(forms=(text,), cased=given["case"]) for text in given["includes"]),
        text=TextMatch(exact=given["exact"], one_of=given["one_of"], excludes=given["excludes"], case=given["case"]),
        unachievable=given["unachievable"],
        asked=given["type"],
        ground=ground_of(given),
        json=given["json"],
        any_order=given["any_order"],
        schema=given["schema"],
    )


def _fault(given: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    keys = [field.key for field in _FIELDS if given[field.key] != field.default]
    main = next((key for key in _GOES_WITH if key in keys), "")
    if not main and keys:
        owners = [repr(key) for key, others in _GOES_WITH.items() if keys[0] in others]
        return Fault(f"'{keys[0]}' with {' or '.join(owners)}", "it alone")
    if not main:
        return Fault("a condition on the answer", "none", f"e.g. {', '.join(_TYPES[:4])} or unachievable")
    allowed = {main, *_GOES_WITH[main], *(_GOES_WITH["includes"] if "includes" in keys else ())}
    if other := next((key for key in keys if key not in allowed), ""):
        *others, last = map(repr, _GOES_WITH[main])
        expected = f"'{main}' alone, or with {', '.join(others)}{' or ' * bool(others)}{last}"
        both = main in _TYPES and other in _TYPES
        return Fault(expected, f"'{other}' too", "give a second value as 'includes'" if both else "")
    absent = [key for key in keys if key in GROUND_KEYS[:2]]
    if not absent and (other := next((key for key in keys if key in GROUND_KEYS[2:]), "")):
        return Fault(f"'{other}' with {' or '.join(map(repr, GROUND_KEYS[:2]))}", "it alone")
    about = _plain(given["about"])
    if about and about in {_plain(term.text) for term in (*given["absent"], *given["absent_controls"])}:
        return Fault("a thing of which something is absent", f"'{clip(given['about'])}' as 'about' and as absent")
    return None


def _plain(text: str) -> tuple[str, ...]:
    return tuple(token.plain for token in tokens(text))


def _unit(text: str, _: Reading) -> str | Fault:
    if text in COMMON_UNITS or currencies(text) or is_unit(text):
        return text
    return Fault("a unit such as km or °C, a currency such as EUR, or %", f"'{clip(text)}'")


def _parsed(parse: Callable[[str], Any], label: str, hint: str = "") -> Convert[Any, str]:
    def convert(text: str, _: Reading) -> Any:
        try:
            return parse(text)
        except ValueError:
            return Fault(label, f"'{clip(text)}'", hint)

    return Convert(Text(label, strip=True), convert)


def _duration(text: str) -> Duration:
    words = tokens(text)
    for months in (False, True):
        found = list(durations_in(words, months=months))
        if len(found) == 1 and found[0][1:] == (0, len(words)) and found[0][0] >= 0:
            return Duration(length=found[0][0], months=months)
    raise ValueError(text)


def _address(text: str) -> Url:
    if not re.match(r"[a-z]+://[^/]", text):
        raise ValueError(text)
    return Url(value=text)


_TEXTS = ListOf(Text(), or_one=True, label="a text or a list of texts", low=1)
_NONE: dict[str, Any] = {"default": None, "default_text": "none"}

_FIELDS: Sequence[Field] = [
    Field(
        key="number",
        shape=Number(Decimal),
        doc="The answer is this number: `1,234.50`, `1.234,50` and `thirty-six` are understood.",
        example="- answer: {number: 84.97, unit: USD}",
        **_NONE,
    ),
    Field(
        key="unit",
        shape=Convert(Text("a unit, a currency or %"), _unit),
        default="",
        default_text="none",
        doc=(
            "Unit of `number` (`km`, `°C`), its currency (`EUR`, `crowns`) or `%`. The answer may leave "
            "it out or use another unit for the same quantity. Without this key, a number with a unit or a "
            "currency sign is undecided."
        ),
        example="- answer: {number: 14.2, unit: °C, tolerance: 0.05}",
    ),
    Field(
        key="tolerance",
        shape=Convert(Text("a tolerance: an amount such as 0.01, or a share such as 1%"), read_tolerance),
        default=None,
        default_text="exactly equal",
        doc="Allowed difference from `number`: an amount, or a share such as 1%.",
        example="- answer: {number: 84.97, tolerance: 1%}",
    ),
    Field(
        key="name",
        shape=Text("a name", strip=True),
        default="",
        default_text="none",
        doc=(
            "The answer is this name of a person, product, place, branch or user, or this code. It counts as "
            "whole words: `main-old`, `yjlou2` and `Lee's` are other names. The case of codes counts."
        ),
        example="- answer: {name: Coffee Grinder}",
    ),
    Field(
        key="aliases",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc="Other forms of `name` or `text` that count.",
        example="- answer: {name: Ann Lee, aliases: [ann.lee]}",
    ),
    Field(
        key="names",
        shape=ListOf(Text(strip=True), label="a list of names", low=1),
        default=(),
        default_text="none",
        doc="The answer gives all these names, and no others, in any order.",
        example="- answer: {names: [Coffee Grinder, Gooseneck Kettle]}",
    ),
    Field(
        key="ordered",
        shape=Bool(),
        default=False,
        doc="Whether `names` must be in this order.",
        example="- answer: {names: [Ann Lee, Bo Ray], ordered: true}",
    ),
    Field(
        key="date",
        shape=_parsed(
            lambda text: Date(value=parse_date(text)), "a date: 2026-03-14, a month: 2026-03, or a year: 2026"
        ),
        doc="The answer is this date, month or year, in any usual form. `3/4/2026` is undecided.",
        example="- answer: {date: 2026-03-14}",
        **_NONE,
    ),
    Field(
        key="time",
        shape=_parsed(lambda text: Time(minutes=parse_time(text)), "a time of day such as '14:30'"),
        doc="The answer is this time of day, in 24 or 12 hours.",
        example='- answer: {time: "14:30"}',
        **_NONE,
    ),
    Field(
        key="duration",
        shape=_parsed(
            _duration, "a length of time in weeks, days, h, min and s, or in years and months: 1 h 25 min, 3 days"
        ),
        doc=(
            "The answer is this length of time, in any units of time. Months and years have no length in days: "
            "`24 months` is `2 years`, and `30 days` is undecided for `1 month`."
        ),
        example="- answer: {duration: 1 h 25 min}",
        **_NONE,
    ),
    Field(
        key="yes_no",
        shape=Choice("yes", "no"),
        default="",
        default_text="none",
        doc="The answer is yes, or no. In quotes.",
        example='- answer: {yes_no: "yes"}',
    ),
    Field(
        key="text",
        shape=Text("a text", strip=True),
        default="",
        default_text="none",
        doc="The answer quotes this text: a title, a message, a sentence.",
        example="- answer: {text: Arrived late but works}",
    ),
    Field(
        key="url",
        shape=_parsed(
            _address,
            "a full address such as http://shopping.test/kettle.html",
            "agents answer with the address that browsers show, so give the site's host, not its name",
        ),
        doc="The answer is the address of this page.",
        example="- answer: {url: 'http://shopping.test/kettle.html'}",
        **_NONE,
    ),
    Field(
        key="unachievable",
        shape=REASON,
        default="",
        default_text="none",
        doc=(
            "The task can't be done, for this reason, and the agent must say so: `N/A` (also "
            + ", ".join(f"`{form}`" for form in UNACHIEVABLE[2:])
            + '), alone or followed by this reason. A denial in other words is undecided: "no orders" may be '
            'the value, and "not cancelled" says what the agent did.'
        ),
        example="- answer: {unachievable: the shop lists no phone number, type: number}",
    ),
    Field(
        key="type",
        shape=Choice(*_TYPES),
        default="",
        default_text="none",
        doc=(
            "For `unachievable`: the type of answer that the intent asks for. Agents get the same instruction "
            "as for it. Without this key, they get none, as in tasks that ask for an action."
        ),
        example="- answer: {unachievable: there is no such order, type: date}",
    ),
    *GROUND_FIELDS,
    Field(
        key="exact",
        shape=Text(blank=True),
        doc="The whole answer is this text, apart from quotes around it and a final full stop.",
        example="- answer: {exact: Gooseneck Kettle}",
        **_NONE,
    ),
    Field(
        key="one_of",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc="The whole answer is one of these texts, compared as with `exact`.",
        example="- answer: {one_of: [Kettle, the kettle]}",
    ),
    Field(
        key="includes",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc="The answer gives all of these, each read as a `name`.",
        example="- answer: {includes: [Coffee Grinder, '84.97']}",
    ),
    Field(
        key="excludes",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc="The answer contains none of these, as whole words and numbers.",
        example="- answer: {name: Coffee Grinder, excludes: Gooseneck Kettle}",
    ),
    Field(
        key="regex",
        shape=REGEX,
        doc="Words of the answer match this regular expression (Python's `re`) as a whole.",
        example="- answer: {regex: '#\\d{4}'}",
        **_NONE,
    ),
    Field(
        key="case",
        shape=Bool(),
        default=False,
        doc="Whether case matters.",
        example="- answer: {name: GmbH, case: true}",
    ),
    Field(
        key="json",
        shape=Convert(Json("a JSON value"), lambda value, _: Wanted(value)),
        doc=(
            "The answer is JSON, bare or in a code fence, and equals this value. Texts compare as "
            "with `exact`, numbers by value. Objects must have the same keys."
        ),
        example="- answer: {json: {name: Coffee Grinder, price: 84.97}}",
        **_NONE,
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
        doc=(
            "The answer is JSON that matches this JSON schema. Supported: `type`, `enum`, `const`, "
            "`properties`, `required`, `additionalProperties` (true or false), `items`, `minItems`, "
            "`maxItems`, `minimum`, `maximum`, `minLength`, `maxLength`, `pattern`."
        ),
        example="- answer: {schema: {type: array, items: {type: number}, minItems: 2}}",
        **_NONE,
    ),
]

FORM: Any = Either(
    "a text, or a mapping of conditions on the answer",
    scalar=Convert(Text("an answer"), lambda text, _: AnswerSpec(text=TextMatch(exact=text))),
    mapping=Record(
        "answer check",
        _build,
        _FIELDS,
        rule=_fault,
        doc="All given conditions must hold.",
        owner="an answer check",
        hint=f"say what type the answer has: {', '.join(_TYPES)} or unachievable",
    ),
)
