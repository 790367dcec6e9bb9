"""Signs a user in on a site by its recipe, in a context of its own, and proves that it worked."""

from __future__ import annotations

import html
import json
import re
import runpy
from collections.abc import Callable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pytest_webarena.actions import Action, Goto, Press, Select, Type, answers_dialogs, as_record
from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.reports import PageReading
from pytest_webarena.errors import BrowserError, SiteError, TaskError
from pytest_webarena.sites.client.visitor import Answer, Visitor
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.catalogues.manifest import Account, LoginRecipe

__all__ = ["SignIn", "glance", "login", "login_headers", "signed_in", "verify"]

_TAG = re.compile(r"<[^>]*>")


class SignIn:
    """What a sign-in script is called with."""

    def __init__(self, *, url: str, username: str, password: str, visitor: Visitor) -> None:
        self.url = url
        """Base URL of the site, without a trailing slash."""
        self.username = username
        self.password = password
        self._visitor = visitor

    def call(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Answer:
        """Send a request to the site; cookies are kept, redirects followed. The answer has status, headers, text."""
        return self._visitor.call(method, path, headers=headers, body=body)


def login_headers(recipe: LoginRecipe, account: Account) -> dict[str, str]:
    """The headers with which ``recipe`` signs ``account`` in; empty for other kinds of recipe."""
    return {name: _texts(account)(value) for name, value in recipe.headers.items()}


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

    For recipes with headers the gateway has to add them already (`login_headers`). Raises `SiteError` with the step,
    what was expected and what the page showed, when the sign-in or its check fails.
    """
    if recipe.kind != "form":
        state = None if recipe.kind == "header" else _made_elsewhere(recipe, account, url, proxy)
        return verify(engine, recipe, account, url=url, proxy=proxy, state=state, deadlines=deadlines)
    who = _who(recipe, account)
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
        return _proved(session, recipe, account, url, who)


def verify(
    engine: BrowserEngine,
    recipe: LoginRecipe,
    account: Account,
    *,
    url: str,
    proxy: str | None,
    state: Mapping[str, Any] | None,
    deadlines: Deadlines | None = None,
) -> dict[str, Any]:
    """Make sure that ``state`` still signs ``account`` in; the state after looking. `SiteError` when it does not."""
    config = SessionConfig(proxy=proxy, storage_state=state, deadlines=deadlines or Deadlines())
    with engine.session(config, tab=False) as session:
        return _proved(session, recipe, account, url, _who(recipe, account))


def glance(
    recipe: LoginRecipe, account: Account, *, url: str, proxy: str | None, state: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """``state`` as one plain request for the check's page leaves it; None when the answer raises doubts.

    Without a browser, so in milliseconds. That it raises none is no proof: what scripts of the page do is not seen.
    """
    if recipe.kind == "header":
        return state
    check, fill = recipe.check, _texts(account)
    expected = urljoin(f"{url}/", fill(check.path))
    visitor = Visitor(url, proxy=proxy, state=state)
    try:
        answer = visitor.call("GET", expected)
    except (SiteError, TaskError):
        return None
    elsewhere = not check.redirects and not _same_place(answer.url, expected)
    if elsewhere or answer.status >= 400 or _bare(fill(check.includes)) not in _bare(answer.text):
        return None
    before = list(state.get("cookies", ()))
    return state if (after := visitor.left(before)) == before else {**state, "cookies": after}


def _proved(session: Session, recipe: LoginRecipe, account: Account, url: str, who: str) -> dict[str, Any]:
    """The state after the check's page was seen: sites may give a new session id with each answer, and end the old."""
    with session.own_pages(keep=True):
        _verify(session, recipe, account, url, who)
        return session.storage_state(own=True)


def _bare(text: str) -> str:
    return "".join(html.unescape(_TAG.sub("", text)).split())


def _who(recipe: LoginRecipe, account: Account) -> str:
    return f"signing in to {recipe.site} as {account.username}"


def _made_elsewhere(recipe: LoginRecipe, account: Account, url: str, proxy: str | None) -> Mapping[str, Any]:
    """The storage state from a recipe's file or script."""
    who = _who(recipe, account)
    if recipe.kind == "state":
        path = Path(recipe.state.replace("{username}", account.username))
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SiteError(f"{who}: expected a storage state in {path}, found: {error.strerror}") from None
        except ValueError:
            state = None
        if not isinstance(state, dict) or not isinstance(state.get("cookies"), list):
            raise SiteError(f"{who}: expected the JSON of Playwright's storage_state() in {path}, found something else")
        return state
    visitor = Visitor(url, proxy=proxy)
    try:
        function = _function(recipe.script)
        made = function(SignIn(url=url, username=account.username, password=account.password, visitor=visitor))
    except SiteError as error:
        raise SiteError(f"{who}: {error}") from error
    except Exception as error:
        raise SiteError(f"{who}: the script {recipe.script} raised {type(error).__name__}: {error}") from error
    if made is not None and not isinstance(made, Mapping):
        raise SiteError(f"{who}: expected None or a storage state from {recipe.script}, found {type(made).__name__}")
    return visitor.state() if made is None else made


def _function(target: str) -> Callable[[SignIn], Any]:
    where, _, name = target.rpartition(":")
    found: Callable[[SignIn], Any]
    found = runpy.run_path(where)[name] if where.endswith(".py") else getattr(import_module(where), name)
    return found


def signed_in(session: Session, recipe: LoginRecipe, account: Account, *, url: str) -> bool:
    """Whether a page that ``session`` opens for a check is shown to ``account``. Leaves the session's tabs alone."""
    return not _doubt(session, recipe, account, url)


def _verify(session: Session, recipe: LoginRecipe, account: Account, url: str, who: str) -> None:
    if doubt := _doubt(session, recipe, account, url):
        raise SiteError(f"{who}: {doubt}\n{_where(session)}".rstrip())


def _doubt(session: Session, recipe: LoginRecipe, account: Account, url: str) -> str:
    """What speaks against the account being signed in; nothing if it is."""
    check = recipe.check
    fill = _texts(account)
    expected = urljoin(f"{url}/", fill(check.path))
    try:
        reading = session.read_page(open=expected, locate=check.locate or None)
    except (SiteError, BrowserError, TaskError) as error:
        return f"the check failed: {error}"
    if not check.redirects and not _same_place(reading.url, expected):
        return f"expected {expected} to open, found {reading.url} instead"
    if reading.status is not None and reading.status >= 400:
        return f"expected {expected} to open, found HTTP status {reading.status}"
    wanted = fill(check.includes)
    if wanted and not any(wanted in text for text in reading.texts):
        place = f"{check.locate} on {expected}" if check.locate else expected
        return f"expected {wanted!r} in {place}, found {_found(reading)}"
    if check.locate and not wanted and not reading.texts:
        return f"expected {check.locate} on {expected}, found no such element"
    return ""


def _fill_in(step: Action, account: Account) -> Action:
    fill = _texts(account)
    match step:
        case Type():
            return replace(step, text=fill(step.text))
        case Select():
            return replace(step, options=tuple(fill(option) for option in step.options))
        case Goto():
            return replace(step, url=fill(step.url))
        case _:
            return step


def _texts(account: Account) -> Callable[[str], str]:
    return lambda text: text.replace("{username}", account.username).replace("{password}", account.password)


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
    """What the tab of the form shows now; nothing where no form was opened."""
    try:
        reading = session.read_page(open=None, locate=None)
        title = session.tabs()[0].title
    except (BrowserError, TaskError) as error:
        return f"the page could not be read: {error}"
    if reading.url == "about:blank":
        return ""
    text = shorten(reading.texts[0] if reading.texts else "", 300)
    return f"the page is {reading.url} ({title!r}): {text}"
