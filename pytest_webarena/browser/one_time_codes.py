"""One-time codes of accounts with two-factor authentication: TOTP (RFC 6238) with SHA-1, 6 digits and 30 seconds.

Many sites accept each code once. So all processes of a user on this machine, such as the workers of a run, share a file
per secret with the period of its latest code. The file's name is a digest of the secret.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pytest_webarena.secrets import learn

__all__ = ["one_time_code"]

_PERIOD = 30
_MARGIN = 2.0
"""Seconds that a code must still be valid, so that it does not expire on its way to the site."""
_used: dict[str, int] = {}
"""Period of the latest code of this process, by secret: the file system may be read-only."""
_lock = threading.Lock()
_log = logging.getLogger(__name__)


def one_time_code(
    secret: str,
    *,
    clock: Callable[[], float] = time.time,
    sleep: Callable[[float], None] = time.sleep,
    folder: Path | None = None,
) -> str:
    """Return the next code for a secret in base32 that no process of this user has returned before.

    It waits up to a period for each code that was returned in the meantime, and logs that. ``folder`` contains the
    shared files. `ValueError` if the secret is not base32.
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
        earliest = max(int((now + _MARGIN) // _PERIOD), _used.get(plain, -1) + 1)
        period = _used[plain] = _reserve(plain, earliest, folder)
    if (wait := period * _PERIOD - now) > 0:
        _log.info("waiting %.0f s for a one-time code: the current one was used or expires", wait)
        sleep(wait)
    code = TOTP(key, 6, SHA1(), _PERIOD, enforce_key_length=False).generate(period * _PERIOD).decode()
    learn([code])
    return code


def _reserve(secret: str, earliest: int, folder: Path | None) -> int:
    """Return the first period from ``earliest`` on that no process has reserved, and reserve it."""
    import fcntl  # not on every system

    from pytest_webarena.sites.site_daemon import state_directory  # late: few accounts have codes

    try:
        folder = folder or state_directory("one-time-codes")
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = hashlib.sha256(f"one-time code {secret}".encode()).hexdigest()[:32]
        with (folder / name).open("a+", encoding="ascii") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            text = file.read().strip()
            latest = int(text) if text.isdecimal() else -1
            if latest > earliest + 1000:  # of another clock
                latest = -1
            period = max(earliest, latest + 1)
            file.truncate(0)
            file.write(str(period))
    except OSError as error:
        _log.warning("one-time codes are not shared with other processes, which may use the same: %s", error)
        return earliest
    return period
