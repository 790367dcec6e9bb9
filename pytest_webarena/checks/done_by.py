"""Whether an answer to "Who closed it?" names the wanted one for another deed, or says that nobody did this one."""

from __future__ import annotations

import re
from collections.abc import Sequence

__all__ = ["said_of_another"]

_WHO = re.compile(
    r"\bwho (?:has |had )?(?:(?:was|is|were) the (?P<rank>first|last) to (?P<infinitive>[a-z]+)|(?P<verb>[a-z]+))\b"
)
_NO_DEED = {
    *"is was are were has had have does did can may will would else of in on gave likes liked".split()  # noqa: SIM905
}
_PERSON = r"(?:[A-Z][\w'-]+(?: [A-Z][\w'-]+)+|@?[A-Za-z]\w*[._]\w+)(?: \([^()\n]{1,40}\))?"
_DEEDS = (
    r"(?:opened|closed|created|wrote|written|made|added|changed|edited|removed|reported|assigned|started|founded|built"
    r"|forked|merged|reviewed|approved|posted|commented|banned|deleted|filed|raised|began|maintained|painted|designed)"
)


def said_of_another(answer: str, wanted: Sequence[str], question: str) -> str:
    """Why an answer names whom it should, but for something else than what is asked; empty when it doesn't.

    >>> who = "Who closed the issue?"
    >>> [said_of_another(text, ["Ann Lee"], who) for text in (
    ...     "Ann Lee opened it; Bo Ray closed it.", "Opened by Ann Lee, not closed yet", "Ann Lee closed it.")]
    ['it says that it was Bo Ray', 'it says that nobody did it', '']
    """
    asked = _WHO.search(question.casefold())
    if asked is None or (asked["verb"] or asked["infinitive"]) in _NO_DEED:
        return ""
    if asked["rank"]:
        did = rf"(?:was|is) the {asked['rank']}(?: one| person)?(?: to {asked['infinitive']}\b)?"
        passive = rf"{asked['rank']} {asked['infinitive']}e?d by"
    else:
        did, passive = rf"(?:has |had )?{asked['verb']}\b", rf"{asked['verb']} by"
    names = [name.casefold() for name in wanted]
    doers = [
        found["doer"]
        for pattern in (rf"(?P<doer>{_PERSON})(?: then| also| later)? {did}", rf"{passive} (?P<doer>{_PERSON})")
        for found in re.finditer(pattern, answer)
    ]
    if any(_same(doer, names) for doer in doers):
        return ""
    if doers:
        return f"it says that it was {doers[0]}"
    verb, low = asked["verb"] or "\0", answer.casefold()
    undone = re.search(rf"(?:\b(?:not|never)|n't)\s+(?:yet\s+)?(?:been\s+)?{verb}\b|\b(?:is|remains) still open\b", low)
    other = re.search(rf"\b{_DEEDS}\b", low.replace(verb, " "))
    return "it says that nobody did it" if undone and other else ""


def _same(doer: str, names: Sequence[str]) -> bool:
    told = doer.casefold()
    return any(name in told or told.removeprefix("@") in name for name in names)
