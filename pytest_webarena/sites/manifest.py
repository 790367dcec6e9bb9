"""What an app is, as data: its sites, accounts, sign-in, databases, and how a backend runs it.

`load_catalogue` reads manifests from YAML; the broker, workers and reports share the values below.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_webarena.actions import Action
from pytest_webarena.errors import UsageError, closest

__all__ = [
    "Account",
    "AppManifest",
    "Catalogue",
    "DatabaseManifest",
    "DockerManifest",
    "HttpReady",
    "LoginCheck",
    "LoginRecipe",
    "PortReady",
    "ProcessManifest",
    "Readiness",
    "SiteManifest",
    "load_catalogue",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Somebody who can sign in. All passwords here are public test data."""

    username: str
    password: str
    role: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginCheck:
    """What proves that signing in worked: a page that only the signed-in user sees."""

    path: str
    """Opened after the steps. Being sent elsewhere means: not signed in."""
    includes: str = ""
    """Visible text the page must hold; may use ``{username}``. Empty: staying on the path is enough."""
    locate: str = ""
    """Playwright selector of the element that must hold the text; empty: the whole page."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRecipe:
    """How to sign in on one site. Executed by the browser room; here it is only data."""

    kind: Literal["form"]
    site: str
    path: str
    """Page with the form."""
    steps: tuple[Action, ...]
    """Targets are Playwright selectors; texts may use ``{username}`` and ``{password}``."""
    check: LoginCheck
    portable: bool = True
    """Whether a session made on one replica is accepted by every other one (signed cookies, or a login before the
    snapshot). Then one sign-in serves the whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteManifest:
    """One host name an agent visits."""

    name: str
    host: str
    """What the browser calls it, e.g. ``homepage.test``. Served as ``http://<host>`` by the gateway."""
    app: str
    start: str = "/"
    """Path where a visit begins."""
    default_user: str = ""
    """Account that tasks use unless they name another; empty: nobody is signed in."""

    @property
    def url(self) -> str:
        """Base URL without a trailing slash."""
        return f"http://{self.host}"


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseManifest:
    """One database of an app that checks and set-up steps may query."""

    name: str
    engine: Literal["sqlite"]
    path: str
    """The file, relative to the app's data directory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpReady:
    """Ready when a GET is answered as expected."""

    path: str = "/"
    status: tuple[int, ...] = ()
    """Accepted status codes; empty: anything below 500."""
    includes: str = ""
    """Text the body must hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PortReady:
    """Ready when the app's port accepts connections."""


Readiness = HttpReady | PortReady


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
    threads: int = 4
    """Requests a replica serves at a time."""
    command: tuple[str, ...] = ()
    """Program and arguments; ``{port}``, ``{data_dir}`` and ``{python}`` are filled in. Runs in the folder of the
    catalogue's file and must listen on 127.0.0.1."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Added to the environment, filled in likewise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DockerManifest:
    """For the ``docker`` backend: one container per replica."""

    image: str
    """Reference of the image."""
    build: str = ""
    """Recipe in `sites.images` that makes the image when it is missing; empty: it must exist or be pulled."""
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
    """Where the app's databases are inside the container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AppManifest:
    """The unit that runs, is leased and is reset. Serves one or more sites."""

    name: str
    sites: tuple[SiteManifest, ...]
    backend: str
    """``process``, ``docker``, or ``module:class`` of another `Backend`."""
    users: Mapping[str, Account] = field(default_factory=dict)
    login: Mapping[str, LoginRecipe] = field(default_factory=dict)
    """Site name to recipe; sites without one need no sign-in."""
    databases: Mapping[str, DatabaseManifest] = field(default_factory=dict)
    """The first one is what a query without a name means."""
    read_only: bool = False
    """Nothing an agent does can change it: one replica is shared by everybody and never reset."""
    reuse: Literal["clean", "never"] = "clean"
    """Whether a replica proved unchanged is handed on without a reset. ``never`` when a reset is cheap, or when the
    app keeps something in memory (a clock, counters) that its fingerprint doesn't show."""
    ready: tuple[Readiness, ...] = (PortReady(),)
    """All must hold before a replica is handed out."""
    start_timeout: float = 60.0
    """Seconds a start or a reset may take."""
    boot_seconds: float = 1.0
    """About how long a start takes; a hint for sizing and progress."""
    max_replicas: int | None = None
    """Overrides the run's limit."""
    standbys: int | None = None
    """Overrides the run's number of spare pristine replicas."""
    process: ProcessManifest | None = None
    docker: DockerManifest | None = None
    folder: Path = Path()
    """Of the file it was read from: Python code is also looked for here."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """For other backends: their own settings, as in the file."""
    digest: str = ""
    """Hash of this manifest and, for Python apps, of their source files: equal digests, equal behaviour."""

    def site(self, name: str) -> SiteManifest:
        """One of its sites. KeyError when it serves no such site."""
        for site in self.sites:
            if site.name == name:
                return site
        raise KeyError(name)

    def database(self, name: str) -> DatabaseManifest:
        """The database called ``name``, or the first for ``""``. `UsageError` when there is none."""
        if not name and self.databases:
            return next(iter(self.databases.values()))
        if name in self.databases:
            return self.databases[name]
        wanted = f"a database named {name!r}" if name else "a database"
        raise UsageError(f"{wanted} was asked of the app {self.name!r}; {closest(name, self.databases)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """A set of apps under one name."""

    name: str
    path: Path
    """The file it was read from."""
    apps: Mapping[str, AppManifest]

    @property
    def sites(self) -> Mapping[str, SiteManifest]:
        """All sites by name, in file order."""
        return {site.name: site for app in self.apps.values() for site in app.sites}

    def site(self, name: str) -> SiteManifest:
        """The site called ``name``; an unknown name is a `UsageError` that lists the known ones."""
        sites = self.sites
        if name not in sites:
            raise UsageError(f"the catalogue {self.name!r} has no site {name!r}; {closest(name, sites)}")
        return sites[name]

    def apps_of(self, sites: Iterable[str]) -> tuple[AppManifest, ...]:
        """The apps that serve ``sites``, each once, in the order of the sites."""
        return tuple(self.apps[name] for name in dict.fromkeys(self.site(site).app for site in sites))


def load_catalogue(name_or_path: str | Path) -> Catalogue:
    """Read a shipped catalogue by name (``embedded``) or one of the user's by path (``sites.yaml``).

    Raises `UsageError` for an unknown name, and one that lists every defect with file and line for a bad file.
    """
    from pytest_webarena.sites.loading import read_catalogue  # YAML is only needed here

    return read_catalogue(name_or_path)
