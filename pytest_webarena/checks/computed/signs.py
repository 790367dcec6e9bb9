"""Signs and letters of Unicode as LaTeX or plain text write them: ``x²``, ``½``, ``≤``, ``ᵢ``."""

from __future__ import annotations

import re
import unicodedata

from pytest_webarena.checks.computed.names import GREEK

__all__ = ["GREEK_LETTERS", "in_plain_signs"]


def _raised(kind: str) -> dict[str, str]:
    """Letters and digits that Unicode has above or below the line, with the plain ones that they stand for."""
    found = {}
    for code in (
        *range(0xB2, 0xBA),
        *range(0x2B0, 0x2B9),
        *range(0x2E0, 0x2E5),
        *range(0x1D2C, 0x1D6B),
        *range(0x2070, 0x209D),
        0x2C7C,
    ):
        given, _, plain = unicodedata.decomposition(chr(code)).partition(" ")
        if given == kind and plain:
            found[chr(code)] = chr(int(plain, 16)).replace("\u2212", "-")
    return found


_SUPERSCRIPTS, _SUBSCRIPTS = _raised("<super>"), _raised("<sub>")
_ABOVE, _BELOW = (re.compile(f"[{''.join(letters)}]+") for letters in (_SUPERSCRIPTS, _SUBSCRIPTS))
_SIGNS = str.maketrans(
    {
        **dict.fromkeys("·⋅∙•\u2217\u2062", "*"),
        "×": " \\times ",
        **dict.fromkeys("÷\u2044\u2215", "/"),
        **dict.fromkeys("−–—\u2010\u2011", "-"),
        **dict.fromkeys("\u2019\u2032", "'"),
        **dict.fromkeys("\u00a0\u2009\u202f", " "),
        **dict.fromkeys("\u2061\u200b", ""),
        "″": "''", "\u2223": "|", "…": "...", "ϕ": "φ", "ϵ": "ε", "ϑ": "θ", "µ": "μ",
        "½": "(1/2)", "⅓": "(1/3)", "⅔": "(2/3)", "¼": "(1/4)", "¾": "(3/4)", "\u2228": " or ", "∧": " and ",
        "∞": " oo ", "\u222a": " \\cup ", "\u2229": " \\cap ", "\u2216": " \\setminus ",
        "±": " \\pm ", "∓": " \\mp ", "√": " \\sqrt ", "∛": " \\cbrt ",
        "∑": " \\sum ", "∏": " \\prod ", "∫": " \\int ", "∂": " \\partial ", "∇": " \\nabla ", "ℏ": " \\hbar ",
        "ħ": " \\hbar ", "\u2113": " \\ell ", "°": " \\circ ", "⟨": " \\langle ", "⟩": " \\rangle ",
        "∅": " \\emptyset ", "→": " \\to ", "⌊": " \\lfloor ", "⌋": " \\rfloor ", "⌈": " \\lceil ", "⌉": " \\rceil ",
    }
)  # fmt: skip
GREEK_LETTERS = {
    letter: name
    for code in (*range(0x391, 0x3AA), *range(0x3B1, 0x3CA))
    if (letter := chr(code)).isalpha()
    and (
        name := (lambda words: words[-1].lower() if "SMALL" in words else words[-1].capitalize())(
            unicodedata.name(letter, "NONE").replace("LAMDA", "LAMBDA").replace("FINAL ", "").split()
        )
    )
    in GREEK
}


_DOTLESS = re.compile(r"\\([ij])math(?![A-Za-z])")
_BOLD = re.compile(r"\\(?:mathbf|boldsymbol|bm|vec|overrightarrow|mathcal|mathbb)\b\s*")
_SET_BOLD = re.compile(
    r"\\(?:mathbf|boldsymbol|bm|mathrm|mathit|vec|overrightarrow)\s*\{\s*(\\[A-Za-z]+|[A-Za-z])\s*\}"
)
_VECTOR = r"\\(?:vec|mathbf|boldsymbol|bm|overrightarrow)\s*(?:\{\s*\\?[A-Za-z]+\s*\}|\\?[A-Za-z])(?:\s*_\s*\{?\w+\}?)?"
_CROSSED = re.compile(rf"({_VECTOR})\s*(?:\\times\b|\u00d7)\s*(?={_VECTOR})")
_DOTTED = re.compile(rf"({_VECTOR})\s*(?:\\cdot\b|\u00b7|\u22c5|\u2022)\s*(?={_VECTOR})")
_DELIMITER = re.compile(r"\\(?:left|right)\s*(\\?[a-zA-Z]+|\\[{}|]|.)")


def in_plain_signs(text: str) -> str:
    r"""``text`` with Unicode's signs as LaTeX or plain text have them, and without marks of bold type.

    >>> in_plain_signs("2πr²"), in_plain_signs("½ \\mathbf{v}")
    ('2πr^{2}', '(1/2)  v ')
    """
    text = (
        _DOTLESS.sub(r"\1", text.replace("$", " ")).replace("\\(", "(").replace("\\)", ")").replace("\\\\[", "\\\\ [")
    )
    text = re.sub(r"(?<!\\)\\[\[\]]", " ", text)
    text = _ABOVE.sub(lambda found: "^{" + "".join(map(_SUPERSCRIPTS.__getitem__, found[0])) + "}", text)
    text = _BELOW.sub(lambda found: "_{" + "".join(map(_SUBSCRIPTS.__getitem__, found[0])) + "}", text)
    text = _DOTTED.sub(r"\1 \\dotted ", _CROSSED.sub(r"\1 \\cross ", text))
    text = _SET_BOLD.sub(r" \1 ", text)
    text = text.translate(_SIGNS)
    text = unicodedata.normalize("NFKC", text).translate(_SIGNS)
    text = _DELIMITER.sub(lambda found: _delimiter(found[0], found[1]), text)
    return _BOLD.sub(" ", text)


def _delimiter(whole: str, mark: str) -> str:
    left = "left" in whole[:6]
    if mark in ("|", "\\vert"):
        return " \\lvert " if left else " \\rvert "
    return " " if mark == "." else f" {mark} "
