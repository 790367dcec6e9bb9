"""Measuring whether the replicas of a unit could be reused: each part of it is compared."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.sites import reset_measuring
from pytest_webarena.sites.backends.base import Replica
from pytest_webarena.sites.catalogues.manifest import AppManifest, SiteManifest
from pytest_webarena.sites.reset_measuring import Measured, _compared
from tests.cases import each_case

DB = AppManifest(name="db", backend="process", sites=(), reuse="clean")
WEB = replace(DB, name="web", sites=(SiteManifest(name="web", host="web.test", app="web"),))


class Backend:
    """Prints one fingerprint after another; the last one for ever."""

    def __init__(self, prints: Mapping[str, list[str]]) -> None:
        self.prints = prints

    async def fingerprint(self, app: AppManifest, replica: Replica) -> str:
        own = self.prints[app.name]
        return own.pop(0) if len(own) > 1 else own[0]


@each_case(
    ("db", "holds", "text"),
    [
        (["a"], True, "2 rounds of its start pages changed nothing that can be seen"),
        (["a", "b"], False, "db, in one unit with it: its data differ from pristine, after GET /, round 1"),
        (
            ["x", "y"],
            False,
            "db, in one unit with it: its data differ from pristine, although nothing was requested; a fingerprint "
            "must print the same for the same data",
        ),
        ([None], None, "db, in one unit with it: changes of its data can't be detected"),
    ],
)
def test_each_part_of_a_unit_is_measured(
    db: list[Any], holds: bool | None, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reset_measuring, "_WINDOW", 0.01)
    monkeypatch.setattr(reset_measuring, "_POLL", 0.001)
    monkeypatch.setattr(reset_measuring, "_read", lambda site, replica: "/")
    backend: Any = Backend({"web": ["w"], "db": db})
    first = {"web": "w", "db": "a" if db[0] else None}
    replicas = {name: Replica(id=name, app=name, host="", port=0, fingerprint=each) for name, each in first.items()}
    assert asyncio.run(_compared(backend, WEB, (DB, WEB), replicas)) == Measured(app="web", holds=holds, text=text)
