"""The guide `embedded/README.md`: its example site works like the others when added to a copy of the package."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import pytest_webarena
from tests.inner import run_pytest

PACKAGE = Path(pytest_webarena.__file__).parent
GUIDE = (PACKAGE / "embedded" / "README.md").read_text("utf-8")
FILE = re.compile(r"^`([\w./-]+)`[^\n]*\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a copy of the package and the files of the guide."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(PACKAGE, folder / "pytest_webarena", ignore=shutil.ignore_patterns("__pycache__"))
    files = FILE.findall(GUIDE)
    assert len(files) == 7
    for name, text in files:
        path = folder / name
        assert not path.exists()  # nothing that is there is changed
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def output_of(checkout: Path, code: str) -> Any:
    """Return what ``code`` prints as JSON, run in the copy."""
    environ = {**os.environ, "PYTHONPATH": str(checkout)}
    done = subprocess.run([sys.executable, "-c", code], cwd=checkout, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.exhaustive
def test_audit_finds_task_of_guide_valid(checkout: Path) -> None:
    result = run_pytest(checkout, "tasks/lostfound", "--audit", "--run-dir=run")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["*valid *1*"])
    outcomes = [
        (record["key"]["agent"] == "oracle", record["outcome"])
        for file in (checkout / "run" / "trials").glob("*/trial.json")
        for record in [json.loads(file.read_text("utf-8"))]
    ]
    assert len(outcomes) > 2
    assert all((outcome == "passed") is solved for solved, outcome in outcomes)


CATALOGUES = """
import json
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.container_images import RECIPES
app = load_catalogue("embedded-docker").apps["lostfound"]
links = load_catalogue("embedded").apps["homepage"].process.env["WEBARENA_SITES"].split(",")
print(json.dumps({
    "backend": app.backend, "command": app.docker.command, "data": app.docker.data_dir, "image": app.docker.image,
    "build": app.docker.build, "host": app.sites[0].host, "login": app.login["lostfound"].path,
    "users": len(app.users), "in image": app.name in RECIPES[app.docker.build].apps,
    "linked": [link for link in links if app.name in link],
}))
"""


def test_new_site_is_in_docker_catalogue_image_and_start_page(checkout: Path) -> None:
    assert output_of(checkout, CATALOGUES) == {
        "backend": "docker",
        "command": ["lostfound", "--host", "0.0.0.0", "--port", "8080", "--data", "/data/lostfound"],
        "data": "/data/lostfound",
        "image": "localhost/pytest-webarena-embedded",
        "build": "embedded",
        "host": "lostfound.test",
        "login": "/signin",
        "users": 40,
        "in image": True,
        "linked": ["lostfound=http://lostfound.test/"],
    }


CONTEXT = """
import json
from pathlib import Path
from pytest_webarena.sites.container_images.build import _Context
Path("context.tar").write_bytes(_Context("embedded")._tar().getvalue())
print(json.dumps("made"))
"""


def test_image_contains_all_files_to_serve_the_new_site(checkout: Path, tmp_path: Path) -> None:
    assert output_of(checkout, CONTEXT) == "made"
    with tarfile.open(checkout / "context.tar") as context:
        context.extractall(tmp_path, filter="data")
    assert not (tmp_path / "pytest_webarena" / "embedded" / "shop").exists()  # is in another image
    command = [sys.executable, "-P", "-S", "-m", "pytest_webarena.embedded.serve", "lostfound", "--port", "0"]
    command += ["--data", str(tmp_path / "data")]
    # Without `site`, no .pth file adds this checkout to the image's files.
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), sysconfig.get_path("purelib")])}
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().removeprefix("lostfound: ").strip()
            with urllib.request.urlopen(f"{address}healthz", timeout=30) as answer:
                assert answer.read() == b"ok\n"
            with urllib.request.urlopen(address, timeout=30) as answer:
                assert b"the score of a waltz" in answer.read()
        finally:
            server.terminate()
