"""Tests whether the check of a site's sign-in distinguishes its account from anonymous visitors and from other
accounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.login import (
    address_of,
    doubt_from_response,
    login,
    login_headers,
    passes_without_login,
    sign_in_doubt,
)
from pytest_webarena.checks.kind import no_answer
from pytest_webarena.checks.sign_ins import API_REMEDY
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.account_checks import no_account_warning
from pytest_webarena.sites.client.visitor import Visitor
from pytest_webarena.sites.doctor import Diagnosis

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.sites.catalogues.manifest import LoginCheck
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import SiteAccess

__all__ = ["examine_sign_in", "holds_for_everybody"]

_OTHERS = 3
"""Maximum number of other accounts signed in to find one that the check mistakes for the site's own."""


def holds_for_everybody(check: LoginCheck) -> str:
    """A message for a ``check`` that anonymous visitors pass, with the remedy."""
    return (
        f"the check of sign_in ({check}) passes for visitors who are not signed in too, so it proves nothing. Name "
        "a page that only the account sees, and text with its name: check: {path: /account, includes: '{username}'}"
    )


def examine_sign_in(engine: BrowserEngine, lease: Lease, site: SiteAccess) -> Iterator[Diagnosis]:
    """Diagnoses of the sign-in to a leased ``site``; none for a site without one. `BrowserError` when the browser
    fails."""
    recipe = site.login
    if recipe is None:
        return

    def found(state: Literal["ok", "note", "failed"], text: str) -> Diagnosis:
        return Diagnosis(subject=site.name, state=state, text=text)

    user = site.default_user or next(iter(site.users), "")
    if not user:
        yield found("note", "no account: nothing to sign in")
        return
    url, proxy, account = site.url, lease.harness_proxy, site.users[user]
    lease.set_headers(site.name, {})
    if passes_without_login(engine, recipe, account, url=url, proxy=proxy):
        yield found("failed", holds_for_everybody(recipe.check))
        return

    def sign_in(name: str) -> Mapping[str, Any]:
        lease.set_headers(site.name, login_headers(recipe, site.users[name]))
        return login(engine, recipe, site.users[name], url=url, proxy=proxy)

    try:
        state = sign_in(user)
    except SiteError as error:
        yield found("failed", "; ".join(str(error).splitlines()))
        return
    if site.api is None and (doubt := _plain_request_doubt(lease, site, user, state)):
        yield found(
            "note",
            f"plain requests with cookies of {user} are not signed in, so checks of its API are errors ({API_REMEDY}): "
            f"{doubt}",
        )
    unproven = "" if recipe.check.names_account() else f"; {no_account_warning(recipe.check)}"
    others = [name for name in site.users if name != user]
    if not others:
        yield found(
            "note" if unproven else "ok", f"signed in as {user}; one account: nothing to compare with{unproven}"
        )
        return
    # Accounts of the same role come first, because they can open the same pages.
    others.sort(key=lambda name: site.users[name].role != account.role)
    refused = ""
    compared = []
    for other in others[:_OTHERS]:
        try:
            state = sign_in(other)
        except SiteError as error:
            refused = refused or str(error).partition("\n")[0]
            if site.users[other].role == account.role and not _signs_in_elsewhere(engine, lease, site, other):
                yield found("failed", "; ".join(str(error).splitlines()))
            continue
        with engine.session(SessionConfig(proxy=proxy, storage_state=state), tab=False) as session:
            doubt, status = sign_in_doubt(session, recipe, account, url=url)
        if no_answer(status or 200) == "site":
            raise SiteError(doubt)
        if doubt:
            compared.append(other)
            continue
        why = unproven or "; name a page that shows only this account's data"
        yield found(
            "note",
            f"the check of sign_in ({recipe.check}) passes for {user} while {other} is signed in, so it does not "
            f"distinguish them{why}",
        )
        return
    if compared:
        untried = f"; {len(others) - _OTHERS} further accounts were not tried" if len(others) > _OTHERS else ""
        yield found("ok", f"the check of sign_in distinguishes {user} from {', '.join(compared)}{untried}")
    else:
        yield found("note", f"signed in as {user}; no other account to compare with{unproven}: {refused}")


def _signs_in_elsewhere(engine: BrowserEngine, lease: Lease, site: SiteAccess, user: str) -> bool:
    """Whether an account that ``site`` refuses can sign in to another leased site, so that it just has no access."""
    for other in lease.sites.values():
        if other.name == site.name or other.login is None or user not in other.users:
            continue
        account = other.users[user]
        lease.set_headers(other.name, login_headers(other.login, account))
        with suppress(SiteError):
            login(engine, other.login, account, url=other.url, proxy=lease.harness_proxy)
            return True
    return False


def _plain_request_doubt(lease: Lease, site: SiteAccess, user: str, state: Mapping[str, Any]) -> str:
    """Why plain requests with the cookies of ``state``, as sent by checks of an API, do not count as the account's;
    empty if they do."""
    assert site.login is not None
    check, account = site.login.api_check or site.login.check, site.users[user]
    address = address_of(check, account, site.url)

    def ask(state: Mapping[str, Any]) -> str:
        answer = Visitor(site.url, proxy=lease.harness_proxy, state=state).call("GET", address)
        return doubt_from_response(answer, check, account, url=site.url)

    if doubt := ask(state):
        return doubt
    # For sign-in by header the gateway adds the headers to every request, so an anonymous request is impossible.
    same = site.login.kind != "header" and not ask({})
    return "visitors who are not signed in get the same answer" if same else ""
