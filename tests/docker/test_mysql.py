"""SQL on a real MariaDB inside a container, made from this machine's server if it has one."""

from __future__ import annotations

import shutil
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

SHARE = Path("/usr/share/mysql")
OPTIONS = "--no-defaults --datadir=/tmp/db --innodb-buffer-pool-size=8M --innodb-log-file-size=4M"
START = f"""
mkdir /tmp/db &&
(echo 'create database mysql;' && echo 'use mysql;' &&
 cat {SHARE}/mysql_system_tables.sql {SHARE}/mysql_system_tables_data.sql) | mariadbd {OPTIONS} --bootstrap &&
echo "create database shop character set utf8mb4;" > /tmp/init.sql &&
echo "grant all on shop.* to clerk@'%' identified by 'open';" >> /tmp/init.sql &&
exec mariadbd {OPTIONS} --init-file=/tmp/init.sql --bind-address=127.0.0.1 --socket=/tmp/db.sock --skip-name-resolve
"""


@pytest.fixture(scope="module")
def mariadb_image(engine: DockerClient, python_image: str) -> Iterator[str]:
    """The host's MariaDB, server and client, on the image that the other tests use."""
    server, client = shutil.which("mariadbd", path="/usr/sbin:/usr/bin"), shutil.which("mysql")
    if server is None or client is None or not SHARE.is_dir():
        missing("MariaDB server", "--no-install-recommends mariadb-server-core mariadb-client-core")
    programs, places = [Path(server), Path(client)], [Path(server).parent]
    with image_with(engine, python_image, programs=programs, folders=[SHARE], path=places) as image:
        yield image


SCHEMA = """
create table tickets (id int auto_increment primary key, title text, state varchar(9), price decimal(30, 2), meta json);
create table comments (id int auto_increment primary key, ticket int, body text,
  foreign key (ticket) references tickets (id));
create table logs (nr int);
insert into tickets (title, state) values ('a', 'open'), ('b', 'closed');
insert into logs values (1)
"""


@pytest.mark.exhaustive
def test_mariadb_is_compared_and_its_written_values_are_changed(
    backend: DockerBackend, mariadb_image: str, run: Callable[..., Any]
) -> None:
    database = DatabaseManifest(
        name="main", engine="mysql", database="shop", user="clerk", password="open", host="127.0.0.1"
    )
    server = start_server(
        run, backend, database, image=mariadb_image, start=START, ready=[*database.client_argv, "--execute=select 1"]
    )
    try_audit(server, SCHEMA, "json_value(meta, '$.tags[0]') = 'red'")


def test_mariadb_queries_return_typed_rows_and_reject_writes(
    backend: DockerBackend, mariadb_image: str, run: Callable[..., Any]
) -> None:
    database = DatabaseManifest(
        name="main", engine="mysql", database="shop", user="clerk", password="open", host="127.0.0.1"
    )
    query = start_server(
        run, backend, database, image=mariadb_image, start=START, ready=[*database.client_argv, "--execute=select 1"]
    )
    query("create table goods (id int auto_increment primary key, name text, price decimal(8,2))", write=True)
    query("insert into goods (name, price) values ('a,\"b\nÜ 🛒 <&>', 2.50), ('', null)", write=True)
    query("insert into goods (name) values (null)", write=True)
    found = query("select id, name, price from goods order by id")
    assert found.columns == ("id", "name", "price")
    assert found.rows == (("1", 'a,"b\nÜ 🛒 <&>', "2.50"), ("2", "", None), ("3", None, None))
    assert query("select name from goods where false").rows == ()
    assert query("select concat('a', char(13, 10, 13, 1, 11, 31), 'b')").rows == (("a\r\n\r\x01\x0b\x1fb",),)
    assert query("select ''").rows == (("",),)
    assert query("select 1=1, 1=2").rows == (("1", "0"),)
    with pytest.raises(TaskError, match=r"ERROR 1146 .* 'shop\.good' doesn't exist"):
        query("select * from good")
    with pytest.raises(TaskError, match="READ ONLY transaction"):
        query("delete from goods")
    assert len(query("select * from goods").rows) == 3
    with pytest.raises(SiteError, match=r"main of server-1: exit code 1: .*'absent'"):
        query("select 1", database="absent")
    with pytest.raises(SiteError, match="Access denied for user 'clerk'"):
        query("select 1", password="wrong")
