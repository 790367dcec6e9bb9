"""What a trial had sent that may have changed something, and in what two requests to the same place differ."""

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

__all__ = ["Place", "SentRequests", "paired", "read_sent", "unlike"]

_READS = SAFE_METHODS | {"CONNECT"}
_TOKEN = re.compile(r"(?=(?:\D*\d){2})(?=(?:[^A-Za-z]*[A-Za-z]){2})[\w+/=.~-]{16,}|\d{20,}", re.ASCII)
"""What each page makes anew, to know its form again, looks so: long, without a space, letters and digits."""
_EPOCH = re.compile(r"\d{10}(\d{3})?(\.\d+)?", re.ASCII)
_CLOCK = 86_400.0
"""Seconds: what names a time that is as near to that of its request was read off a clock."""
_FORM = re.compile(r"[^=&\s]+=[^&]*(&[^=&\s]+=[^&]*)*")

Place = tuple[str, str, str]
"""Method, host and path."""


@dataclass(frozen=True)
class SentRequests:
    """A request of which the method may change something."""

    record: RequestRecord

    @property
    def time(self) -> float:
        """Seconds since the epoch."""
        return self.record.time

    @cached_property
    def place(self) -> Place:
        parts = urlsplit(self.record.url)
        return self.record.method, parts.netloc, parts.path

    @cached_property
    def fields(self) -> Mapping[str, tuple[str, ...]]:
        """By name what was sent: the parameters of the address, the fields of a form, what stands in JSON (by its path,
        as in ``items[0].id``); under an empty name a text that is none of these."""
        query = parse_qsl(urlsplit(self.record.url).query, keep_blank_values=True)
        found: dict[str, tuple[str, ...]] = {}
        for name, value in [*query, *_in_body(self.record)]:
            found[name] = (*found.get(name, ()), value)
        return found


def read_sent(folder: Path) -> list[SentRequests]:
    """What an attempt had sent, in order; nothing where its requests can't be read."""
    try:
        lines = (folder / "network.jsonl").read_text("utf-8", errors="replace").splitlines()
        requests: Sequence[dict[str, Any]] = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return []
    return [
        SentRequests(_record(each)) for each in requests if each.get("method") not in _READS and not each.get("refused")
    ]  # fmt: skip


def _record(told: Mapping[str, Any]) -> RequestRecord:
    return RequestRecord(
        time=float(told["time"]),
        method=str(told["method"]),
        url=str(told.get("url", "")),
        status=told.get("status"),
        request_headers=tuple((str(name), str(value)) for name, value in told.get("request_headers") or ()),
        request_body=told.get("request_body"),
        request_bytes=int(told.get("request_bytes") or 0),
    )


def paired(then: Sequence[SentRequests], now: Sequence[SentRequests]) -> Iterator[tuple[SentRequests, SentRequests]]:
    """Of requests to one place: those that differ in what they sent, each next to the one that came in its stead."""
    left = list(now)
    other = []
    for each in then:
        same = next((one for one in left if not any(unlike(each, one))), None)
        if same is None:
            other.append(each)
        else:
            left.remove(same)
    yield from zip(other, left, strict=False)


def unlike(then: SentRequests, now: SentRequests) -> Iterator[tuple[str, str | None, str | None]]:
    """The fields that hold something else: name, then, now; None where there was no such field.

    What pages make anew each time is passed over: tokens, and times that are those of the requests.
    """

    def alike(one: str, two: str) -> bool:
        if one == two or (_TOKEN.fullmatch(one) and _TOKEN.fullmatch(two)):
            return True
        return _off_a_clock(one, then.time) and _off_a_clock(two, now.time)

    def same(one: Sequence[str] | None, two: Sequence[str] | None) -> bool:
        return one is not None and two is not None and len(one) == len(two) and all(map(alike, one, two))

    for name in [*then.fields, *(name for name in now.fields if name not in then.fields)]:
        one, two = then.fields.get(name), now.fields.get(name)
        if not same(one, two):
            yield name, _together(one), _together(two)


def _together(values: tuple[str, ...] | None) -> str | None:
    return None if values is None else ", ".join(values)


def _off_a_clock(value: str, sent: float) -> bool:
    """Whether it names about the time that it was ``sent`` at: in seconds or milliseconds since 1970, or as a date with
    a time and its zone."""
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
