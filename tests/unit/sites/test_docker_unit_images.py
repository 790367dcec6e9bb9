"""Removal of containers of a unit that was cancelled or did not become ready, with a fake engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest
from requests.exceptions import ReadTimeout

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.containers import Place, Running
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS
from pytest_webarena.sites.backends.docker.starting import Image
from pytest_webarena.sites.backends.docker.unit_images import UnitImages
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.units import Unit

UNIT = Unit(tuple(AppManifest(name=name, sites=(), backend="docker") for name in ("db", "web")))
IMAGES = {app.name: Image(reference=app.name, digest=app.name) for app in UNIT.apps}


class Access:
    """Fake access to an engine for starting containers."""

    def __init__(self) -> None:
        self.removed: list[str] = []
        self.places = SimpleNamespace(take=lambda *_: Place(network="somewhere", unit="web"))

    def client(self) -> None:
        return None

    async def call(self, work: Callable[[], Any]) -> Any:
        await asyncio.sleep(0)
        try:
            return work()
        except ENGINE_ERRORS as error:
            raise SiteError(f"the engine: {error}") from error

    def remove_soon(self, *parts: Running) -> None:
        self.removed += [each.name for each in parts]


class Starter:
    """Starts containers immediately."""

    async def container(
        self, app: AppManifest, image: Image, name: str, place: Place | None, earlier: Mapping[str, Running]
    ) -> Running:
        return Running(id=name, name=name, ip="10.0.0.1", place=place)


def dead(*_: object) -> str:
    return "it ended with exit code 1"


def silent(*_: object) -> str:
    raise ReadTimeout("no answer within 60 s")


def called_off(*_: object) -> str:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("end_of", "error", "message"),
    [
        (dead, SiteError, "db, in one unit with web, died after it had become ready: it ended"),
        (silent, SiteError, "the engine: no answer within 60 s"),
        (called_off, asyncio.CancelledError, "^$"),
    ],
)
def test_containers_of_a_failed_unit_are_removed(
    monkeypatch: pytest.MonkeyPatch, end_of: Callable[..., str], error: type[BaseException], message: str
) -> None:
    monkeypatch.setattr(containers, "end_of", end_of)
    access = Access()
    unit_images = UnitImages(cast("Any", access), cast("Any", Starter()), cast("Any", None))
    with pytest.raises(error, match=message):
        asyncio.run(unit_images.run(UNIT, "web-1", IMAGES))
    assert access.removed == ["web-1-db", "web-1"]


def test_running_unit_keeps_its_containers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "end_of", lambda *_: "")
    access = Access()
    unit_images = UnitImages(cast("Any", access), cast("Any", Starter()), cast("Any", None))
    assert list(asyncio.run(unit_images.run(UNIT, "web-1", IMAGES))) == ["db", "web"]
    assert access.removed == []
