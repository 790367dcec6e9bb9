"""What a session pays for a plugin that it does not use, and when the plugin wakes."""

from __future__ import annotations

import pytest

from pytest_webarena.plugin.options import asked_for
from tests.plugin.conftest import task_file

TELLS = """
import sys

def tell(config, name):
    (config.rootpath / f"{name}.txt").write_text(" ".join(sys.modules))

def pytest_sessionfinish(session):
    if hasattr(session.config, "workerinput"):
        tell(session.config, "worker")  # once it has reported back, xdist may kill one that takes long to end

def pytest_unconfigure(config):
    if not hasattr(config, "workerinput"):
        tell(config, "controller")
"""
WOKEN = {"pytest_webarena.plugin.hooks", "pytest_webarena.plugin.settings", "pytest_webarena.plugin.controller"}


def test_a_session_without_tasks_wakes_neither_controller_nor_worker(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(TELLS)
    pytester.makepyfile("def test_it(): pass")
    pytester.runpytest_subprocess("-n1").assert_outcomes(passed=1)
    for process in ("controller", "worker"):
        assert not WOKEN & set((pytester.path / f"{process}.txt").read_text().split())


def test_the_first_task_file_wakes_it(canned: pytest.Pytester) -> None:
    (canned.path / "one.tasks.yaml").write_text(task_file("a"))
    result = canned.runpytest_subprocess("-n1")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["oracle: 1/1 passed*"])


@pytest.mark.parametrize(
    "arguments",
    [
        ("--agent=null",),
        ("--env-retries=0",),
        ("--max-errors=0",),
        ("--one-per-template=0",),
        ("--allow-unreset",),
        ("-o", "webarena_sites=webarena"),
        ("-o", "webarena_agents="),
        ("webarena::webarena.1",),
    ],
)
def test_whatever_asks_for_something_of_ours_counts(pytester: pytest.Pytester, arguments: tuple[str, ...]) -> None:
    assert asked_for(pytester.parseconfig(*arguments))


def test_options_of_others_and_our_defaults_ask_for_nothing(pytester: pytest.Pytester) -> None:
    assert not asked_for(pytester.parseconfig("-k", "a", "--env-retries=1", "--record=all", "tests/test_it.py::test_a"))
