"""Words around a number: other ways to write it, those that bound or deny it, those that say nothing."""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.units import read_unit

__all__ = ["objection", "rewritten"]

_INVERSE = re.compile(r"\b(sin|cos|tan)\s*\^\s*\(\s*-\s*1\s*\)")
_ROOT = re.compile(
    r"\b(?:the\s+)?(?:(square)|cub(?:e|ic))\s+root\s+of\s+(\d+(?:\.\d+)?(?:/\d+)?)(?![\w^!*/(]|[.,]\d)", re.IGNORECASE
)
_EVENT = re.compile(r"\b(Pr?|[A-Za-z])\s*[(\[]([^()\[\]]{1,60})[)\]]\s*(?=[=≈])")
_ABSOLUTE = re.compile(r"(?<![\w|])\|([-+]?[\d(√][^|\n]{0,40})(?<! )\|(?!\w)")
_LOGARITHM = re.compile(r"\blog\s*_\s*\(?\s*(\d+)\s*\)?|\blog(10|2)(?=\s*\(|\s)|\blg(?=\s*\(|\s)")
_UNITS = re.compile(r"\bunits?\s*\^\s*\(?[23]\)?|\b(?:square|cubic|sq\.?|cu\.?)\s+units?\b")
_FLAT_POWER = re.compile(
    r"(?<=/)(s|m|[cmkd]m|K|kg|mol)([1-4])(?![\w.])|(?<=[A-Za-z ).*])(s|m|[cdk]m|K|kg|mol|L)(-[1-4])(?![\w.])"
    r"|(?<=\d)( ?[cmkd]?m)([23])(?![\w.])|(?<=\d )([cmkd]?m)([23])(?![\w.])"
)
_TEN = re.compile(
    r"\s*(?:times|\*|x)\s*(?:10|ten)\s+(?:raised\s+)?to\s+the\s+(?:power\s+(?:of\s+)?)?(-|minus\s+|negative\s+)?(\d+)(?:th)?"
    r"(?:\s+power)?\b",
    re.IGNORECASE,
)
_MINUS = re.compile(r"(?<![\d)%] )(?<!\b[A-Za-z] )\b(?:minus|negative)\s+(?=[\d.(]|sqrt|root|pi\b)", re.IGNORECASE)
_OF = re.compile(r"(\d+)\s+(?:out\s+of|in)\s+(\d+)")


def _event(found: re.Match[str]) -> str:
    """``P(X = 2)`` as ``P``, but ``v (km/h)`` tells its unit."""
    unit = read_unit(found[2].removeprefix("in ").strip())
    return found[0] if unit is not None and len(found[2]) > 1 else f"{found[1]} "


def rewritten(text: str) -> str:
    """``text``, from `plain_math`, in the signs of formulas where words or code stand for them.

    >>> rewritten("minus 3"), rewritten("1.5 times 10 to the power of 6")
    ('-3', '1.5*10^(6)')
    """
    for pattern, instead in ((_EVENT, _event), (_ABSOLUTE, r"abs(\1)"), (_UNITS, "units"), (_MINUS, "-")):
        text = pattern.sub(instead, text)
    text = _TEN.sub(lambda found: f"*10^({'-' if found[1] else ''}{found[2]})", text)
    text = _LOGARITHM.sub(lambda found: f" logq{_letters(found[1] or found[2] or '10')} ", text)
    text = _FLAT_POWER.sub(lambda found: "^".join(part for part in found.groups() if part), text)
    text = _INVERSE.sub(r"arc\1", text)
    text = _ROOT.sub(lambda found: f" {'sqrt' if found[1] else 'cbrt'}({found[2]}) ", text)
    text = " ".join(text.replace("+/-", "±").replace("+-", "±").split())
    if (ratio := _OF.fullmatch(text)) is not None:
        return f"{ratio[1]}/{ratio[2]}"
    return text


def _letters(digits: str) -> str:
    """The base of a logarithm so that it is no number in the text."""
    return "".join("abcdefghij"[int(digit)] for digit in digits)


_BOUND_BEFORE = re.compile(
    r"(?:\b(?:(?:less|more|greater|fewer|smaller|larger|bigger|higher|lower|better|worse|other)\s+than(?:\s+or\s+equal\s+to)?"
    r"|at\s+(?:least|most)|(?<!add )(?<!adds )(?<!sums )(?<!sum )up\s+to"
    r"|over|under|below|above|beyond|exceed(?:s|ing)?|within"
    r"|bounded\s+by|starting\s+(?:from|at)|in\s+the\s+range(?:\s+of)?|between|[\d%][\s\w/^°%]{0,8}\s+to)\s|(?<![\w])[A-Za-z]\s*→|[<>≤≥≲≳])\s*(?:(?:about|approximately|roughly|around)\s+)?[(~≈]?$",
    re.IGNORECASE,
)
_BOUND_BEHIND = re.compile(
    r"^\s*(?:(?:or|and)\s+(?:more|less|fewer|greater|higher|lower|above|below|over|under|up|upwards?|larger|smaller|beyond)\b"
    r"|(?:at\s+(?:least|most|minimum|maximum)|upwards?|max\.?|minimum|maximum)\s*[.)]*$|\+(?!\s*[\d(.\w])"
    r"|(?:to|-|–|through)\s+(?:infinity|∞)|\.{2,}\s*\d|[,;]?\s*but\s+(?:\w+\s+){0,2}(?:larger|smaller|more|less|higher|lower|greater)\b)",
    re.IGNORECASE,
)
_WORK_BEFORE = re.compile(
    r"\b(?:(?:half|third|quarter|fourth|fifth|tenth|squares?|cubes?|roots?|reciprocal|inverse"
    r"|(?<!\ba )(?:sum|product|difference)|negative"
    r"|opposite|logarithm|factorial|multiple|power|times|dozens?|pairs?)\s+of(?:\s+the)?|half|twice|double|triple|thrice|times|plus"
    r"|minus|divided\s+by|multiplied\s+by|modulo|mod|log|two|three|four|five|six|seven|eight|nine|ten|twelve|twenty"
    r"|hundred|thousand|(?:square|cube|cubic)\s+root)\s+$",
    re.IGNORECASE,
)
_WORK_BEHIND = re.compile(
    r"^\s*(?:squared|cubed|factorial|choose\b|plus\s|minus\s|times\s(?!(?:larg|great|small|bigg|high|long|fast)er\b|more\b|ten\b|as\b|in\b|per\b|a\b|out\b)|divided\s+by|multiplied\s+by"
    r"|over\s+\(?(?:\d|[a-z]\b|two|three|four|pi)|to\s+the\s+(?:power\b|(?!(?:nor|sou)th\b)\w+th\b|minus\b)|raised\b|(?:mod|modulo)\b"
    r"|and\s+(?:a|one|two|three)[\s-]+(?:half|halves|thirds?|quarters?|fourths?)|[-\s]?(?:halves|thirds|fourths|quarters|fifths|sixths|eighths"
    r"|tenths|hundredths)\b|half\b)",
    re.IGNORECASE,
)
_AGAINST = re.compile(
    r"(?:\b(?:not|never|(?:is|was|do|does|did|ca|could|wo|would|should)n'?t|cannot|wrong|incorrect|instead\s+of|rather\s+than"
    r"|rul(?:e|es|ed|ing)\s+out|any(?:thing|\s+\w+)\s+but|exclud(?:e|es|ed|ing)|except(?:\s+for)?|unlike|reject(?:s|ed|ing)?|non|none\s+of|disagree\s+with|nowhere\s+near|far\s+from"
    r"|doubt)|≠)\s*[-:]?\s*(?:\w+\s+){0,3}\(?$",
    re.IGNORECASE,
)
_APART = re.compile(
    r"(?:\b(?:not|instead\s+of|rather\s+than)|≠)\s*(?:(?:equal\s+to|just|simply|the|a)\s+){0,2}$", re.IGNORECASE
)
_APART_BEHIND = re.compile(r"^(?:[\s.)!*]*$|[,;]?\s*but\b)", re.IGNORECASE)
_WRONG = re.compile(
    r"^\s*(?:(?:is|was|were|would\s+be|seems|looks|can|do|does|did)(?:n't|\s+not|not)\b|fails?\b|(?:is|was|would\s+be|seems|looks)\s+(?:\w+\s+)?"
    r"(?:wrong|incorrect|false|impossible|excluded|too|ruled|unlikely|unreasonable|invalid|absurd|rejected)\b|\(?(?:wrong|incorrect|false)\b"
    r"|\?)",
    re.IGNORECASE,
)


def objection(before: str, behind: str) -> tuple[str, bool]:
    """Why a number between the two texts is not given as the answer, and whether another one may be beside it.

    >>> objection("The answer is at least ", ""), objection("It is 3, not ", ".")
    (('it gives a bound', False), ('it speaks against', True))
    """
    if _APART.search(before) and _APART_BEHIND.match(behind):
        return "it speaks against", True
    if _AGAINST.search(before) or _WRONG.match(behind):
        return "it speaks against", False
    if _BOUND_BEFORE.search(before) or _BOUND_BEHIND.match(behind):
        return "it gives a bound", False
    if _WORK_BEFORE.search(before) or _WORK_BEHIND.match(behind):
        return "it leaves something to be worked out with", False
    return "", False
