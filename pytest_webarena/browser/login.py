"""Signs a user in on a site by its recipe, in a context of its own, and returns the cookies that prove it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pytest_webarena.actions import Action, Goto, Press, Select, Type, answers_dialogs, as_record
from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.messages import shorten
from pytest_webarena.browser.records import PageReading
from pytest_webarena.errors import BrowserError, SiteError, TaskError

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.manifest import Account, LoginRecipe

__all__ = ["login"]


def login(
    engine: BrowserEngine,
    recipe: LoginRecipe,
    account: Account,
    *,
    url: str,
    proxy: str | None,
    deadlines: Deadlines | None = None,
) -> dict[str, Any]:
    """Carry out ``recipe`` for ``account`` on the site at ``url`` through ``proxy``; the storage state afterwards.

    Raises `SiteError` with the step, what was expected and what the page showed, when the form or its check fails.
    """
    who = f"signing in to {recipe.site} as {account.username}"
    config = SessionConfig(
        proxy=proxy,
        deadlines=deadlines or Deadlines(),
        dialogs="hold" if answers_dialogs(recipe.steps) else "accept",
    )
    with engine.session(config) as session:
        try:
            session.open_tabs([urljoin(f"{url}/", recipe.path)])
        except SiteError as error:
            raise SiteError(f"{who}: {error}") from error
        for number, step in enumerate(recipe.steps, start=1):
            outcome = session.execute(_fill_in(step, account))
            if outcome.error:
                raise SiteError(
                    f"{who}: step {number} of {len(recipe.steps)} ({_name(step)}): {outcome.error}\n{_where(session)}"
                )
        _verify(session, recipe, account, url, who)
        return session.storage_state()


def _verify(session: Session, recipe: LoginRecipe, account: Account, url: str, who: str) -> None:
    check = recipe.check
    expected = urljoin(f"{url}/", check.path)
    try:
        reading = session.read_page(open=expected, locate=check.locate or None)
    except (SiteError, BrowserError, TaskError) as error:
        raise SiteError(f"{who}: the check failed: {error}\n{_where(session)}") from error
    if not _same_place(reading.url, expected):
        raise SiteError(f"{who}: expected {expected} to open, found {reading.url} instead\n{_where(session)}")
    if reading.status is not None and reading.status >= 400:
        raise SiteError(f"{who}: expected {expected} to open, found HTTP status {reading.status}\n{_where(session)}")
    wanted = check.includes.replace("{username}", account.username)
    if wanted and not any(wanted in text for text in reading.texts):
        place = f"{check.locate} on {expected}" if check.locate else expected
        raise SiteError(f"{who}: expected {wanted!r} in {place}, found {_found(reading)}\n{_where(session)}")
    if check.locate and not wanted and not reading.texts:
        raise SiteError(f"{who}: expected {check.locate} on {expected}, found no such element\n{_where(session)}")


def _fill_in(step: Action, account: Account) -> Action:
    def fill(text: str) -> str:
        return text.replace("{username}", account.username).replace("{password}", account.password)

    match step:
        case Type():
            return replace(step, text=fill(step.text))
        case Select():
            return replace(step, options=tuple(fill(option) for option in step.options))
        case Goto():
            return replace(step, url=fill(step.url))
        case _:
            return step


def _name(step: Action) -> str:
    """A step in words, without what is typed: it may be a password."""
    record = as_record(step)
    target = record.get("target") or {}
    where = target.get("selector", "")
    what = step.keys if isinstance(step, Press) else step.url if isinstance(step, Goto) else ""
    return " ".join(part for part in (step.kind, where, what) if part)


def _same_place(found: str, expected: str) -> bool:
    one, other = urlsplit(found), urlsplit(expected)
    return (one.hostname, one.path.rstrip("/")) == (other.hostname, other.path.rstrip("/"))


def _found(reading: PageReading) -> str:
    texts = [shorten(text, 200) for text in reading.texts[:3]]
    return " and ".join(repr(text) for text in texts) if texts else "no such element"


def _where(session: Session) -> str:
    """What the tab of the form shows now."""
    try:
        reading = session.read_page(open=None, locate=None)
        title = session.tabs()[0].title
    except (BrowserError, TaskError) as error:
        return f"the page could not be read: {error}"
    text = shorten(reading.texts[0] if reading.texts else "", 300)
    return f"the page is {reading.url} ({title!r}): {text}"
