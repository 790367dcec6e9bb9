"""When a request is sent again, and after how long."""

from __future__ import annotations

import email.utils
import random
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC

__all__ = ["RetryPolicy", "retry_after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential backoff with full jitter, bounded in number and time."""

    attempts: int = 6
    """Requests in all, the first included."""
    first: float = 1.0
    """Seconds before the second request, at most; each further wait may be twice as long."""
    longest: float = 60.0
    """Seconds of one wait, at most, unless the endpoint asks for more."""
    patience: float = 300.0
    """Seconds that an endpoint may ask to be waited for; when it asks for more, the call is given up at once."""

    def delay(self, failures: int, asked: float | None, chance: random.Random) -> float | None:
        """Seconds to wait after this many failures in a row; None: give up. ``asked``: the endpoint's Retry-After."""
        if failures >= self.attempts:
            return None
        ceiling = min(self.longest, self.first * 2 ** (failures - 1))
        if asked is None:
            return chance.uniform(0.0, ceiling)
        if asked > self.patience:
            return None
        return asked + chance.uniform(0.0, min(1.0, ceiling))  # not all workers in the same instant


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Seconds that an answer's headers ask to be waited for: ``retry-after-ms``, seconds, or a date.

    >>> retry_after({"retry-after": "7"}, now=0.0)
    7.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        return max(0.0, seconds) if seconds == seconds else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (TypeError, ValueError):
        return None
    return max(0.0, (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() - now)
