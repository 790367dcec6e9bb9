"""A run has one grading."""

from __future__ import annotations

import json

import pytest

TASKS = "tasks: [{id: a, intent: Say hello, sites: [], checks: [{string_match: {exact_match: hello}}]}]"


def test_resume_rejects_a_different_grading(pytester: pytest.Pytester) -> None:
    (pytester.path / "a.tasks.yaml").write_text(TASKS)
    (pytester.path / "run/trials").mkdir(parents=True)
    facts = {"schema_version": 1, "agents": ["null"], "grading": {"name": "repaired", "without": ["shotgun"]}}
    (pytester.path / "run/run.json").write_text(json.dumps(facts))
    result = pytester.runpytest("--resume=run", "--grading=original")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*expected the run's own --grading, repaired*found original*"])
