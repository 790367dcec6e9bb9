"""Which of a lease's apps its traffic may have changed."""

from __future__ import annotations

import pytest

from pytest_webarena.sites.desk import unsafe_by_app

HOSTS = {"shop.test": "store", "admin.test": "store", "forum.test": "forum"}


@pytest.mark.parametrize(
    ("unsafe_hosts", "expected"),
    [
        ({}, {}),
        ({"admin.test": "POST http://admin.test/save"}, {"store": "POST http://admin.test/save"}),
        ({"shop.test": "first", "admin.test": "second"}, {"store": "first"}),
        (
            {"forum.test": "WebSocket http://forum.test/chat", "shop.test": "PUT x"},
            {"forum": "WebSocket http://forum.test/chat", "store": "PUT x"},
        ),
        ({"gone.test": "POST x"}, {}),
    ],
)
def test_unsafe_traffic_is_put_down_to_its_app(unsafe_hosts: dict[str, str], expected: dict[str, str]) -> None:
    assert unsafe_by_app(unsafe_hosts, HOSTS) == expected
