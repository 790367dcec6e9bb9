"""Conditions on texts, which are the same for answers, pages, databases and request bodies.

Before a comparison, texts are normalised: Unicode NFKC, no invisible characters, straight quotes and plain hyphens,
single spaces, no case (unless ``case: true``). `docs/task-format.md` documents this.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from pytest_webarena.checks.numbers import NumberToken, final_answer, numbers_in
from pytest_webarena.checks.written_addresses import holds_address, is_address
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Field, ListOf
from pytest_webarena.tasks.shapes import Bool, Fault, Number, Text
from pytest_webarena.tasks.syntax import REGEX
from pytest_webarena.text import clip

__all__ = [
    "ANY_TEXT",
    "TEXT_FIELDS",
    "TextMatch",
    "TextResult",
    "Tolerance",
    "judge_text",
    "judge_texts",
    "literal",
    "nfkc",
    "normalise",
    "read_tolerance",
    "same_text",
    "take_text",
    "text_fault",
]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Allowed deviation of a number: an amount, or a share of the expected number."""

    amount: Decimal
    relative: bool = False

    def __str__(self) -> str:
        return f"{self.amount * 100:f}".rstrip("0").rstrip(".") + " %" if self.relative else f"{self.amount:f}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextMatch:
    """Conditions on one text; all given ones must hold."""

    exact: str | None = None
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()
    one_of: tuple[str, ...] = ()
    regex: str | None = None
    number: Decimal | None = None
    tolerance: Tolerance | None = None
    case: bool = False
    whole_words: bool = True

    @property
    def positive(self) -> bool:
        """Whether it requires the presence of something, and not only absence."""
        return bool(
            self.exact is not None or self.includes or self.one_of or self.regex is not None or self.number is not None
        )

    def __bool__(self) -> bool:
        return self.positive or bool(self.excludes)

    @property
    def lasts(self) -> bool:
        """Whether a text that meets it still does so when something is added to it."""
        return self == TextMatch(includes=self.includes, case=self.case, whole_words=self.whole_words)

    def __str__(self) -> str:
        parts = []
        if self.exact is not None:
            parts.append(f'"{self.exact}"')
        if self.one_of:
            parts.append("one of " + ", ".join(f'"{text}"' for text in self.one_of))
        if self.number is not None:
            within = f" ± {self.tolerance}" if self.tolerance else ""
            parts.append(f"the number {self.number:f}{within}")
        if self.includes:
            parts.append("includes " + ", ".join(f'"{text}"' for text in self.includes))
        if self.excludes:
            parts.append("excludes " + ", ".join(f'"{text}"' for text in self.excludes))
        if self.regex is not None:
            parts.append(f"matches /{self.regex}/")
        return "; ".join(parts)


ANY_TEXT = TextMatch()
"""A match without conditions."""


@dataclass(frozen=True, slots=True)
class TextResult:
    """Whether a condition holds, and why (not)."""

    holds: bool
    why: str


_INVISIBLE = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]")
_ACCENTS = 30
_HEAPS = re.compile(rf"[^\w\s!-~]{{{_ACCENTS + 1},}}")
"""Sequences that may have too many accents: characters that are not letters, digits, spaces or ASCII."""
_STRAIGHT = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u00b4`", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe63\uff0d", "-"),
        "…": "...",
    }
)


def nfkc(text: str) -> str:
    """Returns ``text`` in Unicode's form NFKC, without accents beyond the thirtieth on one letter.

    No language has more (Unicode Standard Annex 15, "stream-safe"). Sorting accents takes time quadratic in their
    number, so a short answer of only accents would take minutes.
    """
    return unicodedata.normalize("NFKC", _HEAPS.sub(_fewer, text))


def literal(text: str) -> str:
    """Returns ``text`` with normalised spaces, quotes and dashes, and without invisible characters. Unlike `normalise`,
    it distinguishes x² from x2, and V from v.

    >>> literal(" “V²”  –\\n1 ")
    '"V²" - 1'
    """
    plain = _INVISIBLE.sub("", text).translate(_STRAIGHT)
    return " ".join(unicodedata.normalize("NFC", _HEAPS.sub(_fewer, plain)).split())


def _fewer(heap: re.Match[str]) -> str:
    kept, accents = [], 0
    for character in heap[0]:
        accents = accents + 1 if unicodedata.combining(character) else 0
        if accents <= _ACCENTS:
            kept.append(character)
    return "".join(kept)


def normalise(text: str, *, case: bool = False) -> str:
    """Returns ``text`` in the form in which texts are compared.

    >>> normalise("  “Caf\\u00e9”\\u00a0– OPEN ")
    '"café" - open'
    """
    if not text.isascii():
        text = nfkc(_INVISIBLE.sub("", text).translate(_STRAIGHT)).translate(_STRAIGHT)
    text = " ".join(text.replace("`", "'").split())
    return text if case else text.casefold()


def same_text(one: str, other: str, *, case: bool = False) -> bool:
    """Whether two texts are equal, apart from form, one pair of quotes around them and a final full stop."""
    return _bare(normalise(one, case=case)) == _bare(normalise(other, case=case))


def _bare(text: str) -> str:
    if len(text) > 1 and text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip()
    if len(text) > 2 and text[0] == text[-1] and text[0] in "\"'":
        text = text[1:-1].strip()
        if len(text) > 1 and text.endswith(".") and not text.endswith(".."):
            text = text[:-1].rstrip()
    return text


def occurs(needle: str, text: str, *, whole_words: bool = True) -> bool:
    """Whether ``needle`` occurs in ``text`` (both normalised) and not inside a longer word or number.

    >>> occurs("10", "room 100"), occurs("10", "10 km"), occurs("10", "10.5"), occurs("cat", "category")
    (False, True, False, False)
    """
    if not needle:  # only invisible characters: never found
        return False
    if not whole_words:
        return needle in text
    start = text.find(needle)
    while start >= 0:
        if not _joined_before(text, start, needle[0]) and not _joined_after(text, start + len(needle), needle[-1]):
            return True
        start = text.find(needle, start + 1)
    return False


def _letter(character: str) -> bool:
    """Whether the character belongs to a script that separates words by spaces; in others a word may occur anywhere."""
    return character.isalpha() and (character.lower() != character.upper())


def _joined_before(text: str, start: int, first: str) -> bool:
    before = text[start - 1] if start else " "
    if first.isdigit():
        earlier = text[start - 2] if start > 1 else " "
        if before in ".,":  # 10 in 3.10 and in .10
            return earlier.isdigit() or (before == "." and not _letter(earlier) and (start == 1 or earlier.isspace()))
        if before == "-":  # 10 in -10, but not in 5-10
            return not (earlier.isalnum() or earlier in ")%")
        return before.isdigit() or _letter(before)
    return _letter(first) and (_letter(before) or before.isdigit())


def _joined_after(text: str, end: int, last: str) -> bool:
    after = text[end] if end < len(text) else " "
    if last.isdigit():
        later = text[end + 1] if end + 1 < len(text) else " "
        return after.isdigit() or (after in ".," and later.isdigit())
    return _letter(last) and _letter(after)


def judge_text(match: TextMatch, text: str, *, question: str = "") -> TextResult:
    """Judge one text. Numbers quoted from ``question``, the question to the agent, are not answers."""
    plain = normalise(text, case=match.case)
    if match.exact is not None and not same_text(match.exact, text, case=match.case):
        return TextResult(False, "the texts differ")
    if match.one_of and not any(same_text(each, text, case=match.case) for each in match.one_of):
        return TextResult(False, "it is none of them")
    if match.number is not None:
        found = judge_number(match.number, match.tolerance, text, question)
        if not found.holds:
            return found
    missing = [each for each in match.includes if not _includes(match, each, plain)]
    if missing:
        return TextResult(False, f"{_quoted(missing)} {'is' if len(missing) == 1 else 'are'} missing")
    present = [each for each in match.excludes if _includes(match, each, plain)]
    if present:
        return TextResult(False, f"{_quoted(present)} must not be there")
    if match.regex is not None and not _compiled(match.regex).search(nfkc(text.strip())):
        return TextResult(False, "the pattern is not found")
    return TextResult(True, "")


def judge_texts(match: TextMatch, texts: Sequence[str], mode: Literal["any", "all", "together"]) -> TextResult:
    """Judge several texts: one must match (``any``; excluded text must be in none), each one, or all joined."""
    if mode == "together":
        return judge_text(match, "\n".join(texts))
    if mode == "all":
        for index, text in enumerate(texts, 1):
            found = judge_text(match, text)
            if not found.holds:
                return TextResult(False, f"{index} of {len(texts)} ({clip(text, 30)}): {found.why}")
        return TextResult(bool(texts) or not match.positive, "" if texts else "there is none")
    for text in texts:
        plain = normalise(text, case=match.case)
        if present := [each for each in match.excludes if _includes(match, each, plain)]:
            return TextResult(False, f"{_quoted(present)} must not be there")
    if not match.positive:
        return TextResult(True, "")
    findings = [judge_text(match, text) for text in texts]
    if not findings:
        return TextResult(False, "there is none")
    best = next((found for found in findings if found.holds), None)
    return best or (findings[0] if len(findings) == 1 else TextResult(False, f"none of the {len(findings)} does"))


def judge_number(number: Decimal, tolerance: Tolerance | None, text: str, question: str = "") -> TextResult:
    """Whether the only number that ``text`` states is the expected one."""
    tokens = numbers_in(final_answer(text))
    if not tokens:
        return TextResult(False, "there is no number in it")
    stated = _distinct(tokens)
    if len(stated) > 1 and question:
        asked = {value for token in numbers_in(question) for value in token.values}
        stated = [token for token in stated if token.value not in asked] or stated
    if len(stated) > 1:
        listed = ", ".join(token.text for token in stated[:4])
        return TextResult(False, f"it states {len(stated)} numbers ({clip(listed, 40)}); one is wanted")
    expected = Fraction(number)
    allowed = Fraction(tolerance.amount) * (abs(expected) if tolerance.relative else 1) if tolerance else Fraction(0)
    if any(abs(value - expected) <= allowed for value in stated[0].values):
        return TextResult(True, "")
    off = abs(stated[0].value - expected)
    return TextResult(False, f"it is off by {float(off):.6g}" if off < 10**300 else "it is far off")


def _distinct(tokens: Sequence[NumberToken]) -> list[NumberToken]:
    return list({(token.value, token.percent): token for token in reversed(tokens)}.values())[::-1]


def _includes(match: TextMatch, needle: str, plain: str) -> bool:
    sought = _needle(needle, match.case)
    if match.whole_words and is_address(sought):
        return holds_address(sought, plain)
    return occurs(sought, plain, whole_words=match.whole_words)


@functools.lru_cache(maxsize=4096)
def _needle(text: str, case: bool) -> str:
    return normalise(text, case=case)


@functools.lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def _quoted(texts: Sequence[str]) -> str:
    return ", ".join(f'"{clip(text, 40)}"' for text in texts)


def read_tolerance(text: str, _: Reading) -> Tolerance | Fault:
    from pytest_webarena.tasks.scalars import parse_decimal

    share = text.strip().removesuffix("%")
    amount = parse_decimal(share.strip())
    if amount is None or amount < 0:
        return Fault("a tolerance: an amount such as 0.01, or a share such as 1%", f"'{clip(text)}'")
    if share != text.strip() and amount >= 100:
        return Fault("a share below 100%", f"'{clip(text)}'", "0 would be right, too")
    return Tolerance(amount / 100, relative=True) if share != text.strip() else Tolerance(amount)


_TEXTS = ListOf(Text(), or_one=True, label="a text or a list of texts", low=1)

TEXT_FIELDS = (
    Field(
        key="exact",
        shape=Text(blank=True),
        default=None,
        default_text="none",
        doc="The text equals this one. Surrounding quotes and a final full stop are ignored.",
        example="- page: {locate: h1, exact: Gooseneck Kettle}",
    ),
    Field(
        key="includes",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc=("The text includes all of these, as whole words and numbers: `10` is not in `100`, `-10` or `10.5`."),
        example="- page: {open: /basket/, includes: [Coffee Grinder, Gooseneck Kettle]}",
    ),
    Field(
        key="excludes",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc="The text includes none of these.",
        example="- page: {open: /basket/, includes: Coffee Grinder, excludes: [Gooseneck Kettle]}",
    ),
    Field(
        key="one_of",
        shape=_TEXTS,
        default=(),
        default_text="none",
        doc="The text equals one of these, compared as with `exact`.",
        example="- page: {locate: css=.state, one_of: [shipped, delivered]}",
    ),
    Field(
        key="regex",
        shape=REGEX,
        default=None,
        default_text="none",
        doc=(
            "The regular expression (Python's `re`) matches somewhere in the text, which is only brought to "
            "NFKC form first. Use `^…$` for the whole text and `(?i)` to ignore case."
        ),
        example="- page: {locate: css=.number, regex: '^#\\d{4}$'}",
    ),
    Field(
        key="number",
        shape=Number(Decimal),
        default=None,
        default_text="none",
        doc=(
            "The text states one number, and it has this value. `$1,234.50`, `1.234,50 €`, `3/4`, "
            "`1.2×10^-3`, `2 million` and `45%` (45 or 0.45) are understood. Several numbers fail."
        ),
        example="- page: {locate: css=.total, number: 84.97}",
    ),
    Field(
        key="tolerance",
        shape=Convert(Text("a tolerance: an amount such as 0.01, or a share such as 1%"), read_tolerance),
        default=None,
        default_text="exactly equal",
        doc="Allowed difference from `number`: an amount, or a share such as 1%.",
        example="- page: {locate: css=.total, number: 84.97, tolerance: 1%}",
    ),
    Field(
        key="case",
        shape=Bool(),
        default=False,
        doc="Whether case matters.",
        example="- page: {locate: h1, exact: GmbH, case: true}",
    ),
    Field(
        key="whole_words",
        shape=Bool(),
        default=True,
        doc=(
            "Whether `includes` and `excludes` match whole words and numbers only. `false` matches any run of "
            "characters."
        ),
        example="- page: {open: /basket/, includes: grinder, whole_words: false}",
    ),
)
"""Fields for conditions on text, shared by all kinds of check that have them."""

_TEXT_KEYS = tuple(field.key for field in TEXT_FIELDS)


def take_text(values: dict[str, Any]) -> TextMatch:
    """Remove the conditions on text from the values of a check, and return them as one value."""
    return TextMatch(**{key: values.pop(key) for key in _TEXT_KEYS})


def text_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    """Returns why conditions contradict each other; None when they don't."""
    if values["tolerance"] is not None and values["number"] is None:
        return Fault("'tolerance' with 'number'", "it alone")
    if not values["whole_words"] and not (values["includes"] or values["excludes"]):
        return Fault("'whole_words' with 'includes' or 'excludes'", "neither")
    return None
