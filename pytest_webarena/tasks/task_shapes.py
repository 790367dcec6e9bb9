"""Shapes that only tasks have: ids, sites, accounts, fillings, limits, lists of checks by grading."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pytest_webarena.tasks.addresses import SITE_NAME, SiteShape, known_site_fault
from pytest_webarena.tasks.check_form import CheckList
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading, shown
from pytest_webarena.tasks.model import Check, Limits
from pytest_webarena.tasks.nodes import MapNode, Node, near
from pytest_webarena.tasks.record_shapes import Either, Field, ListOf, MapOf, Record
from pytest_webarena.tasks.shapes import Fault, Int, Json, Number, Schema, Schemas, Shape, Text
from pytest_webarena.text import clip

__all__ = ["GRADING_LISTS", "ID", "LIMITS", "Accounts", "Fillings", "SiteNames", "reason_fault"]

_ID = re.compile(r"[A-Za-z0-9._-]+")


def _id_fault(text: str, _: Reading) -> Fault | None:
    if len(text) > 200:
        return Fault("an id of at most 200 characters", f"{len(text)} characters")
    if _ID.fullmatch(text) and text.strip("."):
        return None
    return Fault("an id of letters, digits, '.', '_' and '-'", f"'{clip(text)}'")


ID = Text("an id", check=_id_fault, pattern=f"^{_ID.pattern}$")
"""The id of a task or a filling."""


class SiteNames(Shape[tuple[str, ...]]):
    """The task's sites. Sets them in the `Reading`, so that addresses and site names in the task can be checked."""

    label = "a site name or a list of site names"
    pure = False

    def __init__(self) -> None:
        self.names = ListOf(Text("a site name", check=self._fault, pattern=f"^{SITE_NAME.pattern}$"), or_one=True)

    @staticmethod
    def _fault(name: str, reading: Reading) -> Fault | None:
        if not SITE_NAME.fullmatch(name):
            return Fault("a site name", f"'{clip(name)}'")
        return known_site_fault(name, reading)

    def read(self, node: Node, reading: Reading) -> tuple[str, ...] | Invalid:
        names = self.names.read(node, reading)
        if isinstance(names, Invalid):
            return INVALID
        twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if twice is not None:
            return reading.problem(node, "each site once", f"'{twice}' again")
        reading.sites = names
        return names

    def json_schema(self, schemas: Schemas) -> Schema:
        return self.names.json_schema(schemas)


class Accounts(Shape[Mapping[str, str]]):
    """Accounts by site; a single name is an account of the first site. With ``anywhere``, they may be accounts of sites
    that the task doesn't list, and none is empty."""

    label = "an account name, or a mapping from sites to accounts"

    def __init__(self, *, anywhere: bool = False) -> None:
        account = Text("an account name", blank=not anywhere, form="word")
        site = (
            Text("a site name", check=known_site_fault, pattern=f"^{SITE_NAME.pattern}$") if anywhere else SiteShape()
        )
        self.either: Shape[Any] = Either(
            self.label, scalar=account, mapping=MapOf(account, "a mapping from sites to accounts", key=site)
        )

    def read(self, node: Node, reading: Reading) -> Mapping[str, str] | Invalid:
        value = self.either.read(node, reading)
        if isinstance(value, Invalid):
            return INVALID
        if not isinstance(value, str):
            entries = reading.entries(node) if isinstance(node, MapNode) else {}
            known = [self._known(entries[site][1] if entries else node, site, value[site], reading) for site in value]
            return dict(value) if all(known) else INVALID
        if not reading.sites:
            return INVALID if reading.sites is None else reading.problem(node, "no user without sites", shown(node))
        return {reading.sites[0]: value} if self._known(node, reading.sites[0], value, reading) else INVALID

    @staticmethod
    def _known(node: Node, site: str, user: str, reading: Reading) -> bool:
        accounts = reading.accounts(site)
        if not user or accounts is None or user in accounts:
            return True
        reading.problem(node, f"an account of {site}", f"'{clip(user)}'", near(user, accounts))
        return False

    def json_schema(self, schemas: Schemas) -> Schema:
        return self.either.json_schema(schemas)


def reason_fault(text: str, _: Reading) -> Fault | None:
    """Returns a fault if a reason, read by `Text`, is only a boolean."""
    if text.lower() in ("true", "false", "yes", "no", "1", "0"):
        return Fault("a reason", text)
    return None


def _limits(steps: int | None, seconds: float | None) -> Limits:
    return Limits(steps=steps, seconds=seconds)


LIMITS: Record[Limits] = Record(
    "limits",
    _limits,
    [
        Field(
            key="steps",
            shape=Int("a whole number above 0", low=1),
            default=None,
            default_text="the run's limit",
            doc="Maximum number of actions.",
            example="limits: {steps: 12}",
        ),
        Field(
            key="seconds",
            shape=Number(float, "a number above 0", above=0),
            default=None,
            default_text="the run's limit",
            doc="Maximum duration of the episode, in seconds.",
            example="limits: {seconds: 90}",
        ),
    ],
    doc="Limits for this task, in place of the run's.",
    owner="'limits'",
)

_VALUES = MapOf(
    Json("a value", null=False),
    "a mapping from variables to values",
    key=Text(
        "a variable name",
        check=lambda name, _: (
            None
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)
            else Fault("a variable name: letters, digits and '_'", f"'{clip(name)}'")
        ),
    ),
)


class Fillings(Shape[Any]):
    """Placeholder for ``each`` in the schema. The loader reads it, because it decides how the rest is read."""

    label = "a mapping or a list of fillings, or a CSV file"

    def json_schema(self, schemas: Schemas) -> Schema:
        values = _VALUES.json_schema(schemas)
        by_name = {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "patternProperties": {f"^{_ID.pattern}$": values},
        }
        file = {"type": "string", "pattern": r"\.csv\s*$"}
        return {"anyOf": [by_name, {"type": "array", "minItems": 1, "items": values}, file]}


def _gradings(**lists: tuple[Check, ...]) -> dict[str, tuple[Check, ...]]:
    return {name: checks for name, checks in lists.items() if checks}


GRADING_LISTS: Record[dict[str, tuple[Check, ...]]] = Record(
    "gradings",
    _gradings,
    [
        Field(
            key=name,
            shape=CheckList(f"gradings.{name}"),
            default=(),
            default_text="those of `checks` that support this grading",
            doc=doc,
            example=f"gradings:\n  {name}:\n    - answer: {{number: 84.97, unit: USD}}",
        )
        for name, doc in (
            ("original", "Judged as by the benchmark's own harness, including its defects."),
            ("repaired", "Judged with the documented defects of the benchmark's harness repaired."),
            ("verified", "Judged by WebArena-Verified's typed answers and network events."),
        )
    ],
    doc="Checks by grading.",
    owner="'gradings'",
)
