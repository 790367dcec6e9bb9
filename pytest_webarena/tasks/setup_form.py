"""The form of a task's ``setup``: SQL, requests and browser steps that run before the episode."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.actions import Action
from pytest_webarena.tasks.addresses import Address, AddressShape, SiteShape
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading, shown
from pytest_webarena.tasks.model import SetupStep
from pytest_webarena.tasks.nodes import ListNode, MapNode, Node, near
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, MapOf, Record, field_schema
from pytest_webarena.tasks.shapes import Choice, Fault, Int, Json, Schema, Schemas, Shape, Text
from pytest_webarena.tasks.steps import BROWSER_STEPS
from pytest_webarena.tasks.syntax import STATEMENT
from pytest_webarena.text import clip

__all__ = [
    "METHODS",
    "REQUEST_FIELDS",
    "SETUP",
    "SETUP_KINDS",
    "ApiRequest",
    "BrowserSetup",
    "SqlSetup",
    "request_fault",
]

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlSetup:
    """One SQL statement in a database of the site's app."""

    sql: str
    database: str = ""
    """Name of the database; empty: the app's only or main one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiRequest:
    """One request to a site, with the status it must answer (None: anything below 400)."""

    method: str = "GET"
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    status: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BrowserSetup:
    """Steps in a throw-away tab, logged in as the task's user (or as ``user``)."""

    steps: tuple[Action, ...]
    user: str | None = None


def _database() -> Field:
    return Field(
        key="database",
        shape=Text("the name of a database", form="word"),
        default="",
        default_text="the app's main one",
        doc="The database of the app.",
        example="- sql: {sql: delete from notes, database: scratchpad}",
    )


REQUEST_FIELDS = (
    Field(
        key="method",
        shape=Choice(*METHODS),
        default="GET",
        doc="The HTTP method.",
        example="- api: {method: DELETE, path: /api/notes/3}",
    ),
    Field(
        key="path",
        shape=Convert(
            AddressShape(),
            lambda address, _: (
                address
                if address.site
                else Fault("/path or site:/path", f"'{clip(address.path)}'", "requests go to the task's sites")
            ),
        ),
        doc="The address: `/path` on the task's first site, or `site:/path`.",
        example="- api: {path: /api/notes/3}",
        attribute="address",
    ),
    Field(
        key="headers",
        shape=MapOf(Text(blank=True), "a mapping from header names to values", key=Text("a header name")),
        default={},
        default_text="none",
        doc="Further request headers.",
        example="- api: {path: /api/notes, headers: {Authorization: Bearer abc}}",
    ),
    Field(
        key="body",
        shape=Text("a body as text", blank=True),
        default=None,
        default_text="none",
        doc="The request's body, sent as it is.",
        example='- api: {method: POST, path: /api/notes, headers: {Content-Type: text/csv}, body: "title\\nTea"}',
    ),
    Field(
        key="json",
        shape=Json(),
        default=None,
        default_text="none",
        doc="The request's body as data, sent as JSON with its content type.",
        example="- api: {method: POST, path: /api/notes, json: {title: Tea}}",
    ),
    Field(
        key="status",
        shape=Int("an HTTP status", low=100, high=599),
        default=None,
        default_text="below 400",
        doc="The status that the response must have.",
        example="- api: {method: POST, path: /api/notes, json: {title: Tea}, status: 201}",
    ),
)
"""Keys of a request; checks of state have them, too."""


def request_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    """Returns a fault if a request has both ``body`` and ``json``."""
    if values["body"] is not None and values["json"] is not None:
        return Fault("'body' or 'json'", "both")
    return None


def make_request(
    *, method: str, address: Address, headers: Mapping[str, str], body: str | None, json: Any, status: int | None
) -> tuple[str, ApiRequest]:
    """Returns the site, and the request to it."""
    sent = dict(headers)
    if json is not None:
        body = _dumps(json)
        sent.setdefault("Content-Type", "application/json")
    return address.site, ApiRequest(method=method, path=address.path, headers=sent, body=body, status=status)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _site_field(example: str) -> Field:
    return Field(
        key="site",
        shape=SiteShape(),
        default="",
        default_text="the first one",
        doc="The site of the task.",
        example=example,
    )


class _Sited(Shape[SetupStep]):
    """A set-up step; its default site is the task's first one, and its addresses are on its site."""

    def __init__(self, inner: Shape[SetupStep]) -> None:
        self.inner = inner
        self.label = inner.label

    def read(self, node: Node, reading: Reading) -> SetupStep | Invalid:
        sites = reading.sites
        if sites == ():
            return reading.problem(node, "no set-up, as this task's 'sites' is empty", shown(node))
        if sites and isinstance(node, MapNode) and (entry := reading.entries(node).get("site")):
            site = SiteShape().read(entry[1], reading)
            if not isinstance(site, Invalid):
                reading.sites = (site, *(other for other in sites if other != site))
        try:
            return self.inner.read(node, reading)
        finally:
            reading.sites = sites

    def parts(self) -> tuple[Shape[Any], ...]:
        return (self.inner,)

    def json_schema(self, schemas: Schemas) -> Schema:
        return self.inner.json_schema(schemas)


def _first(site: str, reading: Reading) -> str:
    return site or (reading.sites or ("",))[0]


def _sql(pair: tuple[str, SqlSetup], reading: Reading) -> SetupStep | Fault:
    site = _first(pair[0], reading)
    wrong = reading.wrong_database(site, pair[1].database)
    return Fault(*wrong) if wrong else SetupStep(kind="sql", site=site, spec=pair[1])


def _browser(pair: tuple[str, BrowserSetup], reading: Reading) -> SetupStep:
    return SetupStep(kind="browser", site=_first(pair[0], reading), spec=pair[1])


def _bare_steps(steps: tuple[Action, ...], reading: Reading) -> SetupStep:
    return _browser(("", BrowserSetup(steps=steps)), reading)


_SQL_RECORD = Record(
    "SQL step",
    lambda sql, database, site: (site, SqlSetup(sql=sql, database=database)),
    [
        Field(
            key="sql",
            shape=STATEMENT,
            doc="The statement. It may change data.",
            example="- sql: {sql: delete from notes}",
        ),
        _site_field("- sql: {site: homepage, sql: delete from notes}"),
        _database(),
    ],
    doc="An SQL step as a mapping.",
    owner="an SQL step",
)


def _account_fault(user: str, reading: Reading) -> Fault | None:
    accounts = reading.accounts(*(reading.sites or ())) if user else None
    if accounts is None or reading.sites is None or user in accounts:
        return None
    return Fault(f"an account of {', '.join(reading.sites)}", f"'{clip(user)}'", near(user, accounts))


_BROWSER_RECORD = Record(
    "browser step",
    lambda steps, user, site: (site, BrowserSetup(steps=steps, user=user)),
    [
        Field(
            key="steps",
            shape=BROWSER_STEPS,
            doc="The [steps](#steps).",
            example="- browser: {steps: [{goto: /notes/}]}",
        ),
        _site_field("- browser: {site: homepage, steps: [{goto: /notes/}]}"),
        Field(
            key="user",
            shape=Text("an account name", blank=True, check=_account_fault, form="word"),
            default=None,
            default_text="the task's user",
            doc="The account that is signed in; `''` means signed out.",
            example="- browser: {user: '', steps: [{goto: /notes/}]}",
        ),
    ],
    doc="A browser step as a mapping.",
)
_API_RECORD = Record("request", make_request, REQUEST_FIELDS, doc="A request to a site.", rule=request_fault)

SETUP_KINDS = (
    Field(
        key="sql",
        shape=_Sited(
            Either(
                "an SQL statement, or a mapping with 'sql'",
                scalar=Convert(STATEMENT, lambda sql, reading: _sql(("", SqlSetup(sql=sql)), reading)),
                mapping=Convert(_SQL_RECORD, _sql),
            )
        ),
        doc="Runs one SQL statement in the app's database.",
        example="- sql: insert into notes (title) values ('Tea')",
    ),
    Field(
        key="api",
        shape=_Sited(
            Convert(_API_RECORD, lambda pair, _: SetupStep(kind="api", site=pair[0], spec=pair[1])),
        ),
        doc="Sends one request to a site.",
        example="- api: {method: POST, path: /api/notes, json: {title: Tea}}",
    ),
    Field(
        key="browser",
        shape=_Sited(
            Either(
                "a list of steps, or a mapping with 'steps'",
                sequence=Convert(BROWSER_STEPS, _bare_steps),
                mapping=Convert(_BROWSER_RECORD, _browser),
            )
        ),
        doc="Runs [steps](#steps) in a browser.",
        example="- browser:\n    - goto: /notes/\n    - fill: {css=#title: Tea}\n    - click: text=Save",
    ),
)
"""Kinds of set-up steps."""

_BY_KEY = {field.key: field for field in SETUP_KINDS}


class _SetupList(Shape[tuple[SetupStep, ...]]):
    label = "a list of set-up steps"

    def read(self, node: Node, reading: Reading) -> tuple[SetupStep, ...] | Invalid:
        if not isinstance(node, ListNode):
            return self.mismatch(node, reading, "start each item with '- '" if isinstance(node, MapNode) else "")
        steps = [self._step(item, reading) for item in node.items]
        return INVALID if any(step is INVALID for step in steps) else tuple(steps)  # type: ignore[arg-type]

    def _step(self, node: Node, reading: Reading) -> SetupStep | Invalid:
        entries = reading.entries(node) if isinstance(node, MapNode) else {}
        if len(entries) != 1:
            return reading.problem(node, f"a set-up step: {', '.join(_BY_KEY)}", shown(node))
        ((name, (key, value)),) = entries.items()
        if name not in _BY_KEY:
            return reading.problem(key, "a set-up step", f"'{clip(name)}'", near(name, _BY_KEY))
        read: SetupStep | Invalid = _BY_KEY[name].shape.read(value, reading)
        return read

    def json_schema(self, schemas: Schemas) -> Schema:
        def make() -> Schema:
            return {
                "type": "object",
                "minProperties": 1,
                "maxProperties": 1,
                "additionalProperties": False,
                "properties": {field.key: field_schema(field, schemas) for field in SETUP_KINDS},
            }

        return {"type": "array", "items": schemas.named("set-up step", make)}


SETUP: Shape[tuple[SetupStep, ...]] = _SetupList()
"""The list under ``setup``."""
