"""The page of ``webarena view`` in a real browser, opened from a file."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.checks.verdict import Part
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.monitoring.history import read_flags
from pytest_webarena.results import Attempt, RunDir
from pytest_webarena.results.failure_labels import add_labels
from pytest_webarena.results.following import RunsServer
from pytest_webarena.results.intervals import clustered_interval
from pytest_webarena.results.viewer import write_view
from tests.browser.conftest import PeoplesBrowser

from ..made_up import check, graded, make_run, make_trial

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\"> <!-- \ud800"
Visit = Callable[..., Any]
DESKTOP, PHONE = (1280, 800), (390, 844)


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run of two agents and three tasks, with one trial of each kind."""
    run = make_run(tmp_path / "run")
    steps: list[dict[str, Any]] = [
        {"target": TargetRecord(x=0.5, y=0.5, role="button", name="Save")},
        {"error": "Nothing there."},
        {},
    ]
    make_trial(run, "buy-tea", agent="careful", category="content", steps=steps)
    make_trial(
        run, "buy-tea", "failed", agent="hasty", steps=steps[1:], checks=[check(score=0.0, why="the texts differ")]
    )
    make_trial(run, "find-rye", agent="careful", sites=("forum",), intent=HOSTILE, answer=HOSTILE)
    make_trial(run, "find-rye", "error", agent="hasty", sites=("forum",), message=HOSTILE, steps=[{"raw": HOSTILE}])
    make_trial(run, "pay", agent="careful", outcome="error", evidence=False)
    attempts = (Attempt(number=1, outcome="error", cause="site"), Attempt(number=2, outcome="passed"))
    make_trial(run, "pay", agent="careful", attempts=attempts)
    return run


@pytest.fixture
def visit(run: RunDir, peoples_browser: PeoplesBrowser) -> Visit:
    """Open the run's page and pass it to a coroutine; any error in the page fails the test."""

    def visit(
        act: Callable[[Page], Awaitable[None]], size: tuple[int, int] = DESKTOP, hash: str = "", **options: Any
    ) -> None:
        write_view(run, run.path / "view.html", **options)
        _visit(peoples_browser, f"{(run.path / 'view.html').as_uri()}{hash}", size, act)

    return visit


def _visit(browser: PeoplesBrowser, url: str, size: tuple[int, int], act: Callable[[Page], Awaitable[None]]) -> None:
    faults: list[str] = []

    async def look(context: BrowserContext) -> None:
        page = await context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on(
            "console", lambda message: faults.append(message.text) if message.type in ("error", "warning") else None
        )
        await page.goto(url)
        await act(page)

    browser.use(look, viewport={"width": size[0], "height": size[1]})
    assert faults == []


async def _until(page: Page, expression: str) -> None:
    """Wait for an expression to be true. Playwright's own way uses eval, which the page's policy forbids."""
    async with asyncio.timeout(20):
        while not await page.evaluate(expression):
            await asyncio.sleep(0.02)


async def _shown(page: Page, selector: str, texts: list[str]) -> None:
    """Wait until the elements of a selector show exactly ``texts``."""
    from playwright.async_api import expect

    await expect(page.locator(selector)).to_have_text(texts, use_inner_text=True, timeout=20_000)


async def _texts(page: Page, selector: str) -> list[str]:
    return [text.strip() for text in await page.locator(selector).all_inner_texts()]


def test_viewer_shows_rates_and_trials(visit: Visit) -> None:
    async def act(page: Page) -> None:
        assert await page.title() == "run · webarena run"
        await _shown(page, "#agents h2", ["careful", "hasty"])
        await _shown(page, "#agents .big b", ["100.0 %", "0.0 %"])
        await _shown(page, "#rates-table tbody th", ["forum", "s", "all"])
        await page.get_by_role("button", name="hasty, forum: no verdict, 0 of 0 passed, 1 error").click()
        await _shown(page, "#count", ["1 of 5 trials"])
        await page.get_by_role("button", name="Clear").click()
        await page.locator("#rates-table").get_by_role("button", name="forum", exact=True).click()
        await _shown(page, "#count", ["2 of 5 trials"])
        await page.get_by_role("button", name="Clear").click()
        await page.get_by_role("button", name="by trial", exact=True).click()
        assert await page.locator("#trials tbody tr").count() == 5

    visit(act)


def test_click_on_row_opens_trial(visit: Visit) -> None:
    async def act(page: Page) -> None:
        for kind in ("by task", "by trial"):
            await page.get_by_role("button", name=kind, exact=True).click()
            await page.locator("#trials tr").filter(has_text="buy-tea").locator("small").first.click()
            await page.locator("#trial[open]").wait_for()  # the address changes first
            assert "buy-tea" in await page.locator("#trial").inner_text()
            await page.get_by_role("button", name="Close").click()

    visit(act)


def test_trials_can_be_filtered_and_sorted(visit: Visit) -> None:
    async def act(page: Page) -> None:
        await page.get_by_role("button", name="by trial", exact=True).click()
        await page.keyboard.press("/")
        await page.keyboard.type("rye hasty")
        await _shown(page, "#trials .link", ["find-rye"])
        await _shown(page, "#trials td:first-child", ["! error"])
        await page.get_by_role("button", name="Clear").click()
        await page.get_by_label("✓ passed 3").uncheck()
        await _shown(page, "#count", ["2 of 5 trials"])
        assert sorted(await _texts(page, "#trials .link")) == ["buy-tea", "find-rye"]
        await page.get_by_role("button", name="Steps", exact=True).click()
        await _shown(page, "#trials td:nth-child(5)", ["2", "1"])
        assert await page.locator("th[aria-sort=descending]").inner_text() == "Steps"
        await page.get_by_label("How it ended").select_option("error: site")
        await _shown(page, "#count", ["1 of 5 trials"])

    visit(act)


def test_key_nodes_are_shown_and_a_task_can_be_flagged(run: RunDir, visit: Visit, tmp_path: Path) -> None:
    more = {"of": 1.0, "given": 0.0, "function": "url includes"}
    parts = (
        Part(what="found", points=1.0, step=1, by="http://s.test/", **more),  # type: ignore[arg-type]
        Part(what=HOSTILE, points=0.0, **more),  # type: ignore[arg-type]
    )
    make_trial(run, "buy-milk", "failed", agent="careful", checks=[check("key_nodes", 0.5, parts=parts)])
    flags, labels = tmp_path / "flags.jsonl", tmp_path / "labels.jsonl"

    async def act(page: Page) -> None:
        assert await page.title() == "run · webarena run"
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await _shown(page, ".heat:has-text('buy-milk') tbody td", ["100%", "0%"])
        await page.locator(".heat a", has_text="0%").last.click()  # the trial that missed it
        await _shown(page, "#trial-title code", ["buy-milk"])
        await _shown(page, ".timeline .sign", ["✓", "✗"])
        await page.get_by_role("button", name="step 2, http://s.test/").click()
        await _shown(page, ".frame[aria-selected=true] b", ["2"])
        await page.get_by_text("Why did it fail? (").click()
        await page.get_by_role("button", name="Save the label").click()
        await _shown(page, ".flag output >> nth=0", ["Say who you are: labels of several people are compared."])
        await page.get_by_label("Your name").fill("Ada")
        await page.get_by_label("misread-intent").check()
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Save the label").click()
        await (await download.value).save_as(labels)
        await page.get_by_text("Flag this task").click()
        await page.get_by_label("What is wrong with the task?").fill('The "kettle" is gone.')
        async with page.expect_download() as download:
            await page.get_by_role("button", name="Save the report").click()
        await (await download.value).save_as(flags)
        await _shown(
            page,
            ".flag output >> nth=1",
            ["flags.jsonl has 1 report of this page. Hand it to: webarena tasks monitor --flags flags.jsonl TASKS"],
        )

    visit(act)
    (label,) = add_labels(run, labels)
    assert (label.by, label.classes) == ("Ada", ("misread-intent",))
    (flag,) = read_flags(flags)
    assert (flag.task, flag.reason) == ("buy-milk", 'The "kettle" is gone.')
    visit(act, PHONE)


def test_rubric_items_are_shown_with_quotes(run: RunDir, visit: Visit) -> None:
    parts = (
        Part(what="Sets up.", points=4, of=4, given=4, quote="n = 2k"),
        Part(what=HOSTILE, points=0, of=6, given=6, quote=HOSTILE, why="6 given, but the quote is not in the answer"),
    )
    make_trial(run, "prove", agent="careful", checks=[check("rubric", 0.4, counts=1.0, parts=parts, why="4 of 10")])

    async def act(page: Page) -> None:
        await page.get_by_role("button", name="prove, careful, trial 1: passed").click()
        await _shown(page, ".checks .sign", ["✓", "✓", "✗"])
        await _shown(page, ".parts td:nth-child(3)", ["4 / 4", "0 / 6"])
        assert (await _texts(page, ".parts q"))[0].strip('“”"') == "n = 2k"
        assert await _texts(page, ".parts small") == ["6 given, but the quote is not in the answer"]
        assert await page.title() == "run · webarena run"

    visit(act)


def test_steps_of_trial_can_be_browsed_by_keyboard(visit: Visit) -> None:
    async def act(page: Page) -> None:
        await page.get_by_role("button", name="buy-tea", exact=True).click()  # a row by task: the trial that failed
        await page.get_by_role("dialog", name="failed buy-tea").get_by_role("button", name="Close").click()
        await page.get_by_role("button", name="buy-tea, hasty, trial 1: failed").click()
        dialog = page.get_by_role("dialog", name="failed buy-tea")
        await dialog.get_by_text("the texts differ", exact=True).wait_for()
        assert await dialog.locator(".stage h3").inner_text() == "1 of 2: Click “Save”"
        assert await dialog.locator("p.no-effect").inner_text() == "No effect: Nothing there."
        await dialog.get_by_text("observation 0", exact=True).wait_for()
        await page.keyboard.press("ArrowRight")
        assert await dialog.locator(".stage h3").inner_text() == "2 of 2: Click “Save”"
        assert (await page.evaluate("location.hash")).endswith("/2")
        await _until(page, "document.querySelector('.shot img')?.naturalWidth === 1")
        await page.keyboard.press("k")
        await page.get_by_role("dialog", name="passed buy-tea").wait_for()
        await page.keyboard.press("Escape")
        await _until(page, "location.hash === ''")
        assert not await page.locator("dialog[open]").count()

    visit(act)


def test_link_opens_a_step(visit: Visit, run: RunDir) -> None:
    folder = next(record.key.folder for record in run.records() if record.key.task == "buy-tea")

    async def act(page: Page) -> None:
        await page.get_by_role("heading", name="3 of 3: Click “Save”").wait_for()

    visit(act, hash=f"#{folder}/3")


def test_clicked_point_is_marked_on_the_screenshot(visit: Visit) -> None:
    async def act(page: Page) -> None:
        await page.get_by_role("button", name="buy-tea, careful").click()
        await page.locator(".spot").wait_for()
        await page.keyboard.press("ArrowRight")
        await page.get_by_role("heading", name="2 of 3").wait_for()
        assert not await page.locator(".spot").count()

    visit(act)


def test_earlier_attempts_can_be_opened(visit: Visit) -> None:
    async def act(page: Page) -> None:
        await page.get_by_role("button", name="pay, careful").click()
        second = page.get_by_role("button", name="Attempt 2: passed")
        await second.wait_for()
        assert await second.get_attribute("aria-pressed") == "true"
        await page.get_by_role("button", name="Attempt 1: site error").click()
        assert await second.get_attribute("aria-pressed") == "false"
        assert await page.locator(".frame").count() == 2

    visit(act)


def test_hostile_texts_are_shown_as_text(visit: Visit) -> None:
    async def act(page: Page) -> None:
        for agent in ("careful", "hasty"):
            await page.evaluate(
                f"openTrial(index.trials.find((trial) => trial.task === 'find-rye' && trial.agent === '{agent}'))"
            )
            await page.locator(f"#trial dd:text-is('{agent}')").wait_for()
            await page.locator("#trial", has_text="<img src=x onerror=").wait_for()
        assert await page.title() == "run · webarena run"
        assert not await page.locator("img[src=x]").count()

    visit(act)


def test_linked_screenshots_are_loaded_from_files(visit: Visit) -> None:
    async def act(page: Page) -> None:
        await page.get_by_role("button", name="buy-tea, careful").click()
        await _until(page, "document.querySelector('.shot img')?.naturalWidth === 1")
        assert (await page.locator(".shot img").get_attribute("src") or "").startswith("trials/")
        await page.get_by_text("screenshots linked").wait_for()

    visit(act, picture_budget=0)


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_page_fits_every_screen_width(visit: Visit, size: tuple[int, int]) -> None:
    async def act(page: Page) -> None:
        wide = "document.scrollingElement.scrollWidth <= innerWidth"
        assert await page.evaluate(wide)
        await page.get_by_role("button", name="find-rye, hasty").click()
        await page.locator(".stage").wait_for()
        assert await page.evaluate(
            "(() => { const d = document.getElementById('trial'); return d.scrollWidth <= d.clientWidth })()"
        )
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="by trial", exact=True).click()
        assert await page.evaluate(wide)

    visit(act, size)


def test_gradings_are_shown_side_by_side(visit: Visit, run: RunDir) -> None:
    make_trial(run, "webarena.1", agent="careful", **graded(repaired=1, original=0, verified=None))
    make_trial(run, "webarena.2", agent="careful", **graded(repaired=1, original=1))

    async def act(page: Page) -> None:
        card = page.locator("#agents article").first
        card_text = await card.inner_text()
        assert "repaired 2/2 = 100.0 % (counts)\noriginal 1/2 = 50.0 %\nverified 0/0, 1 not computed" in card_text
        await page.get_by_role("button", name="by trial", exact=True).click()
        await card.get_by_role("button", name="1 trial").click()
        await _shown(page, "#trials .link", ["webarena.1"])
        await page.get_by_role("button", name="webarena.1", exact=True).click()
        await page.locator("#trial .grading summary").first.wait_for()  # a trial is unpacked when it is opened
        lines = await _texts(page, "#trial .grading summary")
        assert lines == ["✓ repaired: passed (counts)", "✗ original: failed", "? verified: not computed"]
        await page.locator(".grading", has_text="original").locator("summary").click()
        assert "original differs" in await page.locator(".grading[open]").inner_text()
        await page.keyboard.press("Escape")
        await page.get_by_role("button", name="gradings", exact=True).click()
        await _shown(page, "#rates-table tbody th", ["agreed", "disputed", "one grading", "all"])

    visit(act)


def test_confidence_intervals_match_the_terminal(visit: Visit) -> None:
    """The page computes them for any selection of trials, by the same rule."""
    random = Random(5)
    samples: list[list[list[bool]]] = [[[]], [[True]], [[True, False]], [[True] * 3, [True] * 2], [[False] * 4] * 3]
    samples += [
        [[random.random() < rate for _ in range(random.randint(1, 5))] for _ in range(random.randint(2, 40))]
        for rate in (0.05, 0.3, 0.5, 0.97)
        for _ in range(10)
    ]

    async def look(page: Page) -> None:
        for clusters in samples:
            trials = [
                {"cluster": str(number), "outcome": "passed" if won else "failed"}
                for number, cluster in enumerate(clusters)
                for won in cluster
            ]
            shown = await page.evaluate(
                "trials => tally([...trials, {cluster: 'x', outcome: 'error'}]).interval", trials
            )
            assert shown == pytest.approx(clustered_interval(clusters)), clusters
        counts = {"passed": 1, "failed": 2, "undecided": 3, "error": 4}
        mixed = [{"cluster": "x", "outcome": name} for name, count in counts.items() for _ in range(count)]
        found = await page.evaluate("trials => tally(trials)", mixed)
        assert (found["judged"], found["rate"], found["ifMet"]) == (6, 1 / 6, 4 / 6)
        assert "(Wilson, clustered by template or task)" in await page.inner_text("body")

    visit(look)


def test_served_viewer_updates_while_run_continues(run: RunDir, peoples_browser: PeoplesBrowser) -> None:
    async def act(page: Page) -> None:
        await _until(page, "document.querySelector('tbody a')?.textContent === 'run'")
        await page.click("tbody a")
        await _until(page, "document.querySelector('.agents')?.textContent.includes('100.0 % (3/3)')")
        shown = await _texts(page, "main")
        assert any(HOSTILE[:40] in text for text in shown)
        make_trial(run, "late", "failed", agent="careful", message="url: expected /a, found /b")
        await _until(page, "document.querySelector('.agents').textContent.includes('75.0 % (3/4)')")
        await _until(page, "document.querySelector('main').textContent.includes('url: expected /a, found /b')")
        await page.click("a.whole")
        await _until(page, "document.querySelectorAll('#trials tbody tr').length > 0")

    with RunsServer(run.path.parent) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        _visit(peoples_browser, server.address, PHONE, act)
        server.shutdown()
