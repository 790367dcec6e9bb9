"""Decides which words of an answer are accounted for: by the question, by the value, or because they claim nothing."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

from pytest_webarena.checks.answer_types.tokens import Token, tokens

__all__ = ["NEGATIONS", "alike", "is_negation", "unaccounted"]

_NEUTRAL = frozenset(
    """
    a an the this that these those it its they them their he she his her i me my we our you your
    who whom whose which what where when there here
    am is are was were be been being has have had having do does did done
    it's that's there's here's he's she's they're you're i've you've we've i'm
    of in on at for to from by with within into onto as and both all each so then since also
    answer final result results response total altogether overall exactly precisely
    question requested asked
    found find shows show shown showing showed displayed displays displaying listed lists list see seen
    following follows namely called named name names titled title
    according based information details data
    site website web page pages
    please sure certainly yes
    currently now
    """.split()  # noqa: SIM905 - a list is no easier to read
)
"""Words that claim nothing of their own, whatever they stand next to."""

NEGATIONS = frozenset("no not none never nothing neither nor without cannot nobody nowhere empty zero lacks".split())  # noqa: SIM905

_TURNING = NEGATIONS | frozenset(
    """
    except excluding other others another instead rather unlike but only just less more fewer than about around
    approximately almost nearly or if before after until unless first last next previous
    """.split()  # noqa: SIM905
)
"""Words that change what the next word says: the question accounts for them only together with that word."""

_ENDINGS = re.compile(r"(?:'s|ations?|ments?|ings?|ied|ies|ees?|ers?|ors?|ed|es|e|s|y|d)\Z")


def unaccounted(
    answer: Sequence[Token], stated: Collection[int], question: str, *, also: Iterable[str] = (), negated: bool = False
) -> list[str]:
    """Returns the words of an answer that nothing accounts for.

    Args:
        answer: tokens of the answer.
        stated: indices of the tokens that state the wanted value.
        question: what the agent was asked.
        also: other words that are accounted for, such as a unit.
        negated: whether the wanted value is an absence, which words of negation state.
    """
    asked = _Question.of(question)
    extra = frozenset(word.casefold() for text in also for word in text.split())
    found = []
    for index, token in enumerate(answer):
        if index in stated or token.plain in extra or (negated and is_negation(token.plain)):
            continue
        following = answer[index + 1] if index + 1 < len(answer) else None
        if not asked.accounts_for(token, following):
            found.append(token.text)
    return found


def is_negation(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")


class _Question:
    """The words of a question."""

    def __init__(self, text: str) -> None:
        words = tokens(text)
        choices = {place for index, word in enumerate(words) if word.plain == "or" for place in (index - 1, index + 1)}
        # What the question offers as a choice is a claim when an answer repeats it.
        kept = [word for index, word in enumerate(words) if index not in choices]
        self.exact = frozenset(word.plain for word in kept)
        self.stems = frozenset(stem(word.plain) for word in kept if not word.has_digit)
        self.pairs = frozenset(
            (one.plain, stem(other.plain))
            for place, one in enumerate(words)
            for other in words[place + 1 : place + 3]
        )

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, text: str) -> _Question:
        return cls(text)

    def accounts_for(self, token: Token, following: Token | None) -> bool:
        word = token.plain
        if word in _TURNING or word.endswith("n't"):
            return following is not None and (word, stem(following.plain)) in self.pairs
        if word in _NEUTRAL or word in self.exact:
            return True
        if token.has_digit or token.text[:1].isupper() and not token.new_clause:
            return False
        return word.isalpha() and any(alike(stem(word), known) for known in self.stems)


def stem(word: str) -> str:
    """Returns a word without the ending by which a question and its answer differ.

    >>> {stem(word) for word in ("reviews", "reviewer", "reviewed")}, stem("orders")
    ({'review'}, 'ord')
    """
    for _ in range(2):
        shorter = _ENDINGS.sub("", word)
        if len(shorter) < 3:
            break
        word = shorter
    return word


def alike(one: str, other: str) -> bool:
    """Whether two stems belong to one word."""
    return one == other or (min(len(one), len(other)) >= 5 and (one.startswith(other) or other.startswith(one)))
