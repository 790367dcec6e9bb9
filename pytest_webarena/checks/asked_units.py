"""Whether a number is given for what is asked: in its unit, in its direction, for the whole and not for each."""

from __future__ import annotations

import functools
import re

__all__ = ["asked_unit", "in_another_unit", "not_as_asked", "unit_behind", "without_powers"]

_UNITS = {
    "time": "second seconds sec secs|minute minutes min mins|hour hours h hr hrs|day days|week weeks|month months"
    "|year years",
    "length": "millimetre millimetres millimeter millimeters mm|centimetre centimetres centimeter centimeters cm"
    "|metre metres meter meters m|kilometre kilometres kilometer kilometers km kms|mile miles mi|foot feet ft"
    "|inch inches|yard yards yd",
    "mass": "milligram milligrams mg|gram grams g|kilogram kilograms kilo kilos kg kgs|tonne tonnes ton tons"
    "|pound pounds lb lbs|ounce ounces oz",
    "area": "hectare hectares ha|acre acres",
    "volume": "litre litres liter liters l|millilitre millilitres milliliter milliliters ml",
    "money": "crown crowns kr kronor krone kroner|euro euros eur \u20ac|dollar dollars usd $|cent cents|penny pence",
    "share": "% percent",
}
_CANONICAL = {
    word: (dimension, words.split()[0])
    for dimension, all_words in _UNITS.items()
    for words in all_words.split("|")
    for word in words.split()
}
_WORD = r"[a-z\u20ac$%]+"
_BEHIND = re.compile(r"[\"'*_)]*(?:-|[^\S\n])?(%|per ?cent\b|[^\W\d_]+|\u20ac|\$)", re.IGNORECASE)
_SQUARED = re.compile(r"\s*(?:\u00a4|\u00b2|\u00b3|\^|2\b|3\b)")
_POWER = re.compile(r"(?<![^\W\d_])([kcm]?m|mi|ft|in|met(?:re|er)s?|miles?|feet)(?:\^?[23]|[\u00b2\u00b3])(?![\d.])")
_HOW_MANY = re.compile(rf"\bhow many ((?:(?:more|fewer|less|further|whole|square) )?{_WORD}(?: {_WORD}){{0,2}})")
_NO_THING = {"of", "are", "is", "were", "was", "did", "do", "does", "have", "has", "can", "will", "times"}
_IN = re.compile(rf"\b(?:in|into|as) ({_WORD})\b|\b(?:amount|number|sum|total)s? (?:of|in) ({_WORD})\b")


def without_powers(text: str) -> str:
    """``text`` in which the powers of units are no numbers of their own.

    >>> without_powers("27 km\u00b2, 3 m^2")
    '27 km\u00a4, 3 m\u00a4'
    """
    return _POWER.sub("\\1\u00a4", text)


def unit_behind(text: str, end: int) -> str:
    """The unit right behind a number that ends there, in its full name; empty when there is none that is known.

    >>> unit_behind("24 min.", 2), unit_behind("631 hills", 3), unit_behind("27 km\u00b2", 2)
    ('minute', '', '')
    """
    found = _BEHIND.match(text, end)
    if found is None or _SQUARED.match(text, found.end()):
        return ""
    word = found[1].casefold().replace(" ", "")
    return _CANONICAL.get(word, ("", ""))[1]


@functools.lru_cache(maxsize=512)
def asked_unit(question: str) -> str | None:
    """The unit that is asked for; empty when things are counted that are no unit; None when nothing says."""
    text = question.casefold()
    if found := _HOW_MANY.search(text):
        units = [_CANONICAL[word][1] for word in found[1].split() if word in _CANONICAL]
        if "square" in found[1] or (not units and found[1].split()[0] in _NO_THING):
            return None
        return units[0] if units else ""
    units = [_CANONICAL[word][1] for pair in _IN.findall(text) for word in pair if word in _CANONICAL]
    if not units and _TURNING.search(text):
        return "year"
    return units[-1] if len(set(units)) == 1 else None


_TURNING = re.compile(r"\bhow old (?:did|does|do|will|would|had|has|have)\b[^.?]*\bturn(?:ed)?\b")
"""What is asked so is somebody's age in years; else things may be some days or months old."""
_MONEYS = r"crowns|kronor|kroner|euros|EUR|dollars|USD|cents|pence"
_PRICED = re.compile(
    rf"\b(?:in|has|have|gives?|shows?|lists?) (?P<of>{_MONEYS}|kr|[\u20ac$])(?!\w)"
    rf"|(?<![\w'-])(?P<each>{_MONEYS}) (?:per|each|apiece)\b"
)
"""Money that prices are told in. A name has capitals or a single one (a Euro adapter, Penny Lane), and an amount
(``who has 50 euros``) says nothing of what is paid elsewhere."""
_QUOTED = re.compile(r"\"[^\"]*\"|\u201c[^\u201d]*\u201d|(?<!\w)'[^']*'(?!\w)|`[^`]*`")


def _told(question: str, given: str) -> str | None:
    """The only money of which a question speaks as the one that prices are in. Of other kinds, lengths above all, it
    may speak for other reasons."""
    words = {found["of"] or found["each"] for found in _PRICED.finditer(_QUOTED.sub(" ", question))}
    money = {_CANONICAL[word.casefold()][1] for word in words}
    return money.pop() if len(money) == 1 and _CANONICAL[given][0] == "money" else None


def in_another_unit(question: str, text: str, end: int) -> str:
    """Why a number that ends there is of something else than what is asked for; empty when it isn't.

    >>> in_another_unit("How many minutes does it take?", "24 km", 2)
    'it is given in kilometres, and minutes are asked for'
    """
    asked, given = asked_unit(question), unit_behind(text, end)
    if asked is None and given:
        asked = _told(question, given)
    if asked is None or not given or asked == given:
        return ""
    if given == "metre" and asked in ("minute", "month", "mile") and re.match(r"\s?m\b", text[end:]):
        return ""  # 24 m may be minutes
    if not asked:
        return "" if given == "percent" or given == "%" else f"it is given in {_plural(given)}, which are not asked for"
    return f"it is given in {_plural(given)}, and {_plural(asked)} are asked for"


def _plural(unit: str) -> str:
    return {"foot": "feet", "inch": "inches", "%": "per cent"}.get(unit, f"{unit}s")


_WAYS = (
    (r"more|additional|extra", r"fewer|less"),
    (r"longer|further|farther", r"shorter|nearer|closer"),
    (r"before|earlier", r"after|later"),
    (r"higher|taller|above", r"lower|below|deeper"),
    (r"older", r"younger"),
    (r"faster|quicker|sooner", r"slower"),
    (r"heavier", r"lighter"),
    (r"open", r"closed"),
    (r"dearer|more expensive", r"cheaper"),
    (
        r"r[io]sen?|grew|grown?|increased?|go up|went up",
        r"f[ae]ll(?:en)?|dropp?(?:ed)?|decreased?|declined?|sank|went down|shr[aiu]nk",
    ),
)
_DID = (
    r"\b(?:how (?:much|many)|did|does|do|has|have|had) [^.?,]*?(?<!the )(?<!in )(?<!this )(?<!last )(?<!next )"
    r"(?<!each )(?<!every )(?<!a )\b"
)
_ENDS = r"\b(?=\s*[?.,]|\s*\Z|\s+(?:by|between|from|since|over)\b)"
_MOVES = (
    (rf"{_DID}(rise|risen|grow|grown|increased?){_ENDS}", "fewer|less"),
    (rf"{_DID}(shrink|shrunk|fall|fallen|drop|dropped|sink|sunk|decreased?){_ENDS}", "more|higher"),
)
"""Verbs, which end what is asked or go on to when: a fall may be a season, and a rose a flower."""
_RATE = re.compile(
    r"(?:[\s\u00a0]?[^\W\d_]+)?\s+(?:for\s+)?(?:per\s+(?!cent)[^\W\d_]+\b|(?:each|every|a|an)\s+(?:piece|person|head"
    r"|adult|child|day|night|hour|minute|week"
    r"|month|year|book|item|copy|kilo\w*|kg|metre|km)\b|each\b|apiece\b)",
    re.IGNORECASE,
)
_ENTRY = re.compile(r"\b(?:to get in(?:to)?|entry|entrance|admission|to enter|to visit|tickets?|fare)\b")
"""What everybody pays for themselves."""
_PEOPLE = re.compile(
    r"\b(?:two|three|four|five|six|\d+|both|all|we|us|our|together|altogether|famil\w+|group|couple)\b"
)
_WITHOUT = re.compile(
    r"(?:[\s\u00a0]?[^\W\d_]+)?,?\s+(?:without|excluding|exclusive of|not (?:including|counting)|before)"
    r"\s+(?:the\s+|any\s+)?([a-z]+)",
    re.IGNORECASE,
)


def not_as_asked(question: str, text: str, start: int, end: int) -> str:
    """Why a number at this place is not the one that is asked for, going by the words right; else empty.

    >>> not_as_asked("How many more has A than B?", "45 fewer", 0, 2)
    'it says "fewer", and the question "more"'
    """
    asked, before, behind = question.casefold(), text[max(0, start - 40) : start].casefold(), text[end:].casefold()
    if against := _other_direction(asked, before, behind):
        return against
    rate = _RATE.match(text, end)
    if rate is not None and not _asked_so(rate[0].split()[-1].casefold(), asked):
        return f'it is given "{" ".join(rate[0].split()[-2:])}", which is not asked for'
    left_out = _WITHOUT.match(text, end)
    if left_out is not None:
        thing = re.escape(left_out[1].casefold())
        adjective = rf"|\b{thing[:5]}\w*ed\b" if len(thing) > 6 else ""  # insured, of insurance
        if re.search(rf"\bwith (?:[\w-]+ ){{0,2}}{thing}|\b{thing} included{adjective}", asked):
            return f'it is given without "{left_out[1]}", which the question includes'
    return ""


def _asked_so(thing: str, asked: str) -> bool:
    """Whether what a rate is of ("a day", "per person") is that of which the question asks it."""
    if re.search(rf"\b(?:per|every|each|an?|one)\s+{re.escape(thing)}", asked):
        return True
    if re.search(r"\b(?:each|apiece)\b", asked):
        return re.fullmatch(r"day|night|hour|minute|week|month|year", thing) is None
    return (
        thing in ("person", "head", "visitor", "adult")
        and _ENTRY.search(asked) is not None
        and not _PEOPLE.search(asked)
    )


def _other_direction(asked: str, before: str, behind: str) -> str:
    """Whether it is said in the other direction than the one that is asked for: fewer for more."""
    pairs = [(rf"\b({ours})\b", theirs) for pair in _WAYS for ours, theirs in (pair, pair[::-1])]
    for ours, theirs in (*pairs, *_MOVES):
        word = re.search(ours, asked)
        theirs = rf"\b(?:{theirs})\b"
        if word is None or re.search(theirs, asked):
            continue
        contrary = re.match(rf"[^\S\n]?(?:[^\W\d_]+\s+){{0,2}}?({theirs})(?!\s+than\s+(?:that|expected))", behind)
        contrary = contrary or re.search(rf"({theirs})\s+(?:by|about|only|around|\s)*[^\w\s]?\Z", before)
        if contrary is not None:
            return f'it says "{contrary[1]}", and the question "{word[1]}"'
    return ""
