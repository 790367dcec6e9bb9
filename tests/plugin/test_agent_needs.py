"""Before the first trial, the plugin checks that tasks have what an agent needs."""

from __future__ import annotations

import json

import pytest

from .conftest import CANNED_RUNTIME, task_file


def test_missing_reward_guide_stops_run_before_first_trial(pytester: pytest.Pytester) -> None:
    keys = {"kind": "model", "model": "m", "reward": "reference", "endpoint": {"key_env": None}}
    pytester.mkdir("agents").joinpath("watched.yaml").write_text(json.dumps(keys))
    pytester.makeconftest(CANNED_RUNTIME)
    pytester.path.joinpath("shop.tasks.yaml").write_text(task_file("tea", "jam", "oats", "rice", "salt"))
    result = pytester.runpytest_inprocess("--agent=watched")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    errors = result.stderr.str()
    assert "agent watched: task tea: expected a guide at" in errors
    assert "guides/tea.yaml, found none; webarena judge guide writes one" in errors
    assert "and 2 more like that" in errors
    assert not list(pytester.path.glob("webarena-runs/*/trials/*"))
    collected = pytester.runpytest_inprocess("--agent=watched", "--collect-only", "-q")
    assert collected.ret == 0
