r"""Formulas of numbers in LaTeX or Unicode as plain text: ``\frac{1}{2}`` as ``((1)/(2))``, ``√2`` as ``sqrt 2``.

Only rewrites text. What it does not know stays a word, which is no number to whoever reads on.
"""

from __future__ import annotations

import math
import re
import unicodedata

__all__ = ["plain_math"]

_DEEPEST = 40
_TIMES = re.compile(r"(?<=\d)\s*[xX]\s*(?=10\s*(?:\^|\*\*|\())")
"""A letter that stands for the sign, before a power of ten."""
_GROUPED = re.compile(r"(?<=\d)(?:\\[,;:! ]|~|[\u00a0\u202f\u2009])(?=\d{3}(?!\d))")
"""Between the thousands of one number."""
_SPACED = re.compile(
    r"(?<![\d.,])\d{1,3}(?: \d{3}){2,}(?![\d,.]\d)(?!\d)|(?<![\d.,])\d{1,3} 0\d\d(?![\d,]|\.\d)"
    r"|(?<!\d)\d\.\d{3}(?: \d{3})+(?:(?= ?[*×·x])|(?![\d ]))"
)
"""Thousands apart by a space; a single one only where it is no number of its own: ``12 000``."""
_SPACES = re.compile(r"\\(?:[,;:!> ]|quad\b|qquad\b|displaystyle\b|textstyle\b|limits\b)|~")
_DROPPED = re.compile(r"\\(?:left|right|[bB]ig{1,2}[lr]?)(?![A-Za-z])\.?|\\[()\[\]]|\$\$?")
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
_WORDS = {
    "times": "*", "cdot": "*", "ast": "*", "div": "/", "pm": "±", "mp": "±", "approx": "≈", "simeq": "≈", "sim": "≈",
    "cong": "≈", "equiv": "=", "pi": " pi ", "infty": "∞", "degree": "°", "circ": "°", "mu": "µ", "Omega": "Ω",
    "ohm": "Ω", "AA": "Å", "neq": "≠", "ne": "≠", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "lt": "<", "gt": ">",
    "ll": "<", "gg": ">", "celsius": "°C", "degreeCelsius": "°C", "implies": "⇒", "Rightarrow": "⇒", "therefore": "∴",
    "lvert": " abs(", "rvert": ") ", "lVert": " abs(", "rVert": ") ", "to": "→", "rightarrow": "→",
    "percent": "%", "ln": " ln", "exp": " exp", "euro": "€", "colon": ":", "ldots": "…", "dots": "…",
}  # fmt: skip
_TEXT = {"text", "mathrm", "mathbf", "mathit", "mathsf", "textbf", "textit", "textrm", "rm", "operatorname", "mbox"}
_ACCENTS = {"vec", "hat", "bar", "overline", "tilde", "dot", "ddot", "underline", "mathbb", "mathcal", "boldsymbol"}
_QUANTITIES = {"SI", "qty", "num", "si", "unit"}
"""Of the packages for units: a number and a unit, each in braces."""
_CHOICES = {"binom", "dbinom", "tbinom"}
_FRACTIONS = {"frac", "dfrac", "tfrac", "cfrac"}
_MICRO = re.compile(r"(?<=\\mathrm)\{\s*\\mu\s+([A-Za-z])", re.ASCII)
"""``\\mathrm{\\mu m}``: a unit, whatever stands between."""
_VULGAR = re.compile("[¼-¾⅐-⅞↉]")
_VULGAR_ROOT = re.compile("([√∛])([¼-¾⅐-⅞↉])")
_RAISED = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]+")
_LOWERED = re.compile("[\u2080-\u2089]+")
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("×·⋅∙", "*"),
        **dict.fromkeys("÷\u2215\u2044", "/"),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\uff0d\ufe63", "-"),
        **dict.fromkeys("\u223c≅≃", "≈"),
        **dict.fromkeys("\u00a0\u202f\u2009", " "),
        **dict.fromkeys("º˚", "°"),
        "√": " sqrt ",
        "∛": " cbrt ",
        "π": " pi ",
        "\u03bc": "µ",
        "\u2126": "Ω",
        "\u212b": "Å",
        "\u2103": "°C",
        "\u2109": "°F",
        "\u2062": "",
        "\uff05": "%",
        "\uff0e": ".",
        "\uff0c": ",",
    }
)


def plain_math(text: str) -> str:
    r"""``text`` without LaTeX, as far as numbers and units go.

    >>> plain_math(r"\frac{\sqrt{3}}{2}\,\text{m}"), plain_math("1.2×10⁻³")
    ('((sqrt(3))/(2)) m', '1.2*10^(-3)')
    """
    text = _SPACED.sub(lambda found: found[0].replace(" ", ""), _GROUPED.sub("", text))
    if not text.isascii():
        text = _VULGAR_ROOT.sub(r"\1(\2)", text)
        text = _VULGAR.sub(_vulgar, text)
        text = _LOWERED.sub(lambda found: f"_{_digits(found[0])}", text)
        text = _RAISED.sub(lambda found: f"^({_digits(found[0])})", text).translate(_SIGNS)
    if "\\" in text or "$" in text or "{" in text:
        text = text.replace("{,}", ",").replace("\\%", "%").replace("\\$", " ")
        text = re.sub(r"\^\s*\{?\s*\\circ\s*\}?", "°", text)
        text = _MICRO.sub(r"{µ\1", text)
        text = text.replace("\\left|", " abs(").replace("\\right|", ")")
        text = _Plain(_DROPPED.sub(" ", _SPACES.sub(" ", text))).all()
    return " ".join(_TIMES.sub("*", text).split())


def _vulgar(found: re.Match[str]) -> str:
    whole, _, part = unicodedata.normalize("NFKC", found[0]).partition("\u2044")
    return f" {whole}/{part or '1'} "


def _digits(text: str) -> str:
    return unicodedata.normalize("NFKC", text).replace("\u2212", "-")


class _Plain:
    """One walk over the text; groups inside groups to a depth that nobody needs."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def all(self) -> str:
        return self._until("", 0)

    def _until(self, closing: str, depth: int) -> str:
        out: list[str] = []
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == closing:
                self._at += 1
                break
            if character == "\\":
                out.append(self._command(depth))
            elif character == "{":
                self._at += 1
                inner = self._until("}", depth + 1) if depth < _DEEPEST else ""
                raised = bool(out) and out[-1] == "^"
                if out and out[-1] == "_" and not re.fullmatch(r"\s*\w*\s*", inner):
                    inner = ""  # what a limit or a sum runs over
                out.append(f"({inner})" if raised else f" {inner} " if out and out[-1] == "_" else f"({inner})")
            else:
                self._at += 1
                out.append(character)
        return "".join(out)

    def _command(self, depth: int) -> str:
        match = _COMMAND.match(self._text, self._at)
        if match is None:
            self._at += 2
            return " "
        self._at, name = match.end(), match[1]
        if name in _FRACTIONS:
            mixed = re.search(r"(\d+)\s*$", self._text[max(0, match.start() - 12) : match.start()])
            over, under = self._argument(depth), self._argument(depth)
            whole = mixed and over.strip().isdigit() and under.strip().isdigit()
            return f" {over.strip()}/{under.strip()}" if whole else f"(({over})/({under}))"
        if name in _CHOICES:
            one, other = self._argument(depth).strip(), self._argument(depth).strip()
            few = one.isdecimal() and other.isdecimal() and len(one) < 4 and len(other) < 4
            return f"({math.comb(int(one), int(other))})" if few else f" binom ({one})({other})"
        if name == "sqrt":
            index = ""
            if self._text[self._at : self._at + 1] == "[":
                end = self._text.find("]", self._at)
                if 0 <= end < self._at + 12:
                    index, self._at = self._text[self._at + 1 : end], end + 1
            return f"root({index};{self._argument(depth)})" if index else f"sqrt({self._argument(depth)})"
        if name in _TEXT or name in _ACCENTS or name in _QUANTITIES:
            return f" {self._argument(depth)} "
        return _WORDS.get(name, f" {name} ")

    def _argument(self, depth: int) -> str:
        """A group, a command, or one character."""
        while self._text[self._at : self._at + 1] == " ":
            self._at += 1
        if depth >= _DEEPEST or self._at >= len(self._text):
            return ""
        if self._text[self._at] == "{":
            self._at += 1
            return self._until("}", depth + 1)
        if self._text[self._at] == "\\":
            return self._command(depth + 1)
        self._at += 1
        return self._text[self._at - 1]
