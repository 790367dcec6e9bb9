"""The kind ``url_match``: the last address as the original evaluators judge it, defects included or repaired."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlparse

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.upstream.parts import DIALECT, Dialect
from pytest_webarena.checks.upstream.text import ALTERNATIVE
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.tasks.record_shapes import Field, Record
from pytest_webarena.tasks.shapes import Choice, Text

__all__ = ["URL_MATCH", "UrlMatchSpec", "original", "repaired", "visual"]

Rules = Callable[[str], bool]
Query = Mapping[str, Sequence[str]]
_FORUM = re.compile(r"^/f/[^/]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class UrlMatchSpec:
    """Where the browser has to be at the end."""

    reference_url: str
    """With `` |OR| `` between alternatives."""
    note: str = ""
    """The rule: ``GOLD in PRED`` or ``EXACT``; empty for the dialect's own."""
    dialect: Dialect = "webarena"
    corrected: str = ""

    def __str__(self) -> str:
        return self.reference_url.replace(ALTERNATIVE, " or ")


def original(references: Sequence[str], url: str) -> bool:
    """WebArena's rule: any reference's host and path is a part of the address's, and of each parameter that any
    reference has, any of their values is there."""
    bases, wanted = [], dict[str, set[str]]()
    for reference in references:
        base, query = _split(reference.rstrip("/"))
        bases.append(base)
        for name, values in query.items():
            wanted.setdefault(name, set()).update(values)
    base, query = _split(url.rstrip("/"))
    return any(each in base for each in bases) and all(
        not values.isdisjoint(query.get(name, ())) for name, values in wanted.items()
    )


def visual(references: Sequence[str], url: str, *, part: bool) -> bool:
    """VisualWebArena's rule: the address is one of the references or, with ``part``, contains one."""
    url, *known = (each.replace("localhost", "127.0.0.1").removesuffix("/") for each in (url, *references))
    return any(each in url for each in known) if part else url in known


def repaired(references: Sequence[str], url: str, rules: Rules) -> bool:
    """WebArena's rule without its defects, as far as ``rules`` says.

    >>> repaired(["http://r.test/f/books"], "http://r.test/f/books2", lambda rule: True)
    False
    """
    if rules("url-alternatives"):
        return any(_repaired([each], url, rules) for each in references)
    return _repaired(references, url, rules)


def _repaired(references: Sequence[str], url: str, rules: Rules) -> bool:
    if rules("url-slash"):
        references, url = [_unslashed(each) for each in references], _unslashed(url)
    if rules("url-case"):
        references, url = [_lowered(each) for each in references], _lowered(url)
    if not original(references, url):
        return False
    if not rules("url-base"):
        return True
    base = _segments(_split(url.rstrip("/"))[0])
    return any(
        base[: len(wanted)] == wanted for wanted in (_segments(_split(each.rstrip("/"))[0]) for each in references)
    )


def _segments(base: str) -> list[str]:
    return base.rstrip("/").split("/")


def _unslashed(url: str) -> str:
    head, mark, query = url.partition("?")
    return head.rstrip("/") + mark + query


def _lowered(url: str) -> str:
    """With the name of a forum in lower case."""
    parts = urlparse(url)
    return parts._replace(path=_FORUM.sub(lambda match: match[0].lower(), parts.path)).geturl()


def _split(url: str) -> tuple[str, Query]:
    parts = urlparse(url)
    return parts.netloc + parts.path, parse_qs(parts.query)


def judge(spec: UrlMatchSpec, view: View) -> Judgement:
    """Judge the address of the active tab."""
    rules = view.grading.repairs
    expected = str(spec)
    reference = spec.corrected if spec.corrected and rules("corrections") else spec.reference_url
    url = view.evidence.url
    if not view.evidence.tabs:
        return Judgement.unknown(expected=expected, why="no tab was recorded at the end")
    references = resolve_placeholders(reference, view.evidence.sites).split(ALTERNATIVE)
    try:
        holds = _holds(spec, references, url, rules)
    except ValueError as error:
        return Judgement.unknown(expected=expected, actual=url, why=f"an address can't be read: {error}")
    return Judgement.of(holds, expected=expected, actual=url, why="" if holds else "it is another place")


def _holds(spec: UrlMatchSpec, references: Sequence[str], url: str, rules: Rules) -> bool:
    if spec.dialect == "visualwebarena":
        return visual(references, url, part=spec.note == "GOLD in PRED")
    if spec.note == "EXACT":
        raise ValueError("WebArena has no rule EXACT")
    return repaired(references, url, rules)


FORM: Record[UrlMatchSpec] = Record(
    "url_match check",
    UrlMatchSpec,
    (
        Field(
            key="reference_url",
            shape=Text("an address"),
            doc="The address; ` |OR| ` separates several. `__SHOPPING__` and the like stand for sites.",
            example="- url_match: {reference_url: __REDDIT__/f/books}",
        ),
        Field(
            key="note",
            shape=Choice("GOLD in PRED", "EXACT"),
            default="",
            default_text="`GOLD in PRED`, or `EXACT` in VisualWebArena",
            doc=("`GOLD in PRED`: the address contains the reference. `EXACT`: it equals it (VisualWebArena)."),
            example="- url_match: {reference_url: __REDDIT__/f/books, note: GOLD in PRED}",
        ),
        DIALECT,
        Field(
            key="corrected",
            shape=Text("an address"),
            default="",
            default_text="nothing",
            doc="The address that replaces it under the repair `corrections`.",
            example="- url_match: {reference_url: __REDDIT__/f/book, corrected: __REDDIT__/f/books}",
        ),
    ),
    doc="The expected address.",
)


def _category(spec: Any) -> str:
    return "navigation"


URL_MATCH: Kind[UrlMatchSpec] = Kind(
    name="url_match",
    doc="Judges the address of the current tab as WebArena's own evaluator does ([grading](grading.md)).",
    form=FORM,
    judge=judge,
    category=_category,
    looks_at=lambda spec: {"place"},
    examples=("- url_match: {reference_url: __GITLAB__/dashboard/todos}",),
)
