"""What an element and the rows around it must read, for the replay: as parts of Playwright's selectors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

__all__ = ["readings"]

_QUOTES = '\\"`'
"""Left out of both sides, with apostrophes: selectors have no way to quote all of them."""


def readings(reads: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """What follows the selector of an element so that it is found only where it and the rows around it read as they did
    (`TargetRecord.reads`); then only where they do so but for numbers and nothing else of their kind does, or did.

    >>> [told.count("count(") for told in readings([("button", "Delete"), ("li", "Mug Delete")])]
    [0]
    >>> [told.count("count(") for told in readings([("button", "Delete"), ("li", "Mug 3 Delete")])]
    [0, 1]
    >>> [told.count("count(") for told in readings([("button", "Delete"), ("li", "Mug 3 Delete", "numbers")])]
    [0]
    """
    yield _part(reads, numbers=True)
    if any(re.search(r"\d", each[1]) for each in reads) and not any(each[2:] for each in reads):
        yield _part(reads, numbers=False)


def _part(reads: Sequence[tuple[str, ...]], *, numbers: bool) -> str:
    (tag, own, *_), *around = reads
    found = f"//*{_is(tag)}{_reads(tag, own, numbers)}"
    found += "".join(f"[ancestor::*{_is(each)}{_reads(each, text, numbers)}]" for each, text, *_ in around if text)
    return f" >> internal:and={json.dumps(f'xpath={found}', ensure_ascii=False)}"


def _is(tag: str) -> str:
    return "" if tag == "*" or "'" in tag else f"[local-name()='{tag}']"


def _reads(tag: str, text: str, numbers: bool) -> str:
    if not text:
        return ""
    said, left_out = "normalize-space(translate(.,'\xa0',' '))", ""
    if any(sign in text for sign in f"{_QUOTES}'"):
        said, left_out = f"""translate(translate({said},'{_QUOTES}',''),"'",'')""", f"{_QUOTES}'"
    if alone := not numbers and bool(re.search(r"\d", text)):
        said, left_out = f"translate({said},'0123456789','')", f"{left_out}0123456789"
    kept = text.translate(dict.fromkeys(map(ord, left_out)))
    reads = f"[{said}='{kept}']"
    return f"{reads}[count(//*{_is(tag)}{reads})=1]" if alone else reads
