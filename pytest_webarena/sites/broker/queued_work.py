"""Waits until the apps of a lease have no queued work left (the key ``quiet`` of a catalogue)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteError, TaskError, TooLarge
from pytest_webarena.evidence import JsonValue, QuietWait
from pytest_webarena.sites.backends.base import AskingBackend, Backend, Replica
from pytest_webarena.sites.backends.ready import unmet
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import AppManifest
    from pytest_webarena.sites.catalogues.running import Quiet

__all__ = ["QueuedWork", "nothing_left"]

_FIRST_PAUSE = 0.1
_LAST_PAUSE = 0.5
_LEAST = 1.0
"""Seconds that a question gets in any case."""
_PATIENCE = 10.0
"""Most seconds that one question gets."""


def nothing_left(value: JsonValue) -> bool:
    """Whether the result of a query means that no work is left; database clients print numbers and booleans as text.

    >>> [nothing_left(value) for value in (0, "0", None, False, "f", "0.0", 3, "3", True, "t")]
    [True, True, True, True, True, True, False, False, False, False]
    """
    if not isinstance(value, str):
        return not value
    try:
        return not float(value)
    except ValueError:
        return value.strip().lower() in ("", "f", "false", "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedWork:
    """The queued work of leased apps. Lives on the broker's loop."""

    pool: Pool
    apps: Mapping[str, AppManifest]
    backend: Callable[[str], Backend]
    strict: bool = False
    """Whether an invalid query raises `TaskError`; else it counts as work, because an agent may have broken it."""

    async def end(self, leases: Sequence[PoolLease], *, spent: float, once: bool) -> list[QuietWait]:
        """Wait for all apps at the same time, for each until its deadline minus the ``spent`` seconds; ``once`` asks
        each once. Raises `SiteError` when a replica has died."""
        waits = [
            self._wait(lease, app, app.quiet, replica, 0.0 if once else max(0.0, app.quiet.deadline - spent))
            for lease in leases
            for name, replica in lease.replicas.items()
            if (app := self.apps[name]).quiet is not None
        ]
        return list(await asyncio.gather(*waits))

    async def _wait(
        self, lease: PoolLease, app: AppManifest, quiet: Quiet, replica: Replica, seconds: float
    ) -> QuietWait:
        loop = asyncio.get_running_loop()
        began, waited, pause = loop.time(), 0.0, _FIRST_PAUSE
        while True:
            left = seconds - (loop.time() - began)
            busy = await self._ask(lease, app, quiet, replica, min(max(left, _LEAST), _PATIENCE))
            left = seconds - (loop.time() - began)
            if not busy or left <= 0:
                return QuietWait(app=app.name, seconds=round(min(waited, seconds), 3), busy=busy)
            await self.pool.check(lease, app.name)  # a dead replica has no work left to wait for
            await asyncio.sleep(min(pause, left))
            waited, pause = loop.time() - began, min(2 * pause, _LAST_PAUSE)

    async def _ask(self, lease: PoolLease, app: AppManifest, quiet: Quiet, replica: Replica, timeout: float) -> str:
        """Returns what shows that the app has work; empty when it has none."""
        try:
            async with asyncio.timeout(timeout):
                if quiet.probe is None:
                    rows = (await self.pool.query(lease, app.name, quiet.database, quiet.sql, write=False)).rows
                    value = rows[0][0] if rows and rows[0] else None
                    return "" if nothing_left(value) else f"{clip(quiet.sql, 100)} returned {clip(str(value), 40)}"
                backend = self.backend(app.backend)
                return await unmet(
                    quiet.probe, replica.host, replica.port,
                    server_name=app.sites[0].host if app.sites else replica.host, timeout=timeout,
                    execute=partial(backend.execute, app, replica) if isinstance(backend, AskingBackend) else None,
                )  # fmt: skip
        except TimeoutError:
            return f"{clip(quiet.sql, 100) or 'the probe'} had no result within {timeout:.3g} s"
        except TaskError as error:
            if self.strict and not isinstance(error, TooLarge):
                raise TaskError(f"'quiet' of the app {app.name}: {error}") from error
            return str(error)
        except SiteError as error:
            await self.pool.check(lease, app.name)
            return str(error)
