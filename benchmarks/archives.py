"""Measures the cost of an archive: opening it, answering requests, memory.

    python benchmarks/archives.py [--pages 1000] [--requests 10000] [--size 20000]

Compares answers of the archive with plain HTTP answers of the same bytes: loopback, one kept connection each, both
servers on threads of this process. Prints JSON. Times are wall times; keys with ``cpu`` are processor times of client
and server together, which other work on the machine changes less.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path

from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.serving import ArchiveServer
from pytest_webarena.archives.writing import WarcFile


def page(number: int, size: int) -> bytes:
    """Returns a page of text that differs from all others and compresses as pages do."""
    text = " ".join(f"word{(number * 31 + index * 17) % 997}" for index in range(size // 8))
    return f"<!doctype html><title>{number}</title><p>{text}</p>".encode()[:size]


def plain(pages: list[bytes]) -> int:
    """Starts the simplest possible server of the same bytes; returns its port."""
    ready: list[int] = []
    started = threading.Event()

    async def converse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = pages[int(head.split(b" ")[1].rpartition(b"/")[2])]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n" % len(body) + body
                )
        except asyncio.IncompleteReadError:
            writer.close()

    async def serve() -> None:
        server = await asyncio.start_server(converse, "127.0.0.1", 0)
        ready.append(server.sockets[0].getsockname()[1])
        started.set()
        await asyncio.Event().wait()

    threading.Thread(target=lambda: asyncio.run(serve()), daemon=True).start()
    started.wait(10)
    return ready[0]


def timed(port: int, count: int, pages: int) -> list[float]:
    """Returns the duration of each request in milliseconds."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    times = []
    for index in range(count):
        began = time.perf_counter()
        connection.request("GET", f"/{index * 7 % pages}", headers={"Host": "bench.test"})
        response = connection.getresponse()
        assert response.status == 200, response.status
        response.read()
        times.append((time.perf_counter() - began) * 1e3)
    connection.close()
    return times


def resident() -> float:
    """Returns the resident memory of this process in MiB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1000, help="pages in the archive (default: %(default)s)")
    parser.add_argument("--requests", type=int, default=10_000, help="requests to the archive (default: %(default)s)")
    parser.add_argument("--size", type=int, default=20_000, help="bytes of a page (default: %(default)s)")
    options = parser.parse_args()
    pages = [page(number, options.size) for number in range(options.pages)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "bench.warc.gz"
        with WarcFile(file, sites={}) as archive:
            for number, data in enumerate(pages):
                archive.add(
                    method="GET", url=f"http://bench.test/{number}", request_head="GET / HTTP/1.1\r\n",
                    request_body=b"",
                    response_head="HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", response_body=data, time=number,
                )  # fmt: skip
        began, worked = time.perf_counter(), time.process_time()
        opened = Archive([file])
        result = {"open_s": time.perf_counter() - began, "open_cpu_s": time.process_time() - worked}
        server = ArchiveServer(opened)
        port, worked = plain(pages), time.process_time()
        beside = timed(port, min(2000, options.requests), options.pages)
        beside_cpu = (time.process_time() - worked) / len(beside) * 1e3
        warm = timed(server.port, min(3000, options.requests), options.pages)
        before = resident()
        worked = time.process_time()
        times = timed(server.port, options.requests, options.pages)
        result |= {
            "answer_ms": statistics.median([*warm, *times]),
            "plain_ms": statistics.median(beside),
            "answer_cpu_ms": (time.process_time() - worked) / options.requests * 1e3,
            "plain_cpu_ms": beside_cpu,
            "growth_mib": resident() - before,
        }
        server.close()
    print(json.dumps({name: round(value, 3) for name, value in result.items()}))


if __name__ == "__main__":
    main()
