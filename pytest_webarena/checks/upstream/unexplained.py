"""What an answer says beyond its question, its reference and the words that say nothing of their own.

The rules of ``repaired`` read sentences that they know the like of. What is left over here may turn the meaning of the
rest, so that nobody can vouch for the verdict: `doubt` says so.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_webarena.checks.upstream.completeness import (
    CONTRARY,
    NUMBER,
    TOKEN,
    WORD,
    choices_of,
    is_among,
    is_complete,
    says_contrary,
    value_of,
    values_of,
)
from pytest_webarena.checks.upstream.folding import (
    FUNCTION_WORDS,
    abbreviated,
    content_words,
    fold,
    stem,
)
from pytest_webarena.checks.upstream.listed_names import names_in
from pytest_webarena.checks.upstream.plain_words import PLAIN_WORDS
from pytest_webarena.checks.upstream.polarity import is_implied
from pytest_webarena.checks.upstream.quantities import figures
from pytest_webarena.checks.upstream.scope import MONTH, Question, of_another_time
from pytest_webarena.checks.upstream.stance import MARK, is_refusal

__all__ = ["MEASURES", "TURNS", "Unexplained", "doubt", "known_words", "unexplained"]

TURNS = frozenset(
    """
    but while whereas however though although only not never other others another instead rather than except
    if unless again second third fourth more less before after no none nobody nothing neither nor either or too
    despite excluding until without
    """.split()  # noqa: SIM905 - a list is no easier to read
)
"""Words by which a sentence takes another direction, or brings in another thing."""
MEASURES = frozenset(
    """
    each every both per apiece respectively half double twice times dozen dozens hundred hundreds thousand thousands
    average averages averaged mean median difference differences discount discounts discounted tax taxes fee fees
    refund refunds refunded savings saved percent percentage rate ratio share minimum maximum
    """.split()  # noqa: SIM905 - a list is no easier to read
)
"""What a number can be of, or be multiplied by: what is of another measure than the question asks for is no answer."""
_SUMS = frozenset({"sum", "sums", "summed", "total", "totals", "totaled", "totalled", "altogether", "combined"})
"""The same where the question asks for another measure; elsewhere "how much" asks for a sum."""
_OF_NONE = frozenset({"no", "not", "none", "nobody", "nothing", "never", "without", "more", "than"})
"""Turns that an answer needs where the question denies something, or where there is none."""
_OPPOSING = frozenset(
    {"not", "or", "either", "neither", "none", "never", "instead", "but", "while", "whereas", "except"}
)
"""Turns that speak against what is next to them; by the others alone no answer fails for sure."""
_RANKS = {"second": 2, "third": 3, "fourth": 4}

_SENTENCE = re.compile(r"(?<=[^\s.][^\s.])[.!?](?=\s|$)|;\s|\n")
_TOLD = re.compile(
    r"(?:(?:first|then|next|so|and|after that|to [^,]{3,60}),? )?(?:i|we)(?:'ve| have|)(?: then| also| just|)"
    r" (?:opened|went|looked|look|checked|searched|found|filtered|sorted|counted|summed|read|compared|clicked|used|set"
    r"|see|got|measured|scrolled|asked|selected|picked|visited|identified|started|took|entered|ran|grouped|calculated"
    r"|computed|added up)\b"
    r"|(?:let me know|thank|thanks|hope|happy to|feel free|please let|hi\b|hello|sure\b|done\b)"
)
"""How a sentence begins that tells what was done, or is polite."""
_TURNED = re.compile(r"\b(?:but|not|no|while|whereas|however|only)\b|n't\b")
_DATE = re.compile(
    r"\d{4}-\d{1,2}(?:-\d{1,2})?|(?<![\d.,/])\d{1,2}/\d{1,4}(?:/\d{2,4})?(?![\d/])"
    rf"|\b\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{MONTH}(?:,? (?:19|20)\d\d\b)?"
    rf"|\b{MONTH} ?\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? (?:19|20)\d\d\b)?|\b{MONTH},? (?:of )?(?:(?:19|20)|')\d\d\b"
    rf"|\b{MONTH}"
)
_DETAIL = re.compile(r"\b(?:out )?of (?:all |the |these )*\d[\d,]*(?![\d.])|/ ?(?:5|100)\b|#?\b0\d{4,}\b")
"""Numbers of a whole, of a scale, of an order: they answer nothing."""
_QUANTITY = re.compile(r"-?[\d.,]+ ?(?:k?m)?")
_PLACE = re.compile(r"\bwhere\b|\baddress\b|\bclosest\b|\bnearest\b|\bhow (?:far|long)\b|\bdistance\b|\bnear\b")
_POSTCODE = re.compile(r"(?<!\d)\d{5}(?!\d)")
_DISTANCE = re.compile(r"[\d.]+ ?k?m")
_DURATION = re.compile(r"\b\d+(?:\.\d+)? ?(?:min(?:ute)?s?|hours?|h|mi|miles?)\b")
_PHONE = re.compile(r"\+?[\d() -]{7,24}\d")
_RANK = re.compile(r"\b(\d+)(?:st|nd|rd|th)\b")
_COUNTED_OFF = re.compile(r"(?m)^#?\d\.?$|#\d|step")
_NUMBERING = re.compile(r"\bno\.? ?(?=#?\d)|\bafter (?=[a-z]+ing\b)")
"""Words that are turns elsewhere."""
_HEADER = re.compile(r"^.*\|.*\n(?=[ \t]*\|?[ \t:]*-{2,}[ \t:|-]*$)", re.MULTILINE)
"""The first row of a table names columns."""
_PROPER = re.compile(r"(?:[A-Z][a-z]+ (?:of )?)+[A-Z][a-z]+")
_BELONGING = tuple(
    (re.compile(asked), frozenset(map(stem, words.split())))
    for asked, words in (
        (r"coordinates", "latitude longitude lat lon long lng decimal degrees north west"),
        (r"\bzip\b|postal", "zip postal code postcode"),
        (r"\bwhere\b|\baddress\b|\bzip\b", "usa pa county city"),
        (r"\bspen[dt]\b|refund|\bcost|amount", "pay paid spent total"),
        (r"price", "minimum maximum"),
    )
)
"""Words that belong to what is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unexplained:
    """What is left over of one answer, each once, in its order."""

    words: tuple[str, ...]
    names: tuple[str, ...]
    """Words with a capital; the first of a sentence too, unless it looks like a verb or an adverb."""
    numbers: tuple[str, ...]
    turns: tuple[str, ...]
    """Words by which a sentence takes another direction: but, only, not, if."""
    measures: tuple[str, ...]
    """Words for what a number is of, or is multiplied by, that the question does not ask for: average, each, dozen."""
    complete: bool
    """Whether all that is asked for stands somewhere in the answer, in whatever order and form: the numbers, rounded
    too, and the words that the question does not say itself."""
    denied: bool
    """Whether it is denied, doubted or one of a choice, as far as single words tell; or the contrary of yes or no is
    said."""
    rivals: bool
    """Whether a number is asked for, and there is another one."""
    last: bool
    """Whether the last number, and not the first, is one that is asked for: what was said to come to it."""


def doubt(answer: str, references: Sequence[str], question: Question, *, holds: bool, original: bool) -> str:
    """Why nobody can vouch for what the rules say of an answer; empty when they can.

    ``original``: whether the published harness passes it. A single word that is not explained is too many: it may
    make another sentence of it ("346 reviews still wait to be approved" of "346 reviews are approved").

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("How many reviews are pending?")
    >>> doubt("There are 5 pending reviews.", ["5"], asked, holds=True, original=True)
    ''
    >>> doubt("5, but those of Ann are old", ["5"], asked, holds=True, original=True)
    "it says more than the rules can vouch for: 'ann', 'but', 'old'"
    """
    left = unexplained(answer, references, question)
    if holds:
        if not original and CONTRARY.keys() & {fold(each) for each in references} and is_implied(answer, question):
            return "yes or no is not said, and only follows from what is said of time or reach"
        more = (*left.names, *left.numbers, *left.turns, *left.measures, *left.words)
        told = ", ".join(f"'{each}'" for each in more[:4])
        return f"it says more than the rules can vouch for: {told}" if more else ""
    another = left.rivals or (original and left.names and left.words)
    if not left.complete or left.denied or (another and not left.last):
        return ""  # it lacks something, speaks against it, or gives another value
    return "all that is asked for stands in it, and nothing that the rules could hold against it for sure"


LONGEST_NAME = 8
"""Words of a name of which only the initials are known."""
MOST_NAMES = 50
"""Words with a capital, one after the other, in which such names are looked for."""


def known_words(references: Sequence[str], question: Question) -> frozenset[str]:
    """Stems of what the question and the references say, and of what belongs to it."""
    flat = [each for reference in references for each in choices_of(reference)]
    known = question.words | content_words(flat)
    known |= {stem(word) for text in (*flat, abbreviated(question.text)) for word in WORD.findall(text)}
    for asked, words in _BELONGING:
        if asked.search(question.text):
            known |= words
    return known


def unexplained(
    answer: str, references: Sequence[str], question: Question, plain: frozenset[str] = PLAIN_WORDS
) -> Unexplained:
    """What is left over of an answer."""
    answer = _HEADER.sub("", answer)
    text = figures(abbreviated(fold(answer)))
    wanted = [choices_of(reference) for reference in references]
    reading = _Reading(answer, text, wanted, known_words(references, question), question, plain)
    for sentence in _SENTENCE.split(text):
        reading.read(sentence)
    numbers = list(map(value_of, reading.numbers))
    if len(numbers) > 2 and sum(numbers) in reading.asked:
        reading.numbers.clear()  # what the answer was added up from
    turns = tuple(dict.fromkeys(reading.turns))
    given = [token for token in TOKEN.findall(text) if token[0].isdigit()]
    asked = [number for choices in wanted for each in choices for number in NUMBER.findall(each)]
    return Unexplained(
        words=tuple(dict.fromkeys(reading.words)),
        names=tuple(dict.fromkeys(reading.names)),
        numbers=tuple(dict.fromkeys(reading.numbers)),
        turns=turns,
        measures=tuple(dict.fromkeys(reading.measures)),
        complete=is_complete(text, references, question),
        denied=is_refusal(text) or any(_denies(turn) for turn in turns) or says_contrary(answer, wanted, question),
        rivals=any(not is_among(each, asked) for each in reading.numbers)
        and all(_QUANTITY.fullmatch(each) for choices in wanted for each in choices),
        last=len(given) > 1 and is_among(given[-1], asked) and not is_among(given[0], asked),
    )


class _Reading:
    """Goes through the sentences of one answer and keeps what is left over."""

    def __init__(
        self,
        answer: str,
        text: str,
        wanted: Sequence[Sequence[str]],
        known: frozenset[str],
        question: Question,
        plain: frozenset[str],
    ) -> None:
        flat = [each for choices in wanted for each in choices]
        self.question = question
        self.count = len(wanted)
        self.known = known | _short_for(answer, known)
        self.plain = plain | FUNCTION_WORDS
        self.capital = names_in(answer)
        self.texts = sorted((each for each in flat if not NUMBER.fullmatch(each.lstrip("-"))), key=len, reverse=True)
        self.said = {word for each in flat for word in each.split()} | set(question.text.split())
        self.digits = {re.sub(r"\D", "", each) for each in flat}
        self.asked = {value for each in flat for value in values_of(each)}
        self.long = [value for each in flat for value in values_of(each) if re.search(r"\d\.\d{3}", each)]
        self.distance = any(_DISTANCE.fullmatch(each) for each in flat)
        self.values = self.asked | values_of(question.text) | question.numbers | {Fraction(self.count)}
        if self.distance:
            self.values |= {value * 1000 for value in self.asked} | {value / 1000 for value in self.asked}
        if self.count > 1 and _COUNTED_OFF.search(text):
            self.values |= {Fraction(number) for number in range(1, self.count + 1)}
        self.of_none = bool(question.negated) or any(each in ("0", "no", "0.0", "0.00") for each in flat)
        self.short = 2 if _PLACE.search(question.text) else 1  # states
        self.words: list[str] = []
        self.names: list[str] = []
        self.numbers: list[str] = []
        self.turns: list[str] = []
        self.measures: list[str] = []
        self.dated = any(map(_DATE.search, flat))
        """Whether a date is asked for, so that another one is no detail."""
        asked = set(WORD.findall(_asking(question.text)))
        sums = _SUMS if asked & MEASURES else frozenset()
        self.other_measures = (MEASURES | sums) - asked - {word for each in flat for word in each.split()}

    def read(self, sentence: str) -> None:
        told = _TOLD.match(sentence.strip()) is not None and not _TURNED.search(sentence)
        sentence = self._without_details(sentence)
        tokens = TOKEN.findall(sentence)
        for place, token in enumerate(tokens):
            if token in self.other_measures:
                self.measures.append(token)
            if token[0].isdigit():
                if not self._is_known(token):
                    self.numbers.append(token)
            elif token in TURNS or token.endswith("n't"):
                if not self._is_needed(token):
                    self.turns.append(token)
            elif len(token) <= self.short or token in self.plain or stem(token) in self.known:
                continue
            elif token in self.capital and not (told and place == 0) and self._may_name(token, place, tokens):
                self.names.append(token)
            elif not told:
                self.words.append(token)

    @staticmethod
    def _may_name(token: str, place: int, tokens: Sequence[str]) -> bool:
        """Whether a word with a capital may be a name: sentences begin with other words too."""
        return place > 0 or len(tokens) < 4 or not token.endswith(("ing", "ed", "ly"))

    def _without_details(self, sentence: str) -> str:
        """Without the references, and without numbers that answer nothing: dates, totals, postcodes, durations."""
        of_its_time = not (self.question.months or self.question.years) or not of_another_time(sentence, self.question)
        for each in self.texts:
            sentence = re.sub(rf"(?<![a-z0-9]){re.escape(each)}(?![a-z0-9])", f" {MARK} ", sentence)
        if of_its_time and not self.dated:
            sentence = _DATE.sub(" ", sentence)
        sentence = _NUMBERING.sub(" ", _DETAIL.sub(" ", sentence))
        if _PLACE.search(self.question.text) and not any(len(each) == 5 for each in self.digits):
            sentence = _POSTCODE.sub(" ", sentence)
        if self.distance:
            sentence = _DURATION.sub(" ", sentence)
        for phone in _PHONE.findall(sentence):
            if re.sub(r"\D", "", phone)[-10:] in self.digits:
                sentence = sentence.replace(phone, " ")
        return _RANK.sub(
            lambda match: " " if int(match[1]) <= self.count or int(match[1]) in self.values else match[0], sentence
        )

    def _is_known(self, number: str) -> bool:
        value = value_of(number)
        return (
            value in self.values
            or any(abs(value - each) < Fraction(6, 1000) for each in self.long)
            or number.lstrip("0") in {each.lstrip("0") for each in self.digits if each}
        )

    def _is_needed(self, turn: str) -> bool:
        """Whether it stands in the question or the reference, or in any answer of that kind."""
        if turn in self.said or (self.of_none and (turn in _OF_NONE or turn.endswith("n't"))):
            return True
        return turn in _RANKS and _RANKS[turn] <= self.count


def _asking(question: str) -> str:
    """A question without what is told after it."""
    return question[: question.rindex("?")] if "?" in question else question


def _short_for(answer: str, known: frozenset[str]) -> frozenset[str]:
    """The words of a name whose initials are known: Massachusetts Institute of Technology, for MIT."""
    runs: Iterator[list[str]] = (match[0].split()[:MOST_NAMES] for match in _PROPER.finditer(answer))
    return frozenset(
        stem(fold(word))
        for run in runs
        for start, end in itertools.product(range(len(run)), range(len(run) + 1))
        if 2 <= end - start <= LONGEST_NAME
        and "".join(word[0] for word in run[start:end] if word[0].isupper()).lower() in known
        for word in run[start:end]
    )


def _denies(turn: str) -> bool:
    return turn in _OPPOSING or turn.endswith("n't")
