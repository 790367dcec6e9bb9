"""Writes exchanges recorded by the gateway to a WARC file, each when it is complete, so that stopping at any time loses
none."""

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

__all__ = ["KEPT", "SITES", "WarcFile"]

SITES = "webarena-sites"
"""Key in the first record of an archive that this module wrote; its value is JSON with the archived sites."""

KEPT = "webarena-kept-back"
"""Key of a metadata record with the method of a request that the guard of live sites withheld."""

_SECRET_ASKED = frozenset(("authorization", "cookie", "proxy-authorization"))
_SECRET_ANSWERED = frozenset(("set-cookie", "set-cookie2", "www-authenticate"))
_HOPS = frozenset(("connection", "keep-alive", "transfer-encoding", "content-length", "te", "trailer", "upgrade"))


class WarcFile:
    """A new WARC file, as a context manager. Cookies and credentials are left out, because archives are shared."""

    def __init__(self, path: Path, *, sites: Mapping[str, Mapping[str, str]]) -> None:
        """``sites`` maps names to ``url``, ``start`` and ``user``. `UsageError` when the file exists or cannot be
        made."""
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._file = path.open("xb", buffering=0)
            except FileExistsError:
                raise UsageError(f"expected a new file at {path}, found one there already") from None
        self.path = path
        self.written = 0
        self._seen: set[bytes] = set()
        self._packed = path.name.endswith(".gz")
        info = {"software": "pytest-webarena", "format": "WARC File Format 1.1", SITES: json.dumps(dict(sites))}
        block = "".join(f"{name}: {value}\r\n" for name, value in info.items()).encode()
        fields = {"WARC-Filename": path.name, "Content-Type": "application/warc-fields"}
        self._file.write(self._record("warcinfo", _moment(datetime.now(UTC).timestamp()), block, fields)[1])

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
        """Write one exchange: heads unchanged except for secrets, bodies without transfer coding. False if an equal one
        was written before."""
        url = canonical(url)
        line, *fields = [each for each in response_head.split("\r\n") if each]
        status = line.partition(" ")[2]
        pairs = _pairs(fields)
        response_fields = [(name, value) for name, value in pairs if name.lower() not in _SECRET_ANSWERED | _HOPS]
        asked_fields = [each for each in request_head.split("\r\n") if each][1:]
        asked_pairs = _pairs(asked_fields)
        kind = next((value for name, value in asked_pairs if name.lower() == "content-type"), "")
        mark = hashlib.sha256(
            "\0".join(
                (method, url, body_digest(request_body, kind), status, str(distinguishing_fields(response_fields)))
            ).encode()
            + response_body
        ).digest()
        if mark in self._seen:
            return False
        self._seen.add(mark)
        moment = _moment(time)
        head = _head(line, [*response_fields, ("Content-Length", str(len(response_body)))])
        name, response = self._record(
            "response", moment, head + response_body,
            {
                "WARC-Target-URI": url, "WARC-Payload-Digest": _digest(response_body),
                "Content-Type": "application/http; msgtype=response",
            },
        )  # fmt: skip
        host, _, path = url.partition("://")[2].partition("/")
        asked_kept = [(n, v) for n, v in asked_pairs if n.lower() not in _SECRET_ASKED | _HOPS | {"host"}]
        length = [("Content-Length", str(len(request_body)))] if request_body else []
        head = _head(f"{method} /{path} HTTP/1.1", [("Host", host), *asked_kept, *length])
        _, request = self._record(
            "request", moment, head + request_body,
            {
                "WARC-Target-URI": url, "WARC-Concurrent-To": name,
                "Content-Type": "application/http; msgtype=request",
            },
        )  # fmt: skip
        self._file.write(response + request)
        self.written += 1
        return True

    def add_kept_back(self, *, method: str, url: str, time: float) -> None:
        """Record a request that was withheld because it might have changed something, so that its response does not
        count as missing."""
        url = canonical(url)
        mark = f"{method} {host_and_path(url)}".encode()
        if mark not in self._seen:
            self._seen.add(mark)
            fields = {"WARC-Target-URI": url.partition("?")[0], "Content-Type": "application/warc-fields"}
            block = f"{KEPT}: {method}\r\n".encode("latin-1", "replace")
            self._file.write(self._record("metadata", _moment(time), block, fields)[1])

    def _record(self, kind: str, moment: str, block: bytes, fields: Mapping[str, str]) -> tuple[str, bytes]:
        """Id and bytes of a record."""
        name = f"<urn:uuid:{uuid.uuid4()}>"
        head = "".join(
            f"{field}: {value}\r\n"
            for field, value in {
                "WARC-Type": kind, "WARC-Record-ID": name, "WARC-Date": moment, "WARC-Block-Digest": _digest(block),
                **fields, "Content-Length": str(len(block)),
            }.items()
        )  # fmt: skip
        data = b"WARC/1.1\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"
        return name, gzip.compress(data, 6) if self._packed else data


def _moment(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _digest(data: bytes) -> str:
    return f"sha1:{base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()}"


def _head(line: str, fields: list[tuple[str, str]]) -> bytes:
    return "\r\n".join([line, *(f"{name}: {value}" for name, value in fields), "", ""]).encode("latin-1")


def distinguishing_fields(fields: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The fields that distinguish responses, without those that differ each time."""
    return [pair for pair in fields if pair[0].lower() in ("location", "content-type", "etag", "last-modified")]


def _pairs(lines: list[str]) -> list[tuple[str, str]]:
    return [(name, value.strip(" \t")) for name, mark, value in (line.partition(":") for line in lines) if mark]
