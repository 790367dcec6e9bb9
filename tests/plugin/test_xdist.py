"""xdist workers: same items, records of crashed trials, artifacts kept."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.usefixtures("real_processes")

MakeTasks = Callable[..., None]


SHOWS_ORDER = """

@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if hasattr(config, "workerinput"):
        with open("order", "w") as file:
            print("ORDER", *[item.name for item in items], file=file)
"""


def test_two_workers_share_a_run_and_group_tasks_by_sites(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("wrong", "odd", name="last")
    sites = ["[shopping]", "[homepage]", "[shopping, homepage]", "[]", "[homepage]", "[shopping]"]
    tasks = "".join(
        f"  - id: t{number}\n    sites: {names}\n    intent: Say it\n    checks: [{{answer: it}}]\n"
        for number, names in enumerate(sites)
    )
    (canned.path / "mixed.tasks.yaml").write_text(f"tasks:\n{tasks}")
    canned.makepyfile(test_other="def test_other(): pass")
    with (canned.path / "conftest.py").open("a") as conftest:
        conftest.write(SHOWS_ORDER)
    result = canned.runpytest("-n2", "--run-dir=run")
    result.assert_outcomes(passed=7, failed=1, errors=1)
    result.stdout.fnmatch_lines(["oracle: 6/7 passed*"])
    assert len(list((canned.path / "run" / "trials").iterdir())) == 8
    shown = (canned.path / "order").read_text().split()
    names = [name.partition("[")[0] for name in shown[1:]]
    assert names == ["t0", "t5", "t2", "t1", "t4", "t3", "wrong", "odd", "test_other"]
    canned.runpytest("--lf").assert_outcomes(failed=1, errors=1)


@pytest.mark.exhaustive
def test_last_failed_runs_only_failures_with_workers(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("right", "wrong", "odd")
    for _ in range(2):
        result = canned.runpytest("-n1", "--lf")
    result.assert_outcomes(failed=1, errors=1)


@pytest.mark.exhaustive
def test_trial_of_crashed_worker_is_recorded_as_harness_error(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "dying", "b")
    result = canned.runpytest("-n1", "--run-dir=run")
    result.assert_outcomes(passed=2, failed=1)  # xdist itself reports the crashed item as failed
    result.stdout.fnmatch_lines(["oracle: 2/2 passed*1 error excluded*", "*errors by*harness 1*"])
    files = (canned.path / "run" / "trials").glob("dying*/trial.json")
    (record,) = [json.loads(file.read_text()) for file in files]
    assert (record["outcome"], record["cause"]) == ("error", "harness")
    assert "died during this trial" in record["message"]


@pytest.mark.exhaustive
def test_plugin_uses_work_stealing_scheduler(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "b")
    with (canned.path / "conftest.py").open("a") as file:
        file.write(
            "\n@pytest.hookimpl(trylast=True)\n"
            "def pytest_xdist_node_collection_finished(node, ids):\n"
            "    print('SCHEDULER', type(node.config.pluginmanager.get_plugin('dsession').sched).__name__)\n"
        )
    canned.runpytest("-n1", "-s").stdout.fnmatch_lines(["*SCHEDULER WorkStealingScheduling*"])


def test_late_worker_keeps_output_of_other_workers(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    """pytest-playwright empties --output when a worker's first test starts; each worker must have its own."""
    canned.makepyfile(
        "import pathlib\n"
        "def test_early(pytestconfig):\n"
        "    out = pathlib.Path(pytestconfig.getoption('--output'))\n"
        "    out.mkdir(parents=True); (out / 'early.txt').write_text('kept')\n"
        "def test_late():\n"
        "    pass\n"
    )
    with (canned.path / "conftest.py").open("a") as file:
        file.write(
            "\n@pytest.hookimpl(tryfirst=True)\n"
            "def pytest_runtest_setup(item):\n"
            "    from pathlib import Path\n"
            "    from tests.processes import wait_until\n"
            "    if item.name == 'test_late':  # its worker empties its folder next\n"
            "        wait_until(lambda: any(Path('art').rglob('early.txt')), 60)\n"
        )
    canned.runpytest("-n2", "--output=art").assert_outcomes(passed=2)
    assert [path.name for path in (canned.path / "art").rglob("*.txt")] == ["early.txt"]


def test_auto_starts_as_many_workers_as_memory_holds(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tasks("a", "b")
    with (canned.path / "conftest.py").open("a") as file:
        file.write(
            "\nfrom pytest_webarena.trials import concurrency\n"
            "concurrency.available_memory = lambda: 3000 << 20\n"
            "@pytest.hookimpl(optionalhook=True)\n"
            "def pytest_xdist_auto_num_workers(config):\n"
            "    return 4\n"
        )
    result = canned.runpytest("-nauto", "--agent=oracle")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(
        ["webarena: -n auto starts 2 workers: the free memory is not enough for 4*", "*2 workers*"]
    )
    monkeypatch.setenv("PYTEST_XDIST_AUTO_NUM_WORKERS", "4")  # the user's own choice
    result = canned.runpytest("-nauto", "--agent=oracle", "--collect-only")
    result.stdout.no_fnmatch_line("*free memory*")
