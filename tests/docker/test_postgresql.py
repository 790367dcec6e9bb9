"""SQL on a real PostgreSQL inside a container, made of the server that this machine has, if it has one."""

from __future__ import annotations

import io
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.sites.manifest import AppManifest, DatabaseManifest, DockerManifest, ExecReady

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

START = """
initdb --pgdata=/tmp/pg --username=postmill --auth=trust --no-sync --no-locale --encoding=UTF8 >/dev/null &&
exec postgres -D /tmp/pg -k /tmp -c fsync=off -c listen_addresses=localhost
"""
PROGRAMS = ("postgres", "initdb", "psql", "pg_isready")


def _without_manuals(info: tarfile.TarInfo) -> tarfile.TarInfo | None:
    return None if "/man" in info.name else info


@pytest.fixture(scope="module")
def postgresql_image(engine: DockerClient, python_image: str) -> Iterator[str]:
    """The host's PostgreSQL with the libraries it needs, on the image that the other tests use."""
    from pytest_webarena.sites.images.host_python import _libraries

    ldd = shutil.which("ldd")
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if ldd is None or not homes:
        pytest.skip("this machine has no PostgreSQL server: apt-get install postgresql")
    home = homes[-1].parents[1]
    binaries = [home / "bin" / name for name in PROGRAMS]
    modules = sorted((home / "lib").glob("*.so"))
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w", dereference=True) as archive:
        files = io.BytesIO()
        with tarfile.open(fileobj=files, mode="w", dereference=True) as content:
            for path in {*binaries, *modules, *_libraries(ldd, [*binaries, *modules], [])}:
                content.add(path, str(path).lstrip("/"))
            for folder in (Path("/usr/share/postgresql", home.name), home / "share"):
                if folder.is_dir():
                    content.add(folder, str(folder).lstrip("/"), filter=_without_manuals)
        recipe = f"FROM {python_image}\nADD files.tar /\nENV PATH={home}/bin:/usr/local/bin:/usr/bin:/bin\nUSER 65532\n"
        for name, data in (("files.tar", files.getvalue()), ("Dockerfile", recipe.encode())):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    context.seek(0)
    image, _ = engine.images.build(fileobj=context, custom_context=True, rm=True)
    yield str(image.id)
    engine.images.remove(str(image.id), force=True)


def test_queries(backend: DockerBackend, postgresql_image: str, run: Callable[..., Any]) -> None:
    def query(sql: str, *, write: bool = False, app: AppManifest | None = None) -> Any:
        return run(backend.query(app or forum, replica, "main", sql, write=write))

    database = DatabaseManifest(
        name="main", engine="postgresql", database="postgres", user="postmill", password="x", host="localhost"
    )
    forum = AppManifest(
        name="forum",
        backend="docker",
        sites=(),
        databases={"main": database},
        ready=(ExecReady(run=("pg_isready", "--host=localhost")),),
        start_timeout=60,
        docker=DockerManifest(image=postgresql_image, command=("sh", "-c", START)),
    )
    run(backend.prepare(forum))
    replica = run(backend.start(forum, "forum-1"))
    query("create table forums (id serial, name text)", write=True)
    query("insert into forums (name) values ('a,\"b\nÜ'); insert into forums (name) values ('')", write=True)
    query("insert into forums (name) values (null)", write=True)
    found = query("select id, name from forums order by id")
    assert found.columns == ("id", "name")
    assert found.rows == (("1", 'a,"b\nÜ'), ("2", ""), ("3", None))
    assert query("select name from forums where false").rows == ()
    with pytest.raises(TaskError, match='ERROR:  relation "forum" does not exist'):
        query("select * from forum")
    with pytest.raises(TaskError, match="read-only transaction"):
        query("delete from forums")
    assert len(query("select * from forums").rows) == 3
    absent = replace(forum, databases={"main": replace(database, database="absent")})
    with pytest.raises(SiteError, match=r'main of forum-1: exit code 2: .*"absent" does not'):
        query("select 1", app=absent)
