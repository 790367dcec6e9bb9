"""SQLite in a container without Python: read from a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.sites.catalogues.manifest import AppManifest, DatabaseManifest, DockerManifest, HttpReady
from tests.docker.outputs import output_of

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

WRITER = """
import http.server, os, sqlite3
os.makedirs("/data", exist_ok=True)
connection = sqlite3.connect("/data/main.sqlite", check_same_thread=False)
connection.execute("PRAGMA journal_mode = WAL")
connection.execute("create table notes (text)")
connection.commit()

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        connection.execute("insert into notes values (?)", (self.path,))
        connection.commit()
        self.send_response(200)
        self.end_headers()

http.server.HTTPServer(("", 8080), Page).serve_forever()
"""


def test_sqlite_without_python_reads_current_data_and_rejects_writes(
    engine: DockerClient, python_image: str, backend: DockerBackend, run: Callable[..., Any]
) -> None:
    look = ["-c", "import shutil; print(shutil.which('python3'), end='')"]
    python = output_of(engine, python_image, look, entrypoint="python3")
    docker = DockerManifest(
        image=python_image, command=(python, "-u", "-c", WRITER), port=8080, env={"PATH": "/nowhere"}
    )
    database = DatabaseManifest(name="main", engine="sqlite", path="main.sqlite")
    app = AppManifest(
        name="notes", backend="docker", sites=(), ready=(HttpReady(),), docker=docker, databases={"main": database}
    )

    def query(sql: str, *, write: bool = False) -> Any:
        return run(backend.query(app, replica, "main", sql, write=write)).rows

    run(backend.prepare(app))
    replica = run(backend.start(app, "notes-1"))
    for _ in range(2):  # the row is still in the write-ahead log of the open database
        assert query("select text from notes") == (("/",),)
    assert run(backend.alive(app, replica)) == ""
    with pytest.raises(TaskError, match="no such table: note_"):
        query("select * from note_")
    with pytest.raises(TaskError, match="readonly"):
        query("delete from notes")
    with pytest.raises(SiteError, match="expected python3 in the image of notes"):
        query("delete from notes", write=True)
    assert query("select count(*) from notes") == ((1,),)
