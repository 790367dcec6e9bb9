"""Real applications from Debian's packages: built here, and their tasks solved as their solutions say."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docker.outputs import output_of
from tests.inner import run_pytest

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = [pytest.mark.docker, pytest.mark.browser, pytest.mark.timeout(2400)]

TASKS = Path(__file__).parents[2] / "tasks-debian"


@pytest.fixture(scope="module")
def mediawiki(engine: DockerClient) -> str:
    """The image, which takes minutes to build. A skip where nobody asks for it."""
    if os.environ.get("WEBARENA_REQUIRE_DEBIAN") != "1":
        pytest.skip("building it takes minutes; WEBARENA_REQUIRE_DEBIAN=1 asks for it")
    from pytest_webarena.sites.container_images import ensure_image

    return ensure_image(engine, "debian-mediawiki", note=print)


def test_what_is_asked_of_mediawiki_can_be_done(mediawiki: str, engine: DockerClient, tmp_path: Path) -> None:
    assert "mediawiki\t1:1.39" in output_of(engine, mediawiki, ["cat", "/opt/webarena/packages.txt"])
    shutil.copytree(TASKS, tmp_path / "tasks")
    result = run_pytest(tmp_path, "tasks", "--sites=debian", "--agent=oracle", "-p", "no:cacheprovider", timeout=1500)
    result.assert_outcomes(passed=12)
    # Of several trials that sign in as somebody, one did before the replicas started.
    assert "by itself" not in result.stdout.str()
