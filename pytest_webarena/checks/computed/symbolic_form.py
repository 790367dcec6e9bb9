"""What a check of the kind ``symbolic`` asks for: its keys in a task file, and the faults that they may have."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from pytest_webarena.checks.computed.arithmetic import NoNumber, read_form
from pytest_webarena.checks.computed.asking import MARKER_FIELD
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.docs_site import docs
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Number, Text
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.checks.computed.comparing import Terms

__all__ = ["FORM", "SymbolicSpec"]

_CONSTANTS = re.compile(r"(?:[CcKk]|const)(?:_\w+)?")
"""Names of constants that nobody asks for, as that of integration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SymbolicSpec:
    """What the answer must be equal to, and what counts as equal."""

    equals: tuple[str, ...]
    variables: tuple[str, ...] = ()
    positive: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    complex: tuple[str, ...] = ()
    domain: Mapping[str, tuple[Decimal, Decimal]] = field(default_factory=dict)
    rel: float = 0.0
    rename: bool = False
    up_to: str = ""
    up_to_score: float = 0.5
    ask: bool = False
    marker: bool = False

    def __str__(self) -> str:
        text = " or ".join(self.equals)
        if self.rename:
            text += ", in any names"
        if self.rel:
            text += f", numbers to {self.rel:g}"
        if self.up_to:
            text += f" ({self.up_to_score:g} if only up to a {self.up_to})"
        return text

    def terms(self) -> Terms:
        """The same for the comparison. Needs SymPy."""
        from pytest_webarena.checks.computed.building import names_in
        from pytest_webarena.checks.computed.comparing import Terms
        from pytest_webarena.checks.computed.sampling import Domains

        def names(given: tuple[str, ...]) -> frozenset[str]:
            return frozenset(_name(each, self.variables) for each in given)

        references = [parse(reference, self.variables).tree for reference in self.equals] if self.up_to else []
        return Terms(
            variables=frozenset(self.variables),
            domains=Domains(
                positive=names(self.positive),
                integers=names(self.integers),
                complex=names(self.complex),
                ranges={
                    _name(name, self.variables): (Fraction(low), Fraction(high))
                    for name, (low, high) in self.domain.items()
                },
            ),
            rel=self.rel,
            rename=self.rename,
            up_to=self.up_to,  # type: ignore[arg-type]
            constants=frozenset(name for tree in references for name in names_in(tree) if _CONSTANTS.fullmatch(name)),
        )


def _name(text: str, variables: tuple[str, ...]) -> str:
    r"""A name as formulas have it: ``\alpha`` is ``alpha``. Raises `Unreadable` when it is none."""
    tree = parse(text, variables).tree
    if tree.op != "name":
        raise Unreadable(f"'{clip(text, 30)}' is no name")
    return tree.text


def _build(*, equals: str, one_of: tuple[str, ...], **values: Any) -> SymbolicSpec:
    values["domain"] = {name: (low, high) for name, (low, high) in values["domain"].items()}
    return SymbolicSpec(equals=one_of or (equals,), **values)


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if bool(values["equals"]) == bool(values["one_of"]):
        found = "both" if values["equals"] else "neither"
        return Fault("either 'equals' or 'one_of'", found, "'one_of' lists formulas of which any will do")
    for reference in values["one_of"] or (values["equals"],):
        if fault := _unreadable(reference, values["variables"]):
            return fault
    for key in ("positive", "integers", "complex", "domain"):
        for name in values[key]:
            try:
                _name(name, values["variables"])
            except Unreadable as error:
                return Fault(f"names in '{key}'", str(error), "names of more than one letter go into 'variables', too")
    for name, bounds in values["domain"].items():
        if len(bounds) != 2 or bounds[0] >= bounds[1]:
            return Fault(f"two numbers for '{name}', the smaller one first", ", ".join(map(str, bounds)))
    if values["rel"] and values["up_to"]:
        return Fault("'rel' or 'up_to'", "both", "split it into two checks")
    return None


def _unreadable(reference: str, variables: tuple[str, ...] = ()) -> Fault | None:
    try:
        parse(reference, variables)
        read_form(reference)  # numbers alone are evaluated: 1/0
    except (Unreadable, NoNumber) as error:
        return Fault(
            "a formula",
            f"'{clip(reference, 60)}', where {error}",
            f"what is understood: {docs('computed', 'what-is-understood')}",
        )
    return None


def _alone(text: str, _: Reading) -> SymbolicSpec | Fault:
    return _unreadable(text) or SymbolicSpec(equals=(text,))


_NAMES: Any = ListOf(Text("a name"), or_one=True)

FORM: Any = Either(
    "a formula, or a mapping of what the answer must be equal to",
    scalar=Convert(Text("a formula"), _alone),
    mapping=Record(
        "symbolic check",
        _build,
        [
            Field(
                key="equals",
                shape=Text("a formula"),
                default="",
                default_text="none",
                doc=(
                    "The formula, in LaTeX or plain text. The answer passes if it is equal, however it is "
                    "written: `1 - cos(x)^2` for `\\sin^2 x`. An equation matches an equivalent equation, a "
                    "set the same elements in any order, a tuple or matrix its elements one by one."
                ),
                example="- symbolic: {equals: 'x^2/2 + C'}",
            ),
            Field(
                key="one_of",
                shape=ListOf(Text("a formula"), low=1),
                default=(),
                default_text="none",
                doc="Formulas; the answer must equal one of them.",
                example="- symbolic: {one_of: ['A \\cos t', 'A \\sin t']}",
            ),
            Field(
                key="variables",
                shape=_NAMES,
                default=(),
                default_text="none",
                doc=(
                    "Names of more than one letter in the formulas; other runs of letters are products. Also "
                    "`e` or `i`, if they are names and not the constants."
                ),
                example="- symbolic: {equals: rate * time, variables: [rate, time]}",
            ),
            Field(
                key="positive",
                shape=_NAMES,
                default=(),
                default_text="none",
                doc="Names of positive numbers, so that `sqrt(x^2)` is `x`. Others are real numbers.",
                example="- symbolic: {equals: 'r \\sqrt{2}', positive: r}",
            ),
            Field(
                key="integers",
                shape=_NAMES,
                default=(),
                default_text="none",
                doc="Names of whole numbers, so that `sin(n*pi)` is `0`.",
                example="- symbolic: {equals: '(-1)^n', integers: n}",
            ),
            Field(
                key="complex",
                shape=_NAMES,
                default=(),
                default_text="none",
                doc="Names of complex numbers.",
                example="- symbolic: {equals: 'z^2 + 1', complex: z}",
            ),
            Field(
                key="domain",
                shape=MapOf(ListOf(Number(Decimal), low=2), "a mapping from names to two numbers", key=Text("a name")),
                default={},
                default_text="none",
                doc="Names of numbers between two bounds.",
                example="- symbolic: {equals: '\\arcsin x', domain: {x: [-1, 1]}}",
            ),
            Field(
                key="rel",
                shape=Number(float, "a number from 0 to below 1", low=0, high=0.5),
                default=0.0,
                doc=(
                    "Relative tolerance of numbers in the answer: `0.01` accepts `3.33 x` for `10/3 x`. "
                    "Polynomials are compared by coefficients, other formulas by their values."
                ),
                example="- symbolic: {equals: 10/3 x, rel: 0.01}",
            ),
            Field(
                key="rename",
                shape=Bool(),
                default=False,
                doc="Whether the answer may use other names, one for each name of the reference.",
                example="- symbolic: {equals: f(x) = x^2, rename: true}",
            ),
            Field(
                key="up_to",
                shape=Choice("constant", "factor"),
                default="",
                default_text="none",
                doc=(
                    "Also accepts an answer that is correct up to an added `constant` or a constant "
                    "`factor`, with the score `up_to_score`. Constants are numbers, and names of the "
                    "reference such as `C`, `K` and `C_1`."
                ),
                example="- symbolic: {equals: 'x^2/2 + C', up_to: constant}",
            ),
            Field(
                key="up_to_score",
                shape=Number(float, "a number above 0, up to 1", above=0, high=1),
                default=0.5,
                doc="The score of an answer that is correct only because of `up_to`.",
                example="- symbolic: {equals: 'x^2/2', up_to: constant, up_to_score: 1}",
            ),
            Field(
                key="ask",
                shape=Bool(),
                default=False,
                doc=(
                    "Whether a judge model is asked with its questions on formulas, instead of those on texts, about "
                    "an answer that can't be decided."
                ),
                example="- symbolic: {equals: '\\int_0^1 x^x dx', ask: true}",
            ),
            replace(MARKER_FIELD, example="- symbolic: {equals: 'x^2 + 1', marker: true}"),
        ],
        rule=_fault,
        doc="The reference formula, and how the answer may differ from it.",
        owner="a symbolic check",
    ),
)
