"""Which interpreters CI runs the unit tests with beside its own (``scripts/unit_versions.py``)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "unit_versions.py"


@pytest.fixture(scope="module")
def versions() -> ModuleType:
    spec = importlib.util.spec_from_file_location("unit_versions", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def python(path: Path, says: str) -> Path:
    """A program that answers as an interpreter would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{says}\n")
    path.chmod(0o755)
    return path


def test_a_shim_that_leads_nowhere_is_passed_over(versions: ModuleType, tmp_path: Path) -> None:
    python(tmp_path / "shims" / "python3.12", "echo 'pyenv: python3.12: command not found' >&2; exit 127")
    real = python(tmp_path / ".pyenv" / "versions" / "3.12.1" / "bin" / "python3.12", "echo 3.12 cpython")
    assert versions.interpreter("3.12", versions.candidates("3.12", tmp_path, str(tmp_path / "shims"))) == real


@pytest.mark.parametrize(
    "says", ["echo 3.13 cpython", "echo 3.12 pypy", "exit 1", "echo no module named ensurepip >&2; exit 1"]
)
def test_another_version_or_one_without_environments_does_not_do(
    versions: ModuleType, tmp_path: Path, says: str
) -> None:
    assert versions.interpreter("3.12", [python(tmp_path / "python3.12", says), tmp_path / "nothing"]) is None


def test_they_are_the_versions_that_the_package_names(versions: ModuleType) -> None:
    import tomllib

    project = tomllib.loads((SCRIPT.parents[1] / "pyproject.toml").read_text())["project"]
    named = [name.rpartition(" :: ")[2] for name in project["classifiers"] if "Python :: 3." in name]
    assert list(versions.WANTED) == named
    needed = versions.requirements()
    assert any(name.startswith("hypothesis") for name in needed)
    assert not [name for name in needed if name.startswith(("mypy", "ruff", "types-"))]


def test_two_versions_run_at_once_and_each_reports_its_whole_run(
    versions: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each waits for the other to begin."""
    wait = "n=0; until [ -e {0} ]; do n=$((n+1)); [ $n -lt 600 ] || exit 9; sleep 0.1; done"
    for me, other, rest in (("one", "two", "echo said by one"), ("two", "one", "echo said by two >&2; exit 1")):
        python(
            tmp_path / me / "python", f"touch {tmp_path}/{me}/here; {wait.format(f'{tmp_path}/{other}/here')}; {rest}"
        )
    environments = {
        "one": tmp_path / "one" / "python",
        "two": tmp_path / "two" / "python",
        "three": None,
    }
    assert versions.passed(environments) == {"one": True, "two": False, "three": False}
    stdout = capsys.readouterr().out
    assert "said by one\nunit_versions: one: passed in" in stdout
    assert "said by two\nunit_versions: two: exit status 1 in" in stdout
