"""What an answer says about a thing that it mentions: that it is so, that it isn't, or that it may be.

The thing stands as ``\\x01`` in the text, so that its own words are no part of the sentence around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

__all__ = ["MARK", "OTHER", "is_asserted", "is_denied", "is_refusal", "mark"]

MARK = "\x01"
"""Stands for what is looked at."""
OTHER = "\x02"
"""Stands for other references of the same task."""

REACH = 500
"""Characters on either side that are looked at."""

_SENTENCE = re.compile(r"(?<=[^\s.][^\s.])[.!?](?=\s|$)|;\s|\n")
_CLAUSE = re.compile(
    _SENTENCE.pattern + r"|,\s|:\s|\s-\s|\s(?:but|whereas|while|although|though|so|however"
    r"|because)\s|\s\(|\)"
)
_NOT = (
    r"(?:\bnot|n't|\bnever|\bneither|\bnor|\bexcept(?: for)?(?! you)|\bexcluding|\bbesides(?! you| me\b| the"
    r" owner)|\bwithout"
    r"|(?<!none )\bother than|\brather than"
    r"|\binstead of|\bunlike|\bapart from(?! you)|\baside from(?! you)|\bfar from|\bcannot|\bno\b(?! doubt)|\bnone of"
    r"|\bno longer|\bremoved|\brevoked|\bused to)"
)
_GAP = (
    r"(?:(?!\b(?:is|are|was|were|be|includes?|namely|called|named|only|just|doubt|than|you'll|you will|you get)\b)"
    r"[^,:])*?"
)
_DENIED_BEFORE = re.compile(rf"{_NOT}(?!\s+(?:only|just|doubt|other than))\s{_GAP}\Z")
_RELATIVE = re.compile(r"\b(?:that|who|which|whose) (?:\w+)?\Z")
_NEITHER = re.compile(r"\b(?:neither|nor|none of)\b(?:(?!\b(?:is|are|was|were)\b).)*\Z")
_DENIED_AFTER = re.compile(
    r"^(?:'s)?[^;.]{0,60}?\b(?:is|are|was|were)(?:(?:n't| not)\s+"
    r"(?:it|the|one|among|amongst|correct|right|in|on|listed|included|part|mentioned|there|what)"
    r"|\s+(?:wrong|incorrect|false|untrue|(?:permanently )?closed))\b"
)
_BEHIND = r"(?:second|third|2nd|3rd|next|last|farther|further|behind|runner-up|far behind|less|lower|fewer|only)"
_COMPARED_AFTER = re.compile(
    rf"^,? (?:second|third|next)\b(?! (?:the |is |comes )*{OTHER})|"
    rf"^(?:'s)?[^;.]{{0,80}}?\b(?:is|are|was|were|comes?|came|ranks?|ranked|follows?|followed|lies"
    rf"|being)\s+(?:only\s+|in\s+)?"
    rf"(?:a )?{_BEHIND}\b|^,? (?:is|are|was|were|comes?|came|follows|followed|ranked) (?:close )?(?:behind"
    rf"|second|next)\b"
)
_SET_ASIDE = re.compile(
    r"^['\"]? (?:is|was|are|were) (?:also |only |just )?(?:another|an? (?:option|alternative|choice)|sold out"
    r"|out of stock"
    r"|unavailable|a different)\b"
)
_COMPARED_BEFORE = re.compile(
    r"(?:\b(?:ahead of|(?<!other )than|followed by|followed closely by|more than|less than|better than|beating"
    r"|beats|behind"
    r"|ahead|before"
    r"|then|second is|runner-up is|runner-up:|over|similar to|used to be|formerly|compared (?:to|with)|versus|vs\.?"
    r"|thought it was|expected)\s+(?:the |a |an )?)$"
)
_CHOICE_BEFORE = re.compile(
    r"(?:\bor,? (?:maybe |perhaps |possibly |even |else )?(?:it is |it's |it was |by |in |at )?(?:the |a |an )?"
    r"|\w [/|] )\Z"
)
_CHOICE_AFTER = re.compile(r"^['\"]?,? ?(?:\(?or\b(?! so\b)| / \w|\?)")
_FREE = re.compile(
    rf"\b(?:can|could|may|able to)\b[^.;]*[{MARK}{OTHER}],? or (?:to |at |in )?(?:the |a |an )?[{MARK}{OTHER}]"
    rf"|[{MARK}{OTHER}],? or (?:to |at |in )?(?:the |a |an )?[{MARK}{OTHER}],? both\b"
)
"""Between references, permission leaves nothing open: "you can go to A or to B"."""
_EITHER = re.compile(r"\b(?:either|whether)\b[^.;]*\Z")
_MAYBE = re.compile(
    r"\b(?:maybe|perhaps|possibly|presumably|supposedly|allegedly|might(?: have| be)?|may be|may have|could be"
    r"|could have"
    r"|could also be|i guess|my guess|guessing|a guess|candidates?|one of (?:these|the following)|likely|plausibl\w+"
    r"|would guess|assuming|if i had to)\b[^.;]*$"
)
_UNSURE = re.compile(
    r"\b(?:not (?:entirely |completely |quite |really |totally )?(?:sure|certain|clear)|unsure|uncertain|unclear"
    r"|i (?:really )?don't know|i do not know|can't tell|cannot tell|hard to (?:say|tell)|(?:can't"
    r"|cannot) (?:decide|say)"
    r"|depending on|it depends|depends on|take your pick|(?<!every )(?<!each )(?<!only )one of them\b(?! (?:is"
    r"|was|has|had|costs?|gave)\b)|pick one|who knows|just a guess|only a guess"
    r"|could (?:also )?be either|something like that|or something|or so(?:mewhere)?\b|no idea)\b"
)
_REFUSAL = re.compile(
    r"\b(?:unable|(?:could|can|was|did)(?:n't| not)(?: \w+){0,2} (?:determine|find|locate|access|see|open"
    r"|complete|say|tell"
    r"|answer|load|get|retrieve|check|verify|compute|calculate|work)|cannot|couldn't|failed|impossible|not (?:possible"
    r"|available|found|accessible)|no (?:answer|result|way|idea|information|data|access|permission)|sorry"
    r"|don't know|do not know"
    r"|(?:isn't|is not) (?:listed|shown|given)|n/a|error|timed out|log(?:ged)? in)\b"
)


def mark(text: str, start: int, end: int) -> str:
    """``text`` with the mark in place of a part, as far as it can concern that."""
    return text[max(0, start - REACH) : start] + MARK + text[end : end + REACH]


def _around(marked: str, boundary: re.Pattern[str]) -> tuple[str, str]:
    """What stands before and after the mark, up to the nearest boundaries."""
    before, _, after = marked.partition(MARK)
    ends = [match.end() for match in boundary.finditer(before)]
    first = boundary.search(after)
    return before[ends[-1] if ends else 0 :], after[: first.start()] if first else after


def is_asserted(marked: str, question: str) -> bool:
    """Whether what stands at the mark is said to be so: neither denied, doubted, compared with, nor one of a choice.

    >>> [is_asserted(text, "") for text in ("it is \\x01.", "it isn't \\x01", "\\x01 or tea", "maybe \\x01")]
    [True, False, False, False]
    """
    return not any(_objections(marked, question))


def _objections(marked: str, question: str) -> Iterator[bool]:
    before, after = _around(marked, _SENTENCE)
    free = _FREE.search(before + MARK + after) is not None
    for choice in () if free else (_CHOICE_BEFORE.search(before), _CHOICE_AFTER.search(after)):
        yield choice is not None and ("/" not in choice[0] or OTHER not in marked)
    yield not free and _EITHER.search(before) is not None and " or " in after + before
    yield _MAYBE.search(before) is not None
    yield _UNSURE.search(before + MARK + after) is not None
    yield re.search(r"\b(?:every\w*|all|any\w*|each)\b[^.;,]*\bbut (?:the )?\Z", before) is not None
    yield is_denied(marked)
    yield _DENIED_AFTER.search(after) is not None
    compared = _COMPARED_BEFORE.search(before)
    yield compared is not None and OTHER not in before and compared[0].split()[0] not in question
    yield _SET_ASIDE.match(after) is not None and re.search(r"\b(?:left|stock)\b", question) is None
    behind = _COMPARED_AFTER.search(after)
    ranked = re.search(r"\btop[- ](?:\d+|two|three|five|ten)\b", question) is not None
    yield behind is not None and not ranked and not set(behind[0].split()[-1:]) & set(question.split())
    yield re.match(r" (?:is|was|are|were|has) no longer\b| until \w", after) is not None
    yield re.match(r" (?:does|did|do|is|was|has)(?:n't| not)\s*(?:[.!]|$)", after) is not None
    yield re.search(r"\b(?:of|to|for) (?:another|a different|somebody else|someone else)\b", after) is not None
    yield re.match(r",? (?:but )?(?:actually|no,|wait|sorry|scratch that|correction)\b", after) is not None


def is_denied(marked: str) -> bool:
    """Whether what stands at the mark is said not to be so.

    >>> is_denied("it is 12, not \x01"), is_denied("it is 12, maybe \x01")
    (True, False)
    """
    before, _ = _around(marked, _SENTENCE)
    near, _ = _around(marked, _CLAUSE)
    denied = _DENIED_BEFORE.search(near)
    return _NEITHER.search(before) is not None or (denied is not None and not _RELATIVE.search(near[: denied.start()]))


def is_refusal(text: str) -> bool:
    """Whether the answer says that it knows of none, or can't tell."""
    return _REFUSAL.search(text) is not None or _UNSURE.search(text) is not None
