"""Real applications from Debian packages: images are built here, and solutions solve their tasks."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import VolumeManifest
from tests.docker.outputs import output_of
from tests.inner import run_pytest

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend

Run = Callable[..., Any]
pytestmark = [pytest.mark.exhaustive, pytest.mark.docker, pytest.mark.browser, pytest.mark.timeout(2400)]

TASKS = Path(__file__).parents[2] / "tasks-debian"
CHOSEN = (
    "wiki-inhabitants.dunmere", "wiki-inhabitants.kelderby", "wiki-inhabitants-before.aldersey",
    "wiki-open-category.past", "wiki-new-page.bench", "wiki-new-page.pump", "wiki-talk.lunnet", "wiki-rename.quern",
    "wiki-protect.mossfold", "wiki-not-allowed.chainstay",
    "tracker-open-count.clocks", "tracker-assignee.signal", "tracker-wiki-before.harbour", "tracker-committer.depth",
    "tracker-table-before.bollards", "tracker-new-issue.buoy", "tracker-log-time.lift", "tracker-wiki-page.tools",
    "tracker-relate.lamps", "tracker-not-allowed.delete",
)  # fmt: skip
"""Together they look at articles, history, rights, issues, hours and repository, and change them, as guests and as
several users. Each change costs a start of PHP or Ruby; all: ``pytest tasks-debian --sites=debian --agent=oracle``."""


@pytest.fixture(scope="module")
def images(engine: DockerClient) -> list[str]:
    """The images of MediaWiki and Redmine, which take minutes to build. Skipped unless WEBARENA_REQUIRE_DEBIAN=1."""
    if os.environ.get("WEBARENA_REQUIRE_DEBIAN") != "1":
        pytest.skip("building them takes minutes; WEBARENA_REQUIRE_DEBIAN=1 asks for it")
    from pytest_webarena.sites.container_images import ensure_image

    return [ensure_image(engine, recipe, note=print) for recipe in ("debian-mediawiki", "debian-redmine")]


def test_solutions_pass_on_mediawiki_and_redmine(images: list[str], engine: DockerClient, tmp_path: Path) -> None:
    for image, version in zip(images, ("mediawiki\t1:1.39", "redmine\t5.0"), strict=True):
        assert version in output_of(engine, image, ["cat", "/opt/webarena/packages.txt"])
    shutil.copytree(TASKS, tmp_path / "tasks")
    result = run_pytest(
        tmp_path, "tasks/wiki.yaml", "tasks/tracker.yaml", "--sites=debian", "--agent=oracle", "-p", "no:cacheprovider",
        "-n2", "-k", " or ".join(CHOSEN), timeout=2200,
    )  # fmt: skip
    result.assert_outcomes(passed=len(CHOSEN))
    # Users of several trials are signed in before the replicas start.
    assert "by itself" not in result.stdout.str()


def test_wiki_image_contains_the_php_opcode_cache(images: list[str], backend: DockerBackend, run: Run) -> None:
    """Without it, each reset and first page would take twice the CPU time."""
    wiki = load_catalogue("debian").apps["wiki"]
    assert wiki.docker is not None
    wiki = replace(wiki, docker=replace(wiki.docker, snapshot=False))
    script = "cd /var/cache/webarena && find . -type f -newer /opt/webarena/packages.txt && find . -type f | wc -l"
    try:
        run(backend.prepare(wiki))
        replica = run(backend.start(wiki, "wiki-1"))  # for which it has shown its main page
        done = run(backend.execute(wiki, replica, ["sh", "-c", f"{script}; exit 1"]))
    finally:
        run(backend.close())
    assert int(done.split()[-1]) > 300, done
    assert ".bin" not in done


def test_full_disk_of_wiki_is_detected(
    images: list[str], engine: DockerClient, backend: DockerBackend, run: Run
) -> None:
    """MediaWiki answers such an upload with a normal page, which looks like a failure of the agent."""
    wiki = load_catalogue("debian").apps["wiki"]
    assert wiki.docker is not None
    name = f"webarena-test-{uuid.uuid4().hex[:8]}"
    engine.volumes.create(name, driver_opts={"type": "tmpfs", "device": "tmpfs", "o": "size=8m"})
    uploads = VolumeManifest(source=name, target="/var/lib/mediawiki/images", mutable=True)
    # Only a read-only app mounts such a volume itself; others get a copy.
    wiki = replace(wiki, read_only=True, docker=replace(wiki.docker, snapshot=False, volumes=(uploads,)))
    try:
        run(backend.prepare(wiki))
        replica = run(backend.start(wiki, "wiki-1"))
        assert run(backend.full_disks(wiki, replica)) == ""
        assert "No space left" in run(backend.execute(wiki, replica, ["cp", "/dev/zero", f"{uploads.target}/new.png"]))
        full = f"the disk at {uploads.target} is full (0 of 8,192 kB are free)"
        assert run(backend.full_disks(wiki, replica)) == full
    finally:
        run(backend.close())
        engine.volumes.get(name).remove()
