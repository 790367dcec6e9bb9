"""Missing site requirements that a node reports, as a scheduling hint."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.cluster.node_capabilities import unmet_site_needs
from pytest_webarena.errors import SiteMissing
from pytest_webarena.sites import doctor
from pytest_webarena.sites.backends.docker import image_status

CATALOGUE = """
apps:
  db:
    backend: docker
    docker: {image: localhost/db}
  shop:
    backend: docker
    docker: {image: localhost/shop, port: 80, memory: 2g}
    depends_on: [db]
    sites: {shop: {host: shop.test}}
  wiki:
    backend: docker
    docker: {image: wiki, port: 80}
    sites: {wiki: {host: wiki.test}}
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> str:
    (tmp_path / "sites.yaml").write_text(CATALOGUE)
    return str(tmp_path / "sites.yaml")


def engine_with(monkeypatch: pytest.MonkeyPatch, **problems: str) -> None:
    engine = image_status.Engine(address="here", version="1", memory=0, storage="/")
    monkeypatch.setattr(
        image_status,
        "survey",
        lambda apps: (
            engine,
            tuple(
                image_status.AppNeeds(app=app.name, image=app.name, problem=problems.get(app.name, "")) for app in apps
            ),
        ),
    )


def missing_needs(catalogue: str, *sites: str, pulls: str = "small") -> dict[str, str]:
    found = unmet_site_needs(catalogue, {}, sites or ("shop", "wiki"), pulls=pulls)  # type: ignore[arg-type]
    return {site: why for (site,), why in found}


def test_missing_images_are_reported(catalogue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_with(monkeypatch)
    assert missing_needs(catalogue) == {}
    engine_with(monkeypatch, wiki="the image wiki is not here")
    assert missing_needs(catalogue) == {"wiki": "the image wiki is not here"}
    assert missing_needs(catalogue, "shop") == {}  # it is not used
    assert missing_needs(catalogue, pulls="all") == {}  # it is pulled on demand
    engine_with(monkeypatch, db="the image db is not here")
    assert missing_needs(catalogue) == {"shop": "the image db is not here"}


def test_missing_docker_engine_is_reported(catalogue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise SiteMissing("expected a Docker engine, found none")

    monkeypatch.setattr(image_status, "survey", none)
    assert missing_needs(catalogue) == dict.fromkeys(("shop", "wiki"), "expected a Docker engine, found none")
    assert missing_needs("embedded", "homepage", "wikipedia") == {}


def test_insufficient_memory_is_reported(catalogue: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine_with(monkeypatch)
    monkeypatch.setattr(doctor, "_available", lambda: 1 << 30)
    assert list(missing_needs(catalogue)) == ["shop"]
    assert "expected the 2.1 GB of memory that shop may use, found 1.1 GB available" in missing_needs(catalogue)["shop"]


def test_unreadable_catalogue_is_left_to_trials(tmp_path: Path) -> None:
    assert missing_needs(str(tmp_path / "none.yaml")) == {}
