"""SQL on SQLite files of containers that have no Python: read from a copy, by ours."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from docker.errors import NotFound

from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.containers import Executed
from pytest_webarena.sites.backends.docker.inside import program

if TYPE_CHECKING:
    from docker import DockerClient

__all__ = ["lacks_program", "query_a_copy"]

_NOT_FOUND = frozenset({126, 127})
_BESIDE = ("", "-wal", "-journal")
"""What SQLite keeps beside a database, and needs to make sense of it. Its ``-shm`` is made anew."""


def lacks_program(done: Executed) -> bool:
    """Whether the container has no such program."""
    said = done.stdout + done.stderr
    return done.code in _NOT_FOUND and ("executable file not found" in said or "no such file" in said)


def query_a_copy(client: DockerClient, container: str, file: PurePosixPath, seconds: float, sql: str) -> Executed:
    """What our own Python says to ``sql``, which can only read. Blocks.

    The container is frozen for a moment, so that the parts of the database belong together. Whoever calls it says so
    to those who would wonder.
    """
    with tempfile.TemporaryDirectory(prefix="pytest-webarena-sql-") as folder:
        containers.set_paused(client, container, True)
        try:
            for ending in _BESIDE:
                _fetch(client, container, f"{file}{ending}", Path(folder, f"{file.name}{ending}"))
        finally:
            containers.set_paused(client, container, False)
        arguments = [str(Path(folder, file.name)), "copy", f"{seconds:g}", sql]
        done = subprocess.run(
            [sys.executable, *program("query")[1:], *arguments], capture_output=True, text=True, check=False
        )
    return Executed(code=done.returncode, stdout=done.stdout.replace(folder, str(file.parent)), stderr=done.stderr)


def _fetch(client: DockerClient, container: str, path: str, target: Path) -> None:
    """Copy a file out of the container, if it is there."""
    try:
        parts, _ = client.api.get_archive(container, path)
    except NotFound:
        return
    with tarfile.open(fileobj=io.BytesIO(b"".join(parts))) as archive:
        content = archive.extractfile(archive.getmembers()[0])
        if content is not None:
            target.write_bytes(content.read())
