r"""Notations of other languages and schools, rewritten into ours: ``]0,1[``, ``np.sqrt``, ``0.\overline{3}``.

Text in, text out; nothing is computed but fractions of repeating decimals.
"""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from pytest_webarena.checks.computed.clauses import changes
from pytest_webarena.checks.computed.names import GREEK, words
from pytest_webarena.checks.computed.spelled import spelled_numbers

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
_LINED = re.compile(r"(?:\d[\u0304\u0305])+")
_AND_SO_ON = re.compile(r"(\d{0,9})\.(\d{0,9}?)(\d)\3\3{1,20}\s?(?:\.\.\.|\u2026|\\l?dots)")
_MIXED = re.compile(r"\s?([-−]?)\s?(\d{1,9}) (\d{1,9})/(\d{1,9})\s?")
_ANY_REAL = re.compile(
    r"^\s?[A-Za-z]\s?(?:\\in\b|∈)\s?\(-\\infty,\\infty\)\s?,\s?(?=.*(?:[<>≤≥≠]|\\(?:ne|le|ge|lt|gt)))"
)
_WITHOUT = re.compile(r"(\(-\\infty,\\infty\))\s?\\\s?(?=\\?\{|[\[(])")
_LESS = re.compile(r"([\[(][^()\[\]{}]{1,60},[^()\[\]{}]{1,60}[)\]])\s?\\\s(?=\\?\{)")
_RANGE = re.compile(
    r"\s?(?:all|every)\s(?:real\s)?(?:numbers?|values?|x)(?:\s(?:that\sare|of\sx|x))?\s"
    r"(greater\sthan|larger\sthan|bigger\sthan|more\sthan|less\sthan|smaller\sthan|above|below|except|but|other\sthan|not\sequal\sto|different\sfrom)"
    r"(\sor\sequal\sto)?\s(?:for\s)?(?:x\s?=\s?)?(\S{1,40})\s?"
)
_BUILDER = re.compile(
    r"\s?\\?\{\s?([A-Za-z])\s?(?:(?:\\in\b|∈)\s?\(-\\infty,\\infty\)\s?)?(?::|\||\\mid\b|\\vert\b|\\colon\b)\s?(.+?)\s?\\?\}\s?"
)
_UNION = re.compile(r"(?<=[\])}])\s?(?:U|\\text\s?\{\s?U\s?\})\s?(?=[\[({\\])")
_OUTWARD = re.compile(r"([\[\]])([^\[\](){}]{1,60}[,;][^\[\](){}]{1,60})([\[\]])")
_ROWS = re.compile(r"(?P<name>[^=\[\];]{0,30}=|)\s?\[([^\[\];(){}]{1,200}(?:;[^\[\];(){}]{1,200}){1,9})\]\s?")
_LETTER = rf"[A-Za-z]|[\u0370-\u03ff]|\\(?:{'|'.join(GREEK)})(?![A-Za-z])"
_SECOND = re.compile(
    rf"(?:\\[dt]?frac\s?\{{\s?(d|\\mathrm\{{d\}}|\\partial) ?\^ ?\{{?2\}}? ?({_LETTER})\s?\}}"
    rf"\s?\{{\s?\1 ?({_LETTER}) ?\^ ?\{{?2\}}?\s?\}}"
    rf"|(?<![A-Za-z])(d|∂) ?(?:\^ ?\{{?2\}}?|\u00b2) ?({_LETTER}) ?/ ?\4 ?({_LETTER}) ?(?:\^ ?\{{?2\}}?|\u00b2)"
    r"(?![A-Za-z]))"
)
_CHOSEN = re.compile(
    r"(?:(?:\{\s?\}|\\,|(?<![\w}\])'\s]))\s?[\^_]\s?\{?\s?(\w)\s?\}?\s?(?:\\(?:mathrm|text|mathbf)\s?\{\s?C\s?\}|C)\s?_\s?\{?\s?(\w)\s?\}?)(?!\w)"
)
"""As in schools: the n before the C raised or lowered, the k behind it."""
_EMPHASISED = re.compile(r"(?<![\w)\]}*])\*([A-Za-z](?:_\w+)?)\*(?![\w*])")
_ADVERB = re.compile(r"^(?:exactly|precisely|just|simply)\s+(?=\S)", re.IGNORECASE)
_COUNTED = re.compile(r"\s?(-?\d{1,12}(?:,\d{3})*) [a-z]{3,20}s\s?")
"""Of what there are so many."""
_HEADS = words(
    "Sin Cos Tan Cot Sec Csc Sinh Cosh Tanh Coth ArcSin ArcCos ArcTan ArcSinh ArcCosh ArcTanh Exp Log Abs Sign Max Min "
    "Integrate Sum Product D Limit Binomial Divide Surd Power Plus Times Gamma Zeta Erf Factorial Floor Ceiling Re Im "
    "Rational Complex Sqrt"
)
_BRACKETED = re.compile(rf"(?<![A-Za-z])({'|'.join(_HEADS)})\[([^\[\]]{{1,400}})\]")
"""Functions of Mathematica, whose arguments stand in square brackets."""
_NUMBERED = re.compile(r"(?<![A-Za-z])([Cc])\[(\d)\]")
_SOLVED = re.compile(r"^\s?\{{0,2}\s?([A-Za-z])\[([a-z])\]\s?(?:->|\u2192|==?)\s?([^{}]+?)\s?\}{0,2}\s?$")
"""What Mathematica writes for y(x) and C_1."""
_ACCENTS = {
    "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar", "\u0305": "bar", "\u0307": "dot", "\u0308": "ddot",
    "\u20d7": "vec",
}  # fmt: skip
_ACCENTED = re.compile(r"[A-Za-z\u0370-\u03ff][\u0302-\u0305\u0307\u0308\u20d7]|[\u00c0-\u017f\u1e00-\u1eff]")
_COMBINED = re.compile(r"([A-Za-z\u0370-\u03ff])([\u0302-\u0305\u0307\u0308\u20d7])")
_OPERATOR = re.compile(r"(?<![A-Za-z\\{])d/d([a-z])(?![A-Za-z])(?=\s?[(\[\\A-Za-z0-9])")
_SWAPPED = re.compile(
    r"((?<![\\A-Za-z])[A-Za-z]|\\(?!int|sum|prod|lim|log|bigcup|bigcap)[A-Za-z]+)\^(\d|\{\d\})_(\w|\\[A-Za-z]+|\{(?:[^{}]|\{[^{}]*\})*\})"
)
_STARRED = re.compile(r"^\s?([A-Za-z](?:_\{?\w{1,9}\}?)?)\*(?=\s?=)")
_MODULO = re.compile(
    r"(?:\\pmod\s?\{?|\(\s?(?:\\(?:mathrm|text|operatorname)\s?\{\s?mod\s?\}|\\bmod|\\mod|mod)\s?(?:\\[ ,;])?"
    r"|\\(?:bmod|mod)\s)\s?\{?(\w{1,9})\}?\s?\)?\s?$"
)
_NORM = re.compile(
    r"(?:\\\||\\lVert(?![A-Za-z])|\|\||\u2016)\s?(?:\\(?:mathbf|vec|boldsymbol|bm)\s?)?\{?\s?(\\?[A-Za-z]+(?:_\{?\w\}?)?)\s?\}?\s?(?:\\\||\\rVert(?![A-Za-z])|\|\||\u2016)\s?_\s?\{?\s?(\w+|\\infty)\s?\}?"
)
_MEAN = re.compile(r"^\s?<([^<>=,]{1,40})>\s?=(?!=)")
_KET = re.compile(
    r"\|\s?(\\?[A-Za-z]+|\d+|[+\-\u0370-\u03ff\u2191\u2193])\s?(?:\\right\s?)?(?:\\rangle(?![A-Za-z])|\u27e9)"
)
"""A state as in quantum mechanics."""
_ARROWS = {"\u2191": "up", "\u2193": "down", "\\uparrow": "up", "\\downarrow": "down", "+": "plus", "-": "minus"}
_RULES = re.compile(r"\s?\{\s?\{?[A-Za-z]\w*\s?(?:->|\u2192|:)[^\\|]{1,300}\}\s?")
_PARTIAL = re.compile(
    r"(?:\\partial|\u2202)\s?_\s?(?:\{\s?)?([a-z])(\1)?\s?\}?(\s?\^\s?\{?2\}?)?\s?([A-Za-z])(?![A-Za-z])"
)
_SAYINGS = {
    **dict.fromkeys(("all real numbers", "all reals", "all real x", "the real numbers"), "(-\\infty,\\infty)"),
    **dict.fromkeys(
        ("no solution", "no solutions", "no real solution", "no real solutions", "the empty set", "empty set",
         "there is no solution", "there are no solutions", "there are no real solutions", "emptyset", "set()"),
        "\\emptyset",
    ),
    **dict.fromkeys(
        ("all non-negative real numbers", "all nonnegative real numbers", "all non-negative reals"), "[0,\\infty)"
    ),
    **dict.fromkeys(("all positive real numbers", "all positive reals"), "(0,\\infty)"),
    **dict.fromkeys(("all negative real numbers", "all negative reals"), "(-\\infty,0)"),
    **dict.fromkeys(("positive infinity", "plus infinity"), "\\infty"),
    **dict.fromkeys(("negative infinity", "minus infinity"), "-\\infty"),
}  # fmt: skip
_LABELS = (
    re.compile(
        r"\s?(?:P|Pr|E|V|\\Pr|Prob|Var|Cov|\\(?:mathbb|mathrm|text|operatorname|mathbf)\s?\{?\s?(?:P|Pr|E|V|Var|Cov|Prob)\s?\}?)\s?"
        r"(?:\\left|\\[bB]igg?l?)?\s?(?:\((?:[^()]|\([^()]*\)){1,80}\)|\[[^\[\]]{1,80}\]|\\?\{[^{}]{1,80}\\?\})\s?=(?!=)"
    ),
    re.compile(
        r"\s?(?:\\left\s?)?(?:\||\\lvert)\s?\\(?:vec|mathbf|boldsymbol|bm|overrightarrow)\b\s?\{?\s?[A-Za-z]\s?\}?(?:_\{?\w+\}?)?"
        r"\s?(?:\\right\s?)?(?:\||\\rvert)\s?=(?!=)"
    ),
    re.compile(r"\s?(?:\\\||\\lVert\b|\\left\\\|).{1,60}?(?:\\\||\\rVert\b)(?:\s?_\{?\w\}?)?\s?=(?!=)"),
    re.compile(
        r"\s?(?:\\det\b|\bdet\b|\\operatorname\s?\{\w{1,12}\}|\\(?:dim|ker|deg|gcd)\b)\s?(?:\\left)?\(?[A-Z](?:\s?\\right)?\)?\s?=(?!=)"
    ),
    re.compile(
        r"\s?(?:\\mathcal\s?\{?\s?[LFZ]\s?\}?|\\mathscr\s?\{?\s?[LFZ]\s?\}?|[LFZ])(?:\s?\^\s?\{?-1\}?|\u207b\u00b9)?\s?(?:\\left)?\s?"
        r"(?:\\?\{(?:[^{}]|\{[^{}]{0,40}\}){1,80}\\?\}|\[[^\[\]]{1,80}\])\s?(?:\(\s?\\?[a-z]{1,5}\s?\)\s?)?=(?!=)"
    ),
    re.compile(r"\s?(?:[A-Za-z]\s?:\s?)?[A-Za-z]\s?(?:\\mapsto\b|\u21a6)"),
    re.compile(
        r"\s?\[\s?(?:\\(?:text|mathrm|ce)\s?\{\s?)?[A-Z](?:[A-Za-z\d_{}\s\u2070-\u209c]|\^\s?\{?\s?\d?\s?[-+\u2212]){0,29}\](?:_\{?\w{1,9}\}?)?\s?=(?!=)"
    ),
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
    text = _called(_INTERVALS.sub(r"Interval\1", _MODULES.sub("", text)))
    text = _SOLVED.sub(r"\1(\2) = \3", _NUMBERED.sub(r"\1_\2", text))
    text = _COMBINED.sub(_accented, unicodedata.normalize("NFD", text) if _ACCENTED.search(text) else text)
    text = _SWAPPED.sub(r"\1_\3^\2", _OPERATOR.sub(r"\\frac{d}{d\1} ", text))
    text = _STARRED.sub(r"\1^{*}", text)
    text = _MODULO.sub(r"\\pmod{\1}", text)
    text = _NORM.sub(r" \\text{norm}_{\2} (\1)", text)
    text = _MEAN.sub(r" \\langle \1 \\rangle =", text)
    if "\\langle" not in text and "\u27e8" not in text:
        text = _KET.sub(lambda found: f" \\text{{ket}}_{{{_ARROWS.get(found[1], found[1])}}} ", text)
    if _RULES.fullmatch(text):
        text = re.sub(r"->|\u2192|:", "=", re.sub(r"[{}]", " ", text))
    text = _PARTIAL.sub(_partial, text)
    text = _LOGARITHM.sub(r"\\log_{\1}", text)
    if _SPACED.fullmatch(text):
        return text.replace(" ", "")
    if (found := _ANGLES.fullmatch(text)) is not None:
        return f"\\langle {found[1]} \\rangle"
    if said := _spelled(text):
        return said
    if counted := _COUNTED.fullmatch(text):
        return counted[1]
    text = _CHOSEN.sub(r"\\binom{\1}{\2}", _EMPHASISED.sub(r"\1", text))
    text = _SQUARE_ROOT.sub(r"sqrt(\1)", text)
    text = _PLAIN_SIGN.sub(r"\\\1 ", _SUM_SIGN.sub(r"\\sum ", text))
    text = _REALS.sub(lambda _: " (-\\infty,\\infty) ", text).replace("  ", " ")
    text = _LINED.sub(lambda found: rf"\overline{{{re.sub(r'[^0-9]', '', found[0])}}}", text)
    text = _AND_SO_ON.sub(_repeating, _OVERLINED.sub(_repeating, text))
    text = _SECOND.sub(lambda found: f" D2{{{found[2] or found[5]}}}{{{found[3] or found[6]}}} ", text)
    text = _LESS.sub(r"\1 \\setminus ", text)
    text = _WITHOUT.sub(r"\1 \\setminus ", _ANY_REAL.sub("", text))
    if (bounded := _RANGE.fullmatch(text)) is not None:
        return _range(bounded)
    if (mixed := _MIXED.fullmatch(text)) and int(mixed[3]) < int(mixed[4]):
        return f"{mixed[1]}({mixed[2]}+{mixed[3]}/{mixed[4]})"
    if found := _BUILDER.fullmatch(text):
        text = found[2]
    if found := _ROWS.fullmatch(text):
        rows = (re.split(r"\s?,\s?" if "," in row else r"\s", row.strip()) for row in found[2].split(";"))
        return f"{found['name']}[" + ",".join(f"[{','.join(row)}]" for row in rows) + "]"
    text = _UNION.sub(r" \\cup ", text)
    bare = text.strip()
    if bare.endswith("[") or ("]" in bare and bare.find("]") < (bare.find("[") % (len(bare) + 1))):
        text = _OUTWARD.sub(_inward, text)
    return text


def _called(text: str) -> str:
    """Calls in square brackets as calls in round ones, from the innermost outward."""
    for _ in range(20):
        called = _BRACKETED.sub(_round, text)
        if called == text:
            break
        text = called
    return text


def _round(found: re.Match[str]) -> str:
    name, arguments = found.groups()
    if name == "Log" and re.search(r",(?![^(]*\))", arguments):
        name = "LogBase"
    if name == "Log":
        name = "log"
    name = {"D": "Derivative", "Gamma": "gamma", "Zeta": "zeta", "Sqrt": "sqrt"}.get(name, name)
    if name.startswith("Arc"):
        name = name.lower()
    return f"{name}({arguments})"


def _range(found: re.Match[str]) -> str:
    """``all real numbers greater than 2``."""
    how, also, bound = found.groups()
    if how in ("except", "but", "other than", "not equal to", "different from"):
        return f"(-\\infty,\\infty) \\setminus \\{{{bound}\\}}"
    above = how.split()[0] in ("greater", "larger", "bigger", "above", "more")
    brackets = ("[" if also else "(") if above else ("]" if also else ")")
    return f"{brackets}{bound},\\infty)" if above else f"(-\\infty,{bound}{brackets}"


def _accented(found: re.Match[str]) -> str:
    letter, accent = found.groups()
    return rf"\{_ACCENTS[accent]}{{{letter}}}"


def _partial(found: re.Match[str]) -> str:
    variable, again, squared, function = found.groups()
    if again or squared:
        return f" D2{{{function}}}{{{variable}}} "
    return f" \\frac{{d{function}}}{{d{variable}}} "


def _spelled(text: str) -> str | None:
    """A number in words as a fraction."""
    text = _ADVERB.sub("", text.strip())
    found = next(spelled_numbers(text), None) if text[:1].isalpha() or text[:1] == "-" else None
    if found is None or found[2] or text[found[3] :].strip():
        return None
    value = found[0] / (100 if found[1] else 1)
    return f"({value.numerator}/{value.denominator})"


def without_label(text: str) -> str:
    r"""``text`` without a left side that is no formula.

    >>> without_label(r"\det A = x^2"), without_label("P(X = 2) = 3/8")
    ('x^2', '3/8')
    """
    for label in _LABELS:
        if (found := label.match(text)) and not changes(found[0]):
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
