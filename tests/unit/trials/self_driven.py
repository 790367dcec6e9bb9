"""A fake browser, a fake session that observes it, and a runner for attempts of self-driving agents."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.agents.worker import AgentWorker
from pytest_webarena.browser.driven.hub import Command
from pytest_webarena.browser.driven.trajectory import Event, Navigated, Trajectory
from pytest_webarena.evidence import ScriptAct, TargetRecord
from pytest_webarena.signals import DomEvent, ElementRecord, Signal
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.self_driving import run_self_driven

__all__ = ["CORN", "FakeDriven", "FakeSession", "FakeSignals", "Recorder", "act", "dom", "driven", "kinds", "run"]


class FakeDriven:
    """Lets an agent's thread send commands as a protocol client would."""

    cdp_url = "ws://here"
    http_url = "http://here"

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self.trajectory = Trajectory(self.events)
        self.held = 0
        self.over = ""
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def say(self, method: str, target: str = "A", **params: Any) -> str:
        """Send one command of the agent; return why it was refused, or an empty string."""
        command = Command(method=method, params=params, session="s", target=target)
        command_result = self.trajectory.before(command)
        try:
            return asyncio.run_coroutine_threadsafe(command_result, self.loop).result(10)
        finally:
            with suppress(RuntimeError, ValueError):  # it is still running
                command_result.close()  # the loop may have ended before it began

    def goto(self, url: str) -> str:
        refused = self.say("Page.navigate", url=url)
        if not refused:
            self.events.put(Navigated(url=url))
        return refused

    def hold(self) -> None:
        self.held += 1

    def release(self) -> None:
        self.held -= 1

    def shut(self, reason: str) -> None:
        self.over = reason
        self.loop.call_soon_threadsafe(self.trajectory.stop, reason)

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._finish(), self.loop).result(10)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        self.loop.close()

    @staticmethod
    async def _finish() -> None:
        """Commands still waiting for their answer end with the loop."""
        waiting = asyncio.all_tasks() - {asyncio.current_task()}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)


class FakeSignals:
    def __init__(self) -> None:
        self.come: list[Signal] = []

    def since(self, number: int = 0) -> tuple[Signal, ...]:
        return tuple(self.come[number:])


class FakeSession:
    def __init__(self, *come: Sequence[Signal], error: Exception | None = None) -> None:
        """``come``: the signals that each observation finds."""
        self.error = error
        self.signals = FakeSignals()
        self.followed: list[str] = []
        self.acted = 0
        self.fields = list(come)
        self.focused = "[4] textbox 'Name' required: False"

    def note_external_action(self) -> None:
        self.acted += 1

    def follow(self, target: str) -> str:
        self.followed.append(target)
        return ""

    def observe(self) -> Any:
        if self.error is not None:
            raise self.error
        tabs = (SimpleNamespace(active=True),)
        return SimpleNamespace(url="http://a.test/", text="page", tabs=tabs, focused=self.focused)

    dialog: str | None = "confirm 'Sure?'"

    def observe_without_page(self) -> Any:
        tabs = (SimpleNamespace(active=True),)
        return SimpleNamespace(url="http://a.test/dialog", text="a dialog", tabs=tabs, dialog=self.dialog)

    def focused_element(self) -> TargetRecord | None:
        return TargetRecord(selector="#name", role="textbox", name="the label's", tag="input", x=1, y=2)

    def sweep_fields(self) -> None:
        """Return the signals since the last observation."""
        self.signals.come += self.fields.pop(0) if self.fields else ()

    def element_at(self, x: float, y: float) -> TargetRecord:
        return TargetRecord(role="button", name="Save", x=x, y=y)


class Recorder:
    def __init__(self, driven: FakeDriven) -> None:
        self.driven = driven
        self.steps: list[Any] = []

    def observed(self, index: int, observation: Any) -> tuple[str, str]:
        return f"{index}.txt", ""

    def stepped(self, step: Any) -> None:
        assert self.driven.held == 1  # pages that checks open are not the agent's
        self.steps.append(step)


@pytest.fixture
def driven() -> Any:
    driven = FakeDriven()
    yield driven
    driven.close()


def run(
    driven: FakeDriven,
    drive: Any,
    session: Any = None,
    raises: tuple[Any, ...] = (),
    clock: Callable[[], float] = time.monotonic,
    **limits: Any,
) -> Any:
    agent = SimpleNamespace(drive=lambda ws, http: drive(ws))
    with AgentWorker(lambda: agent, name="t", timeout=5, raises=raises) as worker:
        recorder = Recorder(driven)
        episode = run_self_driven(
            session or FakeSession(),  # type: ignore[arg-type]
            driven,  # type: ignore[arg-type]
            worker,
            limits=EpisodeLimits(**{"seconds": 20, **limits}),
            recorder=recorder,
            clock=clock,
        )
    assert tuple(recorder.steps) == episode.steps
    assert driven.over == "the trial is over"
    return episode


def kinds(episode: Any) -> list[str]:
    return [step.action["kind"] for step in episode.steps]


CORN = ElementRecord(tag="select", attributes={"id": "corn"})


def dom(event: str, value: str | None = "Rye", chain: tuple[ElementRecord, ...] = (CORN,), **fields: Any) -> DomEvent:
    target = TargetRecord(selector="#corn", role="combobox", name="Corn", tag=chain[0].tag)
    plain = {"time": 1.0, "tab": 0, "url": "http://a.test/", "by_script": True, "commanded": True}
    return DomEvent(event=event, target=target, value=value, chain=chain, **{**plain, **fields})


def act(event: str = "change", selector: str = "css=#corn") -> ScriptAct:
    target = TargetRecord(selector="#corn", role="combobox", name="Corn", tag="select")
    return ScriptAct(event=event, target=target, selector=selector, value="Rye", commanded=True)
