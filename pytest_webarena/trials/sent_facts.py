"""Facts that only the evidence has: parameters of recorded requests, and parts of the answer."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from pytest_webarena.changes import Value
from pytest_webarena.checks.bodies import header
from pytest_webarena.checks.judging import leaves
from pytest_webarena.gateway.log_entry import SAFE_METHODS
from pytest_webarena.trials.other_values import near_misses
from pytest_webarena.trials.row_places import Unable
from pytest_webarena.trials.written_facts import Fact, Tried, Untried

if TYPE_CHECKING:
    from pytest_webarena.evidence import Evidence, RequestRecord
    from pytest_webarena.tasks.model import Check

__all__ = ["answer_facts", "changed_leaves", "known_texts", "request_facts"]

_Passes = Callable[["Evidence"], bool | None]
_NUMBER = re.compile(r"\d{4}-\d\d-\d\d|\d+")


def answer_facts(evidence: Evidence, passes: _Passes) -> Iterator[Fact]:
    """Yield each value of a structured answer; a text is one part, of which any other number must fail."""
    answer = evidence.answer or ""
    data = _parsed(answer)
    if isinstance(data, dict | list):
        parts = {path: [json.dumps(other) for other in others] for path, _, others in changed_leaves(data)}
        was = {path: value for path, value, _ in changed_leaves(data)}
    else:
        parts, was = {"": list(_other_texts(answer))} if answer.strip() else {}, {"": answer}
    for path, others in parts.items():
        attempt = partial(
            _tried, "answer", path, "answer part", was[path], [replace(evidence, answer=other) for other in others],
            passes, becomes=others if not path else (),
        )  # fmt: skip
        yield Fact(what=_named("answer", path), unit="answer part", chosen=True, group="answer", attempt=attempt)


def request_facts(
    evidence: Evidence, passes: _Passes, is_chosen: Callable[[str, Value], bool], is_written: Callable[[Value], bool]
) -> Iterator[Fact | Untried]:
    """Yield the parameters that the client chose in requests that may write, unless a database has them, too. Equal
    requests are changed together."""
    found: dict[tuple[str, str], dict[int, Mapping[str, tuple[Value, Sequence[RequestRecord]]]]] = {}
    for index, request in enumerate(evidence.requests):
        if request.method in SAFE_METHODS or request.refused:
            continue
        name = f"{request.method} {urlsplit(request.url)._replace(query='', fragment='').geturl()}"
        if why := _unreadable(request):
            yield Untried(what=name, why=why, unit="request parameter")
        parameters = {path: (value, others) for path, value, others in _parameters(request)}
        for path, (value, _) in parameters.items():
            if is_chosen(path.rpartition(".")[2], value) and not is_written(value):
                found.setdefault((name, path), {})[index] = parameters
    for (name, path), requests in found.items():
        value = next(iter(requests.values()))[path][0]
        attempts = []
        for number in range(min(len(each[path][1]) for each in requests.values())):
            changed = list(evidence.requests)
            for index, each in requests.items():
                changed[index] = each[path][1][number]
            attempts.append(replace(evidence, requests=tuple(changed)))
        kept = tuple(each for index, each in enumerate(evidence.requests) if index not in requests)
        tried = partial(_tried, name, path, "request parameter", value, attempts, passes)
        attempt = partial(_if_read, replace(evidence, requests=kept), passes, tried)
        yield Fact(what=_named(name, path), unit="request parameter", chosen=True, group=(name, path), attempt=attempt)


def _if_read(without: Evidence, passes: _Passes, tried: Callable[[], Tried]) -> Tried:
    """Try a parameter of requests that the verdict depends on. Others, such as those of a sign-in, prove nothing."""
    if passes(without) is not False:
        raise Unable("no check reads the request")
    return tried()


def known_texts(checks: Sequence[Check], evidence: Evidence) -> Iterator[str]:
    """Yield what the databases, the answer and the checks have."""
    yield from (evidence.answer or "", *(str(each.spec) for each, _ in leaves(checks)))
    for row in (row for app in evidence.changes or () for table in app.tables for row in table.rows):
        yield from map(str, (*row.key.values(), *row.row.values(), *row.now.values()))


def changed_leaves(data: Any) -> Iterator[tuple[str, Value, list[Any]]]:
    """Yield path, value, and the whole document with other values, for each value of a document.

    >>> list(changed_leaves({"a": [7], "b": None}))
    [('a.0', 7, [{'a': [8], 'b': None}])]
    """

    def walk(part: Any, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Value]]:
        if isinstance(part, dict | list):
            for key, each in part.items() if isinstance(part, dict) else enumerate(part):
                yield from walk(each, (*path, key))
        elif part not in (None, ""):
            yield path, part

    for path, value in walk(data, ()):
        yield ".".join(map(str, path)), value, [_with(data, path, other) for other in near_misses(value)]


def _with(part: Any, path: tuple[Any, ...], value: Value) -> Any:
    if not path:
        return value
    copy = part.copy()
    copy[path[0]] = _with(part[path[0]], path[1:], value)
    return copy


def _other_texts(answer: str) -> Iterator[str]:
    """Yield the answer with one other number each; without numbers, with other letters."""
    numbers = list(_NUMBER.finditer(answer))
    for found in numbers:
        other = next(near_misses(found[0]))
        yield f"{answer[: found.start()]}{other}{answer[found.end() :]}"
    if not numbers:
        yield str(list(near_misses(answer))[-1])


def _tried(
    table: str, column: str, unit: Any, was: Value, changed: Sequence[Evidence], passes: _Passes,
    becomes: Sequence[str] = (),
) -> Tried:  # fmt: skip
    """Judge with other values until one is caught: an addition to a text may be allowed."""
    caught: bool | None = False
    for each in changed:
        passed = passes(each)
        caught = None if passed is None else not passed
        if caught:
            break
    became = becomes[0] if becomes else str(next(near_misses(was), ""))
    return Tried(table=table, column=column, unit=unit, was=str(was), became=became, caught=caught, sent=True)


def _parameters(request: RequestRecord) -> Iterator[tuple[str, Value, list[RequestRecord]]]:
    """Yield name, value, and the request with other values."""
    address = urlsplit(request.url)
    for name, value, queries in _form(address.query):
        yield name, value, [replace(request, url=urlunsplit(address._replace(query=query))) for query in queries]
    body, kind = request.request_body or "", header(request, "content-type")
    if _unreadable(request):
        return
    if "json" in kind:
        for name, leaf, others in changed_leaves(_parsed(body)):
            yield name, leaf, [_with_body(request, json.dumps(other)) for other in others]
    elif "urlencoded" in kind:
        for name, value, bodies in _form(body):
            yield name, value, [_with_body(request, other) for other in bodies]


def _form(query: str) -> Iterator[tuple[str, str, list[str]]]:
    pairs = parse_qsl(query, keep_blank_values=True)
    for index, (name, value) in enumerate(pairs):
        others = [[*pairs[:index], (name, str(other)), *pairs[index + 1 :]] for other in near_misses(value)]
        yield name, value, [urlencode(other) for other in others]


def _with_body(request: RequestRecord, body: str) -> RequestRecord:
    return replace(request, request_body=body).renamed(request)


def _unreadable(request: RequestRecord) -> str:
    """Return why the parameters in a request's body can't be changed; empty if they can, or there are none."""
    body, kind = request.request_body or "", header(request, "content-type")
    if not body:
        return ""
    if request.body_cut or body.startswith("base64:") or header(request, "content-encoding"):
        return "its body is cut, compressed or binary"
    if "json" in kind:
        return "" if isinstance(_parsed(body), dict | list) else "its body is no JSON document"
    return "" if "urlencoded" in kind else f"bodies of the type {kind.partition(';')[0] or '(none)'} are not changed"


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _named(name: str, path: str) -> str:
    return f"{name}.{path}" if path else name
