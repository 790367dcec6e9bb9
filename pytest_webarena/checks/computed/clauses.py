r"""The clause behind a formula: ``where q = 1 - p and n is the number of trials``.

It is read wholly or not at all: each part defines a name, says in words what one is, or where the formula holds.
"""

from __future__ import annotations

import re

__all__ = ["changes", "clause_at", "definitions_in", "with_definitions"]

_OPENING = re.compile(
    r"[\s,;.(]*(?:\\q?quad\s*|\\[,;]\s*)*(?:\\(?:text|mathrm|textrm)\s*\{\s*)?(?<!holds )(?<!hold )"
    r"\b(?:where|with|in\s+which|here|setting|taking|letting|let|given(?:\s+that)?|provided(?:\s+that)?|when"
    r"|(?:valid\s+)?for(?:\s+(?:all|any|every|each))?)\b(?:\s*\})?\s*:?\s*",
    re.IGNORECASE,
)
_AND = r"(?:\\text\s*\{\s*and\s*\}|(?<=[\s$])and(?=[\s$]))"
_SEPARATOR = re.compile(
    rf"\s*(?:[,;]\s*(?:\\[,;:! ]\s*)?(?:(?:and\b|where\b|with\b|\\text\s*\{{\s*and\s*\}})\s*)?|{_AND}\s*)"
)
_NAME = (
    r"(?:\\(?:vec|hat|bar|mathbf)\s*\{\s*[A-Za-z]\s*\}|\\?[A-Za-z]+|[\u0370-\u03ff])"
    r"(?:_(?:\{[^{}]{1,20}\}|\w{1,9})|[\u2080-\u209c]{1,5})?(?:\([a-z]\))?"
)
_SQUARE = r"(?:\s?\^\s?\{?[23]\}?|[\u00b2\u00b3])?"
_NAMES = rf"\$?\s*{_NAME}(?:\s*,\s*{_NAME}){{0,4}}\s*\$?"
_DEFINITION = re.compile(
    rf"\$?\s*({_NAME}{_SQUARE}\s*(?:=(?!=)|:=|\\equiv\b)\s*[^=<>$\u2248]+?)\s*\$?"
    r"(?:\s+(?P<told>(?:is|being|denotes?|represents?)\s+[A-Za-z][A-Za-z\s'\u2019-]*))?"
)
_MEANING = re.compile(
    rf"{_NAMES}\s*(?P<told>(?:(?:is|are|denotes?|represents?|being|stands?\s+for|means)\s+)?"
    r"(?:(?:the|an?|any|some|its|both|all|arbitrary|positive|negative|real|complex|constant|constants|integers?)\b[A-Za-z\s'\u2019-]*))"
)
_ONLY_NAMES = re.compile(_NAMES)
_CONDITION = re.compile(
    rf"\$?\s*(?:\||\\lvert\s?)?{_NAMES}(?:\||\s?\\rvert)?\s*(?:[<>\u2264\u2265\u2260\u2208]|\\(?:ge|geq|le|leq|ne|neq|gt|lt|in)(?![A-Za-z]))[^=$]{{1,60}}\$?"
)
_WORDS = re.compile(r"(?:[A-Za-z\u2019'-]{2,}\s*)+")
_CHANGES = re.compile(
    r"\b(?:functions?|depend\w*|varies|varying|variable|proportional|multiple|factors?|fraction\s+of|percent|twice|thrice|half|halv\w+"
    r"|doubl\w*|tripl\w*|squared?|cubed?|root|reciprocal|inverse|negative\s+of|opposite|oppositely|minus|plus|times|divided|multiplied|multiply"
    r"|other|leading\s+terms?|subtract\w*|added|adding|raised|not|no|never|wrong|incorrect|false|equals?|equal|same|zero|one|two|three|four|five|ten|than|logarithm"
    r"|(?:lower|upper)\s+bounds?|up\s+to|doubt\w*|disagree\w*|refut\w*|reject\w*|except|unless|or|if|but|instead|approximat\w*)\b",
    re.IGNORECASE,
)
"""Words that say more of a name or of a formula than what it is called."""

_VIEWED = re.compile(r"\bas\s+(?:a\s+)?functions?\s+of\s+[A-Za-z]+", re.IGNORECASE)


def changes(words: str) -> bool:
    """Whether words may change what a formula says.

    >>> changes("the height above the ground"), changes("a function of x")
    (False, True)
    """
    return bool(_CHANGES.search(_VIEWED.sub("", words)))


def definitions_in(text: str) -> tuple[str, ...] | None:
    r"""The definitions in a clause, none if it only says what names are called; None if something is not understood.

    >>> definitions_in("where $h$ is the height and $g = GM/R^2$")
    ('g = GM/R^2',)
    >>> definitions_in("where C is a function of x")
    """
    opening = _OPENING.match(text)
    if opening is None:
        return None
    said = text[opening.end() :].strip().rstrip(".;, ")
    if "(" in opening[0] and said.endswith((")", ")$")):
        said = said[:-1] if said.endswith(")") else said[:-2] + "$"
    if said.endswith("$") and said.count("$") % 2:
        said = said[:-1]
    found: list[str] = []
    waiting = False
    for number, part in enumerate(_parts(said)):
        waiting = False
        if (defined := _DEFINITION.fullmatch(part)) is not None and not changes(defined["told"] or ""):
            found.append(defined[1])
        elif (meant := _MEANING.fullmatch(part)) is not None:
            if changes(meant["told"]):
                return None
        elif _ONLY_NAMES.fullmatch(part):
            waiting = True  # for what the next part says of both
        elif not _CONDITION.fullmatch(part) and (not number or not _WORDS.fullmatch(part) or changes(part)):
            return None
    return None if waiting else tuple(found)


def _parts(said: str) -> list[str]:
    """Between commas, but not those inside of a formula's signs."""
    found, start = [], 0
    for each in _SEPARATOR.finditer(said):
        if said.count("$", 0, each.start()) % 2 and not _DEFINITION.match(said, each.end()):
            continue
        found.append(said[start : each.start()])
        start = each.end()
    return [part.strip().strip("$ ") if part.count("$") % 2 else part.strip() for part in (*found, said[start:])]


def with_definitions(formula: str, definitions: tuple[str, ...]) -> str:
    r"""As the grammar reads it.

    >>> with_definitions("p q", ("q = 1 - p",))
    'p q \\where q = 1 - p'
    """
    return f"{formula} \\where {', '.join(definitions)}" if definitions else formula


def clause_at(text: str) -> tuple[int, tuple[str, ...]] | None:
    """Where a clause begins that goes to the end, and its definitions."""
    if "cases}" in text:
        return None  # it has conditions of its own
    for opening in _OPENING.finditer(text):
        if opening.start() and (found := definitions_in(text[opening.start() :])) is not None:
            return opening.start(), found
    return None
