"""Addresses of documentation in messages of the package: each leads to a page and a heading that are there."""

from __future__ import annotations

import ast
import doctest
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_webarena.docs_site
import scripts.build_site
import scripts.package_readme
from pytest_webarena.docs_site import ADDRESS
from scripts.build_site import ROOT, addresses, loaded_from_elsewhere

PACKAGE = ROOT / "pytest_webarena"
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PATHS = re.compile(r"\bdocs/[a-z-]+\.md\b")


def anchors(page: Path) -> set[str]:
    """Anchors of headings, as code hosts and the site make them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("module", [pytest_webarena.docs_site, scripts.package_readme])
def test_examples_are_true(module: object) -> None:
    assert doctest.testmod(module).failed == 0  # type: ignore[arg-type]


def test_every_address_has_a_page_and_a_heading() -> None:
    named = list(addresses())
    assert {"README.md", "agents/webcanvas-reward.yaml", "pytest_webarena/commands/cli.py"} <= {
        each[0] for each in named
    }
    dead = []
    for where, page, anchor in named:
        if page.startswith("_static/"):
            there = (ROOT / "docs" / "images" / page.removeprefix("_static/")).is_file()
        else:
            file = ROOT / "docs" / page.replace(".html", ".md")
            there = file.is_file() and (not anchor or anchor in anchors(file))
        if not there:
            dead.append((where, page, anchor))
    assert dead == []


def test_the_project_names_the_same_address() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["urls"]["Documentation"] == ADDRESS


def test_the_readme_of_a_package_has_addresses_alone() -> None:
    made = scripts.package_readme.with_addresses((ROOT / "README.md").read_text("utf-8"), ADDRESS)
    links = re.findall(r"\]\(([^)]+)\)", made)
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://")] == []


def texts(path: Path) -> Iterator[str]:
    """Texts of a module that may come before users' eyes: those that are no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in silent:
            yield node.value


def test_users_of_the_package_are_sent_to_no_file_of_the_repository() -> None:
    makes_docs = {PACKAGE / "tasks/reference.py", PACKAGE / "sites/catalogues/reference.py"}
    found = [
        f"{path.relative_to(ROOT)}: {text}"
        for path in PACKAGE.rglob("*.py")
        if path not in makes_docs and "docs/" in path.read_text("utf-8")
        for text in texts(path)
        if PATHS.search(text)
    ]
    given = [*PACKAGE.rglob("*.yaml"), *PACKAGE.rglob("*.yml"), *ROOT.glob("agents/*.yaml"), *PACKAGE.rglob("*.json")]
    found += [
        str(path) for path in given if re.search(r"\bdocs/[a-z-]+\.md\b|\]\([a-z-]+\.md", path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ('<script src="https://cdn.example/a.js"></script>', True),
        ('<link rel="stylesheet" href="//fonts.example/css">', True),
        ("@import url('https://fonts.example/css');", True),
        ('<a href="https://example.org">', False),
        ('<script src="_static/doctools.js"></script><link rel="stylesheet" href="_static/a.css">', False),
    ],
)
def test_what_a_page_would_load_from_elsewhere(tmp_path: Path, text: str, loads: bool) -> None:
    (tmp_path / "index.html").write_text(text)
    assert bool(list(loaded_from_elsewhere(tmp_path))) is loads
