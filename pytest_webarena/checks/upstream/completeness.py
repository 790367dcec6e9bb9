"""Whether what is asked for stands in an answer, in whatever order and form, and whether its contrary does."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from fractions import Fraction

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, abbreviated, fold, folded_reference, stem
from pytest_webarena.checks.upstream.listed_names import names_in
from pytest_webarena.checks.upstream.polarity import polarity_objection
from pytest_webarena.checks.upstream.quantities import figures
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.text import ALTERNATIVE

__all__ = ["CONTRARY", "NUMBER", "TOKEN", "WORD", "choices_of", "is_among", "is_complete", "says_contrary", "value_of",
           "values_of"]  # fmt: skip

TOKEN = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?|[a-z]+(?:'[a-z]+)?")
NUMBER = re.compile(r"\d(?:[\d,]*\d)?(?:\.\d+)?")
WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_IN_WORDS = {
    "0": frozenset({"no", "not", "none", "never", "nothing", "nobody"}),
    "1": frozenset({"one", "single", "once"}),
}
"""How numbers are said without a number."""
CONTRARY = {"yes": "no", "no": "yes"}
_IMPLIED = frozenset({"km", "m", "yes", "no"})
"""Words of references that answers may leave out, or say otherwise."""


def choices_of(reference: str) -> list[str]:
    return [abbreviated(folded_reference(each)) for each in reference.split(ALTERNATIVE)]


def value_of(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))


def values_of(text: str) -> set[Fraction]:
    return set(map(value_of, NUMBER.findall(text)))


def says_contrary(answer: str, wanted: Sequence[Sequence[str]], question: Question) -> bool:
    """Whether yes is wanted and no is said, in whatever words, or the other way round."""
    said = set(WORD.findall(fold(answer)))
    contrary = [CONTRARY[each] for choices in wanted for each in choices if each in CONTRARY]
    return any(each in said or not polarity_objection(each, answer, question) for each in contrary)


def is_complete(text: str, references: Sequence[str], question: Question) -> bool:
    tokens = TOKEN.findall(text)
    stems = {stem(token) for token in tokens}
    given = [token for token in tokens if token[0].isdigit()]

    def stands(choice: str) -> bool:
        return all(
            _is_given(token, given, stems) if token[0].isdigit() else stem(token) in stems
            for token in _own(choice, question)
        )

    return all(any(map(stands, reference.split(ALTERNATIVE))) for reference in references)


def _own(reference: str, question: Question) -> list[str]:
    """The numbers of a reference and those of its words that the question does not say: of several names, only these.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> _own("The order is Ann Lee, Bob", question_of("In which order came Ann and Bob?"))
    ['lee']
    """
    asked = [token for token in TOKEN.findall(figures(choices_of(reference)[0])) if token not in _IMPLIED]
    names = names_in(reference) - FUNCTION_WORDS
    if len(names) > 1:
        asked = [token for token in asked if token[0].isdigit() or token in names]
    new = [token for token in asked if token[0].isdigit() or stem(token) not in question.words]
    return new or [token for token in asked if asked.count(token) == 1] or asked


def _is_given(asked: str, given: Sequence[str], stems: Collection[str]) -> bool:
    """Whether a number stands among others, or in a word."""
    return any(is_among(each, [asked]) for each in given) or any(word in stems for word in _IN_WORDS.get(asked, ()))


def is_among(number: str, asked: Sequence[str]) -> bool:
    """Whether it is one of those asked for, or one of them rounded or with further decimals.

    >>> [is_among(each, ["359.546"]) for each in ("359.55", "359.5469", "359.54", "359", "360")]
    [True, True, False, False, False]
    """
    for each in asked:
        fewer = min(_decimals(number), _decimals(each))
        step = Fraction(1, 10**fewer) if _decimals(number) > fewer else Fraction(1, 2 * 10**fewer)
        apart = abs(value_of(number) - value_of(each))
        if apart == 0 or (fewer and (apart < step or 2 * apart == 2 * step)):
            return True
    return False


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])
