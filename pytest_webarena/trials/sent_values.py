"""The values that a trial's client chose: what its steps entered, and what its requests that may write contain."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_webarena.changes import Value
from pytest_webarena.checks.bodies import header, read_body
from pytest_webarena.gateway.log_entry import SAFE_METHODS

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence, RequestRecord

__all__ = ["SentValues", "sent_by", "sent_values"]

_MINUTES = re.compile(r"[T ]00:00(:00)?(\.0+)?(Z|[+-]00:?00)?\Z")
_FLAGS = {"on": 1, "true": 1, "yes": 1, "off": 0, "false": 0, "no": 0}
_LETTERS = re.compile(r"[^a-z]+")
_OF_STEPS = ("text", "options", "url", "files")
_CHARACTERISTIC = 2
"""Length from which on a value is no coincidence. A shorter one counts only in a field named like its column."""


class SentValues:
    """The chosen values, with the names of the fields that they had."""

    def __init__(self, fields: frozenset[tuple[str, str]]) -> None:
        self._fields = fields

    def has(self, column: str, value: Value) -> bool:
        """Return whether the client chose the value of this column."""
        text = _plain(value)
        names = [name for name, sent in self._fields if sent == text and text]
        return bool(names) and (len(text) >= _CHARACTERISTIC or any(_alike(column, name) for name in names))


def sent_values(evidence: Evidence) -> SentValues:
    """Return the values that were entered by the steps or sent by the requests of a trial."""
    fields: set[tuple[str, Value]] = {("", step.value) for step in evidence.steps}
    for step in evidence.steps:
        fields |= set(_leaves("", {key: step.action.get(key) for key in _OF_STEPS}))
    return sent_by(evidence.requests, fields)


def sent_by(requests: Iterable[RequestRecord], fields: Iterable[tuple[str, Value]] = ()) -> SentValues:
    """Return the values that were sent by those of the requests that may write, with other ``fields``."""
    found = set(fields)
    for request in requests:
        if request.method not in SAFE_METHODS and not request.refused:
            found |= set(_parts(request))
    return SentValues(frozenset((name, _plain(value)) for name, value in found))


def _parts(request: RequestRecord) -> Iterator[tuple[str, Value]]:
    address = urlsplit(request.url)
    segments = [unquote(part) for part in address.path.split("/")]
    yield from zip(["", *segments], segments, strict=False)  # a number belongs to the word before it: /tickets/12
    yield from parse_qsl(address.query)
    text, _ = read_body(request)
    if "json" in header(request, "content-type"):
        try:
            yield from _leaves("", json.loads(text))
        except ValueError:
            return
    elif "form" in header(request, "content-type"):
        for line in text.splitlines():
            name, _, value = line.partition("=")
            yield name, value.replace("\\n", "\n").replace("\\r", "")


def _leaves(name: str, data: Any) -> Iterator[tuple[str, Value]]:
    if isinstance(data, dict):
        for key, each in data.items():
            yield from _leaves(str(key), each)
    elif isinstance(data, list | tuple):
        for each in data:
            yield from _leaves(name, each)
    else:
        yield name, data


def _alike(column: str, name: str) -> bool:
    """Whether a field's name may mean the column.

    >>> _alike("ticket_id", "tickets"), _alike("stars", "review[stars]"), _alike("user", "forum")
    (True, True, False)
    """
    one, other = (_LETTERS.sub("", each.lower().removesuffix("_id")).rstrip("s") for each in (column, name))
    return bool(one and other) and (one in other or other in one)


def _plain(value: Value) -> str:
    """A value in the form in which stored and sent values are compared.

    >>> _plain("5"), _plain(5.0), _plain(True), _plain("on"), _plain("2026-07-09 00:00:00")
    ('5', '5', '1', '1', '2026-07-09')
    """
    text = "" if value is None else str(int(value)) if isinstance(value, bool) else str(value)
    text = _MINUTES.sub("", text.replace("\r\n", "\n").strip())
    if text.casefold() in _FLAGS:
        return str(_FLAGS[text.casefold()])
    try:
        number = float(text)
    except ValueError:
        return text
    whole = number.is_integer() and abs(number) < 1e15 and not (text.startswith("0") and len(text) > 1)
    return str(int(number)) if whole else text
