"""The example files for Slurm and Kubernetes: tests run their shell parts in the environment that these set."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_webarena.results import RunDir
from pytest_webarena.results.gate import BELOW_THRESHOLD, TOO_MANY_ERRORS
from tests.inner import NEEDLESS

SHARDS = Path(__file__).parents[2] / "examples" / "shards"
PARTS = 2
KUBERNETES = "kubernetes.yaml"


def environment(project: Path, **more: str) -> dict[str, str]:
    """Environment variables with this environment's programs and an agent without API key."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    given = {"PATH": path, "AGENT": "oracle", "WIDE": "1", "RUNS": str(project / "runs"), "MIN_PASS_RATE": "0.9"}
    given["PYTEST_ADDOPTS"] = NEEDLESS
    return (
        {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "PYTEST"))} | given | more
    )


def shell(script: str | Path, project: Path, **more: str) -> subprocess.CompletedProcess[str]:
    command = ["bash", str(script)] if isinstance(script, Path) else ["bash", "-eu", "-c", script]
    return subprocess.run(
        command, cwd=project, env=environment(project, **more), capture_output=True, text=True, check=False
    )


def pod() -> dict[str, Any]:
    spec: dict[str, Any] = yaml.safe_load((SHARDS / KUBERNETES).read_text())["spec"]
    return spec


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "tasks").mkdir()
    write(tmp_path, right=6)
    return tmp_path


def write(project: Path, *, right: int, wrong: int = 0) -> None:
    answers = ["x"] * right + ["y"] * wrong
    (project / "tasks" / "some.yaml").write_text(
        "tasks:\n"
        + "".join(
            f"  - {{id: t{number}, sites: [], intent: Say x, checks: [{{answer: x}}], solution: [{{stop: {word}}}]}}\n"
            for number, word in enumerate(answers)
        )
    )


def test_slurm_array_parts_merge_into_one_run_with_one_gate(project: Path) -> None:
    script = SHARDS / "slurm.sh"
    write(project, right=5, wrong=1)
    for number in range(4, 4 + PARTS):  # arrays need not begin at 1
        array = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_MIN": "4", "SLURM_ARRAY_TASK_COUNT": str(PARTS)}
        part = shell(script, project, **array)
        assert part.returncode == 0, part.stdout + part.stderr  # one wrong trial in it is no failure of the job
    assert sorted(path.name for path in (project / "runs").iterdir()) == ["part-1", "part-2"]
    again = shell(script, project, **array)  # requeued: no trial runs twice
    assert again.returncode == 0, again.stdout + again.stderr
    missed = shell(script, project, MERGE="1")
    assert missed.returncode == BELOW_THRESHOLD, missed.stdout + missed.stderr
    assert "83.3% passed, --min-pass-rate asks for 90.0%" in missed.stdout
    assert len(RunDir(project / "runs" / "whole").records()) == 6


@pytest.mark.exhaustive
def test_slurm_merge_passes_when_whole_run_passes(project: Path) -> None:
    for number in range(1, PARTS + 1):
        array = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": str(PARTS)}
        assert shell(SHARDS / "slurm.sh", project, **array).returncode == 0
    whole = shell(SHARDS / "slurm.sh", project, MERGE="1")
    assert whole.returncode == 0, whole.stdout + whole.stderr


@pytest.mark.exhaustive
def test_slurm_merge_accepts_empty_part_but_not_missing_part(project: Path) -> None:
    write(project, right=2)
    for number in range(1, 4):  # t0, t1: nothing is left for one of the three at least
        array = {"SLURM_ARRAY_TASK_ID": str(number), "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "3"}
        part = shell(SHARDS / "slurm.sh", project, **array)
        assert part.returncode == 0, part.stdout + part.stderr
    whole = shell(SHARDS / "slurm.sh", project, MERGE="1")
    assert whole.returncode == 0, whole.stdout + whole.stderr
    empty = [path for path in (project / "runs").glob("part-*") if not (path / "trials").is_dir()]
    assert empty
    shutil.rmtree(empty[0])  # its job never started
    shutil.rmtree(project / "runs" / "whole")
    incomplete = shell(SHARDS / "slurm.sh", project, MERGE="1")
    assert incomplete.returncode == TOO_MANY_ERRORS, incomplete.stdout + incomplete.stderr
    assert "of 3 (--shard) is missing" in incomplete.stdout


def kubernetes_commands() -> tuple[str, str]:
    """Return the shell text of a pod and, from the file's comment, the command for the complete Job."""
    spec = pod()
    container = spec["template"]["spec"]["containers"][0]
    assert spec["completionMode"] == "Indexed"
    assert {each["name"]: each["value"] for each in container["env"]}["PARTS"] == str(spec["completions"])
    assert container["command"] == ["/bin/bash", "-eu", "-c"]
    (script,) = container["args"]
    merge = (SHARDS / KUBERNETES).read_text().partition("#   ")[2].partition("\n")[0].replace("/runs/", "runs/")
    return script, merge


def test_kubernetes_pod_runs_its_part_and_gate_requires_all_parts(project: Path) -> None:
    script, merge = kubernetes_commands()
    last = shell(script, project, JOB_COMPLETION_INDEX=str(PARTS - 1), PARTS=str(PARTS))
    assert last.returncode == 0, last.stdout + last.stderr
    assert [path.name for path in (project / "runs").iterdir()] == [f"part-{PARTS}"]
    records = RunDir(project / "runs" / f"part-{PARTS}").records()
    assert 0 < len(records) < 6
    incomplete = shell(merge, project)
    assert incomplete.returncode == TOO_MANY_ERRORS, incomplete.stdout + incomplete.stderr
    assert f"of {PARTS} (--shard) is missing" in incomplete.stdout
    assert RunDir(project / "runs" / "whole").records() == records


@pytest.mark.exhaustive
def test_kubernetes_indexed_job_pods_merge_into_one_run(project: Path) -> None:
    script, merge = kubernetes_commands()
    for index in range(PARTS):
        part = shell(script, project, JOB_COMPLETION_INDEX=str(index), PARTS=str(PARTS))
        assert part.returncode == 0, part.stdout + part.stderr
    whole = shell(merge, project)
    assert whole.returncode == 0, whole.stdout + whole.stderr
    assert len(RunDir(project / "runs" / "whole").records()) == 6
