"""Lists of posts and comments: what is asked for, in which order, from which time, a page at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from flask import abort, request

from pytest_webarena.embedded import clock
from pytest_webarena.embedded.reddit.accounts import me
from pytest_webarena.embedded.web import database

__all__ = ["PER_PAGE", "SORTS", "WINDOWS", "Page", "comments_of", "page_number", "post_row", "posts", "windowed"]

PER_PAGE = 25

_CONTROVERSIAL = (
    "CASE WHEN min({t}up, {t}down) > 0 THEN ({t}up + {t}down) * 1.0 * min({t}up, {t}down) / max({t}up, {t}down)"
    " ELSE 0 END DESC"
)
_ORDERS = {
    "hot": "p.heat DESC",
    "new": "p.created DESC",
    "active": "p.active DESC",
    "top": "p.up - p.down DESC",
    "controversial": _CONTROVERSIAL.format(t="p."),
    "most_commented": "p.comments DESC",
}
SORTS: Mapping[str, str] = {
    "hot": "Hot", "new": "New", "active": "Active", "top": "Top", "controversial": "Controversial",
    "most_commented": "Most commented",
}  # fmt: skip
WINDOWS: Mapping[str, str] = {
    "day": "Past 24 hours", "week": "Past week", "month": "Past month", "year": "Past year", "all": "All time",
}  # fmt: skip
_DAYS = {"day": 1, "week": 7, "month": 30, "year": 365}
windowed = frozenset({"top", "controversial", "most_commented"})
"""Orders that can be asked for within a time."""

_POSTS = """
SELECT p.id, p.title, p.body, p.url, p.image, p.created, p.edited, p.up, p.down, p.up - p.down AS score, p.comments,
    p.pinned, p.locked, p.removed, p.deleted, p.user AS user_id, f.id AS forum_id, f.name AS forum, u.name AS author,
    coalesce(v.choice, 0) AS mine
FROM posts p JOIN forums f ON f.id = p.forum JOIN users u ON u.id = p.user
LEFT JOIN post_votes v ON v.post = p.id AND v.user = :me
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One page of a list."""

    rows: Sequence[sqlite3.Row]
    number: int
    more: bool
    sort: str = "hot"
    window: str = "all"
    base: str = ""
    """Path of the list without an order; its links are ``base/new`` and so on."""
    extra: Mapping[str, str] = field(default_factory=dict)


def page_number() -> int:
    """Which page is asked for, from 1."""
    return min(max(request.args.get("page", 1, type=int) or 1, 1), 10_000)


def posts(
    where: str = "1", values: Mapping[str, object] | None = None, *, sort: str = "hot", base: str = "",
    pinned_first: bool = False,
) -> Page:  # fmt: skip
    """Posts that meet ``where``, without those that are gone or whose authors the visitor blocked."""
    if sort not in _ORDERS:
        abort(404)
    window = request.args.get("t", "all") if sort in windowed else "all"
    if window not in WINDOWS:
        abort(400)
    conditions = [where, "NOT p.deleted", "NOT p.removed"]
    given: dict[str, object] = {"me": me(), **(values or {})}
    if me():
        conditions.append("p.user NOT IN (SELECT blocked FROM blocks WHERE user = :me)")
    if window in _DAYS:
        conditions.append("p.created >= :since")
        given["since"] = (clock.now() - timedelta(days=_DAYS[window])).strftime("%Y-%m-%dT%H:%M:%S")
    number = page_number()
    order = ("p.pinned DESC, " if pinned_first else "") + _ORDERS[sort]
    # Sorting and paging happen on numbers alone; what is shown is fetched for one page of them.
    inner = (
        f"SELECT p.id FROM posts p WHERE {' AND '.join(conditions)} ORDER BY {order}, p.id DESC"
        f" LIMIT {PER_PAGE + 1} OFFSET {(number - 1) * PER_PAGE}"
    )
    rows = database().execute(f"{_POSTS} WHERE p.id IN ({inner}) ORDER BY {order}, p.id DESC", given).fetchall()
    return Page(rows=rows[:PER_PAGE], number=number, more=len(rows) > PER_PAGE, sort=sort, window=window, base=base)


def post_row(number: int) -> sqlite3.Row | None:
    """One post as lists show it, also one that is gone."""
    found: sqlite3.Row | None = database().execute(
        f"{_POSTS} WHERE p.id = :number", {"me": me(), "number": number}
    ).fetchone()  # fmt: skip
    return found


def comments_of(where: str, values: Mapping[str, object] | None = None) -> Page:
    """Comments that meet ``where``, newest first, each with its post."""
    number = page_number()
    rows = database().execute(
        "SELECT c.id, c.body, c.created, c.up - c.down AS score, u.name AS author, p.id AS post, p.title,"
        " f.name AS forum"
        " FROM comments c JOIN users u ON u.id = c.user JOIN posts p ON p.id = c.post JOIN forums f ON f.id = p.forum"
        f" WHERE {where} AND NOT c.deleted AND NOT c.removed AND NOT p.deleted AND NOT p.removed"
        " AND c.user NOT IN (SELECT blocked FROM blocks WHERE user = :me)"
        f" ORDER BY c.id DESC LIMIT {PER_PAGE + 1} OFFSET {(number - 1) * PER_PAGE}",
        {"me": me(), **(values or {})},
    ).fetchall()  # fmt: skip
    return Page(rows=rows[:PER_PAGE], number=number, more=len(rows) > PER_PAGE)
