"""Run pytest inside pytest with canned trials; `test_end_to_end.py` runs real ones."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

import pytest

from tests.forked import PRELOADED

# A run inside this process forgets what it has imported, and half of its time is spent on importing it again. So what
# all of them need is imported once, here.
for _module in (*PRELOADED, "xdist.dsession"):
    import_module(_module)

CANNED_RUNTIME = '''
import os, time
import pytest
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.agents import resolve_agent


class CannedRuntime:
    """Answers trials by words in the task's id.

    A wrong one fails, or one that is not-in-firefox there; an odd one errs, a dying one ends the process.
    """

    def __init__(self, info, settings):
        self.info, self.settings, self.run_dir = info, settings, RunDir(info.run_dir)

    def run(self, task, agent, trial, *, browser, node_id):
        definition = resolve_agent(agent, self.settings.agent_directories, self.settings.overrides)
        self.run_dir.describe(self.info.facts)
        folder = self.run_dir.folder(TrialKey(task.id, definition.id, trial, browser))
        writer = folder.begin(worker="w", node_id=node_id, task={"sites": list(task.sites), "task_digest": task.digest})
        if "dying" in task.id:
            os._exit(9)
        outcome, cause = "passed", None
        if "wrong" in task.id or f"not-in-{browser}" in task.id or ("flaky" in task.id and writer.number == 1):
            outcome = "failed"
        if "odd" in task.id:
            outcome, cause = "error", "site"
        record = TrialRecord(
            key=folder.key, outcome=outcome, cause=cause, score=1.0 if outcome == "passed" else 0.0,
            message="" if outcome == "passed" else f"canned {outcome}", intent=task.intent, sites=task.sites,
            category=task.category, task_digest=task.digest, agent_digest=definition.digest, attempt=writer.number,
            started=time.time(), seconds={"total": 0.01}, steps=3, stop_reason="answered", node_id=node_id,
        )
        return folder.finish(record, since=self.info.facts["started"])

    def prune(self, record):
        pass

    def folder(self, record):
        return self.run_dir.folder(record.key).path


@pytest.fixture(scope="session")
def webarena_runtime(pytestconfig, webarena_run):
    from pytest_webarena.plugin.stash import SETTINGS
    return CannedRuntime(webarena_run, pytestconfig.stash[SETTINGS])
'''


def task_file(*ids: str, sites: str = "[]") -> str:
    """Return a valid task file with these task ids."""
    return "tasks:\n" + "".join(
        f"  - id: {id}\n    sites: {sites}\n    intent: Say {id}\n    tags: [tag-{id}]\n"
        f"    checks: [{{answer: x}}]\n    solution: [{{stop: x}}]\n"
        for id in ids
    )


@pytest.fixture
def canned(pytester: pytest.Pytester) -> pytest.Pytester:
    """A project whose trials are canned."""
    pytester.makeconftest(CANNED_RUNTIME)
    return pytester


@pytest.fixture
def make_tasks(pytester: pytest.Pytester) -> Callable[..., None]:
    """Write ``tasks/<name>.yaml`` with tasks of these ids."""

    def make(*ids: str, name: str = "demo", sites: str = "[]") -> None:
        (pytester.path / "tasks").mkdir(exist_ok=True)
        (pytester.path / "tasks" / f"{name}.yaml").write_text(task_file(*ids, sites=sites))

    return make
