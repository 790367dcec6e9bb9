"""SQL on a real PostgreSQL inside a container, made from this machine's server if it has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.sites.catalogues.manifest import DatabaseManifest
from tests.docker.host_programs import image_with, missing, start_server
from tests.docker.server_audits import try_audit

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

START = """
initdb --pgdata=/tmp/pg --username=postmill --auth=trust --no-sync --no-locale --encoding=UTF8 >/dev/null &&
exec postgres -D /tmp/pg -k /tmp -c fsync=off -c listen_addresses=localhost
"""
PROGRAMS = ("postgres", "initdb", "psql", "pg_isready")
MODULES = ("plpgsql", "dict_snowball")
"""Those that `initdb` loads; others bring hundreds of megabytes along."""


@pytest.fixture(scope="module")
def postgresql_image(engine: DockerClient, python_image: str) -> Iterator[str]:
    """The host's PostgreSQL on the image that the other tests use."""
    homes = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    if not homes:
        missing("PostgreSQL server", "postgresql")
    home = homes[-1].parents[1]
    programs = [*(home / "bin" / name for name in PROGRAMS), *(home / "lib" / f"{name}.so" for name in MODULES)]
    shared = [folder for folder in (Path("/usr/share/postgresql", home.name), home / "share") if folder.is_dir()]
    with image_with(engine, python_image, programs=programs, folders=shared, path=[home / "bin"]) as image:
        yield image


SCHEMA = """
create schema other; create table other.things (id uuid primary key default gen_random_uuid());
create table tickets (id serial primary key, title text, state text, price numeric(30, 2), meta jsonb);
create table comments (id int generated always as identity primary key, ticket int references tickets, body text);
create table logs (nr int);
insert into tickets (title, state) values ('a', 'open'), ('b', 'closed');
insert into logs values (1); insert into other.things default values
"""


@pytest.mark.exhaustive
def test_postgresql_is_compared_and_its_written_values_are_changed(
    backend: DockerBackend, postgresql_image: str, run: Callable[..., Any]
) -> None:
    database = DatabaseManifest(
        name="main", engine="postgresql", database="postgres", user="postmill", host="localhost"
    )
    server = start_server(
        run, backend, database, image=postgresql_image, start=START, ready=["pg_isready", "--host=localhost"]
    )
    try_audit(server, SCHEMA, "meta->'tags'->>0 = 'red'")


def test_postgresql_queries_return_rows_and_reject_writes(
    backend: DockerBackend, postgresql_image: str, run: Callable[..., Any]
) -> None:
    database = DatabaseManifest(
        name="main", engine="postgresql", database="postgres", user="postmill", password="x", host="localhost"
    )
    query = start_server(
        run, backend, database, image=postgresql_image, start=START, ready=["pg_isready", "--host=localhost"]
    )
    query("create table forums (id serial, name text)", write=True)
    query("insert into forums (name) values ('a,\"b\nÜ'); insert into forums (name) values ('')", write=True)
    query("insert into forums (name) values (null)", write=True)
    found = query("select id, name from forums order by id")
    assert found.columns == ("id", "name")
    assert found.rows == (("1", 'a,"b\nÜ'), ("2", ""), ("3", None))
    assert query("select name from forums where false").rows == ()
    assert query("select name from forums order by id").rows == (('a,"b\nÜ',), ("",), (None,))
    assert query("select ''").rows == (("",),)
    assert query("select e'\\r\\n\\x01'").rows == (("\r\n\x01",),)
    assert query("select 1=1, 1=2").rows == (("t", "f"),)
    with pytest.raises(TaskError, match='ERROR:  relation "forum" does not exist'):
        query("select * from forum")
    with pytest.raises(TaskError, match="read-only transaction"):
        query("delete from forums")
    assert len(query("select * from forums").rows) == 3
    with pytest.raises(SiteError, match=r'main of server-1: exit code 2: .*"absent" does not'):
        query("select 1", database="absent")
