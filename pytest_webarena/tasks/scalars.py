"""Meaning of bare YAML scalars by the YAML 1.2 core schema, in which ``no`` is a word and ``12:30`` a time."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

__all__ = ["BOOLS", "NULLS", "json_scalar", "parse_decimal", "parse_int"]

NULLS = frozenset({"", "~", "null", "Null", "NULL"})
BOOLS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}

_INT = re.compile(r"[-+]?[0-9]+")
_RADIX = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]{1,3})?")
_LONGEST = 400  # digits; more than any real number has, and below Python's own conversion limit


def parse_int(text: str) -> int | None:
    """Returns the whole number that ``text`` denotes, or None."""
    if len(text) > _LONGEST:
        return None
    if _INT.fullmatch(text):
        return int(text)
    return int(text, 0) if _RADIX.fullmatch(text) else None


def parse_decimal(text: str) -> Decimal | None:
    """Returns the finite number that ``text`` denotes, exactly as written, or None."""
    if len(text) > _LONGEST:
        return None
    if _FLOAT.fullmatch(text):
        try:
            return Decimal(text)
        except InvalidOperation:  # pragma: no cover - the pattern admits only what Decimal reads
            return None
    return Decimal(int(text, 0)) if _RADIX.fullmatch(text) else None


def json_scalar(text: str) -> bool | int | float | str | None:
    """Returns the JSON value of a bare scalar."""
    if text in NULLS:
        return None
    if text in BOOLS:
        return BOOLS[text]
    whole = parse_int(text)
    if whole is not None:
        return whole
    number = parse_decimal(text)
    if number is not None and abs(number) < Decimal("1e308"):
        return float(number)
    return text
