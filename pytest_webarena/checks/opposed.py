"""Whether an answer gives a number as the one that is asked for, or speaks against it, or only bounds it."""

from __future__ import annotations

import re
from decimal import Decimal
from fractions import Fraction

from pytest_webarena.checks.numbers import final_answer, mask_words, numbers_in
from pytest_webarena.text import clip

__all__ = ["NOT", "opposed"]

NOT = r"\w+n't|(?:ai|are|ca|could|did|do|does|had|has|have|is|must|should|wo|was|were|would)nt"
"""Contracted denials. Without the apostrophe only known ones are: *spent*, *amount* and *cent* end so, too."""
_AROUND = r"[\s\"'*_(]*[$€£¥]?\s*$"
# Few words may stand between, for much else is denied in a right answer: "not counting the postage, 84.97".
_DENIED = re.compile(
    rf"(?:\b(?:not|never|cannot|{NOT}|none\s+of\s+(?:\w+\s+){{1,3}}(?:is|are|was|were|costs?|has|have)|nothing\s+is"
    r"|(?:anything|everything)\s+(?:else\s+)?(?:but|than|except)|rather\s+than|instead\s+of)"
    r"(?:\s+(?:exactly|equal\s+to|the|a|be|been|have|has|cost|about|really|necessarily|likely))*|≠|!=)" + _AROUND,
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"[\"'*_)]*\s*(?:\?|(?:is|was)(?:n't|\s+not)\s+(?:it\b|(?:the\s+)?(?:correct|right|true|answer))"
    r"|(?:is|was|seems|looks|would\s+be|must\s+be)\s+(?:\w+\s+)?(?:wrong|incorrect|false|impossible|not\s+it)\b"
    r"|[,(:]?\s*(?:is\s+)?(?:wrong|incorrect|false)\b|,\s*(?:\w+\s+){0,2}not\s*[.!]*\s*$)",
    re.IGNORECASE,
)
_BOUNDED = re.compile(
    r"(?:\b(?:(?:less|more|greater|fewer|smaller|larger|bigger|higher|lower|other)\s+than(?:\s+or\s+equal\s+to)?"
    r"|at\s+(?:least|most)|over|under|above|below|exceed(?:s|ing)?)|[<>≤≥]=?)(?:\s+(?:about|roughly|around))?"
    + _AROUND,
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\s*(?:(?:or|and)\s+(?:more|less|fewer|greater|higher|lower|above|below|over|under|upwards?)\b|\+(?!\s*\d)"
    r"|at\s+(?:least|most)\b)",
    re.IGNORECASE,
)
_FAR = 80
"""Characters that are looked at on each side."""


def opposed(text: str, number: Decimal | Fraction) -> str:
    """Why the only ``number`` of an answer is not given as what is asked for; empty when it is.

    >>> opposed("It is not 408.", Decimal(408)), opposed("less than 5", Decimal(5)), opposed("Not 3: 5", Decimal(5))
    ('it speaks against 408', 'it only bounds 5', '')
    """
    plain = mask_words(final_answer(text).replace("\u2019", "'"))
    bounds = []
    wanted = Fraction(number)
    for said in dict.fromkeys(token.text for token in numbers_in(plain) if wanted in token.values):
        for place in re.finditer(rf"(?<![\w.]){re.escape(said)}", plain):
            before, behind = plain[max(0, place.start() - _FAR) : place.start()], plain[place.end() :][:_FAR]
            if _DENIED.search(before) or _WRONG.match(behind):
                return f"it speaks against {clip(said, 20)}"
            bounds.append(f"it only bounds {clip(said, 20)}" if _BOUNDED.search(before) or _OPEN.match(behind) else "")
    return bounds[0] if bounds and all(bounds) else ""
