"""``--concurrency`` with ``-n``: each of several workers runs several trials at a time."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable

import pytest

from pytest_webarena.results import RunDir, TrialRecord
from tests.plugin.conftest import CANNED_RUNTIME
from tests.plugin.test_concurrency import IN_FLIGHT

MakeTasks = Callable[..., None]
DYING = (
    CANNED_RUNTIME
    + '''
import threading

begun = threading.Semaphore(0)


class Dying(CannedRuntime):
    """The one that dies does so when two others are in flight, which go on until then."""

    def run(self, task, agent, trial, *, browser, node_id):
        if "beside" in task.id:
            begun.release()
            threading.Event().wait()
        if "fatal" in task.id:
            begun.acquire()
            begun.acquire()
            os._exit(9)
        return super().run(task, agent, trial, browser=browser, node_id=node_id)


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    return Dying(webarena_run, pytestconfig.stash[SETTINGS])
'''
)


def records(pytester: pytest.Pytester) -> dict[str, TrialRecord]:
    return {record.key.task: record for record in RunDir(pytester.path / "run").records()}


@pytest.mark.exhaustive
def test_worker_runs_several_trials_at_once_and_each_exactly_once(
    pytester: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    """Each "met" trial waits for two others in its process, so running one trial at a time would deadlock."""
    pytester.makeconftest(IN_FLIGHT)
    make_tasks(*(f"met-{number}" for number in range(12)), *(f"plain-{number}" for number in range(20)), "met-wrong")
    pytester.makepyfile(test_own="def test_one(): pass\ndef test_two(): assert False\n")
    result = pytester.runpytest(
        "tasks",
        "test_own.py",
        "-n1",
        "--agent=oracle",
        "--concurrency=3",
        "--run-dir=run",
        "--junitxml=out.xml",
        "-k",
        "not met-wrong",
    )
    result.assert_outcomes(passed=33, failed=1)
    assert len(records(pytester)) == 32
    cases = [case.get("name", "") for case in ET.parse(pytester.path / "out.xml").iter("testcase")]
    assert len(cases) == len(set(cases)) == 34


@pytest.mark.exhaustive
def test_two_workers_share_the_trials(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks(*(f"t{number}" for number in range(10)), "wrong", "odd")
    result = canned.runpytest("tasks", "-n2", "--agent=oracle", "--trials=2", "--concurrency=4", "--run-dir=run", "-v")
    result.assert_outcomes(passed=20, failed=2, errors=2)
    workers = {line.partition("]")[0] for line in result.outlines if line.startswith("[gw")}
    assert workers == {"[gw0", "[gw1"}
    assert len(RunDir(canned.path / "run").records()) == 24
    result.stdout.fnmatch_lines(["trials         24 planned, 24 run (22 judged, 2 errors)"])


@pytest.mark.exhaustive  # the first tier has it of the schedule: tests/unit/plugin/test_wide_scheduling.py
@pytest.mark.parametrize("count", [1, 2, 3])
def test_run_ends_with_fewer_trials_than_concurrency(
    canned: pytest.Pytester, make_tasks: MakeTasks, count: int
) -> None:
    make_tasks(*(f"t{number}" for number in range(count)))
    result = canned.runpytest("tasks", "-n2", "--agent=oracle", "--concurrency=8")
    result.assert_outcomes(passed=count)


@pytest.mark.exhaustive
def test_reason_for_one_at_a_time_is_reported_once_for_all_workers(
    canned: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks(*(f"t{number}" for number in range(9)))
    conftest = canned.path / "conftest.py"
    conftest.write_text(conftest.read_text() + "\n@pytest.fixture(autouse=True)\ndef mine():\n    yield\n")
    result = canned.runpytest("tasks", "-n2", "--agent=oracle", "--concurrency=4")
    result.assert_outcomes(passed=9)
    assert result.stdout.str().count("9 trials one at a time: the fixture mine would not be around it") == 1


def test_crashed_worker_loses_only_its_running_trials(pytester: pytest.Pytester, make_tasks: MakeTasks) -> None:
    pytester.makeconftest(DYING)
    make_tasks("beside-one", "beside-two", "fatal", *(f"t{number}" for number in range(6)))
    result = pytester.runpytest("tasks", "-n1", "--agent=oracle", "--concurrency=3", "--run-dir=run")
    failures = [line for line in result.outlines if line.startswith("FAILED")]
    assert sorted(line.partition("::")[2].partition("[")[0] for line in failures) == [
        "beside-one",
        "beside-two",
        "fatal",
    ]
    assert {name for name, record in records(pytester).items() if record.outcome == "passed"} == {
        f"t{number}" for number in range(6)
    }

    pytester.makeconftest(CANNED_RUNTIME)
    again = pytester.runpytest("--resume=run", "--concurrency=1")
    again.assert_outcomes(passed=3)


@pytest.mark.exhaustive
def test_next_worker_runs_tests_that_crashed_worker_had_not_started(
    pytester: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    """They are assigned first, and wait until no trial is running."""
    pytester.makeconftest(DYING)
    make_tasks("beside-one", "beside-two", "fatal", "t0", "t1")
    pytester.makepyfile(test_own="def test_one(): pass\ndef test_two(): pass\n")
    result = pytester.runpytest("test_own.py", "tasks", "-n1", "--agent=oracle", "--concurrency=3", "--run-dir=run")
    result.assert_outcomes(passed=4, failed=3)
    failed = [line.partition("::")[2].partition("[")[0] for line in result.outlines if line.startswith("FAILED")]
    assert sorted(failed) == ["beside-one", "beside-two", "fatal"]


@pytest.mark.exhaustive
def test_skipped_item_that_crashes_its_worker_is_not_run_again(
    pytester: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    """It has no prefetched trial; running it again would crash the next worker too."""
    pytester.makeconftest(
        # Not by the environment variable for workers, which is also set when this suite itself runs with workers.
        DYING + "\nworker = []\ndef pytest_sessionstart(session):\n"
        "    if hasattr(session.config, 'workerinput'):\n        worker.append(True)\n"
        "def pytest_runtest_logstart(nodeid):\n    if 'doomed' in nodeid and worker:\n"
        "        begun.acquire(timeout=30)\n        begun.acquire(timeout=30)\n        os._exit(9)\n"
    )
    make_tasks("beside-one", "beside-two", "doomed", "t0")
    file = pytester.path / "tasks" / "demo.yaml"
    file.write_text(file.read_text().replace("intent: Say doomed", "intent: Say doomed\n    skip: not now"))
    result = pytester.runpytest("tasks", "-n1", "--agent=oracle", "--concurrency=3", "--run-dir=run")
    failed = [line.partition("::")[2].partition("[")[0] for line in result.outlines if line.startswith("FAILED")]
    assert sorted(failed) == ["beside-one", "beside-two", "doomed"]
    assert records(pytester)["t0"].outcome == "passed"


@pytest.mark.exhaustive
def test_waiting_python_tests_do_not_reduce_concurrent_trials(pytester: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """There are more Python tests than a worker is assigned at a time; "met" trials wait for one another."""
    pytester.makeconftest(IN_FLIGHT)
    make_tasks("met-0", "met-1", "met-2")
    pytester.makepyfile(test_own="import pytest\n@pytest.mark.parametrize('n', range(8))\ndef test_own(n): pass\n")
    result = pytester.runpytest("test_own.py", "tasks", "-n1", "--agent=oracle", "--concurrency=3")
    result.assert_outcomes(passed=11)


@pytest.mark.exhaustive
def test_exit_first_stops_all_workers(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("wrong", *(f"t{number}" for number in range(300)))
    result = canned.runpytest("tasks", "-n2", "--agent=oracle", "--concurrency=4", "-x", "--run-dir=run")
    assert result.parseoutcomes()["failed"] == 1
    assert len(records(canned)) < 301
