"""What the clause around a name claims of it beside what is asked: another rank, another number, the contrary.

The name stands as ``\\x01`` in the text, the task's other references as ``\\x02`` (see `stance`).
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, stem
from pytest_webarena.checks.upstream.scope import Question, of_another_kind
from pytest_webarena.checks.upstream.stance import MARK, OTHER

__all__ = [
    "another_is_it",
    "asks_for_rank",
    "contradicted",
    "is_asked",
    "names_rank",
    "ranked_otherwise",
    "says_there_is_none",
]

_ORDINALS = {
    word: rank
    for rank, words in enumerate(
        ("first 1st", "second 2nd runner-up"
        "|runner up", "third 3rd", "fourth 4th", "fifth 5th", "sixth 6th", "seventh 7th",
         "eighth 8th", "ninth 9th", "tenth 10th"), start=1)
    for each in words.split(" ", 2)
    for word in each.split("|")
}  # fmt: skip
_CARDINALS = {
    word: number
    for number, word in enumerate("zero one two three four five six seven eight nine ten".split())  # noqa: SIM905
}  # fmt: skip
_MOST = r"(?:most(?! (?:recent|of|likely|probably))|best|highest|largest|biggest|greatest|top|closest|nearest)"
_LEAST = r"(?:least|fewest|lowest|worst|smallest|farthest|furthest)"
_ORDINAL = "|".join(map(re.escape, _ORDINALS))
_NUMBER = r"(?:\d{1,4}|" + "|".join(_CARDINALS) + ")"
_RANKED = re.compile(
    rf"\b(?P<ordinal>{_ORDINAL})(?:[- ](?:{_MOST}|{_LEAST}|place|position|rank|spot|one)\b|\s*(?=$"
    rf"|[.,:;)!{MARK}{OTHER}]"
    r"|(?:is|was|comes?|came|behind|after|with|among|in the (?:list|ranking))\b))"
    rf"|\b(?:number|no\.|rank(?:s|ed)?|places?) (?P<number>{_NUMBER})\b(?! [a-z]+s\b)|(?<!\w)#(?P<sign>\d)\b"
    rf"|(?<!at )\b(?P<most>{_MOST}|leads|leader|tops)\b"
)
_ORDINAL_NOUN = re.compile(rf"\b(?P<ordinal>{_ORDINAL}) (?P<noun>[a-z]+)\b")
_RATED = re.compile(r"^(?::| -| \(|(?= \d+(?:[.,;]|$))) ?(?P<number>\d)(?: ?/ ?5| stars?)?(?=[),;.\n]|$)")
_TOP = re.compile(rf"\btop[- ](?P<number>{_NUMBER})\b")
_SIGNS = ((re.compile(rf"\b{_MOST}\b"), 1), (re.compile(rf"\b{_LEAST}\b"), -1))
_EXTREME = re.compile(rf"(?<!at )\b(?:(?P<least>{_LEAST})|(?P<most>{_MOST}))(?P<after>(?:[- ][a-z'-]+){{0,3}})")
_RUN = re.compile(rf"[{MARK}{OTHER}](?:(?:, and |,? and |,? & |, |,? as well as )(?:also |then )?[{MARK}{OTHER}])+")
_BOUNDARY = re.compile(
    r"(?<=[^\s.][^\s.])[.!?](?=\s|$)|;\s|\n|,\s(?!who\b|which\b|whose\b|with\b)|\s-\s"
    r"|\s(?:but|whereas|while|although|though|so|however|because|yet)\s"
    rf"|\sand\s(?=[{MARK}{OTHER}])"
)
_ASIDE = re.compile(r"\([^()]*\)")
_AUXILIARY = r"(?:do|does|did|has|have|had|can|could|will|would|ca|wo|is|was|are|were)"
_FAILS_TO = re.compile(
    rf"^(?:'s)?(?: \([^()]*\))?,? (?:who |which |that )?(?:[a-z]+ly |also |still |even )?"
    rf"(?:(?:do|does|did|has|have|had|can|could|will|would|ca|wo)(?:n't| ?not)\b"
    r"(?! (?:only|just|even|need|have to|any (?:rival|competition|equal)))"
    rf"|{_AUXILIARY}(?:n't| not)(?=\s*$)|(?P<never>(?:{_AUXILIARY} )?never) (?P<verb>[a-z]+)"
    r"|(?:(?:is|are|was|were|has|have|had) )?no longer\b|lost\b|(?:was|were|has been|have been) (?:removed"
    r"|revoked|deleted|banned|replaced)\b"
    r"|(?:has|have|had|made|placed|got|received|left|is|are|was|were) (?:no|zero) (?P<noun>(?:[a-z]+ ?){1,3}))"
)
_ONLY_OTHERS = re.compile(
    rf"(?:^|[.;:\n] ?|\bis |\bwas )only {OTHER}\s*(?:$|[.;\n]|(?:does|did|is|was|has|mentions?)\b)"
)
_MEASURES = re.compile(
    r"(?:km|kilomet\w+|m|met\w+|miles?|min\w*|hours?|h|days?|weeks?|months?|years?|dollars?|usd|percent|top|or|and"
    r"|of|in|to|gb|inch\w*|post|posts)\b"
)
_COUNTED = re.compile(
    rf"(?<![\w.,/:#$-])(?P<low>{_NUMBER})(?:(?: or |-| to | and )(?P<high>{_NUMBER}))?[- ](?P<noun>[a-z]+)(?:"
    rf" (?P<next>[a-z]+))?"
)
_RANK_BEFORE = re.compile(
    r"\b(?:top|last|first|latest|recent|past|next|previous|oldest|newest|than|least|most|over|under)[ -]\Z"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Asked:
    """What a question says of what it asks for."""

    ranks: frozenset[int]
    """Which places of an order; empty when there is none."""
    sign: int
    """1 for the most, -1 for the least, 0 for neither or both."""
    numbers: tuple[tuple[str, int, int], ...]
    """Nouns (their stems) with the least and the most of them: "1 or 2 stars"."""


@functools.lru_cache(maxsize=1024)
def _asked(text: str) -> _Asked:
    top = _TOP.search(text)
    ranks = frozenset(range(1, _value(top["number"]) + 1)) if top else frozenset(_ranks(text))
    signs = {sign for pattern, sign in _SIGNS if pattern.search(text)}
    numbers = tuple(
        (noun, low, high)
        for noun, low, high, start in _counts(text)
        if not _RANK_BEFORE.search(text[:start]) and not _MEASURES.match(noun)
    )
    return _Asked(ranks=ranks, sign=signs.pop() if len(signs) == 1 else 0, numbers=numbers)


_SIDES = (
    r"\b(?:love[sd]?|likes?|liked|great|excellent|perfect|amazing|wonderful|good|beautiful|praise[sd]?|happy|pleased|pretty"
    r"|fantastic|recommends?)\b",
    r"\b(?:hate[sd]?|ugly|terrible|awful|horrible|bad|poor(?:ly)?|complain\w*|disappoint\w*|dislike[sd]?|unhappy|criti\w+"
    r"|dissatisf\w+|broke\w*|crack\w*|cheap\w*)\b",
    r"\b(?:average|mediocre|so-so|neutral)\b",
)
_TURN = re.compile(r"\b(?:but|however|though|although|until|except|only|yet|not|while|whereas)\b|n't\b|[\"(]")
_SAYS = re.compile(
    r"^,? (?:(?:who|has|have|had|also|really|just|all|both|each) )*(?:says?|said|calls?|called|finds?|found"
    r"|thinks?|thought|loves?|loved|likes?|liked|hates?|hated|praise[sd]?|is|was|are|were|considers?|complain(?:s|ed)?"
    r"|recommend(?:s|ed)?)\b"
    r"(?P<rest>[^.;:\n]*)"
)


def _feels_otherwise(after: str, question: Question) -> bool:
    """Whether the sentence goes on to give the name another opinion than the question asks for, and no more."""
    asked = {side for side, words in enumerate(_SIDES) if re.search(words, question.text)}
    asked = {2} if 2 in asked else asked
    said = _SAYS.match(after)
    if len(asked) != 1 or said is None or _TURN.search(said[0]):
        return False
    sides = {side for side, words in enumerate(_SIDES) if re.search(words, said[0])}
    return bool(sides) and not sides & asked


def _value(word: str) -> int:
    return int(word) if word.isdigit() else _CARDINALS[word]


def _ranks(text: str) -> Iterator[int]:
    for match in _RANKED.finditer(text):
        if match["ordinal"]:
            if not re.search(r"\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.? \Z", text[: match.start()]):
                yield _ORDINALS[match["ordinal"]]
        elif match["most"]:
            yield 1
        else:
            yield _value(match["number"] or match["sign"])


def _counts(text: str) -> Iterator[tuple[str, int, int, int]]:
    for match in _COUNTED.finditer(text):
        low = _value(match["low"])
        high = _value(match["high"]) if match["high"] else low
        for noun in (match["noun"], match["next"]):
            if noun and noun not in FUNCTION_WORDS:
                yield stem(noun), min(low, high), max(low, high), match.start()


def _clause(marked: str) -> tuple[str, str]:
    """What stands before and after the mark in its clause."""
    before, _, after = marked.partition(MARK)
    ends = [match.end() for match in _BOUNDARY.finditer(before)]
    if re.search(r"\sand\s\Z", before):
        ends.append(len(before))
    end = _BOUNDARY.search(after)
    return before[ends[-1] if ends else 0 :], after[: end.start()] if end else after


def contradicted(marked: str, question: Question) -> bool:
    """Whether the clause gives the marked name another rank or number than the question asks, or denies it of it.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("Who has placed the most orders?")
    >>> [contradicted(text, asked) for text in ("\\x01 has the most", "\\x01 has the second most", "\\x01 didn't")]
    [False, True, True]
    """
    asked = _asked(question.text)
    marked = _RUN.sub(lambda match: MARK if MARK in match[0] else OTHER, marked)
    if _ONLY_OTHERS.search(marked):
        return True
    if _feels_otherwise(marked.partition(MARK)[2], question):
        return True
    before, after = _clause(marked)
    if _elliptic(after, question):
        return True
    if (fails := _FAILS_TO.match(after)) is not None:
        what = fails["verb"] or fails["noun"]
        if not what or any(is_asked(word, question) for word in what.split()):
            return True
    clause = _ASIDE.sub(" ", before) + MARK + _ASIDE.sub(lambda match: match[0] if _short(match[0]) else " ", after)
    ranks = set(_ranks(clause)) | {
        _ORDINALS[match["ordinal"]] for match in _ORDINAL_NOUN.finditer(clause) if is_asked(match["noun"], question)
    }
    if asked.ranks and ranks and not ranks & asked.ranks:
        return True
    if asked.sign and not (ranks and len(asked.ranks) > 1) and _other_extreme(clause, asked.sign, question):
        return True
    said = list(_counts(clause))
    if not question.negated and of_another_kind(clause, question.text):
        return True
    ranges = {(low, high) for _, low, high in asked.numbers}
    if len(ranges) == 1 and (rated := _RATED.match(marked.partition(MARK)[2])):
        ((low, high),) = ranges
        return not low <= int(rated["number"]) <= high
    return any(
        (own := [(least, most) for noun, least, most, _ in said if noun == asked_noun])
        and not any(low <= least and most <= high for least, most in own)
        for asked_noun, low, high in asked.numbers
    )


def ranked_otherwise(clause: str, question: Question) -> bool:
    """Whether the clause is about another place than the question: the second contributor for the one with the most."""
    asked = _asked(question.text).ranks
    said = {
        _ORDINALS[match["ordinal"]] for match in _ORDINAL_NOUN.finditer(clause) if is_asked(match["noun"], question)
    }
    return bool(asked and said and not said & asked)


def _elliptic(after: str, question: Question) -> bool:
    """Whether it is given another number of the one thing that the question counts: "placed 3" for "2 orders"."""
    asked = {(low, high) for _, low, high in _asked(question.text).numbers}
    said = re.match(rf"^ (?:has |have |had )?(?P<verb>[a-z]+) (?:only |just )?(?P<number>{_NUMBER})[\s.!]*$", after)
    if len(asked) != 1 or said is None:
        return False
    if said["verb"] not in ("has", "have", "had") and not is_asked(said["verb"], question):
        return False
    ((low, high),) = asked
    return not low <= _value(said["number"]) <= high


def is_asked(word: str, question: Question) -> bool:
    """Whether it is one of the question's words, in whatever form: complaint for complain."""
    root = stem(word)
    return root in question.words or any(
        min(len(root), len(other)) >= 5 and (root.startswith(other) or other.startswith(root))
        for other in question.words
    )


def asks_for_rank(question: Question) -> bool:
    """Whether it asks for the most, the second most, the top three of something."""
    return bool(_asked(question.text).ranks)


def names_rank(text: str) -> bool:
    """Whether folded ``text`` speaks of the most, of a second place and the like."""
    return any(True for _ in _ranks(text))


def _short(aside: str) -> bool:
    return len(aside.split()) <= 3


def _other_extreme(clause: str, sign: int, question: Question) -> bool:
    """Whether it is the least of what the question asks the most of, or the other way round."""
    for match in _EXTREME.finditer(clause):
        if (match["most"] is not None) == (sign > 0):
            continue
        words = [word for word in re.split(r"[- ]", match["after"]) if word and word not in FUNCTION_WORDS]
        if not words or any(stem(word) in question.words for word in words):
            return True
    return False


# --- what is said of others

_NOBODY = re.compile(
    r"(?:^|[.;:,\n] ?|\b(?:but|and|that|so|because|as) )(?:there (?:is|are|was|were) )?"
    r"(?:no one|nobody|none|no (?!doubt|problem|need|longer|more|further|idea)(?P<noun>[a-z]+))\b(?P<rest>[^.;\n]*)"
)
_EMPTY = frozenset(
    "in of to a the and for on with i m is are was were be by at from my me or it".split()  # noqa: SIM905 - a list is no easier to read
)
_BUT = re.compile(r"\b(?:else|others?|but|except|besides|apart|aside|beyond|remaining|rest|than|further|more|only)\b")
_IS = re.compile(r"(?:\b(?:is|was|are|were|be|being)|:) (?:the |called |named |at )*(?P<name>[a-z][\w'-]*)")
_DOES = re.compile(
    r"^(?:and |then |so |the |that |but |while |whereas |as |because )*(?P<name>[a-z][\w'-]*(?: [\w'-]+){0,4}?)"
    r" (?:is|was|are|were|has|had|have|leads|led|made"
    r"|makes|completed|placed|sold|sells|got|gets|received|comes|came|ranks|lies|sits|would be|takes|took) (?P<rest>.*)"
)


def says_there_is_none(text: str, question: Question) -> bool:
    """Whether folded ``text`` says that nobody and nothing is what the question asks for.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("Who gave 1 or 2 stars?")
    >>> [says_there_is_none(text, asked) for text in ("nobody gave 1 star", "nobody else gave 1 star")]
    [True, False]
    """
    if re.match(r"(?:none|nobody|no one)[.;]", text):
        return True
    for match in _NOBODY.finditer(text):
        sentence = text[text.rfind(".", 0, match.start()) + 1 : match.end()]
        words = re.findall(r"[a-z]+", f"{match['noun'] or ''} {match['rest']}")
        asked = {stem(word) for word in re.findall("[a-z]+", question.text)} - _EMPTY
        known = [word for word in words[:8] if stem(word) in asked]
        if "else" in question.text.split():
            sentence = sentence.replace(" else", "")
        if (
            len(known) >= (2 if match["noun"] else 1)
            and not _BUT.search(sentence)
            and _same_numbers(match[0], question)
        ):
            return True
    return False


def _same_numbers(clause: str, question: Question) -> bool:
    said = list(_counts(clause))
    return all(
        not (own := [(least, most) for noun, least, most, _ in said if noun == asked])
        or any(low <= most and least <= high for least, most in own)
        for asked, low, high in _asked(question.text).numbers
    )


def another_is_it(marked: str, question: Question, names: frozenset[str]) -> bool:
    """Whether somebody else than the references (``OTHER``) is called what the question asks the most of.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked, names = question_of("What is the closest cafe?"), frozenset({"bolt", "acme"})
    >>> [another_is_it(text, asked, names) for text in ("\\x02 is near, the closest is bolt", "\\x02 beats bolt")]
    [True, False]
    """
    asked = _asked(question.text)
    if not asked.ranks:
        return False
    rivals = False
    for clause in _clauses(_RUN.sub(OTHER, marked)):
        if not set(_ranks(clause)) & asked.ranks or re.search(r"\b(?:not|never|no)\b|n't\b", clause):
            continue
        if OTHER in clause and len(asked.ranks) == 1:
            return False
        if OTHER in clause:
            continue
        rivals |= _names_one(clause, question, names)
    return rivals


def _clauses(text: str) -> Iterator[str]:
    start = 0
    for match in _BOUNDARY.finditer(text):
        yield _ASIDE.sub(" ", text[start : match.start()]).strip()
        start = match.end()
    yield _ASIDE.sub(" ", text[start:]).strip()


def _names_one(clause: str, question: Question, names: frozenset[str]) -> bool:
    def is_name(words: str) -> bool:
        return all(
            word in names and word not in FUNCTION_WORDS and stem(word) not in question.words for word in words.split()
        )

    if (does := _DOES.match(clause)) and is_name(does["name"]) and re.search(rf"\b{_MOST}\b|\bleads\b", clause):
        return True
    for match in _RANKED.finditer(clause):
        named = _IS.search(clause, match.end())
        if named and is_name(named["name"]):
            between = [
                word
                for word in re.findall(r"[a-z]+", clause[match.end() : named.start()])
                if word not in FUNCTION_WORDS
            ]
            if not between or any(stem(word) in question.words for word in between):
                return True
    return False
