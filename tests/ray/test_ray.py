"""``--ray`` on a real cluster: each trial is recorded once, even if nodes die, and nothing is left on nodes."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.llm.model_calls import calls_of, read_model_calls
from pytest_webarena.results import RunDir, TrialRecord
from tests.inner import SUM_TASK
from tests.processes import wait_until
from tests.ray.conftest import Machines, agent, write_tasks

pytestmark = pytest.mark.ray

SECONDS = 240
"""More than anything here takes on a busy machine."""


def finish(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=SECONDS)
    return output


def read_until(process: subprocess.Popen[str], *words: str) -> str:
    """Return the output of the process up to the line that completes ``words``."""
    assert process.stdout is not None
    output = ""
    while not all(word in output for word in words):
        line = process.stdout.readline()
        assert line, output[-5000:]
        output += line
    return output


def records_of(run: Path) -> list[TrialRecord]:
    stored = RunDir(run).read()
    assert not stored.unreadable
    assert not list(run.glob("trials/.*"))
    return list(stored.records)


def comparable(records: list[TrialRecord]) -> list[tuple[Any, ...]]:
    """Return the record fields that do not depend on where a trial ran."""
    return [(each.key, each.outcome, each.score, each.stop_reason, each.steps, each.task_digest) for each in records]


def count(run: Path) -> int:
    return len(list(run.glob("trials/*/trial.json")))


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_ray_run_gives_local_results_while_nodes_die_and_join(machines: Machines, project: Path) -> None:
    held = project / "held"
    options = ("--agent", agent(project, seconds=0.1, held_by=held), "--trials=3")
    local = subprocess.run(
        machines.command("-m", "pytest", "tasks", "--concurrency=4", "--run-dir=local", *options),
        cwd=project, env=machines.environment, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert local.returncode == 0, local.stdout[-3000:]

    process = machines.start(project, "--run-dir=run", *options)
    wait_until(lambda: count(project / "run") >= 10, SECONDS)
    held.touch()  # the run cannot end before the dead node is noticed
    machines.kill_one()
    machines.add()
    output = read_until(process, "ray: lost node", "ray: gained node")
    held.unlink()
    output += finish(process)
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output[-5000:]
    assert "ray: 2 nodes × 2\n" in output
    assert "ray: lost node" in output
    assert "ray: 2 nodes × 2; " in output
    stored = records_of(project / "run")
    assert len(stored) == 66
    lost = {each.key for each in stored if each.stop_reason == "unattributed"}
    assert 1 <= len(lost) <= 2  # of the node that died: their agents may have caused that
    assert f"{len(lost)} trial{'s' * (len(lost) > 1)} undecided" in output
    records = [each for each in stored if each.key not in lost]
    assert comparable(records) == [each for each in comparable(records_of(project / "local")) if each[0] not in lost]
    assert all(not (project / "run" / "trials" / each.key.folder / "attempt-2").exists() for each in records)
    assert {each.worker.partition("@")[0].partition(".")[0] for each in records} >= {"node1", "node2"}
    for record in records:  # its code came with the project's files, not from where pytest was called
        evidence = json.loads((project / "run" / "trials" / record.key.folder / "attempt-1/evidence.json").read_text())
        assert f"{machines.folder}/" in evidence["answer"]
        assert str(project) not in evidence["answer"]
    wait_until(lambda: not machines.left_behind(), 60)


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_interrupted_ray_run_keeps_records_and_can_be_resumed(machines: Machines, project: Path) -> None:
    write_tasks(project, 8)
    name = agent(project, seconds=60)
    process = machines.start(project, "--run-dir=run", "--agent", name)
    line = ""
    assert process.stdout is not None
    while not line.startswith("ray: 2 nodes"):
        line = process.stdout.readline()
        assert line
    machines.wait_for_trials(4)
    process.send_signal(signal.SIGINT)
    output = finish(process)
    assert process.returncode == pytest.ExitCode.INTERRUPTED, output[-5000:]
    records = records_of(project / "run")
    assert {(each.outcome, each.cause) for each in records} == {("error", "harness")}
    assert {each.message.partition(" (")[0] for each in records} == {"the run was interrupted during this trial"}
    assert len(records) == 4
    assert all((project / "run" / "trials" / each.key.folder / "attempt-1").is_dir() for each in records)
    wait_until(lambda: not machines.left_behind(), 60)

    agent(project, seconds=0)  # an option of it: its digest is another one
    again = subprocess.run(
        machines.command(
            "-m", "pytest", "--resume=run", f"--ray={machines.address}", "--ray-insecure", "--concurrency=2",
            "--allow-mixed",
        ),
        cwd=project, env=machines.environment, capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip
    assert again.returncode == 0, again.stdout[-5000:]
    records = records_of(project / "run")
    assert [each.outcome for each in records] == ["passed"] * 8
    assert sorted(each.attempt for each in records) == [1, 1, 1, 1, 2, 2, 2, 2]  # in addition to the existing records
    wait_until(lambda: not machines.left_behind(), 60)


@pytest.mark.timeout(600)
def test_node_runs_trials_with_its_own_sites_and_browser(single: Machines, project: Path) -> None:
    (project / "tasks" / "quick.yaml").write_text(SUM_TASK)
    process = single.start(project, "--run-dir=run", "--agent=oracle", "--trials=2")
    output = finish(process)
    assert process.returncode == 0, output[-5000:]
    records = records_of(project / "run")
    assert [each.outcome for each in records] == ["passed"] * 2
    assert all(each.replicas and each.browser for each in records)
    wait_until(lambda: not single.left_behind(), 60)


@pytest.mark.exhaustive
def test_each_node_uses_its_own_sites_and_browser(machines: Machines, project: Path) -> None:
    (project / "tasks" / "quick.yaml").write_text(SUM_TASK)
    process = machines.start(project, "--run-dir=run", "--agent=oracle", "--trials=4")
    output = finish(process)
    assert process.returncode == 0, output[-5000:]
    records = records_of(project / "run")
    assert [each.outcome for each in records] == ["passed"] * 4
    assert len({each.worker.partition("@")[0].partition(".")[0] for each in records}) == 2  # without thread numbers
    assert all(each.replicas and each.browser for each in records)
    wait_until(lambda: not machines.left_behind(), 60)


JUDGED = """
tasks:
  - id: even
    sites: []
    intent: Show that the square of an even number is divisible by 4.
    source: {subject: numbers}
    checks: [{rubric: {threshold: 0.7, items: [{points: 4, what: Writes n = 2k.}], solution: Write n = 2k.}}]
    solution: [{stop: Write n = 2k.}]
  - {id: last, sites: [], intent: last, checks: [{answer: nothing}], solution: [{stop: nothing}]}
"""


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_trials_of_a_silent_node_are_accepted_when_it_answers_again(machines: Machines, project: Path) -> None:
    (project / "tasks" / "quick.yaml").write_text(JUDGED)
    held, last = project / "held", project / "held-last"
    held.touch()
    last.touch()
    name = agent(project, held_by=held, cost=1.0, says="An even n is 2k.")
    options = ("--agent", name, "--trials=4", "-k", "even or trial1")
    with machines.judge("ITEM 1 POINTS 4\nQUOTE An even n is 2k") as (url, count_requests):
        judged = ("--judge=m", f"--judge-url={url}", "--judge-key-env=none")
        process = machines.start(project, "--run-dir=run", *options, *judged)
        machines.wait_for_trials(4)
        silent = machines.actors()[-1]
        (its_own := project / f"held-{silent.pid}").touch()
        machines.cut(process.pid, silent.pid)
        output = read_until(process, "ray: no answer from", "2 trials awaited")
        held.unlink()
        wait_until(lambda: count(project / "run") == 2, SECONDS)  # those of the other node
        output += read_until(process, "answers again, now 2 nodes")
        its_own.unlink()
        last.unlink()
        output += finish(process)
        assert 1 <= count_requests() <= 2  # those that were at it at the same time
    assert process.returncode == pytest.ExitCode.TESTS_FAILED, output[-5000:]
    assert "given back" not in output
    assert "Captured stdout call" in output  # of the one that failed, on whichever node it was
    assert "asked to last" in output
    records = records_of(project / "run")
    assert sorted((each.key.task, each.outcome) for each in records) == [("even", "passed")] * 4 + [("last", "failed")]
    assert len({each.worker.partition("@")[0].partition(".")[0] for each in records}) == 2
    assert (
        sum(line.usage.cost or 0 for line in read_model_calls(calls_of(project / "run")) if line.purpose == "agent")
        == 5.0
    )
    wait_until(lambda: not machines.left_behind(), 60)


@pytest.mark.exhaustive
@pytest.mark.timeout(600)
def test_max_cost_applies_to_the_whole_ray_run(machines: Machines, project: Path) -> None:
    process = machines.start(
        project,
        "--run-dir=run",
        "--agent",
        agent(project, seconds=0.3, cost=1.0),
        "--max-cost=6",
        "--max-consecutive-errors=0",
    )
    output = finish(process)
    records = records_of(project / "run")
    spent = sum(line.usage.cost or 0 for line in read_model_calls(calls_of(project / "run")))
    assert 6 <= spent <= 6 + 4, output[-5000:]  # trials running at the time: two on each node
    assert len(records) == 22
    assert sum(each.outcome == "passed" for each in records) <= 10


@pytest.mark.exhaustive
def test_invalid_ray_options_are_reported_in_one_line(machines: Machines, project: Path) -> None:
    def refused(*options: str, **environment: str) -> str:
        run = subprocess.run(
            machines.command("-m", "pytest", "tasks", "--agent", agent(project), *options),
            cwd=project, env=machines.environment | environment, capture_output=True, text=True, timeout=SECONDS,
            check=False,
        )  # fmt: skip
        assert run.returncode == pytest.ExitCode.USAGE_ERROR, run.stdout[-3000:] + run.stderr[-3000:]
        assert "Traceback" not in run.stdout + run.stderr
        (line,) = [line for line in run.stderr.splitlines() if line.startswith("ERROR")]
        return line

    here = f"--ray={machines.address}"
    assert "expected no -n" in refused(here, "--ray-insecure", "-n2")
    assert "expected a cluster that asks for a token" in refused(here)
    assert "found none that answers" in refused("--ray=127.0.0.1:1", "--ray-insecure")
    assert "expected HOST:PORT of a cluster that this machine is in" in refused(
        "--ray=ray://127.0.0.1:10001", "--ray-insecure"
    )
    assert "expected a token with RAY_AUTH_MODE=token" in refused(here, RAY_AUTH_MODE="token", HOME=str(project))
