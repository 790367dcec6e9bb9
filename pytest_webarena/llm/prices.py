"""Prices of model calls, from a table that users can edit. Without a price a call's cost is unknown, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.evidence.usage import MOST, Usage
from pytest_webarena.llm.listed_prices import ListedPrice, listed_price
from pytest_webarena.yaml_files import read_yaml

__all__ = ["Price", "Prices", "read_prices"]

_SHIPPED = Path(__file__).parent / "prices.yaml"
_FORM = (
    "models: {NAME: {input: DOLLARS, output: DOLLARS, cached_input: DOLLARS, cache_write: DOLLARS}} per million tokens"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """Price in US dollars per million tokens."""

    input: float
    output: float
    cached_input: float | None = None
    """Price of input tokens from the endpoint's prompt cache; None: the same as ``input``."""
    cache_write: float | None = None
    """Price of input tokens that are written to that cache; None: not known, as most endpoints do not charge for it."""
    cache_write_1h: float | None = None
    """Price of input tokens that are written to it for an hour; None: not known."""

    def of(self, usage: Usage) -> float | None:
        """Return the cost of these tokens in US dollars; None where the price of one kind is not known."""
        cached = self.input if self.cached_input is None else self.cached_input
        hour = usage.cache_write_1h_tokens
        short = usage.cache_write_tokens - hour
        if (short and self.cache_write is None) or (hour and self.cache_write_1h is None):
            return None
        fresh = max(0, usage.input_tokens - usage.cached_input_tokens - usage.cache_write_tokens)
        written = short * (self.cache_write or 0.0) + hour * (self.cache_write_1h or 0.0)
        read = usage.cached_input_tokens * cached
        dollars = (fresh * self.input + read + written + usage.output_tokens * self.output) / 1e6
        return min(dollars, float(MOST))


@dataclass(frozen=True, slots=True)
class Prices:
    """A price table."""

    own: Mapping[str, Price] = field(default_factory=dict)
    """The user's prices, which take precedence."""
    shipped: Mapping[str, Price] = field(default_factory=dict)

    def price(self, *names: str, url: str = "") -> Price | ListedPrice | None:
        """Return the price of the first of these model names that has one; None when none has.

        With the endpoint's ``url``, the prices of the package `genai-prices` come last, if it is installed.
        """
        for name in names:
            for table in (self.own, self.shipped):
                fitting = [pattern for pattern in table if fnmatchcase(name, pattern)]
                if fitting:
                    return table[max(fitting, key=lambda pattern: (pattern == name, len(pattern)))]
        return next((price for name in names if (price := listed_price(url, name)) is not None), None)


@cache
def read_prices(own: Path | None = None) -> Prices:
    """Return the shipped table, overridden by the user's. Raises `UsageError` for a file that is not a price table."""
    return Prices(_read(own) if own is not None else {}, _read(_SHIPPED))


def _read(path: Path) -> dict[str, Price]:
    where = f"price table {path}"
    data = read_yaml(path, where)
    if not isinstance(data, dict) or not isinstance(data.get("models"), dict):
        raise UsageError(f"{where}: expected {_FORM}")
    for key in data:
        if key not in ("schema_version", "models"):
            raise UsageError(f"{where}: unknown key {key!r}; {closest(str(key), ('schema_version', 'models'))}")
    if data.get("schema_version", 1) != 1:
        raise UsageError(f"{where}: expected schema_version 1, found {data['schema_version']!r}")
    return {str(name): _price(entry, f"{where}: {name}") for name, entry in data["models"].items()}


def _price(entry: Any, where: str) -> Price:
    known = ("input", "output", "cached_input", "cache_write", "cache_write_1h")
    if not isinstance(entry, dict):
        raise UsageError(f"{where}: expected {{input: DOLLARS, output: DOLLARS}} per million tokens, found {entry!r}")
    for key, value in entry.items():
        if key not in known:
            raise UsageError(f"{where}: unknown key {key!r}; {closest(str(key), known)}")
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
            raise UsageError(f"{where}: {key}: expected dollars per million tokens, found {value!r}")
    for key in ("input", "output"):
        if key not in entry:
            raise UsageError(f"{where}: expected the key {key!r}, it is missing")
    return Price(**{key: float(value) for key, value in entry.items()})
