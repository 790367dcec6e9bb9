"""Findings about checks that are meant to prove an added row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.results.test_audit import run, verdict

ADDED = """
intent: Save it
sites: [shop]
checks:
  - state: {sql: select count(*) from notes where kit = 'A', equals: 1}
  - changes: {notes: {added: 1}}
solution: [{goto: /new}, {click: 'role=button[name="Save"]'}]
"""


def judged(*scores: float) -> dict[str, Any]:
    return {"verdict": verdict(*scores, kinds=("state", "changes"))}


@pytest.mark.parametrize(
    ("task", "null", "short", "finding"),
    [
        (ADDED, (1.0, 0.0), (1.0, 0.0), "weak check"),
        (ADDED, (1.0, 0.0), (0.0, 1.0), "valid"),  # it alone catches a wrong agent
        (ADDED, (0.0, 0.0), (0.0, 0.0), "valid"),
        (ADDED.replace("added: 1", "changed: 1"), (1.0, 0.0), (1.0, 0.0), "valid"),
        (ADDED.replace("from notes", "from users"), (1.0, 0.0), (1.0, 0.0), "valid"),
    ],
)
def test_count_of_an_added_row_that_older_rows_meet_is_weak(task: str, null: Any, short: Any, finding: str) -> None:
    found = run(task, {"null": judged(*null), "audit-short": judged(*short)})
    assert found.finding == finding
    assert finding == "valid" or found.reasons[0].text.startswith("checks[0] holds before anything is done")
