"""How an app runs, as data: readiness, and its process or container. These are parts of its `manifest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from pytest_webarena.evidence import JsonValue

__all__ = [
    "ContainerStep",
    "DockerManifest",
    "ExecReady",
    "HostedReset",
    "HttpCall",
    "HttpReady",
    "PortReady",
    "ProcessManifest",
    "Pulls",
    "Quiet",
    "Readiness",
    "VolumeManifest",
]


Pulls = Literal["small", "all", "never"]
"""Missing images that a run pulls: those known to be small, all, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReady:
    """Ready when a GET request gets the expected response."""

    path: str = "/"
    status: tuple[int, ...] = ()
    """Accepted status codes; empty: anything below 500."""
    includes: str = ""
    """Text that the body must contain."""
    redirect: str = ""
    """Path of the response's ``Location``, on any host; implies a status of 3xx."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortReady:
    """Ready when the app's port accepts connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecReady:
    """Ready when a program inside the container exits with 0."""

    run: tuple[str, ...]
    """Program and arguments."""


Readiness = HttpReady | PortReady | ExecReady


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCall:
    """A request to a server next to a site that runs elsewhere, and the expected response."""

    url: str
    """May contain `HostedReset`'s placeholders, as may headers and body."""
    method: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: JsonValue = None
    """Sent as JSON; None: no body."""
    status: tuple[int, ...] = ()
    """Accepted status codes; empty: 200 to 299."""
    includes: str = ""
    """Text that the response must contain."""
    token_env: str = ""
    """Environment variable with a token that is sent as ``Authorization: Bearer``; empty: none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostedReset:
    """How to reset an instance of an app that runs elsewhere: a request or a program of this machine.

    Texts may contain ``{url}`` and ``{host}`` of the instance, ``{url:SITE}`` and ``{host:SITE}``, and ``{instance}``,
    its number from 1.
    """

    http: HttpCall | None = None
    run: tuple[str, ...] = ()
    """Program and arguments; runs in the catalogue's folder and must exit with 0."""
    ready: HttpCall | None = None
    """Request that succeeds when the reset has finished; None: it has when the request or the program ends."""
    proof: HttpCall | None = None
    """Request whose response must be the same after each reset, of each instance; None: resets are not proved."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """How to see that an app has no queued work left: a query, or a probe that passes."""

    sql: str = ""
    """Query that counts the remaining work; empty: `probe` is used."""
    database: str = ""
    """Database of the query; empty: the app's main one."""
    probe: HttpReady | ExecReady | None = None
    deadline: float = 30.0
    """Maximum time to wait, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessManifest:
    """Settings of the ``process`` backend: either a Python WSGI app or any command.

    WSGI: a fork server imports ``factory``, seeds once, warms up, and forks a replica in milliseconds. Command: started
    with ``{port}`` and ``{data_dir}`` replaced; any language.
    """

    factory: str = ""
    """``module:attribute``, called with the data directory (a `Path`); returns a WSGI callable."""
    seed: str = ""
    """``module:attribute``, called once per run with an empty directory to fill."""
    data: str = ""
    """Directory with the initial data of every replica, instead of ``seed``. Relative to the catalogue's file."""
    on_fork: str = ""
    """``module:attribute``, called in each forked replica with its data directory. With it, the app is created once,
    before forking, and the hook switches it to the replica's data; without it, ``factory`` is called in every replica.
    """
    warm: tuple[str, ...] = ()
    """Paths, or addresses with a site's host, requested in the fork server so that replicas start warm."""
    preload: tuple[str, ...] = ()
    """Modules loaded once for all apps of the catalogue with the same modules and the same ``env``: their fork servers
    are then forked from one process, which has loaded nothing else."""
    env_after_preload: tuple[str, ...] = ()
    """Variables of ``env`` that are set after ``preload``, so that apps that differ only in these share it."""
    threads: int = 4
    """Number of requests that a replica serves in parallel."""
    command: tuple[str, ...] = ()
    """Program and arguments; ``{port}``, ``{data_dir}`` and ``{python}`` are replaced. It runs in the folder of the
    catalogue's file and must listen on 127.0.0.1."""
    in_data_dir: bool = False
    """Whether the command runs in its data directory instead. Its words that name files of the catalogue's folder then
    lead there, and so do Python's imports."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables, with the same placeholders."""
    needs: tuple[str, ...] = ()
    """Importable modules that ``factory`` needs in addition to its own."""
    install: str = ""
    """Command that installs them, shown when one is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeManifest:
    """Data outside the image."""

    source: str = ""
    """Name of a volume on the engine, or an absolute path; empty: a new volume per container, filled from the image.
    """
    target: str
    """Mount point inside the container."""
    mutable: bool = False
    """Whether the app writes there: then every replica gets its own copy, except for the single replica of a read-only
    app, which writes into the volume itself. Otherwise all replicas share it, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStep:
    """One program to run inside a container."""

    run: tuple[str, ...]
    """Program and arguments, without a shell; placeholders of `AppManifest.fill` are replaced."""
    attempts: int = 1
    """Maximum number of attempts until it exits with 0."""
    pause: float = 2.0
    """Seconds between two attempts."""
    timeout: float = 60.0
    """Time limit of one attempt in seconds."""
    proof: tuple[str, ...] = ()
    """Program and arguments that exit with 0 only if the step had its effect; empty: its own exit code is enough."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerManifest:
    """Settings of the ``docker`` backend: one container per replica.

    No port is published: the gateway connects to the container's own address, so host ports can't collide. Browsers
    can't reach other ports of the image (control ports, databases).
    """

    image: str
    """Reference of the image."""
    build: str = ""
    """Recipe in `sites.container_images` that builds a missing image; empty: it must exist or be pulled."""
    digest: str = ""
    """``sha256:…`` of the image (its id, or the registry's digest): any other image is refused."""
    tar: str = ""
    """Absolute path of a ``docker save`` file, which is loaded when the image is missing and the file exists."""
    pull_size: str = ""
    """Approximate size of a pull, as ``13.3 GB``; empty: unknown. Test runs pull small images without asking."""
    get: str = ""
    """Commands with which a user gets the image, shown when it is missing. Empty: ``docker pull``."""
    volumes: tuple[VolumeManifest, ...] = ()
    booted: tuple[Readiness, ...] = ()
    """Conditions before `post_start`, if they are fewer than ``ready``, which must hold afterwards: an app that does
    not know its address yet redirects visitors. Empty: the same."""
    post_start: tuple[ContainerStep, ...] = ()
    """Steps to run in order once the app has booted; afterwards it must become ready."""
    snapshot: bool = False
    """Whether replicas start from an image committed after `post_start`, which then runs once instead of every time."""
    before_snapshot: tuple[ContainerStep, ...] = ()
    """Steps that end the app's programs cleanly before its container is stopped and committed."""
    snapshot_env: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables of containers that start from the snapshot."""
    reset: tuple[ContainerStep, ...] = ()
    """Programs that make a running container pristine again; without them a reset is a new container."""
    fingerprint: tuple[str, ...] = ()
    """Program and arguments that print a digest of the app's state; equal output means equal state."""
    command: tuple[str, ...] = ()
    """Replaces the image's command."""
    entrypoint: tuple[str, ...] = ()
    """Replaces the image's entrypoint, and its command."""
    user: str = ""
    """User and group that run the app inside; empty: the image's."""
    workdir: str = ""
    """Working directory inside; empty: the image's."""
    aliases: tuple[str, ...] = ()
    """Further names under which apps of its unit find the container."""
    port: int = 80
    """Port of the app inside the container."""
    env: Mapping[str, str] = field(default_factory=dict)
    memory: str = ""
    """Memory limit in Docker's notation, e.g. ``256m``; empty: none."""
    cpus: float | None = None
    """Number of CPUs it may use; None: no limit."""
    shm_size: str = ""
    """Size of /dev/shm, e.g. ``2g``; empty: the engine's default."""
    data_dir: str = "/data"
    """Directory of the app's SQLite databases inside the container."""
    init: bool = True
    """Whether process 1 is Docker's own, which passes signals on and reaps children."""

    @property
    def pull_bytes(self) -> int | None:
        """`pull_size` in bytes; None when it is unknown.

        >>> DockerManifest(image="shop", pull_size="115 MB").pull_bytes
        115000000
        """
        number, _, unit = self.pull_size.partition(" ")
        return round(float(number) * {"MB": 1e6, "GB": 1e9}[unit]) if self.pull_size else None
