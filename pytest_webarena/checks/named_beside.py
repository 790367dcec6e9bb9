"""Whether an answer names something in one list with what is wanted, for `only`."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["named_beside"]

_PATH = re.compile(
    r"(?<![\w/.])(?!(?i:and/or|n/a|w/o|c/o|km/h|he/she|she/he|s/he|a/k/a)\b)[A-Za-z][\w.-]*/[A-Za-z][\w.-]*"
)
_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)"
)
_STREET = r"(?:[A-Z][\w'-]* ){1,2}(?:Lane|Street|Road|Row|Square|Quay|Avenue|Alley|Hill|Gate|Yard|Way)"
_DETAIL = re.compile(
    rf",? (?:on )?(?:\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?)(?:,? \d{{4}})?\b"
    rf"|, (?:at )?(?:\d+[a-z]? {_STREET}|{_STREET} \d+[a-z]?)(?![\w'-])(?! [A-Z\d])"
)
"""What may follow on a name and is none: a date, a street with its number."""
_NAME = r"[A-Z][\w'.-]*(?: (?:(?:of|de|van|the|and the) )?[A-Z&][\w'.-]*)*(?: \d+)?"
_PLUS = r"plus|as well as|along with"
_SEPARATORS = re.compile(
    rf"(?:\s*[;/|+]\s*|,\s*|,?\s+(?:and|also|then|likewise|{_PLUS})\s+|\s+\(\s*(?=(?:and|also|likewise|{_PLUS}) ))"
    rf"(?:(?:and|also|then|likewise|{_PLUS}) )*(?:[Tt]he )?"
    rf"(?={_NAME}(?:\s*[;/|+,)]|,?\s+(?:and|too|{_PLUS})\b|[.!]?\s*(?:\n|\Z)|\. ))"
)
"""Between the names of a list, however it is written."""


def named_beside(wanted: Sequence[str], answer: str, question: str) -> str:
    """What an answer names in one list with what is ``wanted``; empty when it names nothing more.

    >>> [named_beside(["Ann Lee"], text, "Who?") for text in ("Ann Lee; Bo Ray", "Ann Lee, 3 March", "Ann Lee")]
    ['bo ray', '', '']
    """
    from pytest_webarena.checks.upstream.references import names_more
    from pytest_webarena.checks.upstream.stated_numbers import question_of

    # Of a name of which a part is enough, all of it: what follows is no other one.
    spelt = (re.sub(r"\\ (?:\\&|and)\\ ", " (?:&|and) ", re.escape(each)) for each in wanted)
    whole = (re.search(rf"(?i:{each})(?: [A-Z][\w'-]*)*", answer) for each in spelt)
    names = tuple(found[0] if found else each for found, each in zip(whole, wanted, strict=True))
    asked = question_of(question)
    stand_ins = tuple(f"Wanted{'x' * number}" for number in range(len(names)))
    marked = answer
    for name, stand_in in sorted(zip(names, stand_ins, strict=True), key=lambda pair: -len(pair[0])):
        marked = re.sub(rf"(?<![\w]){re.escape(name)}(?!\w)", stand_in, marked, flags=re.IGNORECASE)
    told = _SEPARATORS.sub(", ", _DETAIL.sub("", _column(marked)))
    for name, stand_in in reversed(list(zip(names, stand_ins, strict=True))):
        told = told.replace(stand_in, name)
    more = names_more(names, told, asked)
    more = more or _said_too(marked, question)
    if more and any(more in each.casefold() for each in names):  # a path, of which the last part is taken for a name
        other = _PATH.search(marked)
        more = other[0] if other else names_more(stand_ins, marked, asked)
    return more


_TOO = re.compile(
    r"(?:\A|[.;:,]\s+|\n\W*|\band )(?P<name>[A-Z][\w'-]+ [A-Z][\w'-]+)"
    r"(?:(?: [a-z][\w'-]*){0,6}?,? (?:too|as well|likewise)\b| also [a-z])"
)


def _said_too(marked: str, question: str) -> str:
    """Of whom a sentence of its own says the same: ``Bo Ray says it, too``."""
    found = next((each for each in _TOO.finditer(marked) if each["name"] not in question), None)
    return found["name"] if found and "Wanted" not in found["name"] else ""


_ROW = re.compile(r"^[ \t]*\|(.*)\|[ \t]*$", re.MULTILINE)


def _column(text: str) -> str:
    """``text`` with the rows of a table as lines of what stands in the column of the wanted ones; else as it is."""
    rows = [[cell.strip() for cell in found[1].split("|")] for found in _ROW.finditer(text)]
    columns = {number for row in rows for number, cell in enumerate(row) if re.search(r"\bWantedx*\b", cell)}
    if len(rows) < 2 or len(columns) != 1:
        return text
    column = columns.pop()
    under = next(
        (number + 1 for number, row in enumerate(rows) if all(re.fullmatch(r":?-+:?", each) for each in row)), 0
    )
    return _ROW.sub("", text).strip() + "\n" + "\n".join(row[column] for row in rows[under:] if column < len(row))
