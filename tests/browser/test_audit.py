"""``--audit`` with a real browser: tasks with one fault each, on the homepage."""

from __future__ import annotations

import json
from typing import Any

import pytest

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(620)]

TASKS = """
defaults: {sites: [homepage], mutates: true}
tasks:
  - id: valid
    intent: Add a note titled "Rye" and say that you have done it, with the words "all done".
    checks:
      - state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}
      - answer: {exact: all done}
      - changes: {notes: {added: 1, where: {owner: mara.linden, pinned: 0}}}
    solution: &rye
      - goto: /scratchpad/new
      - fill: {css=#title: Rye}
      - click: role=button[name="Save note"]
      - stop: all done

  - id: wrong-number                       # the note will be there once, not twice
    intent: Add a note titled "Rye".
    checks: [{state: {sql: "select count(*) from notes where title = 'Rye'", equals: 2}}]
    solution: *rye

  - id: broken-solution
    intent: Add a note titled "Rye".
    checks: [{state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}}]
    solution: [{goto: /scratchpad/new}, {click: 'role=button[name="Keep note"]'}]

  - id: seen-at-once                       # the start page shows the word
    intent: Find the page that links to the calculator.
    mutates: false
    checks: [{page: {includes: Calculator}}]
    solution: [{goto: /scratchpad/}, {goto: /}]

  - id: half-done                          # typing the title would do: the form is not asked for
    intent: Add a note titled "Rye" with the text "and butter".
    checks: [{state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}}]
    solution:
      - goto: /scratchpad/new
      - fill: {css=#title: Rye}
      - click: role=button[name="Save note"]
      - click: role=link[name="Edit"]
      - fill: {css=#body: and butter}
      - click: role=button[name="Save note"]

  - id: always-true
    intent: Empty my calculator's history and say "all done".
    checks:
      - state: {sql: "select count(*) > 0 from notes", equals: 1}
      - answer: {exact: all done}
    solution:
      - goto: /calculator
      - click: role=button[name="Clear history"]
      - stop: all done

  - id: sibling                            # the check forgot to look at the title
    intent: Add a note titled "{{ title }}" with the label "{{ label }}".
    each:
      tea: {title: Tea, label: drinks, wanted: Tea}
      milk: {title: Milk, label: drinks, wanted: "%"}
    checks:
      - state: {sql: "select count(*) from notes where title like '{{ wanted }}' and label = 'drinks'", equals: 1}
      - changes: {notes: {added: 1, where: {owner: mara.linden, pinned: 0}}}
    solution:
      - goto: /scratchpad/new
      - fill: {css=#title: "{{ title }}", css=#label: "{{ label }}"}
      - click: role=button[name="Save note"]

  - id: damage                             # nothing looks at the other notes
    intent: Add a note titled "Rye".
    checks: [{state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}}]
    solution: *rye

  - id: neighbour                          # any other note may be the one that was deleted
    intent: Delete the note with my packing list, and no other.
    checks: [{changes: {notes: {removed: 1}}}]
    solution:
      - goto: /scratchpad/
      - click: role=heading >> role=link >> nth=2
      - click: role=link[name="Delete"]
      - click: role=button[name="Delete note"]

  - id: siteless
    sites: []
    intent: What is 6 times 7?
    mutates: false
    checks: [{answer: {number: 42}}]
    solution: [{stop: "42"}]
"""


@pytest.mark.exhaustive
def test_audit_finds_exactly_the_injected_faults(pytester: pytest.Pytester) -> None:
    (pytester.path / "bad.tasks.yaml").write_text(TASKS)
    result = pytester.runpytest_subprocess("--audit", "--run-dir=run", "--concurrency=4", timeout=600)
    data: dict[str, Any] = json.loads((pytester.path / "run" / "audit.json").read_text())
    found = {task["task"]: task for task in data["tasks"]}
    assert {id: task["finding"] for id, task in found.items()} == {
        "valid": "valid",
        "wrong-number": "unsolvable",
        "broken-solution": "unsolvable",
        "seen-at-once": "too easy",
        "half-done": "weak check",
        "always-true": "weak check",
        "sibling.tea": "valid",
        "sibling.milk": "weak check",
        "damage": "weak check",
        "neighbour": "weak check",
        "siteless": "valid",
    }
    reasons = {id: "; ".join(reason["text"] for reason in task["reasons"]) for id, task in found.items()}
    assert reasons["wrong-number"].startswith("checks[0] state: expected")
    assert "step 2 of" in reasons["broken-solution"]
    assert "Keep note" in reasons["broken-solution"]
    assert reasons["seen-at-once"].startswith("passed by doing nothing and answering nothing")
    assert reasons["half-done"].startswith("passed by leaving out step 6 of")
    assert reasons["always-true"].startswith("passed by leaving out step 2 of")
    assert "checks[0] passes before anything is done" in reasons["always-true"]
    assert reasons["damage"] == "passed by replaying the solution and taking away something else"
    assert "taking what is next to the target of one step: in place of step 2: link " in reasons["neighbour"]
    assert reasons["sibling.milk"].startswith("passed by replaying the solution of sibling.tea; ")
    assert "the verdict does not depend on homepage: main.notes.title" in reasons["sibling.milk"]
    assert "the verdict does not depend on homepage: main.notes.body" in reasons["half-done"]
    assert "the verdict does not depend on which row of homepage: main.notes was removed" in reasons["neighbour"]
    assert found["valid"]["values"] == {
        "tried": {"answer part": 1, "column": 3, "empty column": 2}, "untried": {}, "chosen": 2, "caught": 2,
    }  # fmt: skip
    assert [task["line"] for task in data["tasks"]] == sorted(task["line"] for task in data["tasks"])
    assert result.ret == 12
    result.stdout.fnmatch_lines(
        ["unsolvable: wrong-number (bad.tasks.yaml:16)", "audit: 8 of 11 tasks are not valid; *"]
    )
