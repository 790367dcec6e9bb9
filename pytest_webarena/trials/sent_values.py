"""The values that a trial's client chose: what its steps entered, and what its requests that may write contain."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_webarena.changes import Value
from pytest_webarena.checks.bodies import header, read_body
from pytest_webarena.gateway.log_entry import SAFE_METHODS

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence, RequestRecord
    from pytest_webarena.trials.other_values import Table

__all__ = ["SentValues", "is_addressed", "is_alike", "is_same", "sent_by", "sent_values"]

_MINUTES = re.compile(r"[T ]00:00(:00)?(\.0+)?(Z|[+-]00:?00)?\Z")
_FLAGS = {"on": 1, "true": 1, "yes": 1, "off": 0, "false": 0, "no": 0}
_LETTERS = re.compile(r"[^a-z]+")
_INNERMOST = re.compile(r".*\[(?=[^\[\]]+\]\Z)|\]\Z")
"""What surrounds the last name of a field: ``milling`` in ``skills[milling]``."""
_OF_STEPS = ("text", "options", "url", "files")
_CHARACTERISTIC = 2
"""Length from which on a value is no coincidence. A shorter one counts only in a field named like its column."""


class SentValues:
    """The chosen values, with the names of the fields that they had."""

    def __init__(
        self,
        fields: frozenset[tuple[str, str]],
        in_paths: frozenset[tuple[str, str]] = frozenset(),
        entered: frozenset[str] = frozenset(),
        submitted: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        self._submitted = submitted
        self._fields = fields
        self._ticked = frozenset(_INNERMOST.sub("", name) for name, sent in fields if sent == "1" and name)
        """Names of the fields that a ticked box sent: the name says what was chosen."""
        self._in_paths = in_paths
        self._entered = entered

    def has(self, column: str, value: Value) -> bool:
        """Return whether the client chose the value of this column."""
        text = _plain(value)
        names = [name for name, sent in self._fields if sent == text and text]
        if len(text) >= _CHARACTERISTIC and text in self._ticked:
            return True
        return bool(names) and (len(text) >= _CHARACTERISTIC or any(is_alike(column, name) for name in names))

    def is_entered(self, value: Value) -> bool:
        """Return whether a step typed or chose the value."""
        return _plain(value) in self._entered

    def fields_not_in(self, texts: Iterable[str]) -> list[str]:
        """Return the fields of requests whose values a step entered and none of ``texts`` contains."""
        plain = [_plain(text) for text in texts]
        return sorted({
            name for name, sent in self._submitted
            if sent in self._entered and len(sent) >= _CHARACTERISTIC and not any(sent in text for text in plain)
        })  # fmt: skip

    def path_words(self, value: Value) -> frozenset[str]:
        """Return the words before this value in the paths of requests: ``star`` for 9 in ``/star/9``."""
        text = _plain(value)
        return frozenset(word for word, sent in self._in_paths if sent == text and text)


def is_addressed(words: Iterable[str], column: str, table: Table) -> bool:
    """Return whether a path that has the value of ``column`` after one of ``words`` identifies the row, or one that
    it refers to. A word may name a table, whose rows the value then identifies; any other word is an action."""
    refers_to = table.references[column][0] if column in table.references else ""
    if not (refers_to or column in table.key or column.endswith("_id")):
        return False
    if not table.references and len(table.key) > 1 and column in table.key:
        return True  # a row of a link table is identified by what it links, declared or not
    others = [other for other in table.others if other != refers_to]
    return any(
        (refers_to and is_alike(refers_to, word)) or not any(is_alike(o, word) for o in others) for word in words
    )


def sent_values(evidence: Evidence) -> SentValues:
    """Return the values that were entered by the steps or sent by the requests of a trial."""
    fields: set[tuple[str, Value]] = {("", step.value) for step in evidence.steps}
    for step in evidence.steps:
        fields |= set(_leaves("", {key: step.action.get(key) for key in _OF_STEPS}))
    return sent_by(evidence.requests, fields)


def sent_by(requests: Iterable[RequestRecord], fields: Collection[tuple[str, Value]] = ()) -> SentValues:
    """Return the values that were sent by those of the requests that may write, with other ``fields``."""
    entered = frozenset(_plain(value) for _, value in fields)
    found, in_paths = set(fields), set[tuple[str, Value]]()
    submitted = set[tuple[str, Value]]()
    for request in requests:
        if request.method not in SAFE_METHODS and not request.refused:
            in_paths |= set(_segments(request))
            submitted |= set(_parts(request))
    plain, segments = (
        frozenset((name, _plain(value)) for name, value in each) for each in (found | submitted | in_paths, in_paths)
    )
    return SentValues(plain, segments, entered, frozenset((name, _plain(value)) for name, value in submitted))


def _segments(request: RequestRecord) -> Iterator[tuple[str, str]]:
    segments = [unquote(part) for part in urlsplit(request.url).path.split("/")]
    return zip(["", *segments], segments, strict=False)  # a number belongs to the word before it: /tickets/12


def _parts(request: RequestRecord) -> Iterator[tuple[str, Value]]:
    yield from parse_qsl(urlsplit(request.url).query)
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


def is_alike(column: str, name: str) -> bool:
    """Return whether a field's or table's name may mean the column.

    >>> is_alike("ticket_id", "tickets"), is_alike("stars", "review[stars]"), is_alike("user", "forum")
    (True, True, False)
    """
    one, other = (_LETTERS.sub("", each.lower().removesuffix("_id")).rstrip("s") for each in (column, name))
    return bool(one and other) and (one in other or other in one)


def is_same(one: Value, other: Value) -> bool:
    """Return whether two values are equal in the form in which they are compared."""
    return _plain(one) == _plain(other)


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
