"""Databases of the official images of PostgreSQL, MySQL and MariaDB, found by image name and variables."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["PORTS", "database_of", "server_of"]

_SERVERS = {"postgresql": re.compile(r"postg(?:res|is)"), "mysql": re.compile(r"mysql|mariadb|percona")}
PORTS = {"postgresql": 5432, "mysql": 3306}


def server_of(image: str) -> str:
    """Returns the kind of database server of an image; empty for others.

    >>> server_of("registry.test:5000/library/postgres:16-alpine"), server_of("mariadb"), server_of("pg-admin:1")
    ('postgresql', 'mysql', '')
    """
    name = re.split(r"[:@]", image.rpartition("/")[2])[0]
    if re.search(r"admin|client|exporter|backup", name):
        return ""
    return next((kind for kind, pattern in _SERVERS.items() if pattern.search(name)), "")


def database_of(kind: str, env: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Returns the entry of ``databases`` for a server, and a program that ends with 0 when it accepts connections from
    other containers. The entry is empty if the image makes no database."""
    if kind == "postgresql":
        user = env.get("POSTGRES_USER") or "postgres"
        name = env.get("POSTGRES_DB") or user
        given = {"postgresql": name, "user": user, "password": env.get("POSTGRES_PASSWORD", ""), "host": "localhost"}
        return _given(given), ["pg_isready", "--host=localhost", f"--username={user}"]
    for prefix in ("MARIADB", "MYSQL"):
        if name := env.get(f"{prefix}_DATABASE", ""):
            user, password = env.get(f"{prefix}_USER", ""), env.get(f"{prefix}_PASSWORD", "")
            if not user:
                user, password = "root", env.get(f"{prefix}_ROOT_PASSWORD", "")
            entry: dict[str, Any] = _given({"mysql": name, "user": user, "password": password, "host": "127.0.0.1"})
            if prefix == "MARIADB":  # newer images have no program called mysql
                options = (f"--user={user}", f"--password={password}", "--host=127.0.0.1", name)
                entry["client"] = ["mariadb", *options]
            return entry, _MYSQL_READY
    return {}, _MYSQL_READY


_MYSQL_READY = ["sh", "-c", "$(command -v mariadb-admin || echo mysqladmin) --host=127.0.0.1 ping"]
"""The program ends with 0 also if the server refuses the account."""


def _given(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entry.items() if value}
