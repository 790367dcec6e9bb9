"""Retry policy: when a request is sent again, and after how long."""

from __future__ import annotations

import email.utils
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC
from typing import Any

__all__ = ["RetryPolicy", "asked_delay", "retry_after"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """Exponential backoff with full jitter, bounded in number and time."""

    attempts: int = 6
    """Number of requests, the first included."""
    first: float = 1.0
    """Upper limit in seconds of the first wait; each further wait may be twice as long."""
    longest: float = 60.0
    """Upper limit in seconds of one wait, unless the endpoint asks for more."""
    patience: float = 300.0
    """Seconds that an endpoint may ask to wait; when it asks for more, the call fails at once."""

    def delay(self, failures: int, retry_after: float | None, chance: random.Random) -> float | None:
        """Return the seconds to wait after this many failures in a row; None: give up.

        Args:
            retry_after: The endpoint's Retry-After, in seconds.
        """
        if failures >= self.attempts:
            return None
        ceiling = min(self.longest, self.first * 2 ** (failures - 1))
        if retry_after is None:
            return chance.uniform(0.0, ceiling)
        if retry_after > self.patience:
            return None
        return retry_after + chance.uniform(0.0, min(1.0, ceiling))  # so that not all workers retry at the same instant


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds to wait that an answer's headers ask for; None if they don't.

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


def asked_delay(headers: Mapping[str, str], body: object, now: float) -> float | None:
    """Return the seconds to wait that an error asks for, in a header or, as Google's errors do, in a detail.

    >>> asked_delay({}, {"error": {"details": [{"retryDelay": "34.5s"}]}}, now=0.0)
    34.5
    """
    if (seconds := retry_after(headers, now)) is not None:
        return seconds
    error: Any = body[0] if isinstance(body, list) and body else body
    error = error.get("error") if isinstance(error, Mapping) else None
    details = error.get("details") if isinstance(error, Mapping) else None
    for detail in details if isinstance(details, list) else ():
        delay = detail.get("retryDelay") if isinstance(detail, Mapping) else None
        if isinstance(delay, str) and re.fullmatch(r"\d{1,9}(\.\d{1,9})?s", delay):
            return float(delay[:-1])
    return None
