"""The store in a container: its pages, its data, and its reset."""

from __future__ import annotations

import http.client
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.sites.catalogues.loading import load_catalogue

if TYPE_CHECKING:
    from pytest_webarena.sites.backends.base import Replica
    from pytest_webarena.sites.backends.docker import DockerBackend

pytestmark = pytest.mark.docker


def get(replica: Replica, path: str, host: str = "shopping.test") -> tuple[int, str]:
    connection = http.client.HTTPConnection(replica.host, replica.port, timeout=20)
    try:
        connection.request("GET", path, headers={"Host": host})
        response = connection.getresponse()
        return response.status, response.getheader("Location") or response.read().decode()
    finally:
        connection.close()


@pytest.mark.exhaustive
def test_store_serves_products_and_reset_restores_data(
    shop_image: str, backend: DockerBackend, run: Callable[..., Any]
) -> None:
    app = replace(load_catalogue("embedded-docker").apps["shop"], reuse="clean")  # so that fingerprints are taken

    def query(sql: str, *, write: bool = False) -> Any:
        return run(backend.query(app, replica, "main", sql, write=write)).rows

    run(backend.prepare(app))
    replica: Replica = run(backend.start(app, "shop-1"))
    pristine = replica.fingerprint
    assert pristine
    ((title, slug, number),) = query("select title, slug, id from catalogue_product where parent_id is null limit 1")
    status, page = get(replica, f"/catalogue/{slug}_{number}/")
    assert (status, title in page) == (200, True)
    assert get(replica, "/", "shopping-admin.test") == (302, "/dashboard/")
    # Dates are shown with their time zone, which a small image has to know.
    assert get(replica, f"/catalogue/{slug}_{number}/reviews/")[0] == 200
    assert run(backend.fingerprint(app, replica)) == pristine, "looking at pages has changed the data"
    query(f"update catalogue_product set title = 'Sold Out Goods' where id = {number}", write=True)
    assert "Sold Out Goods" in get(replica, f"/catalogue/{slug}_{number}/")[1]
    assert run(backend.fingerprint(app, replica)) != pristine
    replica = run(backend.reset(app, replica))
    assert replica.fingerprint == pristine
    assert title in get(replica, f"/catalogue/{slug}_{number}/")[1]
