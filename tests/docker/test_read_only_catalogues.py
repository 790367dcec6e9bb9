"""The read-only sites of WebArena on doubles: Wikipedia, start page, and the map with its parts."""

from __future__ import annotations

import io
import json
import tarfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.base import BackendContext
from pytest_webarena.sites.backends.docker.labels import APP, RUN
from pytest_webarena.sites.catalogues.loading import load_catalogue
from tests.docker.test_manifests import get

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = [pytest.mark.docker, pytest.mark.browser]

Run = Callable[..., Any]

DOUBLES = Path(__file__).with_name("read_only_doubles")
VOLUMES = DOUBLES / "volumes"
DATABASE_SECONDS = 5.0
"""How long the double of the map's database takes until it is ready."""
LABEL = "pytest-webarena.read-only-double"
MAP = ("map", "map-database", "map_tiles", "map_places", "map_routes_car", "map_routes_bike", "map_routes_foot")
APPS = load_catalogue("webarena").apps
IMAGES = {
    app.docker.image: name.removesuffix("_car").replace("-", "_")
    for name in ("wikipedia", *MAP[:5])
    if (app := APPS[name]).docker is not None
}
VERIFIED = {
    app.docker.image: f"verified_{name}"
    for name in ("wikipedia", "map")
    if (app := load_catalogue("webarena-verified").apps[name]).docker is not None
}
HOMEPAGE = """<a href="<your-server-hostname>:7770">Shop</a> <a href="<your-server-hostname>:3000">Map</a>
<a href="http://metis.lti.cs.cmu.edu:8888/wikipedia_en_all_maxi_2022-05/A/User:The_other_Kiwix_guy/Landing">Wiki</a>
<a href="/password.html">Passwords</a>"""
HOMEPAGE_APP = """
from flask import Flask, render_template
app = Flask(__name__)

@app.route("/")
def index():
    return render_template("index.html")

@app.route("/password.html")
def password():
    return "<title>Passwords</title>byteblaze"
"""
READ = """
tasks:
  - id: wikipedia
    intent: Where is Pittsburgh?
    sites: [wikipedia]
    checks:
      - page: {includes: A city in Pennsylvania.}
    solution:
      - click: text=Pittsburgh
      - stop
  - id: places
    intent: What is the full address of the university?
    sites: [map]
    checks:
      - page: {includes: "Carnegie Mellon University, 5000, Forbes Avenue"}
      - page: {open: /, locate: "css=#tile", includes: "width of the tile: 256"}
      - page: {open: /, locate: "css=#users", includes: a mapper}
    solution:
      - type: {"css=[name=query]": Carnegie}
      - press: Enter
      - stop
"""
"""Tasks on Wikipedia and the map, for both catalogues."""
TASKS = (
    READ
    + """\
  - &route
    id: by-car
    intent: How long does it take by car?
    sites: [map]
    checks: [{page: {locate: "css=#way", includes: 3140 s}}]
    solution:
      - goto: map:/directions?engine=car&route=-79.95,40.44;-80.35,40.84
      - stop
  - <<: *route
    id: by-bike
    checks: [{page: {locate: "css=#way", includes: 12558 s}}]
    solution:
      - goto: map:/directions?engine=bike&route=-79.95,40.44;-80.35,40.84
      - stop
  - <<: *route
    id: on-foot
    checks: [{page: {locate: "css=#way", includes: 62791 s}}]
    solution:
      - goto: map:/directions?engine=foot&route=-79.95,40.44;-80.35,40.84
      - stop
  - id: homepage
    intent: Go to the map, by the encyclopedia.
    sites: [homepage]
    reach: environment
    checks: [{page: {locate: "css=#users", includes: a mapper}}, {untouched: unlisted}]
    solution:
      - goto: homepage:/password.html
      - back
      - click: text=Wiki
      - back
      - click: text=Map
      - stop
"""
)
OF_THE_SUITE = """
kind: scripted
tasks:
  webarena-verified.8:
    - goto: map:/directions?engine=foot&route=-79.95,40.44;-79.94,40.45
    - stop: '{"task_type": "retrieve", "status": "NOT_FOUND_ERROR", "retrieved_data": null, "error_details": "none"}'
  webarena-verified.97:
    - goto: wikipedia:/wikipedia_en_all_maxi_2022-05/A/Pittsburgh
    - goto: map:/directions?engine=car&route=-79.95,40.44;-71.09,42.36
    - stop: '{"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": ["914km"], "error_details": null}'
"""


@pytest.fixture(scope="module")
def doubles(engine: DockerClient, python_image: str, real_names: None) -> Iterator[None]:
    """Images and volumes with the names of the real ones, while the tests run. Real ones are never replaced."""
    kept = {tag for image in engine.images.list() if LABEL not in image.labels for tag in image.tags}
    kept |= {volume.name for volume in engine.volumes.list() if LABEL not in (volume.attrs["Labels"] or {})}
    names = [each.name for each in VOLUMES.iterdir()]
    if real := kept & {*names, *(name if ":" in name else f"{name}:latest" for name in {**IMAGES, **VERIFIED})}:
        pytest.skip(f"this engine has images or volumes of that name: {', '.join(sorted(real))}")
    for name, stage in {**IMAGES, **VERIFIED}.items():
        engine.images.build(
            path=str(DOUBLES),
            buildargs={"BASE": python_image},
            labels={LABEL: stage},
            target=stage,
            tag=name,
            rm=True,
        )
    for name in names:
        engine.volumes.create(name, labels={LABEL: name})
    mounts = {name: {"bind": f"/volumes/{name}", "mode": "rw"} for name in names}
    filled = engine.containers.create(python_image, ["true"], volumes=mounts)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(VOLUMES, "volumes")
    filled.put_archive("/", buffer.getvalue())
    filled.remove()
    yield
    for name in names:
        engine.volumes.get(name).remove(force=True)
    for name in {**IMAGES, **VERIFIED}:
        engine.images.remove(name, force=True)


@pytest.fixture
def start_page(tmp_path: Path, engine: DockerClient, real_names: None) -> Iterator[None]:
    """The start page's image, built from a folder like that in WebArena's repository."""
    if any("webarena-homepage:latest" in image.tags for image in engine.images.list()):
        pytest.skip("this engine has an image webarena-homepage")
    source = tmp_path / "webarena-homepage"
    (source / "templates").mkdir(parents=True)
    (source / "templates" / "index.html").write_text(HOMEPAGE)
    (source / "app.py").write_text(HOMEPAGE_APP)
    assert main(["sites", "images", "homepage", str(source), "--base=host"]) == 0
    yield
    engine.images.remove("webarena-homepage", force=True)


@pytest.mark.exhaustive
@pytest.mark.usefixtures("doubles", "start_page")
def test_webarena_tasks_pass_on_each_read_only_site_and_across_them(
    pytester: pytest.Pytester, engine: DockerClient
) -> None:
    """A lease of the map includes its six parts, each under its own name; all tasks share one replica of each."""
    began = time.time()
    (pytester.path / "real.tasks.yaml").write_text(TASKS)
    result = pytester.runpytest_subprocess("--sites=webarena", "--run-dir=run", "--env-retries=0", timeout=500)
    result.assert_outcomes(passed=6)
    records = [json.loads(file.read_text()) for file in (pytester.path / "run" / "trials").glob("*/trial.json")]
    served = {record["key"]["task"]: record["replicas"] for record in records}
    assert served["places"].keys() == set(MAP)
    assert served["places"] == served["on-foot"]
    (evidence,) = (pytester.path / "run" / "trials").glob("homepage.*/attempt-1/evidence.json")
    reached = {site["site"]: site for site in json.loads(evidence.read_text())["reached"]}
    assert reached.keys() == {"map", "wikipedia"}  # the map's parts come with it
    assert {site["changed"] for site in reached.values()} == {""}
    starts = started(engine, began)
    assert starts.keys() >= {*MAP}
    assert max(starts[name] for name in MAP[1:]) < starts["map"]  # it starts when those that it depends on are ready
    assert starts["map"] - starts["map-database"] > DATABASE_SECONDS


def started(engine: DockerClient, since: float) -> dict[str, float]:
    """Return when each app's container started, by the engine's clock, in the run with the map's database."""
    runs: dict[str, dict[str, float]] = {}
    wanted = {"type": "container", "event": "start", "label": APP}
    for event in engine.events(since=int(since), until=int(time.time()) + 1, filters=wanted, decode=True):
        labels = event["Actor"]["Attributes"]
        runs.setdefault(labels[RUN], {})[labels[APP]] = event["timeNano"] / 1e9
    (found,) = (each for each in runs.values() if "map-database" in each)
    return found


@pytest.mark.exhaustive
@pytest.mark.usefixtures("doubles")
def test_verified_tasks_pass_on_slim_images(pytester: pytest.Pytester) -> None:
    """Tasks with solutions, then two published ones: Wikipedia and the map's pages, tiles, places and routes answer as
    the tasks and evaluators of WebArena-Verified expect.
    """
    (pytester.path / "slim.tasks.yaml").write_text(READ)
    result = pytester.runpytest_subprocess("--sites=webarena-verified", "--env-retries=0", timeout=300)
    result.assert_outcomes(passed=2)
    (pytester.path / "agents").mkdir()
    (pytester.path / "agents" / "goes.yaml").write_text(OF_THE_SUITE)
    chosen = ("--suite=webarena-verified", "--select=id=8,97", "--reachable-sites=task")
    result = pytester.runpytest_subprocess(*chosen, "--agent=goes", "--run-dir=run", "--env-retries=0", timeout=300)
    assert result.parseoutcomes()["passed"] == 2
    records = [json.loads(file.read_text()) for file in (pytester.path / "run" / "trials").glob("*/trial.json")]
    assert {record["key"]["task"]: (record["score"], *sorted(record["replicas"])) for record in records} == {
        "webarena-verified.8": (1.0, "map"),
        "webarena-verified.97": (1.0, "map", "wikipedia"),
    }


@pytest.mark.exhaustive
@pytest.mark.usefixtures("doubles")
def test_map_and_its_parts_are_reset_and_reconnect(engine: DockerClient, broker: BackendContext, run: Run) -> None:
    """All get new containers. Their volumes are not copied, because only they can write there."""
    from pytest_webarena.sites.backends.docker import DockerBackend

    backend = DockerBackend(replace(broker, needed=frozenset(MAP[1:])))
    try:
        for name in reversed(MAP):
            run(backend.prepare(APPS[name]))
        replicas = {name: run(backend.start(APPS[name], f"{name}-1")) for name in reversed(MAP)}
        assert database_content(backend, replicas, run) == ("a mapper", "Carnegie Mellon University")
        before = {replica.handle.id for replica in replicas.values()}
        replicas = {name: run(backend.reset(APPS[name], replicas[name])) for name in reversed(MAP)}
        assert not {replica.handle.id for replica in replicas.values()} & before
        assert {replica.generation for replica in replicas.values()} == {1}
        assert database_content(backend, replicas, run) == ("a mapper", "Carnegie Mellon University")
        mounts = engine.containers.get(replicas["map_tiles"].handle.id).attrs["Mounts"]
        assert {mount["Name"] for mount in mounts} == {"osm-data", "osm-tiles"}
    finally:
        run(backend.close())


def database_content(backend: Any, replicas: dict[str, Any], run: Run) -> tuple[str, ...]:
    """Return the content of the two databases; the first one is also read through the web site."""
    status, text = get(replicas["map"], "/", host="map.test")
    assert (status, "a mapper" in text) == (200, True)
    statements = {"map-database": "select name from users", "map_tiles": "select name from planet_osm_point"}
    return tuple(
        run(backend.query(APPS[name], replicas[name], "main", sql, write=False)).rows[0][0]
        for name, sql in statements.items()
    )


@pytest.mark.exhaustive  # messages of failed starts: test_backend.py
@pytest.mark.usefixtures("doubles")
@pytest.mark.parametrize(
    ("name", "command", "expected"),
    [
        ("wikipedia", ("wikipedia_en_all_maxi_2023-01.zim",), "No such file"),
        ("map_tiles", ("import",), "usage: <import|run>"),
        ("map_routes_car", ("osrm-routed", "/data/us-northeast-latest.osrm"), "AssertionError"),
    ],
)
def test_doubles_reject_a_wrong_start_command(
    broker: BackendContext, run: Run, name: str, command: tuple[str, ...], expected: str
) -> None:
    """So the doubles verify the start commands of the catalogue."""
    from pytest_webarena.sites.backends.docker import DockerBackend

    app = APPS[name]
    assert app.docker is not None
    backend = DockerBackend(broker)
    try:
        run(backend.prepare(app))
        with pytest.raises(SiteError, match=expected):
            run(backend.start(replace(app, docker=replace(app.docker, command=command)), f"{name}-1"))
    finally:
        run(backend.close())
