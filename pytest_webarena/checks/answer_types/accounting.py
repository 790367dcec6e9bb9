"""Decides which words of an answer are accounted for: by the question, by the value, or because they claim nothing."""

from __future__ import annotations

import calendar
import functools
import itertools
import re
from collections.abc import Collection, Iterable, Sequence

from pytest_webarena.checks.answer_types.amounts import amounts_in
from pytest_webarena.checks.answer_types.dates import dates_in
from pytest_webarena.checks.answer_types.listing import ARTICLES, listed_with_value
from pytest_webarena.checks.answer_types.tokens import Token, tokens

__all__ = [
    "LABELS",
    "NEGATIONS",
    "NEUTRAL_GROUPS",
    "PREPOSITIONS",
    "alike",
    "counts",
    "is_content",
    "is_negation",
    "is_neutral",
    "other_modifier",
    "otherwise_qualified",
    "stem",
    "unaccounted",
]

NEUTRAL_GROUPS = {
    "pronouns": """
        a an the this that these those it its they them their he his she her i me my we our you your
        it's that's there's here's he's she's they're you're i've you've we've i'm
        """,
    "question words": "who whom whose which what where when there here",
    "auxiliary verbs": "am is are was were been has have had having do does did",
    "verbs of giving": "make makes made get gets got give gives gave given say says said come comes came adds add",
    "verbs of finding": "found find shows show shown showing showed displayed displays displaying see seen",
    "verbs of naming": "listed lists list following follows namely called named name names titled title",
    "prepositions and conjunctions": "of in on at and both all so then also",
    "words for the answer": """
        answer final result results response total altogether overall exactly precisely number count amount
        question requested asked according based information details data
        """,
}
"""Words that claim nothing of their own, whatever they stand next to."""

_QUESTION_WORDS = frozenset((*NEUTRAL_GROUPS["question words"].split(), "how"))
_OPEN = _QUESTION_WORDS | {"?", "and"}
_UNORDERED = frozenset(
    word for name, group in NEUTRAL_GROUPS.items() if name != "verbs of naming" for word in group.split()
)
"""Words that may be anywhere in an answer."""

_BEFORE_NOUNS = frozenset(
    word for name, group in NEUTRAL_GROUPS.items() if name != "words for the answer" for word in group.split()
)
"""Words that do not change which thing the next word names."""
_NEUTRAL = frozenset(word for group in NEUTRAL_GROUPS.values() for word in group.split())

MODIFIER_GROUPS = {
    "negations": """
        no not none never nothing neither nor without cannot nobody nowhere empty zero lacks
        """,
    "superlatives": "most least",
    "ordinals": "first second third fourth fifth last next previous",
    "comparisons": "more less fewer than except other",
    "limits": """
        excluding others another instead rather unlike but only just about around approximately almost nearly or if
        before after until unless
        """,
    "prepositions": "for to from by with within into onto as since",
}
"""Words that change what the next word says."""

_groups = {name: frozenset(words.split()) for name, words in MODIFIER_GROUPS.items()}
NEGATIONS = _groups["negations"]
PREPOSITIONS = _groups["prepositions"]
_TURNING = frozenset().union(*(words for name, words in _groups.items() if name != "superlatives"))
"""Words that the question accounts for only together with the next word, or before the value."""
_QUALIFYING = frozenset().union(*(words for name, words in _groups.items() if name not in ("limits", "prepositions")))
"""Words without which the next word of the question means something else."""

_YES_NO = frozenset({"yes", "no"})
_SHORT = 3
"""Most words of a clause that may be one of several options."""

_ENDINGS = re.compile(r"(?:'s|ings?|ied|ies|ed|es|e|s|y)\Z")


def unaccounted(
    answer: Sequence[Token],
    stated: Collection[int],
    question: str,
    *,
    also: Iterable[str] = (),
    negated: bool = False,
    counted: int = 0,
    named: Collection[int] = (),
) -> list[str]:
    """Returns the words of an answer that nothing accounts for.

    Args:
        answer: tokens of the answer.
        stated: indices of the tokens that state the wanted value.
        question: what the agent was asked.
        also: other words that are accounted for, such as a unit.
        negated: whether the wanted value is an absence, which words of negation state.
        counted: how many values are wanted, which the answer may say.
        named: indices of the tokens that state names; a number next to one is a part of another name.
    """
    asked = _Question.of(question)
    dates = list(dates_in(answer))
    offered = any(readings & asked.dates and {*range(*span)} & {*stated} for readings, *span in dates)
    dated = {place for readings, *span in dates if readings & asked.dates and not offered for place in range(*span)}
    first = min(stated, default=0)
    counted_by = {
        place
        for amount in amounts_in(answer)
        if not amount.unit
        and (amount.value in asked.numbers or (counted and amount.value == counted and amount.start < first))
        for place in range(amount.start, amount.end)
    }
    named = frozenset(named)
    value = {answer[index].plain for index in stated}
    options = asked.options(value)
    rivals = asked.rivals(value)
    order = _Order(asked)
    extra = frozenset(word.casefold() for text in also for word in text.split())
    listed = frozenset() if value & _YES_NO else listed_with_value(answer, frozenset(stated), asked.names, _claims)
    found = []
    for index, token in enumerate(answer):
        if index not in stated and (stem(token.plain) in options or index in listed):
            found.append(token.text)
            continue
        if index in stated:
            if not order.keeps(token, is_value=True):
                found.append(answer[index - 1].text)
            continue
        before = {other.plain for other in answer[max(index - 2, 0) : index]}
        detached = bool(asked.bound.get(stem(token.plain), before) - before)
        if (
            index in dated
            or (index in counted_by and not detached and not {index - 1, index + 1} & named)
            or token.plain in extra
            or (negated and index > min(stated, default=0) and is_negation(token.plain))
        ):
            continue
        following = next((other for other in answer[index + 1 :] if other.plain not in ARTICLES), None)
        place = sum(each in stated and each - 1 not in stated for each in range(index))
        before_value = index + 1 in stated and asked.has_role(token.plain, place, counted)
        belongs = token.plain == "of" and index + 1 in named and not before_value  # "the manager of Bo is Ann"
        turned = index + 1 in stated and token.plain in _TURNING - PREPOSITIONS  # not 3, less than 3: another value
        refused = (
            turned or belongs or token.plain in rivals or not (before_value or asked.accounts_for(token, following))
        )
        refused = refused or (token.has_digit and bool({index - 1, index + 1} & named)) or not order.keeps(token)
        if refused or detached:
            found.append(token.text)
    return found


def other_modifier(
    answer: Sequence[Token], asked: Sequence[Token], *, ignored: Collection[str] = ()
) -> tuple[str, str] | None:
    """Returns a noun with its modifier in an answer, and the same noun with its modifier in the question, if these
    differ and the answer does not have the latter; ``ignored`` are no nouns.

    >>> other_modifier(tokens("the initial speed is 20"), tokens("What is its final speed?"))
    ('initial speed', 'final speed')
    """
    given = _modified(answer)
    known = {stem(word) for pair in _modified(asked) for word in pair}
    words = {token.plain for token in answer}
    for modifier, noun in _modified(asked):
        if modifier in words or noun in ignored:
            continue
        for other, same in given:
            counted = any(amounts_in(tokens(other)))
            if stem(same) == stem(noun) and stem(other) not in known and not counted:
                return f"{other} {same}", f"{modifier} {noun}"
    return None


def _modified(words: Sequence[Token]) -> list[tuple[str, str]]:
    """Returns the words before a noun that may say which one it is of several, with the noun."""
    return [
        (one.plain, other.plain)
        for one, other in itertools.pairwise(words)
        if one.plain.isalpha() and one.plain not in _BEFORE_NOUNS and is_content(other) and not other.new_clause
    ]


def otherwise_qualified(answer: Sequence[Token], question: str) -> str:
    """Returns words in which an answer repeats a word of the question, but not with what is said of it there: ``red``
    for ``not red``, ``to Bo`` for ``to Ann``; empty if there are none."""
    asked = _Question.of(question)
    for index, token in enumerate(answer):
        before = {other.plain for other in answer[max(index - 2, 0) : index]}
        if asked.bound.get(stem(token.plain), before) - before:
            return " ".join(other.text for other in answer[max(index - 1, 0) : index + 1])
        first, second = (*answer[index + 1 : index + 3], None, None)[:2]
        after = second if first and second and first.plain in ARTICLES and is_content(second) else first
        role = after and (token.plain, stem(after.plain))
        if (
            after
            and token.plain in PREPOSITIONS & asked.exact
            and after.plain in asked.exact
            and role not in asked.pairs
        ):
            return f"{token.text} {after.text}"
    return ""


def is_negation(word: str) -> bool:
    return word in NEGATIONS or word.endswith("n't")


def is_neutral(token: Token) -> bool:
    """Whether a token claims nothing of its own."""
    return token.plain in _NEUTRAL


LABELS = frozenset({"number", "page", "count"})
"""Words that claim nothing of their own, but may have a number as their label."""


def is_content(token: Token) -> bool:
    """Whether a token is a word that claims something."""
    return token.text[:1].isalpha() and (token.plain not in _NEUTRAL or token.plain in LABELS)


def _claims(token: Token) -> bool:
    return is_content(token) and token.plain not in PREPOSITIONS


_COUNTED = re.compile(r"\b(?:how many|(?:number|count|total|amount)s? of)\s+((?:[\w'-]+\s*){1,5})", re.IGNORECASE)
_PLURALS = frozenset("people children men women feet".split())  # noqa: SIM905


@functools.lru_cache(maxsize=64)
def _counted(question: str) -> frozenset[str]:
    """Returns the stems of the counted noun, and of the words before it."""
    found = []
    for phrase in _COUNTED.findall(question):
        for token in tokens(phrase):
            if token.plain in _NEUTRAL:
                break
            found.append(stem(token.plain))
            if token.plain.endswith("s") or token.plain in _PLURALS:
                break
    return frozenset(found)


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
        kept = [word for word in words if word.text != "?"]
        self.exact = frozenset(form for word in kept for form in (word.plain, word.plain.removesuffix("'s")))
        self.stems = frozenset(stem(word.plain) for word in kept if not word.has_digit)
        self.dates = frozenset(reading for readings, *_ in dates_in(words) for reading in readings)
        self.numbers = frozenset(
            amount.value for amount in amounts_in(words) if not amount.unit and words[amount.start].has_digit
        )
        self.clauses: list[list[str]] = []
        self.choices: list[int] = []
        """Indices of the clauses that follow an ``or``."""
        for word in words:
            if word.new_clause or word.plain == "or":
                self.clauses.append([])
            if word.plain == "or":
                self.choices.append(len(self.clauses) - 1)
            elif word.plain not in ARTICLES:
                self.clauses[-1].append(word.plain)
        ahead = itertools.zip_longest(words, words[1:])
        open_roles = (word.plain for word, after in ahead if after is None or after.plain in _OPEN)
        self.roles = [word for word in dict.fromkeys(open_roles) if word in PREPOSITIONS or word == "of"]
        """Prepositions of the value: before a question word, or before nothing."""
        full = [word for word in words if word.plain not in ARTICLES]
        self.pairs = frozenset(
            (one.plain, stem(other.plain)) for place, one in enumerate(full) for other in full[place + 1 : place + 3]
        )
        self.places: dict[str, list[int]] = {}
        for place, word in enumerate(words):
            self.places.setdefault(stem(word.plain), []).append(place)
        self.question_word = next((place for place, word in enumerate(words) if word.plain in _QUESTION_WORDS), -1)
        self.counted = _counted(text)
        self.names = frozenset(word.plain for word in words if word.text[:1].isupper() and not word.new_clause)
        self.bound: dict[str, set[str]] = {}
        """Words that the question qualifies, with what does: without it an answer says something else."""
        for one, other in itertools.pairwise(word for word in full if word.text != "?"):
            known = stem(other.plain)
            if (one.plain in _QUALIFYING or one.plain.endswith("n't")) and len(self.places[known]) == 1:
                self.bound.setdefault(known, set()).add(one.plain)

    @classmethod
    @functools.lru_cache(maxsize=64)
    def of(cls, text: str) -> _Question:
        return cls(text)

    def options(self, value: Collection[str]) -> frozenset[str]:
        """Returns the stems of the other options that the question offers; an answer that repeats them says more.
        They are next to an ``or``, as many words as the value has, or short clauses in a list with the value."""
        size = max(len(frozenset(value) - ARTICLES), 1)
        offered: list[list[str]] = []
        for place in self.choices:
            offered.append(self.clauses[place][:size])
            place -= 1
            while place > 0 and len(self.clauses[place]) <= _SHORT:
                offered.append(self.clauses[place])
                place -= 1
            offered.append(self.clauses[place][-size:] if place >= 0 else [])
        groups = itertools.groupby(self.clauses[1:], lambda clause: len(clause) <= _SHORT)
        lists = (list(group) for short, group in groups if short)
        offered += (
            each
            for found in lists
            if len(found) > 1 and any(value and set(value) <= {*c} for c in found)
            for each in found
        )
        return frozenset(stem(word) for words in offered for word in words) - frozenset(map(stem, value))

    def has_role(self, word: str, place: int, count: int) -> bool:
        """Whether a preposition before a value is the question's. With several values, it must be before the one of its
        ``place``: the last preposition of the question before the last value, and so on."""
        if word not in self.roles:
            return False
        return count < 2 or count - len(self.roles) + self.roles.index(word) == place

    def rivals(self, value: Collection[str]) -> frozenset[str]:
        """Returns the other names of the question, if it offers the value to choose from."""
        return self.names - frozenset(value) if value and set(value) <= self.names else frozenset()

    def accounts_for(self, token: Token, following: Token | None) -> bool:
        word = token.plain
        if word == "or":
            return False
        if word in _TURNING or word.endswith("n't"):
            return following is not None and (word, stem(following.plain)) in self.pairs
        if word in _NEUTRAL or word in self.exact or (word[:1] == "#" and word.lstrip("#0") in self.exact):
            return True
        if word.endswith("'s"):
            return self.accounts_for(Token(token.text[:-2], token.new_clause), following)
        if token.has_digit or (token.text[:1].isupper() and not token.new_clause):
            return False
        return word.isalpha() and any(alike(stem(word), known) for known in self.stems)


class _Order:
    """Checks that no two words of the question have changed sides of a third one, as in "Black beat White" for "White
    beat Black": this exchanges who does what to whom. The counted noun, words that the question has more than once,
    and words that claim nothing may be anywhere."""

    def __init__(self, asked: _Question) -> None:
        self._asked = asked
        self._before: list[int] = []

    def keeps(self, token: Token, *, is_value: bool = False) -> bool:
        """Returns whether the next word of the answer does not complete such an exchange. The value stands for the
        question word."""
        known = stem(token.plain.removesuffix("'s"))
        if is_value:
            place = self._asked.question_word
        elif token.plain in _UNORDERED or token.plain in PREPOSITIONS or known in self._asked.counted:
            return True
        elif len(places := self._asked.places.get(known, [])) == 1:
            place = places[0]
        else:
            return True
        if place < 0:
            return True
        later = itertools.accumulate(self._before, max)
        exchanged = any(place < each < highest for each, highest in zip(self._before, later, strict=True))
        self._before.append(place)
        return not exchanged


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

    >>> {stem(word) for word in ("reviews", "reviewing", "reviewed")}, stem("bought")
    ({'review'}, 'buy')
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
    return one == other or (len(shorter) >= 5 and len(longer) - len(shorter) <= 1 and longer.startswith(shorter))
