"""Signs a user in on a site by its recipe, in a separate context, and verifies the result."""

from __future__ import annotations

import html
import json
import re
import runpy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from pytest_webarena.actions import Action, Goto, Press, Select, Type, answers_dialogs, as_record
from pytest_webarena.browser.config import Deadlines, SessionConfig
from pytest_webarena.browser.one_time_codes import one_time_code
from pytest_webarena.browser.reports import PageReading
from pytest_webarena.browser.sign_in_commands import state_of_command
from pytest_webarena.credentials import in_storage
from pytest_webarena.errors import BrowserError, SiteError, TaskError
from pytest_webarena.secrets import learn
from pytest_webarena.sites.client.visitor import Answer, Visitor
from pytest_webarena.text import shorten

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe

__all__ = [
    "SignIn",
    "address_of",
    "doubt_from_response",
    "login",
    "login_headers",
    "passes_without_login",
    "place_of",
    "request_check_page",
    "sign_in_doubt",
    "signed_in",
    "verify",
    "verify_together",
]

_REFUSED = "is not one of this task's sites"
"""Words of the gateway's page for a host that no key of the catalogue names."""
_TAG = re.compile(r"<[^>]*>")


class SignIn:
    """Argument of login scripts."""

    def __init__(self, *, url: str, username: str, password: str, visitor: Visitor, totp: str = "") -> None:
        self.url = url
        """Base URL of the site, without a trailing slash."""
        self.username = username
        self.password = password
        self._visitor, self._totp = visitor, totp

    def code(self) -> str:
        """Return a one-time code of the account's ``totp``; each call returns another one, and may wait for it."""
        return one_time_code(self._totp)

    def call(
        self, method: str, path: str, *, headers: Mapping[str, str] | None = None, body: str | None = None
    ) -> Answer:
        """Send a request to the site, or to a full address of another one. Cookies are kept and redirects followed. The
        answer has status, headers, text."""
        return self._visitor.call(method, path, headers=headers, body=body)


def login_headers(recipe: LoginRecipe, account: Account) -> dict[str, str]:
    """Return the headers by which ``recipe`` signs ``account`` in; empty for other kinds of recipe."""
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
    """Carry out ``recipe`` for ``account`` on the site at ``url`` through ``proxy``; return the storage state.

    For recipes with headers, the gateway has to add them already (`login_headers`).

    Raises:
        SiteError: The login or its check failed; with the step, what was expected and what the page showed.
    """
    if account.missing:
        raise SiteError(
            f"{_account_label(recipe, account)}: expected a secret in the environment variable {account.missing}, "
            "found none"
        )
    if recipe.kind != "form":
        state = None if recipe.kind == "header" else _state_from_recipe(recipe, account, url, proxy)
        return verify(engine, recipe, account, url=url, proxy=proxy, state=state, deadlines=deadlines)
    label = _account_label(recipe, account)
    config = SessionConfig(
        proxy=proxy,
        deadlines=deadlines or Deadlines(),
        dialogs="hold" if answers_dialogs(recipe.steps) else "accept",
    )
    with engine.session(config) as session:
        try:
            session.open_tabs([urljoin(f"{url}/", recipe.path)])
        except SiteError as error:
            raise SiteError(f"{label}: {error}") from error
        for number, step in enumerate(recipe.steps, start=1):
            outcome = session.execute(_fill_in(step, account))
            if outcome.error:
                raise SiteError(
                    f"{label}: step {number} of {len(recipe.steps)} ({_name(step)}): {outcome.error}\n{_where(session)}"
                )
        return _verified_state(session, recipe, account, url, label)


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
    """Verify that ``state`` still signs ``account`` in; return the state afterwards. `SiteError` if it does not."""
    config = SessionConfig(proxy=proxy, storage_state=state, deadlines=deadlines or Deadlines())
    with engine.session(config, tab=False) as session:
        return _verified_state(session, recipe, account, url, _account_label(recipe, account))


def verify_together(
    engine: BrowserEngine,
    sign_ins: Sequence[tuple[LoginRecipe, Account, str]],
    *,
    others: Sequence[str] = (),
    proxy: str | None,
    state: Mapping[str, Any],
    deadlines: Deadlines | None = None,
) -> dict[str, Any]:
    """Verify that ``state`` signs in all accounts at the same time, at their sites' addresses; return the state
    afterwards.

    Every page may set cookies that another site reads. So ``others``, addresses without a login, are opened first, and
    each check is repeated after the pages of all were opened. `SiteError` names the account that is not signed in.
    """
    config = SessionConfig(proxy=proxy, storage_state=state, deadlines=deadlines or Deadlines())
    with engine.session(config, tab=False) as session, session.own_pages(keep=True):
        for address in others:
            with suppress(SiteError, BrowserError):  # only its cookies matter, not whether it answers
                session.read_page(open=address, locate=None)
        for recipe, account, url in (*sign_ins, *sign_ins[:-1]):
            _verify(session, recipe, account, url, _account_label(recipe, account))
        after = session.storage_state(own=True)
    verified_origins = {origin.get("origin") for origin in after.get("origins", ())}
    other_origins = [origin for origin in state.get("origins", ()) if origin.get("origin") not in verified_origins]
    return {**after, "origins": [*other_origins, *after.get("origins", ())]}


def request_check_page(
    recipe: LoginRecipe, account: Account, *, url: str, proxy: str | None, state: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Request the check's page once without a browser; return ``state`` afterwards, or None if there are doubts.

    It takes milliseconds. No doubts are no proof, because the page's scripts do not run.
    """
    if recipe.kind == "header":
        return state
    visitor = Visitor(url, proxy=proxy, state=state)
    try:
        answer = visitor.call("GET", address_of(recipe.check, account, url))
    except (SiteError, TaskError):
        return None
    if doubt_from_response(answer, recipe.check, account, url=url):
        return None
    before = list(state.get("cookies", ()))
    return state if (after := visitor.updated(before)) == before else {**state, "cookies": after}


def address_of(check: LoginCheck, account: Account, url: str) -> str:
    """Return the full address of the check's page on the site at ``url``."""
    return urljoin(f"{url}/", _texts(account)(check.path))


def doubt_from_response(answer: Answer, check: LoginCheck, account: Account, *, url: str) -> str:
    """Return why the answer to a plain request contradicts that ``account`` is signed in; empty if it does not.

    The check's element and the effects of scripts are not examined.
    """
    expected = address_of(check, account, url)
    if doubt := _not_opened(answer.url, answer.status, check, expected):
        return doubt
    if check.names_account() and not replace(check, locate="").names_account():
        return "the check names the account in 'locate' alone, which a plain request can't look at"
    expected_text = _texts(account)(check.includes)
    if _bare(expected_text) in _bare(answer.text):
        return ""
    found = shorten(answer.text, 200)
    return f"expected {expected_text!r} in the answer to a plain request for {expected}, found {found!r}"


def passes_without_login(
    engine: BrowserEngine, recipe: LoginRecipe, account: Account, *, url: str, proxy: str | None
) -> bool:
    """Return whether the check also passes for visitors who are not signed in, so that it proves nothing.

    The gateway must not add the recipe's headers during this. False if the page is not available: login will fail then.
    """
    expected = address_of(recipe.check, account, url)
    try:
        answer = Visitor(url, proxy=proxy).call("GET", expected)
        if _not_opened(answer.url, answer.status, recipe.check, expected):
            return False
        with engine.session(SessionConfig(proxy=proxy), tab=False) as session:
            return signed_in(session, recipe, account, url=url)
    except (SiteError, TaskError):
        return False


def _verified_state(session: Session, recipe: LoginRecipe, account: Account, url: str, label: str) -> dict[str, Any]:
    """Return the state after the check's page was opened: sites may replace the session id with each answer."""
    with session.own_pages(keep=True):
        _verify(session, recipe, account, url, label)
        state = session.storage_state(own=True)
    if account.is_private or recipe.has_secret_sessions:
        learn(in_storage(state))
    return state


def _bare(text: str) -> str:
    return "".join(html.unescape(_TAG.sub("", text)).split())


def _account_label(recipe: LoginRecipe, account: Account) -> str:
    return f"signing in to {recipe.site} as {account.username}"


def _state_from_recipe(recipe: LoginRecipe, account: Account, url: str, proxy: str | None) -> Mapping[str, Any]:
    """Return the storage state from a recipe's file or script."""
    label = _account_label(recipe, account)
    if recipe.kind == "state":
        path = Path(recipe.state.replace("{username}", account.username))
        try:
            state = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise SiteError(f"{label}: expected a storage state in {path}, found: {error.strerror}") from None
        except ValueError:
            state = None
        if not isinstance(state, dict) or not isinstance(state.get("cookies"), list):
            raise SiteError(
                f"{label}: expected the JSON of Playwright's storage_state() in {path}, found other content"
            )
        return state
    if recipe.kind == "command":
        return state_of_command(recipe, account, url, label)
    visitor = Visitor(url, proxy=proxy)
    try:
        function = _function(recipe.script)
        known = {"username": account.username, "password": account.password, "totp": account.totp}
        recipe_state = function(SignIn(url=url, visitor=visitor, **known))
    except SiteError as error:
        raise SiteError(f"{label}: {error}") from error
    except Exception as error:
        raise SiteError(f"{label}: the script {recipe.script} raised {type(error).__name__}: {error}") from error
    if recipe_state is not None and not isinstance(recipe_state, Mapping):
        raise SiteError(
            f"{label}: expected None or a storage state from {recipe.script}, found {type(recipe_state).__name__}"
        )
    return visitor.state() if recipe_state is None else recipe_state


def _function(target: str) -> Callable[[SignIn], Any]:
    where, _, name = target.rpartition(":")
    found: Callable[[SignIn], Any]
    found = runpy.run_path(where)[name] if where.endswith(".py") else getattr(import_module(where), name)
    return found


def signed_in(session: Session, recipe: LoginRecipe, account: Account, *, url: str) -> bool:
    """Return whether the check passes for ``account`` in ``session``. The session's tabs are not touched."""
    return not _doubt(session, recipe, account, url)


def sign_in_doubt(session: Session, recipe: LoginRecipe, account: Account, *, url: str) -> tuple[str, int | None]:
    """Return why a page that ``session`` opens for the check contradicts that ``account`` is signed in, and its status.

    The text is empty if the account is signed in. `SiteError` and `BrowserError` if the page is not available.
    """
    expected = address_of(recipe.check, account, url)
    try:
        reading = session.read_page(open=expected, locate=_texts(account)(recipe.check.locate) or None)
    except TaskError as error:
        return f"the check failed: {error}", None
    return _doubt_of(reading, recipe, account, expected), reading.status


def _verify(session: Session, recipe: LoginRecipe, account: Account, url: str, label: str) -> None:
    if doubt := _doubt(session, recipe, account, url):
        raise SiteError(f"{label}: {doubt}\n{_where(session)}".rstrip())


def _doubt(session: Session, recipe: LoginRecipe, account: Account, url: str) -> str:
    """Return why the account seems not to be signed in; empty if it is."""
    try:
        return sign_in_doubt(session, recipe, account, url=url)[0]
    except (SiteError, BrowserError) as error:
        return f"the check failed: {error}"


def _not_opened(final_url: str, status: int | None, check: LoginCheck, expected: str) -> str:
    if not check.redirects and not _same_place(final_url, expected):
        return f"expected {expected} to open, found {final_url} instead"
    if status is not None and status >= 400:
        return f"expected {expected} to open, found HTTP status {status}"
    return ""


def _doubt_of(reading: PageReading, recipe: LoginRecipe, account: Account, expected: str) -> str:
    check = recipe.check
    if doubt := _not_opened(reading.url, reading.status, check, expected):
        return doubt
    expected_text = _texts(account)(check.includes)
    if expected_text and not any(expected_text in text for text in reading.texts):
        place = f"{check.locate} on {expected}" if check.locate else expected
        return f"expected {expected_text!r} in {place}, found {_reading_text(reading)}"
    if check.locate and not expected_text and not reading.texts:
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
    values: dict[str, Callable[[], str]] = {
        "{username}": lambda: account.username,
        "{password}": lambda: account.password,
        "{authorization}": lambda: account.authorization,
    }
    if account.totp:
        values["{totp}"] = lambda: one_time_code(account.totp)
    return lambda text: re.sub("|".join(values), lambda found: values[found[0]](), text)


def _name(step: Action) -> str:
    """Describe a step without the typed text, which may be a password."""
    record = as_record(step)
    target = record.get("target") or {}
    where = target.get("selector", "")
    what = step.keys if isinstance(step, Press) else step.url if isinstance(step, Goto) else ""
    return " ".join(part for part in (step.kind, where, what) if part)


def _same_place(found: str, expected: str) -> bool:
    return place_of(found) == place_of(expected)


def place_of(url: str) -> tuple[str, int | None, str]:
    """Return host, port and path of an address, because a host may have another site at each port.

    The default ports are None, because a site may redirect from http to https.

    >>> place_of("https://shop.test:443/login/?next=/"), place_of("http://shop.test:7770/login")
    (('shop.test', None, '/login'), ('shop.test', 7770, '/login'))
    """
    parts = urlsplit(url)
    port = parts.port if parts.port not in (80, 443) else None
    return parts.hostname or "", port, parts.path.rstrip("/")


def _reading_text(reading: PageReading) -> str:
    texts = [shorten(text, 200) for text in reading.texts[:3]]
    return " and ".join(repr(text) for text in texts) if texts else "no such element"


def _where(session: Session) -> str:
    """Describe the page of the form's tab; empty if no form was opened."""
    try:
        reading = session.read_page(open=None, locate=None)
        title = session.tabs()[0].title
    except (BrowserError, TaskError) as error:
        return f"the page could not be read: {error}"
    if reading.url == "about:blank":
        return ""
    text = shorten(reading.texts[0] if reading.texts else "", 300)
    refused = [each.url for each in session.signals.refused if ("sec-fetch-dest", "document") in each.request_headers]
    if _REFUSED in text:
        refused.append(reading.url)
    if refused:
        from pytest_webarena.sites.catalogues.proposed_hosts import way_to_list  # late: for this message only

        parts = urlsplit(refused[-1])
        entry = f"{parts.scheme}://{parts.netloc}" if parts.port else parts.hostname
        way = way_to_list(parts.netloc, "sign_in_hosts", entry or "")
        return f"the gateway refused {parts.scheme}://{parts.netloc}; allowed by {way} of the app"
    note = " (it uses sessionStorage, which belongs to one tab and is not kept)" * _uses_session_storage(session)
    return f"the page is {reading.url} ({title!r}){note}: {text}"


def _uses_session_storage(session: Session) -> bool:
    try:
        return session.read_page(open=None, locate="js=String(sessionStorage.length)").texts not in ((), ("0",))
    except (BrowserError, SiteError, TaskError):
        return False
