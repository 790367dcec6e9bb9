"""``--ray`` on pytest's side, with a cluster of threads in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.results import RunDir
from tests.plugin.conftest import CANNED_RUNTIME

MakeTasks = Callable[..., None]

CLUSTER = (
    CANNED_RUNTIME
    + '''
import json
import pathlib
import threading
from dataclasses import replace
from pytest_webarena.cluster.interface import Delivery, Parcel
from pytest_webarena.cluster.shipping import pack
from pytest_webarena.errors import SiteMissing
from pytest_webarena.plugin import ray_dispatch, settings
from tests.unit.cluster.fake import FakeCluster

patch = pytest.MonkeyPatch()
held = threading.Event()
begun = []


class Info:
    def __init__(self, info, node):
        self.run_dir = info.temp_dir / node
        self.facts = {name: info.facts[name] for name in ("started", "id")}


def cluster_of(session, info):
    def play(node, parcel):
        """As `node.Node`: a folder of its own, which is brought."""
        begun.append((node, parcel.task.id))
        if "held" in parcel.task.id:
            held.wait(60)
        runtime = CannedRuntime(Info(info, node), session.config.stash[settings_key])
        record = runtime.run(parcel.task, parcel.agent, parcel.trial, browser=parcel.browser, node_id=parcel.node_id)
        if "last" in parcel.task.id:
            cluster.lost = "nobody has answered at the cluster's head"
        printed = {"stdout": f"said by {parcel.task.id}", "log": f"logged by {parcel.task.id}"}
        return Delivery(record=record, archive=pack(runtime.folder(record)), printed=printed)

    cluster = FakeCluster(play, large=2)
    cluster.add("small", 2, lacks=((("wikipedia",), "no image"),))
    cluster.close = held.set
    cluster.cancel_trials = lambda node: held.set()
    return cluster, ()


from pytest_webarena.plugin.stash import SETTINGS as settings_key

read = ray_dispatch.read_cluster
patch.setattr("pytest_webarena.cluster.cluster_address.prepare_environment", lambda insecure: None)
patch.setattr("pytest_webarena.cluster.cluster_address.find_address", lambda given: given)
patch.setattr(ray_dispatch, "_cluster", cluster_of)
patch.setattr(ray_dispatch._TrialPacking, "wrap", lambda self, *, runtime, output, begins=None, **what: Parcel(**what))


def pytest_unconfigure():
    patch.undo()
    pathlib.Path("begun.json").write_text(json.dumps(begun))
'''
)


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makeconftest(CLUSTER)
    return pytester


def run(project: pytest.Pytester, *options: str) -> pytest.RunResult:
    return project.runpytest("tasks", "--agent=oracle", "--ray=head:6379", "--ray-insecure", "--run-dir=run", *options)


def test_output_of_trials_on_nodes_is_captured_with_their_items(
    project: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks("right", "wrong")
    (project.path / "alone").mkdir()
    make_tasks("wrong-too", name="alone")
    (project.path / "tasks" / "alone.yaml").rename(project.path / "alone" / "alone.yaml")
    (project.path / "alone" / "conftest.py").write_text(
        "import pytest\n@pytest.fixture(autouse=True)\ndef around():\n    yield\n"
    )
    result = run(project, "alone")
    result.assert_outcomes(passed=1, failed=2)
    result.stdout.fnmatch_lines(["ray: 2 nodes × 2"])
    result.stdout.fnmatch_lines(["*one at a time: the fixture around *"])
    for task in ("wrong", "wrong-too"):
        result.stdout.fnmatch_lines_random(["*Captured stdout call*", f"said by {task}", f"logged by {task}"])
    assert "said by right" not in result.stdout.str()


def test_resume_uses_ray_cluster_of_the_run(project: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("a", "odd")
    run(project, "--concurrency=3").assert_outcomes(passed=1, errors=1)
    assert json.loads((project.path / "run" / "run.json").read_text())["ray"] == {
        "address": "head:6379", "insecure": True, "wide": 3,
    }  # fmt: skip
    again = project.runpytest("--resume=run")
    again.stdout.fnmatch_lines(["ray: 2 nodes × 2"])
    resumed = json.loads((project.path / "run" / "resumed.json").read_text())
    assert resumed[-1]["ray"] == {"address": "head:6379", "insecure": True, "wide": 3}

    other = project.runpytest("--resume=run", "--ray=other:6379")
    other.stdout.fnmatch_lines(["ray: 2 nodes × 2"])
    resumed = json.loads((project.path / "run" / "resumed.json").read_text())
    assert resumed[-1]["ray"] == {"address": "other:6379", "insecure": False, "wide": 3}

    here = project.runpytest("--resume=run", "--ray=none")
    assert "ray:" not in here.stdout.str()
    here.assert_outcomes(errors=1)
    assert json.loads((project.path / "run" / "resumed.json").read_text())[-1]["ray"] is None


def test_lost_cluster_interrupts_the_run(project: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("held", "last", *(f"t{number}" for number in range(40)))
    result = run(project)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["!*Interrupted: ray: nobody has answered at the cluster's head*!"])
    assert {record.key.task for record in RunDir(project.path / "run").records()} >= {"last"}


def test_node_without_a_site_runs_other_trials_while_one_waits_for_it(
    project: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks(*(f"held{number}" for number in range(20)), name="a", sites="[wikipedia]")
    make_tasks("last", name="b")
    assert run(project).ret == pytest.ExitCode.INTERRUPTED  # so the last one was reached
    begun = json.loads((project.path / "begun.json").read_text())
    assert ["small", "last"] in begun
    assert {node for node, task in begun if task.startswith("held")} == {"large"}


def test_option_incompatible_with_ray_is_rejected_with_advice(
    project: pytest.Pytester, make_tasks: MakeTasks, tmp_path: Path
) -> None:
    make_tasks("a")
    result = run(project, "--stepwise")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected no --stepwise; leave one of them out (--ray=none runs *"])
