"""Comparing answers with references under the grading ``repaired``: one small rule per defect."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable, Sequence
from fractions import Fraction

from pytest_webarena.checks.upstream.account import is_under_another_label, is_undone, strays
from pytest_webarena.checks.upstream.arranged import is_misattributed, states_address, states_order
from pytest_webarena.checks.upstream.folding import abbreviated, fold, folded_reference
from pytest_webarena.checks.upstream.listed_names import is_ordinary, names_in, rival_name
from pytest_webarena.checks.upstream.measures import is_code, states_code, states_distance, states_pair, states_size
from pytest_webarena.checks.upstream.polarity import polarity_objection
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import OTHER
from pytest_webarena.checks.upstream.stated import alone, asserted_somewhere, states_name, states_whole
from pytest_webarena.checks.upstream.stated_numbers import is_number, number_objection
from pytest_webarena.checks.upstream.text import ALTERNATIVE, clean, equals, includes

__all__ = [
    "alternatives",
    "contains",
    "is_cased_code",
    "is_copy",
    "is_dump",
    "is_misattributed",
    "is_name",
    "is_short_word",
    "names_more",
    "plain",
    "same",
    "same_place_of_clone",
    "stands_alone",
]

_DISTANCE = re.compile(r"(?<=\d) (?=(?:km|mi|m)\b)")
_PLACES = re.compile(r"^where\b|\bwhere (?:is|are)\b|\bfull address\b|\broute\b")
"""Questions whose answers name more than they ask for: a street, a town."""
_NO_NAME = re.compile(r"[\W\d]+(?: ?k?m)?|yes|no|\d+x\d+|\S*[/@]\S*")
_LABEL = re.compile(r"(?m)^\W*(?:[A-Z][a-z]+ )?[A-Z][a-z]+:")
_TOKENS = tuple(map(re.compile, (r"[\w.+-]+@[\w-]+\.[\w.-]+", r"(?:[\w.]+/)?[a-z]\w*(?:[.-]\w+)+")))
"""What is a name by its form: e-mail addresses, repositories."""
_HEADER = re.compile(r"^.*\|.*\n(?=[ \t]*\|?[ \t:]*-{2,}[ \t:|-]*$)", re.MULTILINE)
"""The first row of a table names no things but columns."""
_PAIR = re.compile(r"\D+: \d+")
_DECLINED = re.compile(
    r"\W*(?:(?:answer|result|final answer|status)\W+)?(?:n/a(?!\w)|n\.a\.|(?:not (?:applicable|achievable)|unachievable"
    r"|infeasible)\b)"
)
_SSH = re.compile(r"(?<=ssh://git@)[^/\s]+(?=/)")
_QUOTES = str.maketrans(
    "\u2018\u2019\u201a\u201c\u201d\u201e\u2010\u2011\u2013\u2014\u2212",
    "'''\"\"\"-----",
)
LONGEST = 2000
"""Characters that an answer may have beyond ten times its reference."""
LONGEST_READ = 8_000
"""Characters of an answer that is read sentence by sentence."""
LONGEST_LIST = 8
"""Names to look for among which another one is one too many; who else belongs on longer lists is hard to tell."""
LONGEST_NAME = 6
"""Words of a reference that are looked at as a name; longer ones are quotations, in which anything may stand."""

Rules = Callable[[str], bool]
"""Whether a rule is in force."""


def is_short_word(text: str) -> bool:
    """Whether a cleaned reference is yes, no or a word of two letters.

    Longer ones may well be right as parts of others: dry in drying, top in tops.
    """
    return text == "yes" or re.fullmatch(r"[^\W\d]{1,2}", text) is not None


def alternatives(reference: str, rules: Rules) -> list[str]:
    """``string-alternatives``: what the reference offers to choose from."""
    return reference.split(ALTERNATIVE) if rules("string-alternatives") else [reference]


def plain(text: str) -> str:
    """``plain-text``: one Unicode form, plain quotes and dashes, single spaces, no space before the unit of a distance.

    >>> plain("It\u2019s  914 km \u2013  fine")
    "It's 914km - fine"
    """
    text = " ".join(unicodedata.normalize("NFKC", text).translate(_QUOTES).split())
    return _DISTANCE.sub("", text)


def _bare(text: str) -> str:
    return plain(clean(plain(text))).removesuffix(".").rstrip()


def is_copy(reference: str, answer: str) -> bool:
    """``equal-answers``: whether the answer is the reference, so that nobody has to be asked whether it means it.

    Markdown, accents and a closing full stop make no difference.

    >>> is_copy("It\u2019s fine", "*It's  fine.*"), is_copy("5 minutes", "five minutes"), is_copy("", "")
    (True, False, False)
    """
    if len(answer) > LONGEST_READ + 4 * len(reference):
        return False
    wanted, given = (folded_reference(each).rstrip(".").rstrip() for each in (reference, answer))
    return wanted == given != "" or _bare(reference) == _bare(answer) != ""


def is_cased_code(reference: str) -> bool:
    """``case-of-codes``: whether the reference is a token or a key, in which case makes a difference.

    >>> [is_cased_code(text) for text in ("glft_bBn9Z48qVb", "WSH09-29-White", "Acme", "HTMLElement")]
    [True, False, False, False]
    """
    text = reference.strip()
    return (
        re.fullmatch(r"\w{12,}", text, re.ASCII) is not None
        and re.search(r"[a-z][A-Z]\w*\d|\d\w*[a-z][A-Z]", text) is not None
    )


def stands_alone(word: str, text: str) -> bool:
    """``whole-words``: whether the word is no part of another one.

    >>> stands_alone("no", "nothing known"), stands_alone("no", "No, never".lower())
    (False, True)
    """
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def is_name(reference: str) -> bool:
    """``whole-words``: whether a folded reference is a word or a few, which have to stand by themselves."""
    return len(reference.split()) <= LONGEST_NAME and re.fullmatch(r"[a-z](?:.*[a-z])?", reference) is not None


def _is_word_of(name: str, text: str) -> bool:
    """Whether a name stands in folded ``text`` as words, which may have an ending: tops for top, drying for dry.

    User names may be longer than the reference by a word (four letters).
    What is longer than a name, or begins or ends otherwise than with a letter, may be a part of anything.
    """
    if not is_name(name) or name not in text:
        return True
    return re.search(rf"(?<![a-z]){re.escape(name)}(?:'?s|es|e?d|ing|ly|[a-z]{{4,}})?(?![a-z])", text) is not None


def is_dump(references: tuple[str, ...], answer: str) -> str:
    """``shotgun``: why the answer is none, if it is a whole page; empty when it isn't.

    >>> is_dump(("yes",), "yes"), is_dump(("yes",), "yes " * 600)
    ('', '2,399 characters are no answer but a dump')
    """
    length = len(clean(answer))
    if length <= LONGEST + 10 * sum(map(len, references)):
        return ""
    return f"{length:,} characters are no answer but a dump"


def names_more(references: tuple[str, ...], answer: str, question: Question) -> str:
    """``shotgun``: a name beside the references, in a list of them; empty when there is none.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> names_more(("Ann", "Bob"), "Ann, Bob and Eve liked it", question_of("Which customers liked it?"))
    'eve liked it'
    """
    wanted = [folded_reference(each) for each in references]
    if rival := _rival_token(wanted, fold(answer)):
        return rival
    if (
        len(wanted) > LONGEST_LIST
        or _PLACES.search(question.text)
        or "sentences" in question.text
        or any(_NO_NAME.fullmatch(each) for each in wanted)
    ):
        return _more_bullets(wanted, answer)
    small = any(each.islower() for each in references)
    text = fold(_HEADER.sub("", answer))
    text = text if small else abbreviated(text)  # hyphens are parts of names in small letters
    last = text.splitlines()[-1] if text else ""
    if _CONCLUSION.match(last) and all(abbreviated(each) in last for each in wanted):
        text = last
    for each in sorted(wanted if small else map(abbreviated, wanted), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(each)}", OTHER, text)
    return rival_name(text, names_in(answer), question, small=small) or _more_bullets(wanted, answer)


_CONCLUSION = re.compile(r"(?:so|therefore|thus|hence|(?:the |my |final )*answer|in (?:short|conclusion|summary))\b")
"""How a last line begins that says what counts of all that stands before."""
_ITEM = re.compile(r"^[ \t]*(?:[-*+\u2022]|\d{1,2}[.)])[ \t]+(?P<item>\S.*)$", re.MULTILINE)
_LABELLED = re.compile(r"[^:]{1,30}: ")


def _more_bullets(wanted: Sequence[str], answer: str) -> str:
    """An item of a list whose other items begin with the references; empty when there is none."""
    items = [abbreviated(fold(match["item"])) for match in _ITEM.finditer(answer)]
    names = [abbreviated(each) for each in wanted if re.search(r"[a-z]", each)]
    if (
        not names
        or len(names) > LONGEST_LIST
        or not all(any(item.startswith(name) for item in items) for name in names)
    ):
        return ""
    return next((item for item in items if not any(name in item for name in names) and not _LABELLED.match(item)), "")


def _rival_token(wanted: Sequence[str], text: str) -> str:
    """Another e-mail address, page or repository beside those asked for; empty when there is none."""
    for kind in _TOKENS:
        asked = {each for each in wanted if kind.fullmatch(each)}
        if len(asked) == len(wanted) or (len(asked) == 1 and "@" in next(iter(asked))):
            said = {re.split(r"[/](?!f/|.*/f/)", each.rstrip("./"))[-1] for each in kind.findall(text)}
            return next(iter(sorted(each for each in said if each not in asked)), "")
    return ""


def declines(answer: str, reference: str = "") -> bool:
    """Whether the answer begins by declaring that there is none; what it says then is none either.

    >>> [declines(text) for text in ("N/A: 36.39", "**N/A** - Acme", "36.39, N/A for tax")]
    [True, True, False]
    """
    return _DECLINED.match(fold(answer)) is not None and _DECLINED.match(fold(reference)) is None


@functools.lru_cache(maxsize=512)
def _is_disowned(answer: str, references: tuple[str, ...], question: Question) -> bool:
    """Whether the answer as a whole takes back, or says of something else, what stands in it."""
    return declines(answer, references[0]) or _is_undone_or_strays(answer, tuple(sorted(references)), question)


@functools.lru_cache(maxsize=64)
def _is_undone_or_strays(answer: str, references: tuple[str, ...], question: Question) -> bool:
    """The same for each of a task's references, and for several rules."""
    return (
        is_undone(answer, references, question)
        or strays(answer, references, question, names_in(answer))
        or is_under_another_label(answer, references, question)
    )


def same_place_of_clone(reference: str, answer: str) -> tuple[str, str]:
    """``site-hosts``: both without the host of an SSH address, where the reference has one."""
    if not _SSH.search(reference):
        return reference, answer
    answer = re.sub(r"\bgit@([^:/\s]+):(?!\d+/)(?=\S)", r"ssh://git@\1/", answer)
    place = _SSH.search(answer)
    if place and place[0].split(":")[0] == _SSH.search(reference)[0].split(":")[0]:  # type: ignore[index]
        return reference, answer  # the authors' own host: with its port
    return _SSH.sub("host", reference), _SSH.sub("host", answer)


def same(reference: str, answer: str, rules: Rules, question: Question) -> bool:
    """``exact_match`` as repaired."""
    if rules("case-of-codes") and is_cased_code(reference) and reference.strip() not in answer:
        return False
    if not is_readable(answer) or _is_disowned(answer, tuple(alternatives(reference, rules)), question):
        return any(equals(each, answer) for each in alternatives(reference, rules))
    for each in alternatives(reference, rules):
        wanted, given = same_place_of_clone(each, answer) if rules("site-hosts") else (each, answer)
        if equals(wanted, given) or (rules("plain-text") and equals(_bare(wanted), _bare(given))):
            return True
        if rules("number-values") and _same_number(clean(_bare(wanted)), clean(_bare(given))):
            return True
        if rules("written-forms") and _same_in_other_form(folded_reference(wanted), given, question):
            return True
        if rules("whole-sentences") and _says(folded_reference(wanted), given, question, loose=rules("number-values")):
            return True
    return False


def _same_in_other_form(wanted: str, answer: str, question: Question) -> bool:
    """``written-forms`` for exact answers: distances, telephone numbers and postal codes, wherever they stand."""
    if (distance := states_distance(wanted, answer, question)) is not None:
        return distance
    return is_code(wanted) and states_code(wanted, answer)


def _says(wanted: str, answer: str, question: Question, *, loose: bool) -> bool:
    """``whole-sentences``: whether a sentence gives the exact answer."""
    if wanted in ("yes", "no"):
        return not polarity_objection(wanted, answer, question)
    if (distance := states_distance(wanted, answer, question)) is not None:
        return distance
    if is_code(wanted):
        return states_code(wanted, answer)
    if is_number(wanted):
        return not number_objection(wanted, answer, question, loose=loose)
    if states_address(wanted, answer):
        known = set(re.findall(r"\w+", wanted))
        names = names_in(_LABEL.sub("", answer))
        return all(word in known or is_ordinary(word, question) for word in names)  # no other address
    return states_whole(wanted, answer, question)


def is_readable(answer: str) -> bool:
    """Whether an answer is short enough to be read; of longer ones it is only known whether they have the reference."""
    return len(answer) <= LONGEST_READ


def contains(
    reference: str, answer: str, rules: Rules, question: Question, others: tuple[str, ...] = (), *, tokens: bool
) -> bool:
    """``must_include`` as repaired. ``others`` are what else has to be included."""
    if not is_readable(answer):
        return any(
            includes(each, answer, tokens=tokens and len(clean(each)) == 1) for each in alternatives(reference, rules)
        )
    rest = tuple(map(folded_reference, others))
    choices = alternatives(reference, rules)
    numbers = tuple(filter(is_number, choices))
    return any(
        _contains(
            each,
            answer,
            rules,
            question,
            rest,
            numbers,
            tokens=tokens and len(clean(each)) == 1,
            loosened=len(choices) > 1,
        )
        for each in choices
    )


def _contains(
    reference: str,
    answer: str,
    rules: Rules,
    question: Question,
    others: tuple[str, ...],
    choices: tuple[str, ...],
    *,
    tokens: bool,
    loosened: bool,
) -> bool:
    """``loosened``: the original doesn't look for this reference, so that what speaks against it counts anyway."""
    if includes(reference, answer, tokens=tokens):
        objection = _objection(reference, answer, question, others, choices)
        if not objection or not (loosened or rules(objection)):
            return True
    wanted = folded_reference(reference)
    if _is_disowned(answer, (reference, *others), question):
        return False
    if is_number(wanted):
        return rules("number-values") and not number_objection(wanted, answer, question, others, choices, loose=True)
    if rules("plain-text") and includes(plain(reference), plain(answer), tokens=tokens):
        return not (
            _objection(reference, answer, question, others, choices)
            or _objection(plain(reference), plain(answer), question, others, choices)
        )
    return rules("written-forms") and _contains_in_other_form(wanted, answer, question, others)


def _contains_in_other_form(wanted: str, answer: str, question: Question, others: tuple[str, ...]) -> bool:
    """``written-forms`` for what has to be included."""
    if (distance := states_distance(wanted, answer, question)) is not None:
        return distance
    if wanted in ("yes", "no"):
        return not polarity_objection(wanted, answer, question)
    if is_short_word(wanted):
        return False
    return (
        states_name(wanted, answer, question, others)
        or states_pair(wanted, answer, question)
        or states_size(wanted, answer) is True
        or states_order(wanted, answer)
        or states_address(wanted, answer)
    )


def _objection(
    reference: str, answer: str, question: Question, others: tuple[str, ...], choices: tuple[str, ...]
) -> str:
    """The tightening rule by which an answer that contains the reference does not give it; empty when none does."""
    wanted, text = folded_reference(reference), fold(answer)
    if _is_disowned(answer, (reference, *others), question):
        return "asserted"
    if is_number(wanted):
        return number_objection(wanted, answer, question, others, choices, loose=False)
    if states_distance(wanted, answer, question) is False or states_size(wanted, answer) is False:
        return "whole-numbers"
    if _PAIR.fullmatch(wanted) and not re.search(rf"{re.escape(wanted)}(?![\w%]|[.,]\d| ?[%-]\d)", text):
        return "whole-numbers"
    if not stands_alone(wanted, text) and (is_short_word(wanted) or not _is_word_of(wanted, text)):
        return "whole-words"
    if wanted in ("yes", "no"):
        return polarity_objection(wanted, answer, question)
    said = text if len(wanted.split()) <= LONGEST_NAME else alone(wanted, text)
    if said and asserted_somewhere(wanted, said, question, others, names_in(answer)) is False:
        return "asserted"
    return ""


def _value(number: str) -> Fraction:
    return Fraction(number.replace(",", ""))


def _same_number(one: str, other: str) -> bool:
    """By value, unless it is a code, whose zeros count (06516)."""
    if not (is_number(one) and is_number(other)) or (len(one) > 1 and one.startswith("0")):
        return False
    return _value(one) == _value(other)
