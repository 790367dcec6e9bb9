"""Which tasks of a baseline the arguments of a run exclude."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.plugin.requested_nodes import unrequested_tasks
from pytest_webarena.results.comparing.sides import SideTask

NODES = ("a/x.yaml::t1", "a/x.yaml::t10", "a/y.yaml::t2", "b/test_p.py::TestIt::test_t[t3]", "gone.yaml::t4", "")


@pytest.mark.parametrize(
    ("args", "left_out"),
    [
        (["."], ""),
        (["a"], "b/test_p.py"),
        (["a/x.yaml"], "a/y.yaml b/test_p.py"),
        (["a/x.yaml::t1"], "a/x.yaml::t10 a/y.yaml b/test_p.py"),
        (["a/x.yaml::t1[chromium]", "a/y.yaml"], "a/x.yaml::t10 b/test_p.py"),
        (["b/test_p.py::TestIt"], "a/"),
        (["b/test_p.py::TestIt::test_other"], "a/ b/test_p.py"),
        (["a.package"], ""),  # --pyargs: unknown
    ],
)
def test_baseline_tasks_outside_the_arguments_count_as_left_out(tmp_path: Path, args: list[str], left_out: str) -> None:
    """A deleted file counts as requested: a shell pattern no longer expands to it."""
    for node in NODES[:4]:
        file = tmp_path / node.partition("::")[0]
        file.parent.mkdir(exist_ok=True)
        file.touch()
    config: Any = SimpleNamespace(args=args, rootpath=tmp_path, invocation_params=SimpleNamespace(dir=tmp_path))
    tasks = [SideTask(task=node, cluster="c", node=node.partition("[")[0], tries=()) for node in NODES]
    expected = {node for node in NODES if any(node.startswith(each) for each in left_out.split())}
    assert unrequested_tasks(config, tasks) == expected
