"""Simulates the Internet in its own network namespace, and runs a command in it.

``python -m tests.browser.played_world REPORT COMMAND…`` restarts itself in new namespaces for network and mounts.
There,
the loopback device has addresses of the Internet, a name server answers for all names, and servers listen at allowed
and at forbidden addresses. The requests that each server received are written to REPORT as JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from pytest_webarena.gateway.authority import Authority

SHOP, CDN, EVIL, OTHER, BROKEN, H2 = (f"45.33.7.{n}" for n in (10, 11, 12, 13, 14, 15))
INSIDE = ("127.0.0.1", "169.254.169.254", "10.0.0.5", "192.168.7.7", "::1", "fd00::5")
"""Addresses that no request may reach."""
NAMES = {
    "www.teahouse.com": SHOP, "teahouse.com": SHOP, "captcha.teahouse.com": SHOP, "busy.teahouse.com": SHOP,
    "slow.teahouse.com": SHOP, "loop.teahouse.com": SHOP, "wall.teahouse.com": SHOP, "geo.teahouse.com": SHOP,
    "consent.teahouse.com": SHOP, "cut.teahouse.com": SHOP, "frame.teahouse.com": SHOP, "script.teahouse.com": SHOP,
    "robots.teahouse.com": SHOP, "stall.teahouse.com": SHOP, "stuck.teahouse.com": SHOP,
    "www.leafhouse.com": SHOP, "www.teahouse.de": OTHER, "cdn.leafcdn.net": CDN, "agency.org": OTHER,
    "broken.teahouse.com": BROKEN, "h2.teahouse.com": H2,
    "meta.evil.org": "169.254.169.254", "home.evil.org": "127.0.0.1", "lan.evil.org": "10.0.0.5",
    "mixed.evil.org": f"{EVIL} 127.0.0.1", "six.evil.org": "fd00::5", "redirect.evil.org": EVIL,
}  # fmt: skip
REBINDING = "rebind.evil.org"

PAGE = "<!doctype html><title>{title}</title><body>{body}</body>"
HOME = """
<h1>Tea house</h1><p id=price>Assam 8.50</p>
<link rel=stylesheet href="https://cdn.leafcdn.net/style.css"><script src="https://cdn.leafcdn.net/app.js"></script>
<p id=told></p><form method=post action=/buy><button>Buy</button></form>
<form method=post action=/search><button>Find</button></form>
<a id=out href="https://agency.org/">Partner</a>
<script>
fetch('/track', {method: 'POST', body: 'seen=1'})
    .then(async r => told.textContent = r.status + ' ' + (await r.json()).error);
</script>
"""
CONSENT = """
<div id=consent>We value your privacy.
<button onclick="document.cookie = 'consent=yes'; location.reload()">Accept all</button></div>
"""
ATTACK = "<h1>Offers</h1>" + "".join(
    f"<img src='{url}'><iframe src='{url}'></iframe><script>fetch('{url}', {{mode: 'no-cors'}}).catch(() => 0)</script>"
    for url in (
        "http://127.0.0.1/x", "http://169.254.169.254/latest/meta-data/", "http://10.0.0.5/x", "http://[::1]/x",
        "http://[fd00::5]/x", "http://2130706433/x", "http://0x7f.1/x", "http://0.0.0.0/x", "http://localhost/x",
        "http://meta.evil.org/x", "http://home.evil.org/x", "http://lan.evil.org/x", "http://mixed.evil.org/x",
        "http://six.evil.org/x", "http://redirect.evil.org/meta", "http://redirect.evil.org/home",
        f"http://{REBINDING}/a", f"http://{REBINDING}/b", f"http://{REBINDING}/c", "https://home.evil.org/x",
        "http://[::ffff:127.0.0.1]/x", "http://[::ffff:a9fe:a9fe]/x", "http://127.0.0.1.nip.evil.org/x",
    )
) + """
<script>
try { new WebSocket('ws://home.evil.org/x'); new WebSocket('wss://www.teahouse.com/live') } catch {}
</script>
"""  # fmt: skip


class World:
    """The servers and the requests that they received."""

    def __init__(self) -> None:
        self.asked: dict[str, list[str]] = defaultdict(list)
        self.tunnels: list[str] = []
        self.inside: dict[str, list[str]] = defaultdict(list)
        self.lookups: dict[str, int] = defaultdict(int)

    def answer(self, host: str, method: str, path: str, cookie: str) -> tuple[int, dict[str, str], str]:
        """Of a site of the Internet."""
        if path == "/robots.txt":
            closed = "User-agent: *\nDisallow: /closed\n" if host == "robots.teahouse.com" else ""
            return 200, {"Content-Type": "text/plain"}, closed
        name = host.removesuffix(".teahouse.com")
        if host == "cdn.leafcdn.net":
            kind = "text/css" if path.endswith("css") else "text/javascript"
            return 200, {"Content-Type": kind}, "" if path.endswith("css") else "document.body.dataset.cdn = 'yes'"
        if path == "/kept":
            return 200, {"Content-Type": "text/html", "Cache-Control": "max-age=3600"}, HOME
        if path == "/framing":
            return 200, {"Content-Type": "text/html"}, "<iframe src='https://agency.org/kept'></iframe>"
        if host == "redirect.evil.org":
            to = "http://169.254.169.254/latest/" if path == "/meta" else "http://127.0.0.1/home"
            return 302, {"Location": to}, ""
        if name == "busy":
            return 429, {"Retry-After": "30"}, "slow down"
        if name == "captcha":
            frame = "<iframe src='https://geo.captcha-delivery.com/captcha/?id=1'></iframe>"
            return 403, {"Content-Type": "text/html"}, PAGE.format(title="Teahouse", body=frame)
        if name == "wall":
            text = "<h1>One more step</h1><p>Please verify you are human to go on.</p>"
            return 200, {"Content-Type": "text/html"}, PAGE.format(title="Teahouse", body=text)
        if name == "loop":
            return 302, {"Location": f"/?n={int(path.rpartition('=')[2] or 0) + 1}"}, ""
        if name == "frame":
            return (
                200,
                {"Content-Type": "text/html"},
                PAGE.format(title="T", body="<iframe src='https://no.name.org/'>"),
            )
        if name == "script":
            return 200, {"Content-Type": "text/html"}, "<script>location = 'https://www.teahouse.de/'</script>"
        if name == "stuck":
            text = "<script src='https://stall.teahouse.com/app.js'></script><h1>Tea house</h1>"
            return 200, {"Content-Type": "text/html"}, PAGE.format(title="Teahouse", body=text)
        if name == "geo":
            return 302, {"Location": "https://www.teahouse.de/"}, ""
        if name == "consent" and "consent=yes" not in cookie:
            return 200, {"Content-Type": "text/html"}, PAGE.format(title="Teahouse", body=CONSENT)
        if method == "POST" and path == "/search":
            return 200, {"Content-Type": "text/html"}, PAGE.format(title="Found", body="<h1>Found 3 teas</h1>")
        body = ATTACK if path == "/attack" else HOME
        return 200, {"Content-Type": "text/html"}, PAGE.format(title="Tea house", body=body)

    async def site(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).decode("latin-1"):
                line, *fields = head.split("\r\n")
                method, path, _ = line.split(" ")
                known = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in fields)}
                await reader.readexactly(int(known.get("content-length", 0)))
                host = known["host"]
                self.asked[host].append(f"{method} {path}")
                if host == "slow.teahouse.com" and path != "/robots.txt":
                    await reader.read()
                    return
                if host == "cut.teahouse.com" and path != "/robots.txt":
                    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 500\r\n\r\n<h1>half")
                    await writer.drain()
                    return
                if host == "stall.teahouse.com" and path != "/robots.txt":
                    kind = "text/javascript" if path.endswith(".js") else "text/html"
                    writer.write(f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 500\r\n\r\nvar".encode())
                    await writer.drain()
                    await reader.read()
                    return
                status, more, body = self.answer(host, method, path, known.get("cookie", ""))
                lines = "".join(f"{name}: {value}\r\n" for name, value in more.items())
                data = body.encode()
                closing = "Connection: close\r\n" if host == REBINDING else ""
                writer.write(
                    f"HTTP/1.1 {status} x\r\n{lines}{closing}Content-Length: {len(data)}\r\n\r\n".encode() + data
                )
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def closed_to_all(self, address: str):  # type: ignore[no-untyped-def]
        async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self.inside[address].append((await reader.read(200)).decode("latin-1"))
            writer.close()

        return note

    async def tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve as a proxy."""
        try:
            wanted = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
            self.tunnels.append(wanted)
            host, _, port = wanted.rpartition(":")
            behind, ahead = await asyncio.open_connection(host, int(port))
            writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
            await asyncio.gather(_pump(reader, ahead), _pump(behind, writer))
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def addresses(self, name: str) -> list[str]:
        if name == REBINDING:
            self.lookups[name] += 1
            return [EVIL] if self.lookups[name] == 1 else ["127.0.0.1"]
        if name.endswith(".nip.evil.org"):
            return ["127.0.0.1"]
        return NAMES.get(name, "").split()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


class NameServer(asyncio.DatagramProtocol):
    """Answers with A and AAAA records, or that the name does not exist."""

    def __init__(self, world: World) -> None:
        self._world = world

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        labels, at = [], 12
        while data[at]:
            labels.append(data[at + 1 : at + 1 + data[at]].decode("latin-1").lower())
            at += data[at] + 1
        question = data[12 : at + 5]
        kind = struct.unpack("!H", data[at + 1 : at + 3])[0]
        name = ".".join(labels)
        found = self._world.addresses(name) if kind == 1 or name != REBINDING else []
        six = [a for a in found if ":" in a]
        wanted = six if kind == 28 else [a for a in found if ":" not in a] if kind == 1 else []
        records = b""
        for address in wanted:
            packed = socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
            records += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
        known = found or name == REBINDING
        flags = 0x8180 if known else 0x8183
        head = data[:2] + struct.pack("!HHHHH", flags, 1, len(wanted), 0, 0)
        self._transport.sendto(head + question + records, addr)  # type: ignore[attr-defined]


async def play(report: Path, command: list[str]) -> int:
    """Run ``command`` in the simulated Internet."""
    world, loop = World(), asyncio.get_running_loop()
    authority, strangers = Authority(), Authority()
    trusted = report.with_suffix(".pem")
    trusted.write_text(authority.certificate)

    def context(made_by: Authority, *protocols: str) -> ssl.SSLContext:
        default = made_by.context("www.teahouse.com")

        def choose(sock: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            chosen = made_by.context(name or "www.teahouse.com")
            if protocols:
                chosen.set_alpn_protocols(list(protocols))
            sock.context = chosen

        default.sni_callback = choose
        return default

    servers = [
        *[await asyncio.start_server(world.site, at, 80) for at in (SHOP, CDN, EVIL, OTHER)],
        *[await asyncio.start_server(world.site, at, 443, ssl=context(authority)) for at in (SHOP, CDN, EVIL, OTHER)],
        await asyncio.start_server(world.tunnel, "127.0.0.1", 3128),
        await asyncio.start_server(world.site, BROKEN, 443, ssl=context(strangers)),
        await asyncio.start_server(world.site, H2, 443, ssl=context(Authority(), "h2")),
        *[await asyncio.start_server(world.closed_to_all(at), at, port) for at in INSIDE for port in (80, 443)],
    ]
    await loop.create_datagram_endpoint(lambda: NameServer(world), local_addr=("127.0.0.53", 53))
    process = await asyncio.create_subprocess_exec(*command, env={**os.environ, "SSL_CERT_FILE": str(trusted)})
    code = await process.wait()
    for server in servers:
        server.close()
    recorded = {"asked": world.asked, "inside": world.inside, "lookups": world.lookups, "tunnels": world.tunnels}
    report.write_text(json.dumps(recorded))
    return code


def main() -> None:
    """Run as described by the module's docstring."""
    if os.environ.get("PLAYED_WORLD") != "inside":
        namespaces = ["unshare", "--net", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        environ = {**os.environ, "PLAYED_WORLD": "inside"}
        sys.exit(
            subprocess.call(
                [*namespaces, sys.executable, "-m", "tests.browser.played_world", *sys.argv[1:]], env=environ
            )
        )
    report = Path(sys.argv[1])
    resolver = report.with_suffix(".resolv")
    resolver.write_text("nameserver 127.0.0.53\noptions timeout:2 attempts:1\n")
    hosts = report.with_suffix(".hosts")
    hosts.write_text("127.0.0.1 localhost\n")
    steps = ["ip link set lo up", *(f"ip addr add {at}/32 dev lo" for at in (SHOP, CDN, EVIL, OTHER, BROKEN, H2))]
    steps += [f"ip addr add {at}/{128 if ':' in at else 32} dev lo" for at in INSIDE if at not in ("127.0.0.1", "::1")]
    steps += [f"mount --bind {resolver} /etc/resolv.conf", f"mount --bind {hosts} /etc/hosts"]
    for step in steps:
        subprocess.run(step.split(), check=True)
    sys.exit(asyncio.run(play(report, sys.argv[2:])))


if __name__ == "__main__":
    main()
