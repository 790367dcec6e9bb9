"""``--concurrency``: several trials run at a time, and pytest reports each item when its trial ends."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.plugin.conftest import CANNED_RUNTIME

IN_FLIGHT = (
    CANNED_RUNTIME
    + '''
import logging, pathlib, signal, sys, threading
from pytest_webarena.plugin.stash import WORKER
from pytest_webarena.trials.cancellation import Cancelled

ROOM = 3
together = threading.Barrier(ROOM)
over = {}
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it


class InFlight(CannedRuntime):
    """Besides: those that are met wait for each other, late ones until the first is told of; held ones end with the
    run."""

    broken = threading.Event()

    def cancel_trials(self):
        self.broken.set()

    def run(self, task, agent, trial, *, browser, node_id):
        print("said by", task.id)
        sys.stderr.write(f"complained by {task.id}\\n")
        logging.getLogger("mine").warning("logged by %s", task.id)
        if "met" in task.id:
            together.wait(60)
        if "late" in task.id:
            assert over.setdefault("first", threading.Event()).wait(60)
        if "ctrl" in task.id:
            while not over.get("held"):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        if "held" in task.id:
            folder = self.run_dir.folder(TrialKey(task.id, "oracle", trial, browser))
            self.run_dir.describe(self.info.facts)
            folder.begin(worker="main.1", node_id=node_id, task={"sites": list(task.sites), "task_digest": task.digest})
            over["held"] = True
            if not self.broken.wait(60):
                (pathlib.Path.cwd() / "never-ended").touch()
            raise Cancelled
        if "trailing" in task.id:
            while not over.get("held"):
                time.sleep(0.01)
        return super().run(task, agent, trial, browser=browser, node_id=node_id)


def pytest_runtest_logreport(report):
    if "first" in report.nodeid and report.when == "call":
        over.setdefault("first", threading.Event()).set()


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    runtime = InFlight(webarena_run, pytestconfig.stash[SETTINGS])
    pytestconfig.stash[WORKER] = runtime
    return runtime
'''
)


@pytest.fixture
def in_flight(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(IN_FLIGHT)
    return pytester


MakeTasks = Callable[..., None]


def record_of(run: Path, task: str) -> dict[str, object]:
    (file,) = run.glob(f"trials/{task}*/trial.json")
    data: dict[str, object] = json.loads(file.read_text())
    return data


def test_items_are_reported_as_trials_end_with_own_output_and_time(
    in_flight: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("late-met", "met-wrong", "first-met", "another")
    (in_flight.path / "test_own.py").write_text("def test_own():\n    assert True\n")
    result = in_flight.runpytest(
        "tasks",
        "test_own.py",
        "--agent=oracle",
        "--concurrency=3",
        "-v",
        "--junitxml=out.xml",
        "-ojunit_logging=all",
        "--run-dir=run",
    )
    result.assert_outcomes(passed=4, failed=1)
    finished = [line.split("::")[1].split("[")[0] for line in result.outlines if "::" in line and " [" in line]
    assert finished.index("first-met") < finished.index("late-met")  # which started before it
    assert finished[-1].startswith("test_own")
    cases = {
        case.get("name", "").partition("[")[0]: case for case in ET.parse(in_flight.path / "out.xml").iter("testcase")
    }
    wrong = "".join(node.text or "" for node in cases["met-wrong"] if node.tag.startswith("system"))
    for kind in ("said", "complained", "logged"):
        assert f"{kind} by met-wrong" in result.stdout.str()
        assert f"{kind} by met-wrong" in wrong
        assert f"{kind} by late-met" not in result.stdout.str()
    assert float(cases["first-met"].get("time", "0")) >= 0.01


def test_trials_running_when_run_stops_are_errors_and_resume_repeats_them(
    in_flight: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("held-one", "held-two", "trailing-wrong", "never", "never-too", "never-three")
    result = in_flight.runpytest(
        "tasks", "--agent=oracle", "--concurrency=3", "-x", "--run-dir=run", "--max-consecutive-errors=0"
    )
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    run = in_flight.path / "run"
    for task in ("held-one", "held-two"):
        record = record_of(run, task)
        assert (record["outcome"], record["cause"]) == ("error", "harness")
        assert str(record["message"]).startswith("the run was interrupted during this trial")
    assert record_of(run, "trailing-wrong")["outcome"] == "failed"
    assert not list(run.glob("trials/never-three*"))

    (in_flight.path / "conftest.py").write_text(CANNED_RUNTIME)
    again = in_flight.runpytest("--resume=run", "--concurrency=2", "-q")
    assert again.parseoutcomes()["passed"] in (4, 5)  # "never" may have taken the place of the wrong one meanwhile
    assert record_of(run, "held-one")["outcome"] == "passed"


def test_ctrl_c_ends_running_trials_as_interrupted(in_flight: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("held-one", "held-two", "ctrl")
    result = in_flight.runpytest_subprocess("tasks", "--agent=oracle", "--concurrency=3", "--run-dir=run")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    for task in ("held-one", "held-two"):
        assert str(record_of(in_flight.path / "run", task)["message"]).startswith("the run was interrupted during")
    assert not (in_flight.path / "never-ended").exists()


def test_session_fixtures_close_after_running_trials_have_ended(
    in_flight: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("held-one", "held-two", "trailing-wrong")
    with (in_flight.path / "conftest.py").open("a") as file:
        file.write(
            "\n@pytest.fixture(scope='session', autouse=True)\ndef theirs(webarena_runtime):\n"
            "    yield\n    print('closed with all of them ended:', webarena_runtime.broken.is_set())\n"
        )
    result = in_flight.runpytest("tasks", "--agent=oracle", "--concurrency=3", "-x", "-s", "--max-consecutive-errors=0")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["*closed with all of them ended: True*"])
    assert not (in_flight.path / "never-ended").exists()


LONG = (
    CANNED_RUNTIME
    + """
import dataclasses, logging, threading

telling, said = threading.Event(), threading.Event()


class Long(CannedRuntime):
    \"\"\"Each trial says that it took long. A talker talks while another test is told of, which waits for that.\"\"\"

    def run(self, task, agent, trial, *, browser, node_id):
        if "talker" in task.id:
            assert telling.wait(60)
            print("said by the talker")
            logging.getLogger("mine").warning("logged by the talker")
            said.set()
        record = super().run(task, agent, trial, browser=browser, node_id=node_id)
        return dataclasses.replace(record, seconds={"total": 1234.5})

    def prune(self, record):
        if "told" in record.key.task:
            telling.set()
            assert said.wait(60)


def pytest_runtest_logreport(report):
    if report.when == "call":
        print(f"{report.nodeid} was {report.outcome} after {round(report.duration)} s")


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    return Long(webarena_run, pytestconfig.stash[SETTINGS])
"""
)


def test_output_of_trial_is_not_attributed_to_another_item(pytester: pytest.Pytester, make_tasks: MakeTasks) -> None:
    pytester.makeconftest(LONG)
    make_tasks("told", "talker")
    result = pytester.runpytest(
        "tasks", "--agent=oracle", "--concurrency=2", "--junitxml=out.xml", "-ojunit_logging=all", "--run-dir=run"
    )
    result.assert_outcomes(passed=2)
    for case in ET.parse(pytester.path / "out.xml").iter("testcase"):
        text = "".join(node.text or "" for node in case)
        assert [text.count(f"{kind} by the talker") for kind in ("said", "logged")] == [
            1 if "talker" in case.get("name", "") else 0
        ] * 2


@pytest.mark.usefixtures("every_plugin")
def test_item_duration_is_its_trials_and_a_rerun_has_its_own(pytester: pytest.Pytester, make_tasks: MakeTasks) -> None:
    pytester.makeconftest(LONG)
    make_tasks("flaky", "plain")
    result = pytester.runpytest("tasks", "--agent=oracle", "--concurrency=2", "--reruns=1", "-s")
    result.stdout.fnmatch_lines(["*plain* was passed after 1234 s"])
    result.stdout.fnmatch_lines(["*flaky* was rerun after 1234 s"])
    again = [line for line in result.outlines if "flaky" in line and " was failed after " in line]
    assert len(again) == 1
    assert "1234" not in again[0]


def test_function_fixture_makes_its_trials_run_one_at_a_time(in_flight: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("one", "two", name="wrapped")
    make_tasks("three-met", "four-met", "five-met", name="plain")
    (in_flight.path / "tasks" / "more").mkdir()
    (in_flight.path / "tasks" / "wrapped.yaml").rename(in_flight.path / "tasks" / "more" / "wrapped.yaml")
    (in_flight.path / "tasks" / "more" / "conftest.py").write_text(
        "import pytest\n@pytest.fixture(autouse=True)\ndef mine(request):\n"
        "    yield\n    print('torn down after', request.node.name)\n"
    )
    result = in_flight.runpytest("tasks", "--agent=oracle", "--concurrency=3", "-rA")
    result.assert_outcomes(passed=5)
    result.stdout.fnmatch_lines(
        ["webarena: --concurrency: 2 trials one at a time: the fixture mine would not be around it *"]
    )
    assert result.stdout.str().count("one at a time") == 1


def test_hook_of_local_plugin_makes_trials_run_one_at_a_time(in_flight: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("one", "two")
    in_flight.makepyfile(
        around_tests="import pytest\n"
        "@pytest.hookimpl(wrapper=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    return (yield)\n"
    )
    in_flight.syspathinsert()
    result = in_flight.runpytest("tasks", "--agent=oracle", "--concurrency=2", "-p", "around_tests")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        [
            "webarena: --concurrency: 2 trials one at a time: "
            "pytest_pyfunc_call in around_tests.py would not be around it"
        ]
    )


def test_fixture_added_by_hook_makes_its_trial_run_alone(in_flight: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("one", "two", "three")
    with (in_flight.path / "conftest.py").open("a") as file:
        file.write(
            "\n@pytest.fixture\ndef around():\n    print('set up'); yield\n"
            "@pytest.fixture(scope='session')\ndef once():\n    pass\n"
            "def pytest_collection_modifyitems(items):\n"
            "    for item in items:\n"
            "        item.fixturenames.append('around' if 'two' in item.name else 'once')\n"
        )
    result = in_flight.runpytest("tasks", "--agent=oracle", "--concurrency=2", "-rA")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(
        ["webarena: --concurrency: 1 trial one at a time: the fixture around would not be around *"]
    )
    assert result.outlines.count("set up") == 1


REMEMBERING = (
    CANNED_RUNTIME
    + """
import threading

together = threading.Barrier(3)
under_way, order = [], []


class Remembering(CannedRuntime):
    \"\"\"The first that remembers waits for two others; none that shares its memory may come beside it.\"\"\"

    def run(self, task, agent, trial, *, browser, node_id):
        if agent == "mem":
            assert not under_way, (task.id, under_way)
            under_way.append(task.id)
            order.append(task.id)
        if (agent == "mem") == ("first" in task.id):
            together.wait(60)
        record = super().run(task, agent, trial, browser=browser, node_id=node_id)
        if agent == "mem":
            under_way.remove(task.id)
        return record


def pytest_sessionfinish():
    print("in this order:", *order)


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    return Remembering(webarena_run, pytestconfig.stash[SETTINGS])
"""
)


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "in a worker"])
def test_trials_sharing_agent_memory_run_in_order_among_others(
    pytester: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    pytester.makeconftest(REMEMBERING)
    (pytester.path / "agents").mkdir()
    (pytester.path / "agents" / "mem.yaml").write_text("python: ../mine.py:Mine\nmemory: all\n")
    (pytester.path / "mine.py").write_text(
        "class Mine:\n    def __init__(self, task): pass\n"
        "    def act(self, observation): return None\n    def remember(self, reason): return None\n"
    )
    make_tasks("first", "b", "c")
    result = pytester.runpytest("tasks", "--agent=mem", "--agent=oracle", "--concurrency=3", "-s", *workers)
    result.assert_outcomes(passed=6)
    if not workers:
        result.stdout.fnmatch_lines(["*in this order: first b c"])


def test_repeated_errors_stop_remaining_trials_but_keep_skips(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks(*(f"odd-{number}" for number in range(12)))
    with (canned.path / "tasks" / "demo.yaml").open("a") as file:
        file.write("  - id: left\n    sites: []\n    intent: x\n    skip: not now\n    checks: [{answer: x}]\n")
    result = canned.runpytest(
        "tasks", "--agent=oracle", "--concurrency=2", "--max-consecutive-errors=3", "--run-dir=run"
    )
    outcomes = result.parseoutcomes()
    assert result.ret == 13
    assert 3 <= outcomes["errors"] <= 6
    assert outcomes["errors"] + outcomes["skipped"] == 13


@pytest.mark.usefixtures("every_plugin")
def test_rerun_runs_a_new_trial_and_keeps_first_verdict(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("flaky", "a", "b")
    result = canned.runpytest("tasks", "--agent=oracle", "--concurrency=2", "--reruns=1", "--run-dir=run")
    outcomes = result.parseoutcomes()
    assert (outcomes.get("rerun"), outcomes.get("passed")) == (1, 2)
    record = record_of(canned.path / "run", "flaky")
    assert record["outcome"] == "failed"  # the first verdict counts
    assert [rerun["outcome"] for rerun in record["reruns"]] == ["passed"]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("option", "message"),
    [("-n2 --dist=worksteal", "found --dist worksteal"), ("--stepwise", "depends on the order of tests")],
)
def test_options_incompatible_with_concurrency_are_rejected(
    canned: pytest.Pytester, make_tasks: MakeTasks, option: str, message: str
) -> None:
    make_tasks("a")
    result = canned.runpytest("tasks", "--agent=oracle", "--concurrency=4", *option.split())
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert message in " ".join(line.strip() for line in result.errlines + result.outlines)


PLACE = """
import pytest

@pytest.fixture(scope="package")
def place():
    yield
    raise RuntimeError("the place did not close")
"""


def test_trials_of_several_folders_end_in_any_order(in_flight: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """The first item's trial ends last, so pytest enters its folder, leaves it and enters it again.
    An error in the folder's teardown belongs to the item that runs next.
    """
    make_tasks("late-met", "another")
    (tasks,) = (in_flight.path / "tasks").glob("*.yaml")
    for folder, ids in (("one", ("first-met", "b")), ("two", ("met-c", "d"))):
        (in_flight.path / folder).mkdir()
        text = tasks.read_text().replace("late-met", ids[0]).replace("another", ids[1])
        (in_flight.path / folder / "more.yaml").write_text(text)
    (in_flight.path / "one" / "conftest.py").write_text(PLACE)
    (in_flight.path / "one" / "__init__.py").write_text("")
    (in_flight.path / "one" / "a_test.py").write_text("def test_own(place):\n    pass\n")
    result = in_flight.runpytest("one", "tasks", "two", "--agent=oracle", "--concurrency=3", "--run-dir=run")
    result.assert_outcomes(passed=6, errors=1)
    assert "torn down" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*RuntimeError: the place did not close"])


@pytest.mark.exhaustive
def test_internal_type_error_is_not_hidden_by_running_trials_one_by_one(
    canned: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("a", "b")
    conftest = canned.path / "conftest.py"
    conftest.write_text(
        conftest.read_text() + "\nfrom pytest_webarena.trials.threaded_executor import ThreadedExecutor\n"
        "def submit(self, task, agent, trial, *, browser, node_id): raise AssertionError\n"
        "ThreadedExecutor.submit = submit\n"
    )
    result = canned.runpytest_subprocess("tasks", "--agent=oracle", "--concurrency=2")
    assert result.ret == pytest.ExitCode.INTERNAL_ERROR
    result.stdout.fnmatch_lines(["*TypeError: submit() got *unexpected keyword argument*"])
