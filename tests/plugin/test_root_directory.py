"""Options whose path is a separate argument do not change pytest's root directory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.plugin.root_directory import _joined
from tests.plugin.conftest import CANNED_RUNTIME

MakeTasks = Callable[..., None]

AGENT = "python: mine:Mine\n"
MINE = """
class Mine:
    def act(self, observation):
        return "stop []"
"""


@pytest.fixture
def project(pytester: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project without a settings file, inside the folder of the run directories; its agent is in ``agents/``."""
    folder = pytester.path / "project"
    make_tasks("a")
    (folder / "agents").mkdir(parents=True)
    (pytester.path / "tasks").rename(folder / "tasks")
    (folder / "agents" / "mine.yaml").write_text(AGENT)
    (folder / "mine.py").write_text(MINE)
    (folder / "conftest.py").write_text(CANNED_RUNTIME)
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(str(folder))
    return folder


@pytest.mark.exhaustive
def test_workers_use_root_directory_of_the_run(project: Path, pytester: pytest.Pytester) -> None:
    result = pytester.runpytest("tasks", "-n1", "-p", "no:cacheprovider", "--agent=mine", "--run-dir", "../run")
    result.assert_outcomes(passed=1)
    (folder,) = (project.parent / "run" / "trials").iterdir()
    assert '"tasks/demo.yaml::a' in (folder / "started.json").read_text()


@pytest.mark.exhaustive
def test_resume_path_does_not_change_root_directory(project: Path, pytester: pytest.Pytester) -> None:
    pytester.runpytest("tasks", "--agent=mine", "--run-dir", "../run").assert_outcomes(passed=1)
    result = pytester.runpytest("tasks", "--agent=mine", "--resume", "../run")
    result.assert_outcomes(deselected=1)
    result.stdout.fnmatch_lines([f"rootdir: {project}"])
    assert not (project.parent / ".pytest_cache").exists()


@pytest.mark.matrix(1)
@pytest.mark.parametrize("option", ["--model-cache", "--judge-cache", "--alluredir"])
def test_path_options_do_not_change_root_directory(project: Path, pytester: pytest.Pytester, option: str) -> None:
    (project.parent / "elsewhere").mkdir()
    result = pytester.runpytest("tasks", "--collect-only", "--agent=mine", option, "../elsewhere")
    result.stdout.fnmatch_lines([f"rootdir: {project}", "*<TaskItem a*"])


def test_settings_of_another_project_are_rejected(project: Path, pytester: pytest.Pytester) -> None:
    other = project.parent / "other"
    other.mkdir()
    (other / "pytest.ini").write_text("[pytest]\n")
    result = pytester.runpytest("tasks", "--collect-only", "--agent=mine", "--model-cache", "../other")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: expected the settings of none, *{other}/pytest.ini, because it takes ../other for*"]
    )


SETTINGS = """
[pytest]
addopts = --agent=mine --trials=2
pythonpath = .
markers = mine
strict_markers = true
"""


@pytest.fixture
def configured_project(project: Path) -> Path:
    """The project with a settings file, which names the agent and the number of trials."""
    (project / "pytest.ini").write_text(SETTINGS)
    return project


@pytest.mark.matrix(1)
@pytest.mark.parametrize("options", [["-n1"], []], ids=["with workers", "without"])
def test_run_directory_outside_project_keeps_its_settings(
    configured_project: Path, pytester: pytest.Pytester, options: list[str]
) -> None:
    result = pytester.runpytest(*options, "--run-dir", "../run")
    result.assert_outcomes(passed=2)
    result = pytester.runpytest("--resume", "../run")
    result.assert_outcomes(deselected=2)


@pytest.mark.exhaustive
def test_workers_ignore_settings_of_another_project(configured_project: Path, pytester: pytest.Pytester) -> None:
    (configured_project.parent / "other").mkdir()
    (configured_project.parent / "other" / "pytest.ini").write_text("[pytest]\naddopts = --trials=3\n")
    result = pytester.runpytest("-n1", "--run-dir", "../other/run")
    result.assert_outcomes(passed=2)


@pytest.mark.exhaustive
def test_ini_file_found_late_applies_completely(configured_project: Path, pytester: pytest.Pytester) -> None:
    (configured_project.parent / "elsewhere").mkdir()
    (configured_project / "conftest.py").write_text(
        "import mine\n\ndef pytest_configure(config): print('TRIALS', config.option.trials)\n"
    )
    result = pytester.runpytest("--collect-only", "-s", "--model-cache", "../elsewhere")
    result.stdout.fnmatch_lines(["TRIALS 2", f"rootdir: {configured_project}", "configfile: pytest.ini"])


def test_path_options_for_workers_are_joined_with_equals_sign() -> None:
    options = frozenset({"--run-dir", "--suite"})
    given = ["t", "--run-dir", "../x", "-n", "2", "--suite=a", "--verbose", "--suite", "b", "--", "--run-dir", "c"]
    assert list(_joined(given, options)) == [
        "t", "--run-dir=../x", "-n", "2", "--suite=a", "--verbose", "--suite=b", "--", "--run-dir", "c",
    ]  # fmt: skip
    assert list(_joined(["--run-dir"], options)) == ["--run-dir"]
