"""Tasks that break each other if any state leaks from one trial to another."""

from __future__ import annotations

import json

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable")]

# Each task makes the checks of all others fail: by its pages, by SQL, and by increasing numbers.
TASKS = """
defaults: {sites: [homepage], mutates: true}
tasks:
  - id: adds
    intent: Add a note titled "Rye".
    checks: &alone
      - state:
          sql: select group_concat(title, '; ') from (select title from notes order by id)
          equals: "SEEDED; Rye"
      - state: {sql: "select seq - (select count(*) from notes) from sqlite_sequence where name = 'notes'", equals: 0}
      - state: {sql: "select count(*) from calculations", equals: CALCULATIONS}
    solution: &add
      - goto: homepage:/scratchpad/new
      - fill: {css=#title: Rye}
      - fill: {css=#body: and butter}
      - click: role=button[name="Save note"]
  - id: adds-again
    intent: Add a note titled "Rye".
    checks: *alone
    solution: *add
  - id: calculates
    intent: Work out 12 times 34, and add a note titled "Rye" that is no longer there in the end.
    checks:
      - state: {sql: "select count(*) from calculations", equals: MORE}
      - state: {sql: "select count(*) from notes where title = 'Rye'", equals: 0}
    solution:
      - goto: homepage:/calculator
      - fill: {css=#expression: 12*34}
      - press: Enter
      - stop
  - id: empties
    setup: [{sql: {sql: "delete from notes"}}]
    intent: Add a note titled "Rye".
    checks: [{state: {sql: "select title from notes", rows: [Rye]}}]
    solution: *add
"""


@pytest.mark.exhaustive
def test_trials_do_not_affect_each_other(pytester: pytest.Pytester) -> None:
    from pytest_webarena.embedded.homepage.notes import CALCULATIONS, NOTES

    seeded = "; ".join(note.title for note in sorted(NOTES, key=lambda note: note.created))
    text = TASKS.replace("SEEDED", seeded).replace("CALCULATIONS", str(len(CALCULATIONS)))
    (pytester.path / "all.tasks.yaml").write_text(text.replace("MORE", str(len(CALCULATIONS) + 1)))
    result = pytester.runpytest_subprocess("--agent=oracle", "-n2", "--replicas=1", "--run-dir=run", timeout=250)
    result.assert_outcomes(passed=4)
    records = [json.loads(file.read_text()) for file in (pytester.path / "run" / "trials").glob("*/trial.json")]
    assert len({replica for record in records for replica in record["replicas"]}) == 1
