"""An app reaches itself at its public address, whatever port it listens on."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.sites.catalogues.manifest import AppManifest, HttpReady, SiteManifest
from tests.docker.test_backend import get

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_webarena.sites.backends.base import Replica
    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

# Returns its own response, and how much of a large body arrives back.
APP = """
import http.server, urllib.request

def own(data=None):
    with urllib.request.urlopen("http://notes.test/echo", data=data, timeout=20) as answer:
        return answer.read()

class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        said = b"itself" if self.path != "/hook" else own() + b" %d" % len(own(b"x" * 300000))
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

http.server.ThreadingHTTPServer(("", 8080), Page).serve_forever()
"""


def test_app_reaches_its_public_address_before_and_after_reset(
    nasty: Callable[..., AppManifest], backend: DockerBackend, run: Callable[..., Any]
) -> None:
    app = replace(nasty(APP), sites=(SiteManifest(name="notes", host="notes.test", app="nasty"),), ready=(HttpReady(),))
    run(backend.prepare(app))
    replica: Replica = run(backend.start(app, "notes-1"))
    assert run(asyncio.to_thread(get, replica, "/hook")) == (200, "itself 300000")
    for _ in range(2):  # in a new pod, and in one that another container used before
        run(backend.reset(app, replica))
        assert run(asyncio.to_thread(get, replica, "/hook")) == (200, "itself 300000")
