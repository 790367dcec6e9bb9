"""Recorded trials keep their verdicts, but for accepted differences."""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path

import pytest

from tests.recorded_corpus import differences, judged, stored_verdicts, unpack


@pytest.mark.corpus
def test_recorded_trials_keep_their_accepted_verdicts(tmp_path: Path) -> None:
    changed = differences(stored_verdicts(), judged(unpack(tmp_path)))
    assert not changed, "accept intended ones with 'python -m tests.recorded_corpus accept':\n" + "\n".join(changed)


def test_a_changed_verdict_is_named_with_its_reason() -> None:
    before = {"tea oracle 1": {"outcome": "passed", "cause": None, "score": 1.0, "checks": {"checks[0]": [1.0, ""]}}}
    now = deepcopy(before)
    now["tea oracle 1"] |= {"outcome": "failed", "score": 0.0, "checks": {"checks[0]": [0.0, "no such note"]}}
    assert differences(before, now) == [
        "tea oracle 1: passed [checks[0] 1.0] -> failed [checks[0] 0.0 no such note]",
    ]
    assert not differences(before, before)
