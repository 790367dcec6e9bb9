"""Who may sign in to the start page: everybody in the world, with their one password."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from types import MappingProxyType

from flask import g, session

from pytest_webarena.embedded.world import PEOPLE, Person

__all__ = ["ACCOUNTS", "DEFAULT_USER", "load_user", "owner", "verify"]

ACCOUNTS: Mapping[str, str] = MappingProxyType({person.username: person.password for person in PEOPLE})
"""User name to password of every account; the sign-in form is at ``/signin``."""

DEFAULT_USER = "mara.linden"
"""The account that tasks use when they name none."""

_PEOPLE = {person.username: person for person in PEOPLE}


def verify(username: str, password: str) -> Person | None:
    """The person, if the pair is right. User names ignore case and outer blanks."""
    person = _PEOPLE.get(username.strip().lower())
    if person is None or not hmac.compare_digest(person.password.encode(), password.encode()):
        return None
    return person


def load_user() -> None:
    """Put the signed-in person, or None, on ``flask.g.user``."""
    g.user = _PEOPLE.get(session.get("user", ""))


def owner() -> str:
    """User name whose pad and history the request works on; ``""`` is the pad of all who are not signed in."""
    person: Person | None = g.user
    return person.username if person else ""
