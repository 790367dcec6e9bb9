"""The numbers in a text, exactly: signs, separators, currencies, per cent, fractions, powers of ten, words.

Digits that belong to something else are no numbers: names (``SKU-123``, ``B07X``), dates
(``2023-01-05``, ``1/5/2023``), times (``12:30``), versions and network addresses (``1.2.3.4``).
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction

__all__ = [
    "NUMBER_WORDS",
    "NumberToken",
    "final_answer",
    "mask_words",
    "number_in_words",
    "numbers_in",
    "numeral_at",
    "numeral_value",
]


@dataclass(frozen=True, slots=True)
class NumberToken:
    """One number as written, with its value."""

    text: str
    value: Fraction
    percent: bool = False
    """Whether a per cent sign follows; then it may also be meant as a hundredth."""

    @property
    def values(self) -> tuple[Fraction, ...]:
        """What it may mean: itself and, for a percentage, its hundredth part."""
        return (self.value, self.value / 100) if self.percent else (self.value,)


_CURRENCY = "$€£¥₹₩₽₺₫₱฿¢"
_POINTS = re.compile(r"\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?|\d{1,3}(?:\.\d{3})+,\d+")  # 1.234.567,89 and 1.234,56
_NUMERAL = re.compile(
    rf"""
      \d{{1,3}}(?:[_'\u2019\u00a0\u2009\u202f]\d{{3}})+(?!\d)(?:[.,]\d+)?   # 1'234.50
    | (?<![\d.,]\ )(?<![\d.,])[1-9]\d{{0,2}}(?:\ \d{{3}})+(?![\d]|\ \d)(?:[.,]\d+)?(?![\d%])   # 1 234.50
    | (?:{_POINTS.pattern})(?!\d)
    | \d{{1,3}}(?:,\d{{2,3}})*,\d{{3}}(?!\d)(?:\.\d+)?                # 1,234,567.89 and 12,34,567
    | \d+(?:\.\d+|,\d+)?                                              # 84.97 and 84,97
    | (?<!\w)\.\d+
    """,
    re.VERBOSE,
)
# What holds digits and is no number.
_OTHER = re.compile(
    r"""
      (?<![\w.])\d{4}-\d{1,2}-\d{1,2}(?:[T\ ]?\d{1,2}:\d\d[:\d.]*(?:Z|[-+]\d\d:?\d\d)?)?(?!\w)
    | (?<![\w.])\d{1,4}/\d{1,2}/\d{1,4}(?!\w)
    | (?<![\w.])\d{1,2}(?::\d\d){1,2}(?:\.\d+)?(?!\d)
    | (?<![\w.,])\d+(?:\.\d+){2,}(?![\d,])
    | (?P<word>(?<![\w-])[^\W\d][\w-]*)(?:\.\d+)*
    | (?<![\w.,])(?!\d+[eE]\d{1,3}\b)\d+[^\W\d]+\d\w*
    """,
    re.VERBOSE,
)
_CODES = re.compile(r"\b(?:USD|EUR|GBP|CHF|JPY|CNY|INR|AUD|CAD|SEK|NOK|DKK|[Kk]r\.?)(?=\d)")
_SIGN = re.compile(rf"(?:^|[^\w%)\]{_CURRENCY}]|(?<![-\w])[{_CURRENCY}])([-\u2212\u2010\u2011\u2013+])[{_CURRENCY}]?$")
_POWER = re.compile(r"[eE]([-+\u2212]?)(\d{1,3})(?!\w)|\s?[×x*·]\s?10(?:\^|\*\*)\(?([-+\u2212]?)(\d{1,3})\)?")
_OVER = re.compile(r"\s?[/\u2044]\s?(\d{1,9})(?![\d/,]|\.\d)")
_MIXED = re.compile(r"\s(\d{1,9})[/\u2044](\d{1,9})(?![\d/,]|\.\d)")
_RAISED = re.compile(r"\s?(?:\^|\*\*)\s?\(?([-+\u2212]?)(\d{1,3})\)?")
_SCALE = re.compile(r"[kKM](?!\w)|\s?(?i:bn|thousand|million|billion|trillion)(?!\w)")
_SCALES = {"k": 3, "m": 6, "thousand": 3, "million": 6, "bn": 9, "billion": 9, "trillion": 12}  # powers of ten
_PERCENT = re.compile(r"\s?(?:%|per\s?cent\b|pct\b)", re.IGNORECASE)

_UNITS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
NUMBER_WORDS = {word: index for index, word in enumerate(_UNITS)} | {word: 20 + 10 * i for i, word in enumerate(_TENS)}
"""What they count, up to ninety."""
_BELOW = rf"(?:(?:{'|'.join(_TENS)})[- ](?:{'|'.join(_UNITS[1:10])})|(?:{'|'.join(NUMBER_WORDS)}))"
_HUNDREDS = rf"(?:(?:{'|'.join(_UNITS[1:])}|an?)[- ]hundred(?:(?:[- ]and[- ]|[- ]){_BELOW})?)"
_THOUSANDS = rf"(?:(?:{_HUNDREDS}|{_BELOW}|an?)[- ]thousand(?:(?:,? and |,? ){_HUNDREDS}|(?: and |[- ]){_BELOW})?)"
_WORD = re.compile(rf"\b(?:{_THOUSANDS}|{_HUNDREDS}|{_BELOW})\b", re.IGNORECASE)

_MARKER = re.compile(r"^[ \t*_#>-]*(?:final +)?answer *[*_]*[:=][ \t*_]*([^\s*_].*)$", re.IGNORECASE | re.MULTILINE)
_BOXED = re.compile(r"\\boxed\{([^{}]*)\}")

_VULGAR = re.compile("[¼-¾⅐-⅞↉]")
_SUPERSCRIPT = re.compile("[⁺⁻]?[⁰¹²³⁴-⁹]+")
_WIDE = str.maketrans("\uff0e\uff0c\uff05\uff04\uff0d\ufe6a\u066b\u066c", ".,%$-%.,")
_LONGEST_TEXT = 100_000
_LONGEST_NUMERAL = 300


def final_answer(text: str) -> str:
    r"""What a last line ``Answer: …`` or a ``\boxed{…}`` singles out, else the whole text.

    >>> final_answer("3 books at 28.32 each.\nAnswer: 84.96")
    '84.96'
    """
    if boxed := _BOXED.findall(text):
        return str(boxed[-1])
    if lines := _MARKER.findall(text):
        return str(lines[-1]).strip()
    return text


def numeral_at(text: str, position: int) -> tuple[Fraction | None, int] | None:
    """The unsigned digits with separators that begin there, and where they end; a value of None: too many of them.

    >>> numeral_at("1,234.5 m", 0)
    (Fraction(2469, 2), 7)
    """
    match = _NUMERAL.match(text, position)
    return None if match is None else (_value(match.group()), match.end())


def numeral_value(text: str) -> Fraction | None:
    """The value of a text that is nothing but digits with separators, else None.

    >>> [str(numeral_value(text)) for text in ("1,234.50", "1.234,50", "84,97", ".5", "1,23,4")]
    ['2469/2', '2469/2', '8497/100', '1/2', 'None']
    """
    return _value(text) if _NUMERAL.fullmatch(text) else None


def number_in_words(text: str) -> int | None:
    """The number that a whole text spells out, else None.

    >>> number_in_words("two hundred and five"), number_in_words("thirty-six"), number_in_words("six lamps")
    (205, 36, None)
    """
    found = _WORD.fullmatch(text)
    return None if found is None else int(_word(found).value)


@functools.lru_cache(maxsize=32)  # each rule asks again of the same answer and question
def numbers_in(text: str) -> tuple[NumberToken, ...]:
    """All numbers in ``text``, in order. Words (up to thousands) count only where there are no digits.

    >>> [str(token.value) for token in numbers_in("$1,234.50 for 2 1/2 kg of SKU-99")]
    ['2469/2', '5/2']
    """
    plain = mask_words(text[:_LONGEST_TEXT])
    tokens = []
    position = 0
    while match := _NUMERAL.search(plain, position):
        token, position = _token(plain, match)
        if token is not None:
            tokens.append(token)
    if not tokens and not any(character.isdigit() for character in text):
        tokens = [_word(match) for match in _WORD.finditer(plain)]
    return tuple(tokens)


@functools.lru_cache(maxsize=32)
def mask_words(text: str) -> str:
    """``text`` with ASCII digits, and without those of names, dates and versions; words stay."""
    return _OTHER.sub(_mask, _CODES.sub("$", _plain(text)))


def _plain(text: str) -> str:
    """Digits of all scripts as ASCII, ``½`` as `` 1/2``, superscripts as powers; the rest untouched."""
    if text.isascii():
        return text
    text = _VULGAR.sub(lambda match: " " + unicodedata.normalize("NFKC", match.group()).replace("\u2044", "/"), text)
    text = _SUPERSCRIPT.sub(
        lambda match: "^" + unicodedata.normalize("NFKC", match.group()).replace("\u2212", "-"), text.translate(_WIDE)
    )
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() and not c.isascii() else c for c in text)


def _mask(match: re.Match[str]) -> str:
    """Nothing a number could begin or end with; but what reads as a number after all stays."""
    text = match.group()
    word = match.group("word")
    stays = not any(map(str.isdigit, word)) if word else _POINTS.fullmatch(text)
    return text if stays else "¤"


def _token(text: str, match: re.Match[str]) -> tuple[NumberToken | None, int]:
    """The number that begins with a numeral, and where to look for the next one."""
    start, end = match.span()
    value = _value(match.group())
    if value is None:
        return None, end
    whole = value.denominator == 1
    if whole and (mixed := _MIXED.match(text, end)) and int(mixed.group(2)):
        value += Fraction(int(mixed.group(1)), int(mixed.group(2)))
        end = mixed.end()
    elif whole and (over := _OVER.match(text, end)) and int(over.group(1)):
        value /= int(over.group(1))
        end = over.end()
    if value and (raised := _RAISED.match(text, end)):
        value **= _exponent(raised.group(1), raised.group(2))
        end = raised.end()
    elif power := _POWER.match(text, end):
        sign, digits = power.group(1, 2) if power.group(2) else power.group(3, 4)
        value *= Fraction(10) ** _exponent(sign, digits)
        end = power.end()
    if scale := _SCALE.match(text, end):
        value *= 10 ** _SCALES[scale.group().strip().lower()]
        end = scale.end()
    if percent := _PERCENT.match(text, end):
        end = percent.end()
    sign_match = _SIGN.search(text, max(0, start - 3), start)
    if sign_match and sign_match.group(1) != "+":
        value = -value
        start = sign_match.start(1)
    return NumberToken(text[start:end].strip(), value, percent=percent is not None), end


def _exponent(sign: str, digits: str) -> int:
    return -int(digits) if sign in ("-", "\u2212") and sign else int(digits)


def _value(numeral: str) -> Fraction | None:
    """The value of digits with separators: several equal separators group, a single last one is the decimal one."""
    if len(numeral) > _LONGEST_NUMERAL:
        return None
    bare = re.sub("[ _'\u2019\u00a0\u2009\u202f]", "", numeral)
    if _POINTS.fullmatch(bare):
        bare = bare.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"\d{1,3}(?:,\d{2,3})*,\d{3}(?:\.\d+)?", bare):
        bare = bare.replace(",", "")
    else:
        bare = bare.replace(",", ".")
    return Fraction(bare)


def _word(match: re.Match[str]) -> NumberToken:
    thousands = part = 0
    for word in re.split(r"[-,\s]+", match.group().lower()):
        if word == "hundred":
            part *= 100
        elif word == "thousand":
            thousands, part = part * 1000, 0
        else:
            part += NUMBER_WORDS.get(word, 1 if word in ("a", "an") else 0)  # "and" is nothing
    return NumberToken(match.group(), Fraction(thousands + part))
