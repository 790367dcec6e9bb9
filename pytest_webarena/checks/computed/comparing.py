"""Whether an answer says the same as a reference: as it stands, as it may be meant besides, in other names."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pytest_webarena.checks.computed.asked_units import another_unit
from pytest_webarena.checks.computed.building import build, names_in
from pytest_webarena.checks.computed.conventions import conventional, explained, other_readings, with_names
from pytest_webarena.checks.computed.definitions import Definitions, Redefined
from pytest_webarena.checks.computed.grammar import parse
from pytest_webarena.checks.computed.labels import is_label
from pytest_webarena.checks.computed.repeated import goes_against
from pytest_webarena.checks.computed.sampling import Verdict
from pytest_webarena.checks.computed.structures import plus_minus
from pytest_webarena.checks.computed.tokens import Unreadable
from pytest_webarena.checks.computed.tree import Node
from pytest_webarena.checks.computed.tree_equality import EXACTLY, Comparison, Terms

__all__ = ["EXACTLY", "BadReference", "ComparedAnswer", "Terms", "compare"]

_SHARE = re.compile(
    r"(?<!(?i:units|eters|etres|oules|wtons|watts|volts|grams|miles|dians|grees|tions)) (per (?:unit )?[a-z]{3,20})\b"
)
"""A part of the whole, that is no unit of measurement."""
_SHARED = re.compile(r"\b(?:per|each|every|specific|densit\w+|rates?)\b", re.IGNORECASE)
_FIXED = re.compile(r"(?<![A-Za-z\\])([xyzt])\$?\s+(?:is|being)\s+(?:held\s+|kept\s+|an?\s+)?(?:constant|fixed)")
_ADDED = re.compile(r"C(?:_\w+)?")
"""A constant of integration, beside which a variable is none."""
MOST_RENAMED = 5
"""Names of which every exchange is tried."""


class BadReference(ValueError):
    """What is wrong with a reference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedAnswer:
    """What came of it."""

    verdict: Verdict
    why: str = ""
    partly: bool = False
    """Equal only up to the constant or the factor."""


def compare(reference: str, answer: str, terms: Terms = EXACTLY) -> ComparedAnswer:
    """Compare two texts. Raises `Unreadable` when the answer is no formula, `BadReference` when the reference is none.

    >>> compare("x^2 - 1", "(x-1)(x+1)").verdict
    'equal'
    """
    try:
        asked = parse(reference, terms.variables)
        wanted = conventional(asked.tree)
        wanted = wanted.parts[0] if wanted.op == "where" else wanted
        _check(wanted)
    except Unreadable as error:
        raise BadReference(str(error)) from None
    if (share := _SHARE.search(answer)) and not _SHARED.search(terms.intent):
        return ComparedAnswer(verdict="undecided", why=f"it is said '{share[1]}', which the task does not ask for")
    if (
        (fixed := _FIXED.search(answer))
        and fixed[1] in names_in(wanted)
        and any(map(_ADDED.fullmatch, names_in(wanted)))
    ):
        return ComparedAnswer(verdict="undecided", why=f"it says that {fixed[1]} is constant")
    known = terms.variables | names_in(wanted)
    reading = parse(answer, known, question=terms.intent)
    if against := goes_against(answer, terms.intent, reading.label):
        return ComparedAnswer(verdict="undecided", why=against)
    given = conventional(reading.tree)
    found = _first_equal(wanted, given, answer, terms)
    another, same_quantity = another_unit(reading.unit, terms.intent, asked.unit)
    if another and (found.verdict != "unequal" or same_quantity):
        certain = asked.unit is not None and not same_quantity
        return ComparedAnswer(verdict="unequal" if certain else "undecided", why=another)
    if found.verdict == "unequal" and (reading.ambiguous or asked.ambiguous):
        wanted = conventional(parse(reference, terms.variables, tight=True).tree)
        where = "it" if reading.ambiguous else "the reference"
        tight = conventional(parse(answer, known, tight=True, question=terms.intent).tree)
        if _first_equal(wanted, tight, answer, terms).verdict == "equal":
            return ComparedAnswer(
                verdict="undecided",
                why=f"it is right if 'a/bc' in {where} means a/(bc), and wrong if (a/b)c, which is what it says",
            )
    if found.verdict == "unequal" and not reading.sure:
        return ComparedAnswer(verdict="undecided", why=f"{found.why}, and it has several formulas")
    if found.verdict == "unequal" and (strange := _strange(given, known, terms.intent)):
        return ComparedAnswer(verdict="undecided", why=f"{found.why}, and it has other names: {', '.join(strange)}")
    return found


def _strange(given: Node, known: Collection[str], intent: str) -> list[str]:
    """Names in an answer that neither its reference nor its task has: other names, units, or words read as products."""
    formulas = given.parts if given.op in ("list", "where") else (given,)
    names: set[str] = set()
    for each in formulas:
        said = each.parts[1:] if each.op == "relation" and each.parts[0].op == "name" else (each,)
        names.update(*map(names_in, said))
    return sorted(
        name for name in names - {*known} if not re.search(rf"(?<![A-Za-z]){re.escape(name)}(?![A-Za-z])", intent)
    )


def _check(tree: Node) -> None:
    """Build all values in a tree, or raise what is wrong with them."""
    if tree.op in ("relation", "list", "set", "tuple", "setminus", "cap", "where", "congruence"):
        for part in tree.parts:
            _check(part)
    elif not plus_minus(tree):
        build(tree)


def _first_equal(wanted: Node, given: Node, answer: str, terms: Terms) -> ComparedAnswer:
    """As it stands, then as it may be meant besides."""
    if given.op == "list" and wanted.op not in ("list", "set", "tuple", "matrix"):
        given = explained(given, labelled=True)
    if given.op == "where":
        try:
            meant = Definitions(given, wanted, terms.intent).put_in()
        except Redefined as error:
            return ComparedAnswer(verdict="unequal", why=str(error))
        return _first_equal(wanted, meant, answer, terms)
    found, failed = None, None
    try:
        found = _compared(wanted, given, terms)
        if found.verdict == "equal" and not found.partly:
            return found
    except Unreadable as error:
        failed = error
    for other in other_readings(wanted, given, answer, terms.intent):
        try:
            again = _compared(wanted, other, terms)
        except Unreadable:
            continue
        if again.verdict == "equal" and (found is None or not again.partly):
            return again
    if found is None:
        raise failed or Unreadable("it is no formula")
    return found


def _compared(wanted: Node, given: Node, terms: Terms) -> ComparedAnswer:
    """With the names of the answer as they are, then exchanged if that is allowed."""
    comparison = Comparison(terms)
    verdict = comparison.same(wanted, given)
    if verdict != "equal" and terms.rename:
        verdict = _renamed(wanted, given, terms, verdict)
    partly = verdict == "equal" and comparison.partly
    return ComparedAnswer(verdict=verdict, why="" if verdict == "equal" else comparison.why, partly=partly)


def _renamed(wanted: Node, given: Node, terms: Terms, verdict: Verdict) -> Verdict:
    there, here = sorted(names_in(wanted)), sorted(names_in(given))
    if len(here) > len(there) and given.op == "relation" and wanted.op != "relation":
        if not is_label(given.parts[0], names_in(given.parts[-1]), terms.intent):
            return verdict
        given = given.parts[-1]
        here = sorted(names_in(given))
    if len(there) != len(here):
        return verdict
    apart = [name for name in there if name not in here], [name for name in here if name not in there]
    tries: Iterator[tuple[list[str], tuple[str, ...]]] = (
        (apart[1], chosen) for chosen in itertools.permutations(apart[0])
    )
    if len(there) <= MOST_RENAMED:
        tries = itertools.chain(tries, ((here, chosen) for chosen in itertools.permutations(there)))
    elif len(apart[0]) > MOST_RENAMED:
        return "undecided"
    for old, new in tries:
        found = Comparison(terms).same(wanted, with_names(given, dict(zip(old, new, strict=True))))
        if found == "equal":
            return found
        if found == "undecided":
            verdict = found
    return verdict
