"""The map's pages: search, places, what is at a position, directions. All of it works without scripts."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path

from flask import Blueprint, Flask, Response, abort, redirect, render_template, request
from flask.typing import ResponseReturnValue

from pytest_webarena.embedded import world
from pytest_webarena.embedded.map.finding import Found, by_id, find, near, street_at
from pytest_webarena.embedded.map.routing import ENGINES, Network, Route, distance_text, duration_text
from pytest_webarena.embedded.web import Bound, data_dir, database, new_site

__all__ = ["create_app"]

_PER_PAGE = 20
_ENGINE_NAMES = {"car": "Car", "bike": "Bicycle", "foot": "Foot"}
_WHOLE = (54.50, -1.80, 10)
"""The view in which the whole region is seen: latitude, longitude, zoom."""

_ZOOMS = ((15, 0.01), (14, 0.02), (13, 0.05), (12, 0.1), (11, 0.2), (10, 0.5))
"""From which width on, in degrees, a zoom shows too little."""

pages = Blueprint("pages", __name__)


@dataclass(frozen=True, slots=True)
class _View:
    lat: float
    lon: float
    zoom: int


@dataclass(frozen=True, slots=True)
class _End:
    """One end of a way: what was typed, what that is, and what else it might be."""

    typed: str
    found: Found | None
    others: tuple[Found, ...] = ()


def create_app(data_dir: Path) -> Bound:
    """The map over the database in ``data_dir``."""
    return Bound(_site(), data_dir)


@functools.cache
def _site() -> Flask:
    site = new_site("map", __package__ or __name__)
    site.jinja_env.filters.update(distance=distance_text, duration=duration_text, markers=_markers)
    site.jinja_env.globals.update(region=world.REGION, engines=_ENGINE_NAMES)
    site.register_blueprint(pages)
    # Compile now what forked replicas would otherwise each do on first use.
    for name in site.jinja_env.list_templates():
        site.jinja_env.get_template(name)
    return site


def _network() -> Network:
    """The ways of this request's data, which nobody can change: a copy has them from what it is a copy of."""
    status = (data_dir() / "main.sqlite3").stat()
    return _network_of(status.st_size, status.st_mtime_ns)


@functools.lru_cache(maxsize=4)
def _network_of(_size: int, _changed: int) -> Network:
    connection = database()
    positions = {row["id"]: (row["lat"], row["lon"]) for row in connection.execute("SELECT * FROM nodes")}
    edges = [(row["a"], row["b"], row["metres"], row["kind"], row["name"])
             for row in connection.execute("SELECT * FROM edges ORDER BY rowid")]  # fmt: skip
    return Network(positions, edges)


@pages.get("/")
def front() -> ResponseReturnValue:
    counts = database().execute(
        "SELECT category, count(*) AS total FROM places GROUP BY category HAVING total >= 8 ORDER BY category"
    )
    return render_template("front.html", view=_asked_view(), categories=counts.fetchall())


@pages.get("/search")
def search() -> ResponseReturnValue:
    wanted = request.args.get("query", "").strip()[:200]
    if position := _position(wanted):
        return redirect(f"/reverse?lat={position[0]}&lon={position[1]}", 303)
    page = _page()
    total, hits = find(wanted, (page - 1) * _PER_PAGE, _PER_PAGE) if wanted else (0, [])
    last = max(-(-total // _PER_PAGE), 1)
    if page > last:
        abort(404)
    view = _around(hits) if hits else _asked_view()
    return render_template("search.html", view=view, wanted=wanted, total=total, hits=hits, page=page, last=last,
                           first=(page - 1) * _PER_PAGE + 1)  # fmt: skip


@pages.get("/place/<int:number>")
def place(number: int) -> ResponseReturnValue:
    found = by_id(number)
    if found is None:
        abort(404)
    near_by = [each for each in near(found.lat, found.lon, 7) if each.id != number][:6]
    return render_template("place.html", view=_View(found.lat, found.lon, 16), place=found, near=near_by)


@pages.get("/reverse")
def reverse() -> ResponseReturnValue:
    lat, lon = request.args.get("lat", type=float), request.args.get("lon", type=float)
    if lat is None or lon is None or not (-90 <= lat <= 90 and -180 <= lon <= 180):
        abort(400)
    return render_template("reverse.html", view=_View(lat, lon, 16), street=street_at(lat, lon), near=near(lat, lon, 8))


@pages.get("/directions")
def directions() -> ResponseReturnValue:
    engine = request.args.get("engine", "car")
    if engine not in ENGINES:
        abort(400)
    start, finish = _end("from"), _end("to")
    route = None
    if start.found and finish.found:
        route = _network().route(start.found.node, finish.found.node, engine)
    points = [each.found for each in (start, finish) if each.found]
    view = _around(points) if points else _asked_view()
    line = _line(route, start.found, finish.found) if route and start.found and finish.found else []
    return render_template(
        "directions.html", view=view, engine=engine, start=start, finish=finish, route=route, line=line
    )


@pages.get("/layers/<name>.json")
def layer(name: str) -> ResponseReturnValue:
    row = database().execute("SELECT body FROM layers WHERE name = ?", (name,)).fetchone()
    if row is None:
        abort(404)
    response = Response(row["body"], mimetype="application/geo+json")
    response.headers["Cache-Control"] = "max-age=3600"
    return response


@pages.get("/about")
def about() -> ResponseReturnValue:
    return render_template("about.html", view=None)


def _markers(places: list[Found]) -> str:
    """What the drawn map marks, as JSON; escaped where it is put in."""
    return json.dumps([{"id": each.id, "name": each.name, "lat": each.lat, "lon": each.lon} for each in places])


def _page() -> int:
    return max(request.args.get("page", 1, type=int) or 1, 1)


def _asked_view() -> _View:
    lat, lon, zoom = _WHOLE
    return _View(
        min(max(request.args.get("lat", lat, type=float), -90), 90),
        min(max(request.args.get("lon", lon, type=float), -180), 180),
        min(max(request.args.get("zoom", zoom, type=int), 8), 18),
    )


def _around(points: list[Found]) -> _View:
    """The view that shows all of these."""
    lats, lons = [each.lat for each in points], [each.lon for each in points]
    wide = max(max(lats) - min(lats), (max(lons) - min(lons)) * 0.58)
    zoom = next((zoom for zoom, limit in _ZOOMS if wide < limit), 9)
    return _View(round((max(lats) + min(lats)) / 2, 5), round((max(lons) + min(lons)) / 2, 5), zoom)


def _position(text: str) -> tuple[float, float] | None:
    """``54.41, -1.905`` as latitude and longitude."""
    numbers = re.fullmatch(r"\s*(-?\d{1,2}(?:\.\d+)?)\s*[, ]\s*(-?\d{1,3}(?:\.\d+)?)\s*", text)
    if not numbers:
        return None
    lat, lon = float(numbers[1]), float(numbers[2])
    return (lat, lon) if abs(lat) <= 90 and abs(lon) <= 180 else None


def _end(name: str) -> _End:
    typed = request.args.get(name, "").strip()[:200]
    if not typed:
        return _End(typed, None)
    if number := re.fullmatch(r"place:(\d{1,9})", typed):
        found = by_id(int(number[1]))
        return _End(found.title if found else typed, found)
    if position := _position(typed):
        here = near(*position, 1)[0]
        return _End(typed, here.at(*position))
    _, hits = find(typed, 0, 5)
    return _End(typed, hits[0], tuple(hits[1:])) if hits else _End(typed, None)


def _line(route: Route, start: Found, end: Found) -> list[list[float]]:
    positions = _network().positions
    inner = [list(positions[node]) for node in route.nodes]
    return [[start.lat, start.lon], *inner, [end.lat, end.lon]]
