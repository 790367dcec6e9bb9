"""Conditions on the text of an element and of the rows around it, as parts of Playwright selectors, for replays."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

__all__ = ["text_filters"]

_QUOTES = '\\"`'
"""Characters that are removed from both sides, with apostrophes, because XPath has no way to quote all of them."""


def text_filters(reads: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Suffixes of an element's selector that match only where the element and the rows around it have the recorded text
    (`TargetRecord.reads`); then one that ignores numbers, where no other element of its kind has the same text now or
    had it in the recording.

    >>> [suffix.count("count(") for suffix in text_filters([("button", "Delete"), ("li", "Mug Delete")])]
    [0]
    >>> [suffix.count("count(") for suffix in text_filters([("button", "Delete"), ("li", "Mug 3 Delete")])]
    [0, 1]
    >>> [suffix.count("count(") for suffix in text_filters([("button", "Delete"), ("li", "Mug 3 Delete", "numbers")])]
    [0]
    """
    yield _part(reads, numbers=True)
    if any(re.search(r"\d", each[1]) for each in reads) and not any(each[2:] for each in reads):
        yield _part(reads, numbers=False)


def _part(reads: Sequence[tuple[str, ...]], *, numbers: bool) -> str:
    (tag, own, *_), *ancestors = reads
    found = f"//*{_is(tag)}{_reads(tag, own, numbers)}"
    found += "".join(f"[ancestor::*{_is(each)}{_reads(each, text, numbers)}]" for each, text, *_ in ancestors if text)
    return f" >> internal:and={json.dumps(f'xpath={found}', ensure_ascii=False)}"


def _is(tag: str) -> str:
    return "" if tag == "*" or "'" in tag else f"[local-name()='{tag}']"


def _reads(tag: str, text: str, numbers: bool) -> str:
    if not text:
        return ""
    expression, removed = "normalize-space(translate(.,'\xa0',' '))", ""
    if any(sign in text for sign in f"{_QUOTES}'"):
        expression, removed = f"""translate(translate({expression},'{_QUOTES}',''),"'",'')""", f"{_QUOTES}'"
    if alone := not numbers and bool(re.search(r"\d", text)):
        expression, removed = f"translate({expression},'0123456789','')", f"{removed}0123456789"
    kept = text.translate(dict.fromkeys(map(ord, removed)))
    reads = f"[{expression}='{kept}']"
    return f"{reads}[count(//*{_is(tag)}{reads})=1]" if alone else reads
