"""Helpers that write and open small archives."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.archives.archive import Archive
from pytest_webarena.archives.writing import WarcFile

SITES = {"shop": {"url": "https://shop.test", "start": "/", "user": "emma"}}


def write(
    path: Path,
    *exchanges: tuple[str, str, bytes],
    status: str = "200 OK",
    fields: str = "Content-Type: text/html\r\n",
    sent: bytes = b"",
    time: float = 1_700_000_000.0,
) -> Path:
    """Write a new archive of exchanges: method, URL, response body."""
    with WarcFile(path, sites=SITES) as file:
        for method, url, got in exchanges:
            file.add(
                method=method, url=url, request_head=f"{method} / HTTP/1.1\r\nHost: x\r\n", request_body=sent,
                response_head=f"HTTP/1.1 {status}\r\n{fields}", response_body=got, time=time,
            )  # fmt: skip
    return path


def opened(path: Path, *exchanges: tuple[str, str, bytes], **options: object) -> Archive:
    """Write an archive and open it."""
    return Archive([write(path, *exchanges, **options)])  # type: ignore[arg-type]
