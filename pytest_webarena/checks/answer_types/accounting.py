"""Decides which words of an answer are accounted for: by the question, by the value, or because they claim nothing."""

from __future__ import annotations

import calendar
import functools
import itertools
import re
from collections.abc import Collection, Iterable, Sequence

from pytest_webarena.checks.answer_types.amounts import amounts_in
from pytest_webarena.checks.answer_types.dates import dates_in
from pytest_webarena.checks.answer_types.tokens import Token, tokens

__all__ = [
    "LABELS",
    "NEGATIONS",
    "NEUTRAL_GROUPS",
    "alike",
    "counts",
    "denials",
    "is_content",
    "is_negation",
    "is_neutral",
    "unaccounted",
]

NEUTRAL_GROUPS = {
    "pronouns": """
        a an the this that these those it its they them their he his she her i me my we our you your
        it's that's there's here's he's she's they're you're i've you've we've i'm
        """,
    "question words": "who whom whose which what where when there here",
    "auxiliary verbs": "am is are was were be been being has have had having do does did done can",
    "verbs of giving": "make makes made get gets got give gives gave given say says said come comes came adds add",
    "verbs of finding": "found find shows show shown showing showed displayed displays displaying see seen",
    "verbs of naming": "listed lists list following follows namely called named name names titled title",
    "prepositions": "of in on at for to from by with within into onto as and both all so then since also",
    "words for the answer": """
        answer final result results response total altogether overall exactly precisely number count amount
        question requested asked according based information details data
        """,
    "politeness": "please sure certainly",
}
"""Words that claim nothing of their own, whatever they stand next to."""

_NEUTRAL = frozenset(word for group in NEUTRAL_GROUPS.values() for word in group.split())

NEGATIONS = frozenset("no not none never nothing neither nor without cannot nobody nowhere empty zero lacks".split())  # noqa: SIM905

_TURNING = NEGATIONS | frozenset(
    """
    except excluding other others another instead rather unlike but only just less more fewer than about around
    approximately almost nearly or if before after until unless first last next previous
    """.split()  # noqa: SIM905
)
"""Words that change what the next word says: the question accounts for them only together with that word."""

_ENDINGS = re.compile(r"(?:'s|ations?|ments?|ings?|ied|ies|ees?|ers?|ors?|ed|es|e|s|y)\Z")


def unaccounted(
    answer: Sequence[Token],
    stated: Collection[int],
    question: str,
    *,
    also: Iterable[str] = (),
    negated: bool = False,
    counted: int = 0,
) -> list[str]:
    """Returns the words of an answer that nothing accounts for.

    Args:
        answer: tokens of the answer.
        stated: indices of the tokens that state the wanted value.
        question: what the agent was asked.
        also: other words that are accounted for, such as a unit.
        negated: whether the wanted value is an absence, which words of negation state.
        counted: how many values are wanted, which the answer may say.
    """
    asked = _Question.of(question)
    dated = {place for readings, *span in dates_in(answer) if readings & asked.dates for place in range(*span)}
    first = min(stated, default=0)
    counted_by = {
        place
        for amount in amounts_in(answer)
        if not amount.unit
        and (amount.value in asked.numbers or (counted and amount.value == counted and amount.start < first))
        for place in range(amount.start, amount.end)
    }
    options = asked.options({answer[index].plain for index in stated})
    extra = frozenset(word.casefold() for text in also for word in text.split())
    found = []
    for index, token in enumerate(answer):
        if (
            index in stated
            or index in dated
            or index in counted_by
            or token.plain in extra
            or (negated and index > min(stated, default=0) and is_negation(token.plain))
        ):
            continue
        following = answer[index + 1] if index + 1 < len(answer) else None
        denied = any(is_negation(before.plain) for before in answer[max(index - 2, 0) : index])
        refused = token.plain in options or not asked.accounts_for(token, following)
        if refused or (not denied and stem(token.plain) in asked.denied):
            found.append(token.text)
    return found


def is_negation(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")


def denials(answer: Sequence[Token], question: str) -> list[int]:
    """Returns the indices of words of negation that do not repeat the question."""
    asked = _Question.of(question)
    pairs = enumerate(itertools.zip_longest(answer, answer[1:]))
    return [index for index, pair in pairs if is_negation(pair[0].plain) and not asked.accounts_for(*pair)]


def is_neutral(token: Token) -> bool:
    """Whether a token claims nothing of its own."""
    return token.plain in _NEUTRAL


LABELS = frozenset({"number", "page", "count"})
"""Words that claim nothing of their own, but may have a number as their label."""


def is_content(token: Token) -> bool:
    """Whether a token is a word that claims something."""
    return token.text[:1].isalpha() and (token.plain not in _NEUTRAL or token.plain in LABELS)


_COUNTED = re.compile(r"\b(?:how many|(?:number|count|total|amount)s? of)\s+((?:[\w'-]+\s*){1,5})", re.IGNORECASE)


@functools.lru_cache(maxsize=64)
def _counted(question: str) -> frozenset[str]:
    return frozenset(stem(token.plain) for part in _COUNTED.findall(question) for token in tokens(part))


def counts(question: str, token: Token) -> bool:
    """Whether a question asks for the number of what a token names.

    >>> [counts("How many open issues has the first page?", Token(word)) for word in ("issues", "page")]
    [True, False]
    """
    return any(alike(stem(token.plain), known) for known in _counted(question))


class _Question:
    """The words of a question."""

    def __init__(self, text: str) -> None:
        words = tokens(text)
        choices = {place for index, word in enumerate(words) if word.plain == "or" for place in (index - 1, index + 1)}
        # What the question offers as a choice is a claim when an answer repeats it.
        kept = [word for index, word in enumerate(words) if index not in choices and word.text != "?"]
        self.exact = frozenset(word.plain for word in kept)
        self.stems = frozenset(stem(word.plain) for word in kept if not word.has_digit)
        self.dates = frozenset(reading for readings, *_ in dates_in(words) for reading in readings)
        self.numbers = frozenset(
            amount.value for amount in amounts_in(words) if not amount.unit and words[amount.start].has_digit
        )
        self.clauses: list[list[str]] = []
        for word in words:
            if word.new_clause or word.plain == "or":
                self.clauses.append([])
            self.clauses[-1] += [word.plain] * (word.plain != "or")
        self.pairs = frozenset(
            (one.plain, stem(other.plain)) for place, one in enumerate(words) for other in words[place + 1 : place + 3]
        )
        self.denied = frozenset(word for turning, word in self.pairs if is_negation(turning))
        """Words that the question denies, so that an answer without the negation says something else."""

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, text: str) -> _Question:
        return cls(text)

    def options(self, value: Collection[str]) -> frozenset[str]:
        """Returns the words of the other options, if the question lists the value among short options."""
        lists = (group for short, group in itertools.groupby(self.clauses, lambda clause: len(clause) <= 3) if short)
        found = (list(group) for group in lists)
        offered = (each for each in found if any(value and set(value) <= set(clause) for clause in each))
        return frozenset(word for each in offered for clause in each for word in clause) - frozenset(value)

    def accounts_for(self, token: Token, following: Token | None) -> bool:
        word = token.plain
        if word in _TURNING or word.endswith("n't"):
            return following is not None and (word, stem(following.plain)) in self.pairs
        if word in _NEUTRAL or word in self.exact or (word[:1] == "#" and word.lstrip("#0") in self.exact):
            return True
        if word.endswith("'s"):
            return self.accounts_for(Token(token.text[:-2], token.new_clause), following)
        if token.has_digit or (token.text[:1].isupper() and not token.new_clause):
            return False
        return word.isalpha() and any(alike(stem(word), known) for known in self.stems)


_IRREGULAR = {
    "bought": "buy", "spent": "spend", "sold": "sell", "paid": "pay", "written": "write", "wrote": "write",
    "left": "leave", "went": "go", "gone": "go", "came": "come", "took": "take", "taken": "take", "sent": "send",
    "said": "say", "held": "hold", "built": "build", "kept": "keep", "began": "begin", "begun": "begin", "won": "win",
    "lost": "lose", "met": "meet", "ran": "run", "chosen": "choose", "chose": "choose", "cost": "cost",
    "people": "person", "children": "child",
    **{month[:3].casefold(): month.casefold() for month in calendar.month_name if month},
}  # fmt: skip


def stem(word: str) -> str:
    """Returns a word without the ending by which a question and its answer differ.

    >>> {stem(word) for word in ("reviews", "reviewer", "reviewed")}, stem("orders")
    ({'review'}, 'ord')
    """
    word = _IRREGULAR.get(word, word)
    for _ in range(2):
        shorter = _ENDINGS.sub("", word)
        if len(shorter) < 3:
            break
        word = shorter
    return word


def alike(one: str, other: str) -> bool:
    """Whether two stems belong to one word."""
    shorter, longer = sorted((one, other), key=len)
    return one == other or (len(shorter) >= 5 and len(longer) - len(shorter) <= 2 and longer.startswith(shorter))
