"""The kind ``number``: a value with its tolerance and unit, however it is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor, log10
from typing import Any

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.computed.arithmetic import NoNumber, Real, Written, read_form
from pytest_webarena.checks.computed.asked_units import another_unit
from pytest_webarena.checks.computed.asking import MARKER_FIELD, REFUSED, asked_form, no_answer, no_final_answer
from pytest_webarena.checks.computed.extraction import final_answers
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.measures import Found, agree, same_value
from pytest_webarena.checks.computed.units import MISSING, Unit, convert, read_unit, units_there, warm
from pytest_webarena.checks.computed.values import may_be_number, read_number
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.undecided_answers import judge_or_undecided
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.scalars import parse_decimal
from pytest_webarena.tasks.shapes import Choice, Fault, Int, Number, Text
from pytest_webarena.text import clip

__all__ = ["ARB_SHARE", "NUMBER", "NumberSpec", "Reference"]

ARB_SHARE = Fraction(1, 100)
"""How far off an answer of ARB's numeric problems may be, as a share of the reference."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A right value, as the task writes it."""

    text: str
    value: Real
    percent: bool = False
    """Whether it is written as a percentage."""

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberSpec:
    """What the number must be."""

    right: tuple[Reference, ...] = ()
    """Any one of these."""
    interval: tuple[Reference, Reference] | None = None
    rel: Fraction | None = None
    abs: Fraction | None = None
    sig_figs: int | None = None
    unit: Unit | None = None
    unit_text: str = ""
    marker: bool = False

    def __str__(self) -> str:
        if self.interval:
            said = f"a number from {self.interval[0]} to {self.interval[1]}"
        else:
            said = f"the number {' or '.join(map(str, self.right))}"
        bounds = [f"± {_shown(self.rel * 100)} %"] if self.rel is not None else []
        bounds += [f"± {_shown(self.abs)}"] if self.abs is not None else []
        bounds += [f"to {self.sig_figs} significant figures"] if self.sig_figs is not None else []
        return " ".join(filter(None, (said, self.unit_text, " or ".join(bounds))))


def _shown(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _reference(text: str, _: Reading) -> Reference | Fault:
    plain = plain_math(text.strip())
    wanted = "a number or a closed form such as 3/4, 2*sqrt(3), pi/2 or 6.02e23"
    try:
        form = read_form(plain)
    except NoNumber as error:
        return Fault(wanted, f"'{clip(text)}'", str(error))
    if form is None or form[1] != len(plain):
        return Fault(wanted, f"'{clip(text)}'")
    percent = form[0].percent
    return Reference(text.strip(), form[0].value / 100 if percent else form[0].value, percent)


def _share(text: str, _: Reading) -> Fraction | Fault:
    number = text.strip().removesuffix("%").strip()
    amount = parse_decimal(number)
    if amount is None or amount < 0:
        return Fault("a share such as 1% or 0.01", f"'{clip(text)}'")
    share = Fraction(amount) / (100 if number != text.strip() else 1)
    return share if share < 1 else Fault("a share below 100%", f"'{clip(text)}'", "0 would be right, too")


def _amount(value: Decimal, _: Reading) -> Fraction | Fault:
    return Fraction(value) if value >= 0 else Fault("an amount from 0 on", str(value))


def _unit(text: str, _: Reading) -> tuple[Unit, str] | Fault:
    plain = plain_math(text.strip())
    found = read_unit(plain)
    if found is None or found[1] != len(plain):
        return Fault("a unit such as m/s^2, kWh or degC", f"'{clip(text)}'")
    return found[0], text.strip()


_REFERENCE: Any = Convert(Text("a number or a closed form"), _reference)


def _build(**values: Any) -> NumberSpec:
    arb = values["preset"] == "arb"
    unit, unit_text = values["unit"] or (None, "")
    interval = values["interval"]
    return NumberSpec(
        right=(values["is"],) if values["is"] is not None else tuple(values["one_of"]),
        interval=tuple(interval) if interval else None,
        rel=values["rel"] if values["rel"] is not None or not arb else ARB_SHARE,
        abs=values["abs"],
        sig_figs=values["sig_figs"],
        unit=unit,
        unit_text=unit_text,
        marker=values["marker"] if values["marker"] is not None else arb,
    )


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    ways = [key for key in ("is", "one_of", "interval") if values[key]]
    if len(ways) != 1:
        return Fault("one of 'is', 'one_of' and 'interval'", " and ".join(f"'{way}'" for way in ways) or "none")
    relative = values["rel"] is not None or values["preset"] == "arb" or values["sig_figs"] is not None
    if values["interval"]:
        if len(values["interval"]) != 2 or values["interval"][0].value > values["interval"][1].value:
            return Fault("two ends of an interval, the lower one first", str(len(values["interval"])))
        if relative or values["abs"] is not None:
            return Fault("'interval' without a tolerance", "both")
    references = [values["is"]] if values["is"] is not None else values["one_of"]
    if relative and values["abs"] is None and any(not reference.value for reference in references):
        return Fault("'abs' for a reference of 0", "none", "a share of nothing is nothing")
    return None


FORM: Any = Either(
    "a number, or a mapping of conditions on one",
    scalar=Convert(_REFERENCE, lambda reference, _: NumberSpec(right=(reference,))),
    mapping=Record(
        "number check",
        _build,
        [
            Field(
                key="is",
                shape=_REFERENCE,
                default=None,
                default_text="none",
                doc=(
                    "The correct value: a number, or a closed form of numbers, `sqrt`, `pi`, `e`, powers and fractions."
                ),
                example="- number: {is: 3*pi/4, rel: 0.1%}",
            ),
            Field(
                key="one_of",
                shape=ListOf(_REFERENCE, label="a list of numbers", low=1),
                default=(),
                default_text="none",
                doc="Several correct values; the answer gives one of them.",
                example="- number: {one_of: [2, -2]}",
            ),
            Field(
                key="interval",
                shape=ListOf(_REFERENCE, label="two numbers", low=2),
                default=(),
                default_text="none",
                doc="The lowest and highest correct value, both included.",
                example="- number: {interval: [9.7, 9.9]}",
            ),
            Field(
                key="rel",
                shape=Convert(Text("a share such as 1%"), _share),
                default=None,
                default_text="none",
                doc="Tolerance as a share of the correct value. Of several tolerances, one must hold.",
                example="- number: {is: 9.81, rel: 1%}",
            ),
            Field(
                key="abs",
                shape=Convert(Number(Decimal), _amount),
                default=None,
                default_text="exactly equal, unless another tolerance is given",
                doc="Tolerance as an amount, in `unit`. Required if the correct value is 0.",
                example="- number: {is: 0, abs: 0.01}",
            ),
            Field(
                key="sig_figs",
                shape=Int("a number of digits", low=1, high=12),
                default=None,
                default_text="none",
                doc="Number of significant figures that must agree: within half a unit of the last one.",
                example="- number: {is: 299792458, sig_figs: 3}",
            ),
            Field(
                key="unit",
                shape=Convert(Text("a unit"), _unit),
                default=None,
                default_text="the unit or quantity that the intent asks for",
                doc=(
                    "Unit of the value. Answers in another unit of the same quantity are converted (needs "
                    "`pint`, extra `math`). A unit of another quantity fails; an unknown one is undecided. An "
                    "answer without a unit is read in this one."
                ),
                example="- number: {is: 9.81, rel: 1%, unit: m/s^2}",
            ),
            Field(
                key="preset",
                shape=Choice("arb"),
                default=None,
                default_text="none",
                doc="`arb` follows ARB's numeric problems: `rel: 1%` and `marker: true`, unless given.",
                example="- number: {is: 1.38e-23, preset: arb}",
            ),
            Field(
                key=MARKER_FIELD.key,
                shape=MARKER_FIELD.shape,
                default=None,
                default_text="false",
                doc=MARKER_FIELD.doc,
                example="- number: {is: 42, marker: true}",
            ),
        ],
        rule=_fault,
        doc="One of `is`, `one_of` and `interval`, with tolerances.",
        owner="a number check",
    ),
)


def judge(spec: NumberSpec, view: View) -> Judgement:
    """Judge the agent's last word."""
    answer, expected = view.evidence.text_answer, str(spec)
    if answer is None:
        return no_answer(view, expected)
    actual = f'"{answer}"'
    said = final_answers(answer, marker=spec.marker)
    if said.missing:
        return no_final_answer(said, answer, view, expected, marker=spec.marker)
    if any(map(says_unachievable, said.texts)):
        return Judgement.of(False, expected=expected, actual=actual, why=REFUSED)
    try:
        found = [read_number(text, question=view.intent, quoting=not spec.marker) for text in said.texts[:8]]
    except NoNumber as error:
        if not any(map(may_be_number, said.texts)):
            return Judgement.of(False, expected=expected, actual=actual, why=str(error))
        return judge_or_undecided("equivalent", expected, answer, view, str(error))
    other = next((each for each in found[1:] if not agree(found[0].written, each.written)), None)
    if other is not None or len(said.texts) > 8:
        why = f"it gives several final answers: {found[0]}, {other or '…'}"
        return judge_or_undecided("equivalent", expected, answer, view, why)
    if spec.unit is not None:
        if not units_there() and any(each.unit not in (None, spec.unit) for each in found):
            return Judgement.unknown(expected=expected, actual=actual, why=MISSING)
        if strange := next((each.strange for each in found if each.strange), ""):
            why = f"its unit is unknown: {clip(strange, 30)}"
            return judge_or_undecided("equivalent", expected, answer, view, why)
    whys = {percent: _off_first(spec, found, view.intent, answer, percent=percent) for percent in (False, True)}
    why = whys[bool(_PERCENTAGE.search(view.intent))]
    if why and not whys[True]:
        doubt = "it is right only if one number is a percentage, and the task asks for none"
        return judge_or_undecided("equivalent", expected, answer, view, doubt)
    if spec.unit is None:
        for each in found:
            another, same_quantity = another_unit(each.unit, view.intent)
            if another and (not why or same_quantity):
                return judge_or_undecided("equivalent", expected, answer, view, another)
    return Judgement.of(not why, expected=expected, actual=actual, why=why)


_DIFFERENCE = re.compile(
    r"\bby\s+how\s+(?:many|much)\b|\b(?:what\s+is|find|compute|calculate|determine)\s+the\s+(?:temperature\s+"
    r"(?:difference|change|rise|increase|drop)|(?:difference|change|rise|increase|drop)\s+(?:in|of)\s+temperature)\b",
    re.IGNORECASE,
)
"""A question for how far two temperatures are apart: 25 °C are 25 K there."""


def _off_first(spec: NumberSpec, found: Sequence[Found], intent: str, answer: str, *, percent: bool) -> str:
    """Returns why the first wrong number is not the right one; empty if all are right."""
    return next(filter(None, (_off(spec, each, intent, answer, percent=percent) for each in found)), "")


def _off(spec: NumberSpec, found: Found, intent: str, answer: str, *, percent: bool) -> str:
    """Returns why a number is not the right one; empty if it is.

    Args:
        spec: the check.
        found: the number.
        intent: what the task asks.
        answer: the whole answer.
        percent: whether a percentage is asked for.
    """
    written = found.written
    unit_fits = True
    converted: Real | None = None
    if spec.unit is not None and found.unit is not None and found.unit != spec.unit:
        converted = _converted(
            _as_float(written.value), found.unit, spec.unit, apart=bool(_DIFFERENCE.search(intent)), answer=answer
        )
        unit_fits = converted is not None
    if not unit_fits:
        return f"its unit, {found.unit}, does not measure what {spec.unit_text} does"
    if spec.interval is not None:
        low, high = (Fraction(end.value) for end in spec.interval)
        values = [converted] if converted is not None else _meant(spec, written, spec.interval[1], percent=percent)
        outside = f"{found} is not between them"
        return "" if any(low <= Fraction(value) <= high for value in values) else outside
    pairs = [
        (value, right.value)
        for right in spec.right
        for value in ([converted] if converted is not None else _meant(spec, written, right, percent=percent))
    ]
    if any(_fits(spec, value, right) for value, right in pairs):
        return ""
    off = min(abs(Fraction(value) - Fraction(right)) for value, right in pairs)
    return f"it is off by {float(off):.6g}" if off < 10**300 else "it is far off"


_PERCENTAGE = re.compile(r"\bper\s?cent|%", re.IGNORECASE)
"""What asks for a percentage in an intent: there, 45 and 45 % are the same."""


def _meant(spec: NumberSpec, written: Written, right: Reference, *, percent: bool) -> list[Real]:
    """Returns the values that a number may have: where a percentage is asked for, 45 is 45 %, and 45 % is 45."""
    own = [written.value / 100 if written.percent else written.value]
    if not percent or spec.unit is not None or written.percent == right.percent:
        return own
    if right.percent:
        return [*own, written.value / 100]
    return [*own, written.value] if abs(Fraction(right.value)) > 1 else own


_LETTERS = {"coulomb": "degC", "farad": "degF"}
"""Where a temperature is asked for, ``37 C`` is one."""


def _converted(value: float, unit: Unit, wanted: Unit, *, apart: bool = False, answer: str = "") -> float | None:
    """In the unit asked for, as the answer's unit is read strictly or as it may be meant; None when neither fits."""
    if apart and unit.parts in _TEMPERATURES and wanted.parts in _TEMPERATURES:
        return convert(value, _step(unit), _step(wanted))
    read = [unit, Unit(unit.loose)] if unit.loose else [unit]
    name = unit.parts[0][0] if len(unit.parts) == 1 else ""
    if (letter := _LETTERS.get(name)) and wanted.parts in _TEMPERATURES and name not in answer.lower():
        read.append(Unit(((letter, 1),)))
    if len(unit.parts) == 1 and unit.parts[0][0] == "millisecond" and unit.parts[0][1] < 0:
        read.append(Unit((("meter", 1), ("second", unit.parts[0][1]))))  # m s^-1 written together
    return next((made for each in read if (made := convert(value, each, wanted)) is not None), None)


_TEMPERATURES = ((("kelvin", 1),), (("degC", 1),), (("degF", 1),))


def _step(unit: Unit) -> Unit:
    """What one degree of a scale counts, wherever its zero is."""
    name = unit.parts[0][0]
    return unit if name == "kelvin" else Unit(((f"delta_{name}", 1),))


def _as_float(value: Real) -> float:
    try:
        return float(value)
    except OverflowError:
        return float("inf")


def _fits(spec: NumberSpec, value: Real, right: Real) -> bool:
    if same_value(value, right):
        return True
    off, size = abs(Fraction(value) - Fraction(right)), abs(Fraction(right))
    slack = Fraction(1, 10**12) * size  # what floats lose at the very edge of a tolerance
    allowed = [spec.rel * size] if spec.rel is not None else []
    allowed += [spec.abs] if spec.abs is not None else []
    if spec.sig_figs is not None and size:
        allowed.append(Fraction(10) ** (_magnitude(size) + 1 - spec.sig_figs) / 2)
    return any(off <= each + slack for each in allowed)


def _magnitude(size: Fraction) -> int:
    """The power of ten of the first digit."""
    guess = floor(log10(size)) if Fraction(1, 10**300) < size < 10**300 else len(str(int(size))) - 1
    return guess + 1 if size >= Fraction(10) ** (guess + 1) else guess - 1 if size < Fraction(10) ** guess else guess


def _asks(spec: NumberSpec) -> str:
    what = "one number"
    if spec.unit_text:
        what += f", measured in {spec.unit_text}"
    form = asked_form(f"{what} (a decimal number, a fraction or a closed form such as 2*sqrt(3))", marker=spec.marker)
    if spec.sig_figs is not None:
        form += f" Give at least {spec.sig_figs} significant figures."
    return form


NUMBER: Kind[NumberSpec] = Kind(
    name="number",
    doc=(
        "Checks the one number that the answer gives, by value: `0.75`, `3/4`, `75%`, `\\frac{3}{4}`, `x = "
        "3/4`, `1.2×10^-3`, `2\\sqrt{3}`, `π/4`, `9.8 m/s²`. An answer that is not read as one number (`2x`, `45 + "
        "8`, `3 or 4`) is undecided. A number alone is short for `is`."
    ),
    form=FORM,
    judge=judge,
    category=lambda spec: "information",
    looks_at=lambda spec: {"answer"},
    asks=_asks,
    answers=lambda spec: (
        f"{'ANSWER: ' * spec.marker}{each} {spec.unit_text}".strip() for each in spec.right or spec.interval or ()
    ),
    make_ready=lambda spec: warm() if spec.unit is not None else None,
    examples=("- number: 408", "- number: {is: 9.81, rel: 1%, unit: m/s^2}"),
)
