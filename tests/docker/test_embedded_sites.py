"""Each small embedded site as a container: built from the catalogue, seeded, signed in to and reset."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest

from pytest_webarena.sites.catalogues.loading import load_catalogue

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.base import Replica
    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker

MARA = {"username": "mara.linden", "password": "paper-lantern-86"}


def _ask(replica: Replica, site: str, path: str, method: str = "GET", **form: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection(replica.host, replica.port, timeout=60)
    try:
        headers = {"Host": f"{site}.test", "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body=urlencode(form) or None, headers=headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("site", "path", "shown", "sign_in"),
    [
        ("wikipedia", "/wiki/Aldersey", "48,210 (2024)", ""),
        ("map", "/search?query=Regional+Library", "Regional Library", ""),
        ("reddit", "/f/books", "Books and reading", "/login"),
        ("gitlab", "/makers/pagefold", "Imposition of pages", "/users/sign_in"),
    ],
)
def test_embedded_site_runs_in_a_container_and_resets(
    engine: DockerClient,
    backend: DockerBackend,
    run: Callable[..., Any],
    site: str,
    path: str,
    shown: str,
    sign_in: str,
) -> None:
    from pytest_webarena.sites.container_images import ensure_image

    app = load_catalogue("embedded-docker").apps[site]
    ensure_image(engine, "embedded-gitlab" if site == "gitlab" else "embedded")
    run(backend.prepare(app))
    replica: Replica = run(backend.start(app, f"{site}-1"))
    status, page = _ask(replica, site, path)
    assert status == 200
    assert shown in page
    if not sign_in:
        return
    assert _ask(replica, site, sign_in, "POST", **MARA)[0] == 303
    table = {"reddit": "forums", "gitlab": "projects"}[site]
    names = run(backend.query(app, replica, "main", f"select name from {table} order by id", write=False)).rows
    assert len(names) > 30
    run(backend.query(app, replica, "main", f"update {table} set name = 'changed' where id = 1", write=True))
    replica = run(backend.reset(app, replica))
    assert run(backend.query(app, replica, "main", f"select name from {table} order by id", write=False)).rows == names
