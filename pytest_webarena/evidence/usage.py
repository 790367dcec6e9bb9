"""Token counts and cost of model calls."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["MOST", "Usage", "is_count", "is_money"]

MOST = 10**15
"""Maximum of any number that an agent or an endpoint reports about itself, as a count or in US dollars. Larger numbers
are no real counts and would not fit where numbers are stored and summed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Usage of model calls, as counted by the endpoint. ``+`` adds two; sums are capped at `MOST`, too."""

    calls: int = 0
    """Number of answered requests, those answered by the cache included."""
    cached_calls: int = 0
    """Number of these calls that the response cache on disk answered at no cost."""
    input_tokens: int = 0
    cached_input_tokens: int = 0
    """Number of the input tokens that were in the endpoint's prompt cache."""
    cache_write_tokens: int = 0
    """Number of the input tokens that were written to the endpoint's prompt cache, where it charges for that."""
    cache_write_1h_tokens: int = 0
    """Number of these that the cache keeps for an hour, at a higher price."""
    output_tokens: int = 0
    """Number of output tokens, reasoning tokens included."""
    reasoning_tokens: int = 0
    untold_calls: int = 0
    """Number of requests that may have used more than these numbers include: answers without a token count, and
    requests that were abandoned."""
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
        """Whether these numbers include all requests; otherwise ``cost`` is a lower bound."""
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
        """The larger figure of each pair, for two usages that count the same requests. Unknown money stays unknown."""
        counts = {name: max(getattr(self, name), getattr(other, name)) for name in _COUNTS}
        return Usage(**counts, cost=_larger(self.cost, other.cost), saved=_larger(self.saved, other.saved))

    def covers(self, other: Usage) -> bool:
        """Whether no figure is lower than in ``other``; money may differ by a millionth of a dollar."""
        return all(getattr(self, name) >= getattr(other, name) for name in _COUNTS) and all(
            mine is None or (theirs is not None and mine >= theirs - 1e-6)
            for mine, theirs in ((self.cost, other.cost), (self.saved, other.saved))
        )


_COUNTS = (
    "calls", "cached_calls", "input_tokens", "cached_input_tokens", "cache_write_tokens", "cache_write_1h_tokens",
    "output_tokens", "reasoning_tokens", "untold_calls",
)  # fmt: skip

_PARTS = {
    "cached_input_tokens": "input_tokens",
    "cache_write_tokens": "input_tokens",
    "cache_write_1h_tokens": "cache_write_tokens",
    "reasoning_tokens": "output_tokens",
}
"""Counts that are part of another one."""


def is_count(value: object) -> bool:
    """Whether ``value`` is a count that a `Usage` can hold."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST


def is_money(value: object) -> bool:
    """Whether ``value`` is an amount in US dollars that a `Usage` can hold."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= MOST


def _shown(value: object) -> str:
    """``value`` as text short enough for a message. Python refuses to write numbers with too many digits."""
    if isinstance(value, int) and abs(value) > MOST:
        return "a larger one" if value > 0 else "one far below 0"
    return repr(value)[:100]


def _larger(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else max(one, other)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else min(one + other, float(MOST))
