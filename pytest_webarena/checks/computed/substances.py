"""Substances behind a measured number: ``45 g H2O`` is one of water, where the question asks for water."""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.computed.arithmetic import NoNumber
from pytest_webarena.checks.computed.latex import plain_math
from pytest_webarena.checks.computed.units import read_unit

__all__ = ["without_substance"]

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


def without_substance(plain: str, question: str) -> str:
    """An answer, from `plain_math`, without the formula of a substance behind a measured number. `NoNumber` if the
    question is about another one.

    >>> without_substance("45 g H_(2)O", "What is the mass of 2.5 moles of water?")
    '45 g'
    """
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
