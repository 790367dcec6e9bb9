"""Whether an answer says in its own words that a task can't be done, and gives that as what it found out."""

from __future__ import annotations

import re

from pytest_webarena.checks.numbers import numbers_in
from pytest_webarena.checks.plain_answers import unmarked
from pytest_webarena.checks.text import normalise

__all__ = ["declines"]

_LONGEST = 600
"""Characters. A reason needs no more; who says more says other things, too."""
_NOT = r"(?:n't| not|not)"
_CAN_NOT = re.compile(
    rf"\b(?:can{_NOT}|can't|cannot|could{_NOT}|may not|must not) (?:\w+ ){{0,3}}?(?:be \w+|do|see|access|change|edit"
    rf"|book|pin|lock|move"
    r"|remove|delete|cancel|merge|restore|read|open|answer|tell|give|set|create|start|subscribe|view|manage|use"
    r"|make|find out)\b"
    r"|(?:\bnot possible|\bis impossible|'s impossible|\bimpossible (?:to|for|because|here|on)|\bunachievable"
    r"|\binfeasible)\b|\bthere(?:'s| is) no way\b|\bcan't be done\b"
    rf"|\b(?:is|are|was|were|am|i'm){_NOT} (?:\w+ )?(?:able|allowed|permitted|authori[sz]ed|supported|possible"
    rf"|available)\b"
    r"|\bunable to\b"
)
"""It is not in somebody's power."""
_NO_RIGHT = re.compile(
    r"\b(?:no|lacks?|without|missing|insufficient|(?:don't|do not|doesn't|does not) have(?: the| any| enough)?)"
    r" (?:\w+ )?(?:permissions?|rights?|access|authority|privileges?)\b|\b(?:access|permission) (?:is |was )?denied\b"
    r"|\bonly (?:the |its |an? )?(?:[\w']+ ){0,3}(?:can|may|is allowed|are allowed|has|have)\b|\bforbidden\b"
    r"|\bno longer\b"
)
_THERE_IS_NONE = re.compile(
    rf"\bthere(?:'s| is| are| was| were) (?:no|none)\b|\bno such\b|\b(?:does|do|did){_NOT} exist\b|\bhas no\b"
    rf"|\bhave no\b"
    rf"|\bthere (?:is|are|was|were){_NOT}\b"
    rf"|\b(?:is|are|was|were){_NOT} (?:\w+ )?(?:given|listed|recorded|mentioned|known|told|stated|shown|documented"
    rf"|published|named|said"
    r"|the \w+ of)\b"
    rf"|\b(?:does|do|did){_NOT} (?:say|tell|mention|list|give|contain|show|state|name|have|offer|support|allow"
    rf"|provide|let|record|know"
    r"|include)\b|\bno [\w ]{1,40} (?:is|are|was|were) (?:given|listed|recorded|mentioned|known|told|stated|shown"
    r"|named)\b"
    r"|\bnothing (?:says|tells|mentions)\b|\bno function\b|\bno option\b|\bno feature\b|\bnobody can\b"
)
_GAVE_UP = re.compile(
    r"\b(?:(?:out of|more|enough) (?:time|steps)|timed? ?out|time-?out|error|crash\w*|try(?:ing)? again|later"
    r"|load(?:ed|ing)?|captcha"
    r"|not sure|unsure|maybe|perhaps|probably|possibly|seems?|guess\w*|appears?|i (?:don't|do not) know|no idea"
    r"|give up|gave up"
    r"|(?:did not|didn't|have not|haven't) (?:look|check|try|visit|open|read|search)\w*|ai|language model|policy"
    r"|unethical"
    r"|assistant|browser|sign(?:ed)? in|log(?:ged)? in|unfinished|could (?:be|have)|might)\b|\?"
)
_CONTRARY = re.compile(
    r"\b(?:but|however|although|though|instead|nevertheless|nonetheless|anyway|yet|still|even so|except|unless"
    r"|otherwise|so i(?! can't| cannot| can not| could))\b"
)
_DEED = re.compile(
    r"\b(?:i|we)(?:'ve| have|'d| had)? (?:just |now |already |also )?(?!looked|searched|checked|tried|visited"
    r"|opened|needed"
    r"|browsed|viewed|reviewed|asked|was|am|read)(?:\w+ed|made|wrote|sent|put|set|did|left|gave|took)\b"
    r"|\b(?:is|was|are|were|has been|have been) (?:now )?(?!not\b)(?:\w+ed|done) (?:now|successfully|as)\b"
    r"|\bdone\b(?<!be done)"
    r"|\bsuccess\w*"
)


def declines(answer: str, question: str, reason: str = "") -> bool:
    """Whether an answer says, without further ado, that what is asked for is not there, not possible or not allowed.

    Not so who gives up, doubts, does something all the same, or gives a value: a number that neither the question
    nor the task's own ``reason`` has.

    >>> [declines(text, "Who pinned it?") for text in ("Issues can't be pinned.", "I ran out of time.", "Not Ann: Bo")]
    [True, False, False]
    """
    text = normalise(unmarked(answer))
    if not text or len(text) > _LONGEST:
        return False
    if _GAVE_UP.search(text) or _CONTRARY.search(text) or _DEED.search(text):
        return False
    if any(character.isdigit() for character in text):
        known = {token.value for told in (question, reason) for token in numbers_in(told)}
        if any(token.value not in known for token in numbers_in(text)):
            return False
    asked = normalise(question)  # whose words, said again, say nothing
    said = (found[0] for pattern in (_CAN_NOT, _NO_RIGHT, _THERE_IS_NONE) for found in pattern.finditer(text))
    return any(each not in asked for each in said)
