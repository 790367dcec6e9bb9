"""Runs the attempt of an agent that drives its browser itself: observes it, records its steps, enforces limits."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, assert_never

from pytest_webarena.actions import AcceptDialog, Stop, as_record
from pytest_webarena.agents.form_fields import named_elements
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.browser.driven.trajectory import Ended, Event, Navigated, StartedStep
from pytest_webarena.errors import BrowserError
from pytest_webarena.evidence import LONGEST_TEXT, ScriptAct, StepRecord, TargetRecord, Usage, cut
from pytest_webarena.trials.episode import Ending, Episode, EpisodeLimits, Recorder
from pytest_webarena.trials.script_actions import ScriptActs

if TYPE_CHECKING:
    from pytest_webarena.browser.driven import Driven
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.session import Session

__all__ = ["run_self_driven"]


def run_self_driven(
    session: Session,
    driven: Driven,
    agent: AgentWorker,
    *,
    limits: EpisodeLimits,
    recorder: Recorder,
    clock: Callable[[], float] = time.monotonic,
) -> Episode:
    """Let ``agent`` drive until it returns its answer or reaches a limit; then its access ends.

    A step is a navigation, a click, a text, a key, a scroll or the answer to a dialog, as seen by the CDP filter, and a
    navigation that none of them explains. Each command waits until the state before it has been recorded. Stop rules
    about repetition do not apply.
    """
    while not driven.events.empty():  # events of opening the first pages
        driven.events.get()
    watch = _Watch(session, driven, limits, recorder, clock)
    # The agent runs in a thread of its own, because this one processes the events.
    threading.Thread(target=_drive, args=(driven, agent), name="self-driving", daemon=True).start()
    try:
        ending = watch.until_over()
    finally:
        if not watch.returned:
            agent.abandon()
        session.note_external_action()  # an agent's own scripts may have deferred something
        driven.shut("the trial is over")
    return watch.episode(ending)


def _drive(driven: Driven, agent: AgentWorker) -> None:
    try:
        result = agent.drive(driven.cdp_url, driven.http_url)
    except BaseException as error:  # of any kind: the trial's thread handles it
        driven.events.put(Ended(error=error))
    else:
        driven.events.put(Ended(result=result))


@dataclass(slots=True, kw_only=True)
class _StepObservation:
    """The observation before a step."""

    started: float
    observation: Observation | None = None
    target: TargetRecord | None = None
    seconds: float = 0.0


@dataclass(slots=True, kw_only=True)
class _Open:
    """The current step."""

    begun: StartedStep | None
    action: dict[str, Any]
    raw: str
    url_before: str
    observation: str
    screenshot: str
    target: TargetRecord | None
    tab: int
    started: float
    observed: float
    value: str | None = None
    """Value of a step without a command; for typing, the field's value if it differs from the typed text; for accepting
    a prompt without a text, the empty text that it gets."""
    left: str | None = None
    """Content of the field after typing."""
    by_script: tuple[ScriptAct, ...] = ()
    url_after: str = ""
    """Address of the first navigation since; a second one is a separate step."""


class _Watch:
    def __init__(
        self,
        session: Session,
        driven: Driven,
        limits: EpisodeLimits,
        recorder: Recorder,
        clock: Callable[[], float],
    ) -> None:
        self._session = session
        self._driven = driven
        self._limits = limits
        self._recorder = recorder
        self._clock = clock
        self._began = clock()
        self._steps: list[StepRecord] = []
        self._open: _Open | None = None
        self._scripts = ScriptActs(session.signals)
        self._later: deque[Event] = deque()
        """Events that were received and have to wait."""
        self._answer: str | None = None
        self._usage: Usage | None = None
        self._over: float | None = None
        """Time when the agent ended or was ended."""
        self._waited = 0.0
        """Seconds for which the agent's commands waited until the state before them was recorded."""
        self.returned = False
        """Whether the agent ended on its own."""

    def episode(self, ending: Ending) -> Episode:
        seconds = self._now()
        over = seconds if self._over is None else self._over
        gap = "" if self._usage is not None else "the agent did not report its usage"
        if self._usage is None and not self.returned:
            gap = "the agent was ended before it reported what it used"
        return Episode(
            answer=self._answer, ending=ending, steps=tuple(self._steps), seconds=seconds, usage=self._usage,
            usage_gap=gap, agent_seconds=round(max(0.0, over - self._waited), 4),
        )  # fmt: skip

    def until_over(self) -> Ending:
        while True:
            remaining = self._limits.seconds - self._now()
            try:
                event = self._later.popleft() if self._later else self._driven.events.get(timeout=max(0.0, remaining))
            except queue.Empty:
                self._over = self._now()
                self._finish()
                return Ending("time", f"the limit of {self._limits.seconds:g} s")
            match event:
                case Navigated():
                    ending = self._navigated(event)
                case StartedStep():
                    ending = self._begun(event)
                case Ended():
                    return self._ended(event)
                case _:
                    assert_never(event)
            if ending is not None:
                return ending

    def _begun(self, event: StartedStep) -> Ending | None:
        began = self._now()
        # The agent may learn of a page before the harness does. Observing reveals all pages that existed before this
        # command, which still waits.
        look = self._look(event)
        ending = self._arrived()
        if ending is None:
            self._finish(until=look.started)
            ending = self._too_many()
        if ending is not None:
            self._over = began
            event.refuse(ending.detail)
            return ending
        self._begin(event, event.action, event.raw, look)
        self._waited += self._now() - began
        event.go()
        return None

    def _arrived(self) -> Ending | None:
        """Assign pages that have loaded to the current step."""
        arrivals = []
        while not self._driven.events.empty():
            arrivals.append(self._driven.events.get())
        self._later.extend(each for each in arrivals if not isinstance(each, Navigated))
        endings = (self._navigated(each) for each in arrivals if isinstance(each, Navigated))
        return next((ending for ending in endings if ending is not None), None)

    def _navigated(self, event: Navigated) -> Ending | None:
        """The first navigation after a step is its effect; the page itself, or a script of the agent, caused further
        ones."""
        if event.url in ("", "about:blank") and self._open is None:
            return None
        if self._open is not None and not self._open.url_after:
            self._open.url_after = event.url
            return None
        if self._is_automatic(event):
            if self._open is not None:
                self._open.url_after = event.url
            return None
        before = self._open.url_after if self._open is not None else ""
        self._read()
        self._finish()
        if (ending := self._too_many()) is not None:
            return ending
        self._begin(None, {"kind": "goto", "url": event.url}, "navigation without a command that explains it")
        if self._open is not None:
            self._open.url_before = before
            self._open.url_after = event.url
        return None

    def _is_automatic(self, event: Navigated) -> bool:
        """Whether a page only rewrites its own address, with a timer, while scrolling or as a map moves. That must not
        use up an agent's steps; it is still among the signals."""
        goes_on = not event.scripted and self._open is not None and self._open.begun is None
        return event.within and (goes_on or not event.elsewhere)

    def _ended(self, event: Ended) -> Ending:
        self.returned = True
        self._over = self._now()
        error = event.error
        look = self._look(None) if error is None else None
        if look is not None:
            self._arrived()
        self._finish(until=look.started if look is not None else None)
        if isinstance(error, AgentTimeout):
            return Ending("time", f"the limit of {self._limits.seconds:g} s")
        if isinstance(error, AgentCrashed):
            return Ending("agent_crash", str(error))
        if error is not None:
            raise error
        result = event.result
        if isinstance(result, Reply):
            self._usage = result.usage
            if result.ended is not None:
                return Ending(result.ended[0], cut(result.ended[1]))
        answer = result.action if isinstance(result, Reply) else result
        if isinstance(answer, Stop):
            answer = answer.answer
        if answer is not None and not isinstance(answer, str):
            return Ending("agent_crash", f"expected the agent to return text, found {type(answer).__name__}")
        if answer is not None and len(answer) > LONGEST_TEXT:
            self._begin(None, as_record(Stop(answer)), answer)
            self._finish()
            found = f"found {len(answer):,}"
            return Ending("agent_crash", f"expected an answer of at most {LONGEST_TEXT:,} characters, {found}")
        self._answer = answer or ""
        raw = result.raw if isinstance(result, Reply) else self._answer
        self._begin(None, as_record(Stop(self._answer)), raw, look)
        self._finish(usage=self._usage)
        return Ending("answered", "the agent returned")

    def _too_many(self) -> Ending | None:
        if len(self._steps) >= self._limits.steps:
            return Ending("max_steps", f"the limit of {self._limits.steps} steps")
        return None

    def _look(self, begun: StartedStep | None) -> _StepObservation:
        look = _StepObservation(started=self._now())
        try:
            self._session.follow(begun.target if begun is not None else "")
            if begun is not None and begun.move.answers_dialog:
                # A page with a dialog is frozen until it is answered.
                look.observation = self._session.observe_without_page()
            else:
                look.observation = self._session.observe()
                self._session.sweep_fields()
            if begun is not None and begun.move.point is not None:
                look.target = self._session.element_at(*begun.move.point)
            elif begun is not None and begun.move.focused:
                for _, role, name in named_elements(look.observation.focused)[:1]:
                    found = self._session.focused_element() or TargetRecord()  # used for selector and tag only
                    look.target = TargetRecord(role=role, name=name, selector=found.selector, tag=found.tag)
        except BrowserError:
            # The page is busy with the agent's actions, which is no reason to stop. If the browser is gone, reading the
            # final state reports that.
            pass
        self._read()
        look.seconds = self._now() - look.started
        return look

    def _read(self) -> None:
        """Read new signals and update the current step with what typing did to its field."""
        entered, typed = self._scripts.read(), self._open
        if typed is None or typed.action["kind"] != "type":
            return
        if (shaped := entered.shaped) is not None:  # the value that keys gave a date field
            typed.value = shaped
        if (value := entered.left_in(typed.target)) is not None:
            typed.left = value

    def _begin(
        self, begun: StartedStep | None, action: dict[str, Any], raw: str, look: _StepObservation | None = None
    ) -> None:
        look = look or self._look(begun)
        url, text_file, shot_file, tab = "", "", "", 0
        if (observation := look.observation) is not None:
            url = observation.url
            tab = next((number for number, each in enumerate(observation.tabs) if each.active), 0)
            with contextlib.suppress(BrowserError):
                text_file, shot_file = self._recorder.observed(len(self._steps), observation)
        script_acts = self._scripts.take(str(action["url"]) if begun is None and action["kind"] == "goto" else "")
        self._open = _Open(
            begun=begun, action=action, raw=raw, url_before=url, observation=text_file, screenshot=shot_file,
            target=look.target, value=_empty_prompt_text(begun, look), by_script=script_acts, tab=tab,
            started=look.started, observed=look.seconds,
        )  # fmt: skip

    def _finish(self, usage: Usage | None = None, *, until: float | None = None) -> None:
        """Record the current step, which lasted until now or ``until``; its effect is known now."""
        step, self._open = self._open, None
        if step is None:
            return
        record = StepRecord(
            index=len(self._steps),
            action=_full_action(step),
            raw=step.raw,
            url_before=step.url_before,
            url_after=step.url_after or step.url_before,
            target=step.target,
            value=step.begun.value if step.begun is not None and step.value is None else step.value,
            left=step.left,
            at_once=step.begun.at_once if step.begun is not None and step.value is None else (),
            tab=step.tab,
            observation=step.observation,
            screenshot=step.screenshot,
            by_script=step.by_script,
            started=round(step.started, 3),
            seconds={
                "observe": round(step.observed, 4),
                "execute": round((until or self._now()) - step.started - step.observed, 4),
            },
            usage=usage,
        ).bounded()
        self._steps.append(record)
        self._driven.hold()  # checks that look at every state open pages
        try:
            self._recorder.stepped(record)
        finally:
            self._driven.release()

    def _now(self) -> float:
        return self._clock() - self._began


def _full_action(step: _Open) -> dict[str, Any]:
    """The step's action with its final text."""
    if step.begun is None:
        return step.action
    if step.value is None:
        return step.begun.action
    action = {**step.begun.action, "text": step.value}
    return {**action, "clear": True} if action["kind"] == "type" else action


def _empty_prompt_text(begun: StartedStep | None, look: _StepObservation) -> str | None:
    """The empty text if a prompt is accepted without a text, because browsers do not use the prompt's default then;
    otherwise None."""
    if begun is None or look.observation is None or begun.move.action["kind"] != AcceptDialog.kind:
        return None
    prompts = (look.observation.dialog or "").startswith("prompt ")
    return "" if prompts and begun.move.value is None else None
