r"""Notations of other languages and schools, rewritten into ours: ``]0,1[``, ``np.sqrt``, ``0.\overline{3}``.

Text in, text out; nothing is computed but fractions of repeating decimals.
"""

from __future__ import annotations

import re
from fractions import Fraction

__all__ = ["in_our_notation", "without_label"]

_MODULES = re.compile(r"(?<![A-Za-z.])(?:np|numpy|math|cmath|sp|sympy|mpmath|S)\.(?=[A-Za-z])")
_SQUARE_ROOT = re.compile(r"\bSqrt\[([^\[\]]{1,200})\]")
_LOGARITHM = re.compile(r"(?<![A-Za-z\\])log(10|2)(?= ?\()")
_SPACED = re.compile(r"\s?-?\d{1,3}(?: \d{3})+(?:\.\d+)?\s?")
_ANGLES = re.compile(r"\s?<([^<>=]{1,200},[^<>=]{1,200})>\s?")
_INTERVALS = re.compile(r"\bInterval\.(open|Lopen|Ropen)\b")
_REALS = re.compile(r"(?:\\mathbb\s?\{?\s?R\s?\}?|\u211d|\bReals\b)(?!\s?\^|\w)")
_SUM_SIGN = re.compile(r"[\u03a3\u2211](?=\s?_)")
_PLAIN_SIGN = re.compile(r"(?<![A-Za-z\\])(sum|prod|lim|int)(?=\s?_)")
_OVERLINED = re.compile(r"(\d{0,9})\.(\d{0,9})\\overline\s?\{(\d{1,9})\}")
_AND_SO_ON = re.compile(r"(\d{0,9})\.(\d{0,9}?)(\d)\3\3{1,20}\s?(?:\.\.\.|\u2026|\\l?dots)")
_MIXED = re.compile(r"\s?([-−]?)\s?(\d{1,9}) (\d{1,9})/(\d{1,9})\s?")
_BUILDER = re.compile(
    r"\s?\\?\{\s?([A-Za-z])\s?(?:(?:\\in\b|∈)\s?\(-\\infty,\\infty\)\s?)?(?::|\||\\mid\b|\\vert\b|\\colon\b)\s?(.+?)\s?\\?\}\s?"
)
_UNION = re.compile(r"(?<=[\])}])\s?(?:U|\\text\s?\{\s?U\s?\})\s?(?=[\[({\\])")
_OUTWARD = re.compile(r"([\[\]])([^\[\](){}]{1,60}[,;][^\[\](){}]{1,60})([\[\]])")
_ROWS = re.compile(r"\s?\[([^\[\];(){}]{1,200}(?:;[^\[\];(){}]{1,200}){1,9})\]\s?")
_SECOND = re.compile(
    r"(?:\\[dt]?frac\s?\{\s?(d|\\partial) ?\^ ?\{?2\}? ?([A-Za-z])\s?\}\s?\{\s?\1 ?([A-Za-z]) ?\^ ?\{?2\}?\s?\}"
    r"|(?<![A-Za-z])(d|∂) ?\^ ?\{?2\}? ?([A-Za-z]) ?/ ?\4 ?([A-Za-z]) ?\^ ?\{?2\}?(?![A-Za-z]))"
)
_SAYINGS = {
    **dict.fromkeys(("all real numbers", "all reals", "all real x", "the real numbers"), "(-\\infty,\\infty)"),
    **dict.fromkeys(
        ("no solution", "no solutions", "no real solution", "no real solutions", "the empty set", "empty set",
         "there is no solution", "there are no solutions", "there are no real solutions", "emptyset", "set()"),
        "\\emptyset",
    ),
    **dict.fromkeys(("positive infinity", "plus infinity"), "\\infty"),
    **dict.fromkeys(("negative infinity", "minus infinity"), "-\\infty"),
}  # fmt: skip
_LABELS = (
    re.compile(r"\s?\\int\b(?!\s?(?:\\limits\s?)?_)[^=]{1,300}=(?!=)"),
    re.compile(
        r"\s?(?:P|Pr|E|V|\\Pr|Prob|Var|Cov|\\(?:mathbb|mathrm|text|operatorname|mathbf)\s?\{?\s?(?:P|Pr|E|V|Var|Cov|Prob)\s?\}?)\s?"
        r"(?:\\left|\\[bB]igg?l?)?\s?(?:\((?:[^()]|\([^()]*\)){1,80}\)|\[[^\[\]]{1,80}\]|\\?\{[^{}]{1,80}\\?\})\s?=(?!=)"
    ),
    re.compile(r"\s?(?:\\\||\\lVert\b|\\left\\\|).{1,60}?(?:\\\||\\rVert\b)(?:\s?_\{?\w\}?)?\s?=(?!=)"),
    re.compile(
        r"\s?(?:\\det\b|\bdet\b|\\operatorname\s?\{\w{1,12}\}|\\(?:dim|ker|deg|gcd)\b)\s?(?:\\left)?\(?[A-Z](?:\s?\\right)?\)?\s?=(?!=)"
    ),
    re.compile(r"\s?(?:[A-Za-z]\s?:\s?)?[A-Za-z]\s?(?:\\mapsto\b|\u21a6)"),
    re.compile(r"\s?\\(?:text|mathrm|textbf)\s?\{[A-Za-z ]{2,40}\}\s?=(?!=)"),
    re.compile(r"\s?(?:\\therefore|\u2234|\\implies|\\Rightarrow|\\Longrightarrow|=)\s?(?=\S)"),
)
"""Left sides that only name what is said, and are no formulas."""


def in_our_notation(text: str) -> str:
    r"""``text`` in the notation that the grammar knows.

    >>> in_our_notation("]0, 1]"), in_our_notation(r"0.1\overline{6}"), in_our_notation("[1 2; 3 4]")
    ('(0, 1]', '(1/6)', '[[1,2],[3,4]]')
    """
    if said := _SAYINGS.get(text.strip().lower().replace("\\text{", "").rstrip("}").strip()):
        return said
    text = _INTERVALS.sub(r"Interval\1", _MODULES.sub("", text))
    text = _LOGARITHM.sub(r"\\log_{\1}", text)
    if _SPACED.fullmatch(text):
        return text.replace(" ", "")
    if (found := _ANGLES.fullmatch(text)) is not None:
        return f"\\langle {found[1]} \\rangle"
    text = _SQUARE_ROOT.sub(r"sqrt(\1)", text)
    text = _PLAIN_SIGN.sub(r"\\\1 ", _SUM_SIGN.sub(r"\\sum ", text))
    text = _REALS.sub(lambda _: " (-\\infty,\\infty) ", text).replace("  ", " ")
    text = _AND_SO_ON.sub(_repeating, _OVERLINED.sub(_repeating, text))
    text = _SECOND.sub(lambda found: f" D2{found[2] or found[5]}D{found[3] or found[6]} ", text)
    if (mixed := _MIXED.fullmatch(text)) and int(mixed[3]) < int(mixed[4]):
        return f"{mixed[1]}({mixed[2]}+{mixed[3]}/{mixed[4]})"
    if found := _BUILDER.fullmatch(text):
        text = found[2]
    if found := _ROWS.fullmatch(text):
        rows = (re.split(r"\s?,\s?|\s", row.strip()) for row in found[1].split(";"))
        return "[" + ",".join(f"[{','.join(row)}]" for row in rows) + "]"
    text = _UNION.sub(r" \\cup ", text)
    bare = text.strip()
    if bare.endswith("[") or ("]" in bare and bare.find("]") < (bare.find("[") % (len(bare) + 1))):
        text = _OUTWARD.sub(_inward, text)
    return text


def without_label(text: str) -> str:
    r"""``text`` without a left side that is no formula.

    >>> without_label(r"\int x\,dx = x^2/2 + C"), without_label("P(X = 2) = 3/8")
    ('x^2/2 + C', '3/8')
    """
    for label in _LABELS:
        if found := label.match(text):
            text = text[found.end() :].strip()
    return text


def _inward(found: re.Match[str]) -> str:
    opening, closing = ("(" if found[1] == "]" else "["), (")" if found[3] == "[" else "]")
    return f"{opening}{found[2]}{closing}"


def _repeating(found: re.Match[str]) -> str:
    """A repeating decimal as the fraction that it is."""
    whole, before, block = int(found[1] or 0), found[2], found[3]
    value = Fraction(int(before or 0) * (10 ** len(block) - 1) + int(block), 10 ** len(before) * (10 ** len(block) - 1))
    value += whole
    return f"({value.numerator}/{value.denominator})"
