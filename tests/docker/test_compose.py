"""A Compose project with a PostgreSQL that declares its data as a volume: imported, started, reset, and snapshot."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from docker.errors import NotFound

from pytest_webarena.project_setup.compose.importing import import_compose
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from pytest_webarena.sites.client.visitor import Visitor
from tests.docker.host_programs import missing
from tests.docker.test_postgresql import postgresql_image

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.client.lease import Lease

__all__ = ["postgresql_image"]

pytestmark = [pytest.mark.docker, pytest.mark.exhaustive]

SERVER = "localhost/webarena-test-postgres:1"
ENTRY = """#!/bin/sh
set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" > /tmp/password
    initdb --pgdata="$PGDATA" --username="$POSTGRES_USER" --pwfile=/tmp/password --auth=scram-sha-256 \\
        --no-sync --no-locale --encoding=UTF8 > /dev/null
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    echo "create database $POSTGRES_DB;" | postgres --single -D "$PGDATA" postgres > /dev/null
fi
exec postgres -D "$PGDATA" -k /tmp -c fsync=off -c listen_addresses='*'
"""
DATABASE = """
FROM {base}
USER 0
COPY --chmod=755 entry /entry
RUN mkdir -p /var/lib/postgresql/data && chown 65532 /var/lib/postgresql/data
USER 65532
ENV PGDATA=/var/lib/postgresql/data
VOLUME /var/lib/postgresql/data
STOPSIGNAL SIGINT
ENTRYPOINT ["/entry"]
"""
WEB = """
import http.server, subprocess, sys, urllib.parse, uuid

def sql(text):
    done = subprocess.run(["psql", "-qtA", "-v", "ON_ERROR_STOP=1", "-c", text], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return done.stdout.strip()

if sys.argv[1] == "worker":
    while True:
        sql("update orders set state = 'sent' where state = 'new'; select pg_sleep(0.05)")

sql("create table if not exists orders (name text, state text)")
if sql("select count(*) from orders") == "0":
    sql(f"insert into orders values ('{uuid.uuid4()}', 'seed')")

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        name = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query).get("name")
        if name:
            sql(f"insert into orders values ('{name[0]}', 'new')")
        body = sql("select name, state from orders order by name").encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_): pass

http.server.ThreadingHTTPServer(("", 8000), Page).serve_forever()
"""
PROJECT = f"""
name: webarena-test-shop
services:
  web:
    build: ./web
    command: [python3, -u, /app.py, web]
    ports: ["8080:8000"]
    environment: &database
      PGHOST: database
      PGUSER: shop
      PGPASSWORD: ${{DB_PASSWORD}}
      PGDATABASE: shop
    depends_on: {{db: {{condition: service_healthy}}}}
  worker:
    image: webarena-test-shop-web
    command: [python3, -u, /app.py, worker]
    environment: *database
    depends_on: [web]
  db:
    image: {SERVER}
    environment: {{POSTGRES_USER: shop, POSTGRES_PASSWORD: "${{DB_PASSWORD}}", POSTGRES_DB: shop}}
    volumes: ["data:/var/lib/postgresql/data"]
    networks: {{default: {{aliases: [database]}}}}
    healthcheck: {{test: [CMD, pg_isready, -h, localhost], interval: 2s, retries: 20}}
volumes: {{data: {{}}}}
"""


@pytest.fixture(scope="module")
def project(engine: DockerClient, postgresql_image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("project")
    engine.images.get(postgresql_image).tag("localhost/webarena-test-base", "1")  # it stays when its children go
    recipes = folder / "recipes"
    recipes.mkdir()
    (recipes / "entry").write_text(ENTRY)
    (recipes / "Dockerfile").write_text(DATABASE.format(base=postgresql_image).replace("COPY --chmod=755", "COPY"))
    (recipes / "entry").chmod(0o755)
    engine.images.build(path=str(recipes), tag=SERVER, rm=True)
    (folder / "web").mkdir()
    (folder / "web" / "app.py").write_text(WEB)
    (folder / "web" / "Dockerfile").write_text(f"FROM {postgresql_image}\nCOPY app.py /app.py\n")
    (folder / ".env").write_text("DB_PASSWORD=paper-lantern-86\n")
    (folder / "compose.yaml").write_text(PROJECT)
    yield folder
    for label in ("web", "worker", "db"):
        for image in engine.images.list(filters={"label": f"pytest-webarena.snapshot={label}"}):
            with suppress(NotFound):  # a parent that another one took along
                engine.images.remove(str(image.id), force=True)
    for name in (SERVER, "webarena-test-shop-web"):
        engine.images.remove(name, force=True)


def catalogue(project: Path, **docker: Any) -> str:
    found = import_compose(project / "compose.yaml", project, environment={})
    assert not found.refused
    for argv in found.builds.values():
        subprocess.run(argv, cwd=project, check=True, capture_output=True)
    apps = dict(found.apps)
    for app in apps.values():
        app["docker"] |= docker
    path = project / f"sites{len(docker)}.yaml"
    path.write_text(yaml.safe_dump({"apps": apps}, sort_keys=False))
    return str(path)


def visit(lease: Lease, query: str = "") -> dict[str, str]:
    answer = Visitor("http://web.test", proxy=lease.harness_proxy).call("GET", f"/{query}")
    assert answer.status == 200
    return dict(line.split("|") for line in answer.text.splitlines())


def sent(lease: Lease, name: str) -> bool:
    return any(visit(lease).get(name) == "sent" for _ in range(200))


@pytest.mark.parametrize("snapshot", [False, True])
def test_imported_project_runs_and_is_reset(project: Path, snapshot: bool) -> None:
    if shutil.which("docker") is None:
        missing("command docker", "docker.io")
    seeds: set[str] = set()
    config = BrokerConfig(catalogue=catalogue(project, **({"snapshot": True} if snapshot else {})), max_replicas=1)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="test") as client:
        for number in range(2):
            with client.lease(["web"], holder="test", timeout=120) as lease:
                first = visit(lease)
                assert len(first) == 1, f"the order of an earlier trial is still there in round {number}"
                seeds |= first.keys()
                visit(lease, "?name=tea")
                assert sent(lease, "tea"), "the worker found the order"
                rows = lease.query("web", "select name from orders where state = 'sent'")
                assert rows.rows == (("tea",),)
    # Replicas of a snapshot share what its database, which is in a volume, had when it was made.
    assert len(seeds) == (1 if snapshot else 2)
