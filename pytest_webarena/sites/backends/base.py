"""The contract between the broker and whatever runs an app.

All methods are coroutines on the broker's loop; blocking work belongs in a thread. Every failure is
a `SiteError` whose text ends with the last log lines of the app, where there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from pytest_webarena.evidence import JsonValue
from pytest_webarena.sites.catalogues.running import Pulls

if TYPE_CHECKING:
    from pytest_webarena.live.internet import World
    from pytest_webarena.sites.catalogues.manifest import AppManifest
    from pytest_webarena.sites.catalogues.units import Unit
    from pytest_webarena.sites.ledger.snapshot import Moment

__all__ = [
    "AskingBackend",
    "Backend",
    "BackendContext",
    "KeepingBackend",
    "KeepsLogs",
    "LedgerBackend",
    "PausingBackend",
    "Replica",
    "Rows",
    "WatchingBackend",
    "WorldBackend",
]


@dataclass(slots=True, kw_only=True)
class Replica:
    """One running copy of an app. Owned by the pool; backends fill it in and may keep ``handle``."""

    id: str
    """Unique in a run, e.g. ``homepage-3``."""
    app: str
    host: str
    port: int
    """Where the gateway connects to (plain TCP)."""
    generation: int = 0
    """Counts resets: 0 when freshly started."""
    digest: str = ""
    """What it runs: image id or digest of the app's code and seed."""
    fingerprint: str | None = None
    """Digest of its pristine state, when the backend can compute one cheaply."""
    edition: int = 0
    """Which of its app's states it started with: 0 is the app's own, later ones are from `KeepingBackend.keep`."""
    handle: object = field(default=None, repr=False)
    """The backend's own: process id, container id, …"""
    origins: tuple[str, ...] = ()
    """Of an archive: schemes, hosts and ports of all that it serves besides, e.g. ``https://cdn.test``."""
    parts: dict[str, Replica] = field(default_factory=dict, repr=False)
    """Of an app that starts as one with others (`BackendContext.units`): theirs, by app."""

    def of(self, app: str) -> Replica:
        """The replica of one of the apps that started with it, or of itself. KeyError for another one."""
        return self if app == self.app else self.parts[app]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The result of one SQL statement."""

    columns: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """What a backend gets from its broker: the one argument of its constructor."""

    run: str
    """Random name of this broker's life; label everything that outlives a process with it."""
    owner: str
    """The broker's identity as ``pid/start time/boot id``: `reaper.is_alive` tells whether an orphan's owner lives."""
    directory: Path
    """Private scratch directory; removed when the broker ends, however it ends."""
    environ: Mapping[str, str]
    """Environment for every process that is started: the reaper knows them by it."""
    catalogue: str = ""
    """The catalogue, as its user names it."""
    pulls: Pulls = "small"
    """What may be fetched from elsewhere without asking."""
    needed: frozenset[str] = frozenset()
    """Apps outside of each other's unit that other apps depend on, and must be able to call."""
    units: Mapping[str, Unit] = field(default_factory=dict)
    """By the app that stands for them (`Unit.lead`): what starts, stops and is kept as one with it. An app that is not
    here is alone."""
    note: Callable[[str, str], None] = lambda app, text: None
    """Hears, for an app, how work that takes long goes on; an empty text when it is over."""


@runtime_checkable
class KeepsLogs(Protocol):
    """A backend whose apps' own words can be read."""

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        """The last ``lines`` lines that the replica wrote."""


class Backend(Protocol):
    """Runs replicas of apps. One instance per broker and kind, made with a `BackendContext`."""

    async def prepare(self, app: AppManifest) -> None:
        """Once per app and run, before its first replica: build or check the image, start a fork server."""

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """A new pristine replica that answers requests."""

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """The replica pristine again: in place, or another process/container under the same id."""

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Digest of the replica's present state; None when that is not cheap or not known."""

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL in the app's database. `TaskError` when the statement is at fault."""

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Empty while the replica runs; otherwise why it does not (exit code, OOM, last log lines)."""

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """End the replica and remove all it left. Never raises for one already gone."""

    async def close(self) -> None:
        """End everything this backend started."""

    def leftovers(self) -> Mapping[str, str]:
        """What the reaper must remove if the broker dies: docker label ``key=value`` pairs; may be empty."""


@runtime_checkable
class PausingBackend(Protocol):
    """What a backend offers besides if its replicas can be frozen while nobody needs them."""

    async def pause(self, app: AppManifest, replica: Replica) -> None:
        """Use no processor from now on. A paused replica counts as alive."""

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        """Go on as if nothing had happened."""


@runtime_checkable
class KeepingBackend(Protocol):
    """What a backend offers besides if what somebody has made of a replica can be what all later ones start with."""

    def keeps(self, app: AppManifest) -> bool:
        """Whether that is so for this app, which need not have been prepared."""

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        """End the replica in good order and have those to come start from its state; the number of that edition.

        Later ones have higher numbers. The replica's place is reset afterwards, also when this fails.
        """


@runtime_checkable
class WatchingBackend(Protocol):
    """What a backend offers besides if it can tell what still runs in a replica that nobody asks for anything."""

    async def at_work(self, app: AppManifest, replica: Replica) -> str:
        """Empty when no more runs in the replica than when it was pristine, now or soon; otherwise what does."""


@runtime_checkable
class AskingBackend(Protocol):
    """What a backend offers besides if programs can be run where an app is."""

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        """Empty when the program ends with 0; otherwise what it said. `SiteError` when it can't be run, or hangs."""


@runtime_checkable
class RoomyBackend(Protocol):
    """What a backend offers besides if it can tell whether an app could still write something down."""

    async def crowded(self, app: AppManifest, replica: Replica) -> str:
        """Empty while there is room on the disks that the replica has, as far as can be told; otherwise which are
        full."""


@runtime_checkable
class WorldBackend(Protocol):
    """What a backend offers besides if its sites are the world's, which the gateway visits itself, under guard."""

    def world(self, app: AppManifest) -> World:
        """How they are reached, the same for all trials."""


@runtime_checkable
class ListingBackend(Protocol):
    """What a backend offers besides if it can tell what a fingerprint is made of."""

    async def listing(self, app: AppManifest, replica: Replica) -> tuple[str, ...]:
        """A line per entry: its state, a tab, its path."""


@runtime_checkable
class LedgerBackend(Protocol):
    """What a backend offers besides if it can tell what an app holds, so that two moments can be compared."""

    def looks_cheaply(self, app: AppManifest) -> bool:
        """Whether that takes milliseconds and disturbs nobody, so that it can be done in every trial."""

    async def moment(self, app: AppManifest, replica: Replica) -> Moment:
        """The databases and files of the replica; what can't be determined, it says."""
