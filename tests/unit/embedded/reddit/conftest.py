"""Fixtures of the forum: a fresh copy for each test, with clients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import reddit
from pytest_webarena.embedded.reddit.members import PASSWORDS
from tests.unit.embedded.seeded import copied, epoch, rows, seeded_once

__all__ = ["epoch", "rows"]

pristine = seeded_once(reddit)
data_dir = copied("pristine")


@pytest.fixture
def visitor(data_dir: Path) -> Client:
    """A client that is not signed in."""
    return Client(reddit.create_app(data_dir))


@pytest.fixture
def signed_in(data_dir: Path) -> Callable[[str], Client]:
    """Return a factory of clients that are signed in with a user name."""

    def make(username: str) -> Client:
        client = Client(reddit.create_app(data_dir))
        response = client.post("/login", data={"username": username, "password": PASSWORDS[username]})
        assert response.status_code == 303
        return client

    return make


@pytest.fixture
def mara(signed_in: Callable[[str], Client]) -> Client:
    """A client signed in as the tasks' default member, who moderates `books`."""
    return signed_in("mara.linden")
