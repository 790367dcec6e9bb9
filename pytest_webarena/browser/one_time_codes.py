"""One-time codes of accounts with two-factor authentication: TOTP (RFC 6238) with SHA-1, 6 digits and 30 seconds."""

from __future__ import annotations

import base64
import binascii
import threading
import time
from collections.abc import Callable

__all__ = ["one_time_code"]

_PERIOD = 30
_MARGIN = 2.0
"""Seconds that a code must still be valid, so that it does not expire on its way to the site."""
_used: dict[str, int] = {}
"""Period of the latest code, by secret: many sites accept each code once."""
_lock = threading.Lock()


def one_time_code(
    secret: str, *, clock: Callable[[], float] = time.time, sleep: Callable[[float], None] = time.sleep
) -> str:
    """Return the next code for a secret in base32 that this process has not returned before. It waits up to a period.

    `ValueError` if the secret is not base32.
    """
    from cryptography.hazmat.primitives.hashes import SHA1
    from cryptography.hazmat.primitives.twofactor.totp import TOTP  # late: few accounts have one

    plain = secret.replace(" ", "").replace("-", "").upper().rstrip("=")
    try:
        key = base64.b32decode(plain + "=" * (-len(plain) % 8))
    except binascii.Error as error:
        raise ValueError("expected a TOTP secret in base32, such as JBSWY3DPEHPK3PXP") from error
    with _lock:
        now = clock()
        period = max(int((now + _MARGIN) // _PERIOD), _used.get(plain, -1) + 1)
        _used[plain] = period
    if (wait := period * _PERIOD - now) > 0:
        sleep(wait)
    return TOTP(key, 6, SHA1(), _PERIOD, enforce_key_length=False).generate(period * _PERIOD).decode()
