"""The kind ``state``: the content of a site's database or API, whatever its pages show."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from pytest_webarena.checks.answer import Wanted
from pytest_webarena.checks.counts import COUNT, Count
from pytest_webarena.checks.json_answer import same_json
from pytest_webarena.checks.jsonpath import PathError, find, parse_path
from pytest_webarena.checks.kind import Judgement, Kind, Live, View, no_answer
from pytest_webarena.checks.text import ANY_TEXT, TEXT_FIELDS, TextMatch, judge_texts, take_text, text_fault
from pytest_webarena.evidence import JsonValue
from pytest_webarena.tasks.addresses import Address, AddressShape, SiteShape
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, ListOf, Record
from pytest_webarena.tasks.setup_form import REQUEST_FIELDS, ApiRequest, make_request, request_fault
from pytest_webarena.tasks.shapes import Choice, Fault, Json, Text
from pytest_webarena.tasks.syntax import QUERY
from pytest_webarena.text import clip

__all__ = ["STATE", "StateSpec"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateSpec:
    """A query or a request, and conditions on its result; all given conditions must hold."""

    site: str
    sql: str = ""
    database: str = ""
    api: ApiRequest | None = None
    at: str = "$"
    equals: Wanted | None = None
    rows: tuple[Any, ...] | None = None
    count: Count | None = None
    match: Literal["any", "all", "together"] = "any"
    text: TextMatch = ANY_TEXT

    @property
    def only_requires_presence(self) -> bool:
        """Whether the check stays met whatever is added to the site."""
        exact = self.equals or self.rows is not None or (self.count and self.count.high is not None)
        return self.text.lasts and not exact and self.match != "all" and not (self.api and self.api.status)

    @property
    def expects_absence(self) -> bool:
        """Whether the check is met where nothing is found: no rows or values, or a number of 0."""
        if self.api and self.api.status:
            return self.api.status in (404, 410)
        found: list[list[Any]] = [[0]] if self.equals and not self.api else []
        return _verdict(self, "", found, ["0"] * len(found)).score == 1

    def __str__(self) -> str:
        parts = [_dumps(self.equals.value)] if self.equals else []
        if self.rows is not None:
            parts.append(f"the rows {_dumps(list(self.rows))}")
        if self.count:
            parts.append(f"{self.count} {'values' if self.api else 'rows'}")
        if self.text:
            parts.append(str(self.text))
        if self.api and self.api.status:
            parts.append(f"status {self.api.status}")
        where = f"{self.api.method} {self.api.path} {self.at}" if self.api else self.sql
        return f"{'; '.join(parts)} from {self.site}: {' '.join(where.split())}"


def _path_fault(path: str, _: Reading) -> Fault | None:
    try:
        parse_path(path)
    except PathError as error:
        return Fault("a JSONPath", f"'{clip(path)}'", str(error))
    return None


_REQUEST = Record("state request", make_request, REQUEST_FIELDS, rule=request_fault, doc="A request to a site's API.")
_PATH = AddressShape()


def _short_request(address: Address, reading: Reading) -> tuple[str, ApiRequest] | Fault:
    if not address.site:
        return Fault("/path or site:/path", f"'{clip(address.path)}'", "requests go to the task's sites")
    return address.site, ApiRequest(path=address.path)


def _build(
    *, site: str, sql: str, api: tuple[str, ApiRequest] | None, equals: Wanted | None, rows: Any, **values: Any
) -> StateSpec:
    return StateSpec(
        text=take_text(values),
        site=api[0] if api else site,
        sql=sql,
        api=api[1] if api else None,
        equals=equals,
        rows=None if rows is None else tuple(rows),
        **values,
    )


def _fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    if fault := text_fault(values, node, reading):
        return fault
    sql, api = values["sql"], values["api"]
    if bool(sql) == bool(api):
        return Fault("'sql' or 'api'", "both" if sql else "neither", "what is asked for the state")
    text = TextMatch(**{field.key: values[field.key] for field in TEXT_FIELDS})
    asked = values["equals"] or values["rows"] is not None or values["count"] or text or (api and api[1].status)
    if not asked:
        return Fault("a condition on the result", "none", "e.g. equals, includes, count")
    if sql and values["at"] != "$":
        return Fault("'at' with 'api'", "it with 'sql'", "let the query select the value")
    for key in ("database", "rows", "site"):
        if api and values[key]:
            hint = "write 'api: site:/path'" if key == "site" else "use equals"
            return Fault(f"'{key}' with 'sql'", "it with 'api'", hint)
    if sql and not values["site"]:
        if reading.sites == ():
            return Fault("a site in 'sites'", "none", "without a site there is no state")
        values["site"] = (reading.sites or ("",))[0]
    if sql and (wrong := reading.wrong_database(values["site"], values["database"])):
        return Fault(*wrong)
    return None


FORM: Record[StateSpec] = Record(
    "state check",
    _build,
    [
        Field(
            key="sql",
            shape=QUERY,
            default="",
            default_text="none",
            doc="One read-only SQL query, run in the app's database.",
            example="- state: {sql: \"select count(*) from notes where title = 'Tea'\", equals: 1}",
        ),
        Field(
            key="site",
            shape=SiteShape(),
            default="",
            default_text="the first one",
            doc="The site whose database is queried.",
            example="- state: {site: homepage, sql: select count(*) from notes, equals: 1}",
        ),
        Field(
            key="database",
            shape=Text("the name of a database", form="word"),
            default="",
            default_text="the app's main one",
            doc="The database of the app.",
            example="- state: {database: scratchpad, sql: select count(*) from notes, equals: 1}",
        ),
        Field(
            key="api",
            shape=Either("a path, or a mapping with 'path'", scalar=Convert(_PATH, _short_request), mapping=_REQUEST),
            default=None,
            default_text="none",
            doc=(
                "A request with the session's cookies: `/path`, `site:/path`, or a mapping with the [keys of "
                "a request](#keys-of-a-request). Status 408, 425, 429, or 500 and above is undecided. If "
                "the response is not JSON, conditions on parts and values fail; absence and `not` are "
                "undecided. Other statuses from 400, redirects and sign-in pages meet only `status`. They "
                "also fail under `not`, except 404 and 410."
            ),
            example="- state: {api: /api/notes, at: '$.notes[*].title', includes: Tea}",
        ),
        Field(
            key="at",
            shape=Text("a JSONPath", strip=True, check=_path_fault),
            default="$",
            doc=(
                "The part of the JSON response: `$.name`, `$['odd name']`, `[0]`, `[-1]`, `[*]`, `.*`, and "
                "`[?(@.field == 'value')]` with `==`, `!=`, `<`, `<=`, `>`, `>=`."
            ),
            example='- state: {api: /api/notes, at: "$.notes[?(@.pinned == true)].title", equals: Tea}',
        ),
        Field(
            key="equals",
            shape=Convert(Json("a value"), lambda value, _: Wanted(value)),
            default=None,
            default_text="none",
            doc=(
                "The result is this one value, or, for a query with several columns, this one row as a list. "
                "Numbers compare by value, also if the database returns text (`1000.0`, `1e3`, not `1_000`). "
                "Texts must be equal character for character. `true` and `false` also match 1 and 0, and "
                "PostgreSQL's `t` and `f`."
            ),
            example='- state: {sql: "select title, stars from reviews where id = 7", equals: [Quiet enough, 4]}',
        ),
        Field(
            key="rows",
            shape=ListOf(Json("a row"), label="a list of rows"),
            default=None,
            default_text="none",
            doc=(
                "The query returns these rows in this order (use `order by`). A row of one column may be written "
                "as its value."
            ),
            example="- state: {sql: select title from notes order by id, rows: [Tea, Coffee]}",
        ),
        Field(
            key="count",
            shape=COUNT,
            default=None,
            default_text="not counted",
            doc="How many rows or JSONPath matches there are.",
            example="- state: {sql: select * from notes, count: 3}",
        ),
        Field(
            key="match",
            shape=Choice("any", "all", "together"),
            default="any",
            doc=(
                "Which of several rows or values must meet the conditions on text: `any` one, `all`, or "
                "their joined text (`together`)."
            ),
            example="- state: {sql: select title from notes, match: all, includes: Tea}",
        ),
        *TEXT_FIELDS,
    ],
    rule=_fault,
    doc="Give `sql` or `api`, and conditions on the result. All must hold.",
)


def collect(spec: StateSpec, live: Live) -> JsonValue:
    """Run the query or send the request."""
    if spec.api is None:
        result = live.query(spec.site, spec.sql, database=spec.database)
        return {"columns": list(result.columns), "rows": [list(row) for row in result.rows]}
    api = spec.api
    status, body = live.fetch(spec.site, api.path, method=api.method, headers=api.headers, body=api.body)
    return {"status": status, "body": body}


def judge(spec: StateSpec, view: View) -> Judgement:
    """Judge what was collected."""
    expected = str(spec)
    if view.probe is None:
        return Judgement.unknown(expected=expected, why="the state was not read")
    if view.probe.error:
        return Judgement.unknown(expected=expected, why=view.probe.error)
    value: Any = view.probe.value
    if spec.api is None:
        rows: list[list[Any]] = value["rows"]
        return _verdict(spec, expected, rows, [" ".join(map(_text, row)) for row in rows])
    judgement = _judge_response(spec, spec.api, expected, view, value["status"], value["body"])
    demands = spec.equals or spec.text.positive or (spec.count and not spec.count.holds(0)) or spec.api.status
    if (why := value.get("signed_out")) and not (judgement.score and demands):  # in records before version 15
        return Judgement.unknown(expected=expected, actual="a sign-in page", why=why, cause="agent")
    return judgement


def _judge_response(spec: StateSpec, api: ApiRequest, expected: str, view: View, status: int, body: str) -> Judgement:
    actual = f"status {status}"
    cause = no_answer(status)
    if api.status is None and cause == "site":
        return Judgement.unknown(expected=expected, why=f"the site failed with status {status}", cause="site")
    if status != api.status if api.status else status >= 400:
        judgement = Judgement.of(False, expected=expected, actual=actual, why=f"it answered {clip(body, 60)}")
        return replace(judgement, contrary=view.contrary(status))
    if not api.status and status >= 300:
        if view.ends_session:
            return Judgement.of(False, expected=expected, actual=actual, why="it sends visitors elsewhere")
        why = "it sends visitors elsewhere, as sites do with those who are not signed in; its content is not known"
        return Judgement.unknown(expected=expected, actual=actual, why=why, cause="agent")
    if not (spec.equals or spec.count or spec.text):
        return Judgement.of(True, expected=expected, actual=actual)
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        if spec.at == "$" and spec.text and not (spec.equals or spec.count):
            return _verdict(spec, expected, [body], [body])
        return _judge_unreadable(spec, api, expected, body)
    found = find(spec.at, document)
    return _verdict(spec, expected, found, [_text(each) for each in found])


def _judge_unreadable(spec: StateSpec, api: ApiRequest, expected: str, body: str) -> Judgement:
    """Judge a response that is not JSON: it contains nothing that a condition requires, and proves nothing missing.

    A positive condition is not met rather than undecided, because an agent can cause such a response.
    """
    why = f"expected JSON from {spec.site}:{api.path}, found {clip(body, 60) or 'an empty response'}"
    actual = "a response that is not JSON"
    judgement = _verdict(spec, expected, [], [])
    if judgement.score != 0:
        return Judgement.unknown(expected=expected, actual=actual, why=why)
    return replace(judgement, actual=actual, why=why, contrary="task")


def _verdict(spec: StateSpec, expected: str, found: Sequence[Any], texts: list[str]) -> Judgement:
    """Judge the rows (lists of cells) or JSON values that were found."""
    bare = [row[0] if len(row) == 1 else row for row in found] if spec.api is None else list(found)
    same = same_stored if spec.api is None else same_value
    actual = _dumps(bare[0] if len(bare) == 1 else bare) if bare else "nothing"
    if spec.count and not spec.count.holds(len(found)):
        return Judgement.of(False, expected=expected, actual=f"{len(found)}: {actual}", why="another number of them")
    if spec.equals:
        if len(bare) != 1:
            why = f"{len(bare) or 'no'} {'value' if spec.api else 'row'}{'' if len(bare) == 1 else 's'}; one is wanted"
            return Judgement.of(False, expected=expected, actual=actual, why=why)
        if not same(bare[0], spec.equals.value):
            return Judgement.of(False, expected=expected, actual=actual, why="the values differ")
    if spec.rows is not None:
        wanted = [row if isinstance(row, list) else [row] for row in spec.rows]
        if len(wanted) != len(found) or not all(same(list(a), w) for a, w in zip(found, wanted, strict=True)):
            return Judgement.of(False, expected=expected, actual=_dumps(bare), why="the rows differ")
    if spec.text:
        finding = judge_texts(spec.text, texts, spec.match)
        if not finding.holds:
            return Judgement.of(False, expected=expected, actual=actual, why=finding.why)
    return Judgement.of(True, expected=expected, actual=actual)


_BOOLEANS = {"t": True, "1": True, "f": False, "0": False}
"""Boolean values as printed by database clients: PostgreSQL's, and those of others, which only have numbers."""


def same_stored(actual: Any, wanted: Any) -> bool:
    """Like `same_value`, for the result of an SQL query, where booleans may be texts.

    >>> same_stored("t", True), same_stored(["f", "Tea"], [False, "Tea"]), same_stored("t", "t"), same_stored("x", True)
    (True, True, True, False)
    """
    if isinstance(actual, list) and isinstance(wanted, list):
        return len(actual) == len(wanted) and all(same_stored(a, w) for a, w in zip(actual, wanted, strict=True))
    if isinstance(actual, str) and isinstance(wanted, bool):
        return _BOOLEANS.get(actual) is wanted
    return same_value(actual, wanted)


_PLAIN_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def same_value(actual: Any, wanted: Any) -> bool:
    """Whether a stored value equals the wanted one: lenient between numbers and their texts, strict between texts.

    >>> same_value("84.970", 84.97), same_value(1, True), same_value("Tea", "tea"), same_value(4, "4")
    (True, True, False, True)
    """
    if isinstance(actual, list) and isinstance(wanted, list):
        return len(actual) == len(wanted) and all(same_value(a, w) for a, w in zip(actual, wanted, strict=True))
    if isinstance(actual, str) and isinstance(wanted, str):
        return actual == wanted
    if isinstance(wanted, bool) and isinstance(actual, int):
        return actual == int(wanted)
    numbers = [_as_number(value) for value in (actual, wanted)]
    if numbers[0] is not None and numbers[1] is not None:
        return numbers[0] == numbers[1]
    if isinstance(actual, dict) and isinstance(wanted, dict):
        return actual.keys() == wanted.keys() and all(same_value(actual[key], wanted[key]) for key in wanted)
    return same_json(actual, wanted)


def _as_number(value: Any) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = value.strip(" \t\r\n") if isinstance(value, str) else repr(value)
    if isinstance(value, str) and _PLAIN_NUMBER.fullmatch(text) is None:  # Decimal also takes 1_000 and other digits
        return None
    try:
        number = Decimal(text) if len(text) < 100 else None
    except InvalidOperation:
        return None
    return number if number is not None and number.is_finite() else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _dumps(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False), 200)


STATE: Kind[StateSpec] = Kind(
    name="state",
    doc="Checks a site's data in its database (`sql`) or API (`api`), whatever its pages show.",
    form=FORM,
    judge=judge,
    collect=collect,
    stateful=True,
    sends_requests=lambda spec: spec.api is not None,
    presence=lambda spec: spec.only_requires_presence,
    absence=lambda spec: spec.expects_absence,
    category=lambda spec: "content",
    looks_at=lambda spec: {"data"},
    examples=(
        "- state: {sql: select count(*) from notes, equals: 1}",
        "- state: {api: /api/notes, at: '$.notes[0].title', equals: Tea}",
    ),
)
