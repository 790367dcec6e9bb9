"""Apps as data: sites, accounts, logins, databases, and how a backend runs them.

`loading` reads manifests from YAML; the broker, workers and reports share these values.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urljoin

from pytest_webarena.actions import Action
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.evidence import JsonValue
from pytest_webarena.secrets import mark
from pytest_webarena.sites.catalogues.facts import SiteFact, TrialWrite
from pytest_webarena.sites.catalogues.running import (
    ContainerStep,
    DockerManifest,
    ExecReady,
    HostedReset,
    HttpReady,
    PortReady,
    ProcessManifest,
    Quiet,
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
    "HttpCredentials",
    "HttpReady",
    "LoginCheck",
    "LoginRecipe",
    "PortReady",
    "ProcessManifest",
    "Quiet",
    "Readiness",
    "SiteManifest",
    "VolumeManifest",
]

PLACEHOLDER = re.compile(r"\{(url|host)(?::([A-Za-z0-9_-]+))?\}")
"""Placeholders of `AppManifest.fill`."""


def _basic(username: str, password: str) -> str:
    return f"Basic {base64.b64encode(f'{username}:{password}'.encode()).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account. Passwords in catalogues are public test data; secrets come from the environment."""

    username: str
    password: str = ""
    role: str = ""
    totp: str = ""
    """Secret of two-factor authentication, in base32; empty: there is none."""
    password_env: str = ""
    """Environment variable that the password comes from; empty: the catalogue has it."""
    totp_env: str = ""
    """Environment variable that ``totp`` comes from."""

    def __post_init__(self) -> None:
        """Mask what comes from the environment, in each process that has the account."""
        if self.password_env:
            mark(self.password)
            mark(self.authorization.removeprefix("Basic "))
        if self.totp_env:
            mark(self.totp)

    @property
    def is_private(self) -> bool:
        """Whether it has secrets, so that its sessions are masked in records, too."""
        return bool(self.password_env or self.totp_env)

    @property
    def authorization(self) -> str:
        """Value of the header ``Authorization`` for HTTP Basic authentication."""
        return _basic(self.username, self.password)

    @property
    def missing(self) -> str:
        """The first environment variable that has no value; empty when all have one."""
        given = ((self.password_env, self.password), (self.totp_env, self.totp))
        return next((name for name, value in given if name and not value), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpCredentials:
    """Name and password of HTTP Basic authentication."""

    username: str
    password: str

    @property
    def authorization(self) -> str:
        """Value of the header ``Authorization``."""
        return _basic(self.username, self.password)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginCheck:
    """Proof of a successful login: a page that only the logged-in user sees."""

    path: str
    """Path to open after the steps; may use ``{username}``. A redirect elsewhere means that the login failed."""
    includes: str = ""
    """Visible text that the page must contain; may use ``{username}``. Empty: no redirect is enough."""
    locate: str = ""
    """Playwright selector of the element that must contain the text; empty: the whole page."""
    redirects: bool = False
    """Whether the page may redirect logged-in visitors, too; then only its content is proof."""

    def __str__(self) -> str:
        given = (f"{key}: {text}" for key in ("path", "includes", "locate") if (text := getattr(self, key)))
        return f"{{{', '.join(given)}}}"

    def names_account(self) -> bool:
        """Whether the check depends on the account, so that it can distinguish accounts."""
        given = (self.path, self.includes, self.locate)
        return any(placeholder in text for text in given for placeholder in ("{username}", "{password}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginRecipe:
    """How to log in to one site. The package `browser` executes it; here it is only data."""

    kind: Literal["form", "header", "state", "script", "command"]
    """``form``: ``steps`` on the page ``path``. ``header``: ``headers`` on every request to the site, and only to it.
    ``state``: a stored browser state. ``script``: a Python function that creates one. ``command``: a program that
    prints one."""
    site: str
    check: LoginCheck
    api_check: LoginCheck | None = None
    """Check that plain requests with the account's cookies count as the account's; None: ``check`` is used."""
    path: str = ""
    """Page with the form."""
    steps: tuple[Action, ...] = ()
    """Actions in the form. Targets are Playwright selectors; texts may use ``{username}`` and ``{password}``."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers that the gateway adds, so that no page and no agent sees them; values may use ``{username}`` and
    ``{password}``."""
    state: str = ""
    """Absolute path of a file with Playwright's storage state; ``{username}`` is replaced."""
    script: str = ""
    """``module:function`` or ``file.py:function``, called with a `SignIn` (see `browser.login`)."""
    command: tuple[str, ...] = ()
    """Program and arguments; ``{username}`` and ``{url}`` are replaced."""
    folder: str = ""
    """Directory in which ``command`` runs."""
    portable: bool = True
    """Whether every replica accepts a session made on another one (signed cookies, or a login before the snapshot).
    Then one login serves the whole run."""

    @property
    def has_secret_sessions(self) -> bool:
        """Whether its sessions are somebody's own: a file or a program of the user's provides them."""
        return self.kind in ("command", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRecipe:
    """How checks authenticate at a site's API. A token is requested for each call, because a reset invalidates it."""

    headers: Mapping[str, str]
    """Headers of each call; values may use ``{token}``."""
    method: str = "POST"
    path: str = ""
    """Path that returns the token; empty: the headers need none."""
    body: JsonValue = None
    """Body of the token request, sent as JSON."""
    token: str = ""
    """Key of the token in the JSON response; empty: the response is the token, as a JSON string."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteManifest:
    """One host name that agents visit."""

    name: str
    host: str
    """Host name in the browser, e.g. ``homepage.test``. The gateway serves it as ``http://<host>``, or with ``https``.
    Browsers treat plain HTTP as a secure context only below ``.localhost``."""
    app: str
    root: str = ""
    """Path of the site on its host, e.g. ``/admin``; ``url`` ends with it. Empty: the whole host."""
    start: str = "/"
    """Start path of a visit, on the host."""
    default_user: str = ""
    """Account of tasks that name none; empty: nobody is logged in."""
    https: bool = False
    """Whether browsers reach it as ``https://<host>``. The gateway terminates TLS; the server uses plain HTTP."""
    base: str = ""
    """For a site that browsers visit at its own address: this, without a trailing slash. Empty: ``http://<host>``."""
    stand_in: str = ""
    """Kind of the program that the harness starts for it next to the app; empty: the app serves it."""
    hosted: tuple[str, ...] = ()
    """For a site that runs elsewhere: the addresses of its instances, without a trailing slash."""
    keep_address: bool = False
    """Whether browsers visit it at its own address if it runs elsewhere, because its pages work at no other."""
    port: int = 0
    """Port in its container, if it is not the app's port: one container may serve several sites."""
    api: ApiRecipe | None = None
    """How checks call its API; None: only with the visitor's cookies."""
    http_credentials: HttpCredentials | None = None
    """What the gateway sends in every request to the site, whoever is signed in; None: nothing."""
    reach_header: str = ""
    """Header that lists the reachable sites in each request; empty: no header."""
    facts: tuple[SiteFact, ...] = ()
    """What its pages show in the initial state, for the doctor."""
    trial_write: TrialWrite | None = None
    """A form with which the doctor tests that entries are kept and that resets remove them."""

    @property
    def url(self) -> str:
        """Base URL without a trailing slash."""
        return self.base or f"{'https' if self.https else 'http'}://{self.host}{self.root}"

    @property
    def start_url(self) -> str:
        """Start address of a visit."""
        return urljoin(f"{self.url}/", self.start)


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseManifest:
    """One database of an app that checks and set-up steps may query."""

    name: str
    engine: Literal["sqlite", "mysql", "postgresql", "gitlab-psql"]
    path: str = ""
    """For SQLite: the file, relative to the app's data directory."""
    database: str = ""
    """For other engines: its name on the server inside the container."""
    user: str = ""
    password: str = ""
    host: str = ""
    """Host of the server, as seen from inside; empty: the client's default."""
    client: tuple[str, ...] = ()
    """Program and arguments that replace the engine's own client (`client_argv`)."""
    ignore: tuple[str, ...] = ()
    """Changes that no visitor causes and that are ignored: tables, new rows of them as ``+table``, and columns as
    ``table.column``. ``*`` is a wildcard."""

    @property
    def client_argv(self) -> tuple[str, ...]:
        """Command inside the container, to which format options and the SQL, as one argument, are appended. Not for
        SQLite.

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
        # psql takes no password as an argument; env is in every image
        return ("env", f"PGPASSWORD={self.password}", *psql) if self.password else psql


@dataclass(frozen=True, slots=True, kw_only=True)
class AppManifest:
    """An app: it runs, is leased and is reset as a whole, and serves one or more sites."""

    name: str
    sites: tuple[SiteManifest, ...]
    backend: str
    """``process``, ``docker``, ``external``, the name of an entry point, or ``module:class`` of another `Backend`."""
    users: Mapping[str, Account] = field(default_factory=dict)
    login: Mapping[str, LoginRecipe] = field(default_factory=dict)
    """Login recipes by site; sites without one need no login."""
    databases: Mapping[str, DatabaseManifest] = field(default_factory=dict)
    """Databases by name; the first one is the default."""
    forbid_side_effects: bool = False
    """Whether only visitors change its databases and files, except for what ``ignore`` and ``ignore_files`` list."""
    ignore_files: tuple[str, ...] = ()
    """Patterns of paths in its data folder that change without a visitor."""
    read_only: bool = False
    """Whether no agent can change it: all trials share one replica, which is never reset. The gateway refuses requests
    that may change something."""
    reads: tuple[str, ...] = ()
    """For a read-only app: paths below which other methods than GET only read as well, e.g. ``/search``."""
    reuse: Literal["clean", "never"] | None = None
    """Whether a replica that is proved unchanged is reused without a reset; None, if not stated, means ``never``. The
    proof does not cover what the app keeps in memory (a clock, counters), so ``clean`` requires knowledge of the app.
    """
    ready: tuple[Readiness, ...] = (PortReady(),)
    """Conditions that must all hold before a replica is leased."""
    reset: HostedReset | None = None
    """How an app that runs elsewhere is reset; None: it is not."""
    quiet: Quiet | None = None
    """How to see that no queued work is left, for which trials wait before sites are read; None: they don't wait."""
    start_timeout: float = 60.0
    """Time limit in seconds of a start or a reset."""
    answer_timeout: float = 10.0
    """Seconds that a leased replica has to answer when it is suspected not to."""
    boot_seconds: float = 1.0
    """Approximate duration of a start in seconds, used for sizing and progress."""
    max_replicas: int | None = None
    """Overrides the run's limit."""
    spares: int | None = None
    """Overrides the run's number of pristine spares."""
    depends_on: tuple[str, ...] = ()
    """Apps that run and are leased with it; their hosts are served, too. For containers see `units.Unit`."""
    loads: tuple[str, ...] = ()
    """Hosts, or origins with a port, from which its pages load parts by GET."""
    sign_in_hosts: tuple[str, ...] = ()
    """Hosts, or origins with a port, at which its users sign in: pages may be opened and forms sent there."""
    private_hosts: tuple[str, ...] = ()
    """Those of these hosts that may have private addresses."""
    certificate_authority: str = ""
    """Absolute path of a PEM file with authorities that are trusted for these hosts and for sites that run elsewhere,
    in addition to the machine's; empty: none."""
    process: ProcessManifest | None = None
    docker: DockerManifest | None = None
    folder: Path = Path()
    """Folder of the file it was read from; Python code is also searched here."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Settings of other backends, as in the file."""
    digest: str = ""
    """Hash of this manifest and, for Python apps, of their source files: equal digests mean equal behaviour."""

    def site(self, name: str) -> SiteManifest:
        """Returns the site called ``name``. Raises `KeyError` when the app does not serve it."""
        for site in self.sites:
            if site.name == name:
                return site
        raise KeyError(name)

    def fill(self, text: str) -> str:
        """Replace ``{url}`` and ``{host}`` by those of the first site, and ``{url:NAME}``, ``{host:NAME}`` by those of
        others.

        Other braces are not changed.
        """

        def value(match: re.Match[str]) -> str:
            site = self.site(match[2]) if match[2] else self.sites[0]
            return site.url if match[1] == "url" else site.host

        return PLACEHOLDER.sub(value, text)

    def database(self, name: str) -> DatabaseManifest:
        """Returns the database called ``name``, or the first for ``""``. Raises `UsageError` when there is none."""
        if not name and self.databases:
            return next(iter(self.databases.values()))
        if name in self.databases:
            return self.databases[name]
        wanted = f"database {name!r}" if name else "database"
        raise UsageError(f"the app {self.name!r} has no {wanted}; {closest(name, self.databases)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalogue:
    """A set of apps under one name."""

    name: str
    path: Path
    """The file it was read from."""
    apps: Mapping[str, AppManifest]

    @property
    def option(self) -> str:
        """Value for ``--sites``: the name of a shipped catalogue, else its file."""
        return self.name if self.path.parent == Path(__file__).with_name("shipped") else str(self.path)

    @property
    def sites(self) -> Mapping[str, SiteManifest]:
        """All sites by name, in file order."""
        return {site.name: site for app in self.apps.values() for site in app.sites}

    @property
    def own_addresses(self) -> Mapping[str, str]:
        """Base URLs by the own addresses of hosted sites, of all instances; see `OwnAddresses`."""
        sites = [site for site in self.sites.values() if not site.base]
        return {own: site.url for site in sites for own in site.hosted}

    def site(self, name: str) -> SiteManifest:
        """Returns the site called ``name``. Raises `UsageError`, with the known names, for an unknown one."""
        sites = self.sites
        if name not in sites:
            raise UsageError(f"the catalogue {self.name!r} has no site {name!r}; {closest(name, sites)}")
        return sites[name]

    def apps_of(self, sites: Iterable[str]) -> tuple[AppManifest, ...]:
        """Returns the apps that serve ``sites``, each once, in the order of the sites; then their dependencies."""
        names = list(dict.fromkeys(self.site(site).app for site in sites))
        for name in names:  # grows during the iteration
            names += [needed for needed in self.apps[name].depends_on if needed not in names]
        return tuple(self.apps[name] for name in names)
