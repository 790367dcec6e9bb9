"""Accounts are signed in once for all replicas of a run, if the app stores sessions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.forum import FORUM, SITES, TASKS

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]


@pytest.mark.exhaustive
@pytest.mark.parametrize("workers", ["--concurrency=2", "-n2"])
def test_trials_start_with_users_signed_in(pytester: pytest.Pytester, workers: str) -> None:
    for name, text in (("forum.py", FORUM), ("sites.yaml", SITES), ("forum.tasks.yaml", TASKS)):
        (pytester.path / name).write_text(text)
    result = pytester.runpytest_inprocess("--sites=sites.yaml", "--run-dir=run", "--record=minimal", workers)
    result.assert_outcomes(passed=5)
    # Her sessions are kept in memory. All other trials are unaffected.
    result.stdout.fnmatch_lines(
        ["*sites: forum: each trial signs in as zoe again, because the session can't be stored:*"]
    )
    found: list[dict[str, Any]] = [
        json.loads(file.read_text()) for file in (pytester.path / "run" / "trials").glob("*/trial.json")
    ]
    assert {record["replicas"]["forum"] for record in found} == {found[0]["replicas"]["forum"]}
