"""SQL on SQLite files of containers without Python: reads from a copy with this machine's Python."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from docker.errors import NotFound

from pytest_webarena.errors import TaskError
from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.containers import Executed
from pytest_webarena.sites.backends.docker.inside import program
from pytest_webarena.sites.ledger.snapshot import Moment, flipped, moment_below

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["copy_out", "flip_inside", "moment_inside", "program_missing", "query_a_copy"]

_NOT_FOUND = frozenset({126, 127})
_BESIDE = ("", "-wal", "-journal")
"""Suffixes of the files that belong to an SQLite database. SQLite recreates ``-shm`` itself."""


def program_missing(done: Executed) -> bool:
    """Whether the container lacks the program."""
    output = done.stdout + done.stderr
    return done.code in _NOT_FOUND and ("executable file not found" in output or "no such file" in output)


def query_a_copy(client: DockerClient, container: str, file: PurePosixPath, seconds: float, sql: str) -> Executed:
    """Returns the result of ``sql`` on a copy, which can only read. Blocks.

    The container is paused for a moment, so that the parts of the database are consistent. The caller must mark it as
    paused for those who check whether it runs.
    """
    with tempfile.TemporaryDirectory(prefix="pytest-webarena-sql-") as folder:
        copy_out(client, container, [(file, Path(folder, file.name))])
        arguments = [str(Path(folder, file.name)), "copy", f"{seconds:g}", sql]
        done = subprocess.run(
            [sys.executable, *program("query")[1:], *arguments], capture_output=True, text=True, check=False
        )
    return Executed(code=done.returncode, stdout=done.stdout.replace(folder, str(file.parent)), stderr=done.stderr)


def copy_out(client: DockerClient, container: str, files: Sequence[tuple[PurePosixPath, Path]]) -> None:
    """Copy databases out of the container, each to its target path. Blocks; pauses the container, as `query_a_copy`
    does."""
    containers.set_paused(client, container, True)
    try:
        for file, target in files:
            for ending in _BESIDE:
                _fetch(client, container, f"{file}{ending}", target.with_name(f"{target.name}{ending}"))
    finally:
        containers.set_paused(client, container, False)


def moment_inside(client: DockerClient, container: str, app: AppManifest, data_dir: str) -> Moment:
    """Returns the content of the databases of ``app`` in a container. Blocks; other files are left out."""
    with tempfile.TemporaryDirectory(prefix="pytest-webarena-ledger-") as folder:
        wanted = []
        for each in app.databases.values():
            if each.engine == "sqlite":
                target = Path(folder, each.path)
                target.parent.mkdir(parents=True, exist_ok=True)
                wanted.append((PurePosixPath(data_dir, each.path), target))
        if wanted:
            copy_out(client, container, wanted)
        return replace(moment_below(Path(folder), app), files=None)


def flip_inside(client: DockerClient, container: str, folder: str, path: str) -> None:
    """Invert the last bit of a file in a container. Blocks. Raises `TaskError` if there is none."""
    file = PurePosixPath(folder, path)
    try:
        parts, _ = client.api.get_archive(container, str(file))
    except NotFound:
        raise TaskError(f"expected a file {path}, found none") from None
    with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as archive:
        info = archive.getmembers()[0]
        content = archive.extractfile(info)
        if content is None:
            raise TaskError(f"{path} is no file")
        data = flipped(content.read(), path)
    changed = io.BytesIO()
    with tarfile.open(fileobj=changed, mode="w") as archive:  # with the file's owner, mode and time
        archive.addfile(info, io.BytesIO(data))
    client.api.put_archive(container, str(file.parent), changed.getvalue())


def _fetch(client: DockerClient, container: str, path: str, target: Path) -> None:
    """Copy a file out of the container, if it exists."""
    try:
        parts, _ = client.api.get_archive(container, path)
    except NotFound:
        return
    with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as archive:
        content = archive.extractfile(archive.getmembers()[0])
        if content is not None:
            target.write_bytes(content.read())
