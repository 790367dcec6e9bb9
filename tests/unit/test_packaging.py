"""What reaches an installed package: the files, and the packages it needs."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.cases import each_case
from tests.unit.import_graph import all_imports

pytestmark = pytest.mark.corpus

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pytest_webarena"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]

COMES_WITH = {
    "allure-python-commons": "allure-pytest",
    "django": "django-oscar",
    "django-haystack": "django-oscar",
    "django-tables2": "django-oscar",
    "itsdangerous": "flask",
    "markupsafe": "jinja2",
    "mpmath": "sympy",
    "requests": "docker",
    "werkzeug": "flask",
}
"""Distributions that we import and leave to another one to require: their versions have to fit each other."""


@pytest.fixture(scope="module")
def in_wheel() -> dict[str, str]:
    """What a wheel would hold: path in it to path in the repository."""
    files = WheelBuilder(str(ROOT)).recurse_included_files()
    return {file.distribution_path: str(Path(file.path).relative_to(ROOT)) for file in files}


def files_below(folder: Path) -> list[str]:
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return [str(path.relative_to(ROOT)) for path in found]


def test_the_whole_package_reaches_the_wheel(in_wheel: dict[str, str]) -> None:
    # Templates, catalogues and seeds are files like any other here; an ignore rule could drop them silently.
    expected = set(files_below(PACKAGE))
    assert "pytest_webarena/py.typed" in expected
    assert expected - set(in_wheel) == set()


def test_building_it_installs_nothing_first(tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml", "scripts/venv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "$@" >> calls\n')
    python.chmod(0o755)
    subprocess.run(["make", "wheel"], cwd=tmp_path, check=True)
    looked, built = (tmp_path / "calls").read_text().splitlines()
    assert looked == "-m pip --version"
    assert built.startswith("-m pip wheel ")


@pytest.mark.parametrize("folder", ["tasks", "agents"])
def test_tasks_and_agents_reach_the_wheel_inside_the_package(folder: str, in_wheel: dict[str, str]) -> None:
    expected = {f"pytest_webarena/_shipped/{path}": path for path in files_below(ROOT / folder)}
    assert expected
    assert {shipped: path for shipped, path in in_wheel.items() if shipped in expected} == expected


def test_nothing_else_reaches_the_wheel(in_wheel: dict[str, str]) -> None:
    assert {path.split("/")[0] for path in in_wheel} == {"pytest_webarena"}


def test_every_imported_package_is_declared() -> None:
    optional = PROJECT["optional-dependencies"]
    extras = [each for name, packages in optional.items() if name != "dev" for each in packages]
    declared = names_of([*PROJECT["dependencies"], *extras])
    distributions = importlib.metadata.packages_distributions()
    undeclared = []
    for name, where in third_party_imports().items():
        if name not in distributions:
            continue  # of an extra that is not installed here
        brought_by = {normalised(each) for each in distributions[name]}
        if not (brought_by | {COMES_WITH.get(each, each) for each in brought_by}) & declared:
            undeclared.append(f"{where} imports {name} (from {', '.join(sorted(brought_by))})")
    assert undeclared == [], "declare them in pyproject.toml"


@each_case(("distribution", "parent"), COMES_WITH.items())
def test_what_is_left_to_another_package_is_required_by_it(distribution: str, parent: str) -> None:
    if parent == "django-oscar":
        pytest.importorskip("oscar", reason="the extra 'shop' is not installed")
    assert distribution in names_of(importlib.metadata.requires(parent) or [])


def names_of(requirements: list[str]) -> set[str]:
    return {normalised(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in requirements}


def normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def third_party_imports() -> dict[str, str]:
    """Top-level name to one of our modules that imports it, in whatever place."""
    found: dict[str, str] = {}
    for each in all_imports():
        found.setdefault(each.target.split(".")[0], f"pytest_webarena.{each.module}")
    own = {*sys.stdlib_module_names, "pytest_webarena", "__future__"}
    return {name: where for name, where in found.items() if name not in own}
