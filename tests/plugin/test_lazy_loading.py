"""When the plugin loads its modules, and that sessions which do not use it do not load them."""

from __future__ import annotations

import pytest

from pytest_webarena.plugin.options import is_plugin_used
from tests.plugin.conftest import task_file

pytestmark = pytest.mark.usefixtures("real_processes")

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


def test_python_tests_alone_do_not_load_the_plugin(
    pytester: pytest.Pytester,
) -> None:
    pytester.makeconftest(TELLS)
    test = pytester.makepyfile("def test_it(): pass")
    (pytester.path / "one.tasks.yaml").write_text(task_file("a"))
    folder = pytester.mkdir("folder")
    (folder / "test_other.py").write_text("def test_other(): pass\n")
    pytester.runpytest_subprocess("-n1", folder.name, test.name).assert_outcomes(passed=2)
    for process in ("controller", "worker"):
        assert not WOKEN & set((pytester.path / f"{process}.txt").read_text().split())


def test_task_files_are_found_through_any_kind_of_path(
    canned: pytest.Pytester, tmp_path_factory: pytest.TempPathFactory
) -> None:
    canned.makepyfile(test_it="def test_it(): pass")
    below, elsewhere = canned.path / "below" / "further", tmp_path_factory.mktemp("elsewhere")
    below.mkdir(parents=True)
    for folder, task in ((below, "a"), (canned.path, "b"), (elsewhere, "c")):
        (folder / f"{task}.tasks.yaml").write_text(task_file(task))
    (canned.path / "link").symlink_to(elsewhere)
    for arguments, passed in (
        ((), 4), ((canned.path,), 4), (("below",), 1), (("test_it.py", "below/further"), 2), (("test_it.py",), 1),
        (("test_it.py", "b.tasks.yaml"), 2), (("b.tasks.yaml::b",), 1), (("link",), 1), (("link/c.tasks.yaml",), 1),
    ):  # fmt: skip
        canned.runpytest(*arguments).assert_outcomes(passed=passed)


def test_first_task_file_loads_the_plugin(canned: pytest.Pytester) -> None:
    (canned.path / "one.tasks.yaml").write_text(task_file("a"))
    result = canned.runpytest("-n1")
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
def test_any_plugin_option_or_suite_argument_loads_the_plugin(
    pytester: pytest.Pytester, arguments: tuple[str, ...]
) -> None:
    assert is_plugin_used(pytester.parseconfig(*arguments))


def test_foreign_options_and_defaults_do_not_load_the_plugin(pytester: pytest.Pytester) -> None:
    assert not is_plugin_used(
        pytester.parseconfig("-k", "a", "--env-retries=1", "--record=all", "tests/test_it.py::test_a")
    )
