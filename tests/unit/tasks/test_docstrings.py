"""Examples in the docstrings of the packages ``tasks`` and ``checks``."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest_webarena.checks
import pytest_webarena.tasks
from tests.cases import each_case

MODULES = [
    name
    for package in (pytest_webarena.tasks, pytest_webarena.checks)
    for name in (
        package.__name__,
        *(f"{package.__name__}.{each.name}" for each in pkgutil.iter_modules(package.__path__)),
    )
]


@each_case("name", MODULES)
def test_docstring_examples_pass(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@each_case("name", MODULES)
def test_modules_have_docstrings_and_valid_all(name: str) -> None:
    module = importlib.import_module(name)
    assert module.__doc__
    missing = [offered for offered in getattr(module, "__all__", [None]) if not hasattr(module, str(offered))]
    assert missing == []


def test_at_least_ten_docstrings_have_examples() -> None:
    found = [
        test
        for name in MODULES
        for test in doctest.DocTestFinder().find(importlib.import_module(name))
        if test.examples
    ]
    assert len(found) >= 10
