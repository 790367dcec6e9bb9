"""Catalogues generated from the folders of embedded sites, and messages about an invalid `site.yaml`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.sites.catalogues import embedded_sites
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import AppManifest, HttpReady, PortReady

SITE = "sites: {forum: {host: forum.test}}\n"
SIGN_IN = """
sites:
  forum:
    host: forum.test
    user: mara.linden
    sign_in: {headers: {X-User: "{username}"}, check: {path: /me}}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder for sites that contains only the common files."""
    shutil.copy(embedded_sites.FOLDER / "common.yaml", tmp_path)
    monkeypatch.setattr(embedded_sites, "FOLDER", tmp_path)
    return tmp_path


def add(folder: Path, name: str, text: str) -> Path:
    (folder / name).mkdir()
    path = folder / name / "site.yaml"
    path.write_text(text)
    return path


def both(folder: Path, text: str) -> tuple[AppManifest, AppManifest]:
    """Return a site's process app and container app."""
    add(folder, "forum", text)
    return load_catalogue("embedded").apps["forum"], load_catalogue("embedded-docker").apps["forum"]


def test_site_file_with_hosts_only_gets_defaults(folder: Path) -> None:
    process, container = both(folder, SITE)
    assert process.backend == "process"
    assert process.process is not None
    assert process.process.factory == "pytest_webarena.embedded.forum:create_app"
    assert (process.docker, process.ready, process.reuse) == (None, (PortReady(),), "never")
    assert list(process.databases) == ["main"]
    assert container.backend == "docker"
    assert container.process == process.process  # the digest covers its code
    assert container.docker is not None
    assert (container.docker.build, container.docker.data_dir) == ("embedded", "/data/forum")
    assert container.ready == (HttpReady(path="/healthz", status=(200,)),)
    assert process.users == {}  # no accounts


def test_site_file_overrides_common_settings(folder: Path) -> None:
    more = """
boot_seconds: 3
databases: {}
users:
  clementine.rusk: {role: moderator}
  root: {password: secret}
process: {warm: [/hot], env: {A: process, B: process}}
container: {boot_seconds: 9, docker: {memory: 1g, env: {B: container}}}
"""
    process, container = both(folder, SIGN_IN + more)
    assert (process.boot_seconds, container.boot_seconds) == (3, 9)
    assert process.databases == {}
    assert len(process.users) == 41
    assert process.users["clementine.rusk"].role == "moderator"
    assert process.users["clementine.rusk"].password == "brass-scales-71"
    assert process.process is not None
    assert process.process.warm == ("/hot",)
    assert process.process.seed == "pytest_webarena.embedded.forum:seed"
    assert container.docker is not None
    assert (container.docker.memory, container.docker.port) == ("1g", 8080)
    assert container.docker.env == {"A": "process", "B": "container"}


def test_sites_with_an_extra_have_their_own_image(folder: Path) -> None:
    process, container = both(folder, f"{SITE}extra: forge\nprocess: {{needs: [dulwich]}}\n")
    add(folder, "wiki", "sites: {wiki: {host: wiki.test}}")
    add(folder, "map", "sites: {map: {host: map.test}}")
    assert process.process is not None
    assert (process.process.needs, process.process.install) == (("dulwich",), "pip install 'pytest-webarena[forge]'")
    assert container.docker is not None
    assert (container.docker.build, container.docker.image) == (
        "embedded-forge",
        "localhost/pytest-webarena-embedded-forge",
    )
    assert embedded_sites.image_contents() == {
        "embedded-forge": ("forge", ("forum",)),
        "embedded": ("", ("map", "wiki")),
    }


def test_site_environment_can_list_other_sites(folder: Path) -> None:
    add(folder, "wiki", "sites: {wiki: {host: wiki.test}, talk: {host: talk.test}}")
    add(folder, "map", "sites: {map: {host: map.test}}")
    process, container = both(folder, f'{SITE}process: {{env: {{LINKS: "{{others}}"}}}}\n')
    assert process.process is not None
    assert process.process.env == {"LINKS": "map=http://map.test/,wiki=http://wiki.test/,talk=http://talk.test/"}
    assert container.docker is not None
    assert container.docker.env == process.process.env


def test_catalogue_can_extend_generated_catalogue(folder: Path, tmp_path: Path) -> None:
    add(folder, "forum", SITE)
    own_catalogue = tmp_path / "mine.yaml"
    own_catalogue.write_text("extends: embedded-docker\napps: {forum: {spares: 3, docker: {image: other}}}\n")
    app = load_catalogue(own_catalogue).apps["forum"]
    assert app.docker is not None
    assert (app.spares, app.docker.image, app.docker.command) == (3, "other", ())  # replaced, as in all catalogues


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# nothing\n", "1:1: expected a mapping with the key 'sites', found an empty file"),
        ("[a]\n", "1:1: expected a mapping with the key 'sites', found a list of 1"),
        ("boot_seconds: 1\n", "1:1: expected at least one site, found none (only containers may"),
        (f"{SITE}backend: docker\n", "2:1: expected a key of a site file, found 'backend'"),
        (f"{SITE}databses: {{}}\n", "2:1: expected a key of a site file, found 'databses' (did you mean 'databases'?)"),
        (f"{SITE}container: [a]\n", "2:12: expected a mapping (container), found a list of 1"),
        (f"{SITE}container: {{sites: {{}}}}\n", "2:13: expected a key of a container section, found 'sites'"),
        (f"{SITE}container: {{docker: {{memory: lots}}}}\n", "2:30: expected a size such as 256m or 2g, found 'lots'"),
        (f"{SITE}container: {{docker: image}}\n", "2:21: expected a mapping (docker section), found 'image'"),
        (f"{SITE}process: 5\n", "2:10: expected a mapping (process), found the number 5"),
        (f"{SITE}process: {{thread: 5}}\n", "2:11: expected a key of a process section, found 'thread'"),
        (f"{SITE}process: {{needs: [dulwich]}}\n", "2:11: expected an 'extra' that brings what the app needs, found"),
        (f"{SITE}extra: [a]\n", "2:8: expected a name of letters, digits, '_' and '-', found a list of 1"),
        (
            "sites: {forum: {host: Forum}}\n",
            "1:23: expected a host name in lower case, such as app.test, found 'Forum'",
        ),
        ("sites: {forum: {host: forum.test}\n", "2:1: expected valid YAML"),
    ],
)
def test_problem_in_site_file_is_reported_with_line(folder: Path, text: str, problem: str) -> None:
    path = add(folder, "forum", text)
    with pytest.raises(UsageError) as error:
        load_catalogue("embedded-docker" if "container" in text and "only" not in problem else "embedded")
    assert str(error.value).startswith(f"{path}:{problem}")
    assert "common.yaml" not in str(error.value)


def test_duplicate_host_is_reported_for_the_second_site(folder: Path) -> None:
    add(folder, "forum", SITE)
    path = add(folder, "gallery", "sites: {gallery: {host: forum.test}}\n")
    with pytest.raises(UsageError) as error:
        load_catalogue("embedded")
    hint = "also in 'forum'; give one of them another host"
    assert str(error.value) == f"{path}:1:1: expected each host once, found 'forum.test' again ({hint})"
