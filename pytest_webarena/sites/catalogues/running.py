"""How an app is run, as data: what readiness means, and its process or container. A part of its `manifest`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

__all__ = [
    "ContainerStep",
    "DockerManifest",
    "ExecReady",
    "HttpReady",
    "PortReady",
    "ProcessManifest",
    "Pulls",
    "Readiness",
    "VolumeManifest",
]


Pulls = Literal["small", "all", "never"]
"""Which missing images a run pulls: those known to be small, all, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReady:
    """Ready when a GET is answered as expected."""

    path: str = "/"
    status: tuple[int, ...] = ()
    """Accepted status codes; empty: anything below 500."""
    includes: str = ""
    """Text the body must hold."""
    redirect: str = ""
    """Path that the answer must lead to (its ``Location``, whatever the host); implies a status of 3xx."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortReady:
    """Ready when the app's port accepts connections."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecReady:
    """Ready when a program inside the container ends with 0."""

    run: tuple[str, ...]
    """Program and arguments."""


Readiness = HttpReady | PortReady | ExecReady


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessManifest:
    """For the ``process`` backend: either a Python WSGI app or any command.

    WSGI: a fork server imports ``factory``, seeds once, warms up, and forks a replica in milliseconds.
    Command: started with ``{port}`` and ``{data_dir}`` filled in; any language.
    """

    factory: str = ""
    """``module:attribute``, called with the data directory (a `Path`); returns a WSGI callable."""
    seed: str = ""
    """``module:attribute``, called once per run with an empty directory to fill."""
    data: str = ""
    """Directory whose content every replica starts with, instead of ``seed``. Relative to the catalogue's file."""
    on_fork: str = ""
    """``module:attribute``, called in each forked replica with its data directory. With it, the app is made once,
    before forking, and the hook moves it to the replica's data; without it, ``factory`` is called in every replica."""
    warm: tuple[str, ...] = ()
    """Paths, or addresses with a site's host, requested in the fork server so that replicas start warm."""
    preload: tuple[str, ...] = ()
    """Modules loaded once for all apps of the catalogue that name the same ones and have the same ``env``: their fork
    servers are forked from one process then, which has loaded nothing else."""
    env_after_preload: tuple[str, ...] = ()
    """Variables of ``env`` that are set after ``preload``, so that apps which differ in nothing else share it."""
    threads: int = 4
    """Requests a replica serves at a time."""
    command: tuple[str, ...] = ()
    """Program and arguments; ``{port}``, ``{data_dir}`` and ``{python}`` are filled in. Runs in the folder of the
    catalogue's file and must listen on 127.0.0.1."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment, filled in likewise."""
    needs: tuple[str, ...] = ()
    """Importable modules that ``factory`` needs beside its own."""
    install: str = ""
    """The command that brings them, told when one is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeManifest:
    """Data that are not in the image."""

    source: str
    """Name of a volume that exists on the engine, or an absolute path."""
    target: str
    """Where it is mounted inside."""
    mutable: bool = False
    """The app writes there: every replica gets a copy of its own, but the one replica of a read-only app writes into
    the volume itself. Otherwise all share it, read-only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerStep:
    """One program that is run inside a container."""

    run: tuple[str, ...]
    """Program and arguments, no shell; filled in by `AppManifest.fill`."""
    attempts: int = 1
    """How often it is tried until it ends with 0."""
    pause: float = 2.0
    """Seconds between two attempts."""
    timeout: float = 60.0
    """Seconds one attempt may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerManifest:
    """For the ``docker`` backend: one container per replica.

    Nothing is published: the gateway connects to the container's own address, so host ports can't collide. What an
    image listens on besides its sites (control ports, databases) is out of a browser's reach.
    """

    image: str
    """Reference of the image."""
    build: str = ""
    """Recipe in `sites.images` that makes the image when it is missing; empty: it must exist or be pulled."""
    digest: str = ""
    """``sha256:…`` of the image (its id, or the registry's digest): any other image is refused."""
    tar: str = ""
    """File of ``docker save``, absolute, loaded when the image is missing and the file is there."""
    pull_size: str = ""
    """About how much a pull brings, as ``13.3 GB``; empty: nobody has said. Test runs pull what is small unasked."""
    get: str = ""
    """The commands with which a user gets the image, shown when it is missing. Empty: ``docker pull``."""
    volumes: tuple[VolumeManifest, ...] = ()
    booted: tuple[Readiness, ...] = ()
    """What must hold before `post_start`, where that is less than ``ready``, which must hold afterwards: an app that
    does not know its address yet sends visitors elsewhere. Empty: the same."""
    post_start: tuple[ContainerStep, ...] = ()
    """Run in order once the app has booted; afterwards it must become ready."""
    snapshot: bool = False
    """Whether replicas start from an image committed after `post_start`, which is then run once instead of always."""
    snapshot_env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment of containers that start from the snapshot."""
    reset: tuple[ContainerStep, ...] = ()
    """Programs that make a running container pristine again; without them a reset is a new container."""
    fingerprint: tuple[str, ...] = ()
    """Program and arguments that print a digest of the app's state; equal output, equal state."""
    command: tuple[str, ...] = ()
    """Replaces the image's command."""
    port: int = 80
    """Where the app listens inside the container."""
    env: Mapping[str, str] = field(default_factory=dict)
    memory: str = ""
    """Limit as Docker writes it, e.g. ``256m``; empty: none."""
    cpus: float | None = None
    """CPUs it may use; None: no limit."""
    shm_size: str = ""
    """Size of /dev/shm, e.g. ``2g``; empty: the engine's default."""
    data_dir: str = "/data"
    """Where the app's SQLite databases are inside the container."""
    init: bool = True
    """Whether process 1 is Docker's own, which passes signals on and reaps children."""

    @property
    def pull_bytes(self) -> int | None:
        """`pull_size` in bytes; None when nobody has said.

        >>> DockerManifest(image="shop", pull_size="115 MB").pull_bytes
        115000000
        """
        number, _, unit = self.pull_size.partition(" ")
        return round(float(number) * {"MB": 1e6, "GB": 1e9}[unit]) if self.pull_size else None
