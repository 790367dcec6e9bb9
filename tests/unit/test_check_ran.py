"""CI's second look at a report: did the tests that need a browser or Docker run?"""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.check_ran import complaints

RAN = '<testcase classname="docker.test_pool" name="test_a"/><testcase classname="browser.test_tabs" name="test_b"/>'


def report(folder: Path, cases: str) -> Path:
    path = folder / "junit.xml"
    path.write_text(f"<testsuites><testsuite>{cases}</testsuite></testsuites>")
    return path


def test_all_ran(tmp_path: Path) -> None:
    elsewhere = '<testcase classname="unit.browser.test_x" name="test_c"><skipped message="no such locale"/></testcase>'
    alike = '<testcase classname="unit.test_y" name="test_d"><skipped message="no package browsergym-x"/></testcase>'
    assert complaints(report(tmp_path, RAN + elsewhere + alike), ["docker", "browser"]) == []


@pytest.mark.parametrize(
    ("case", "complaint"),
    [
        ('classname="docker.test_pool" name="test_d"><skipped message="later"/>', "docker.test_pool::test_d: later"),
        (
            'classname="plugin.test_run" name="test_e"><skipped message="no Docker engine answers"/>',
            "plugin.test_run::test_e: no Docker engine answers",
        ),
    ],
)
def test_a_skip_that_matters_is_named(case: str, complaint: str, tmp_path: Path) -> None:
    assert complaints(report(tmp_path, f"{RAN}<testcase {case}</testcase>"), ["docker", "browser"]) == [
        f"skipped: {complaint}"
    ]


def test_an_expected_failure_has_run(tmp_path: Path) -> None:
    case = '<testcase classname="docker.test_pool" name="test_f"><skipped type="pytest.xfail" message="x"/></testcase>'
    assert complaints(report(tmp_path, RAN + case), ["docker", "browser"]) == []


def test_a_folder_without_tests_is_named(tmp_path: Path) -> None:
    assert complaints(report(tmp_path, RAN), ["docker", "plugin"]) == ["no test of tests/plugin ran"]


@pytest.mark.parametrize("content", [None, "", "<testsuites><testsuite>"])
def test_a_missing_or_broken_report_is_a_complaint(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    if content is not None:
        path.write_text(content)
    assert "expected pytest's report" in complaints(path, ["docker"])[0]
