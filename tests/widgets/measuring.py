"""Measures the cells of a widget: what the harness sees and does, against raw Playwright on the same page."""

from __future__ import annotations

import html
import re
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import ExitStack
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
from pytest_webarena.recorder.selector_proving import prove
from pytest_webarena.recorder.steps import steps_of
from tests.widgets import raw
from tests.widgets.cells import CellTask, Widget, extractors, forms, ways
from tests.widgets.site import WidgetSite
from tests.widgets.translating import NoVerb, Unseen, id_of, reply

__all__ = ["Bench", "Cell", "Outcome"]

T = TypeVar("T")
Outcome = Literal["equal", "reported", "silent", "none"]
"""Equal to raw Playwright; different, and the harness reports it; silently different; not expressible."""

Missing = dict[tuple[str, str], dict[str, None]]
"""Texts that an extractor's form has not, in the order in which they were missed."""
_KIND = {"set_of_marks": "set_of_marks", "webcanvas": "webcanvas"}
"""Form of observation that agents of a grammar read, if it is not the accessibility tree."""
_OF_THE_BROWSER = ("No file chosen",)
"""Texts that the browser writes into its own controls, so that no document has them."""
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

    @property
    def key(self) -> str:
        """Name of the cell within its widget."""
        return f"{self.part} | {self.way}"


class Bench:
    """Measures cells with one browser and one site. Cells share a session as long as they are equal."""

    def __init__(self, engine: BrowserEngine, site: WidgetSite, folder: Path) -> None:
        self._engine, self._site = engine, site
        self._uploads = raw.write_uploads(folder)
        self._sessions = ExitStack()
        self._open: dict[bool, Session] = {}

    def close(self) -> None:
        """Close the sessions."""
        self._open.clear()
        self._sessions.close()

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
        missing: Missing = {(extractor, form): {} for extractor in extractors() for form in forms()}
        for task in widget.tasks:
            session = self._opened(widget, task, "raw")
            self._look(session, missing)
            for step, following in _pairs(task.raw):
                self._run(raw.do_step(_page(session), step, following))
                if not isinstance(following, _ANSWERS) and task.state is not None:
                    self._look(session, missing)
        for (extractor, form), texts in missing.items():
            detail = f"without {', '.join(map(repr, texts))}" if texts else ""
            outcome: Outcome = "silent" if texts else "equal"
            yield Cell(widget=widget.name, part=f"seen: {extractor}", way=form, outcome=outcome, detail=detail)

    def done(self, widget: Widget, task: CellTask, way: str) -> Cell:
        """Do a task in one way and compare the page's state."""
        try:
            outcome, detail = self._replay(widget, task) if way == "replay" else self._act(widget, task, way)
        except NoVerb as no_verb:
            outcome, detail = "none", f"no verb for {no_verb}"
        except Unseen as unseen:
            outcome, detail = "silent", str(unseen)
        except WebArenaError as error:
            outcome, detail = "reported", f"{type(error).__name__}: {error}"
        if outcome != "equal":
            self.close()
        return Cell(widget=widget.name, part=task.name, way=way, outcome=outcome, detail=detail)

    def shows(self, widget: Widget, task: CellTask) -> Cell:
        """Compare the observation after the last step with the texts that it should have."""
        session = self._opened(widget, task, "solution")
        error = next((found for step in task.steps if (found := session.execute(step).error)), "")
        text = session.observe().render()
        self.close()
        lost = [each for each in task.shows if each not in text]
        outcome: Outcome = "equal" if not lost else "reported" if error else "silent"
        detail = error or (f"without {', '.join(map(repr, lost))}" if lost else "")
        return Cell(widget=widget.name, part=task.name, way="shows", outcome=outcome, detail=detail)

    def _look(self, session: Session, missing: Missing) -> None:
        session.wait_for_idle(1.0)
        page = _page(session)
        items, labels = self._run(raw.eyes(page)), self._run(raw.labels_of_texts(page))
        covered = self._run(raw.covered(page))
        source = _plain(self._run(page.content()))
        for extractor in extractors():
            texts = _by_form(_observed(session, forms(), extractor=extractor, everything=True))
            for form in forms():
                words = _words(texts[form]) | (_words(" ".join(labels)) if form == "webcanvas" else set())
                for item in items:
                    concerned = _concerns(form, item, source) and not (form == "set_of_marks" and item.text in covered)
                    if concerned and item.text not in texts[form] and not _words(item.text) <= words:
                        missing[extractor, form][item.text] = None

    def _act(self, widget: Widget, task: CellTask, way: str) -> tuple[Outcome, str]:
        if way in ("webarena", "webcanvas") and any(isinstance(step, _ANSWERS) for step in task.steps):
            raise NoVerb("answers to dialogs")
        session, said = self._opened(widget, task, way), ""
        for step in task.steps:
            action = step if way == "solution" else self._translated(session, widget, step, way)
            if isinstance(action, Invalid):
                return "reported", action.reason
            done = session.execute(action)
            said = done.error or next((event.text for event in done.events if event.kind == "field"), said)
            if done.error:
                break
        return self._judged(session, task, said)

    def _translated(self, session: Session, widget: Widget, step: Action, way: str) -> Action:
        kind = _KIND.get(way, "accessibility_tree")
        text = _observed(session, (kind,)) if way not in ("playwright", "coordinates") else ""
        bracket = way in ("webarena", "set_of_marks", "coordinates")

        def aim(target: Target) -> str:
            point = widget.points.get(getattr(target, "selector", ""))
            shown = self._run(raw.show_of(_page(session), target, point if way == "coordinates" else None))
            if way == "coordinates":
                if shown.point is None:
                    raise NoVerb("what is outside of the viewport")
                return f"[{shown.point[0]:.0f}] [{shown.point[1]:.0f}]"
            try:
                found = id_of(text, shown)
            except Unseen:
                if kind == "set_of_marks" and (target is not getattr(step, "target", None) or step.kind == "scroll"):
                    raise NoVerb("a place without a mark") from None
                raise
            return f"[{found}]" if bracket else found

        return grammar(way).parse(reply(way, step, aim))

    def _replay(self, widget: Widget, task: CellTask) -> tuple[Outcome, str]:
        session = self._opened(widget, task, "raw")
        session.signals.mark_agent_start()
        for step, following in _pairs(task.raw):
            if self._run(raw.by_script(_page(session), step)):
                raise NoVerb("what raw Playwright sets by a script")
            self._run(raw.do_step(_page(session), step, following))
        reached = self._run(raw.state_of(_page(session), task.state)) if task.state is not None else None
        if reached != task.state:
            return "reported", f"raw Playwright reaches {reached!r} while it is recorded"
        session.wait_for_idle(1.0)
        recorded = steps_of(session.signals.since(session.signals.before))
        session = self._opened(widget, task, "solution")
        proving = _Proving(session)
        proved = prove(recorded, proving, proving.act)
        problem = next((chosen.problem for chosen in list(proved) if chosen.problem), "")
        return self._judged(session, task, problem)

    def _judged(self, session: Session, task: CellTask, said: str) -> tuple[Outcome, str]:
        seconds = 0.5 if said else 3.0
        found = self._run(raw.state_of(_page(session), task.state, seconds)) if task.state is not None else None
        if found == task.state:
            return ("reported", f"done, but: {said}") if said else ("equal", "")
        return ("reported", said) if said else ("silent", f"{found!r} instead of {task.state!r}")

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

    def _opened(self, widget: Widget, task: CellTask, way: str) -> Session:
        """Return a session that shows the widget, as a new visitor sees it."""
        holds = actions.answers_dialogs(task.steps) and way not in ("webarena", "webcanvas")
        address = self._site.address(widget.name)
        session = self._open.get(holds)
        if session is None:
            config = SessionConfig(proxy=self._site.proxy, uploads=self._uploads, dialogs="hold" if holds else "accept")
            session = self._open[holds] = self._sessions.enter_context(self._engine.session(config))
            session.open_tabs([address])
        else:
            self._run(_page(session).context.clear_cookies())
            session.execute(actions.Goto(address))
        self._run(raw.ready(_page(session)))
        session.wait_for_idle(1.0)
        return session

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._engine.run(coroutine, timeout=60, what="raw Playwright")


class _Proving:
    """The page on which the recorder proves its selectors."""

    def __init__(self, session: Session) -> None:
        self.find, self.find_matches = session.element_of, session.find_matches
        self.notes = ""
        self._session = session

    def act(self, action: Action) -> str:
        done = self._session.execute(action)
        self.notes = "; ".join(event.text for event in done.events if event.kind == "field")
        return done.error


def _page(session: Session) -> Page:
    return session._tabs.current.page


def _observed(session: Session, kinds: Sequence[str], *, extractor: Any = "fast", everything: bool = False) -> str:
    """Return the text of an observation with other settings than the session's; ``everything``: the whole page."""
    before = session._config
    observation = ObservationConfig(
        kinds=tuple(kinds),
        extractor=extractor,
        current_viewport_only=not everything,
        html_viewport_only=not everything,
    )
    session._config = replace(before, observation=observation)
    try:
        return session.observe().text
    finally:
        session._config = before


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


def _concerns(form: str, item: raw.Item, source: str) -> bool:
    """Return whether a form has to show an item, by what the documentation says of the form."""
    if form in ("html", "webcanvas") and item.text in _OF_THE_BROWSER:
        return False
    return item.text in source if form == "raw_html" else form != "set_of_marks" or bool(item.role)


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _plain(text: str) -> str:
    return raw.squeeze(html.unescape(re.sub(r"\\(.)", r"\1", text)))
