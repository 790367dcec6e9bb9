"""Fixtures of the store: a fresh copy for each test, with clients that follow links and submit forms."""

from __future__ import annotations

import importlib.util
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urljoin, urlsplit

import pytest

from pytest_webarena.embedded import shop
from pytest_webarena.embedded.world import PEOPLE

if TYPE_CHECKING:
    from wsgiref.types import WSGIApplication

PASSWORDS = {person.username: person.password for person in PEOPLE}
EMAILS = {person.username: person.email for person in PEOPLE}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without django-oscar: skip on a developer's machine, fail where it is required."""
    here = f"{Path(__file__).parent}{os.sep}"  # thousands of items: comparing text is faster than comparing paths
    shop_items = [item for item in items if str(item.path).startswith(here)]
    missing = importlib.util.find_spec("oscar") is None and os.environ.get("WEBARENA_REQUIRE_SHOP") != "1"
    for item in shop_items:
        if missing:
            item.add_marker(pytest.mark.skip(reason="django-oscar is not installed: pip install '.[shop]'"))
        # Warnings of Oscar itself: deprecated calls, and unordered lists of the back office.
        item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore::PendingDeprecationWarning"))
        item.add_marker(pytest.mark.filterwarnings("ignore:Pagination may yield inconsistent results"))


@dataclass(slots=True)
class Form:
    """A form of a page, with the values of its fields."""

    action: str
    method: str
    id: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    buttons: list[tuple[str, str]] = field(default_factory=list)
    choices: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Radio buttons and select options: values and labels."""
    texts: list[str] = field(default_factory=list)


class _Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[tuple[str, str]] = []
        self.references: list[str] = []
        self.text: list[str] = []
        self._form: Form | None = None
        self._link: str | None = None
        self._select, self._multiple = "", False
        self._option: tuple[str, bool] | None = None
        self._area: str | None = None
        self._hidden = ""
        self.feed(html)

    def handle_starttag(self, tag: str, pairs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in pairs}
        self.references += [values[name] for name in ("href", "src", "action") if values.get(name)]
        name = values.get("name", "")
        if tag in ("script", "style"):
            self._hidden = tag
        elif tag == "form":
            self._form = Form(values.get("action", ""), values.get("method", "get").lower(), values.get("id", ""))
            self.forms.append(self._form)
        elif tag == "a":
            self._link = values.get("href", "")
            self.links.append((self._link, ""))
        if self._form is None:
            return
        if tag == "input" and name:
            kind = values.get("type", "text")
            if kind in ("radio", "checkbox"):
                self._form.choices.setdefault(name, []).append((values.get("value", "on"), ""))
                if "checked" in values:
                    self._form.fields.append((name, values.get("value", "on")))
            elif kind not in ("submit", "file"):
                self._form.fields.append((name, values.get("value", "")))
        elif tag == "button":
            self._form.buttons.append((name, values.get("value", "")))
        elif tag == "select":
            self._select, self._multiple = name, "multiple" in values
        elif tag == "option" and self._select:
            self._form.choices.setdefault(self._select, []).append((values.get("value", ""), ""))
            self._option = (values.get("value", ""), "selected" in values)
            if "selected" in values:
                self._form.fields.append((self._select, values.get("value", "")))
        elif tag == "textarea":
            self._area = name
            self._form.fields.append((name, ""))

    def handle_endtag(self, tag: str) -> None:
        if tag == self._hidden:
            self._hidden = ""
        elif tag == "form":
            self._form = None
        elif tag == "a":
            self._link = None
        elif tag == "select":
            if self._form is not None and not self._multiple and self._select not in dict(self._form.fields):
                first = [value for value, _ in self._form.choices.get(self._select, [])][:1]
                self._form.fields += [(self._select, value) for value in first]
            self._select = ""
        elif tag == "textarea":
            self._area = None

    def handle_data(self, data: str) -> None:
        if self._hidden:
            return
        self.text.append(data)
        if self._link is not None:
            self.links[-1] = (self.links[-1][0], self.links[-1][1] + data.strip())
        if self._form is not None:
            self._form.texts.append(data.strip())
            if self._select and data.strip():
                choices = self._form.choices[self._select]
                choices[-1] = (choices[-1][0], data.strip())
            if self._area is not None:
                self._form.fields[-1] = (self._area, self._form.fields[-1][1] + data.strip("\n"))


class Visitor:
    """A client with cookies and without scripts."""

    def __init__(self, app: WSGIApplication, host: str = "shopping.test") -> None:
        self._app = app
        self._cookies: dict[str, dict[str, str]] = {}
        self.url = f"http://{host}/"
        self.status = 0
        self.html = ""
        self.page = _Page("")
        self.redirects: list[str] = []

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.page.text).split())

    def get(self, path: str) -> str:
        """Open the page and return its visible text."""
        self.redirects = []
        return self._go("GET", urljoin(self.url, path), b"")

    def follow(self, label: str) -> str:
        """Open the first link that contains ``label``."""
        target = next(href for href, text in self.page.links if label in text)
        return self.get(target)

    def form(self, action: str = "", *, id: str = "", holds: str = "") -> Form:
        """Return the first form whose action contains ``action`` and that has ``id`` and the field named ``holds``."""
        for form in self.page.forms:
            names = [name for name, _ in form.fields] + list(form.choices)
            if action in form.action and id in form.id and (not holds or holds in names):
                return form
        known = [(form.action, form.id) for form in self.page.forms]
        raise AssertionError(f"no form {action!r} {id!r} {holds!r} at {self.url}: {known}")

    def submit(self, form: Form, values: dict[str, Any] | None = None, *, button: tuple[str, str] = ("", "")) -> str:
        """Submit the form with these values; a list repeats a field, None omits it."""
        values = values or {}
        pairs = [(name, value) for name, value in form.fields if name not in values]
        for name, value in values.items():
            if value is not None:
                pairs += [(name, one) for one in (value if isinstance(value, list) else [value])]
        if button[0]:
            pairs.append(button)
        target = urljoin(self.url, form.action or self.url)
        self.redirects = []
        if form.method == "get":
            return self._go("GET", target.partition("?")[0] + "?" + urlencode(pairs), b"")
        return self._go("POST", target, urlencode(pairs).encode())

    def sign_in(self, username: str) -> Visitor:
        office = "shopping-admin" in self.url
        self._cookies.clear()
        self.get("/dashboard/login/" if office else "/accounts/login/")
        if office:
            self.submit(self.form(id="dashboard_login_form"), {"username": username, "password": PASSWORDS[username]})
        else:
            self.submit(
                self.form(holds="login-username"), _login("login-", username), button=("login_submit", "Log In")
            )
        return self

    def _go(self, method: str, url: str, body: bytes) -> str:
        parts = urlsplit(url)
        jar = self._cookies.setdefault(parts.netloc, {})
        environ: dict[str, Any] = {
            "REQUEST_METHOD": method, "PATH_INFO": parts.path or "/", "QUERY_STRING": parts.query,
            "SERVER_NAME": parts.hostname, "SERVER_PORT": "80", "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": parts.netloc, "HTTP_REFERER": self.url, "wsgi.url_scheme": "http", "wsgi.input": BytesIO(body),
            "wsgi.errors": BytesIO(), "wsgi.multithread": False, "wsgi.multiprocess": False, "wsgi.run_once": False,
            "CONTENT_TYPE": "application/x-www-form-urlencoded", "CONTENT_LENGTH": str(len(body)),
            "HTTP_COOKIE": "; ".join(f"{name}={value}" for name, value in jar.items()),
        }  # fmt: skip
        head: list[Any] = []
        answer = self._app(environ, lambda status, headers, *_: head.extend((status, headers)))  # type: ignore[arg-type]
        try:
            content = b"".join(answer)
        finally:
            getattr(answer, "close", lambda: None)()
        self.status, self.url = int(head[0][:3]), url
        location = ""
        for name, value in head[1]:
            if name.lower() == "set-cookie":
                pair, *rest = value.split(";")
                key, _, text = pair.partition("=")
                is_expired = any(part.strip().lower() == "max-age=0" for part in rest)
                jar.pop(key, None) if is_expired else jar.update({key: text})
            elif name.lower() == "location":
                location = value
        if location and 300 <= self.status < 400:
            assert len(self.redirects) < 8, self.redirects
            self.redirects.append(location)
            return self._go("GET", urljoin(url, location), b"")
        self.html = content.decode("utf-8", "replace")
        self.page = _Page(self.html)
        return self.text


def _login(prefix: str, username: str) -> dict[str, str]:
    return {f"{prefix}username": EMAILS[username], f"{prefix}password": PASSWORDS[username]}


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The seeded data directory, built once per run."""
    directory = tmp_path_factory.mktemp("pristine")
    shop.seed(directory)
    return directory


@pytest.fixture(scope="session")
def store(pristine: Path) -> WSGIApplication:
    """The store without the warm-up visits of a server, which would cost time in each worker."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEBARENA_WARM", "0")
        return shop.create_app(pristine)


@pytest.fixture
def data_dir(tmp_path: Path, pristine: Path, store: WSGIApplication) -> Iterator[Path]:
    """A replica's own data, bound as after a fork."""
    (tmp_path / "main.sqlite3").write_bytes((pristine / "main.sqlite3").read_bytes())
    shop.on_fork(tmp_path)
    yield tmp_path
    shop.rebind(pristine)


@pytest.fixture
def visitor(store: WSGIApplication, data_dir: Path) -> Visitor:
    """A client that is not signed in."""
    return Visitor(store)


@pytest.fixture
def new_visitor(store: WSGIApplication, data_dir: Path) -> Callable[[], Visitor]:
    return lambda: Visitor(store)


@pytest.fixture
def mara(store: WSGIApplication, data_dir: Path) -> Visitor:
    return Visitor(store).sign_in("mara.linden")


@pytest.fixture
def owner(store: WSGIApplication, data_dir: Path) -> Visitor:
    return Visitor(store, "shopping-admin.test").sign_in("clementine.rusk")


@pytest.fixture
def employee(store: WSGIApplication, data_dir: Path) -> Visitor:
    return Visitor(store, "shopping-admin.test").sign_in("thea.winslade")


@pytest.fixture
def rows(data_dir: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """Return a function that queries the database."""

    def run(sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection:
            return connection.execute(sql, values).fetchall()

    return run
