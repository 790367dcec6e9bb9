"""How workers speak to the broker: JSON lines over a Unix socket, version 5.

The client sends requests, each one line, and gets one line back for each, in any order::

    → {"id": 1, "op": "hello", "version": 5, "name": "gw0", "key": "5f0c…"}
    ← {"id": 1, "result": {"pid": 4711, "log": "…/broker.log"}}
    ← {"id": 2, "error": {"type": "SiteError", "message": "…"}}

``hello`` comes first; another version is refused, and so is whoever lacks the key of that name (`keys`) or runs as
another user. An error with the id ``null`` concerns the connection, which is then closed. Several requests may be under
way at a time. A lease belongs to the connection that it was made on: no other can use it, and its end frees it.
Operations and their results:

=========  ==================================================  ==========================================
op         arguments                                           result
=========  ==================================================  ==========================================
hello      version, name, key                                  pid, log (path of the broker's log)
lease      sites, holder, timeout (s; null: the run's), ahead  `Grant`; replicas of the sites ahead start meanwhile
           reach (sites to be leased when visited; ``*``: all),
           now (those of them to be leased at once),
           trusts (the run's authority),
           live (`LiveWishes`; terms of the catalogue else)
visited    lease                                               list of `evidence.ReachedSite`, once all are there
reached    lease                                               the same as it is now
release    lease                                               `ReleaseReport`
prepare    visits (site, account: trials), holder, timeout     `Grant` of a replica to sign in on, or null: no need
keep       lease, made (site, account: state), problems        null; later replicas start from this one; lease is over
ended      lease, site, user, number, why                      null; a stored session is not accepted any more
requests   lease                                               list of `evidence.RequestRecord`; as check
mark       lease, asked (also where that is not cheap)         null; from now on changes are told
changes    lease                                               list of `changes.SiteChanges`; as check
query      lease, site, database, sql, write                   `backends.base.Rows`
check      lease, ask                                          null; an error when a replica died or does not answer
own_answer lease, url, harness                                 text of the gateway's own; empty when a site answered
answers    lease, method, url, since (Unix time), harness      list of state and status, as `gateway.log` has them
unrecorded lease                                               list of `evidence.Unrecorded`
look       sites                                               site to `SiteAccess`, without a lease
gateway                                                        `Grant` of no site
join       lease, other (its sites are served there, too)      null
logs       lease, site, lines                                  text
headers    lease, site, headers (sent with every request)      null
writes     lease, timeout, quiet, reads (all in s)             list of `evidence.Unfinished`, when it is empty or late
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

VERSION = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session that a replica has had from its start (`sessions`)."""

    state: Mapping[str, Any]
    """Playwright's storage state."""
    number: int
    """Tells it from others of the same account and site."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteAccess:
    """A leased site, as a browser reaches it through the lease's proxy."""

    name: str
    app: str
    url: str
    """Base URL without a trailing slash, e.g. ``http://homepage.test``; the same in every run."""
    start: str
    """Full address where a visit begins."""
    users: Mapping[str, Account]
    default_user: str
    """Name in ``users``; empty: nobody is signed in unless a task says so."""
    login: LoginRecipe | None
    """None: the site needs no sign-in."""
    api: ApiRecipe | None = None
    """How checks authenticate at its API."""
    forbid_side_effects: bool = False
    """Whether all that changes there is the doing of whoever visits it (`changes`)."""
    sessions: Mapping[str, StoredSession] = field(default_factory=dict)
    """Account to the session with which the leased replica signs it in already."""

    @property
    def login_state_portable(self) -> bool:
        """Whether one stored session serves every replica of the run."""
        return self.login is not None and self.login.portable


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaInfo:
    """Which copy of an app served a lease; recorded with the trial."""

    app: str
    id: str
    generation: int
    """How often it had been reset before."""
    backend: str
    digest: str
    """What it runs: equal digests, equal behaviour."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveWishes:
    """What a trial means to do on live sites."""

    starts: tuple[str, ...] = ()
    """Full addresses that it begins with."""
    terms: LiveTerms | None = None
    """What its task says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The run's certificate authority, as those get it who are to trust it (`gateway.authority`)."""

    spki: str
    """For the launch flag of Chromium."""
    certificate: str
    """PEM, for clients that are not browsers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """A lease, as the broker hands it out."""

    id: str
    port: int
    """Of its gateway, on 127.0.0.1."""
    harness_port: int
    """The same for the harness's own visits, which `requests` leaves out."""
    waited: float
    """Seconds from asking to granting."""
    sites: Mapping[str, SiteAccess]
    replicas: tuple[ReplicaInfo, ...]
    reach: Mapping[str, str] = field(default_factory=dict)
    """Other sites that can be visited: name to base URL."""
    trust: Trust | None = None
    """Whom a visitor of its https sites must trust; None: there are none."""
    live: Mapping[str, JsonValue] = field(default_factory=dict)
    """Of live sites: what may be done there and how they are asked, for the record. Empty: there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseReport:
    """What became of a lease's replicas."""

    clean: bool
    """All were proved unchanged and handed on without a reset."""
    reason: str = ""
    """Per app, why not."""


def line(message: Mapping[str, Any]) -> bytes:
    """One message as it goes over the socket."""
    return dumps(message).encode("utf-8", "surrogatepass") + b"\n"


def error_line(number: int | None, error: BaseException) -> bytes:
    """The answer to request ``number`` that tells of ``error``; None concerns the whole connection."""
    known = isinstance(error, WebArenaError)
    message = str(error) if known else f"the site broker failed: {type(error).__name__}: {error}"
    names = [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__]
    return line({"id": number, "error": {"type": names[0] if names else "HarnessError", "message": message}})


def error_from(data: Mapping[str, Any]) -> WebArenaError:
    """The exception that `error_line` told of."""
    kind = getattr(errors, str(data.get("type")), None)
    if isinstance(kind, type) and issubclass(kind, WebArenaError) and kind is not errors.TaskFileError:
        return kind(data.get("message", ""))
    return HarnessError(data.get("message", ""))
