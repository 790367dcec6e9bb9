"""Simulates a user of the page of ``webarena tasks record --serve``: finds elements, moves the mouse, presses keys."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.recorder.page import flow
from pytest_webarena.recorder.page.flow import PageOptions, record_on_page
from pytest_webarena.signals import TargetRecord
from pytest_webarena.tasks import Task
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.tryout import Tryout, tryout
from tests.browser.conftest import PeoplesBrowser

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Page

__all__ = ["Person", "record_at_page", "use_recorder_page"]

PATIENCE = 60.0
_SHOWN = "JSON.stringify([problem.hidden ? '' : problem.textContent, running, state])"
_LEAVE = """fetch('ask', {
  method: 'POST', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({what: 'leave'}),
}).then(() => 1)"""


@dataclass
class Person:
    """The user's actions on the page."""

    page: Page
    find: Callable[[str, float], TargetRecord | None]
    """The person's eyes."""
    stages: Sequence[Tryout] = ()
    """The server behind the page."""

    async def until(self, expression: str) -> Any:
        """Wait for an expression to be true. Playwright's own way needs eval, which the page's policy forbids."""
        limit = time.monotonic() + PATIENCE
        while not (found := await self.page.evaluate(expression)):
            assert time.monotonic() < limit, f"{expression}: not so, but {await self.page.evaluate(_SHOWN)}"
            await asyncio.sleep(0.05)
        return found

    async def at(self, selector: str) -> tuple[float, float]:
        """Return where an element of the recorded page is shown; scroll until it is visible."""
        box = await self.page.locator("#picture").bounding_box()
        assert box is not None
        width, height = await self.page.evaluate("size")
        async with asyncio.timeout(PATIENCE):
            while True:
                found = await asyncio.to_thread(self.find, selector, 20.0)
                assert found is not None, f"nothing is {selector}"
                assert found.x is not None
                assert found.y is not None
                if 5 < found.y < height - 5:
                    return box["x"] + found.x / width * box["width"], box["y"] + found.y / height * box["height"]
                await self.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
                await self.page.mouse.wheel(0, found.y - height / 2)
                await asyncio.sleep(0.1)

    async def click(self, selector: str, **how: Any) -> None:
        """Click where an element is shown."""
        await self.page.mouse.click(*await self.at(selector), **how)

    async def type(self, text: str) -> None:
        """Type into the focused element."""
        await self.page.keyboard.type(text)

    async def steps(self, count: int, last: str = "") -> list[str]:
        """Return the steps that the panel shows, once their number is ``count`` and the last one starts with ``last``.
        Typed text may arrive in parts, and so as several steps for a moment.
        """
        begins = f"state.steps.at(-1).text.startsWith({json.dumps(last)})" if last else "true"
        await self.until(f"state.steps.length === {count} && {begins}")
        found: list[str] = await self.page.evaluate("state.steps.map(step => step.text)")
        return found

    async def press(self, name: str) -> None:
        """Click a button of the recorder's page."""
        await self.page.get_by_role("button", name=name, exact=True).click()

    async def phase(self, name: str) -> None:
        """Wait for the recorder's next phase."""
        await self.until(f"state.phase === '{name}'")

    async def finish(self) -> None:
        """Verify the recording, until checks can be chosen."""
        await self.press("Finish and verify")
        await self.phase("choosing")

    async def attempt(self) -> dict[str, Any]:
        """Try the task and return the result."""
        before = await self.page.evaluate("state.trials")
        await self.press("Try the task on fresh sites")
        over = f"state.trials > {before} && state.phase === 'choosing'"
        result: dict[str, Any] = await self.until(f"{over} && state.result")
        return result


@dataclass
class _Stages:
    set: list[Tryout] = field(default_factory=list)

    def find(self, selector: str, patience: float) -> TargetRecord | None:
        """Find an element in the latest session."""
        return self.set[-1].find(selector, patience)

    @contextmanager
    def tryout(self, *args: Any, **options: Any) -> Iterator[Tryout]:
        with tryout(*args, **options) as trying:
            self.set.append(trying)
            yield trying


def record_at_page(
    task: Task,
    runtime: Runtime,
    act: Callable[[Person], Awaitable[None]],
    *,
    browser: PeoplesBrowser,
    monkeypatch: Any,
    size: tuple[int, int] = (1280, 800),
    **options: Any,
) -> tuple[int, list[str]]:
    """Make a task at the page with ``act``; return the result of `record_on_page` and its messages. A page error fails
    the test.
    """
    stages = _Stages()
    messages: list[str] = []
    ended: list[int] = []
    monkeypatch.setattr(flow, "tryout", stages.tryout)
    opened: list[str] = []
    there = threading.Event()

    def show(address: str) -> None:
        opened.append(address)
        there.set()

    defaults = {"live": True, "ignored": {}, "name": lambda intent: "made", "report": messages.append, "open": show}
    given = PageOptions(**{**defaults, **options})

    def record() -> None:
        try:
            ended.append(record_on_page(task, runtime, given))
        finally:
            there.set()

    recording = threading.Thread(target=record)
    recording.start()
    try:
        assert there.wait(PATIENCE)
        assert opened
        use_recorder_page(browser, opened[0], size, stages.find, act, sees=given.live, stages=stages.set)
    finally:
        recording.join(PATIENCE)
    assert ended, "the recording did not come to an end"
    return ended[0], messages


def use_recorder_page(
    browser: PeoplesBrowser,
    address: str,
    size: tuple[int, int],
    find: Callable[[str, float], TargetRecord | None],
    act: Callable[[Person], Awaitable[None]],
    *,
    sees: bool = True,
    stages: Sequence[Tryout] = (),
) -> None:
    """Open the page, run ``act`` on it, and close it. A page error fails the test. ``sees``: the page shows the
    browser.
    """
    faults: list[str] = []

    async def use(context: BrowserContext) -> None:
        page = await context.new_page()
        page.set_default_timeout(PATIENCE * 1000)
        page.on("pageerror", lambda error: faults.append(str(error)))
        await page.goto(address)
        person = Person(page, find, stages)
        try:
            seen = "Number(document.querySelector('#picture').dataset.number) > 0"
            await person.until(seen if sees else "state.phase === 'doing'")
            await act(person)
        finally:
            await page.evaluate(_LEAVE)

    browser.use(use, viewport={"width": size[0], "height": size[1]})
    assert faults == []
