"""What an answer repeats from its question beside a number: ``9 (mod 13)``, ``45 g H2O``, ``8 primes below 20``.

Each is taken off only if the question says the same: another modulus, bound or substance stays, and is not understood.
"""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.computed.arithmetic import NoNumber, read_form
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.units import read_unit
from pytest_webarena.text import clip

__all__ = ["without_remarks"]

_MODULUS = re.compile(
    r"\s*(?:\(\s*(?:mod|modulo)\s+\(?(\d{1,18})\)?\s*\)|,?\s*pmod\s*\(?(\d{1,18})\)?|,?\s*mod\s+(\d{1,18}))\s*$"
)
_BETWEEN = re.compile(r"\s*\(?\s*b?mod\s+(\d{1,18})\s*\)?\s*(=\s*\d{1,18})\s*$")
_POWER = re.compile(r"\s*\(?(\d{1,18})\)?\s*\^\s*\(?(\d{1,18})\)?\s*")
_DIVIDES = re.compile(r"\bmod|\bremainder|\bdivid|\bcongruen|\bresidue", re.IGNORECASE)
_QUOTED = re.compile(
    r"(?<=[A-Za-z] )(?:that\s+are\s+|which\s+are\s+)?"
    r"(?:(?:strictly\s+)?(?:less|more|greater|fewer|smaller|larger)\s+than|below|under|above|over|up\s+to"
    r"|not\s+exceeding|at\s+(?:most|least)|(?:between|from)\s+\d[\d.,]*\s+(?:and|to))\s+\d+(?:[.,]\d+)*(?![\w%^*/])",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?P<count>[^()]*?\b(?P<number>\d{1,3})\b[^()\d]*)\((?P<items>[^()]+)\)[\s.]*")
_COUNTS = re.compile(r"\bhow\s+many\b|\bnumber\s+of\b", re.IGNORECASE)
_GROUPED = re.compile(r"((?:[^\d]*[=≈:]\s*)?[-+]?)(\d{1,3}) (\d{3})((?:\s*[^\s\d.,/^*+-][^\d,=≈]*)?)")
_ELEMENTS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y "
    "Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Sm Eu Gd Tb Dy Ho "
    "Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po Rn Ra Th U Pu"
)
_ATOM = "(?:" + "|".join(sorted(_ELEMENTS.split(), key=len, reverse=True)) + ")"
_PART = rf"(?:{_ATOM}|\((?:{_ATOM}\d{{0,2}})+\))\d{{0,2}}"
_FORMULA = re.compile(rf"(?<![A-Za-z\d\\])(?:{_PART})+(?![A-Za-z\d])")
_INDEX = re.compile(r"\s?_\s?\{?\(?(\d{1,2})\)?\}?\s?(?=[A-Z(\s.,;?]|$)")
_BEHIND = re.compile(
    r"(?<=\S)\s+(?:of\s+)?(?:ce\s*\(\s*)?((?:[A-Z][a-z]?|[()\d])+?)\s*\)?\s*(?:\((?:aq|s|l|g)\))?[\s.]*$"
)
_NAMES = {
    "water": "H2O", "steam": "H2O", "ice": "H2O", "carbon dioxide": "CO2", "carbon monoxide": "CO", "oxygen": "O2",
    "hydrogen": "H2", "nitrogen": "N2", "chlorine": "Cl2", "ammonia": "NH3", "methane": "CH4", "ethane": "C2H6",
    "propane": "C3H8", "glucose": "C6H12O6", "ethanol": "C2H5OH", "methanol": "CH3OH", "sodium chloride": "NaCl",
    "table salt": "NaCl", "hydrochloric acid": "HCl", "hydrogen chloride": "HCl", "sulfuric acid": "H2SO4",
    "sulphuric acid": "H2SO4", "nitric acid": "HNO3", "sodium hydroxide": "NaOH", "calcium carbonate": "CaCO3",
    "iron": "Fe", "copper": "Cu", "silver": "Ag", "gold": "Au", "zinc": "Zn", "aluminium": "Al", "aluminum": "Al",
    "magnesium": "Mg", "lead": "Pb", "helium": "He",
}  # fmt: skip
"""Substances that questions call by their name."""
_OF_NAMED = re.compile(rf"\bof\s+({'|'.join(_NAMES)})[\s.]*$".replace(" ", r"\s+"), re.IGNORECASE)


def without_remarks(plain: str, question: str) -> str:
    """An answer, from `plain_math`, without what it repeats of its question. `NoNumber` if that says another thing.

    >>> without_remarks("7^(100) = 9 pmod (13)", "Find the remainder of 7^100 divided by 13.")
    '9'
    >>> without_remarks("There are 8 primes below 20.", "How many primes are below 20?")
    'There are 8 primes .'
    """
    plain = _without_modulus(_GROUPED.sub(r"\1\2\3\4", plain) if _GROUPED.fullmatch(plain) else plain, question)
    asked = " ".join(question.lower().replace(",", "").split())
    if _QUOTED.search(plain):
        kept = _QUOTED.sub(lambda found: " " if " ".join(found[0].lower().split()) in asked else found[0], plain)
        plain = " ".join(kept.split()) if re.search(r"\d", kept) else plain
    if (listed := _LISTED.fullmatch(plain)) is not None and _COUNTS.search(question):
        items = [item.strip() for item in re.split(r",|;|\band\b", listed["items"]) if item.strip()]
        if len({*items}) == len(items) == int(listed["number"]):
            plain = listed["count"]
    return _without_substance(plain, question)


def _without_modulus(plain: str, question: str) -> str:
    found = _MODULUS.search(plain := _BETWEEN.sub(r" \2 (mod \1)", plain))
    if found is None or not _DIVIDES.search(question):
        return plain
    modulus = found[1] or found[2] or found[3]
    if found[3] and not re.search(r"[=≡]", plain):
        return plain  # 22 mod 13: rather a working
    if not re.search(rf"(?:\bby|\bmod(?:ul\w+)?)\W{{0,12}}{modulus}(?!\d|\.\d)", question):
        return plain
    *left, value = re.split(r"[=≡]", plain[: found.start()])
    for side in left:
        power, form, told = _POWER.fullmatch(side), read_form(side), read_form(value)
        if told is None:
            return plain
        if power is not None:
            rest: object = pow(int(power[1]), int(power[2]), int(modulus)) if int(modulus) else None
        else:
            whole = form is not None and not side[form[1] :].strip()
            rest = form[0].value % int(modulus) if form is not None and whole and int(modulus) else None
            if rest is None and not re.fullmatch(r"\s*[A-Za-z]?\s*", side):
                return plain
        if rest is not None and rest != told[0].value % int(modulus):
            raise NoNumber(
                f"it says what is not so: {clip(side.strip(), 20)} is not {clip(value.strip(), 20)} modulo {modulus}"
            )
    return value.strip()


def _without_substance(plain: str, question: str) -> str:
    """A measured number without the formula of a substance behind it."""
    if (named := _OF_NAMED.search(plain)) is not None and (asked := _substance(question)):
        formula = _NAMES[" ".join(named[1].lower().split())]
        if formula != asked:
            raise NoNumber(f"it speaks of {named[1]}, the question of {asked}")
    text = _INDEX.sub(r"\1", plain)
    if (behind := _BEHIND.search(text)) is None or _FORMULA.fullmatch(behind[1]) is None or len(behind[1]) < 2:
        return plain
    measured = text[: behind.start()]
    unit = re.search(r"(?<=[\d)])\s*(?=[A-Za-z])(?!.*\d\s*[A-Za-z])", measured)
    found = read_unit(measured, unit.end()) if unit is not None else None
    if found is None or found[1] != len(measured):
        return plain
    asked = _substance(question)
    if asked and behind[1] != asked:
        raise NoNumber(f"it speaks of {behind[1]}, the question of {asked}")
    return measured


@functools.lru_cache(maxsize=64)
def _substance(question: str) -> str:
    """The first substance in what is asked for, else in the question; empty where none is known by formula or name."""
    plain = _INDEX.sub(r"\1", plain_math(question[:4_000]))
    asking = [
        found.start() for found in re.finditer(r"\b(?:what|how|find|calculate|determine|compute|which)\b", plain, re.I)
    ]
    for part in (plain[asking[-1] :], plain) if asking else (plain,):
        found = [(each.start(), each[0]) for each in _FORMULA.finditer(part) if _is_formula(each[0])]
        for name, formula in _NAMES.items():
            if (named := re.search(rf"\b{name}\b", part, re.IGNORECASE)) is not None:
                found.append((named.start(), formula))
        if found:
            return min(found)[1]
    return ""


def _is_formula(text: str) -> bool:
    """Whether it is one of several atoms, and no word or symbol: ``CO2``, ``HCl``, not ``I`` and ``In``."""
    return len(re.findall("[A-Z]", text)) + len(re.findall(r"\d+", text)) > 1
