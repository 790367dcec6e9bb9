"""Steps of recipes prove their effect, and the map's start-up program edits the files of each known edition."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.containers import Executed
from pytest_webarena.sites.backends.docker.snapshots import config_hash
from pytest_webarena.sites.backends.docker.steps import run_steps
from pytest_webarena.sites.backends.docker.volumes import missing_volumes, mounts
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import ContainerStep, DockerManifest, VolumeManifest

STEP = ContainerStep(run=("sed", "-i", "s/a/{host}/", "f"), proof=("grep", "-q", "{host}", "f"), attempts=2, pause=0)


def run(step: ContainerStep, codes: Sequence[int]) -> list[list[str]]:
    """Run a step whose programs end with ``codes``, in this order; return their arguments."""
    called: list[list[str]] = []

    async def execute(arguments: Sequence[str], seconds: float) -> Executed:
        called.append(list(arguments))
        return Executed(code=codes[len(called) - 1], stdout="", stderr="")

    asyncio.run(run_steps([step], lambda text: text.replace("{host}", "shop.test"), execute))
    return called


def test_step_without_effect_is_tried_again() -> None:
    program, proof = ["sed", "-i", "s/a/shop.test/", "f"], ["grep", "-q", "shop.test", "f"]
    assert run(STEP, [0, 1, 0, 0]) == [program, proof, program, proof]
    assert run(STEP, [1, 0, 0]) == [program, program, proof]


def test_step_that_never_has_an_effect_fails_with_its_proof() -> None:
    with pytest.raises(SiteError, match=r"step 1 of 1 had no effect by grep -q shop.test f \(attempt 2 of 2\): sed"):
        run(STEP, [0, 1, 0, 1])


def test_volume_without_source_is_the_containers_own() -> None:
    docker = DockerManifest(image="x", volumes=(VolumeManifest(target="/app/node_modules", mutable=True),))
    (mount,) = mounts(docker, {})
    assert (mount["Target"], mount["Source"], mount["Type"]) == ("/app/node_modules", None, "volume")
    assert "VolumeOptions" not in mount, "the engine fills it from the image"
    assert missing_volumes(None, docker) == []  # type: ignore[arg-type]


def test_programs_that_end_an_app_are_part_of_its_snapshot() -> None:
    app = load_catalogue("webarena").apps["gitlab"]
    assert app.docker is not None
    assert app.docker.before_snapshot
    other = replace(app, docker=replace(app.docker, before_snapshot=()))
    assert config_hash(app) != config_hash(other)


SETTINGS = 'nominatim_url: "http://metis.lti.cs.cmu.edu:8085/"\nfossgis_osrm_url: "http://metis.lti.cs.cmu.edu:8085/"\n'
TILES = "url: 'http://ogma.lti.cs.cmu.edu:8080/tile/{z}/{x}/{y}.png'"
WORDS = ":connect_src => %w['self'],\n:img_src => %w['self' data:],\n"
TEXTS = 'connect_src: ["\'self\'"],\nimg_src: ["\'self\'", "data:"],\n'
README = '"car": "5000",\n"bike": "5001",\n"foot": "5002"\n'
FILES = {
    "config/settings.yml": SETTINGS,
    "vendor/assets/leaflet/leaflet.osm.js": TILES,
    "app/assets/javascripts/index/directions/fossgis_osrm.js": README,
    "config/initializers/secure_headers.rb": WORDS,
}
ROUTES, POLICY = [*FILES][2:]


def start_map(folder: Path, changes: dict[str, str], *, times: int = 1) -> subprocess.CompletedProcess[str]:
    """Run what the map's container does before its web server starts."""
    docker = load_catalogue("webarena").apps["map"].docker
    assert docker is not None
    script, _, rest = docker.command[2].partition("until ")
    assert "rails s" in rest
    for name, text in {**FILES, **changes}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    for _ in range(times):
        done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=30)
    return done


@pytest.mark.parametrize(
    "routes",
    [
        README,
        '"car": ":5000",\n"bike": ":5001",\n"foot": ":5002"\n',
        '"car": "__OSMCarSuffix__",\n"bike": "__OSMBikeSuffix__",\n"foot": "__OSMFootSuffix__"\n',
    ],
    ids=["readme", "colons", "template"],
)
@pytest.mark.parametrize("policy", [WORDS, TEXTS], ids=["words", "texts"])
def test_map_is_configured_in_each_known_edition(tmp_path: Path, routes: str, policy: str) -> None:
    done = start_map(tmp_path, {ROUTES: routes, POLICY: policy}, times=2)  # a container may start again
    assert (done.returncode, done.stderr) == (0, "")
    found = {name: (tmp_path / name).read_text() for name in FILES}
    assert found[ROUTES] == '"car": "-car.test",\n"bike": "-bike.test",\n"foot": "-foot.test"\n'
    hosts = ["map-routes-car.test", "map-routes-bike.test", "map-routes-foot.test"]
    if policy == WORDS:
        expected = f":connect_src => %w[{' '.join(hosts)} 'self'],\n:img_src => %w[map-tiles.test 'self' data:],\n"
    else:
        quoted = ", ".join(f'"{host}"' for host in hosts)
        expected = f'connect_src: [{quoted}, "\'self\'"],\nimg_src: ["map-tiles.test", "\'self\'", "data:"],\n'
    assert found[POLICY] == expected
    assert found["vendor/assets/leaflet/leaflet.osm.js"] == "url: 'http://map-tiles.test/tile/{z}/{x}/{y}.png'"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({ROUTES: README.replace("5001", "6001")}, f'expected "-bike.test" in {ROUTES}'),
        ({POLICY: "img_src = []\n"}, f"expected map-tiles.test in {POLICY}"),
        ({"config/settings.yml": "nominatim: x\n"}, "expected nominatim_url"),
        ({"vendor/assets/leaflet/leaflet.osm.js": "url: tiles"}, "expected http://map-tiles.test/tile/"),
    ],
    ids=["routes", "policy", "settings", "tiles"],
)
def test_map_of_an_unknown_edition_does_not_start(tmp_path: Path, changes: dict[str, str], expected: str) -> None:
    done = start_map(tmp_path, changes)
    assert done.returncode == 1
    assert expected in done.stderr


def test_database_of_the_map_has_a_host_name_that_rails_reads() -> None:
    apps = load_catalogue("webarena").apps
    docker = apps["map"].docker
    assert docker is not None
    host = docker.env["DATABASE_URL"].partition("@")[2].partition("/")[0]
    assert host in apps["map"].depends_on
    assert "_" not in host  # RFC 2396, which Ruby's URI parser follows
