"""What model calls used up."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST", "Usage", "is_count", "is_money"]

MOST = 10**15
"""Of any number that an agent or an endpoint tells of itself, a count or US dollars. More is no count of anything, and
would not fit where numbers are kept and added up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What model calls used up, by the endpoint's own count. ``+`` adds two; sums stay at `MOST`, too."""

    calls: int = 0
    """Requests that were answered, those of the cache included."""
    cached_calls: int = 0
    """Of these, how many the response cache on disk answered: they cost nothing."""
    input_tokens: int = 0
    cached_input_tokens: int = 0
    """Of the input tokens, how many the endpoint had in its prompt cache."""
    output_tokens: int = 0
    """Reasoning tokens included."""
    reasoning_tokens: int = 0
    untold_calls: int = 0
    """Requests that may have used more than these numbers hold: answers without a count of tokens, and requests that
    were given up."""
    cost: float | None = 0.0
    """US dollars; None when the price of a call is not known. Unknown is never zero."""
    saved: float | None = 0.0
    """US dollars that the calls answered by the cache would have cost."""

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value: object = getattr(self, name)
            if not is_count(value):
                raise TypeError(f"Usage: expected {name} to be a whole number from 0 to 10**15, found {_shown(value)}")
        for part, whole in _PARTS.items():
            some, most = getattr(self, part), getattr(self, whole)
            if some > most:
                raise TypeError(f"Usage: expected {part} to be among {whole}, found {some} of {most}")
        for name in ("cost", "saved"):
            money: object = getattr(self, name)
            if money is not None and not is_money(money):
                raise TypeError(
                    f"Usage: expected {name} to be US dollars from 0 to 10**15 or None, found {_shown(money)}"
                )

    @property
    def complete(self) -> bool:
        """Whether these numbers hold all requests; else the cost is at least what they say."""
        return not self.untold_calls

    @property
    def worth(self) -> float | None:
        """What the calls would have cost without the response cache, in US dollars; None when that is not known."""
        return _sum(self.cost, self.saved)

    def __add__(self, other: Usage) -> Usage:
        counts = {name: min(getattr(self, name) + getattr(other, name), MOST) for name in _COUNTS}
        return Usage(**counts, cost=_sum(self.cost, other.cost), saved=_sum(self.saved, other.saved))

    def __bool__(self) -> bool:
        return self != Usage()

    def covering(self, other: Usage) -> Usage:
        """The least usage that is no less than either in any figure: both count the same requests. Unknown money
        stays unknown."""
        counts = {name: max(getattr(self, name), getattr(other, name)) for name in _COUNTS}
        return Usage(**counts, cost=_larger(self.cost, other.cost), saved=_larger(self.saved, other.saved))

    def covers(self, other: Usage) -> bool:
        """Whether it is no less than ``other`` in any figure; money to within a millionth of a dollar."""
        return all(getattr(self, name) >= getattr(other, name) for name in _COUNTS) and all(
            mine is None or (theirs is not None and mine >= theirs - 1e-6)
            for mine, theirs in ((self.cost, other.cost), (self.saved, other.saved))
        )


_COUNTS = (
    "calls", "cached_calls", "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_tokens", "untold_calls",
)  # fmt: skip

_PARTS = {"cached_input_tokens": "input_tokens", "reasoning_tokens": "output_tokens"}
"""Counts that are part of another one."""


def is_count(value: object) -> bool:
    """Whether it is a number of things that a `Usage` can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def is_money(value: object) -> bool:
    """Whether it is an amount of US dollars that a `Usage` can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


def _shown(value: object) -> str:
    """Short enough for a message; Python refuses to write numbers with too many digits."""
    if isinstance(value, int) and abs(value) > MOST:
        return "a larger one" if value > 0 else "one far below 0"
    return repr(value)[:100]


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else min(one + other, float(MOST))
