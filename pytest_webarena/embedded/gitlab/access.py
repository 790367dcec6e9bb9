"""Who asks, and what they may: people by session, token or password, roles in groups and projects."""

from __future__ import annotations

import hmac
import sqlite3
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import quote

from flask import Blueprint, abort, g, redirect, request, session

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.gitlab.store import Store
from pytest_webarena.embedded.web import database

__all__ = [
    "ROLES",
    "Project",
    "User",
    "by_password",
    "by_token",
    "find_project",
    "holds",
    "level_of",
    "load_user",
    "me",
    "need",
    "project",
    "project_pages",
    "store",
    "user",
    "visible",
]

User = sqlite3.Row

ROLES = {"guest": 10, "reporter": 20, "developer": 30, "maintainer": 40, "owner": 50}
"""What a role is worth; the numbers are those of the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Project:
    """A project, as the one who asks may use it."""

    row: sqlite3.Row
    level: int
    """The role of who asks, 0 for none."""

    @property
    def id(self) -> int:
        """Its number."""
        return int(self.row["id"])

    @property
    def path(self) -> str:
        """``group/project``."""
        return str(self.row["full_path"])

    @property
    def url(self) -> str:
        """Path of its page."""
        return f"/{self.path}"

    @property
    def branch(self) -> str:
        """The default branch, which is protected."""
        return str(self.row["default_branch"])

    def may(self, role: str) -> bool:
        """Whether who asks has at least this role; nobody changes what is archived."""
        return self.level >= ROLES[role]

    @property
    def code(self) -> bool:
        """Whether who asks may read the files: guests of private projects may not."""
        return self.row["visibility"] != "private" or self.may("reporter")

    def may_push(self, branch: str) -> bool:
        """Whether who asks may let ``branch`` stand elsewhere."""
        if self.row["archived"]:
            return False
        return self.may("maintainer" if branch == self.branch else "developer")


def load_user() -> None:
    """Put who is signed in on ``g.user``, or None."""
    g.user = None
    if name := session.get("user"):
        g.user = database().execute("SELECT * FROM users WHERE username = ?", (name,)).fetchone()


def user() -> User | None:
    """Who asks."""
    found: User | None = g.user
    return found


def me() -> User:
    """Who asks; those who are not signed in are sent to do so."""
    if g.user is None:
        _sign_in_first()
    found: User = g.user
    return found


def _sign_in_first() -> NoReturn:
    back = request.full_path.rstrip("?") if request.method == "GET" else request.path
    abort(redirect(f"/users/sign_in?next={quote(back)}", 303))


def by_password(username: str, password: str) -> User | None:
    """The person, if the pair is right. User names ignore case and outer blanks; e-mail addresses do."""
    name = username.strip().lower()
    found: User | None = (
        database().execute("SELECT * FROM users WHERE username = ? OR email = ?", (name, name)).fetchone()
    )
    if found is None or not hmac.compare_digest(found["password"].encode(), password.encode()):
        return None
    return found


def by_token(token: str) -> tuple[User, frozenset[str]] | None:
    """Whose access token it is and what it is good for, if it is still good."""
    found = database().execute(
        "SELECT * FROM tokens WHERE token = ? AND NOT revoked AND (expires = '' OR expires > ?)",
        (token, clock.today().isoformat()),
    ).fetchone()  # fmt: skip
    if found is None:
        return None
    owner = database().execute("SELECT * FROM users WHERE id = ?", (found["user_id"],)).fetchone()
    return owner, frozenset(found["scopes"].split())


def level_of(project: sqlite3.Row, who: User | None) -> int:
    """The highest role of somebody in a project or its group."""
    if who is None:
        return 0
    rows = database().execute(
        "SELECT role FROM members WHERE user_id = :user AND (project_id = :project OR namespace_id = :namespace)"
        " AND (expires = '' OR expires > :today)"
        " UNION ALL SELECT 'owner' FROM namespaces WHERE id = :namespace AND user_id = :user",
        {"user": who["id"], "project": project["id"], "namespace": project["namespace_id"],
         "today": clock.today().isoformat()},
    )  # fmt: skip
    return max((ROLES[row[0]] for row in rows), default=0)


def visible(alias: str = "projects") -> tuple[str, dict[str, object]]:
    """An SQL condition for projects that who asks may see, and its values."""
    if g.user is None:
        return f"{alias}.visibility = 'public'", {}
    return f"({alias}.visibility IN ('public', 'internal') OR {holds('guest', alias)})", {"viewer": g.user["id"]}


def holds(role: str, alias: str = "projects") -> str:
    """An SQL condition for projects in which who asks has at least ``role``."""
    if g.user is None:
        return "0"
    number, today = int(g.user["id"]), clock.today().isoformat()
    roles = ", ".join(f"'{each}'" for each in ROLES if ROLES[each] >= ROLES[role])
    return (
        f"(EXISTS (SELECT 1 FROM members WHERE members.user_id = {number} AND members.role IN ({roles})"
        f" AND (members.project_id = {alias}.id OR members.namespace_id = {alias}.namespace_id)"
        f" AND (members.expires = '' OR members.expires > '{today}')) OR EXISTS (SELECT 1 FROM namespaces"
        f" WHERE namespaces.id = {alias}.namespace_id AND namespaces.user_id = {number}))"
    )


def find_project(path: str | int) -> Project | None:
    """The project at a path or with a number, if who asks may see it."""
    column = "id" if isinstance(path, int) else "full_path"
    row = database().execute(f"SELECT * FROM projects WHERE {column} = ?", (path,)).fetchone()
    if row is None:
        return None
    level = level_of(row, g.user)
    is_visible = row["visibility"] == "public" or level > 0 or (row["visibility"] == "internal" and g.user is not None)
    return Project(row=row, level=level) if is_visible else None


def project() -> Project:
    """The project of this request's address."""
    found: Project = g.project
    return found


def need(role: str) -> User:
    """Who asks, who must have a role in the project."""
    who = me()
    if not project().may(role):
        abort(403, description=f"That takes the role of {role} in this project.")
    return who


def store() -> Store:
    """The repositories, over the request's connection."""
    return Store(database())


def project_pages(name: str, *, code: bool = False) -> Blueprint:
    """A blueprint of pages below ``/GROUP/PROJECT``; with ``code`` only for those who may read the files."""
    pages = Blueprint(name, __name__, url_prefix="/<namespace>/<name>")

    @pages.url_value_preprocessor
    def load(_endpoint: str | None, values: dict[str, str] | None) -> None:
        values = values if values is not None else {}
        g.wanted = f"{values.pop('namespace')}/{values.pop('name')}"

    @pages.before_request
    def check() -> None:
        found = find_project(g.wanted)
        if found is None and g.user is None and request.method == "GET":
            # Whether it is private or not there is not told to those who are not signed in.
            _sign_in_first()
        if found is None or (code and not found.code):
            abort(404)
        if request.method == "POST" and found.row["archived"] and "unarchive" not in request.path:
            abort(403, description="This project is archived: it can be read only.")
        g.project = found

    return pages
