"""Items run their trials through the configured executor."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.plugin.conftest import CANNED_RUNTIME

ELSEWHERE = '''
from concurrent.futures import ThreadPoolExecutor
from threading import current_thread
from pytest_webarena.errors import SiteMissing


@pytest.fixture(scope="session")
def webarena_executor(webarena_runtime):
    """Plays trials in a thread of its own."""
    class Elsewhere:
        def submit(self, task, agent, trial, *, browser, node_id=""):
            return pool.submit(self.play, task, agent, trial, browser=browser, node_id=node_id)

        def play(self, task, agent, trial, *, browser, node_id):
            print("played by", current_thread().name)
            if "gone" in task.id:
                raise SiteMissing("no such site")
            if "full" in task.id:
                raise OSError("no space left")
            return webarena_runtime.run(task, agent, trial, browser=browser, node_id=node_id)

    with ThreadPoolExecutor(1, "elsewhere") as pool:
        yield Elsewhere()
'''


def test_item_takes_its_outcome_from_the_executors_future(
    pytester: pytest.Pytester, make_tasks: Callable[..., None]
) -> None:
    pytester.makeconftest(CANNED_RUNTIME + ELSEWHERE)
    make_tasks("right", "wrong", "odd", "gone", "full")
    result = pytester.runpytest_inprocess("tasks", "-s", "-rs")
    result.assert_outcomes(passed=1, failed=1, errors=2, skipped=1)
    assert result.stdout.str().count("played by elsewhere") == 5
    result.stdout.fnmatch_lines(["*no such site*"])
    result.stdout.fnmatch_lines(["*the trial's records can't be written: no space left*"])
