"""Commands that keep their data in the directory in which they run (``in_data_dir``)."""

from __future__ import annotations

import asyncio
import urllib.request
from pathlib import Path

from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.process import ProcessBackend
from pytest_webarena.sites.catalogues.loading import load_catalogue

KEEPS = """
import http.server, helper, os, sys

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = " ".join(sorted(os.listdir())).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def do_POST(self):
        open("more", "w").close()
        self.do_GET()
    def log_message(self, *_): pass

open(sys.argv[2], "a").close()
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
"""
SITES = """
apps:
  own:
    backend: process
    sites: {own: {host: own.test}}
    databases: {main: {sqlite: app.db}}
    process: {command: ["{python}", own.py, "{port}", app.db], in_data_dir: true}
"""


def _answer(replica: Replica, method: str) -> str:
    request = urllib.request.Request(f"http://127.0.0.1:{replica.port}/", method=method)
    with urllib.request.urlopen(request, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def test_command_runs_and_is_reset_in_its_data_directory(tmp_path: Path) -> None:
    """It finds its file and its module in the catalogue's folder, but not the database that is there."""
    folder = tmp_path / "project"
    folder.mkdir()
    files = {"own.py": KEEPS, "helper.py": "", "app.db": "of development", "sites.yaml": SITES}
    for name, text in files.items():
        (folder / name).write_text(text)
    app = load_catalogue(str(folder / "sites.yaml")).apps["own"]

    async def work() -> None:
        context = BackendContext(run="test", owner="", directory=tmp_path / "scratch", environ={})
        context.directory.mkdir()
        backend = ProcessBackend(context)
        try:
            await backend.prepare(app)
            replica = await backend.start(app, "own-1")
            assert await asyncio.to_thread(_answer, replica, "POST") == "app.db more"
            assert await asyncio.to_thread(_answer, await backend.reset(app, replica), "GET") == "app.db"
        finally:
            await backend.close()

    asyncio.run(work())
    assert not (folder / "more").exists()
    assert (folder / "app.db").read_text() == "of development"
