"""Addresses in answers: of pages and mail, of which a longer one is another, and of houses, of which two are two."""

from __future__ import annotations

import itertools
import re

__all__ = ["another_house", "holds_address", "is_address"]

_ADDRESS = re.compile(r"https?://\S+\w|[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_GOES_ON = re.compile(r"[.-]?\w|@")
_STREETS = r"Lane|Street|Road|Row|Square|Quay|Avenue|Alley|Hill|Gate|Yard|Way|Place|Court|Close|Terrace"
_HOUSE = re.compile(
    rf"\b(?P<number>\d+[a-z]?),? (?P<street>(?:[A-Z][\w'-]* ){{1,2}}(?:{_STREETS}))\b"
    rf"|\b(?P<street_>(?:[A-Z][\w'-]* ){{1,2}}(?:{_STREETS})),? (?P<number_>\d+[a-z]?)\b"
)
_NEXT = re.compile(r"\s*(?:[,;/&\n]|\band\b|\bor\b|\balso\b|\s)*\s*")


def is_address(text: str) -> bool:
    """Whether all of a text is the address of a page or of mail.

    >>> is_address("http://shop.test/a.git"), is_address("ann@shop.test"), is_address("12 Mill Lane")
    (True, True, False)
    """
    return _ADDRESS.fullmatch(text) is not None


def holds_address(address: str, text: str) -> bool:
    """Whether an address stands in ``text``, and not as a part of a longer name of a host, mailbox or file.

    >>> [holds_address("ann@shop.test", each) for each in ("is ann@shop.test.", "ann@shop.test.com", "joann@shop.test")]
    [True, False, False]
    """
    begins = r"[\w.+-]\Z" if "@" in address else r"\w\Z"
    return any(
        not _GOES_ON.match(text, found.end()) and not re.search(begins, text[: found.start()])
        for found in re.finditer(re.escape(address), text)
    )


def another_house(answer: str, said: str) -> str:
    """A second address of a house that an answer lists next to the one that is ``said``; empty when there is none.

    >>> [another_house(text, "4 Mill Lane") for text in ("4 Mill Lane, 2 Bay Road", "4 Mill Lane, near 2 Bay Road")]
    ['2 Bay Road', '']
    """
    houses = list(_HOUSE.finditer(answer))
    ours = next((each for each in houses if _key(each) == _key(_HOUSE.search(said))), None)
    for one, two in itertools.pairwise(houses):
        if ours and _key(one) != _key(two) and _NEXT.fullmatch(answer[one.end() : two.start()]):
            return (two if _key(one) == _key(ours) else one)[0]
    return ""


def _key(house: re.Match[str] | None) -> tuple[str, ...]:
    if house is None:
        return ()
    return (house["number"] or house["number_"]).casefold(), (house["street"] or house["street_"]).casefold()
