"""Recording of a self-driving agent's attempt, with a fake browser."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.browser.driven.trajectory import Navigated
from pytest_webarena.errors import BrowserError, ModelError
from pytest_webarena.evidence import TargetRecord, Usage
from tests.unit.trials.self_driven import FakeDriven, FakeSession, act, dom, driven, kinds, run

__all__ = ["driven"]


def test_commands_become_steps_and_return_value_the_answer(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        assert url == "ws://here"
        driven.goto("http://a.test/new")
        for letter in "rye":
            driven.say("Input.insertText", text=letter)
        driven.say("Input.dispatchMouseEvent", target="B", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    session = FakeSession()
    episode = run(driven, drive, session)
    assert (episode.ending.reason, episode.answer) == ("answered", "done")
    assert kinds(episode) == ["goto", "type", "click", "stop"]
    goto, typed, click, _ = episode.steps
    assert (goto.value, goto.url_after) == ("http://a.test/new", "http://a.test/new")
    assert (typed.action["text"], typed.value, typed.target.name) == ("rye", "rye", "Name")
    assert (typed.target.selector, typed.target.tag, typed.target.x) == ("#name", "input", None)
    assert (click.target.name, click.target.x) == ("Save", 3)
    assert session.followed[:3] == ["A", "A", "B"]
    assert session.acted == 1  # waits for delayed effects of the last commands
    assert [step.observation for step in episode.steps] == ["0.txt", "1.txt", "2.txt", "3.txt"]


@pytest.mark.parametrize(("accept", "kind"), [(True, "accept_dialog"), (False, "dismiss_dialog")])
def test_dialog_command_does_not_wait_for_the_blocked_page(driven: FakeDriven, accept: bool, kind: str) -> None:
    class Blocked(FakeSession):
        """A page with a dialog, which blocks every request."""

        answered = False

        def observe(self) -> Any:
            assert self.answered
            return super().observe()

        def sweep_fields(self) -> None:
            assert self.answered
            super().sweep_fields()

        def element_at(self, x: float, y: float) -> TargetRecord:
            raise AssertionError

    session = Blocked()

    def drive(url: str) -> str:
        session.signals.come.append(dom("click"))  # of the script that opened it
        assert driven.say("Page.handleJavaScriptDialog", target="B", accept=accept) == ""
        session.answered = True
        return "done"

    episode = run(driven, drive, session)
    assert kinds(episode) == [kind, "stop"]
    step = episode.steps[0]
    assert (step.url_before, step.target, step.by_script) == ("http://a.test/dialog", None, (act("click"),))
    assert session.followed[0] == "B"


@pytest.mark.parametrize(
    ("dialog", "fields", "text"),
    [
        ("confirm 'Sure?'", {}, None),
        ("prompt 'Who?' (proposed answer: 'Ada')", {"promptText": "Bo"}, "Bo"),
        ("prompt 'Who?' (proposed answer: 'Ada')", {}, ""),  # not the default value
        (None, {}, None),
    ],
)
def test_prompt_text_is_recorded(
    driven: FakeDriven, dialog: str | None, fields: dict[str, str], text: str | None
) -> None:
    def drive(url: str) -> str:
        driven.say("Page.handleJavaScriptDialog", accept=True, **fields)
        return "done"

    session = FakeSession()
    session.dialog = dialog
    step = run(driven, drive, session).steps[0]
    assert (step.action, step.value) == ({"kind": "accept_dialog", "text": text}, text)


def test_unexplained_navigations_become_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> None:
        driven.goto("http://a.test/1")
        driven.events.put(Navigated(url="http://a.test/2"))

    episode = run(driven, drive)
    assert episode.answer == ""
    assert kinds(episode) == ["goto", "goto", "stop"]
    assert [step.url_after for step in episode.steps[:2]] == ["http://a.test/1", "http://a.test/2"]
    assert episode.steps[1].url_before == "http://a.test/1"


def test_page_that_rewrites_its_address_uses_no_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/map")
        for number in range(40):
            driven.trajectory.navigated(f"http://a.test/map#{number}", within=True, elsewhere=False)
        for number in range(40):
            driven.trajectory.navigated(f"http://a.test/place/{number}", within=True, elsewhere=True)
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    episode = run(driven, drive, steps=10)
    assert (episode.ending.reason, kinds(episode)) == ("answered", ["goto", "goto", "click", "stop"])
    assert [step.url_after for step in episode.steps[:2]] == ["http://a.test/map#39", "http://a.test/place/39"]


def test_navigations_by_agent_scripts_become_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/")
        for number in range(40):
            driven.say("Runtime.evaluate", expression=f"open({number})")
            driven.trajectory.navigated(f"http://a.test/place/{number}", within=True, elsewhere=True)
        return "done"

    episode = run(driven, drive, steps=10)
    assert (episode.ending.reason, len(episode.steps)) == ("max_steps", 10)


class LateNews(FakeSession):
    """A session whose second observation shows another page."""

    def __init__(self, driven: FakeDriven) -> None:
        super().__init__()
        self.driven = driven
        self.looks = 0

    def observe(self) -> Any:
        self.looks += 1
        if self.looks == 2:
            self.driven.events.put(Navigated(url="http://a.test/next"))
        return super().observe()


def test_page_loaded_before_the_next_command_belongs_to_previous_step(driven: FakeDriven) -> None:
    """A fast agent can act on a page before the harness is notified of it."""

    def drive(url: str) -> str:
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        driven.say("Input.insertText", text="rye")
        return "done"

    episode = run(driven, drive, LateNews(driven))
    assert kinds(episode) == ["click", "type", "stop"]
    assert [step.url_after for step in episode.steps[:2]] == ["http://a.test/next", "http://a.test/"]
    assert all(seconds >= 0 for step in episode.steps for seconds in step.seconds.values())


def test_focused_field_name_may_contain_an_apostrophe(driven: FakeDriven) -> None:
    session = FakeSession()
    session.focused = '[4] textbox "Child\'s name" required: False'
    episode = run(driven, lambda url: driven.say("Input.insertText", text="rye"), session)
    assert (episode.steps[0].target.role, episode.steps[0].target.name) == ("textbox", "Child's name")
    assert episode.steps[0].at_once == ((0, 3),)


def test_page_loaded_before_the_answer_belongs_to_the_last_step(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    episode = run(driven, drive, LateNews(driven))
    assert [(step.action["kind"], step.url_after) for step in episode.steps] == [
        ("click", "http://a.test/next"),
        ("stop", "http://a.test/"),
    ]
    assert episode.ending.reason == "answered"


def test_concurrent_commands_are_recorded_one_by_one(driven: FakeDriven) -> None:
    """While one command is recorded, others may arrive, and the attempt may end."""

    def drive(url: str) -> str:
        both = [
            threading.Thread(target=driven.say, args=("Page.navigate",), kwargs={"url": f"http://a.test/{number}"})
            for number in range(4)
        ]
        for each in both:
            each.start()
        for each in both:
            each.join()
        return "done"

    episode = run(driven, drive)
    assert kinds(episode) == ["goto"] * 4 + ["stop"]
    assert {step.value for step in episode.steps[:4]} == {f"http://a.test/{number}" for number in range(4)}


def test_commands_are_refused_after_the_step_limit(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        refused = ""
        while not refused:
            refused = driven.goto("http://a.test/")
        raise RuntimeError("too late to matter")

    episode = run(driven, drive, steps=3)
    assert (episode.ending.reason, len(episode.steps), episode.answer) == ("max_steps", 3, None)


def test_hanging_agent_is_cut_off(driven: FakeDriven) -> None:
    released = threading.Event()
    episode = run(driven, lambda url: released.wait(30), seconds=0.2)
    released.set()
    assert episode.ending.reason == "time"


def test_crashing_agent_keeps_its_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/")
        raise RuntimeError("no idea")

    episode = run(driven, drive)
    assert (episode.ending.reason, kinds(episode)) == ("agent_crash", ["goto"])
    assert "no idea" in episode.ending.detail


def test_non_text_answer_is_an_agent_crash(driven: FakeDriven) -> None:
    assert run(driven, lambda url: 7).ending.detail == "expected the agent to return text, found int"


def test_declared_model_error_is_raised(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        raise ModelError("overloaded")

    with pytest.raises(ModelError, match="overloaded"):
        run(driven, drive, raises=(ModelError,))


def test_undeclared_model_error_is_an_agent_crash(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        raise ModelError("overloaded")

    ending = run(driven, drive).ending
    assert (ending.reason, ending.detail.partition(" (")[0]) == ("agent_crash", "ModelError: overloaded")


def test_usage_of_returned_reply_is_recorded(driven: FakeDriven) -> None:
    episode = run(driven, lambda url: Reply(Stop("x"), raw="{}", usage=Usage(calls=3)))
    assert (episode.answer, episode.usage, episode.steps[-1].usage) == ("x", Usage(calls=3), Usage(calls=3))


def test_failed_observation_does_not_end_the_trial(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/")
        return "x"

    episode = run(driven, drive, FakeSession(error=BrowserError("busy")))
    assert (episode.answer, kinds(episode), episode.steps[0].observation) == ("x", ["goto", "stop"], "")


def test_too_long_answer_is_an_agent_crash_and_recorded_truncated() -> None:
    episode = run(FakeDriven(), lambda ws: "x" * 5_000_000)
    assert (episode.answer, episode.ending.reason) == (None, "agent_crash")
    assert episode.ending.detail == "expected an answer of at most 100,000 characters, found 5,000,000"
    assert episode.steps[-1].raw.endswith(" […] (cut here, 5,000,000 characters in all)")


@pytest.mark.parametrize(
    ("returned", "usage", "gap"),
    [
        (Reply("done", usage=Usage(calls=2, cost=0.1)), Usage(calls=2, cost=0.1), ""),
        ("done", None, "the agent did not report its usage"),
    ],
)
def test_usage_is_known_only_if_reported_at_the_end(driven: FakeDriven, returned: Any, usage: Any, gap: str) -> None:
    episode = run(driven, lambda url: returned)
    assert (episode.usage, episode.usage_gap) == (usage, gap)
    assert 0 <= episode.agent_seconds <= episode.seconds


def test_usage_of_cut_off_agent_is_unknown(driven: FakeDriven) -> None:
    def drive(url: str) -> Any:
        while not driven.goto("http://a.test/"):
            pass
        return Reply("done", usage=Usage())

    episode = run(driven, drive, steps=2)
    assert (episode.ending.reason, episode.usage) == ("max_steps", None)
    assert episode.usage_gap == "the agent was ended before it reported what it used"


def test_agent_time_excludes_time_spent_recording(driven: FakeDriven) -> None:
    now = [0.0]

    class Slow(FakeSession):
        def observe(self) -> Any:
            now[0] += 100
            return super().observe()

    def drive(url: str) -> str:
        now[0] += 7
        driven.goto("http://a.test/")  # observed before the agent continues: 100 s
        now[0] += 2
        return "done"  # observed again at the end

    episode = run(driven, drive, Slow(), clock=lambda: now[0], seconds=1000)
    assert (episode.agent_seconds, episode.seconds) == (9.0, 209.0)
