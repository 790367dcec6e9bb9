"""Measures TLS at the gateway: small requests over HTTPS and HTTP of the same site, and handshakes.

    python benchmarks/gateway_tls.py [--requests 3000] [--rounds 5]

Three processes (site, gateway, client), raw sockets, loopback, one kept connection, the schemes alternating.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import socket
import ssl
import statistics
import time
from multiprocessing.connection import Connection
from pathlib import Path

from gateway import BROWSER_FIELDS, Site, connect, read_response


def serve(kind: str, site: int, pipe: Connection) -> None:
    """Runs in the child processes: sends its port, then serves until it is terminated."""

    async def main() -> None:
        if kind == "gateway":
            from pytest_webarena.gateway.authority import Authority
            from pytest_webarena.gateway.session import Gateway

            authority = Authority()
            session = await Gateway(authority=lambda: authority).open()
            session.route("homepage.test", "127.0.0.1", site)
            session.route("homepage.test", "127.0.0.1", site, port=443, read=True)
            pipe.send((session.port, authority.certificate))
        else:
            server = await asyncio.get_running_loop().create_server(Site, "127.0.0.1", 0)
            pipe.send((server.sockets[0].getsockname()[1], ""))
        await asyncio.Event().wait()

    asyncio.run(main())


def tunnel(port: int, trust: ssl.SSLContext) -> tuple[socket.socket, float]:
    """Returns a connection to the https host, and the seconds of its TLS handshake."""
    sock = connect(port)
    sock.sendall(b"CONNECT homepage.test:443 HTTP/1.1\r\nHost: homepage.test:443\r\n\r\n")
    while b"\r\n\r\n" not in sock.recv(4096):
        pass
    start = time.perf_counter()
    secured = trust.wrap_socket(sock, server_hostname="homepage.test")
    return secured, time.perf_counter() - start


def timed(sock: socket.socket, target: str, count: int) -> list[float]:
    """Returns the seconds each request took."""
    message = f"GET {target}/static/app.css HTTP/1.1\r\nHost: homepage.test\r\n{BROWSER_FIELDS}\r\n".encode()
    times = []
    for index in range(count + 50):
        start = time.perf_counter()
        sock.sendall(message)
        read_response(sock)
        if index >= 50:
            times.append(time.perf_counter() - start)
    return times


def processor(pid: int) -> float:
    """Returns the processor time in seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=3000, help="requests per round (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each scheme (default: %(default)s)")
    options = parser.parse_args()
    children = []

    def start(kind: str, site: int = 0) -> tuple[int, str]:
        ours, theirs = multiprocessing.Pipe()
        child = multiprocessing.Process(target=serve, args=(kind, site, theirs), daemon=True)
        child.start()
        children.append(child)
        answer: tuple[int, str] = ours.recv()
        return answer

    site, _ = start("site")
    port, certificate = start("gateway", site)
    trust = ssl.create_default_context(cadata=certificate)
    plain: list[float] = []
    secure: list[float] = []
    gateway = children[1].pid
    assert gateway is not None
    used = [0.0, 0.0]
    for _ in range(options.rounds):
        began = processor(gateway)
        with connect(port) as sock:
            plain += timed(sock, "http://homepage.test", options.requests)
        used[0] += processor(gateway) - began
        with tunnel(port, trust)[0] as sock:
            began = processor(gateway)
            secure += timed(sock, "", options.requests)
            used[1] += processor(gateway) - began
    shakes = []
    for _ in range(100):
        sock, seconds = tunnel(port, trust)
        sock.close()
        shakes.append(seconds)
    for child in children:
        child.terminate()
    http, https = statistics.median(plain) * 1e3, statistics.median(secure) * 1e3
    print(
        json.dumps(
            {
                "http_ms": round(http, 4),
                "https_ms": round(https, 4),
                "tls_costs_ms": round(https - http, 4),
                "gateway_cpu_http_ms": round(used[0] / len(plain) * 1e3, 4),
                "gateway_cpu_https_ms": round(used[1] / len(secure) * 1e3, 4),
                "handshake_ms": round(statistics.median(shakes) * 1e3, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
