"""Finds requests of a trial that may have changed something, and differences between requests to the same place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pytest_webarena.checks.bodies import header, read_body
from pytest_webarena.evidence import RequestRecord
from pytest_webarena.gateway.log_entry import SAFE_METHODS

__all__ = ["Place", "SentRequests", "differing_fields", "pair_requests", "read_sent"]

_READS = SAFE_METHODS | {"CONNECT"}
_TOKEN = re.compile(r"(?=(?:\D*\d){2})(?=(?:[^A-Za-z]*[A-Za-z]){2})[\w+/=.~-]{16,}|\d{20,}", re.ASCII)
"""Pattern of tokens that pages generate for their forms: long, without spaces, letters and digits."""
_EPOCH = re.compile(r"\d{10}(\d{3})?(\.\d+)?", re.ASCII)
_CLOCK = 86_400.0
"""Seconds within which a value that is a time counts as the time of its request."""
_FORM = re.compile(r"[^=&\s]+=[^&]*(&[^=&\s]+=[^&]*)*")

Place = tuple[str, str, str]
"""Method, host and path."""


@dataclass(frozen=True)
class SentRequests:
    """A request whose method may change something."""

    record: RequestRecord

    @property
    def time(self) -> float:
        """Unix time of the request, in seconds."""
        return self.record.time

    @cached_property
    def place(self) -> Place:
        parts = urlsplit(self.record.url)
        return self.record.method, parts.netloc, parts.path

    @cached_property
    def fields(self) -> Mapping[str, tuple[str, ...]]:
        """The sent values by name: parameters of the address, form fields, and JSON values (by path, as in
        ``items[0].id``). Other text has an empty name."""
        query = parse_qsl(urlsplit(self.record.url).query, keep_blank_values=True)
        found: dict[str, tuple[str, ...]] = {}
        for name, value in [*query, *_in_body(self.record)]:
            found[name] = (*found.get(name, ()), value)
        return found


def read_sent(folder: Path) -> list[SentRequests]:
    """The requests of an attempt that may change something, in order; empty if its requests are unreadable."""
    try:
        lines = (folder / "network.jsonl").read_text("utf-8", errors="replace").splitlines()
        requests: Sequence[dict[str, Any]] = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return []
    return [
        SentRequests(_record(each)) for each in requests if each.get("method") not in _READS and not each.get("refused")
    ]  # fmt: skip


def _record(request: Mapping[str, Any]) -> RequestRecord:
    return RequestRecord(
        time=float(request["time"]),
        method=str(request["method"]),
        url=str(request.get("url", "")),
        status=request.get("status"),
        request_headers=tuple((str(name), str(value)) for name, value in request.get("request_headers") or ()),
        request_body=request.get("request_body"),
        request_bytes=int(request.get("request_bytes") or 0),
    )


def pair_requests(
    recorded: Sequence[SentRequests], replayed: Sequence[SentRequests]
) -> Iterator[tuple[SentRequests, SentRequests]]:
    """For requests to one place: pairs of those that sent different values, the recorded one with its replacement."""
    unmatched = list(replayed)
    other = []
    for each in recorded:
        same = next((one for one in unmatched if not any(differing_fields(each, one))), None)
        if same is None:
            other.append(each)
        else:
            unmatched.remove(same)
    yield from zip(other, unmatched, strict=False)


def differing_fields(recorded: SentRequests, replayed: SentRequests) -> Iterator[tuple[str, str | None, str | None]]:
    """The fields that differ: name, value then, value now; None where there was no such field.

    Values that pages generate are ignored: tokens, and times close to those of the requests.
    """

    def alike(one: str, two: str) -> bool:
        if one == two or (_TOKEN.fullmatch(one) and _TOKEN.fullmatch(two)):
            return True
        return _is_request_time(one, recorded.time) and _is_request_time(two, replayed.time)

    def same(one: Sequence[str] | None, two: Sequence[str] | None) -> bool:
        return one is not None and two is not None and len(one) == len(two) and all(map(alike, one, two))

    for name in [*recorded.fields, *(name for name in replayed.fields if name not in recorded.fields)]:
        one, two = recorded.fields.get(name), replayed.fields.get(name)
        if not same(one, two):
            yield name, _join_values(one), _join_values(two)


def _join_values(values: tuple[str, ...] | None) -> str | None:
    return None if values is None else ", ".join(values)


def _is_request_time(value: str, sent: float) -> bool:
    """Whether the value is about the time ``sent``: in seconds or milliseconds since 1970, or as a date with time and
    zone."""
    with suppress(ValueError, OverflowError):
        if _EPOCH.fullmatch(value):
            return any(abs(float(value) / unit - sent) < _CLOCK for unit in (1, 1000))
        read = datetime.fromisoformat(value)
        return read.tzinfo is not None and abs(read.timestamp() - sent) < _CLOCK
    return False


def _in_body(record: RequestRecord) -> Iterator[tuple[str, str]]:
    text, _ = read_body(record)
    kind = header(record, "content-type").strip().lower()
    if kind.startswith(("multipart/", "application/x-www-form-urlencoded")):
        for line in text.split("\n") if text else ():
            name, _, value = line.partition("=")
            yield name, value
        return
    with suppress(ValueError, RecursionError):
        yield from _leaves(json.loads(text))
        return
    if _FORM.fullmatch(text):
        yield from parse_qsl(text, keep_blank_values=True)
    elif text:
        yield "", text


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from _leaves(part, f"{path}.{name}" if path else str(name))
    elif isinstance(value, list) and value:
        for number, part in enumerate(value):
            yield from _leaves(part, f"{path}[{number}]")
    else:
        yield path, value if isinstance(value, str) else json.dumps(value)
