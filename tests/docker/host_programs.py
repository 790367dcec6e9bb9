"""Images of programs from this machine: real database servers inside containers, without a registry."""

from __future__ import annotations

import io
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from pytest_webarena.sites.catalogues.manifest import (
    AppManifest,
    DatabaseManifest,
    DockerManifest,
    ExecReady,
    SiteManifest,
)
from pytest_webarena.sites.ledger.comparing import between

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.changes import SiteChanges
    from pytest_webarena.sites.backends.docker import DockerBackend

__all__ = ["Server", "image_with", "missing", "start_server"]


def missing(what: str, package: str) -> NoReturn:
    """Skip with the package to install, or fail if WEBARENA_REQUIRE_DATABASES=1."""
    reason = f"this machine has no {what} to make a container with a database of: apt-get install {package}"
    if os.environ.get("WEBARENA_REQUIRE_DATABASES") == "1":
        pytest.fail(f"WEBARENA_REQUIRE_DATABASES=1, but {reason}", pytrace=False)
    pytest.skip(reason)


@contextmanager
def image_with(
    engine: DockerClient, base: str, *, programs: Sequence[Path], folders: Sequence[Path], path: Sequence[Path]
) -> Iterator[str]:
    """``base`` with ``programs`` and the libraries they need, and ``folders``, all where they are on this machine.

    ``path`` goes before the image's own PATH. The image sets no user, and is removed at the end.
    """
    from pytest_webarena.sites.container_images.host_python import _libraries

    ldd = shutil.which("ldd")
    if ldd is None:
        missing("ldd", "libc-bin")
    files = io.BytesIO()
    with tarfile.open(fileobj=files, mode="w", dereference=True) as content:
        for file in sorted({*programs, *_libraries(ldd, list(programs), [])}):
            content.add(file, str(file).lstrip("/"))
        for folder in folders:
            content.add(folder, str(folder).lstrip("/"), filter=_without_manuals)
    places = ":".join([*map(str, path), "/usr/local/bin:/usr/bin:/bin"])
    recipe = f"FROM {base}\nADD files.tar /\nENV PATH={places}\nUSER 65532\n"
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, data in (("files.tar", files.getvalue()), ("Dockerfile", recipe.encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    context.seek(0)
    image, _ = engine.images.build(fileobj=context, custom_context=True, rm=True)
    try:
        yield str(image.id)
    finally:
        engine.images.remove(str(image.id), force=True)


@dataclass
class Server:
    """A database server in a container, which can be queried, and leased as the site ``shop``."""

    run: Callable[..., Any]
    backend: DockerBackend
    app: AppManifest
    replica: Any
    sites: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        engines = {name: database.engine for name, database in self.app.databases.items()}
        self.sites = {"shop": SimpleNamespace(forbid_side_effects=True, engines=engines)}

    def __call__(self, sql: str, *, write: bool = False, **changed: Any) -> Any:
        """Run ``sql``; ``changed`` replaces fields of the database's manifest."""
        app = replace(self.app, databases={"main": replace(self.app.databases["main"], **changed)})
        return self.run(self.backend.query(app, self.replica, "main", sql, write=write))

    def query(self, site: str, sql: str, *, database: str = "", write: bool = False) -> Any:
        """Run ``sql`` as `Lease.query` does."""
        return self(sql, write=write)

    def mark(self) -> None:
        """Record the content for `changes`."""
        self._mark = self.run(self.backend.moment(self.app, self.replica))

    def changes(self) -> tuple[SiteChanges, ...]:
        """Return what differs since `mark`."""
        return (between(self.app, self._mark, self.run(self.backend.moment(self.app, self.replica))),)


def start_server(
    run: Callable[..., Any], backend: DockerBackend, database: DatabaseManifest, *, image: str, start: str,
    ready: Sequence[str],
) -> Server:  # fmt: skip
    """Start the shell script ``start`` in a container, until ``ready`` succeeds in it: the replica ``server-1``."""
    site = SiteManifest(name="shop", host="shop.test", app="server")
    app = AppManifest(
        name="server", backend="docker", sites=(site,), databases={"main": database},
        ready=(ExecReady(run=tuple(ready)),), start_timeout=60,
        docker=DockerManifest(image=image, command=("sh", "-c", start)),
    )  # fmt: skip
    run(backend.prepare(app))
    return Server(run=run, backend=backend, app=app, replica=run(backend.start(app, "server-1")))


def _without_manuals(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "/man" in info.name else info
