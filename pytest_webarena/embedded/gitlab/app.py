"""The code hosting as a whole: one Flask object, its pages in blueprints, what templates can use."""

from __future__ import annotations

import functools
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, urlencode

from flask import Flask, Response, g, request

from pytest_webarena.embedded import clock, world
from pytest_webarena.embedded.gitlab import (
    accounts,
    api,
    explore,
    file_pages,
    issues,
    members,
    merge_requests,
    planning,
    projects,
    uploading,
    web_edit,
)
from pytest_webarena.embedded.gitlab.access import load_user
from pytest_webarena.embedded.gitlab.text import rendered
from pytest_webarena.embedded.gitlab.wire import wire
from pytest_webarena.embedded.web import CONTENT_POLICY, Bound, database, new_site

__all__ = ["create_app"]


def create_app(data_dir: Path) -> Bound:
    """The code hosting over the database in ``data_dir``."""
    return Bound(_site(), data_dir)


@functools.cache
def _site() -> Flask:
    site = new_site("gitlab", __package__ or __name__)
    site.url_map.strict_slashes = False
    site.jinja_env.filters.update(markdown=rendered, day=_day, ago=_ago, address=quote, ink=_ink)
    site.jinja_env.globals.update(title_of_site="Millrace", region=world.REGION, with_query=_with_query)
    site.before_request(load_user)
    site.context_processor(_common)
    site.after_request(_allow_label_colours)
    for module in (accounts, explore, api, projects, members, file_pages, web_edit, uploading, issues, planning,
                   merge_requests):  # fmt: skip
        site.register_blueprint(module.pages)
    site.register_blueprint(wire)
    # Compile now what forked replicas would otherwise each do on first use.
    for name in site.jinja_env.list_templates():
        site.jinja_env.get_template(name)
    return site


def _allow_label_colours(response: Response) -> Response:
    """The colours of labels are in the data, so they stand in the page; no text of visitors can become a style."""
    response.headers.setdefault("Content-Security-Policy", f"{CONTENT_POLICY}; style-src 'self' 'unsafe-inline'")
    return response


def _common() -> dict[str, object]:
    """What every page's head shows."""
    who = g.get("user")
    if who is None:
        return {"user": None, "project": g.get("project")}
    waiting, values = accounts.waiting(who)
    counts = (
        database()
        .execute(
            "SELECT (SELECT count(*) FROM todos JOIN projects ON projects.id = todos.project_id"
            f"  WHERE {waiting} AND todos.state = 'pending') AS todos,"
            " (SELECT count(*) FROM issues JOIN assigned ON item = 'issue' AND item_id = issues.id"
            "  WHERE user_id = :user AND state = 'opened') AS issues,"
            " (SELECT count(*) FROM merge_requests WHERE state = 'opened' AND id IN"
            "  (SELECT item_id FROM assigned WHERE item = 'merge_request' AND user_id = :user"
            "   UNION SELECT merge_request_id FROM reviewers WHERE user_id = :user)) AS merge_requests",
            {**values, "user": who["id"]},
        )
        .fetchone()
    )
    return {"user": who, "counts": counts, "project": g.get("project")}


def _day(text: str) -> str:
    """``2025-05-14T09:00:00`` or ``2025-05-14`` as ``14 May 2025``."""
    if not text:
        return ""
    moment = datetime.fromisoformat(text)
    return f"{moment.day} {moment:%b %Y}"


_UNITS = ((31536000, "year"), (2592000, "month"), (604800, "week"), (86400, "day"), (3600, "hour"), (60, "minute"))


def _ago(text: str) -> str:
    """How long ago, in the largest unit that fits."""
    seconds = (clock.now().replace(tzinfo=None) - datetime.fromisoformat(text)).total_seconds()
    for size, unit in _UNITS:
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'s' if number > 1 else ''} ago"
    return "just now"


def _ink(color: str) -> str:
    """Black or white, whichever can be read on a colour like ``#2b6a3f``."""
    try:
        red, green, blue = (int(color[n : n + 2], 16) / 255 for n in (1, 3, 5))
    except ValueError:
        return "#000"
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in (red, green, blue)]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#fff" if light < 0.179 else "#000"


def _with_query(**changes: object) -> str:
    """This page's address with other parameters; None takes one out."""
    values = [(key, value) for key, value in request.args.items(multi=True) if key not in changes]
    values += [(key, str(value)) for key, value in changes.items() if value is not None]
    return f"{quote(request.path)}?{urlencode(values)}" if values else quote(request.path)
