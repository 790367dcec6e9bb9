"""Whether an answer says yes or no to what is asked, in whatever words, and nothing to the contrary."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_webarena.checks.upstream.folding import fold
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import is_refusal

__all__ = ["is_implied", "polarity_objection"]

_YES = re.compile(r"(?<!\w)(?:yes|yep|yeah|affirmative|correct|indeed|true)(?!\w)")
_NO = re.compile(
    r"(?<!\w)(?:no|nope|negative|false)(?!\w)(?=[,.;:!-]|\s*(?:$|\n)| - | (?:it|the|they|this|that|there|i|you|we"
    r"|he|she|not|since|because|as)\b)"
)
"""As an answer, not before what there is none of: "no issue"."""
_MISSING = re.compile(
    r"\b(?:does|do|did)(?:n't| not) exist\b|\bno such\b"
    r"|\bno\b[^.;\n]{0,80}\b(?:exists?|(?:was|were|be|been|is|are) found"
    r"|i could find)\b"
)
"""What is said not to exist is neither."""
_FEASIBLE = re.compile(
    r"(?P<not>\b(?:can(?:'t|not| not)|could(?:n't| not)|won't|will not|not (?:possible|reachable|doable|feasible|enough"
    r"|within)|n't (?:possible|reachable|doable|feasible|enough|within)|impossible|infeasible|too far"
    r"|(?:takes?|needs?|is|lasts?|of|you|it's)[^.;,\n\d]{0,20} (?:longer|more) than (?:an|one|1|the) hour"
    r"|(?:takes?|needs?|is) (?:well )?(?:over|beyond) (?:an|one|1|the) hour)\b)"
    r"|\b(?:it|you|that|this|one|yes|indeed|we|they) can\b(?!'t| not)|\b(?:doable|feasible)\b"
)
_OPPOSITES = {"clos": ("open", "opened", "reopened", "re-opened", "pending", "unresolved"), "reach": ("unreachable",)}
_NO_DENIAL = re.compile(r"\b(?:no|without a|without|beyond) (?:doubt|question)\b|\bnot only\b")
_OPENING = re.compile(
    r"(?:\b(?:i|i've|i'd|we|having|after|when|once)(?: (?:have|had|just|then|first))? (?P<done>opened)\b"
    r"|\b(?:i|i've|we|i have|i just) (?P<self>closed)\b|\b(?P<made>closed)(?= (?:the|my"
    r"|this) (?:[a-z]+ )?(?:tab|page|browser|window)\b)"
    r"|\b(?P<written>opened)(?= (?:by|on|in|at|last|the|your|my|it|this|that|(?:\d+|an?|one|two|three) [a-z]+"
    r" ago|yesterday)\b))"
)
"""To open an issue is to write it, or to look at it; it says nothing about its state."""
_ASKED = re.compile(r"[^.!?\n]*\?")
"""Who asks back ("Do you want me to close it?") says nothing."""


def polarity_objection(reference: str, answer: str, question: Question) -> str:
    """Why the answer does not say yes (or no) and nothing to the contrary: a rule's name; empty when it does.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("check if it is closed")
    >>> [polarity_objection("yes", text, asked) for text in ("Yes, closed.", "It is closed", "Yes, it is open", "No")]
    ['', '', 'shotgun', 'asserted']
    """
    text = re.sub(r"\bno\. ?(?=\d)", "#", _NO_DENIAL.sub("", fold(answer)).strip())
    if re.search(r"\b(?:yes|no)\W+(?:(?:or|and|maybe)\W+)*(?:yes|no)\b(?! (?:problem|doubt|need|issue))", text):
        return "shotgun"
    if is_refusal(text) or re.search(
        r"\b(?:maybe|perhaps|possibly|probably|might|or not|either|otherwise|unless"
        r"|only if)\b",
        text,
    ):
        return "asserted"
    if _MISSING.search(text):
        return "asserted"
    said = _said(text, question) | _implied(text, question)
    if said == {reference == "yes"}:
        return ""
    return "shotgun" if len(said) > 1 else "asserted"


def is_implied(answer: str, question: Question) -> bool:
    """Whether yes or no only follows from what the answer says of time or reach.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("Check if it can be reached in one hour")
    >>> [is_implied(text, asked) for text in ("It takes 40 minutes", "Yes, 40 minutes", "It is reachable")]
    [True, False, False]
    """
    text = fold(answer)
    return not _said(text, question) and bool(_implied(text, question))


def _said(text: str, question: Question) -> set[bool]:
    """Yes and no, as such or as the state that is asked after."""
    first = re.match(
        r"\W*(?:(?:answer|result|status|final answer)\W+)?(yes|no)\b(?=\W*$|\s?[^\w\s]|\n| (?:it|the|they|this"
        r"|that|there|i|you|we|he|she)\b)",
        text,
    )
    said = {first[1] == "yes"} if first else {True for _ in _YES.finditer(text)} | {False for _ in _NO.finditer(text)}
    for word, opposites in _OPPOSITES.items():
        if any(each.startswith(word) for each in question.words):
            said |= _states(word, opposites, text)
    return said


def _implied(text: str, question: Question) -> set[bool]:
    """Yes and no by what is said of how long it takes, and of whether it can be done."""
    if not any(each.startswith("reach") for each in question.words):
        return set()
    found = [match["not"] is None for match in _FEASIBLE.finditer(text)]
    found += [minutes <= 60 for minutes in _durations(text)]
    return {False} if False in found else set(found)


_DURATION = re.compile(
    r"(?<![\w.:,])(?:(?P<h>\d{1,2}):(?P<m>\d\d)(?!\d)"
    r"|(?P<hours>\d+(?:\.\d+)?|an?|one|two|three|four|five)(?P<half> and a half)?[ -]?(?:hours?|hrs?|h)\b"
    r"(?:,? ?(?:and )?(?P<minutes>\d{1,2}) ?(?:min\w*|m)\b)?|(?P<only>\d+)[ -]?(?:minutes?|mins?)\b)"
)
_LIMIT_BEFORE = re.compile(
    r"\b(?:in|within|under|than|of|inside|exceeds?|the|that|over|below|beyond|for|every|limit|=|<) ?\Z|[<>]\s?\Z"
)


def _durations(text: str) -> list[float]:
    """The minutes that folded ``text`` says it takes; not the limits that it compares them with.

    >>> _durations("it takes 1:20, which is over the one hour limit; by bike 2 h 5 min")
    [80.0, 125.0]
    """
    words = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
    found = []
    for match in _DURATION.finditer(text):
        if match["only"]:
            minutes = float(match["only"])
        else:
            given = match["h"] or match["hours"]
            minutes = 60 * (words.get(given) or float(given)) + float(match["m"] or match["minutes"] or 0)
            minutes += 30 if match["half"] else 0
        if not (minutes == 60 and _LIMIT_BEFORE.search(text[: match.start()])):
            found.append(minutes)
    return found


def _states(word: str, opposites: Sequence[str], text: str) -> set[bool]:
    """Whether the text calls the thing what the question asks (``word`` begins it) or its opposite."""
    actions = {match.end(group) for match in _OPENING.finditer(text) for group in ("done", "self", "made", "written")}
    said: list[bool] = []
    text = _ASKED.sub(lambda found: " " * len(found[0]), text)
    for match in re.finditer(rf"\b{word}(?!(?:e|es|ing)\b)\w*|\b(?:{'|'.join(opposites)})\b", text):
        if match.end() in actions:
            continue
        before = text[max(0, match.start() - 45) : match.start()]
        clause = re.split(r"[,.;:!\n]| but | and | so | - ", before)[-1]
        if re.search(r"\b(?:whether|if|check)\b", clause):
            continue
        denied = re.search(r"\b(?:not|never|cannot|no)\b|n't\b|\byet to be\b", clause) is not None
        said.append(denied != match[0].startswith(word))
    return set(said[-1:] if re.search(r"\bre-?opened\b", text) else said)
