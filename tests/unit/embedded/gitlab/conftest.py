"""Fixtures of the code hosting: seeded once, copied for each test, with clients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import gitlab
from pytest_webarena.embedded.world import PEOPLE
from tests.unit.embedded.seeded import copied, epoch, rows, seeded_once

__all__ = ["epoch", "rows"]

_PASSWORDS = {person.username: person.password for person in PEOPLE}


pristine = seeded_once(gitlab)
data_dir = copied("pristine")


@pytest.fixture
def visitor(data_dir: Path) -> Client:
    """A client that is not signed in."""
    return Client(gitlab.create_app(data_dir))


@pytest.fixture
def signed_in(data_dir: Path) -> Callable[[str], Client]:
    """Return a factory of clients that are signed in with a user name."""

    def make(username: str) -> Client:
        client = Client(gitlab.create_app(data_dir))
        sent = {"username": username, "password": _PASSWORDS[username]}
        assert client.post("/users/sign_in", data=sent).status_code == 303
        return client

    return make


@pytest.fixture
def dario(signed_in: Callable[[str], Client]) -> Client:
    """A client signed in as the maintainer of the group ``makers``."""
    return signed_in("dario.penhallow")
