"""How page programs are written: targets with an address, a locator and what it has to show."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.upstream.calls import CallError, Gives, parse_call
from pytest_webarena.checks.upstream.parts import COMPARISONS, DIALECT, TEXTS, Dialect
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.shapes import Fault, Shape, Text
from pytest_webarena.text import clip

__all__ = ["FORM", "LAST", "Contents", "Corrected", "ProgramSpec", "Target"]

LAST = "last"
"""As an address: the page that is open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What the text found has to be; only the first that is given counts, in this order."""

    exact_match: str | None = None
    must_include: tuple[str, ...] | None = None
    must_exclude: tuple[str, ...] | None = None
    required_values: tuple[str, ...] | None = None
    fuzzy_match: tuple[str, ...] | None = None

    @property
    def first(self) -> str:
        """Name of the condition that counts."""
        names = ("exact_match", "must_include", "must_exclude", "required_values", "fuzzy_match")
        return next((name for name in names if getattr(self, name) is not None), "")

    def __str__(self) -> str:
        if self.exact_match is not None:
            return f'exactly "{clip(self.exact_match, 80)}"'
        named = (
            ("includes", self.must_include),
            ("excludes", self.must_exclude),
            ("number", self.required_values),
            ("means", self.fuzzy_match),
        )
        word, given = next(((word, given) for word, given in named if given is not None), ("", ()))
        return f"{word} " + ", ".join(f'"{clip(each, 60)}"' for each in given or ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Corrected:
    """What the repair ``corrections`` puts in a target's place; what is not given stays."""

    url: str = ""
    required_contents: Contents | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One page and what it has to show."""

    url: str
    """``last``, an address, or ``func:`` and a call that gives one."""
    locator: str
    """Empty for the whole page; JavaScript; ``lambda:`` and JavaScript; or ``func:`` and a call."""
    required_contents: Contents
    prep_actions: tuple[str, ...] = ()
    corrected: Corrected | None = None

    def __str__(self) -> str:
        part = f" at {clip(self.locator, 80)}" if self.locator.strip() else ""
        return f"{self.required_contents}{part} on {self.url}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSpec:
    """The targets, all of which have to hold."""

    targets: tuple[Target, ...]
    dialect: Dialect = "webarena"

    @property
    def opens(self) -> bool:
        """Whether every page is opened for the purpose, so that it makes no difference where the agent ends up."""
        return all(target.url != LAST and "func:" not in target.url for target in self.targets)

    def __str__(self) -> str:
        return "; ".join(map(str, self.targets))


def _call_fault(text: str, gives: Gives) -> Fault | None:
    try:
        parse_call(text, gives)
    except CallError as error:
        return Fault("a call of a known helper function", clip(str(error), 200))
    return None


def _url_fault(text: str, _: Reading) -> Fault | None:
    if text.startswith("func"):
        return _call_fault(text.split("func:", 1)[1] if "func:" in text else "", "address")
    if text == LAST or text.startswith(("http://", "https://", "__")):
        return None
    return Fault("'last', an address or 'func:' and a call", f"'{clip(text)}'")


def _locator_fault(text: str, _: Reading) -> Fault | None:
    if text.startswith("func:"):
        return _call_fault(text.split("func:", 1)[1], "text")
    if not text.strip() or text.startswith(("document.", "[...document.", "lambda:")):
        return None
    return Fault("JavaScript that begins with 'document.', 'lambda:' or 'func:'", f"'{clip(text)}'")


def _one_of(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if all(value is None for value in values.values()):
        return Fault("what is required", "nothing", f"known: {', '.join(values)}")
    return None


def _contents_field(key: str, shape: Shape[Any], doc: str, example: str) -> Field:
    target = f"{{url: last, locator: '', required_contents: {{{key}: {example}}}}}"
    return Field(
        key=key, shape=shape, default=None, default_text="none", doc=doc, example=f"- program_html:\n    - {target}"
    )


CONTENTS: Record[Contents] = Record(
    "required_contents",
    Contents,
    (
        _contents_field("exact_match", Text(blank=True), "The text equals this one.", "Busy"),
        _contents_field(
            "must_include", TEXTS, "The text contains each of these; ` |OR| ` separates alternatives.", "[Busy]"
        ),
        _contents_field("must_exclude", TEXTS, "The text contains none of these (VisualWebArena).", "[Busy]"),
        _contents_field(
            "required_values",
            COMPARISONS,
            "The text is a whole number that meets all of these comparisons (VisualWebArena).",
            '["> 3"]',
        ),
        _contents_field(
            "fuzzy_match",
            ListOf(Text(blank=True), or_one=True, label="a text or a list of texts"),
            "A judge model finds that the text means these (WebArena-Lite, VisualWebArena).",
            "[It is busy]",
        ),
    ),
    rule=_one_of,
    doc="Conditions on the text found. Of several keys, only the first in this order counts.",
    owner="'required_contents'",
)

_URL_EXAMPLE = "- program_html:\n    - {url: __GITLAB__/explore, locator: '', required_contents: {must_include: [a]}}"

TARGET: Record[Target] = Record(
    "program_html target",
    Target,
    (
        Field(
            key="url",
            shape=Text("an address", check=_url_fault),
            doc="The page: `last` (the open one), an address, or `func:` and a call of a helper function.",
            example=_URL_EXAMPLE,
        ),
        Field(
            key="locator",
            shape=Text("a locator", blank=True, check=_locator_fault),
            default="",
            default_text="the whole page's HTML",
            doc=(
                "The part of the page: JavaScript that begins with `document.`, `lambda:` and JavaScript, or "
                "`func:` and a call."
            ),
            example="- program_html:\n    - url: last\n      locator: document.querySelector('#a').outerText\n"
            "      required_contents: {exact_match: Busy}",
        ),
        Field(
            key="required_contents",
            shape=CONTENTS,
            doc="Conditions on the text found. Of several keys, only the first in this order counts.",
            example=_URL_EXAMPLE,
        ),
        Field(
            key="prep_actions",
            shape=ListOf(Text("JavaScript"), label="a list of JavaScript expressions"),
            default=(),
            default_text="none",
            doc="JavaScript to run first.",
            example="- program_html:\n    - url: last\n      locator: document.querySelector('#a').outerText\n"
            "      prep_actions: [\"document.querySelector('#more').click()\"]\n"
            "      required_contents: {exact_match: Busy}",
        ),
        Field(
            key="corrected",
            shape=Record(
                "corrected program_html target",
                Corrected,
                (
                    Field(
                        key="url",
                        shape=Text("an address", check=_url_fault),
                        default="",
                        default_text="unchanged",
                        doc="Replaces the target's page.",
                        example="- program_html:\n    - url: __REDDIT__/f/a\n"
                        "      required_contents: {exact_match: a}\n      corrected: {url: __REDDIT__/f/a/edit}",
                    ),
                    Field(
                        key="required_contents",
                        shape=CONTENTS,
                        default=None,
                        default_text="unchanged",
                        doc="Replaces the target's required content.",
                        example="- program_html:\n    - url: last\n      required_contents: {exact_match: Completed}\n"
                        "      corrected: {required_contents: {exact_match: Complete}}",
                    ),
                ),
                doc="Replaces the target's keys under the repair `corrections`.",
                owner="'corrected'",
            ),
            default=None,
            default_text="nothing",
            doc="Changes under the repair `corrections`.",
            example="- program_html:\n    - url: last\n      required_contents: {exact_match: Completed}\n"
            "      corrected: {required_contents: {exact_match: Complete}}",
        ),
    ),
    doc="One page, and its required content.",
    owner="a target",
)

_TARGETS = ListOf(TARGET, low=1, label="a list of targets, at least one")


def _from_list(targets: tuple[Target, ...], _: Reading) -> ProgramSpec:
    return ProgramSpec(targets=targets)


FORM: Shape[ProgramSpec] = Either(
    "a list of targets",
    sequence=Convert(_TARGETS, _from_list),
    mapping=Record(
        "program_html check",
        ProgramSpec,
        (
            Field(
                key="targets",
                shape=_TARGETS,
                doc="The targets.",
                example="- program_html:\n    targets: [{url: last, required_contents: {must_include: [a]}}]\n"
                "    dialect: webarena-lite",
            ),
            DIALECT,
        ),
        doc="The targets and the dialect. A list alone is short for `targets`.",
    ),
)
