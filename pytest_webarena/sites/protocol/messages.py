"""The protocol between workers and the broker: JSON lines over a Unix socket, version 6.

The client sends requests, one per line, and gets one line back for each, in any order::

    → {"id": 1, "op": "hello", "version": 6, "name": "gw0", "key": "5f0c…"}
    ← {"id": 1, "result": {"pid": 4711, "log": "…/broker.log"}}
    ← {"id": 2, "error": {"type": "SiteError", "message": "…"}}

``hello`` must come first. The broker refuses another version, a client without the key of its name (`keys`), and
another user. An error with the id ``null`` concerns the connection, which is then closed. Several requests may run at a
time. A lease belongs to the connection that requested it: no other connection can use it, and its end releases it.
Operations and their results:

=========  ==================================================  ==========================================
op         arguments                                           result
=========  ==================================================  ==========================================
hello      version, name, key                                  pid, log (path of the broker's log)
lease      sites, holder, timeout (s; null: the run's), ahead  `Grant`; replicas of ``ahead`` start meanwhile
           reach (sites to be leased when visited; ``*``: all),
           now (those of them to be leased at once),
           trusts (the run's authority),
           live (`LiveWishes`; default: the catalogue's terms),
           max_age (s since its replicas began to start)
visited    lease                                               list of `evidence.ReachedSite`, once available
reached    lease                                               list of `evidence.ReachedSite`, at once
release    lease                                               `ReleaseReport`
prepare    visits (site, account: trials), holder, timeout     `Grant` of a replica to log in on, or null: no need
keep       lease, made (site, account: state), problems        null; ends the lease, later replicas start from it
ended      lease, site, user, number, why                      null; a stored session is not accepted any more
requests   lease                                               list of `evidence.RequestRecord`; errors as check
mark       lease, asked (even if expensive)                    null; start of the changes
changes    lease                                               list of `changes.SiteChanges`; errors as check
query      lease, site, database, sql, write                   `backends.base.Rows`
check      lease, ask                                          null; error if a replica died or does not answer
undisturbed lease                                              whether no replica is older than ``max_age``, and no
                                                               signal ended or stopped them
own_answer lease, url, harness                                 the gateway's own answer; empty if a site answered
answers    lease, method, url, since (Unix time), harness      list of state and status, as in `gateway.log`
instance   app, addresses (by site)                            why that instance can't be used after its reset; empty
                                                               if it can be
unrecorded lease                                               list of `evidence.Unrecorded`
look       sites                                               `SiteAccess` by site, without a lease
gateway                                                        `Grant` of no site
join       lease, other (its sites are served there, too)      null
logs       lease, site, lines                                  text
headers    lease, site, headers (sent with every request)      null
writes     lease, timeout, quiet, reads (all in s)             list of `evidence.Unfinished`, once empty or late
status                                                         `report.BrokerStatus`
=========  ==================================================  ==========================================

Values are encoded by `wire`. Error types are names from `errors`; unknown ones become `HarnessError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena import errors
from pytest_webarena.errors import HarnessError, WebArenaError
from pytest_webarena.evidence import JsonValue
from pytest_webarena.sites.catalogues.manifest import Account, ApiRecipe, LoginRecipe
from pytest_webarena.sites.protocol.wire import dumps
from pytest_webarena.tasks.model import LiveTerms

__all__ = [
    "VERSION",
    "Grant",
    "LiveWishes",
    "ReleaseReport",
    "ReplicaInfo",
    "SiteAccess",
    "StoredSession",
    "Trust",
    "error_from",
    "error_line",
    "line",
]

VERSION = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session that a replica has from its start (`sessions`)."""

    state: Mapping[str, Any]
    """Playwright's storage state."""
    number: int
    """Number that distinguishes it from other sessions of the same account and site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteAccess:
    """A leased site, as a browser reaches it through the lease's proxy."""

    name: str
    app: str
    url: str
    """Base URL without a trailing slash, e.g. ``http://homepage.test``; the same in every run."""
    start: str
    """Full start address of a visit."""
    users: Mapping[str, Account]
    default_user: str
    """Name in ``users``; empty: nobody is logged in unless the task names an account."""
    login: LoginRecipe | None
    """None: the site needs no login."""
    api: ApiRecipe | None = None
    """How checks authenticate at its API."""
    forbid_side_effects: bool = False
    """Whether only visitors change its data (`changes`)."""
    engines: Mapping[str, str] = field(default_factory=dict)
    """Database engine by the database's name in the manifests of its app and of the app's dependencies."""
    sessions: Mapping[str, StoredSession] = field(default_factory=dict)
    """Sessions by account that the leased replica has from its start."""

    @property
    def login_state_portable(self) -> bool:
        """Whether one stored session is valid on every replica of the run."""
        return self.login is not None and self.login.portable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaInfo:
    """The replica of an app that served a lease; recorded with the trial."""

    app: str
    id: str
    generation: int
    """Number of earlier resets."""
    backend: str
    digest: str
    """Identity of what it runs: equal digests mean equal behaviour."""
    program: str = ""
    """Digest of the files that it was started with; empty where they are unknown."""
    program_changes: tuple[str, ...] = ()
    """Those of the files that differ from the app's first replica in this run."""
    addresses: Mapping[str, str] = field(default_factory=dict)
    """For an app that runs elsewhere: the own addresses of its sites."""
    reset_seconds: float = 0.0
    """For an app that runs elsewhere: the duration of the reset that made it pristine; 0 if it is not reset."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWishes:
    """What a trial intends to do on live sites."""

    starts: tuple[str, ...] = ()
    """Full start addresses."""
    terms: LiveTerms | None = None
    """Terms of the task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The run's certificate authority in the forms that clients need (`gateway.authority`)."""

    spki: str
    """For the launch flag of Chromium."""
    certificate: str
    """PEM, for clients that are not browsers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A lease as the broker grants it."""

    id: str
    port: int
    """Port of its gateway on 127.0.0.1."""
    harness_port: int
    """Port for the harness's own visits, which `requests` leaves out."""
    sign_in_port: int
    """Port for the harness's sign-ins, after which hosted apps need no reset."""
    waited: float
    """Seconds from the request to the grant."""
    sites: Mapping[str, SiteAccess]
    replicas: tuple[ReplicaInfo, ...]
    reach: Mapping[str, str] = field(default_factory=dict)
    """Other sites that can be visited: base URLs by name."""
    trust: Trust | None = None
    """Certificate authority that visitors of its https sites must trust; None: there are none."""
    live: Mapping[str, JsonValue] = field(default_factory=dict)
    """Restrictions and visit policy of live sites, for the record. Empty: there are none."""
    own_addresses: Mapping[str, str] = field(default_factory=dict)
    """Base URLs by the own addresses of all hosted sites of the catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """The result of releasing a lease."""

    reasons: Mapping[str, str] = field(default_factory=dict)
    """Why replicas are reset, by app; without those that were proved unchanged and are reused."""
    problem: str = ""
    """Why nothing is known about them; empty where `reasons` are complete."""

    @property
    def clean(self) -> bool:
        """Whether all replicas were proved unchanged and are reused without a reset."""
        return not (self.reasons or self.problem)


def line(message: Mapping[str, Any]) -> bytes:
    """Returns one message as a line for the socket."""
    return dumps(message).encode("utf-8", "surrogatepass") + b"\n"


def error_line(number: int | None, error: BaseException) -> bytes:
    """Returns the answer to request ``number`` that reports ``error``; None concerns the whole connection."""
    known = isinstance(error, WebArenaError)
    message = str(error) if known else f"the site broker failed: {type(error).__name__}: {error}"
    names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__]
    return line({"id": number, "error": {"type": names[0] if names else "HarnessError", "message": message}})


def error_from(data: Mapping[str, Any]) -> WebArenaError:
    """Returns the exception that `error_line` encoded."""
    kind = getattr(errors, str(data.get("type")), None)
    if isinstance(kind, type) and issubclass(kind, WebArenaError) and kind is not errors.TaskFileError:
        return kind(data.get("message", ""))
    return HarnessError(data.get("message", ""))
