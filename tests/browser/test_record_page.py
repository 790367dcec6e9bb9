"""Recording a task at the page of ``webarena tasks record --serve``, through a remote view of a headless browser."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.actions import Click, Selector, Type
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.commands.playing import open_runtime
from pytest_webarena.recorder.writing import as_step
from pytest_webarena.tasks import Task, load_tasks, parse_tasks
from pytest_webarena.trials.runtime import Runtime

from .conftest import PeoplesBrowser
from .recording_page import Person, record_at_page

pytestmark = [pytest.mark.browser, pytest.mark.timeout(300)]

SCRATCHPAD = """
tasks:
  - id: made
    sites: [homepage]
    intent: Add a note titled "Rye".
    start: homepage:/scratchpad/
    checks: [{answer: placeholder}]
"""
WHO = "homepage: signed out"
Record = Callable[..., tuple[int, list[str]]]


@pytest.fixture(scope="module")
def runtime(shared_engine: BrowserEngine) -> Iterator[Runtime]:
    with open_runtime("embedded", headed=False, executable=None) as runtime:
        yield runtime


@pytest.fixture
def record(
    runtime: Runtime, peoples_browser: PeoplesBrowser, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Record:
    monkeypatch.chdir(tmp_path)  # recordings are stored here

    def record(text: str, act: Any, **options: Any) -> tuple[int, list[str]]:
        [task] = parse_tasks(text)
        task = replace(task, checks=())
        return record_at_page(task, runtime, act, browser=peoples_browser, monkeypatch=monkeypatch, **options)

    return record


def solution(task: Task) -> list[Any]:
    return [as_step(step) for step in task.solution or ()]


def test_task_recorded_in_the_view_passes_on_fresh_sites(record: Record, tmp_path: Path) -> None:
    made = tmp_path / "made.yaml"

    async def act(person: Person) -> None:
        await person.click('role=link[name="New note"]')
        await person.click('role=textbox[name="Title"]')
        await person.type("Rye")
        await person.page.keyboard.press("Tab")
        await person.type("With\nbütter")
        await person.click('role=button[name="Save note"]')
        assert await person.steps(4, last="click role=button") == [
            'click role=link[name="New note"s]',
            "type role=textbox[name=\"Title\"s] 'Rye'",
            "type role=textbox[name=\"Text\"s] 'With\\nbütter'",
            'click role=button[name="Save note"s]',
        ]
        await person.finish()
        assert await person.page.evaluate(
            "state.checks.filter(check => check.recommended).map(check => check.about)"
        ) == [
            "notes: a row is added: owner = mara.linden, title = Rye, body = With\nbütter",
            "nothing else changes on the sites",
        ]
        await person.page.get_by_label("owner", exact=True).uncheck()
        result = await person.attempt()
        assert result["passed"], result

    code, messages = record(SCRATCHPAD, act, output=made)
    assert code == 0
    assert messages[-1] == f"next: pytest --audit {made}  (wrong agents must fail it)"
    [task] = load_tasks(made)
    assert solution(task) == [
        {"click": 'role=link[name="New note"s]'},
        {"fill": {'role=textbox[name="Title"s]': "Rye"}},
        {"fill": {'role=textbox[name="Text"s]': "With\nbütter"}},
        {"click": 'role=button[name="Save note"s]'},
        "stop",
    ]
    assert [check.kind for check in task.checks] == ["state", "changes"]
    assert "title = 'Rye' and body = " in made.read_text()
    assert "owner = " not in made.read_text()


@pytest.mark.exhaustive
def test_template_with_key_nodes_and_annotation_is_recorded(record: Record, tmp_path: Path) -> None:
    """The typed text becomes a parameter with further values, a step is deleted, a key node is ticked: all instances
    pass.
    """
    made = tmp_path / "made.yaml"

    async def act(person: Person) -> None:
        await person.click('role=link[name="Weekend in Gorsehythe"]')
        await person.until("/scratchpad.\\d+$/.test(state.browser.tabs[0].url)")
        await person.page.get_by_role("button", name="Back", exact=True).click()
        await person.until("state.browser.tabs[0].url.endsWith('/scratchpad/')")
        await person.click('role=link[name="New note"]')
        await person.click('role=textbox[name="Title"]')
        await person.type("Rhy")
        await person.click('role=button[name="Save note"]')
        await person.until("state.steps.length && state.steps.at(-1).text.includes('Save note')")
        found = await person.page.evaluate("state.steps.map(step => step.text)")
        assert found[1:] == [
            "go_back",
            'click role=link[name="New note"s]',
            "type role=textbox[name=\"Title\"s] 'Rhy'",
            'click role=button[name="Save note"s]',
        ]
        while len(found) > 3:
            await person.page.get_by_role("button", name="Leave out step 1", exact=True).click()
            found = await person.steps(len(found) - 1)
        await person.page.get_by_role("button", name="Edit step 2", exact=True).click()
        await person.page.get_by_role("textbox", name="Step 2: the value").fill("Rye")
        await person.press("Save")
        await person.until("state.steps[1].text.includes(\"'Rye'\")")
        await person.page.get_by_role("button", name="Name the value of step 2", exact=True).click()
        await person.page.get_by_role("textbox", name="A name for Rye").fill("title")
        await person.press("Save")
        await person.until("state.variables.title === 'Rye'")
        await person.finish()
        nodes = await person.page.evaluate("state.nodes.map(node => node.about)")
        assert nodes[:2] == ["the address is /scratchpad/new", "'Title' holds 'Rye'"]
        await person.page.get_by_label("step 2: 'Title' holds 'Rye'").check()
        await person.page.get_by_label("More of the same: one a line, in the order title, with commas").fill(
            "Oats\nIt's"
        )
        result = await person.attempt()
        assert result["passed"], result
        assert (result["about"], result["doubts"]) == ("passed on fresh sites: 3 of 3", [])

    code, _ = record(SCRATCHPAD, act, output=made, annotate=tmp_path / "seen")
    assert code == 0
    tasks = load_tasks(made)
    assert [(task.id, task.intent) for task in tasks] == [
        ("made.1", 'Add a note titled "Rye".'),
        ("made.2", 'Add a note titled "Oats".'),
        ("made.3", 'Add a note titled "It\'s".'),
    ]
    assert [check.kind for check in tasks[0].checks] == ["state", "changes", "key_nodes"]
    assert solution(tasks[2])[1] == {"fill": {'role=textbox[name="Title"s]': "It's"}}
    seen = json.loads((tmp_path / "seen" / "annotation.json").read_text())
    assert [step["action"] for step in seen["steps"]] == ["click", "fill", "click"]
    title = seen["steps"][1]
    assert (title["parameters"], title["element"]["name"]) == ({'role=textbox[name="Title"s]': "Rye"}, "Title")
    assert title["selector_path"]
    assert 0 < title["x"] < 1280
    assert title["url"].endswith("/scratchpad/new")
    assert (tmp_path / "seen" / "step-02.jpg").read_bytes()[:2] == b"\xff\xd8"


def test_last_tab_cannot_be_closed(record: Record) -> None:
    """Another tab can be opened and closed."""

    async def act(person: Person) -> None:
        closing = person.page.get_by_role("button", name="Close this tab", exact=True)
        assert await closing.is_disabled()
        await person.press("New tab")
        await person.until("state.browser.tabs.length === 2")
        await person.page.locator("#address").fill("homepage:/manuals/")
        await person.page.locator("#address").press("Enter")
        await person.until("state.browser.tabs[1].url.endsWith('/manuals/')")
        await closing.click()
        await person.until("state.browser.tabs.length === 1")
        await person.click('role=link[name="New note"]')
        await person.until("state.steps.length && state.steps.at(-1).text.includes('New note')")
        step_texts = await person.page.evaluate("state.steps.map(step => step.text)")
        assert step_texts[-2:] == ["close_tab", 'click role=link[name="New note"s]'], step_texts
        assert await closing.is_disabled()

    assert record(SCRATCHPAD, act)[0] == 1


def test_selected_text_becomes_the_answer_on_a_phone_screen(record: Record) -> None:
    """Without an output file; a task that cannot pass is not written."""

    async def act(person: Person) -> None:
        width = await person.page.evaluate("document.documentElement.scrollWidth")
        assert width == 390
        await person.page.get_by_label("Intent").fill("What is the note about the kettle called?")
        await person.click('role=link[name="Kettle"]')
        await person.until("state.browser.tabs[0].url.includes('/scratchpad/') && state.steps.length === 1")
        await person.click("css=h1", click_count=3)
        await person.press("This is the answer: what is selected in the page")
        await person.until("state.answer === 'Kettle'")
        await person.finish()
        await person.page.get_by_label("the answer is 'Kettle'").uncheck()
        await person.press("Try the task on fresh sites")
        await person.page.get_by_role("alert").get_by_text("expected a check that is ticked, found none").wait_for()
        await person.page.get_by_label("the answer is 'Kettle'").check()
        result = await person.attempt()
        assert result["passed"], result

    code, messages = record(SCRATCHPAD, act, size=(390, 844))
    assert code == 0
    [task] = parse_tasks(messages[-1])
    assert (task.intent, [check.kind for check in task.checks]) == (
        "What is the note about the kettle called?",
        ["answer"],
    )
    assert solution(task)[-1] == {"stop": "Kettle"}


@pytest.mark.exhaustive
def test_repeated_step_without_effect_is_reported_and_fails(record: Record, tmp_path: Path) -> None:
    made = tmp_path / "made.yaml"

    async def act(person: Person) -> None:
        await person.click('role=link[name="New note"]')
        await person.click('role=textbox[name="Title"]')
        await person.type("Rye")
        await person.click('role=button[name="Save note"]')
        await person.steps(3)
        await person.page.get_by_role("button", name="Leave out step 1", exact=True).click()
        await person.steps(2)
        await person.finish()
        steps = await person.page.evaluate("state.steps.map(step => step.problem)")
        assert steps[0].startswith("it had no effect")
        result = await person.attempt()
        assert not result["passed"]
        assert result["about"] == "not whole: 1 steps at the end are missing, for one before them had no effect"
        await person.press("Undo")
        await person.steps(3)
        await person.press("Do the steps again")
        await person.until("state.phase === 'proving'")
        await person.phase("choosing")
        assert (await person.attempt())["passed"]

    assert record(SCRATCHPAD, act, output=made)[0] == 0
    assert len(load_tasks(made)) == 1


def test_restart_clears_steps_and_leaving_writes_nothing(record: Record, tmp_path: Path) -> None:
    made = tmp_path / "made.yaml"

    async def act(person: Person) -> None:
        assert await person.page.get_by_role("list", name="Who is signed in").inner_text() == WHO
        await person.click('role=link[name="New note"]')
        await person.steps(1)
        await person.press("Restart")
        await person.until("state.phase === 'doing' && state.steps.length === 0 && state.browser")
        await person.until("Number(document.querySelector('#picture').dataset.number) > 0")
        await person.until("state.browser.tabs[0].url.endsWith('/scratchpad/')")

    code, messages = record(SCRATCHPAD, act, output=made, accounts=[WHO])
    assert (messages[1], code, messages[-1]) == (WHO, 1, "no task was recorded")
    assert not made.exists()


def test_page_shows_only_the_panel_when_browser_has_a_window(record: Record) -> None:
    """The harness acts in the window here."""

    async def act(person: Person) -> None:
        assert await person.page.locator("#browser").is_hidden()
        for action in (Click(Selector('text="New note"')), Type(Selector("css=#title"), "Rye")):
            assert await asyncio.to_thread(person.stages[-1].act, action)
        typed = "type role=textbox[name=\"Title\"s] 'Rye'"
        assert await person.steps(2, last=typed) == ['click role=link[name="New note"s]', typed]
        assert await person.page.locator("#steps li").count() == 2

    code, messages = record(SCRATCHPAD, act, live=False)
    assert (code, messages[-1]) == (1, "no task was recorded")
