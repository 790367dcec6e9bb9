"""A suite in WebArena's format on an embedded site, nothing canned: loading, start tabs, placeholders, verdicts."""

from __future__ import annotations

import json

import pytest

from tests.unit.suites.made import raw, write

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("shared_engine")]

AGENT = """
from pytest_webarena.actions import Click, Goto, Selector, Stop, Type

class Scripted:
    "Knows what to do by a word in the intent."
    def __init__(self, task):
        note = [Type(Selector("css=#title"), "Rye"), Type(Selector("css=#body"), "and butter")]
        self.steps = {
            "sum": [Stop("It is 408.")],
            "scratchpad": [Click(Selector('role=navigation[name="Main"] >> role=link[name="Scratchpad"]'))],
            "note": [Goto("/scratchpad/new"), *note, Click(Selector('role=button[name="Save note"]'))],
            "address": [Stop(task.intent)],
        }[task.intent.split()[0]]
    def act(self, observation):
        return self.steps.pop(0) if self.steps else Stop("")
"""
HOME = {"sites": ["homepage"], "start_url": "__HOMEPAGE__"}


@pytest.mark.exhaustive
def test_tasks_in_webarena_format_run_and_are_judged(pytester: pytest.Pytester) -> None:
    page = {
        "url": "__HOMEPAGE__/scratchpad/",
        "locator": "document.querySelector('main').outerText",
        "required_contents": {"must_include": ["Rye |OR| Wheat"]},
    }
    write(
        pytester.path,
        raw(0, **HOME, intent="sum of 400 and 8?", eval__reference_answers={"must_include": ["408"]}),
        raw(
            1,
            sites=["homepage"],
            start_url="__HOMEPAGE__/calculator/ |AND| __HOMEPAGE__",
            intent="scratchpad please",
            eval__eval_types=["url_match"],
            eval__reference_url="__HOMEPAGE__/scratchpad/",
        ),
        raw(2, **HOME, intent="note it", eval__eval_types=["program_html"], eval__program_html=[page]),
        raw(4, **HOME, intent="address __HOMEPAGE__/x", eval__reference_answers={"exact_match": "sum"}),
        name="own.json",
    )
    pytester.makepyfile(my_agent=AGENT)
    args = ("--suite=own.json", "--agent=my_agent.py:Scripted", "--run-dir=run", "-p", "no:cacheprovider")
    result = pytester.runpytest(*args)
    result.assert_outcomes(passed=3, failed=1)
    records = [json.loads(file.read_text()) for file in (pytester.path / "run").glob("trials/*/trial.json")]
    by_id = {record["key"]["task"]: record for record in records}
    assert all(set(record["verdicts"]) == {"original", "repaired"} for record in by_id.values())
    assert by_id["own.4"]["answer"] == "address http://homepage.test/x", "the agent is told addresses, not placeholders"
    assert by_id["own.4"]["intent"] == by_id["own.4"]["verdict"]["intent"] == "address http://homepage.test/x"
    assert by_id["own.2"]["source"]["task_id"] == 2
