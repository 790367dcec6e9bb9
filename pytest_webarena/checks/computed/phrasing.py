r"""What people and models write around a formula, taken off: ``so the answer is``, ``where C is a constant``, markup.

Only words of fixed lists go, and only at the ends; whatever else is said stays, and is no formula to whoever reads on.
"""

from __future__ import annotations

import html
import re
from collections.abc import Collection

from pytest_webarena.checks.computed.endings import without_ending
from pytest_webarena.checks.computed.units import Unit

__all__ = ["bare_formula"]

_ROUNDS = 6
"""Layers that are taken off; nobody needs more."""
_WHO = r"\(?\s*\$?\\?[A-Za-z]\d?(?:_\{?\w+\}?)?\$?\s*"
_MANY = rf"{_WHO}(?:(?:,|and|,\s*and)\s*{_WHO}){{0,4}}"
_ADJECTIVE = (
    r"(?:an?|the|any|some|both|arbitrary|real|complex|positive|negative|non-?negative|nonzero|non-zero|whole|integration|"
    r"undetermined|fixed)"
)
_CONSTANT = (
    rf"(?:(?:{_ADJECTIVE}\s+)*(?:constant|integer|number|parameter)s?(?:\s+of\s+integration)?|arbitrary|"
    r"determined\s+by\s+(?:the\s+)?(?:initial|boundary)\s+conditions?)"
)
_COUNTED = r"(?:\\mathbb\s*\{?\s*[ZRNCQ]\s*\}?|[\u2124\u211d\u2115\u2102\u211a])(?:\s*\^?\s*\{?[+*]\}?)?"
_COMPARED = r"(?:\\(?:ge|geq|le|leq|ne|neq|gt|lt)\b|[<>≤≥≠]=?|!=)"
_NUMBER = r"[-−]?\s*\d{1,20}(?:\.\d{1,20})?"
_REMARK = re.compile(
    rf"""(?:[,;.]|\\[,;:! ]|\\q?quad|\s|(?<=\$))\s?[(\[]?\s?(?:
        (?:where|with|and|here|for|in\s+which)\s+(?:{_ADJECTIVE}\s+|all\s+){{0,3}}{_MANY}
        (?:is|are|being|denotes?|represents?)\s+{_CONSTANT}
      | (?:where|with|for|and)\s+(?:all\s+|any\s+|every\s+|each\s+|some\s+)?{_MANY}(?:\\in|∈|in)\s*{_COUNTED}\$?
      | (?:for|with|where|when|provided(?:\s+that)?|assuming|valid\s+for)\s+(?:(?:all|any|every|each|real|positive)\s+)?
        {_WHO}{_COMPARED}\s?{_NUMBER}\$?
      | (?:for|with)\s+(?:(?:any|some|all|arbitrary|real|two|three)\s+){{1,3}}
        (?:constants?|parameters?|integers?)\s+{_MANY}
      | (?:(?:for|with|where)\s+)?{_WHO}=\s*[01](?:\s*,\s*\d{{1,3}}){{1,4}}\s*,?\s*(?:…|\.\.\.|\\[lc]?dots)\$?
      | for\s+(?:all|any|every|each)\s+(?:(?:real|positive|integers?|values\s+of)\s+){{0,3}}{_WHO}
    )\s?[)\]]?\s?$""",
    re.IGNORECASE | re.VERBOSE,
)
_APPOSED = re.compile(
    rf"""\s?(?:[,;]|\\q?quad|(?<=\s)(?=[(\[]))\s?[(\[]?\s?(?:\\[,;:! ]\s?|\\q?quad\s?)?(?:
        {_MANY}(?:(?:is|are)\s+)?{_CONSTANT} | {_MANY}(?:\\in|∈|in)\s*{_COUNTED}\$?
    )\s?[)\]]?\s?$""",
    re.IGNORECASE | re.VERBOSE,
)
"""What is said of a name or of the whole behind a formula, and does not change it."""
_BRACKETED = re.compile(rf"\s?\(\s*{_WHO}{_COMPARED}\s?{_NUMBER}\$?\s*\)\$?$")
"""Where the formula holds."""
_AGAIN = re.compile(
    r"(?:\s?(?:,\s*|\(\s*)(?:(?:or|i\.e\.,?|that\s+is,?)\s+)?(?:about|approximately|approx\.)\s+"
    r"|\s?\(\s*(?:(?:or|i\.e\.,?)\s+)?(?:\\approx|≈|=)?\s*|\s?,\s*i\.e\.,?\s+)"
    r"\$?(?P<value>[-−]?\d+\.\d+|[-−]?\d+(?:\.\d+)?\s?\\?%)\$?\s*\)?$"
)
"""The same value once more, as a decimal: it has to agree."""
_IN_FORMULA = re.compile(r"\\(?:text|textrm|mathrm|mbox|quad\\text)\s*\{([^{}]*)\}")
_SPOKEN = re.compile(
    r"\b(?:where|with|for|is|are|constant|integer|arbitrary|any|all|if|when|otherwise|else|answer|so|thus|therefore|"
    r"hence|result|units?|meters|seconds|square|cubic|approximately|about)\b",
    re.IGNORECASE,
)
_ENVIRONMENT = re.compile(
    r"\\(?:begin|end)\s*\{(?:equation|align|aligned|displaymath|math|gather|gathered|split)\*?\}|\\(?:tag|label)\*?\{[^{}]*\}"
    r"|\\(?:color|textcolor)\{[^{}]*\}|\\(?:nonumber|notag|hfill|noindent|par)\b|\\(?:hspace|vspace|phantom|hphantom|vphantom)\*?\{[^{}]*\}"
)
_TRAILING = re.compile(r"(?:\\[,;:! ]|[.;,\s]){1,20}$")
_QUOTES = '"\u201c\u201d'
_SKIPPED = re.compile(r"\\\\ ?\[ ?\d+(?:\.\d+)? ?(?:pt|em|ex|mm|cm)\]")
_SPACES = re.compile(r"\s{2,}|[\t\r]")
_PLUS_CONSTANT = re.compile(
    r"(?:\+|\bplus) ?(?:\\(?:text|mathrm)\{ ?)?(?:an? |the |arbitrary |some ){0,3}"
    r"(?:const(?:ant|\.)?)(?: of integration)?(?: ?\})?(?![A-Za-z])",
    re.IGNORECASE,
)


_DOUBLED = re.compile(r"\\\\(?=[A-Za-z]{2,})")
"""A command as a string of JSON or Python has it."""


def bare_formula(text: str, known: Collection[str] = ()) -> tuple[str, Unit | None]:
    r"""``text`` without the words and the markup around its formula, and its unit; units that are ``known`` names stay.

    >>> bare_formula("$x^2$.")[0], bare_formula("A e^{kx}, where A and k are constants")[0]
    ('$x^2$', 'A e^{kx}')
    """
    text, unit = _plain_markup(text), None
    for _ in range(_ROUNDS):
        before = text
        text = text.strip().lstrip("*_# ") if text.lstrip()[:1] in "*_#" and text.strip("*_# ") else text.strip()
        text = text.rstrip("*").rstrip() if text.endswith("**") else text
        text = _TRAILING.sub("", text) if not text.endswith("..") else text
        if text[:1] in _QUOTES and text[-1:] in _QUOTES and len(text) > 2:
            text = text[1:-1]
        if (again := _AGAIN.search(text)) and again.start() and text[again.start() - 1] not in "([{":
            kept = text[: again.start()]
            inside = "$" if kept.endswith("$") else ""
            text = f"{kept.removesuffix('$')} \\approx {again['value']}{inside or _closing(kept, again[0])}"
        if (found := _REMARK.search(text) or _APPOSED.search(text) or _BRACKETED.search(text)) and found.start():
            text = text[: found.start()] + _closing(text[: found.start()], text[found.start() :])
        text, found_unit = without_ending(text, known)
        unit = unit or found_unit
        if text == before:
            break
    return text, unit


def _closing(kept: str, gone: str) -> str:
    """The sign of formulas that what is gone has closed."""
    return "$" if kept.count("$") % 2 and "$" in gone else ""


def _plain_markup(text: str) -> str:
    """Without fences, environments that only display, escapes of Markdown and HTML."""
    text = _SPACES.sub(lambda found: "\n" if "\n" in found[0] else " ", text)
    text = _PLUS_CONSTANT.sub("+ C", text)
    if "&" in text and ";" in text:
        text = html.unescape(text)
    if "<su" in text:
        text = re.sub(r"<sup>\s*([^<>]{1,40}?)\s*</sup>", r"^{\1}", text)
        text = re.sub(r"<sub>\s*([^<>]{1,40}?)\s*</sub>", r"_{\1}", text)
    if "\\" not in text:
        return text
    if "\\begin{" not in text and "\\\\[" not in text:
        text = _DOUBLED.sub(lambda _: "\\", text)
    text = _SKIPPED.sub(r"\\\\ ", text)
    text = re.sub(r"\\([*#])", r"\1", text)
    if "{align" in text or "{gather" in text or "{split" in text:
        text = text.replace("&", " ")
    text = _ENVIRONMENT.sub(" ", text)
    return text if "{cases}" in text else _IN_FORMULA.sub(_spoken, text)


def _spoken(found: re.Match[str]) -> str:
    return f" {found[1]} " if _SPOKEN.search(found[1]) else found[0]
