"""The interface between the broker and backends, which run apps.

All methods are coroutines on the broker's loop; blocking work belongs in a thread. Every failure is a `SiteError` whose
text ends with the last log lines of the app, where there are any.
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
    from pytest_webarena.sites.catalogues.program_files import Program
    from pytest_webarena.sites.catalogues.units import Unit
    from pytest_webarena.sites.ledger.snapshot import Moment

__all__ = [
    "AskingBackend",
    "Backend",
    "BackendContext",
    "FileBackend",
    "InstancesBackend",
    "KeepingBackend",
    "KeepsLogs",
    "LedgerBackend",
    "PausingBackend",
    "Replica",
    "Rows",
    "SignalledBackend",
    "WatchingBackend",
    "WorldBackend",
]


@dataclass(slots=True, kw_only=True)
class Replica:
    """One running copy of an app. The pool owns it; backends fill it in and may use ``handle``."""

    id: str
    """Unique in a run, e.g. ``homepage-3``."""
    app: str
    host: str
    port: int
    """Port that the gateway connects to (plain TCP)."""
    generation: int = 0
    """Number of resets since its start."""
    digest: str = ""
    """Identity of what it runs: image id, or digest of the app's code and seed."""
    program: Program | None = None
    """Files that it was started with; the pool fills it in."""
    fingerprint: str | None = None
    """Digest of its pristine state, if the backend can compute it cheaply."""
    edition: int = 0
    """State of the app that it started with: 0 is the app's own, later ones are from `KeepingBackend.keep`."""
    handle: object = field(default=None, repr=False)
    """Data of the backend's own: process id, container id, …"""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """For an app that runs elsewhere: the own addresses of its sites."""
    reset_seconds: float = 0.0
    """For an app that runs elsewhere: the duration of the reset that made it pristine."""
    origins: tuple[str, ...] = ()
    """For an archive: further origins (scheme, host and port) that it serves, e.g. ``https://cdn.test``."""
    ports: Mapping[str, int] = field(default_factory=dict)
    """Ports of sites that are not at ``port``, by name: those of stand-ins."""
    parts: dict[str, Replica] = field(default_factory=dict, repr=False)
    """Replicas, by app, of the other apps that start with it as one unit (`BackendContext.units`)."""

    def of(self, app: str) -> Replica:
        """Returns the replica of an app that started with this one, or this one itself. Raises `KeyError` for another
        app."""
        return self if app == self.app else self.parts[app]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The result of one SQL statement."""

    columns: tuple[str, ...]
    rows: tuple[tuple[JsonValue, ...], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendContext:
    """What a backend gets from its broker: the only argument of its constructor."""

    run: str
    """Random name of this broker's run; everything that outlives a process must be labelled with it."""
    owner: str
    """The broker's identity as ``pid/start time/boot id``, with which `reaper.is_alive` decides whether an object is
    orphaned."""
    directory: Path
    """Private scratch directory; it is removed when the broker ends for any reason."""
    environ: Mapping[str, str]
    """Environment variables for every started process, by which the reaper recognises it."""
    catalogue: str = ""
    """The catalogue, as its user names it."""
    pulls: Pulls = "small"
    """What may be downloaded without asking."""
    needed: frozenset[str] = frozenset()
    """Apps that apps of other units depend on and must be able to call."""
    units: Mapping[str, Unit] = field(default_factory=dict)
    """Units by their leading app (`Unit.lead`): apps that start, stop and are kept together. An app that is missing
    here is a unit by itself."""
    reset_proofs: Path | None = None
    """File that keeps the proofs of resets for later brokers of the run; None: none."""
    note: Callable[[str, str], None] = lambda app, text: None
    """Receives an app and a progress message about long work; an empty message when the work has finished."""


@runtime_checkable
class KeepsLogs(Protocol):
    """A backend that can return the logs of its apps."""

    async def logs(self, app: AppManifest, replica: Replica, lines: int) -> str:
        """Returns the last ``lines`` log lines of the replica."""


class Backend(Protocol):
    """Runs replicas of apps. There is one instance per broker and kind, created with a `BackendContext`."""

    async def prepare(self, app: AppManifest) -> None:
        """Prepare an app once per run, before its first replica: build or check the image, start a fork server."""

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Start a pristine replica, and return it when it answers requests."""

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Make the replica pristine again: in place, or as another process or container with the same id."""

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str | None:
        """Returns a digest of the replica's current state; None when that is expensive or unknown."""

    async def query(self, app: AppManifest, replica: Replica, database: str, sql: str, *, write: bool) -> Rows:
        """Run SQL in the app's database. Raises `TaskError` when the statement is at fault."""

    async def alive(self, app: AppManifest, replica: Replica) -> str:
        """Returns why the replica does not run (exit code, out of memory, last log lines); empty while it runs."""

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Stop the replica and remove everything it left. Must not raise for one that is already gone."""

    async def close(self) -> None:
        """Stop everything this backend started."""

    def leftovers(self) -> Mapping[str, str]:
        """Returns what the reaper must remove if the broker dies: Docker labels as ``key=value`` pairs; may be
        empty."""


@runtime_checkable
class PausingBackend(Protocol):
    """Optional methods of a backend whose replicas can be frozen while nobody needs them."""

    async def pause(self, app: AppManifest, replica: Replica) -> None:
        """Freeze the replica, so that it uses no processor time. A paused replica counts as alive."""

    async def resume(self, app: AppManifest, replica: Replica) -> None:
        """Unfreeze the replica."""


@runtime_checkable
class KeepingBackend(Protocol):
    """Optional methods of a backend that can start later replicas from the current state of one, e.g. with users logged
    in."""

    def keeps(self, app: AppManifest) -> bool:
        """Returns whether that is possible for this app, which need not have been prepared."""

    async def keep(self, app: AppManifest, replica: Replica) -> int:
        """Stop the replica cleanly, start all later ones from its state, and return the number of this edition.

        Later editions have higher numbers. The replica's slot is reset afterwards, also when this fails.
        """


@runtime_checkable
class WatchingBackend(Protocol):
    """Optional method of a backend that can detect activity in a replica without requests."""

    async def extra_processes(self, app: AppManifest, replica: Replica) -> str:
        """Returns what runs in the replica in addition to what ran when it was pristine, after a short wait; empty if
        nothing does."""


@runtime_checkable
class InstancesBackend(Protocol):
    """Optional methods of a backend whose replicas are instances that run elsewhere and can't be replaced."""

    async def proof_change(self, app: AppManifest, replica: Replica) -> str:
        """Returns how the data of the replica differ from those after a reset; empty if they don't, or it is
        unknown."""

    async def instance_problem(self, app: AppManifest, addresses: Mapping[str, str]) -> str:
        """Returns why the instance at ``addresses`` can't be used, after its running reset; empty if it can be."""

    def usable(self, app: AppManifest) -> int:
        """Returns the number of instances that are not withdrawn because they kept failing."""

    def promising(self, app: AppManifest) -> int:
        """Returns the number of free instances whose latest reset did not fail."""

    def instance_problems(self, app: AppManifest) -> tuple[str, ...]:
        """Returns a sentence for each instance whose latest reset failed."""

    def withdraw(self, app: AppManifest, replica: Replica, why: str) -> None:
        """Let no later replica use the instance of this one, because of ``why``."""


@runtime_checkable
class AskingBackend(Protocol):
    """Optional method of a backend that can run programs next to an app."""

    async def execute(self, app: AppManifest, replica: Replica, arguments: Sequence[str]) -> str:
        """Returns the program's output if its exit code is not 0, else an empty text. Raises `SiteError` when it can't
        be run, or hangs."""


@runtime_checkable
class RoomyBackend(Protocol):
    """Optional method of a backend that can detect disks on which nothing can be saved."""

    async def full_disks(self, app: AppManifest, replica: Replica) -> str:
        """Returns which disks of the replica are full or became read-only, as far as that is known; empty if none."""


@runtime_checkable
class SignalledBackend(Protocol):
    """Optional method of a backend to whose processes or containers other programs can send signals."""

    async def signalled(self, app: AppManifest, replica: Replica) -> bool:
        """Returns whether a signal ended or stopped a process of the replica."""


@runtime_checkable
class WorldBackend(Protocol):
    """Optional method of a backend for live sites, which the gateway visits itself, with the restrictions of `live`."""

    def world(self, app: AppManifest) -> World:
        """Returns how the sites are reached, which is the same for all trials."""


@runtime_checkable
class ListingBackend(Protocol):
    """Optional method of a backend that can list the entries of a fingerprint."""

    async def listing(self, app: AppManifest, replica: Replica) -> tuple[str, ...]:
        """Returns one line per entry: its state, a tab, its path."""


@runtime_checkable
class FileBackend(Protocol):
    """Optional method of a backend that can change an app's files."""

    async def flip(self, app: AppManifest, replica: Replica, path: str) -> None:
        """Invert the last bit of a file in the data folder. Raises `TaskError` if there is none."""


@runtime_checkable
class LedgerBackend(Protocol):
    """Optional methods of a backend that can read an app's data, so that two moments can be compared."""

    def reads_cheaply(self, app: AppManifest) -> bool:
        """Returns whether reading takes milliseconds and disturbs nobody, so that every trial can do it."""

    async def moment(self, app: AppManifest, replica: Replica) -> Moment:
        """Returns the databases and files of the replica, and notes what can't be determined."""
