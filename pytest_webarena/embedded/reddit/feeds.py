"""Feeds: Atom and RSS of a forum, of all or the featured forums, Atom of a member."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import format_datetime

from flask import Blueprint, make_response, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded.reddit import listing
from pytest_webarena.embedded.reddit.accounts import find_forum
from pytest_webarena.embedded.reddit.users import find_user

__all__ = ["pages"]

_TYPES = {"atom": "application/atom+xml", "rss": "application/rss+xml"}

pages = Blueprint("feeds", __name__)


@pages.get("/<any(all, featured):selection>/<any(hot, new, active):sort>.<any(atom, rss):form>")
def selection(selection: str, sort: str, form: str) -> ResponseReturnValue:
    where = "1" if selection == "all" else "p.forum IN (SELECT id FROM forums WHERE featured)"
    return _feed(form, f"The Commons: {selection}", f"/{selection}/{sort}", where, {}, sort)


@pages.get("/f/<name>.<any(atom, rss):form>", defaults={"sort": "new"})
@pages.get("/f/<name>/<any(hot, new, active):sort>.<any(atom, rss):form>")
def forum(name: str, sort: str, form: str) -> ResponseReturnValue:
    found = find_forum(name)
    return _feed(form, found["title"], f"/f/{found['name']}/{sort}", "p.forum = :forum", {"forum": found["id"]}, sort)


@pages.get("/user/<name>.<any(atom, rss):form>")
def user(name: str, form: str) -> ResponseReturnValue:
    found = find_user(name)
    title = f"Posts by {found['name']}"
    return _feed(form, title, f"/user/{found['name']}", "p.user = :them", {"them": found["id"]}, "new")


def _feed(form: str, title: str, path: str, where: str, values: dict[str, object], sort: str) -> ResponseReturnValue:
    page = listing.posts(where, values, sort=sort)
    updated = max((row["edited"] or row["created"] for row in page.rows), default="2025-01-01T00:00:00")
    text = render_template(f"feed.{form}", title=title, path=path, rows=page.rows, updated=updated,
                           host=request.host_url.rstrip("/"), date=_date)  # fmt: skip
    response = make_response(text)
    response.content_type = f"{_TYPES[form]}; charset=utf-8"
    return response


def _date(value: str) -> str:
    """As RSS wants it: ``Wed, 14 May 2025 09:00:00 +0000``."""
    return format_datetime(datetime.fromisoformat(value).replace(tzinfo=UTC))
