"""Live sites through a proxy: it is used only for checked addresses."""

from __future__ import annotations

import base64
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.live.tunnelling import Proxy
from pytest_webarena.sites.catalogues.loading import load_catalogue
from tests.unit.live.conftest import PUBLIC, TAB, Internet

SHOP, EVIL = "shop.example.com", "evil.example.org"


class Relay:
    """A proxy with one response; it opens tunnels if that is 200."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.answer = b"HTTP/1.1 200 Connection established\r\n\r\n"
        self.heads: list[str] = []
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._serve)

    @property
    def address(self) -> Proxy:
        return Proxy(host="127.0.0.1", port=self.listener.getsockname()[1], login="ann:tea")

    def close(self) -> None:
        """Close all connections, also pending ones: the site's loop would end with them half open."""
        self.listener.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:  # it grows during the iteration
            while thread.is_alive():
                for each in list(self._sockets):
                    with suppress(OSError):
                        each.shutdown(socket.SHUT_RDWR)
                thread.join(0.05)

    def _start(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _serve(self) -> None:
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            self._sockets.append(client)
            self._start(self._deal, client)

    def _deal(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            head = b""
            while b"\r\n\r\n" not in head:
                head += (got := client.recv(4096))
                if not got:
                    return
            self.heads.append(head.decode())
            client.sendall(self.answer)
            if not self.answer.startswith(b"HTTP/1.1 200"):
                return
            host, port = head.split()[1].decode().rsplit(":", 1)
            with socket.create_connection((host, int(port)), timeout=10) as site:
                self._sockets.append(site)
                back = threading.Thread(target=_pump, args=(client, site), daemon=True)
                back.start()
                _pump(site, client)
                back.join()


def _pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one side closes."""
    with suppress(OSError):
        while data := source.recv(4096):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def relay() -> Iterator[Relay]:
    with closing(socket.create_server(("127.0.0.1", 0))) as listener, closing(Relay(listener)) as found:
        yield found


def test_proxy_gets_the_checked_address(internet: Internet, relay: Relay) -> None:
    site = internet.host(SHOP)
    session = internet.enter("example.com", proxy=relay.address)
    assert internet.ask(session, internet.url(SHOP, "/tea"), *TAB)[2] == b"/tea"
    assert len(relay.heads) == 2  # the other for robots.txt
    for head in relay.heads:
        assert head.splitlines()[:2] == [f"CONNECT {PUBLIC}:{site.port} HTTP/1.1", f"Host: {PUBLIC}:{site.port}"]
        assert f"Proxy-Authorization: Basic {base64.b64encode(b'ann:tea').decode()}" in head
    assert not any("roxy" in field for seen in site.seen for field in seen.fields)


def test_closed_addresses_are_not_sent_to_the_proxy(internet: Internet, relay: Relay) -> None:
    internet.host(SHOP)
    internet.host(EVIL)
    internet.names[EVIL] = ["169.254.169.254"]
    session = internet.enter("example.com", proxy=relay.address)
    assert internet.ask(session, internet.url(EVIL, "/x"), "Sec-Fetch-Dest: script")[0] == 403
    assert relay.heads == []


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "answers 407 Proxy Authentication Required"),
        (b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 4\r\n\r\noops", "answers 502 Bad Gateway"),
        (b"HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n", "sends bytes that belong to no tunnel"),
        (b"SSH-2.0\r\n\r\n", "speaks no HTTP"),
        (b"", "ended the connection without an answer"),
    ],
)
def test_refusal_of_the_proxy_is_a_site_obstacle(
    internet: Internet, relay: Relay, answer: bytes, expected: str
) -> None:
    internet.host(SHOP)
    relay.answer = answer
    session = internet.enter("example.com", proxy=relay.address, robots="ignore")
    status, _, page = internet.ask(session, internet.url(SHOP, "/tea"), *TAB)
    record = internet.last(session)
    assert status == 502
    assert f"the proxy {relay.address} {expected}" in page.decode() + record.obstacle_why
    assert record.obstacle == "site"


def test_unreachable_proxy_is_a_site_obstacle(internet: Internet) -> None:
    internet.host(SHOP)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = taken.getsockname()[:2]
    proxy = Proxy(host=address[0], port=address[1], login="ann:tea")
    session = internet.enter("example.com", proxy=proxy, robots="ignore")
    assert internet.ask(session, internet.url(SHOP, "/tea"), *TAB)[0] == 502
    record = internet.last(session)
    assert record.obstacle == "site"
    assert f"the proxy {proxy} can't be had" in record.obstacle_why
    assert "tea" not in record.obstacle_why.partition("had")[2]


def test_silent_proxy_times_out_like_a_site(internet: Internet) -> None:
    internet.host(SHOP)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        proxy = Proxy(host="127.0.0.1", port=silent.getsockname()[1])
        session = internet.enter("example.com", proxy=proxy, answer_within=0.2)
        assert internet.ask(session, internet.url(SHOP, "/tea"), *TAB)[0] == 502
    record = internet.last(session)
    assert (record.obstacle, "robots.txt can't be had" in record.obstacle_why) == ("site", True)


def test_name_with_any_closed_address_is_not_sent_to_the_proxy(internet: Internet, relay: Relay) -> None:
    """Names are resolved locally: the proxy never resolves a name."""
    internet.host(SHOP)
    internet.names[SHOP] = [f"{PUBLIC} 10.0.0.5"]
    session = internet.enter("example.com", proxy=relay.address, robots="ignore")
    assert internet.ask(session, internet.url(SHOP, "/tea"), *TAB)[0] == 403
    assert (internet.last(session).obstacle, relay.heads) == ("site", [])


def catalogue(folder: Path, options: str) -> Path:
    path = folder / "sites.yaml"
    path.write_text(
        "schema_version: 1\napps:\n  a:\n    backend: live\n    options: {" + options + "}\n"
        "    sites: {tea: {url: 'https://tea.example'}}\n"
    )
    return path


@pytest.mark.parametrize(
    "proxy", ["socks5://a:1", "http://a", "http://ann:tea@a:1", "http://a:1/way", "http://a:x", "https://a:1"]
)
def test_invalid_proxy_option_is_an_error_without_the_login(tmp_path: Path, proxy: str) -> None:
    with pytest.raises(UsageError, match="expected http://host:port in the option 'proxy'") as raised:
        load_catalogue(str(catalogue(tmp_path, f"proxy: '{proxy}'")))
    assert "tea@" not in str(raised.value)


def test_proxy_login_is_read_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(catalogue(tmp_path, "proxy: 'http://a:1', proxy_login: PROXY_LOGIN, region: north"))
    monkeypatch.delenv("PROXY_LOGIN", raising=False)
    with pytest.raises(UsageError, match="expected user:password in the environment variable PROXY_LOGIN"):
        load_catalogue(path)
    monkeypatch.setenv("PROXY_LOGIN", "ann:tea")
    load_catalogue(path)
    with pytest.raises(UsageError, match="expected the option 'proxy' with 'proxy_login'"):
        load_catalogue(str(catalogue(tmp_path, "proxy_login: PROXY_LOGIN")))
