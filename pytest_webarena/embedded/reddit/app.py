"""The forum's site object: what all its pages know, and which modules they come from."""

from __future__ import annotations

import functools
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from flask import Flask, g, request

from pytest_webarena.embedded import clock, world
from pytest_webarena.embedded.reddit import (
    accounts,
    api,
    feeds,
    finding,
    forums,
    mail,
    moderating,
    posting,
    reading,
    users,
)
from pytest_webarena.embedded.reddit.prose import prose, slug
from pytest_webarena.embedded.web import Bound, new_site

__all__ = ["create_app"]


def create_app(data_dir: Path) -> Bound:
    """The forum over the database in ``data_dir``."""
    return Bound(_site(), data_dir)


@functools.cache
def _site() -> Flask:
    site = new_site("reddit", __package__ or __name__)
    site.jinja_env.filters.update(prose=prose, slug=slug, ago=_ago, moment=_moment, day=_day, host=_host, count=_count)
    site.jinja_env.globals.update(region=world.REGION, post_path=post_path)
    site.url_map.redirect_defaults = False  # /all/hot is an address, too
    site.before_request(accounts.load_user)
    site.context_processor(lambda: {"user": g.get("user"), "here": request.full_path.rstrip("?")})
    for module in (reading, forums, posting, users, mail, moderating, finding, feeds, api, accounts):
        site.register_blueprint(module.pages)
    # Compile now what forked replicas would otherwise each do on first use.
    for name in site.jinja_env.list_templates():
        site.jinja_env.get_template(name)
    return site


def post_path(forum: str, number: int, title: str) -> str:
    """``/f/books/1204/which-edition-to-lend``"""
    return f"/f/{forum}/{number}/{slug(title)}"


def _ago(value: str) -> str:
    seconds = int((clock.now().replace(tzinfo=None) - datetime.fromisoformat(value)).total_seconds())
    for size, name in ((31_536_000, "year"), (2_592_000, "month"), (86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            return _count(seconds // size, name) + " ago"
    return "just now"


def _moment(value: str) -> str:
    """``14 May 2025, 09:00``"""
    when = datetime.fromisoformat(value)
    return f"{when.day} {when:%B %Y, %H:%M}"


def _day(value: str) -> str:
    when = datetime.fromisoformat(value)
    return f"{when.day} {when:%B %Y}"


def _host(address: str) -> str:
    return urlsplit(address).hostname or ""


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
