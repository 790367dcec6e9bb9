"""A package adds a kind of check, an agent, an observation form and a backend: `tests/example_package`."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.inner import run_pytest

PACKAGE = Path(__file__).parents[1] / "example_package"

CATALOGUE = """
apps:
  library:
    backend: library
    sites: {library: {host: library.test}}
    options: {books: [Dune, Emma]}
"""
TASKS = """
defaults: {sites: [library]}
tasks:
  - {id: dune, intent: Borrow Dune., checks: [{borrowed: Dune}]}
  - {id: emma, intent: Borrow Emma., checks: [{borrowed: Emma}, {not: {borrowed: Dune}}]}
  - {id: moby, intent: Borrow Moby Dick., checks: [{borrowed: Moby Dick}]}
"""


def install(folder: Path) -> dict[str, str]:
    """Simulate an installation: the package on the path, with entry points."""
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text("utf-8"))["project"]
    info = folder / "site" / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    lines = []
    for group, points in project["entry-points"].items():
        lines += [f"[{group}]", *(f"{name} = {target}" for name, target in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines))
    given = filter(None, [str(folder / "site"), str(PACKAGE), os.environ.get("PYTHONPATH")])
    return {"PYTHONPATH": os.pathsep.join(given)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "sites.yaml").write_text(CATALOGUE)
    (tmp_path / "tasks").mkdir()
    (tmp_path / "tasks" / "library.yaml").write_text(TASKS)
    return tmp_path


def records(project: Path) -> dict[str, Any]:
    found = [json.loads(file.read_text()) for file in (project / "run" / "trials").glob("*/trial.json")]
    return {record["key"]["task"]: record for record in found}


def test_package_adds_check_agent_form_and_backend(project: Path) -> None:
    given = ("--sites=./sites.yaml", "--agent=borrower", "--observation=shelf", "--run-dir=run")
    result = run_pytest(project, "tasks/library.yaml", *given, environ=install(project))
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*'Moby Dick' is borrowed*"])
    made = records(project)
    assert [made[task]["outcome"] for task in ("dune", "emma", "moby")] == ["passed", "passed", "failed"]
    assert {record["key"]["agent"] for record in made.values()} == {"borrower"}


def test_error_names_each_missing_extension_without_the_package(
    project: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    for arguments, sentence in [
        (
            ("--sites=./sites.yaml",),
            "expected a backend (archive, docker, external, live, process or module:class), found 'library'",
        ),
        (("--agent=borrower",), "--agent=borrower: expected a known agent"),
        ((f"--agent={PACKAGE}/webarena_library/agents.py:Borrower", "--observation=shelf"), "found ['shelf']"),
    ]:
        result = pytester.runpytest_inprocess("tasks/library.yaml", "--co", *arguments)
        assert result.ret != 0
        assert sentence in f"{result.stdout}\n{result.stderr}", arguments
