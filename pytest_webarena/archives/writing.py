"""Writes the gateway's exchanges to a WARC file, each as soon as it is complete, so that a crash loses none."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from pytest_webarena.archives.matching import body_digest, canonical, host_and_path
from pytest_webarena.errors import UsageError, writing

__all__ = ["SITES", "WITHHELD", "WarcFile"]

SITES = "webarena-sites"
"""Key in the first record of an archive that this module wrote; its value is JSON with the archived sites."""

WITHHELD = "webarena-kept-back"
"""Key of a metadata record with the method of a request that the guard of live sites withheld."""

_SECRET_REQUEST_HEADERS = frozenset(("authorization", "cookie", "proxy-authorization"))
_SECRET_RESPONSE_HEADERS = frozenset(("set-cookie", "set-cookie2", "www-authenticate"))
_HOP_BY_HOP = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"))


class WarcFile:
    """A new WARC file, as a context manager. It omits cookies and credentials, because archives are shared."""

    def __init__(self, path: Path, *, sites: Mapping[str, Mapping[str, str]]) -> None:
        """``sites`` maps names to ``url``, ``start`` and ``user``. `UsageError` when the file exists or cannot be
        created."""
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._file = path.open("xb", buffering=0)
            except FileExistsError:
                raise UsageError(f"expected a new file at {path}, found an existing one") from None
        self.path = path
        self.written = 0
        """Number of exchanges written."""
        self._fingerprints: set[bytes] = set()
        """Of the records so far; equal ones are not written again."""
        self._compressed = path.name.endswith(".gz")
        info = {"software": "pytest-webarena", "format": "WARC File Format 1.1", SITES: json.dumps(dict(sites))}
        block = "".join(f"{name}: {value}\r\n" for name, value in info.items()).encode()
        fields = {"WARC-Filename": path.name, "Content-Type": "application/warc-fields"}
        self._file.write(self._record("warcinfo", _warc_date(datetime.now(UTC).timestamp()), block, fields)[1])

    def __enter__(self) -> WarcFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def add(
        self,
        *,
        method: str,
        url: str,
        request_head: str,
        request_body: bytes,
        response_head: str,
        response_body: bytes,
        time: float,
    ) -> bool:
        """Write one exchange; return False if an equal one was written before.

        Args:
            method: The request's method.
            url: The request's address.
            request_head: Head of the request. Secrets are removed from it.
            request_body: Body of the request, without transfer coding.
            response_head: Head of the response. Secrets are removed from it.
            response_body: Body of the response, without transfer coding.
            time: Unix time in seconds.
        """
        url = canonical(url)
        line, *fields = [each for each in response_head.split("\r\n") if each]
        status = line.partition(" ")[2]
        response_fields = [
            (name, value)
            for name, value in _pairs(fields)
            if name.lower() not in _SECRET_RESPONSE_HEADERS | _HOP_BY_HOP
        ]
        asked_pairs = _pairs([each for each in request_head.split("\r\n") if each][1:])
        kind = next((value for name, value in asked_pairs if name.lower() == "content-type"), "")
        fingerprint = hashlib.sha256(
            "\0".join(
                (method, url, body_digest(request_body, kind), status, str(distinguishing_fields(response_fields)))
            ).encode()
            + response_body
        ).digest()
        if fingerprint in self._fingerprints:
            return False
        self._fingerprints.add(fingerprint)
        date = _warc_date(time)
        head = _head(line, [*response_fields, ("Content-Length", str(len(response_body)))])
        record_id, response = self._record(
            "response", date, head + response_body,
            {
                "WARC-Target-URI": url, "WARC-Payload-Digest": _digest(response_body),
                "Content-Type": "application/http; msgtype=response",
            },
        )  # fmt: skip
        host, _, path = url.partition("://")[2].partition("/")
        left_out = _SECRET_REQUEST_HEADERS | _HOP_BY_HOP | {"host"}
        asked_kept = [(name, value) for name, value in asked_pairs if name.lower() not in left_out]
        length = [("Content-Length", str(len(request_body)))] if request_body else []
        head = _head(f"{method} /{path} HTTP/1.1", [("Host", host), *asked_kept, *length])
        _, request = self._record(
            "request", date, head + request_body,
            {
                "WARC-Target-URI": url, "WARC-Concurrent-To": record_id,
                "Content-Type": "application/http; msgtype=request",
            },
        )  # fmt: skip
        self._file.write(response + request)
        self.written += 1
        return True

    def add_withheld(self, *, method: str, url: str, time: float) -> None:
        """Record a request that was withheld because it might have changed something, so that its response does not
        count as missing."""
        url = canonical(url)
        fingerprint = f"{method} {host_and_path(url)}".encode()
        if fingerprint not in self._fingerprints:
            self._fingerprints.add(fingerprint)
            fields = {"WARC-Target-URI": url.partition("?")[0], "Content-Type": "application/warc-fields"}
            block = f"{WITHHELD}: {method}\r\n".encode("latin-1", "replace")
            self._file.write(self._record("metadata", _warc_date(time), block, fields)[1])

    def _record(self, kind: str, date: str, block: bytes, fields: Mapping[str, str]) -> tuple[str, bytes]:
        """Return the id and the bytes of a record."""
        name = f"<urn:uuid:{uuid.uuid4()}>"
        head = "".join(
            f"{field}: {value}\r\n"
            for field, value in {
                "WARC-Type": kind, "WARC-Record-ID": name, "WARC-Date": date, "WARC-Block-Digest": _digest(block),
                **fields, "Content-Length": str(len(block)),
            }.items()
        )  # fmt: skip
        data = b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"
        return name, gzip.compress(data, 6) if self._compressed else data


def _warc_date(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _digest(data: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"


def _head(line: str, fields: list[tuple[str, str]]) -> bytes:
    return "\r\n".join([line, *(f"{name}: {value}" for name, value in fields), "", ""]).encode("latin-1")


def distinguishing_fields(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that distinguish responses; others may differ each time."""
    return [pair for pair in fields if pair[0].lower() in ("location", "content-type", "etag", "last-modified")]


def _pairs(lines: list[str]) -> list[tuple[str, str]]:
    return [(name, value.strip(" \t")) for name, mark, value in (line.partition(":") for line in lines) if mark]
