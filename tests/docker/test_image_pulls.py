"""Images from a registry: small ones are pulled on demand, large ones only on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import SiteMissing
from pytest_webarena.sites.catalogues.manifest import DockerManifest
from pytest_webarena.sites.catalogues.running import Pulls
from tests.docker.registry import registry

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = pytest.mark.docker

SITES = """
schema_version: 1
apps:
  shop:
    backend: docker
    sites: {{shop: {{host: shop.test}}}}
    docker: {{image: "{image}", pull_size: 13.3 GB}}
"""
TASK = """
tasks:
  - {id: buy, intent: Buy tea., sites: [shop], checks: [{answer: {exact: tea}}], solution: [{stop: tea}]}
  - {id: sell, intent: Sell tea., sites: [shop], checks: [{answer: {exact: tea}}], solution: [{stop: tea}]}
"""


@pytest.fixture(scope="module", autouse=True)
def loaded(engine: DockerClient) -> None:
    """Import the module once: pytester would otherwise unload it and create a second copy."""
    import pytest_webarena.sites.backends.docker.image_status  # noqa: F401


@pytest.fixture
def image(engine: DockerClient) -> Iterator[str]:
    """An image that only the registry has."""
    with registry(3_000_000, 2_000_000) as reference:
        yield reference
    for pulled in engine.images.list(name=reference.rpartition(":")[0]):
        engine.images.remove(str(pulled.id), force=True)


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("size", "pulls", "comes"),
    [
        ("5 MB", "small", True),
        ("5 MB", "never", False),
        ("1.1 GB", "small", False),
        ("", "small", False),
        ("1.1 GB", "all", True),
    ],
)
def test_run_pulls_image_only_if_size_and_policy_allow(
    engine: DockerClient, image: str, size: str, pulls: Pulls, comes: bool
) -> None:
    from pytest_webarena.sites.backends.docker.image_sources import find_image, obtain_image

    manifest, notes = DockerManifest(image=image, pull_size=size), list[str]()
    if comes:
        assert obtain_image(engine, manifest, notes.append, pulls=pulls) == find_image(engine, image)
        assert notes == [f"pulling {image}"]
        return
    with pytest.raises(SiteMissing) as caught:
        obtain_image(engine, manifest, notes.append, pulls=pulls, sites="--sites=mine shop")
    weight = f"takes about {size}" if size else "has no size in its manifest"
    assert str(caught.value) == (
        f"expected the image {image} on the Docker engine, found none.\n"
        f"It {weight}, and no test run pulls that unasked. Get it with:\n"
        "  webarena sites images pull --sites=mine shop\n"
        "or have the run pull all it needs: pytest --pull=all"
    )
    assert find_image(engine, image) is None


def test_pull_reports_progress_of_layers(engine: DockerClient, image: str) -> None:
    from pytest_webarena.sites.backends.docker.pulling import pull

    updates = list(pull(engine, image))
    assert updates[0].unknown > 0
    assert (updates[-1].unpacking, updates[-1].unknown, updates[-1].done) == (True, 0, updates[-1].total)
    assert list(pull(engine, image)) == []  # nothing is fetched that is here


@pytest.mark.exhaustive
def test_tasks_are_skipped_until_their_image_is_pulled(
    pytester: pytest.Pytester, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    catalogue = Path(pytester.path, "sites.yaml")
    catalogue.write_text(SITES.format(image=image))
    Path(pytester.path, "shop.tasks.yaml").write_text(TASK)
    result = pytester.runpytest_subprocess("--sites=sites.yaml", "--run-dir=run", timeout=250)
    result.assert_outcomes(skipped=2)
    command = f"webarena sites images pull --sites={catalogue} shop"
    assert result.stdout.str().count(command) == 1

    assert main(["sites", "doctor", f"--sites={catalogue}"]) == 1
    stdout = capsys.readouterr().out
    assert (
        f"note    to pull           1 image, about 13.3 GB\n    webarena sites images pull --sites={catalogue}\n"
        in stdout
    )
    assert "is pulled only on request" in " ".join(stdout.split())

    catalogue.write_text(SITES.format(image=image).replace("13.3 GB", "5 MB"))  # needs little free space
    assert main(command.split()[1:]) == 0
    captured = capsys.readouterr()
    assert captured.out == "1 pulled\n"
    assert captured.err.startswith(f"pulling {image}: 100%, 5.0 MB of 5.0 MB, ") or "pulling" in captured.err
    assert main(command.split()[1:]) == 0
    assert capsys.readouterr().out == "nothing to pull\n"
