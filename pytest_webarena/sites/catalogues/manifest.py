"""What an app is, as data: its sites, accounts, sign-in, databases, and how a backend runs it.

`loading` reads manifests from YAML; the broker, workers and reports share the values below.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin

from pytest_webarena.actions import Action
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.evidence import JsonValue
from pytest_webarena.sites.catalogues.running import (
    ContainerStep,
    DockerManifest,
    ExecReady,
    HttpReady,
    PortReady,
    ProcessManifest,
    Readiness,
    VolumeManifest,
)

__all__ = [
    "Account",
    "ApiRecipe",
    "AppManifest",
    "Catalogue",
    "ContainerStep",
    "DatabaseManifest",
    "DockerManifest",
    "ExecReady",
    "HttpReady",
    "LoginCheck",
    "LoginRecipe",
    "PortReady",
    "ProcessManifest",
    "Readiness",
    "SiteManifest",
    "VolumeManifest",
]

PLACEHOLDER = re.compile(r"\{(url|host)(?::([A-Za-z0-9_-]+))?\}")
"""What `AppManifest.fill` fills in."""


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
    """Opened after the steps; may use ``{username}``. Being sent elsewhere means: not signed in."""
    includes: str = ""
    """Visible text the page must hold; may use ``{username}``. Empty: staying on the path is enough."""
    locate: str = ""
    """Playwright selector of the element that must hold the text; empty: the whole page."""
    redirects: bool = False
    """The page may send visitors on, also signed-in ones: then only what it holds is proof."""

    def __str__(self) -> str:
        given = (f"{key}: {text}" for key in ("path", "includes", "locate") if (text := getattr(self, key)))
        return f"{{{', '.join(given)}}}"

    def names_account(self) -> bool:
        """Whether it depends on the account, so that it may tell one from another."""
        given = (self.path, self.includes, self.locate)
        return any(placeholder in text for text in given for placeholder in ("{username}", "{password}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRecipe:
    """How to sign in on one site. Executed by the browser room; here it is only data."""

    kind: Literal["form", "header", "state", "script"]
    """``form``: ``steps`` on the page ``path``. ``header``: ``headers`` on every request to the site, and only to it.
    ``state``: a stored browser state. ``script``: a Python function that makes one."""
    site: str
    check: LoginCheck
    api_check: LoginCheck | None = None
    """What shows of plain requests with the account's cookies that they are the account's; None: ``check`` does."""
    path: str = ""
    """Page with the form."""
    steps: tuple[Action, ...] = ()
    """Targets are Playwright selectors; texts may use ``{username}`` and ``{password}``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Added by the gateway, so no page and no agent sees them; values may use ``{username}`` and ``{password}``."""
    state: str = ""
    """File with Playwright's storage state; ``{username}`` is filled in. Absolute."""
    script: str = ""
    """``module:function`` or ``file.py:function``, called with a `SignIn` (see `browser.login`)."""
    portable: bool = True
    """Whether a session made on one replica is accepted by every other one (signed cookies, or a login before the
    snapshot). Then one sign-in serves the whole run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRecipe:
    """How checks authenticate at a site's API. A token is fetched for each call: it dies with a reset."""

    headers: Mapping[str, str]
    """Sent with each call; values may use ``{token}``."""
    method: str = "POST"
    path: str = ""
    """Where the token comes from; empty: the headers need none."""
    body: JsonValue = None
    """Sent as JSON."""
    token: str = ""
    """Key of the token in the answer's JSON; empty: the answer is the token, as a JSON string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteManifest:
    """One host name an agent visits."""

    name: str
    host: str
    """What the browser calls it, e.g. ``homepage.test``. Served as ``http://<host>`` by the gateway, or with
    ``https``. Below ``.localhost`` browsers take the first for a secure context, too, otherwise they don't."""
    app: str
    root: str = ""
    """Path below which the site's addresses are meant, e.g. ``/admin``; ``url`` ends with it. Empty: the whole host."""
    start: str = "/"
    """Path where a visit begins, on the host."""
    default_user: str = ""
    """Account that tasks use unless they name another; empty: nobody is signed in."""
    https: bool = False
    """Whether browsers reach it as ``https://<host>``. The gateway ends TLS; what serves it speaks plain HTTP."""
    base: str = ""
    """Of a site that runs elsewhere: its own address, without a trailing slash. Empty: ``http://<host>``."""
    port: int = 0
    """Where it listens in its container, if not on the app's port: one container may serve several sites."""
    api: ApiRecipe | None = None
    """How checks call its API; None: with the visitor's cookies only."""
    reach_header: str = ""
    """Header of each request in which it is told which sites the visitor can reach; empty: it is not told."""

    @property
    def url(self) -> str:
        """Base URL without a trailing slash."""
        return self.base or f"{'https' if self.https else 'http'}://{self.host}{self.root}"

    @property
    def start_url(self) -> str:
        """Address where a visit begins."""
        return urljoin(f"{self.url}/", self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseManifest:
    """One database of an app that checks and set-up steps may query."""

    name: str
    engine: Literal["sqlite", "mysql", "postgresql", "gitlab-psql"]
    path: str = ""
    """SQLite: the file, relative to the app's data directory."""
    database: str = ""
    """The others: its name on the server inside the container."""
    user: str = ""
    password: str = ""
    host: str = ""
    """Where the server listens, seen from inside; empty: the client's default."""
    client: tuple[str, ...] = ()
    """Program and arguments that replace the engine's own client (`client_argv`)."""
    ignore: tuple[str, ...] = ()
    """Tables, new rows of them as ``+table``, and columns as ``table.column``, that change by themselves: what differs
    there is nobody's doing. ``*`` stands for anything."""

    @property
    def client_argv(self) -> tuple[str, ...]:
        """What runs inside the container; format options and the SQL, as one argument, come after it. Not SQLite.

        >>> DatabaseManifest(name="main", engine="mysql", database="shop", user="me", password="x").client_argv
        ('mysql', '--user=me', '--password=x', 'shop')
        """
        if self.client:
            return self.client
        if self.engine == "mysql":
            given = (("--user=", self.user), ("--password=", self.password), ("--host=", self.host))
            return ("mysql", *(option + value for option, value in given if value), self.database)
        if self.engine == "gitlab-psql":
            return ("gitlab-psql", "-d", self.database)
        given = (("--host=", self.host), ("--username=", self.user), ("--dbname=", self.database))
        psql = ("psql", *(option + value for option, value in given if value))
        # psql takes no password as an argument; env is in every image.
        return ("env", f"PGPASSWORD={self.password}", *psql) if self.password else psql


@dataclass(frozen=True, slots=True, kw_only=True)
class AppManifest:
    """The unit that runs, is leased and is reset. Serves one or more sites."""

    name: str
    sites: tuple[SiteManifest, ...]
    backend: str
    """``process``, ``docker``, ``external``, what an entry point calls it, or ``module:class`` of another `Backend`."""
    users: Mapping[str, Account] = field(default_factory=dict)
    login: Mapping[str, LoginRecipe] = field(default_factory=dict)
    """Site name to recipe; sites without one need no sign-in."""
    databases: Mapping[str, DatabaseManifest] = field(default_factory=dict)
    """The first one is what a query without a name means."""
    forbid_side_effects: bool = False
    """Whether its visitors cause every difference in its databases and files, except for what is ignored."""
    ignore_files: tuple[str, ...] = ()
    """Patterns of paths in its data folder that change by themselves."""
    read_only: bool = False
    """Nothing an agent does can change it: one replica is shared by everybody and never reset. The gateway refuses
    requests that may change something."""
    reads: tuple[str, ...] = ()
    """Of a read-only app: paths below which other methods than GET only read as well, e.g. ``/search``."""
    reuse: Literal["clean", "never"] | None = None
    """Whether a replica proved unchanged is handed on without a reset; None, which nobody has said, means ``never``.
    No proof shows what the app keeps in memory (a clock, counters), so only who knows the app can say ``clean``."""
    ready: tuple[Readiness, ...] = (PortReady(),)
    """All must hold before a replica is handed out."""
    start_timeout: float = 60.0
    """Seconds a start or a reset may take."""
    answer_timeout: float = 10.0
    """Seconds a leased replica has to answer when somebody doubts that it still does."""
    boot_seconds: float = 1.0
    """About how long a start takes; a hint for sizing and progress."""
    max_replicas: int | None = None
    """Overrides the run's limit."""
    spares: int | None = None
    """Overrides the run's number of spare pristine replicas."""
    depends_on: tuple[str, ...] = ()
    """Apps that run and are leased along with it; their hosts are served too. What that means for containers is in
    `units.Unit`."""
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

    def fill(self, text: str) -> str:
        """``text`` with ``{url}`` and ``{host}`` of the first site, and ``{url:NAME}``, ``{host:NAME}`` of the others.

        Other braces stay.
        """

        def value(match: re.Match[str]) -> str:
            site = self.site(match[2]) if match[2] else self.sites[0]
            return site.url if match[1] == "url" else site.host

        return PLACEHOLDER.sub(value, text)

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
    def option(self) -> str:
        """What ``--sites`` calls it: the name of a shipped one, else its file."""
        return self.name if self.path.parent == Path(__file__).with_name("shipped") else str(self.path)

    @property
    def sites(self) -> Mapping[str, SiteManifest]:
        """All sites by name, in file order."""
        return {site.name: site for app in self.apps.values() for site in app.sites}

    @property
    def accounts(self) -> Mapping[str, Collection[str] | None]:
        """Site name to the names of the accounts that can sign in there; None where nobody does, for its pages show
        whoever was signed in: an archive's."""
        return {
            site.name: tuple(app.users) if app.backend != "archive" else None
            for app in self.apps.values()
            for site in app.sites
        }

    def site(self, name: str) -> SiteManifest:
        """The site called ``name``; an unknown name is a `UsageError` that lists the known ones."""
        sites = self.sites
        if name not in sites:
            raise UsageError(f"the catalogue {self.name!r} has no site {name!r}; {closest(name, sites)}")
        return sites[name]

    def apps_of(self, sites: Iterable[str]) -> tuple[AppManifest, ...]:
        """The apps that serve ``sites``, each once, in the order of the sites; then those they depend on."""
        names = list(dict.fromkeys(self.site(site).app for site in sites))
        for name in names:  # grows while it is walked
            names += [needed for needed in self.apps[name].depends_on if needed not in names]
        return tuple(self.apps[name] for name in names)
