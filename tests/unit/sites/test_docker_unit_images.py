"""Removal of containers of a unit that was cancelled or did not become ready, with a fake engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest
from docker.errors import ImageNotFound
from requests.exceptions import ReadTimeout

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import BackendContext
from pytest_webarena.sites.backends.docker import DockerBackend, containers, starting, unit_images
from pytest_webarena.sites.backends.docker import access as access_module
from pytest_webarena.sites.backends.docker.containers import Order, Place, Pod, Running, launch
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS
from pytest_webarena.sites.backends.docker.starting import Image
from pytest_webarena.sites.backends.docker.unit_images import UnitImages
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest, VolumeManifest
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

    async def connect(self) -> None:
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


def test_containers_start_from_the_image_that_was_found_whatever_gets_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unit_images, "obtain_image", lambda *_, **__: "sha256:first")
    monkeypatch.setattr(unit_images, "connect", lambda _: SimpleNamespace(close=lambda: None))
    app = AppManifest(name="db", sites=(), backend="docker", docker=DockerManifest(image="example/db:1", port=1))
    context: Any = SimpleNamespace(pulls="never", catalogue="c", note=lambda *_: None)
    images = UnitImages(cast(Any, Access()), cast(Any, Starter()), context)
    asyncio.run(images.prepare(Unit((app,))))
    assert (images["db"].reference, images["db"].digest) == ("sha256:first", "sha256:first")


def test_image_that_is_removed_during_the_run_is_named() -> None:
    def create(*_: object, **__: object) -> NoReturn:
        raise ImageNotFound("No such image: sha256:first")

    client: Any = SimpleNamespace(containers=SimpleNamespace(create=create))
    manifest = DockerManifest(image="example/db:1", port=1)
    with pytest.raises(SiteError, match=r"expected the image sha256:first, .*, found none: another program removed it"):
        launch(client, Order(image="sha256:first", manifest=manifest, name="db", labels={}, network="n"))


def test_volumes_that_the_engine_made_are_removed_with_a_container() -> None:
    """Also when another program has removed the container: the engine keeps them then."""
    own, shared = "a" * 64, "b" * 64
    mounts = [{"Type": "volume", "Name": name} for name in (own, shared, "webarena-copy")] + [{"Type": "bind"}]
    attrs = {
        "Mounts": mounts,
        "State": {"Running": True, "Pid": 1},
        "NetworkSettings": {"Networks": {"n": {"IPAddress": "127.0.0.1"}}},
    }
    made = SimpleNamespace(id="c", attrs=attrs, start=lambda: None, reload=lambda: None)
    client: Any = SimpleNamespace(
        containers=SimpleNamespace(create=lambda *_, **__: made),
        api=SimpleNamespace(inspect_container=lambda _: attrs),
    )
    manifest = DockerManifest(image="db", port=1, volumes=(VolumeManifest(source=shared, target="/seed"),))
    pod = Pod(app="db", keeper="k", ip="127.0.0.1")
    order = Order(image="db", manifest=manifest, name="db", labels={}, network="n", volumes=["webarena-copy"], pod=pod)
    assert launch(client, order).volumes == ("webarena-copy", own)


def test_failed_start_waits_until_a_restarted_engine_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """So that the next attempt succeeds."""
    answers = [ReadTimeout("away"), ReadTimeout("away"), True]

    def ping() -> bool:
        if isinstance(answer := answers.pop(0), Exception):
            raise answer
        return True

    async def run(*_: object) -> NoReturn:
        raise SiteError("the engine is away")

    monkeypatch.setattr(access_module, "_PAUSE", 0)
    backend = DockerBackend(BackendContext(run="r", owner="o", directory=tmp_path, environ={}))
    monkeypatch.setattr(backend._access, "_client", SimpleNamespace(ping=ping))
    monkeypatch.setattr(backend._unit_images, "run", run)
    with pytest.raises(SiteError, match="away"):
        asyncio.run(backend.start(UNIT.apps[0], "db-1"))
    assert not answers


def test_lost_engine_is_an_error_of_the_site_while_a_container_starts(tmp_path: Path) -> None:
    def away(*_: object) -> NoReturn:
        raise ReadTimeout("away")

    access: Any = Access()
    access.submit = lambda work: asyncio.get_running_loop().run_in_executor(None, work)
    starter = starting.Starter(access, frozenset())
    starter._launch = away  # type: ignore[method-assign, assignment]
    app = AppManifest(name="db", sites=(), backend="docker", docker=DockerManifest(image="db", port=1))
    with pytest.raises(SiteError, match="the Docker engine did not do what was asked: away"):
        asyncio.run(starter.container(app, IMAGES["db"], "db-1"))
