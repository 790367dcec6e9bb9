"""The code hosting, seeded once; a copy for each test, and ways to visit it."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import clock, gitlab
from pytest_webarena.embedded.world import PEOPLE

_PASSWORDS = {person.username: person.password for person in PEOPLE}


@pytest.fixture(scope="session")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The seeded database, made once."""
    directory = tmp_path_factory.mktemp("pristine-gitlab")
    gitlab.seed(directory)
    return (directory / "main.sqlite3").read_bytes()


@pytest.fixture
def data_dir(tmp_path: Path, pristine: bytes) -> Path:
    (tmp_path / "main.sqlite3").write_bytes(pristine)
    return tmp_path


@pytest.fixture(autouse=True)
def epoch() -> Iterator[None]:
    clock.restart()
    yield
    clock.restart()


@pytest.fixture
def visitor(data_dir: Path) -> Client:
    """Somebody who is not signed in."""
    return Client(gitlab.create_app(data_dir))


@pytest.fixture
def signed_in(data_dir: Path) -> Callable[[str], Client]:
    """Makes clients that are signed in under a user name."""

    def make(username: str) -> Client:
        client = Client(gitlab.create_app(data_dir))
        sent = {"username": username, "password": _PASSWORDS[username]}
        assert client.post("/users/sign_in", data=sent).status_code == 303
        return client

    return make


@pytest.fixture
def dario(signed_in: Callable[[str], Client]) -> Client:
    """Maintainer of the group ``makers``."""
    return signed_in("dario.penhallow")


@pytest.fixture
def rows(data_dir: Path) -> Callable[..., list[tuple[Any, ...]]]:
    """Looks straight into the database."""

    def run(sql: str, *values: Any) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(data_dir / "main.sqlite3")) as connection:
            return connection.execute(sql, values).fetchall()

    return run
