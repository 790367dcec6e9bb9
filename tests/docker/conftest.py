"""A real Docker engine, apps to run on it, and a backend whose containers are all removed."""

from __future__ import annotations

import asyncio
import fcntl
import os
import tempfile
import uuid
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest, HttpReady
from pytest_webarena.sites.cleanup.reaper import identity
from tests.processes import DEADLINE

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

T = TypeVar("T")
Run = Callable[[Coroutine[Any, Any, T]], T]


@pytest.fixture(scope="session")
def engine() -> Iterator[DockerClient]:
    """A client of a running engine. Without one the test is skipped, or fails if WEBARENA_REQUIRE_DOCKER=1."""
    try:
        from pytest_webarena.sites.backends.docker import connect

        client = connect()
    except SiteError as error:
        if os.environ.get("WEBARENA_REQUIRE_DOCKER") == "1":
            pytest.fail(f"WEBARENA_REQUIRE_DOCKER=1, but {error}", pytrace=False)
        pytest.skip(str(error).splitlines()[0])
    yield client
    client.close()


@pytest.fixture(scope="session", autouse=True)
def base_image() -> Iterator[None]:
    """Set the base image, so that tests use no registry unless the environment names another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WEBARENA_BASE_IMAGE", os.environ.get("WEBARENA_BASE_IMAGE") or "host")
        yield


@pytest.fixture(scope="session")
def embedded_image(engine: DockerClient) -> str:
    """The reference of the image that all tests share."""
    from pytest_webarena.sites.container_images import ensure_image

    return ensure_image(engine, "embedded")


@pytest.fixture(scope="session")
def shop_image(engine: DockerClient) -> str:
    """The reference of the store's image. Without django-oscar the test is skipped, or fails if
    WEBARENA_REQUIRE_SHOP=1.
    """
    from pytest_webarena.embedded import APPS
    from pytest_webarena.sites.container_images import ensure_image

    if not APPS["shop"].available and os.environ.get("WEBARENA_REQUIRE_SHOP") != "1":
        pytest.skip("django-oscar is not installed: pip install '.[shop]'")
    return ensure_image(engine, "embedded-shop")


@pytest.fixture
def run() -> Iterator[Run[Any]]:
    """Run coroutines, all of a test on one event loop."""
    with asyncio.Runner() as runner:
        yield runner.run


@pytest.fixture
def broker(tmp_path: Path) -> BackendContext:
    """The context that a broker gives its backend."""
    return BackendContext(run=f"test-{uuid.uuid4().hex[:12]}", owner=identity(), directory=tmp_path, environ={})


@pytest.fixture
def backend(engine: DockerClient, broker: BackendContext, run: Run[Any]) -> Iterator[DockerBackend]:
    """A backend of its own; after the test it is closed and nothing with its label remains."""
    from pytest_webarena.sites.backends.docker import DockerBackend

    backend = DockerBackend(broker)
    try:
        yield backend
    finally:
        run(backend.close())
    _assert_removed(engine, backend)


def _assert_removed(engine: DockerClient, backend: DockerBackend) -> None:
    labels = [f"{key}={value}" for key, value in backend.leftovers().items()]
    assert labels
    assert not engine.containers.list(all=True, filters={"label": labels})
    assert not engine.networks.list(filters={"label": labels})


@dataclass
class Shared:
    """A backend and event loop that the tests of a module share, unless networks or pods are their subject."""

    backend: DockerBackend
    context: BackendContext
    run: Run[Any]


@pytest.fixture(scope="module")
def shared(engine: DockerClient, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """Closed after the last test of the module; then nothing with its label remains."""
    from pytest_webarena.sites.backends.docker import DockerBackend

    folder = tmp_path_factory.mktemp("backend")
    context = BackendContext(run=f"test-{uuid.uuid4().hex[:12]}", owner=identity(), directory=folder, environ={})
    backend = DockerBackend(context)
    with asyncio.Runner() as runner:
        try:
            yield Shared(backend, context, runner.run)
        finally:
            runner.run(backend.close())
    _assert_removed(engine, backend)


@pytest.fixture
def shared_backend(engine: DockerClient, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerBackend]:
    """The module's backend; whatever a test starts on it is stopped before the next one."""
    backend, started = shared.backend, []
    start, reset = backend.start, backend.reset

    async def begin(app: AppManifest, replica_id: str) -> Replica:
        replica = await start(app, replica_id)
        started.append((app, replica))
        return replica

    async def again(app: AppManifest, replica: Replica) -> Replica:
        fresh = await reset(app, replica)
        started.append((app, fresh))
        return fresh

    monkeypatch.setattr(backend, "start", begin)
    monkeypatch.setattr(backend, "reset", again)
    yield backend
    labels = [*(f"{key}={value}" for key, value in backend.leftovers().items()), "pytest-webarena.replica"]

    async def end() -> None:
        for app, replica in started:
            await backend.stop(app, replica)
        async with asyncio.timeout(DEADLINE):  # containers are removed in the background
            while engine.containers.list(all=True, filters={"label": labels}, ignore_removed=True):
                await asyncio.sleep(0.02)

    shared.run(end())


@pytest.fixture(scope="session")
def homepage() -> AppManifest:
    """The embedded start page as a container, as the shipped catalogue describes it, but without reuse of replicas."""
    return replace(load_catalogue("embedded-docker").apps["homepage"], reuse="clean")


@pytest.fixture(scope="session")
def python_image(engine: DockerClient, embedded_image: str) -> str:
    """An image with Python and no fixed command: the base of `embedded_image`."""
    bases = [tag for image in engine.images.list(name="localhost/pytest-webarena-base") for tag in image.tags]
    return os.environ["WEBARENA_BASE_IMAGE"] if os.environ["WEBARENA_BASE_IMAGE"] != "host" else bases[0]


@pytest.fixture(scope="session")
def standin_image(engine: DockerClient, python_image: str) -> str:
    """An image that behaves like the real sites (``standin/``). It stays on the engine for the next session."""
    image, _ = engine.images.build(
        path=str(Path(__file__).parent / "standin"),
        tag="localhost/pytest-webarena-standin",
        buildargs={"BASE": python_image},
        rm=True,
    )
    return str(image.id)


@pytest.fixture
def nasty(python_image: str) -> Callable[..., AppManifest]:
    """Make apps from a few lines of misbehaving Python."""

    def make(code: str, *, start_timeout: float = 20, memory: str = "") -> AppManifest:
        return AppManifest(
            name="nasty",
            backend="docker",
            sites=(),
            ready=(HttpReady(),),
            start_timeout=start_timeout,
            docker=DockerManifest(image=python_image, command=("python3", "-u", "-c", code), port=8080, memory=memory),
        )

    return make


@pytest.fixture(scope="module")
def real_names() -> Iterator[None]:
    """A lock for the image and volume names of WebArena's own sites, which an engine can have only once. One test
    module of one worker holds it at a time.
    """
    with Path(tempfile.gettempdir(), f"pytest-webarena-real-names-{os.getuid()}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
