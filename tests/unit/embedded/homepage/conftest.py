"""Fixtures of the start page: a fresh copy for each test, with clients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import homepage
from tests.unit.embedded.seeded import copied, epoch, rows, seeded_once

__all__ = ["epoch", "rows"]


pristine = seeded_once(homepage)
data_dir = copied("pristine")


@pytest.fixture
def visitor(data_dir: Path) -> Client:
    """A client that is not signed in."""
    return Client(homepage.create_app(data_dir, sites={"shopping": "http://shopping.test/"}))


@pytest.fixture
def signed_in(data_dir: Path) -> Callable[[str], Client]:
    """Return a factory of clients that are signed in with a user name."""

    def make(username: str) -> Client:
        client = Client(homepage.create_app(data_dir, sites={"shopping": "http://shopping.test/"}))
        response = client.post("/signin", data={"username": username, "password": homepage.ACCOUNTS[username]})
        assert response.status_code == 303
        return client

    return make


@pytest.fixture
def mara(signed_in: Callable[[str], Client]) -> Client:
    return signed_in("mara.linden")
