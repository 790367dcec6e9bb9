"""Images of real applications: their content and their base image."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest
from docker.errors import APIError, ImageNotFound

from pytest_webarena.embedded import courier, handbook, works, world
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.container_images import DEBIAN_RECIPES, debian_images, ensure_image


def test_wiki_content_is_reproducible_and_large_enough() -> None:
    text = handbook.pages()
    assert text == handbook.pages()
    assert world.CANARY in text
    pages = ElementTree.fromstring(text).findall("page")
    titles = [page.findtext("title") for page in pages]
    assert len(set(titles)) == len(titles) >= 200
    assert {town.name for town in world.TOWNS} < set(titles)
    assert sum(len(page.findall("revision")) for page in pages) > len(pages)
    assert all(content.startswith(b"\x89PNG") for content in handbook.files().values())


def test_issue_tracker_content_is_reproducible_and_large_enough() -> None:
    made = works.content()
    assert made == works.content()
    data = json.loads(made["works.json"])
    assert data["canary"] == world.CANARY
    assert len(data["projects"]) >= 6
    assert [issue["id"] for issue in data["issues"]] == list(range(1, len(data["issues"]) + 1))
    assert len(data["issues"]) >= 300
    assert len({issue["subject"] for issue in data["issues"]}) == len(data["issues"])
    # All dates precede the calendar, so that tasks can count what is new.
    assert max(issue["updated"] for issue in data["issues"]) < f"{world.EPOCH:%Y-%m-%dT}"
    assert max(note["on"] for note in data["notes"]) < f"{world.EPOCH:%Y-%m-%dT}"
    keys = {project["key"] for project in data["projects"]}
    assert {name.removeprefix("git/") for name in made if name.startswith("git/")} == keys


def test_commits_refer_to_issues_of_their_project() -> None:
    made = works.content()
    projects = {issue["id"]: issue["project"] for issue in json.loads(made["works.json"])["issues"]}
    named = 0
    for name, stream in made.items():
        if name.startswith("git/"):
            for word in stream.decode().split():
                if word.startswith("#") and word[1:].isdigit():
                    named += 1
                    assert projects[int(word[1:])] == name.removeprefix("git/")
    assert named


def test_news_content_is_reproducible_and_large_enough() -> None:
    made = courier.content()
    assert made == courier.content()
    data = json.loads(made["paper.json"])
    assert data["canary"] == world.CANARY
    states = Counter(article["state"] for article in data["articles"])
    assert states["publish"] >= 60
    assert states["draft"]
    assert states["pending"]
    comments = Counter(comment["state"] for article in data["articles"] for comment in article["comments"])
    assert set(comments) == {"0", "1", "spam"}
    pictures = {name.removeprefix("media/") for name in made if name.startswith("media/")}
    assert {article["picture"] for article in data["articles"] if "picture" in article} <= pictures
    assert len({person["role"] for person in data["people"]}) >= 3


def test_accounts_of_images_and_catalogue_are_equal() -> None:
    apps = load_catalogue("debian").apps
    lines = [line.split("\t") for line in handbook.users().splitlines()]
    made = {name: (password, group) for name, password, group in lines}
    assert len(made) == len(world.PEOPLE)
    for account in apps["wiki"].users.values():
        assert made[account.username] == (account.password, "sysop" if account.role == "admin" else "")
    tracker = works.tracker()
    people = {person["login"]: person["password"] for person in tracker["people"]}
    roles = {login: role for project in tracker["projects"] for login, role in project["members"]}
    for account in apps["tracker"].users.values():
        assert people[account.username] == account.password
        admin = account.username == works.ADMINISTRATOR
        assert account.role == ("admin" if admin else roles[account.username].lower())
    written = {person["login"]: (person["password"], person["role"]) for person in courier.paper()["people"]}
    for account in apps["courier"].users.values():
        role = "administrator" if account.role == "admin" else account.role
        assert written[account.username] == (account.password, role)


class Engine:
    """A fake engine with some images and a registry; it records its builds."""

    def __init__(self, *present: str, registry: bool = False) -> None:
        self.present = set(present)
        self.registry = registry
        self.built: list[tuple[str, str]] = []
        self.images = SimpleNamespace(get=self._get, pull=self._pull, list=lambda name: [])
        self.api = SimpleNamespace(import_image_from_file=self._import, build=self._build)

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

    def _build(self, *, tag: str, buildargs: dict[str, str], **rest: Any) -> Iterator[dict[str, str]]:
        self.built.append((tag, buildargs["BASE"]))
        yield {"stream": "Step 1/2 : FROM ${BASE}\n"}
        yield {"stream": "Step 2/2 : RUN apt-get update\n"}
        if "full" in buildargs["BASE"]:
            yield {"stream": "Get:1 http://mirror.example\n"}
            yield {"error": "The command 'apt-get' returned a non-zero code: 100"}
        self.present.add(tag)


def build(engine: Engine, note: Callable[[str], object] = lambda text: None, **options: Any) -> str:
    return ensure_image(engine, "debian-mediawiki", note=note, **options)  # type: ignore[arg-type]


def test_image_is_built_once_on_the_registry_debian() -> None:
    engine = Engine(registry=True)
    first = build(engine)
    assert build(engine) == first
    assert engine.built == [(first, "debian:12")]


def test_base_image_is_built_locally_without_a_registry(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
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
    build(engine)  # on the existing base
    assert len(commands) == 1


@pytest.mark.parametrize(("given", "expected"), [("mmdebstrap", "apt sources"), ("", "the program mmdebstrap")])
def test_missing_prerequisites_of_a_local_base_are_reported(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: str, expected: str
) -> None:
    (tmp_path / "debian.sources").touch()
    monkeypatch.setattr(debian_images, "_SOURCES", (str(tmp_path / ("absent" if given else "debian.sources")),))
    monkeypatch.setattr(shutil, "which", lambda name: given or None)
    with pytest.raises(SiteError, match=f"{expected}.*docker pull debian:12"):
        build(Engine())


def test_image_name_depends_on_the_base() -> None:
    engine = Engine()
    assert build(engine, base="mine:1") != build(engine, base="mine:2")
    assert [base for _, base in engine.built] == ["mine:1", "mine:2"]


def test_build_reports_its_steps() -> None:
    notes: list[str] = []
    build(Engine(), notes.append, base="mine")
    assert notes[1:] == [
        "debian-mediawiki, step 1 of 2: FROM ${BASE}",
        "debian-mediawiki, step 2 of 2: RUN apt-get update",
    ]


def test_failed_build_reports_its_last_output() -> None:
    with pytest.raises(SiteError, match=r"(?s)returned a non-zero code: 100\n.*Get:1 http://mirror.example"):
        build(Engine(), base="full")


def test_build_context_has_all_files_that_scripts_include() -> None:
    """`COPY .` copies the context; a script that needs a missing file would fail during the build."""
    included = 0
    for name, recipe in DEBIAN_RECIPES.items():
        files = debian_images._files(recipe)
        scripts = b"".join(content for path, content in files.items() if path.endswith((".php", ".sh", ".rb")))
        for wanted in re.findall(rb"(?:__DIR__ \. '/|\$here/)([a-z]+\.[a-z]+)", scripts):
            assert wanted.decode() in files, name
            included += 1
    assert included > 0


def test_every_app_of_the_catalogue_has_its_recipe() -> None:
    built = {app.docker.build for app in load_catalogue("debian").apps.values() if app.docker is not None}
    assert built == set(DEBIAN_RECIPES)
