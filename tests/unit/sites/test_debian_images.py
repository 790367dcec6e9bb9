"""What goes into the images of real applications, and which base they are built on."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from docker.errors import APIError, ImageNotFound

from pytest_webarena.embedded import handbook, world
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.container_images import DEBIAN_RECIPES, debian_images, ensure_image


def test_the_handbook_is_the_same_each_time_and_large_enough() -> None:
    text = handbook.pages()
    assert text == handbook.pages()
    assert world.CANARY in text
    pages = ElementTree.fromstring(text).findall("page")
    titles = [page.findtext("title") for page in pages]
    assert len(set(titles)) == len(titles) >= 200
    assert {town.name for town in world.TOWNS} < set(titles)
    assert sum(len(page.findall("revision")) for page in pages) > len(pages)
    assert all(content.startswith(b"\x89PNG") for content in handbook.files().values())


def test_accounts_are_those_of_the_world_in_the_catalogue_too() -> None:
    lines = [line.split("\t") for line in handbook.users().splitlines()]
    made = {name: (password, group) for name, password, group in lines}
    assert len(made) == len(world.PEOPLE)
    for account in load_catalogue("debian").apps["wiki"].users.values():
        assert made[account.username] == (account.password, "sysop" if account.role == "admin" else "")


class Engine:
    """An engine with some images, that pulls what the registry has, and keeps what it was given."""

    def __init__(self, *present: str, registry: bool = False) -> None:
        self.present = set(present)
        self.registry = registry
        self.built: list[tuple[str, str]] = []
        self.images = SimpleNamespace(get=self._get, pull=self._pull, build=self._build, list=lambda name: [])
        self.api = SimpleNamespace(import_image_from_file=self._import)

    def _get(self, name: str) -> None:
        if name not in self.present:
            raise ImageNotFound(name)

    def _pull(self, name: str) -> None:
        if not self.registry:
            raise APIError("no such host")
        self.present.add(name)

    def _import(self, file: str, *, repository: str, tag: str) -> None:
        assert Path(file).read_bytes() == b"a base"
        self.present.add(f"{repository}:{tag}")

    def _build(self, *, tag: str, buildargs: dict[str, str], **rest: Any) -> None:
        self.built.append((tag, buildargs["BASE"]))
        self.present.add(tag)


def build(engine: Engine, **options: Any) -> str:
    return ensure_image(engine, "debian-mediawiki", note=lambda text: None, **options)  # type: ignore[arg-type]


def test_an_image_is_built_once_on_the_registrys_debian() -> None:
    engine = Engine(registry=True)
    first = build(engine)
    assert build(engine) == first
    assert engine.built == [(first, "debian:12")]


def test_without_a_registry_the_base_is_made_here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    sources = tmp_path / "debian.sources"
    sources.write_text("URIs: http://mirror.example/debian")
    commands: list[list[str]] = []

    def run(command: list[str], **how: Any) -> Any:
        commands.append(command)
        Path(command[-2]).write_bytes(b"a base")
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(debian_images, "_SOURCES", (str(tmp_path / "absent"), str(sources)))
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)
    engine = Engine()
    build(engine)
    ((command),) = commands
    assert (command[0], command[-3], command[-1]) == ("mmdebstrap", "bookworm", str(sources))
    ((_, base),) = engine.built
    assert base.startswith("localhost/pytest-webarena-debian-base:")
    engine.present.remove(engine.built[0][0])
    build(engine)  # on the base that is there
    assert len(commands) == 1


@pytest.mark.parametrize(("given", "expected"), [("mmdebstrap", "apt sources"), ("", "the program mmdebstrap")])
def test_what_is_missing_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, expected: str) -> None:
    (tmp_path / "debian.sources").touch()
    monkeypatch.setattr(debian_images, "_SOURCES", (str(tmp_path / ("absent" if given else "debian.sources")),))
    monkeypatch.setattr(shutil, "which", lambda name: given or None)
    with pytest.raises(SiteError, match=f"{expected}.*docker pull debian:12"):
        build(Engine())


def test_another_base_is_another_image() -> None:
    engine = Engine()
    assert build(engine, base="mine:1") != build(engine, base="mine:2")
    assert [base for _, base in engine.built] == ["mine:1", "mine:2"]


def test_every_app_of_the_catalogue_has_its_recipe() -> None:
    built = {app.docker.build for app in load_catalogue("debian").apps.values() if app.docker is not None}
    assert built == set(DEBIAN_RECIPES)
