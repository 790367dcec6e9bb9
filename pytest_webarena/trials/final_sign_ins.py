"""Whether each account was still signed in at its site when the agent stopped, for the trial's record.

The sign-ins that checks tested anyway are reused. Each other site gets a plain request with the agent's cookies, on the
harness's port, and at most two more where that does not decide; no page is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pytest_webarena.browser.login import address_of, doubt_from_response
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.checks.kind import no_answer
from pytest_webarena.errors import TrialError
from pytest_webarena.results.records import SignedInAtEnd
from pytest_webarena.sites.client.visitor import Answer, Visitor
from pytest_webarena.trials.live import visitor_account

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.evidence import Evidence, SignedIn
    from pytest_webarena.sites.catalogues.manifest import LoginCheck
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["final_sign_ins"]

_TIMEOUT = 10.0
"""Seconds for one request; a site that takes longer leaves its sign-in unknown."""


_DISTINGUISHED: set[tuple[str, LoginCheck]] = set()
"""Sites by address, and their checks, whose answers to anonymous visitors differ; asked once a process."""


def final_sign_ins(
    lease: Lease | None, session: Session | Pageless, users: Mapping[str, str], evidence: Evidence
) -> dict[str, SignedInAtEnd]:
    """Return the state of the sign-in at each site that the task visits with an account. Never raises `TrialError`."""
    if lease is None or isinstance(session, Pageless):
        return {}
    tested: dict[str, list[SignedIn]] = {}
    for probe in evidence.probes:
        for each in (probe.sign_ins or ()) if probe.state == "end" else ():
            tested.setdefault(each.site, []).append(each)
    found = {}
    for site in lease.sites.values():
        if not (user := visitor_account(site, users)):
            continue
        if (known := _from_checks(user, tested.get(site.name, ()))) is not None:
            found[site.name] = known
            continue
        try:
            began = (session.config.storage_state or {}).get("cookies", ())
            now = session.own_cookies()
            signed_in, why = _ask(site, user, session, lease.harness_proxy, now=now, began=began)
        except TrialError as error:
            signed_in, why = None, str(error).partition("\n")[0]
        found[site.name] = SignedInAtEnd(user=user, signed_in=signed_in, why=why)
    return found


def _from_checks(user: str, tested: Iterable[SignedIn]) -> SignedInAtEnd | None:
    """The result of checks that read the site in the agent's session; None if they do not decide it."""
    own = [each for each in tested if each.user == user]
    if any(each.again for each in own):
        return SignedInAtEnd(user=user, signed_in=False, why="checks had to sign it in again")
    pages = [each for each in own if each.way == "page" and not each.failed]
    doubts = [each.before or each.after for each in pages if each.before or each.after]
    if doubts:
        return SignedInAtEnd(user=user, signed_in=False, why=doubts[0])
    proven = any(not (each.before or each.after) for each in own)
    return SignedInAtEnd(user=user, signed_in=True) if proven else None


def _ask(
    site: SiteAccess,
    user: str,
    session: Session,
    proxy: str,
    *,
    now: Sequence[Mapping[str, Any]],
    began: Sequence[Mapping[str, Any]],
) -> tuple[bool | None, str]:
    """Whether the cookies ``now`` sign the account in, and why not or why that is unknown. ``began`` are the cookies
    with which the agent began."""
    recipe, account = site.login, site.users[user]
    assert recipe is not None
    check = recipe.check

    def request(cookies: Sequence[Mapping[str, Any]]) -> tuple[Answer, str]:
        visitor = Visitor(site.url, proxy=proxy, state={"cookies": cookies}, timeout=_TIMEOUT)
        answer = visitor.call("GET", address_of(check, account, site.url))
        session.note_received(visitor.received)
        return answer, doubt_from_response(answer, check, account, url=site.url)

    answer, doubt = request(now)
    if no_answer(answer.status) == "site":
        return None, f"the site answered with HTTP status {answer.status}"
    if not doubt:
        distinguishes = recipe.kind == "header" or (site.url, check) in _DISTINGUISHED or bool(request([])[1])
        if not distinguishes:
            return None, "visitors who are not signed in get the same answer to a plain request"
        _DISTINGUISHED.add((site.url, check))
        return True, ""
    if answer.status >= 400 or _left(answer, address_of(check, account, site.url)):
        return False, doubt
    # The text is missing: scripts may add it, and then the cookies of the beginning do not bring it either.
    return (None if request(began)[1] else False), doubt


def _left(answer: Answer, expected: str) -> bool:
    return answer.url.partition("?")[0].rstrip("/") != expected.partition("?")[0].rstrip("/")
