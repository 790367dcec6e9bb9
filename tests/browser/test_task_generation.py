"""Generating task ideas: observations of embedded sites for a model, and the rating form in a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.task_generation.drafts import draft_text
from pytest_webarena.task_generation.form import write_form
from pytest_webarena.task_generation.proposing import Idea
from pytest_webarena.tasks import load_tasks

from ..model_server import model_server, say
from .conftest import PeoplesBrowser

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog, Page

pytestmark = [pytest.mark.browser, pytest.mark.usefixtures("browser_executable"), pytest.mark.timeout(180)]

KETTLE = {"kind": "information", "template": "What is on in {month}?", "fillings": [{"month": "June"}], "pages": [1]}


@pytest.mark.usefixtures("shared_engine")
def test_generate_shows_site_pages_to_the_model(
    tmp_path: Path, browser_executable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "ideas.yaml"
    command = [
        "tasks",
        "generate",
        "propose",
        "homepage:/calendar/",
        "--model=m",
        "--key-env=none",
        "--pages=4",
        "-o",
        str(target),
    ]
    with model_server([say(json.dumps({"ideas": [KETTLE]}))]) as server:
        assert main([*command, "--url", server.url, "--browser-executable", browser_executable]) == 0
        prompt = server.prompt(0)
    assert prompt.count("\nPAGE ") == 4
    assert "Mara" in prompt, "the site is explored while signed in"
    assert 'PAGE 1: {"site": "homepage", "address": "/calendar/' in prompt
    [task] = load_tasks(target)
    assert (task.intent, task.skip) == ("What is on in June?", "a draft without a verified answer")
    assert "1 request, cost unknown" in capsys.readouterr().err


@pytest.fixture
def form(tmp_path: Path) -> Path:
    hostile = "<img> How much?"
    ideas = [
        Idea(kind="information", template=hostile, intents=(hostile,), pages=()),
        Idea(kind="content", template="Add a note.", intents=("Add a note.",), pages=()),
    ]
    text = draft_text(ideas, sites=["homepage"], users={}, made_of={"model": "m", "prompt": "p"}, head=[])
    (tmp_path / "ideas.yaml").write_text(text)
    write_form(load_tasks(tmp_path / "ideas.yaml"), tmp_path / "form.html", source="ideas.yaml")
    return tmp_path / "form.html"


async def saved(page: Page, folder: Path) -> Path:
    async with page.expect_download() as download:
        await page.get_by_role("button", name="Save", exact=True).click()
    file = await download.value
    await file.save_as(target := folder / file.suggested_filename)
    return target


def test_form_answers_are_saved_and_can_be_continued(peoples_browser: PeoplesBrowser, form: Path) -> None:
    async def answer(context: BrowserContext) -> None:
        page = await context.new_page()
        await page.goto(form.as_uri())
        assert await page.get_by_text("<img> How much?").is_visible(), "what a model says is text"
        await page.get_by_role("button", name="Save", exact=True).click()
        assert "Say who you are" in await page.locator("#status").inner_text()
        await page.get_by_label("Your name").fill("Ada L.")
        first, second = await page.locator("fieldset").all()
        await first.get_by_label("The answer:").check()
        await first.get_by_role("textbox").fill("12.50\n")
        await second.get_by_label("It is worth doing.").check()
        assert not await second.get_by_role("textbox").is_visible()
        assert await page.locator("#status").inner_text() == "2 of 2 answered, not saved yet"
        file = await saved(page, form.parent)
        assert file.name == "answers-ada-l.jsonl"
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        assert [(line["by"], line["says"], line["text"]) for line in lines] == [
            ("Ada L.", "answer", "12.50"),
            ("Ada L.", "answer", ""),
        ]
        await page.goto(form.as_uri())
        await page.get_by_label("Go on with a file").set_input_files(file)
        await page.get_by_text("2 taken over from answers-ada-l.jsonl").wait_for()
        assert await page.locator("fieldset").first.get_by_role("textbox").input_value() == "12.50"
        assert await page.get_by_label("Your name").input_value() == "Ada L."

    peoples_browser.use(answer)


def test_leaving_form_with_unsaved_answers_asks_for_confirmation(peoples_browser: PeoplesBrowser, form: Path) -> None:
    asked: list[str] = []

    async def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        await dialog.accept()

    async def leave(context: BrowserContext) -> None:
        page = await context.new_page()
        await page.goto(form.as_uri())
        await page.locator("fieldset").first.get_by_label("It is no good as a task").check()
        page.on("dialog", stay)
        await page.reload()

    peoples_browser.use(leave)
    assert asked == ["beforeunload"]
