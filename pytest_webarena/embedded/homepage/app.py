"""The start page's site object and its front matters: start, sign-in, account, passwords."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from datetime import date, datetime
from pathlib import Path

from flask import Blueprint, Flask, g, redirect, render_template, request, session, url_for
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded import clock, world
from pytest_webarena.embedded.homepage import agenda, calculator, converter, manuals, scratchpad
from pytest_webarena.embedded.homepage.accounts import load_user, owner, verify
from pytest_webarena.embedded.web import Bound, database, local, new_site

__all__ = ["SITES_VARIABLE", "create_app"]

SITES_VARIABLE = "WEBARENA_SITES"
"""Environment variable with the sites to link to: ``shopping=http://shopping.test/,reddit=http://…``; unset: none."""

_LINKS = "webarena.sites"
_REACHABLE = "X-Webarena-Sites"
"""Header with the names of the sites that this visitor can reach; without it, all are linked to."""
_FACTS = world.facts()

front = Blueprint("front", __name__)


def create_app(data_dir: Path, *, sites: Mapping[str, str] | None = None) -> Bound:
    """The start page over the database in ``data_dir``.

    ``sites`` maps the names of the sites to link to onto their addresses; by default the variable
    `SITES_VARIABLE` tells them. What is installed decides nothing: pages must not differ between machines.
    """
    app = Bound(_site(), data_dir)
    app.environment[_LINKS] = _configured_sites() if sites is None else dict(sites)
    return app


def _configured_sites() -> dict[str, str]:
    pairs = (item.partition("=") for item in os.environ.get(SITES_VARIABLE, "").split(",") if item.strip())
    return {name.strip(): url.strip() for name, _, url in pairs}


@functools.cache
def _site() -> Flask:
    site = new_site("homepage", __package__ or __name__)
    site.jinja_env.filters.update(day=_day, longday=_long_day, crowns=_crowns)
    site.jinja_env.globals.update(region=world.REGION, town=_FACTS["town"], person=_FACTS["person"])
    site.before_request(load_user)
    site.context_processor(lambda: {"user": g.get("user"), "today": clock.today()})
    for blueprint in (front, calculator.pages, scratchpad.pages, manuals.pages, converter.pages, agenda.pages):
        site.register_blueprint(blueprint)
    # Compile and render now what forked replicas would otherwise each do on first use.
    for name in site.jinja_env.list_templates():
        site.jinja_env.get_template(name)
    manuals.articles()
    return site


def _as_date(value: str | date) -> date:
    return datetime.fromisoformat(value) if isinstance(value, str) else value


def _day(value: str | date) -> str:
    """``14 May 2025``"""
    when = _as_date(value)
    return f"{when.day} {when:%B %Y}"


def _long_day(value: str | date) -> str:
    """``Wednesday 14 May 2025``"""
    return f"{_as_date(value):%A} {_day(value)}"


def _crowns(amount: int) -> str:
    return "free" if amount == 0 else "1 crown" if amount == 1 else f"{amount} crowns"


def _sites() -> list[dict[str, str]]:
    links: Mapping[str, str] = request.environ[_LINKS]
    reachable = request.headers.get(_REACHABLE)
    if reachable is not None:
        names = {name.strip() for name in reachable.split(",")}
        links = {name: url for name, url in links.items() if name in names}
    return [
        {"title": site.title, "blurb": site.blurb, "url": links[site.name]}
        for site in world.SITES
        if site.name in links and site.name != "homepage"
    ]


@front.get("/")
def start() -> ResponseReturnValue:
    notes = database().execute(
        "SELECT id, title, updated FROM notes WHERE owner = ? ORDER BY pinned DESC, updated DESC, id DESC LIMIT 3",
        (owner(),),
    )
    coming = [event for event in world.EVENTS if event.last >= clock.today()][:4]
    return render_template("start.html", sites=_sites(), events=coming, notes=notes.fetchall())


@front.get("/passwords")
@front.get("/password.html")  # where WebArena's own start page has it
def passwords() -> ResponseReturnValue:
    wanted = request.args.get("q", "").strip()
    words = wanted.lower().split()
    people = [
        person
        for person in world.PEOPLE
        if all(word in f"{person.name} {person.username} {person.occupation}".lower() for word in words)
    ]
    return render_template("passwords.html", people=people, wanted=wanted, sites=_sites())


@front.get("/account")
def account() -> ResponseReturnValue:
    if g.user is None:
        return redirect(url_for("front.signin", next="/account"), 303)
    counts = database().execute(
        "SELECT (SELECT count(*) FROM notes WHERE owner = :owner) AS notes,"
        " (SELECT count(*) FROM calculations WHERE owner = :owner) AS calculations",
        {"owner": owner()},
    )
    return render_template("account.html", counts=counts.fetchone())


@front.route("/signin", methods=["GET", "POST"])
def signin() -> ResponseReturnValue:
    target = local(request.values.get("next", ""))
    if request.method == "GET":
        return render_template("signin.html", target=target, username="", error="")
    username = request.form.get("username", "")
    person = verify(username, request.form.get("password", ""))
    if person is None:
        error = "This user name and password don’t belong together."  # noqa: RUF001
        return render_template("signin.html", target=target, username=username, error=error), 422
    session.clear()
    session["user"] = person.username
    return redirect(target or "/", 303)


@front.post("/signout")
def signout() -> ResponseReturnValue:
    session.clear()
    return redirect("/", 303)
