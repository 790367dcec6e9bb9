r"""What stands behind a formula: a unit, the same once more, what a name in it means, words that change nothing.

Units and words go; the same once more becomes ``\also``, the meaning of a name ``\where``, which the grammar reads.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from pytest_webarena.checks.computed.clauses import clause_at, with_definitions
from pytest_webarena.checks.computed.units import read_unit

__all__ = ["is_unit", "without_ending"]

_SPACES = r"(?:\s|~|\\[,;:! ]|\\q?quad\b)"
_UPRIGHT = re.compile(
    rf"(?<=[\w.\u00b0-\u024f\u0370-\u03ff\u2070-\u209f)\]}}!$%]){_SPACES}{{0,4}}\$?{_SPACES}{{0,2}}\(?\[?(?P<unit>(?:\\(?:text|mathrm|textrm|rm|unit|si)\s?"
    rf"\{{(?:[^{{}}]|\{{[^{{}}]{{0,8}}\}}){{1,40}}\}}(?:\s?\^\s?(?:\{{-?[1-4]\}}|[1-4]))?(?:{_SPACES}|/|\\cdot|\u00b7|\\times){{0,3}}){{1,4}})\]?\)?\s?\$?\s?$"
)
_PLAIN_UNIT = re.compile(
    r"(?<=[\w\u00b0-\u024f\u0370-\u03ff\u2070-\u209f)\]}$!])(?:\s|\\[,;]){1,3}[(\[]?([^\s=\u2248()\[\]$\\][^=\u2248()$\\]{0,24}?)[)\]]?$"
)
_LETTERS = re.compile(r"(?<![A-Za-z\\])[A-Za-z\u00b5\u03a9\u00c5]+")
_PRODUCT = re.compile(r"(?<![A-Za-z])[kmMGTnpc][A-Z]\s*(?:\^|[\u00b2\u00b3])")
_NAMED = re.compile(r"(?<![A-Za-z\\])[A-Za-z](?![A-Za-z])|[\u0370-\u03ff]|\\[a-z]+")
_GOES = str.maketrans("\u00b7\u22c5\u2212\u00b2\u00b3\u00b9", "**-231")
_ONCE_MORE = re.compile(
    rf"""(?:\s*[,;]?{_SPACES}*\$?\s*)(?:
        (?P<open>\()\s*(?:(?:or|i\.?\s?e\.?,?|equivalently,?|that\s+is,?|which\s+is|also|=|\\equiv)\s*)?
            (?P<about>(?:about|approximately|approx\.?|roughly|\\approx|\\simeq|\u2248|~)\s*)?
            (?P<inside>[^()]*(?:\([^()]*\)[^()]*)*)\)
      | (?:(?:,|;)\s*(?:or|i\.?\s?e\.?,?|equivalently,?|that\s+is,?|which\s+is|also)
            |\bi\.?\s?e\.?,?|\bor\s+equivalently,?)\s*
            (?:equal\s+to|equals|the\s+same\s+as)?\s*
            (?P<about2>(?:about|approximately|approx\.?|roughly|\\approx|\\simeq|\u2248|~)\s*)?(?P<rest>.+)
      | ,\s*(?P<about3>(?:about|approximately|approx\.?|roughly)\s+)(?P<last>[-\d.,]+(?:\\?%)?)
    )\s*$""",
    re.IGNORECASE | re.VERBOSE,
)
_SAYS_SAME = re.compile(
    r"\(\s*(?:or|i\.?\s?e|equivalently|that\s+is|which\s+is|also|=|\\equiv|about|approx|roughly|\\approx|\\simeq|\u2248|~)",
    re.IGNORECASE,
)
_COUNTING = re.compile(
    rf"(?:[,;]|\s|\\q?quad|{_SPACES})*[(\[]?\s*(?:\\text\s?\{{\s?)?(?:for|where|with)?(?:\s?\}})?{_SPACES}*\$?\s*[A-Za-z]\s*(?:=|\\in\s*\\\{{|\u2208\s*\{{)"
    r"\s*[-\u2212]?\d{1,3}\s*,(?:\s*(?:\\[,;]\s*)?[-\u2212]?\d{1,3}\s*,){0,6}(?:\s|\\[,;])*(?:\\?l?c?dots|\.\.\.|\u2026|\u22ef)(?:\s|\\[,;])*(?:\\?\})?\s*[)\]]?\$?\s*\.?$"
)


def is_unit(text: str) -> bool:
    r"""Whether a text is a unit of measurement and nothing else.

    >>> is_unit("m s^{-2}"), is_unit("\\mathrm{m\\,s^{-2}}"), is_unit("x")
    (True, True, False)
    """
    bare = re.sub(r"\\(?:text|mathrm|textrm|rm|unit|si)\b", " ", text.translate(_GOES))
    bare = re.sub(r"\\(?:cdot|times)\b", "*", re.sub(r"\\[,;:! ]|~|[{}()\[\]]|\\q?quad\b", " ", bare))
    bare = (
        re.sub(r"(?<=[A-Za-z])([-]?[1-4])(?![\d.])", r"^\1", re.sub(r"\^\s+", "^", bare)).replace("\u207b", "-").strip()
    )
    bare = re.sub(r"^(?:square|cubic)?\s*units?(?:\s?\^?\s?[23])?$", "m", bare)
    found = read_unit(bare) if bare else None
    return found is not None and not bare[found[1] :].strip()


def without_ending(text: str, known: Collection[str] = ()) -> str:
    r"""``text`` without what stands behind its formula, or with it in a form that the grammar knows.

    >>> without_ending(r"9.8 m \; \mathrm{m\,s^{-2}}"), without_ending("1/2 (or 0.5)")
    ('9.8 m', '1/2 \\also 0.5')
    """
    if (found := _COUNTING.search(text)) and found.start():
        text = _cut(text, found.start())
    found = _UPRIGHT.search(text)
    if found and is_unit(found["unit"]) and not set(_LETTERS.findall(found["unit"])) <= {*known}:
        text = _cut(text, found.start())
    found = _PLAIN_UNIT.search(text)
    if found and _is_compound(found[1], known, text[: found.start()]):
        text = _cut(text, found.start())
    if "\\where" not in text and (clause := clause_at(text)) is not None:
        return with_definitions(_cut(text, clause[0]), clause[1])
    if "\\also" not in text and (found := _ONCE_MORE.search(text)) and found.start():
        return _once_more(text, found)
    return text


def _once_more(text: str, found: re.Match[str]) -> str:
    if found["open"] and not _SAYS_SAME.match(text, found.start("open")):
        return text
    again = found["inside"] or found["rest"] or found["last"] or ""
    if not again.strip() or not re.search(r"[\d\\^=+*/]|^\s*\S\s*$", again):
        return text
    return f"{_cut(text, found.start())} \\also {again.replace('$', ' ').strip()}"


def _is_compound(unit: str, known: Collection[str], before: str) -> bool:
    """Whether it can't be meant as a product of names: of several units, or of one with a name of its own.

    Behind names, single letters are names as well, as in ``m g/b`` and ``q V/m``; metres per second are told by both.
    So are letters that all are known, and two of which the second has a power: ``1/2 kA^2``.
    """
    names = _LETTERS.findall(unit)
    known = {*known, *(name.replace("_", "") for name in known)}  # kB is k_B
    if not names or set(names) <= known or {*"".join(names)} <= known or not is_unit(unit):
        return False
    if _PRODUCT.search(unit):
        return False
    if all(len(name) == 1 for name in names) and {*names} != {"m", "s"} and _NAMED.search(before):
        return False
    return (len(names) > 1 and "/" in unit) or any(len(name) > 1 and name not in known for name in names)


def _cut(text: str, end: int) -> str:
    r"""What stands before, with the sign of mathematics that is open closed.

    A sign of which the other one goes is of no use.
    """
    kept = text[:end].rstrip().rstrip(",;")
    return f"{kept}$" if kept.count("$") % 2 else kept
