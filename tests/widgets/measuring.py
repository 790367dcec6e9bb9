"""Measures the cells of a widget: what the harness sees and does, against raw Playwright on the same page."""

from __future__ import annotations

import html
import re
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from playwright.async_api import Page

from pytest_webarena import actions
from pytest_webarena.actions import Action, Invalid, Target
from pytest_webarena.browser.config import ObservationConfig, SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.browser.observation.forms import find_form
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import WebArenaError
from pytest_webarena.recorder.steps import steps_of
from tests.widgets import raw
from tests.widgets.cells import CellTask, Widget, extractors, forms, ways
from tests.widgets.site import WidgetSite
from tests.widgets.translating import NoVerb, Unseen, id_of, reply

__all__ = ["Bench", "Cell", "Outcome"]

T = TypeVar("T")
Outcome = Literal["equal", "told", "silent", "none"]
"""Equal to raw Playwright; different, and the harness says so; different without a word; not expressible."""

_KIND = {"set_of_marks": "set_of_marks", "webcanvas": "webcanvas"}
"""Form of observation that agents of a grammar read, if it is not the accessibility tree."""
_ANSWERS = (actions.AcceptDialog, actions.DismissDialog)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Result of one cell."""

    widget: str
    part: str
    """``seen`` and the extractor, or the name of the task."""
    way: str
    """Form of observation, or way of acting."""
    outcome: Outcome
    detail: str = ""


class Bench:
    """Measures cells with one browser and one site."""

    def __init__(self, engine: BrowserEngine, site: WidgetSite, folder: Path) -> None:
        self._engine, self._site = engine, site
        self._uploads = raw.write_uploads(folder)

    def raw_state(self, widget: Widget, task: CellTask) -> Any:
        """Return the state that raw Playwright reaches in a browser context without the harness."""
        return self._run(self._raw_state(widget, task))

    def cells(self, widget: Widget) -> Iterator[Cell]:
        """Measure all cells of a widget."""
        yield from self.seen(widget)
        for task in widget.tasks:
            for way in ways():
                yield self.done(widget, task, way)
            if task.shows:
                yield self.shows(widget, task)

    def seen(self, widget: Widget) -> Iterator[Cell]:
        """Compare each form of observation with raw Playwright's, before and after each of its steps."""
        for extractor in extractors():
            missing: dict[str, dict[str, None]] = {form: {} for form in forms()}
            for task in widget.tasks:
                self._compare(widget, task, extractor, missing)
            for form, texts in missing.items():
                yield Cell(
                    widget=widget.name, part=f"seen: {extractor}", way=form, outcome="silent" if texts else "equal",
                    detail=f"without {', '.join(map(repr, texts))}" if texts else "",
                )  # fmt: skip

    def done(self, widget: Widget, task: CellTask, way: str) -> Cell:
        """Do a task in one way and compare the page's state."""
        try:
            outcome, detail = self._replay(widget, task) if way == "replay" else self._act(widget, task, way)
        except NoVerb as no_verb:
            outcome, detail = "none", f"no verb for {no_verb}"
        except Unseen as unseen:
            outcome, detail = "silent", str(unseen)
        except WebArenaError as error:
            outcome, detail = "told", f"{type(error).__name__}: {error}"
        return Cell(widget=widget.name, part=task.name, way=way, outcome=outcome, detail=detail)

    def shows(self, widget: Widget, task: CellTask) -> Cell:
        """Compare the observation after the last step with the texts that it should have."""
        with self._opened(widget, task, "solution") as session:
            error = next((found for step in task.steps if (found := session.execute(step).error)), "")
            text = session.observe().render()
        lost = [each for each in task.shows if each not in text]
        outcome: Outcome = "equal" if not lost else "told" if error else "silent"
        detail = error or (f"without {', '.join(map(repr, lost))}" if lost else "")
        return Cell(widget=widget.name, part=task.name, way="shows", outcome=outcome, detail=detail)

    def _compare(self, widget: Widget, task: CellTask, extractor: str, missing: dict[str, dict[str, None]]) -> None:
        observed = ObservationConfig(
            kinds=forms(), extractor=extractor, current_viewport_only=False, html_viewport_only=False  # type: ignore[arg-type]
        )  # fmt: skip
        with self._opened(widget, task, "raw", observation=observed) as session:
            self._look(session, missing)
            for step, following in _pairs(task.raw):
                self._run(raw.do_step(_page(session), step, following))
                if not isinstance(following, _ANSWERS) and task.state is not None:
                    self._look(session, missing)

    def _look(self, session: Session, missing: dict[str, dict[str, None]]) -> None:
        session.wait_for_idle(2.0)
        items, labels = self._run(raw.eyes(_page(session))), self._run(raw.labels_of_texts(_page(session)))
        source = _plain(self._run(_page(session).content()))
        texts = _by_form(session.observe().text)
        for form in missing:
            words = _words(texts[form])
            for item in items:
                if not _concerns(form, item, labels, source):
                    continue
                if item.text not in texts[form] and not _words(item.text) <= words:
                    missing[form][item.text] = None

    def _act(self, widget: Widget, task: CellTask, way: str) -> tuple[Outcome, str]:
        if way in ("webarena", "webcanvas") and any(isinstance(step, _ANSWERS) for step in task.steps):
            raise NoVerb("answers to dialogs")
        observation = ObservationConfig(kinds=(_KIND.get(way, "accessibility_tree"),))
        with self._opened(widget, task, way, observation=observation) as session:
            for step in task.steps:
                action = step if way == "solution" else self._translated(session, widget, step, way)
                if isinstance(action, Invalid):
                    return "told", action.reason
                done = session.execute(action)
                said = done.error or next((event.text for event in done.events if event.kind == "field"), "")
                if done.error:
                    break
            return self._judged(session, task, said)

    def _translated(self, session: Session, widget: Widget, step: Action, way: str) -> Action:
        text = session.observe().text if way not in ("playwright", "coordinates") else ""
        bracket = way in ("webarena", "set_of_marks", "coordinates")

        def aim(target: Target) -> str:
            point = widget.points.get(getattr(target, "selector", ""))
            shown = self._run(raw.show_of(_page(session), target, point if way == "coordinates" else None))
            if way == "coordinates":
                if shown.point is None:
                    raise NoVerb("what is outside of the viewport")
                return f"[{shown.point[0]:.0f}] [{shown.point[1]:.0f}]"
            found = id_of(text, shown)
            return f"[{found}]" if bracket else found

        return grammar(way).parse(reply(way, step, aim))

    def _replay(self, widget: Widget, task: CellTask) -> tuple[Outcome, str]:
        with self._opened(widget, task, "raw") as session:
            session.signals.mark_agent_start()
            for step, following in _pairs(task.raw):
                self._run(raw.do_step(_page(session), step, following))
            reached = self._run(raw.state_of(_page(session), task.state))
            session.wait_for_idle(2.0)
            recorded = steps_of(session.signals.since(session.signals.before))
        if reached != task.state:
            return "told", f"raw Playwright reaches {reached!r} while it is recorded"
        problem = next((step.problem for step in recorded if step.problem), "")
        with self._opened(widget, task, "solution") as session:
            for step in recorded:
                if error := session.execute(step.action).error:
                    return self._judged(session, task, error)
            return self._judged(session, task, problem)

    def _judged(self, session: Session, task: CellTask, said: str) -> tuple[Outcome, str]:
        found = self._run(raw.state_of(_page(session), task.state)) if task.state is not None else None
        if found == task.state:
            return ("told", f"done, but: {said}") if said else ("equal", "")
        return ("told", said) if said else ("silent", f"{found!r} instead of {task.state!r}")

    async def _raw_state(self, widget: Widget, task: CellTask) -> Any:
        async with self._engine.opening() as browser:
            context = await browser.new_context(
                proxy={"server": self._site.proxy}, viewport={"width": 1280, "height": 720}, locale="en-US",
                timezone_id="UTC",
            )  # fmt: skip
            try:
                page = await context.new_page()
                await page.goto(self._site.address(widget.name))
                await raw.ready(page)
                for step, following in _pairs(task.raw):
                    await raw.do_step(page, step, following)
                return await raw.state_of(page, task.state) if task.state is not None else None
            finally:
                await context.close()

    @contextmanager
    def _opened(
        self, widget: Widget, task: CellTask, way: str, observation: ObservationConfig | None = None
    ) -> Iterator[Session]:
        holds = actions.answers_dialogs(task.steps) and way not in ("webarena", "webcanvas")
        config = SessionConfig(proxy=self._site.proxy, uploads=self._uploads, dialogs="hold" if holds else "accept")
        if observation is not None:
            config = replace(config, observation=observation)
        with self._engine.session(config) as session:
            session.open_tabs([self._site.address(widget.name)])
            self._run(raw.ready(_page(session)))
            session.wait_for_idle(2.0)
            yield session

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._engine.run(coroutine, timeout=60, what="raw Playwright")


def _page(session: Session) -> Page:
    return session._tabs.current.page


def _pairs(steps: Sequence[Action]) -> list[tuple[Action, Action | None]]:
    return list(zip(steps, [*steps[1:], None], strict=True))


def _by_form(text: str) -> dict[str, str]:
    """Return the text of each form of an observation with several."""
    titles = {find_form(form).title: form for form in forms()}
    parts: dict[str, list[str]] = {form: [] for form in forms()}
    current: list[str] = []
    for line in text.splitlines():
        current = parts[titles[line]] if line in titles else current
        current.append(line)
    return {form: _plain("\n".join(lines)) for form, lines in parts.items()}


def _concerns(form: str, item: raw.Item, labels: set[str], source: str) -> bool:
    """Return whether a form has to show an item, by what the documentation says of the form."""
    if form == "raw_html":
        return item.text in source
    if form == "webcanvas":
        return item.text not in labels
    return form != "set_of_marks" or bool(item.role)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _plain(text: str) -> str:
    return raw.squeeze(html.unescape(re.sub(r"\\(.)", r"\1", text)))
