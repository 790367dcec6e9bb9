"""What stands behind a formula: a unit, which goes, and what its names mean, which becomes ``\\where``."""

from __future__ import annotations

import re
from collections.abc import Collection

from pytest_webarena.checks.computed.clauses import clause_at, with_definitions
from pytest_webarena.checks.computed.units import Unit, read_unit

__all__ = ["unit_of", "without_ending"]

_SPACES = r"(?:\s|~|\\[,;:! ]|\\q?quad\b)"
_UPRIGHT = re.compile(
    rf"(?<=[\w.\u00b0-\u024f\u0370-\u03ff\u2070-\u209f)\]}}!$%]){_SPACES}{{0,4}}\$?{_SPACES}{{0,2}}\(?\[?(?P<unit>(?:\\(?:text|mathrm|textrm|rm|unit|si)\s?"
    rf"\{{(?:[^{{}}]|\{{[^{{}}]{{0,8}}\}}){{1,40}}\}}(?:\s?\^\s?(?:\{{-?[1-4]\}}|[1-4]))?(?:{_SPACES}|/|\\cdot|\u00b7|\\times){{0,3}}){{1,4}})\]?\)?\s?\$?\s?$"
)
_PLAIN = re.compile(r"(?<=[^\s=+*/^(-])\s+[(\[]?(?:in\s+)?(?P<unit>(?:(?:square|cubic)\s+)?[^\s=()\[\]$\\]+)[)\]]?$")
_GOES = str.maketrans("\u00b7\u22c5\u2212\u00b2\u00b3\u00b9", "**-231")


def unit_of(text: str) -> Unit | None:
    r"""Returns the unit of measurement that a text is; None if it is something else.

    >>> unit_of("m s^{-2}") == unit_of("\\mathrm{m\\,s^{-2}}"), unit_of("x"), str(unit_of("square units"))
    (True, None, 'no unit')
    """
    bare = re.sub(r"\\(?:text|mathrm|textrm|rm|unit|si)\b", " ", text.translate(_GOES))
    bare = re.sub(r"\\(?:cdot|times)\b", "*", re.sub(r"\\[,;:! ]|~|[{}()\[\]]|\\q?quad\b", " ", bare))
    bare = (
        re.sub(r"(?<=[A-Za-z])([-]?[1-4])(?![\d.])", r"^\1", re.sub(r"\^\s+", "^", bare)).replace("\u207b", "-").strip()
    )
    if re.fullmatch(r"(?:square|cubic)?\s*units?(?:\s?\^?\s?[23])?", bare):
        return Unit(())
    found = read_unit(bare) if bare else None
    return found[0] if found is not None and not bare[found[1] :].strip() else None


def without_ending(text: str, known: Collection[str] = ()) -> tuple[str, Unit | None]:
    r"""``text`` without what stands behind its formula, or with it in a form that the grammar knows; and the unit.

    >>> [without_ending(text)[0] for text in (r"9.8 m \; \mathrm{m\,s^{-2}}", "m g h joules", "q V/m")]
    ['9.8 m', 'm g h', 'q V/m']
    """
    unit: Unit | None = None
    for pattern in (_UPRIGHT, _PLAIN):
        found = pattern.search(text)
        if (
            found is not None
            and (read := unit_of(found["unit"])) is not None
            and not _is_product(found["unit"], text[: found.start()], known)
        ):
            text, unit = _cut(text, found.start()), read
            break
    if "\\where" not in text and (clause := clause_at(text)) is not None:
        text = with_definitions(_cut(text, clause[0]), clause[1])
    return text, unit


def _is_product(unit: str, before: str, known: Collection[str]) -> bool:
    """Whether it may be meant as a product of names: of known ones, or of single letters behind a name."""
    names = re.findall(r"(?<![A-Za-z\\])[A-Za-z\u00b5\u03a9\u00c5]+", unit)
    if {*names} <= {*known} or {*"".join(names)} <= {*known}:
        return True
    return (
        "\\" not in unit
        and not re.search("[a-z]{3}", unit)
        and (len(names) < 2 or re.search("[A-Za-z]", before) is not None)
    )


def _cut(text: str, end: int) -> str:
    r"""What stands before, with the sign of mathematics that is open closed.

    A sign of which the other one goes is of no use.
    """
    kept = text[:end].rstrip().rstrip(",;")
    return f"{kept}$" if kept.count("$") % 2 else kept
