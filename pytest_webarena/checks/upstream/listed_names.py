"""The names of an answer, and those among them that stand in one list with what is asked for."""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, fold, stem
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import OTHER

__all__ = ["PREPOSITIONS", "USUAL", "is_ordinary", "names_in", "rival_name"]

_NAME = re.compile(r"(?<![\w'-])[A-Z][\w'-]*")


def is_ordinary(word: str, question: Question) -> bool:
    return word in FUNCTION_WORDS or stem(word) in question.words or word in USUAL


USUAL = frozenset(
    """
    run use try type enter execute command
    paid bought ordered wins won contributed committed tops topped
    brand product type author account contributor buyer person reviewer item items operator address website
    company shopper lead belongs belong
    top best highest most run runs operates operated handles handled manages managed sold
    sells made sits stands leads led placed holds followed it's that's there's called titled term word search
    query searched repo repository project email mail customer's phone number telephone zip code postal
    postcode url site web token feed
    """.split()  # noqa: SIM905 - a list is no easier to read
)


@functools.lru_cache(maxsize=512)
def names_in(answer: str) -> frozenset[str]:
    """The folded words with a capital."""
    return frozenset(word for match in _NAME.findall(answer) for word in re.findall(r"[\w']+", fold(match)))


_BESIDE = re.compile(
    rf"{OTHER}(?:'s)?(?: \([^()]*\))?(?:,? and |, | & )(?P<item>[^,.;:\n(){OTHER}]{{2,60}}?)(?=$|[.;:\n,()]| and )"
)
_FIRST = re.compile(rf"(?:^|[\n.:;(,])\s*(?P<before>[^,.;:\n(){OTHER}]{{2,80}})(?=(?:,? and |, | & ){OTHER})")
_LINE = re.compile(rf"(?<=\n)(?P<item>[^,.;:\n(){OTHER}]{{2,60}})(?=\n|\Z)")


def rival_name(marked: str, names: frozenset[str], question: Question, *, small: bool = False) -> str:
    """A name that stands in one list with the references (``OTHER``), or on a line of its own between theirs.

    ``small``: names are written in small letters, so that any single word may be one.
    """
    lines = marked.split("\n")
    listed = sum(line.strip() == OTHER for line in lines) > 0 and len(lines) > 1
    for match in (*_BESIDE.finditer(marked), *(_LINE.finditer("\n" + marked) if listed else ())):
        words: list[str] = match["item"].split()
        named = [word for word in words[:4] if word in names and not is_ordinary(word, question)]
        single = small and len(words) == 1 and match.re is _BESIDE and re.fullmatch(r"[a-z][\w.-]*", words[0])
        if single and not is_ordinary(words[0], question) and not words[0].endswith("ly"):
            return words[0]
        if named and words[0] in names and words[0] not in FUNCTION_WORDS and (match.re is _BESIDE or len(words) <= 4):
            return " ".join(words[:4])
    for match in _FIRST.finditer(marked):
        if run := _first_item(match["before"], names, question):
            return run
    return ""


def _first_item(before: str, names: frozenset[str], question: Question) -> str:
    """The name with which a list of references begins; empty when none does."""
    words = before.split(" ")
    run: list[str] = []
    while words and words[-1] in names and words[-1] not in FUNCTION_WORDS and len(run) < 4:
        run.insert(0, words.pop())
    led_by = words[-1] if words else ""
    if not run or all(is_ordinary(word, question) for word in run) or led_by in PREPOSITIONS:
        return ""
    return "" if not led_by and len(run) == 1 and run[0] in _INTERJECTIONS else " ".join(run)


PREPOSITIONS = frozenset(
    """
    in on at for to from of near with within under after since during beside besides
    """.split()  # noqa: SIM905 - a list is no easier to read
)
_INTERJECTIONS = frozenset(
    """
    sure certainly ok okay done hello hi great finally overall currently well here indeed actually altogether two
    three four five six seven eight nine ten alphabetically clockwise geographically absolutely right correct
    """.split()  # noqa: SIM905 - a list is no easier to read
)
