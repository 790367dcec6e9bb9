"""Stand-in (a): a session cookie, a sign-in form and absolute links to its own base address."""

from __future__ import annotations

import gzip
import html
import itertools
import secrets
import struct
import zlib
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import urlsplit

from . import api
from .images import Entry, Image, SignIn
from .map_script import MAP_SCRIPT
from .options import Options
from .pages import Page
from .store import ReadOnlyError, Session, Store
from .web import Reply, Request, redirect

_GERMAN = {
    'lang="en"': 'lang="de"',
    ">Sign In<": ">Anmelden<",
    ">Sign in<": ">Anmelden<",
    ">Log in<": ">Anmelden<",
    ">Email<": ">E-Mail<",
    ">Password<": ">Passwort<",
    ">Username<": ">Benutzername<",
    "Customer Login": "Kundenanmeldung",
    "Add to Cart": "In den Warenkorb",
    "My Account": "Mein Konto",
    "My Wish List": "Meine Wunschliste",
    "My Orders": "Meine Bestellungen",
    "Shopping Cart": "Warenkorb",
    "Contact Us": "Kontakt",
    "Search results": "Suchergebnisse",
    "Items": "Artikel",
}


def _png(width: int) -> bytes:
    """Return a white square image."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, width, 8, 0, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\xff" * width) * width)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


_TILE = _png(256)


class CookieSite:
    """One documented image that identifies browsers by a session cookie."""

    def __init__(
        self,
        image: Image,
        options: Options | None = None,
        address: str = "",
        extra: tuple[Page, ...] = (),
        links: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.image = image
        self.options = options or Options()
        self.address = address
        self.links = links  # names and addresses of the other sites, for the home page
        self.stores = [Store(image, self.options, extra) for _ in range(self.options.instances)]
        self._requests = itertools.count(1)

    # Configuration

    @property
    def base(self) -> str:
        """The configured base address, without a trailing slash."""
        port = str(urlsplit(self.address).port)
        return (self.options.base.replace("{port}", port) or self.address).rstrip("/")

    def clock(self) -> str:
        """The server's time as an HTTP date."""
        now = datetime.now(UTC) + timedelta(days=self.options.clock_offset_days)
        return format_datetime(now, usegmt=True)

    def href(self, path: str) -> str:
        """Return the address that a link to `path` carries."""
        return f"{self.base}{path}" if self.image.absolute else path

    def reset(self) -> None:
        """Restore the initial state."""
        if not self.options.reset_does_nothing:
            for store in self.stores:
                store.reset()

    def _form(self) -> SignIn:
        assert self.image.sign_in
        return self.image.sign_in

    def _field(self, name: str) -> str:
        return dict(self.options.field_names).get(name, name)

    # Answering

    def answer(self, request: Request) -> Reply:
        """Answer one request."""
        number = next(self._requests)
        store = self.stores[number % len(self.stores)]
        reply = self._on_the_way(request, number) or self._routed(request, store)
        reply.headers += self.image.headers
        if self.image.absolute:
            reply.headers.append(("Content-Security-Policy", f"form-action 'self' {self.base}"))
        if self.options.locale == "de":
            text = reply.body.decode("utf-8", "replace")
            for english, german in _GERMAN.items():
                text = text.replace(english, german)
            reply.body = text.encode() if reply.kind.startswith("text/html") else reply.body
        if self.options.wrong_gzip and reply.body:
            reply.body = gzip.compress(reply.body)
            reply.headers.append(("Content-Encoding", "gzip"))
            reply.length = len(reply.body) + 40
        return reply

    def _on_the_way(self, request: Request, number: int) -> Reply | None:
        """Return the reply of whatever stands before the site, or None."""
        options = self.options
        if number <= options.unready_requests:
            return self._plain(502, "GitLab is not responding", "502 Waiting for GitLab to boot")
        if options.maintenance:
            reply = self._plain(503, "Service Temporarily Unavailable", "Maintenance in progress")
            reply.headers.append(("Retry-After", "3600"))
            return reply
        if options.rate_limit and number > options.rate_limit:
            reply = Reply(429, b"Retry later\n", "text/plain")
            reply.headers.append(("Retry-After", "60"))
            return reply
        agent = request.headers.get("user-agent", "")
        if any(part in agent.lower() for part in options.refused_agents):
            return self._plain(403, "Access denied", "Automated requests are blocked.")
        if options.basic_auth and not request.headers.get("authorization", "").startswith("Basic"):
            reply = self._plain(401, "401 Authorization Required", "")
            reply.headers.append(("WWW-Authenticate", 'Basic realm="lab"'))
            return reply
        target = f"{request.path}?{request.query}" if request.query else request.path
        if options.https_redirect:
            return redirect(f"https://{request.host}{target}", 301)
        if options.consent and not request.cookie("consent"):
            if request.path == "/consent" and request.method == "POST":
                reply = redirect(request.form.get("back", "/"))
                reply.headers.append(("Set-Cookie", "consent=1; Path=/"))
                return reply
            return self._plain(
                200,
                "Before you continue",
                "We use cookies.",
                f'<form method="post" action="/consent"><input type="hidden" name="back" '
                f'value="{html.escape(target)}"><button>Accept all</button></form>',
            )
        if options.slash_loop:
            path = request.path
            return redirect(path.rstrip("/") if path.endswith("/") and path != "/" else path + "/", 301)
        return None

    def _routed(self, request: Request, store: Store) -> Reply:
        gone = self._moved(request)
        if gone:
            return gone
        foreign = request.host != urlsplit(self.base).netloc and request.method == "GET"
        if self.image.absolute and self.options.redirects_to_base and foreign:
            target = f"{request.path}?{request.query}" if request.query else request.path
            return redirect(self.base + target)
        served = api.answer(self, request, store)
        if served:
            return served
        session, fresh = self._session(request, store)
        reply = self._page(request, store, session)
        if session and (fresh or session.key != request.cookie(self.image.cookie)):
            reply.headers.append(("Set-Cookie", self._set_cookie(session, request)))
        return reply

    def _moved(self, request: Request) -> Reply | None:
        old, new = self.options.renamed
        path = request.path
        if old and path.startswith(new):
            request.path = old + path.removeprefix(new)
        elif old and path.startswith(old):
            return self._plain(404, self.image.not_found, self.image.not_found)
        old, new = self.options.moved
        if old and path.startswith(new):
            request.path = old + path.removeprefix(new)
        elif old and path.startswith(old):
            return redirect(new + path.removeprefix(old))
        if any(path.startswith(prefix) for prefix in self.options.missing):
            return self._plain(404, self.image.not_found, self.image.not_found)
        return None

    # Sessions

    def _session(self, request: Request, store: Store) -> tuple[Session | None, bool]:
        if not self.image.cookie:
            return None, False
        known = store.sessions.get(request.cookie(self.image.cookie))
        limit = self.options.session_requests
        if known and known.user:
            known.requests += 1
            if limit and known.requests > limit:
                del store.sessions[known.key]
                known = None
        if known:
            return known, False
        session = Session(secrets.token_hex(13))
        store.sessions[session.key] = session
        return session, True

    def _set_cookie(self, session: Session, request: Request) -> str:
        domain = self.options.cookie_domain or (request.host.partition(":")[0] if self.image.cookie_domain else "")
        at = f"; Domain={domain}" if domain else ""
        path = self.image.cookie_path
        return f"{self.image.cookie}={session.key}; Path={path}{at}; HttpOnly; SameSite=Lax"

    # Pages

    def _page(self, request: Request, store: Store, session: Session | None) -> Reply:
        if self.image.sign_in and session:
            form = self._form()
            place = request.path.rstrip("/") or "/"
            if request.method == "POST" and place == form.action.rstrip("/"):
                return self._signed_in(request, store, session)
            if place == (self.options.sign_in_path or form.path).rstrip("/"):
                return redirect(self.href(form.after)) if session.user else self._sign_in_page(session)
            if place == form.path.rstrip("/"):
                return self._missing(session)
            if place == form.sign_out.rstrip("/"):
                store.sessions.pop(session.key, None)
                return redirect(self.href("/"))
            if request.method == "POST":
                return self._written(request, store, session)
            entry = self.image.entry_form
            if entry and place == entry.form and session.user:
                return self._entry_page(entry, session)
        return self._shown(request, store, session)

    def _shown(self, request: Request, store: Store, session: Session | None) -> Reply:
        page = self._found(request.path, store)
        private = page.private if page else False
        if self.image.private and request.path.startswith(self.image.private):
            private = True
        if private and not (session and session.user):
            return redirect(self.href(self.options.sign_in_path or self._form().path))
        if page is None:
            return self._missing(session)
        keyed = "/key/" in request.path or "dashboard" in page.path
        if self.options.secret_key and page.private and not keyed:
            return redirect(self.href(f"{self._form().after}key/{session.csrf if session else ''}/"))
        if self.options.forced_password_change and private and "system_account" not in page.path:
            return redirect(self.href("/admin/admin/system_account/"))
        title, text, extra = page.title, page.text, self._page_extra(page)
        if page.kind == "listing":
            if "q" in request.parameters:
                title = f"Search results for: '{request.parameters['q']}'"
            if self.options.empty_search:
                text = "We can't find products matching the selection."
            else:
                extra = "".join(
                    f'<a class="product-item-link" href="{self.href(item.path)}">{html.escape(item.title)}</a>'
                    for item in store.of_kind("product")
                )
        return self._document(200, title, text, extra, session)

    def _found(self, path: str, store: Store) -> Page | None:
        path = path.partition("/key/")[0]
        page = store.page(path)
        for ending in self.image.children if page is None else ():
            head, mark, rest = path.partition(ending)
            parent = store.page(head) if mark and head else None
            if parent:
                return Page(path, f"{rest.strip('/').title()} · {parent.title}", parent.text, parent.private)
        return page

    def _page_extra(self, page: Page) -> str:
        if self.image.api == "osm":
            return '<div id="sidebar_content"></div><div id="map"></div>'
        return '<input name="entry">' if page.path.endswith(("calculator.html", "scratchpad.html")) else ""

    def _missing(self, session: Session | None) -> Reply:
        return self._document(404, self.image.not_found, self.image.not_found, session=session)

    def _signed_in(self, request: Request, store: Store, session: Session) -> Reply:
        form, given = self._form(), request.form
        right = (
            given.get(self._field(form.user_field)) == form.username
            and given.get(self._field(form.password_field)) == (self.options.password or form.password)
            and given.get(form.csrf_field) == session.csrf
            and not self.options.captcha
            and not (self.options.empty and self.image.name == "reddit")
        )
        if not right:
            session.message = form.failure
            if form.repeats_form:
                return self._sign_in_page(session)
            return redirect(self.href(self.options.sign_in_path or form.path))
        store.sessions.pop(session.key, None)
        session.key, session.user, session.requests = secrets.token_hex(13), form.username, 0
        store.sessions[session.key] = session
        return redirect(self.href(form.after))

    def _sign_in_page(self, session: Session) -> Reply:
        form = self._form()
        message, session.message = session.message, ""
        captcha = (
            '<label for="captcha">Please type the letters and numbers below</label>'
            '<input id="captcha" name="captcha[user_login]" required>'
            if self.options.captcha
            else ""
        )
        fields = ""
        for name, label, attributes, kind in (
            (form.user_field, form.user_label, form.user_attributes, "text"),
            (form.password_field, form.password_label, form.password_attributes, "password"),
        ):
            place = attributes.partition('id="')[2].partition('"')[0]
            shown = "" if 'type="' in attributes else f' type="{kind}"'
            fields += f'<label for="{place}"><span>{label}</span></label>'
            fields += f'<input name="{self._field(name)}"{shown} {attributes}>'
        title = {"shopping": "Customer Login", "gitlab": "Sign in · GitLab"}.get(self.image.name, "Log in")
        if self.image.name == "shopping_admin":
            title = "Magento Admin"
        extra = (
            f'<form method="post" action="{self.href(form.action)}" id="login-form">'
            f'<input type="hidden" name="{form.csrf_field}" value="{session.csrf}">{fields}{captcha}'
            f'<button type="submit" {form.button_attributes}><span>{form.button}</span></button></form>'
        )
        return self._document(200, title, message, extra, session)

    def _written(self, request: Request, store: Store, session: Session) -> Reply:
        entry, form = self.image.entry_form, self._form()
        if entry is None or request.path.rstrip("/") != entry.action:
            return self._missing(session)
        if not session.user:
            return redirect(self.href(self.options.sign_in_path or form.path))
        if request.form.get(form.csrf_field) != session.csrf:
            return self._document(422, "Invalid form key", "Please refresh the page.", session=session)
        title = request.form.get(entry.field, "")
        made = Page(f"{entry.parent}/{secrets.randbelow(10**9)}", title, title)
        try:
            store.add(made)
        except ReadOnlyError:
            return self._document(500, "Internal Server Error", "An error occurred.", session=session)
        return redirect(self.href(made.path))

    def _entry_page(self, entry: Entry, session: Session) -> Reply:
        csrf = f'<input type="hidden" name="{self._form().csrf_field}" value="{session.csrf}">'
        extra = (
            f'<form method="post" action="{self.href(entry.action)}">{csrf}<label>Title '
            f'<input name="{entry.field}" {entry.attributes}></label><button>{entry.button}</button></form>'
        )
        return self._document(200, entry.button, "", extra, session)

    # Documents

    def _navigation(self, session: Session | None) -> str:
        links = [(self.href("/"), self.image.title)]
        form = self.image.sign_in
        if form and session:
            if session.user:
                links.append((self.href(form.sign_out), "Sign Out"))
                links.append((self.href(form.after), session.user))
            elif form.link:
                links.append((self.href(self.options.sign_in_path or form.path), form.link))
        for name, link in self.links:
            parts = urlsplit(link)
            bare = f"<your-server-hostname>:{parts.port}{parts.path}"
            links.append((bare if self.options.placeholder_links else link, name))
        return "".join(
            f'<a href="{html.escape(target)}"><span>{html.escape(text)}</span></a> ' for target, text in links
        )

    def _document(self, status: int, title: str, text: str, extra: str = "", session: Session | None = None) -> Reply:
        return self._plain(status, title, text, extra, self._head(session), self._navigation(session))

    def _head(self, session: Session | None) -> str:
        if self.image.api == "osm":
            return f"<script>{MAP_SCRIPT}</script>"
        return f"<script>var BASE_URL = '{self.base}/';</script>" if self.image.absolute else ""

    def _plain(self, status: int, title: str, text: str, extra: str = "", head: str = "", top: str = "") -> Reply:
        body = (
            f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{html.escape(title)}</title>'
            f"{head}</head><body><header>{top}</header><main><h1>{html.escape(title)}</h1>"
            f"<p>{html.escape(text)}</p>{extra}</main></body></html>"
        )
        return Reply(status, body.encode())

    def tile(self) -> Reply:
        """Return a map tile."""
        return Reply(200, _TILE, "image/png")
