"""HTTP without a browser: cookies, redirects, tokens and their error messages."""

from __future__ import annotations

import contextlib
import gzip
import http.server
import json
import threading
import zlib
from collections.abc import Iterator

import pytest

from pytest_webarena.errors import SiteError, TooLarge
from pytest_webarena.sites.catalogues.manifest import ApiRecipe
from pytest_webarena.sites.client.visitor import LONGEST_ANSWER, Visitor

SAID = '{"name": "Zoë"}'
_BARE = zlib.compressobj(wbits=-15)
BODIES: dict[str, tuple[bytes, dict[str, str]]] = {
    "/gzip": (gzip.compress(SAID.encode()), {"Content-Encoding": "gzip"}),
    "/deflate": (zlib.compress(SAID.encode()), {"Content-Encoding": "deflate"}),
    "/bare": (_BARE.compress(SAID.encode()) + _BARE.flush(), {"Content-Encoding": "deflate"}),
    "/twice": (gzip.compress(zlib.compress(SAID.encode())), {"Content-Encoding": "deflate, gzip"}),
    "/marked": (SAID.encode("utf-8-sig"), {}),
    "/latin": (SAID.encode("latin-1"), {"Content-Type": 'application/json; charset="ISO-8859-1"'}),
    "/cut": (gzip.compress(SAID.encode())[:-9], {"Content-Encoding": "gzip"}),
    "/wrong": (b"hello", {"Content-Encoding": "gzip"}),
    "/bomb": (gzip.compress(bytes(LONGEST_ANSWER + 1)), {"Content-Encoding": "gzip"}),
}
BEARER = {"Authorization": "Bearer {token}"}


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """The address of a site with a login, a guarded page and three forms of tokens."""

    class Site(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/in":
                self.send_response(302)
                self.send_header("Set-Cookie", "who=ada; Path=/; HttpOnly; SameSite=Strict")
                self.send_header("Location", "/me")
                self.end_headers()
            elif self.path in ("/stream", "/flood"):
                self.send_response(200)
                self.end_headers()
                with contextlib.suppress(OSError):
                    while True:  # until the client disconnects
                        self.wfile.write(b"x" * (1_000_000 if self.path == "/flood" else 1))
            elif self.path == "/short":
                self.send_response(200)
                self.send_header("Content-Length", "10")
                self.end_headers()
                self.wfile.write(b"x")
            elif self.path in BODIES:
                data, headers = BODIES[self.path]
                self.send_response(200)
                for header in headers.items():
                    self.send_header(*header)
                self.end_headers()
                self.wfile.write(data)
            elif self.path == "/round":
                self.send_response(302)
                self.send_header("Location", "/round")
                self.end_headers()
            else:
                self.answer(200, f"{self.command} {self.path} {self.headers.get('Cookie')}")

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            if self.path == "/wrong":
                self.answer(401, "no")
            elif self.path == "/html":
                self.answer(200, "<p>hello")
            else:
                self.answer(
                    200, json.dumps({"access_token": f"for {sent}"} if self.path == "/keyed" else f"for {sent}")
                )

        def answer(self, status: int, text: str) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_cookies_are_kept_and_become_a_storage_state(site: str) -> None:
    visitor = Visitor(site, proxy=None)
    answer = visitor.call("GET", "/in")
    assert (answer.status, answer.text, answer.url) == (200, "GET /me who=ada", f"{site}/me")
    (cookie,) = visitor.state()["cookies"]
    assert cookie == {
        "name": "who", "value": "ada", "domain": "127.0.0.1", "path": "/", "expires": -1, "httpOnly": True,
        "secure": False, "sameSite": "Strict",
    }  # fmt: skip
    assert Visitor(site, proxy=None, state=visitor.state()).call("GET", "/x").text == "GET /x who=ada"
    assert Visitor(site, proxy=None).call("GET", "/in", follow=False).status == 302


def test_tokens_are_found_where_the_recipe_says(site: str) -> None:
    visitor = Visitor(site, proxy=None)
    assert visitor.authenticated(ApiRecipe(headers=BEARER, path="/plain", body={"a": 1})) == {
        "Authorization": 'Bearer for {"a": 1}'
    }
    keyed = ApiRecipe(headers=BEARER, path="/keyed", body=[], token="access_token")
    assert visitor.authenticated(keyed) == {"Authorization": "Bearer for []"}
    assert visitor.authenticated(ApiRecipe(headers={"X-Key": "abc"})) == {"X-Key": "abc"}


@pytest.mark.parametrize(
    ("path", "token", "message"),
    [
        ("/wrong", "", "POST /wrong: expected a token for its API, found status 401: no"),
        ("/html", "", "POST /html: expected a token as JSON, found '<p>hello'"),
        ("/keyed", "", "POST /keyed: expected the token in a JSON string, found "),
        ("/plain", "access_token", "POST /plain: expected the token in the key 'access_token', found "),
    ],
)
def test_missing_token_is_a_site_error(site: str, path: str, token: str, message: str) -> None:
    with pytest.raises(SiteError) as caught:
        Visitor(site, proxy=None).authenticated(ApiRecipe(headers=BEARER, path=path, token=token))
    assert str(caught.value).startswith(message)


def test_redirect_loop_and_refused_connection_are_site_errors(site: str) -> None:
    with pytest.raises(SiteError, match="GET /round: expected an answer, found more than 10 redirects"):
        Visitor(site, proxy=None).call("GET", "/round")
    with pytest.raises(
        SiteError, match=r"GET http://127\.0\.0\.1:9/: expected an answer within 30 s, found Connection"
    ):
        Visitor("http://127.0.0.1:9", proxy=None).call("GET", "/")


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/stream", "an endless answer"),
        ("/short", "IncompleteRead"),
    ],
)
def test_endless_or_malformed_response_is_a_site_error(site: str, path: str, found: str) -> None:
    timeout = 1.0 if path == "/stream" else 30.0
    with pytest.raises(SiteError, match=f"GET {site}{path}: expected an answer within .*{found}"):
        Visitor(site, proxy=None, timeout=timeout).call("GET", path)


@pytest.mark.parametrize("path", ["/flood", "/bomb"])
def test_too_large_response_raises_too_large(site: str, path: str) -> None:
    with pytest.raises(TooLarge, match=f"GET {site}{path}: expected at most 50,000,000 bytes, found more"):
        Visitor(site, proxy=None).call("GET", path)


@pytest.mark.parametrize("path", ["/gzip", "/deflate", "/bare", "/twice", "/marked", "/latin"])
def test_response_bodies_are_read_in_every_encoding(site: str, path: str) -> None:
    assert Visitor(site, proxy=None).call("GET", path).text == SAID


@pytest.mark.parametrize(("path", "found"), [("/cut", "breaks off"), ("/wrong", "is not gzip")])
def test_unreadable_body_is_a_site_error(site: str, path: str, found: str) -> None:
    with pytest.raises(SiteError, match=found):
        Visitor(site, proxy=None).call("GET", path)


@pytest.mark.parametrize(
    ("host", "sent"),
    [("shop.localhost", True), ("localhost", True), ("127.0.0.1", True), ("[::1]", True), ("shop.test", False)],
)
def test_secure_cookies_are_sent_as_by_a_browser(site: str, host: str, sent: bool) -> None:
    cookie = {"name": "who", "value": "ada", "domain": host, "path": "/", "secure": True}
    visitor = Visitor(f"http://{host}", proxy=site, state={"cookies": [cookie]})
    assert visitor.call("GET", "/me").text.endswith("who=ada" if sent else "None")
