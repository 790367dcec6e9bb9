"""Whether an answer that holds what is wanted says so, or names it to deny it, to doubt it, or as one of several."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_webarena.checks.text import nfkc, normalise
from pytest_webarena.checks.written_addresses import another_house
from pytest_webarena.text import clip

__all__ = ["doubted", "unsaid", "unsaid_find"]

_UNKNOWN = re.compile(
    r"(?:\b(?:don'?t|do not|doesn'?t|does not|didn'?t|did not|can'?t|cannot|could ?n'?t|could not|unable to|not|never"
    r"|hard to|failed to|no)\s+(?:\w+\s+){0,2}?"
    r"(?:think|believe|sure|certain|suppose|know|tell|say|find|found|confirm|verify|determine|check|see|decide"
    r"|evidence|proof|sign|idea)\b|\bwhether\b|\bdoubt(?:s|ful)?\b|\bunsure\b|\buncertain\b)[^.;,:!\n\x02]*\Z"
)
_NOBODY = re.compile(
    r"(?:\b(?:any(?:one|body|thing|where)?|every(?:one|body|thing|where)?|all|each|no(?: one|body)?|nobody|none"
    r"|nothing|neither)"
    r"\b[^.;!?\n]*\b(?:but|except(?: for)?|besides|other than|apart from|of)|\bneither"
    r"|\bnone of(?: them)?:?)\b[^.;!?\n]*\Z"
)
_OF_NONE = re.compile(
    r"^[^.;!?\n]{0,80}\b(?:does|do|did|is|are|was|were|has|have|can|could|will|would)(?:n't|\s+not)\b"
)
_PROBABLY = re.compile(r"\bprobably\b[^.;,:\n]*\Z")
_BY_NOBODY = re.compile(r"\bby (?:nobody|no one)\b")
_WORKS_NOT = re.compile(r"^[\"'\x02]*\s+(?:does|do|did|can)(?:n't|\s+not)\s+(?:work|exist|answer|open|load)\b")
_NOBODY_AT_ALL = re.compile(r"^\W*(?:nobody|no one|no-one|none|neither|nothing|nowhere)\s*(?:[.:;!]|$)")
_ALL_BUT = re.compile(
    r"(?:\b(?:any|every|each|all)\b[^.;!?\n]*\b(?:but|except(?: for)?|besides|other than)|\b(?:the )?(?:day|week"
    r"|month|year|one|next|evening|night)s? "
    r"(?:before|after)|\bnext to|\bopposite(?: of)?|\bopposite to)\W*\Z"
)
_AFTER = re.compile(
    r"\w[\w.'-]*\W+(?:(?:\d+|a|one|two|three) \w+ )?(?:after|ahead of|followed by|instead of|rather than)\W*\Z"
)
_RANKED = re.compile(r"\b(?:last but one|next to last|second[- ](?:to[- ])?last|penultimate|runner-up|second most)\b")
_EXTREMES = (
    ("most", "fewest|least"),
    ("newest|latest|last", "oldest|earliest|first"),
    ("highest|tallest", "lowest|shallowest"),
    ("largest|biggest", "smallest"),
    ("cheapest", "dearest|most expensive"),
    ("nearest|closest", "farthest|furthest"),
    ("longest", "shortest"),
    ("best", "worst"),
)


def unsaid(answer: str, wanted: Sequence[str], question: str) -> str:
    """Why an answer in which all ``wanted`` texts stand does not say them of what is asked; empty when it does.

    Each has to stand in it once at least where it is neither denied nor doubted, nor one of a choice.

    >>> unsaid("Not Acme", ["Acme"], "Who?"), unsaid("It is Acme.", ["Acme"], "Who?")
    ('it speaks against "Acme", or leaves it open', '')
    """
    from pytest_webarena.checks.upstream.folding import fold

    text = " \n".join(normalise(line) for line in answer.splitlines())
    asked = fold(question)
    needles = [normalise(each) for each in wanted]
    if wanted and _NOBODY_AT_ALL.match(text) and not any(_NOBODY_AT_ALL.match(each) for each in needles):
        return "it begins by saying that there is none"
    for needle, shown in zip(needles, wanted, strict=True):
        places = [found.span() for found in re.finditer(_words(needle), text)] if needle else []
        if places and all(doubted(text, *place, asked, needles) for place in places):
            return f'it speaks against "{clip(shown, 40)}", or leaves it open'
    return ""


def unsaid_find(answer: str, pattern: str, question: str) -> str:
    """Why an answer in which the regular expression ``pattern`` finds something does not say that; empty when it does.

    >>> [unsaid_find(text, r"\\bred\\b", "Which?") for text in ("any but red", "It is red.")]
    ['it speaks against "red", or leaves it open', '']
    """
    from pytest_webarena.checks.upstream.folding import fold

    text, asked = nfkc(answer.strip()), fold(question)
    found = [each for each in re.finditer(pattern, text) if each[0]]
    plain = "".join(each.lower() if len(each.lower()) == 1 else each for each in text).replace("\u2019", "'")
    if found and all(doubted(plain, *each.span(), asked) for each in found):
        return f'it speaks against "{clip(found[0][0], 40)}", or leaves it open'
    if found and (other := another_house(text, found[0][0])):
        return f'it also gives "{clip(other, 40)}"'
    return ""


def _contrary_extreme(sentence: str, question: str) -> bool:
    """Whether it says the other end of what is asked for: the fewest for the most."""
    for pair in (*_EXTREMES, *((other, one) for one, other in _EXTREMES)):
        ours, theirs = (re.compile(rf"\b(?:{side})\b") for side in pair)
        if ours.search(question) and not theirs.search(question):
            return theirs.search(sentence) is not None and ours.search(sentence) is None
    return False


def _words(needle: str) -> str:
    return rf"(?<!\w){re.escape(needle)}(?!\w)" if needle[0].isalnum() and needle[-1].isalnum() else re.escape(needle)


def doubted(text: str, start: int, end: int, question: str, others: Sequence[str] = ()) -> bool:
    """Whether what stands there in ``text`` (normalised, as is the question) is denied, doubted, or one of a choice.

    ``others`` are further texts that are wanted, so that "A or B" and "A, then B" are no choice between them.
    """
    from pytest_webarena.checks.upstream.stance import OTHER, is_asserted, mark

    marked = mark(text, start, end)
    for other in others:
        if other and other != text[start:end]:
            marked = re.sub(_words(other), OTHER, marked)
    before, _, after = marked.partition("\x01")
    sentence = re.split(r"(?<=\w\w)[.!?](?=\s)|;\s|\n", before)[-1]
    behind = re.split(r"(?<=\w\w)[.!?](?=\s|$)|;\s|\n", after)[0]
    return (
        not is_asserted(marked, question)
        or _UNKNOWN.search(sentence) is not None
        or _PROBABLY.search(sentence) is not None
        or _BY_NOBODY.search(text[start:]) is not None
        or _NOBODY.search(sentence) is not None
        or _WORKS_NOT.match(behind) is not None
        or _ALL_BUT.search(sentence) is not None
        or _AFTER.search(sentence) is not None
        or (_RANKED.search(behind.split(",")[0]) is not None and _RANKED.search(question) is None)
        or _contrary_extreme(re.split(r"[,(]", sentence)[-1] + " | " + re.split(r"[,(]", behind)[0], question)
        or (
            not text[start:end].isdigit()
            and not sentence.removeprefix("no,").strip(" \"'\x02,and&")
            and _OF_NONE.match(behind) is not None
            and "," not in behind
        )
    )
