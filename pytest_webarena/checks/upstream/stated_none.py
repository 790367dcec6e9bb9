"""Whether an answer says that there is none of what is asked, in whatever words: "nobody", "not a single review"."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, content_words, stem
from pytest_webarena.checks.upstream.quantities import Quantity
from pytest_webarena.checks.upstream.scope import MONTH, Question, of_another_time_or_kind
from pytest_webarena.checks.upstream.stance import is_refusal

__all__ = ["says_none", "states_none"]

_ZERO = re.compile(
    r"\b(?:none(?: of (?:the|his|her|their|your|my|our|its|these|those"
    r"|all) (?P<those>[a-z]+(?: [a-z]+){0,2}))?|zilch|nil)\b"
    r"(?! other| but)|(?:^|[.,;:\n(] ?|\b(?:by|that|and|because|but|as|so|since)"
    r" )nobody\b(?! other| but)"
    r"|\bnothing(?! could be (?:loaded|opened|read|seen|done|determined))(?= (?:was |were |will |would |is "
    r"|can |could |has |at all|back|spent|of |on |in |for |from "
    r"|that |during|to be)"
    r"|[.,;!]|$)"
    r"|\bno (?P<noun>(?:[a-z'-]+ ){0,3}?[a-z'-]+)|\bnot (?:a single|any|one) (?P<single>(?:[a-z'-]+ ){0,2}?[a-z'-]+)"
    r"|(?:n't|\bnot|\bcannot|\bnever) (?:[a-z]+ ){0,3}?(?:anything\b|(?:any|a single)\b(?: (?P<any>(?:[a-z'-]+"
    r" ){0,2}?[a-z'-]+))?)"
    r"|(?:n't|\bnot|\bcannot) (?:be|get|receive|expect|have) (?:an? |your )(?P<one>(?:[a-z'-]+ ){0,2}?[a-z'-]+)"
    r"|\b(?:never|didn't|did not|hasn't|has not|haven't) (?:[a-z]+ )?(?:made|make|spen[dt]|b(?:uy|ought)"
    r"|order(?:ed)?|commit(?:ted)?)\b"
)
_NEVER_DONE = re.compile(
    r"\b(?:never|didn't|did not|hasn't|has not|haven't|have not) (?:[a-z]+ )?(?P<done>[a-z]+)"
    r"(?= (?:an?|any|anything|something)\b|\s*(?:[.,;]|$))"
)
_NOT_ZERO = re.compile(
    r"^[^.;]{0,40}?\b(?:other than|except|but|besides|more than|apart from|later|longer|fewer|less)\b"
)


def says_none(text: str, question: Question) -> bool:
    return not is_refusal(text) and any(True for _ in _zeros(text, question))


_NOT_OF_IT = re.compile(r"(?: [a-z]+){0,2}? (?:for|on|of) (?:the |your |its )?(?P<thing>[a-z]+)")


def _of_what_is_left_out(after: str, question: Question) -> bool:
    """Whether it is none of something that the question leaves out: "nothing for shipping"."""
    thing = _NOT_OF_IT.match(after)
    if thing is None or thing["thing"] in FUNCTION_WORDS or re.match(MONTH, thing["thing"]):
        return False
    left_out = rf"\b(?:cannot|can't|not|without|excluding|except)\b(?: [a-z]+){{0,3}} {thing['thing']}\b"
    return stem(thing["thing"]) not in question.words or re.search(left_out, question.text) is not None


def _zeros(text: str, question: Question) -> Iterator[re.Match[str]]:
    """Words for none of what is asked."""
    yield from (match for match in _NEVER_DONE.finditer(text) if stem(match["done"]) in question.words)
    for match in _ZERO.finditer(text):
        counted = match["noun"] or match["those"] or match["single"] or match["any"] or match["one"]
        if match[0].endswith(("nothing", "anything")) and _of_what_is_left_out(text[match.end() :], question):
            continue
        if counted is not None and not _named(counted, text[match.end() :], question):
            continue
        at = match.start() if match["noun"] or match["those"] else match.end()
        if of_another_time_or_kind(text[max(0, at - 300) : at], text[at : at + 300], question):
            continue
        if _NOT_ZERO.match(text[match.end() :]) or re.search(r"\b(?:not|n't|nobody|if)\s$", text[: match.start()]):
            continue
        yield match


_SPENDING = frozenset(map(stem, ("orders", "purchases", "refunds", "expenses", "money", "payments", "items")))


def _named(counted: str, after: str, question: Question) -> bool:
    words = [*counted.split(), *re.findall(r"[a-z'-]+", after)[:2]]
    named = question.counted or (question.words | _SPENDING if question.dimension == "money" else question.words)
    return words[:1] == ["one"] or any(stem(word) in named for word in words[:4])


def states_none(text: str, question: Question, found: Sequence[Quantity]) -> bool:
    these = re.search(r"\bnone of (?:them|these|those|which|whom)\b", text)
    told = these is not None and bool(content_words([text[these.end() : these.end() + 60]]) & question.words)
    rivals = [
        each
        for each in found
        if not (each.context or each.aside)
        and (these or each.noun is not False)
        and each.value
        and not (
            told and these and each.end < these.start() and not re.search(r"[.;\n]", text[each.end : these.start()])
        )
    ]
    return not rivals and not is_refusal(text) and any(True for _ in _zeros(text, question))
