"""What a quantity is the number of: what the question asks, something else, or a part of which more is said."""

from __future__ import annotations

import re

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, stem
from pytest_webarena.checks.upstream.quantities import Quantity
from pytest_webarena.checks.upstream.scope import Question

__all__ = ["counts_others", "predicate_of_part"]

REACH = 120
"""Characters behind a number that are looked at."""
_GENERIC = frozenset(
    map(stem, "time result record entries instance case match occurrence hit row one thing total pcs".split())  # noqa: SIM905
)
_ALIKE = tuple(
    frozenset(map(stem, words.split()))
    for words in (
        "reviews comments ratings feedback opinions testimonials mentions",
        "orders purchases transactions cancellations",
        "items products units pieces articles goods", "commits contributions changes pushes revisions",
        "followers people users persons accounts members fans", "stars points marks",
        "comments replies posts responses",
        "customers buyers people shoppers clients reviewers", "cents dollars",
    )
)  # fmt: skip
_SINGULAR = re.compile(
    r"(?:costs|belongs|includes|contains|was|is|has|does|shows|lists|needs|remains|counts|appears|comes|refers|amounts"
    r"|equals|matches|gives|gets|makes|reads|says|means|stands|was|this|its|his|across|plus|minus|as|us|yes|\w*ss)\b"
)


_OF_THEM = re.compile(r" (?:[a-z]+ )?of (?:them|these|those|which|whom)\b")
_OF_THEM_BEFORE = re.compile(r"\bof (?:them|these|those|which|whom),? (?:only |just |exactly )?\Z")


def predicate_of_part(each: Quantity, text: str) -> str | None:
    """What is said of a part: "2 of them are new", "of which 2 are new"; None when it is no part of something named."""
    after = text[each.end : each.end + REACH]
    if match := _OF_THEM.match(after):
        after = after[match.end() :]
    elif not _OF_THEM_BEFORE.search(text[max(0, each.start - 40) : each.start]):
        return None
    return re.split(r"[.;,\n()]| but | and ", after)[0]


def _says_something_else(predicate: str, question: Question) -> bool:
    words = {stem(word) for word in re.findall(r"[a-z]{3,}", predicate)} - {stem(word) for word in FUNCTION_WORDS}
    return bool(words) and not words & question.words


def counts_others(each: Quantity, text: str, question: Question) -> bool:
    """Whether the plural behind it is neither of the question nor another word for what it counts."""
    if question.counted and (said := predicate_of_part(each, text)) and _says_something_else(said, question):
        return True
    head = ""
    for word in _following(text[each.end : each.end + 60]).split():
        if word in FUNCTION_WORDS:
            break
        head = word
        if word.endswith("s"):
            break
    if not head.endswith("s") or _SINGULAR.match(head):
        whole = re.match(r" (?P<of>[a-z]+) of (?:the |your |my )?(?P<what>[a-z]+)", text[each.end : each.end + 60])
        head = whole["of"] if whole and stem(whole["what"]) in question.counted else ""
    if not head:
        return False
    if question.dimension == "code":
        return True
    asked = question.counted or question.words
    if not asked:
        return False
    known = question.words | _GENERIC | frozenset().union(*(alike for alike in _ALIKE if alike & asked))
    return stem(head) not in known


def _following(text: str) -> str:
    words = re.match(r"(?: [a-z][a-z'-]*){1,3}", text)
    return words[0] if words else ""
