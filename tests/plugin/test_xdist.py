"""Workers: same items, records of crashed ones, artifacts kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

MakeTasks = Callable[..., None]


def test_two_workers_share_a_run(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b", "c", "wrong", "odd")
    result = canned.runpytest_subprocess("-n2", "--run-dir=run")
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines(["oracle: 3/4 passed*"])
    assert len(list((canned.path / "run" / "trials").iterdir())) == 5


def test_last_failed_and_exit_first_work_with_workers(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b", "wrong")
    canned.runpytest_subprocess("-n2").assert_outcomes(passed=2, failed=1)
    canned.runpytest_subprocess("-n2", "--lf").assert_outcomes(failed=1)


def test_the_trial_of_a_dead_worker_is_an_error_on_record(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "dying", "b")
    result = canned.runpytest_subprocess("-n2", "--run-dir=run")
    result.assert_outcomes(passed=2, failed=1)  # xdist itself reports the crashed item as failed
    result.stdout.fnmatch_lines(["oracle: 2/2 passed*1 error beside*", "*errors by*harness 1*"])
    files = (canned.path / "run" / "trials").glob("dying*/trial.json")
    (record,) = [json.loads(file.read_text()) for file in files]
    assert (record["outcome"], record["cause"]) == ("error", "harness")
    assert "died during this trial" in record["message"]


def test_items_are_stolen_not_queued(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b")
    with (canned.path / "conftest.py").open("a") as file:
        file.write(
            "\n@pytest.hookimpl(trylast=True)\n"
            "def pytest_xdist_node_collection_finished(node, ids):\n"
            "    print('SCHEDULER', type(node.config.pluginmanager.get_plugin('dsession').sched).__name__)\n"
        )
    canned.runpytest_subprocess("-n2", "-s").stdout.fnmatch_lines(["*SCHEDULER WorkStealingScheduling*"])


def test_a_late_worker_does_not_delete_what_others_wrote(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """pytest-playwright empties --output when a worker's first test starts; each worker must have its own."""
    canned.makepyfile(
        "import pathlib, time\n"
        "def test_early(pytestconfig):\n"
        "    out = pathlib.Path(pytestconfig.getoption('--output'))\n"
        "    out.mkdir(parents=True); (out / 'early.txt').write_text('kept')\n"
        "def test_late():\n"
        "    time.sleep(0.5)\n"
    )
    canned.runpytest_subprocess("-n2", "--output=art").assert_outcomes(passed=2)
    assert [path.name for path in (canned.path / "art").rglob("*.txt")] == ["early.txt"]
