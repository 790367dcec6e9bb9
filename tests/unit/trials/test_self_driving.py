"""How a self-driving agent's attempt is watched, with a browser that is made up."""

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


def test_what_it_does_becomes_steps_and_what_it_returns_the_answer(driven: FakeDriven) -> None:
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
    assert session.acted == 1  # what its last commands have put off is waited for
    assert [step.observation for step in episode.steps] == ["0.txt", "1.txt", "2.txt", "3.txt"]


@pytest.mark.parametrize(("accept", "kind"), [(True, "accept_dialog"), (False, "dismiss_dialog")])
def test_the_answer_to_a_dialog_does_not_wait_for_the_page_below_it(
    driven: FakeDriven, accept: bool, kind: str
) -> None:
    class Blocked(FakeSession):
        """A page with a dialog: whoever asks it for anything waits."""

        answered = False

        def observe(self) -> Any:
            assert self.answered
            return super().observe()

        def sweep(self) -> None:
            assert self.answered
            super().sweep()

        def element_at(self, x: float, y: float) -> TargetRecord:
            raise AssertionError

    session = Blocked()

    def drive(url: str) -> str:
        session.signals.come.append(dom("click"))  # a script's, that opened it
        assert driven.say("Page.handleJavaScriptDialog", target="B", accept=accept) == ""
        session.answered = True
        return "done"

    episode = run(driven, drive, session)
    assert kinds(episode) == [kind, "stop"]
    step = episode.steps[0]
    assert (step.url_before, step.target, step.by_script) == ("http://a.test/dialog", None, (act("click"),))
    assert session.followed[0] == "B"


@pytest.mark.parametrize(
    ("dialog", "said", "text"),
    [
        ("confirm 'Sure?'", {}, None),
        ("prompt 'Who?' (proposed answer: 'Ada')", {"promptText": "Bo"}, "Bo"),
        ("prompt 'Who?' (proposed answer: 'Ada')", {}, ""),  # not what it proposes
        (None, {}, None),
    ],
)
def test_what_a_prompt_gets_is_recorded(
    driven: FakeDriven, dialog: str | None, said: dict[str, str], text: str | None
) -> None:
    def drive(url: str) -> str:
        driven.say("Page.handleJavaScriptDialog", accept=True, **said)
        return "done"

    session = FakeSession()
    session.dialog = dialog
    step = run(driven, drive, session).steps[0]
    assert (step.action, step.value) == ({"kind": "accept_dialog", "text": text}, text)


def test_navigations_that_no_step_explains_are_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> None:
        driven.goto("http://a.test/1")
        driven.events.put(Navigated(url="http://a.test/2"))

    episode = run(driven, drive)
    assert episode.answer == ""
    assert kinds(episode) == ["goto", "goto", "stop"]
    assert [step.url_after for step in episode.steps[:2]] == ["http://a.test/1", "http://a.test/2"]
    assert episode.steps[1].url_before == "http://a.test/1"


def test_a_page_that_keeps_writing_its_address_anew_uses_up_no_steps(driven: FakeDriven) -> None:
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


def test_places_that_scripts_of_the_agent_lead_to_are_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/")
        for number in range(40):
            driven.say("Runtime.evaluate", expression=f"open({number})")
            driven.trajectory.navigated(f"http://a.test/place/{number}", within=True, elsewhere=True)
        return "done"

    episode = run(driven, drive, steps=10)
    assert (episode.ending.reason, len(episode.steps)) == ("max_steps", 10)


class LateNews(FakeSession):
    """The second time somebody looks, it turns out that the page is another one."""

    def __init__(self, driven: FakeDriven) -> None:
        super().__init__()
        self.driven = driven
        self.looks = 0

    def observe(self) -> Any:
        self.looks += 1
        if self.looks == 2:
            self.driven.events.put(Navigated(url="http://a.test/next"))
        return super().observe()


def test_a_page_that_was_there_before_the_next_command_is_the_step_befores(driven: FakeDriven) -> None:
    """An agent that is quick hears of a page, and acts on it, before the harness has heard of it."""

    def drive(url: str) -> str:
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        driven.say("Input.insertText", text="rye")
        return "done"

    episode = run(driven, drive, LateNews(driven))
    assert kinds(episode) == ["click", "type", "stop"]
    assert [step.url_after for step in episode.steps[:2]] == ["http://a.test/next", "http://a.test/"]
    assert all(seconds >= 0 for step in episode.steps for seconds in step.seconds.values())


def test_the_field_with_the_focus_may_have_an_apostrophe_in_its_name(driven: FakeDriven) -> None:
    session = FakeSession()
    session.focused = '[4] textbox "Child\'s name" required: False'
    episode = run(driven, lambda url: driven.say("Input.insertText", text="rye"), session)
    assert (episode.steps[0].target.role, episode.steps[0].target.name) == ("textbox", "Child's name")
    assert episode.steps[0].at_once == ((0, 3),)


def test_a_page_that_was_there_before_the_answer_is_the_last_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.say("Input.dispatchMouseEvent", type="mousePressed", x=3, y=4, clickCount=1)
        return "done"

    episode = run(driven, drive, LateNews(driven))
    assert [(step.action["kind"], step.url_after) for step in episode.steps] == [
        ("click", "http://a.test/next"),
        ("stop", "http://a.test/"),
    ]
    assert episode.ending.reason == "answered"


def test_commands_that_come_at_once_wait_for_their_turn(driven: FakeDriven) -> None:
    """While one is looked at, others may come, and the end of it all."""

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


def test_at_the_step_limit_its_access_ends(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        refused = ""
        while not refused:
            refused = driven.goto("http://a.test/")
        raise RuntimeError("too late to matter")

    episode = run(driven, drive, steps=3)
    assert (episode.ending.reason, len(episode.steps), episode.answer) == ("max_steps", 3, None)


def test_one_that_hangs_is_cut_off(driven: FakeDriven) -> None:
    released = threading.Event()
    episode = run(driven, lambda url: released.wait(30), seconds=0.2)
    released.set()
    assert episode.ending.reason == "time"


def test_one_that_crashes_keeps_its_steps(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/")
        raise RuntimeError("no idea")

    episode = run(driven, drive)
    assert (episode.ending.reason, kinds(episode)) == ("agent_crash", ["goto"])
    assert "no idea" in episode.ending.detail


def test_what_is_no_answer_is_a_crash(driven: FakeDriven) -> None:
    assert run(driven, lambda url: 7).ending.detail == "expected the agent to return text, found int"


def test_a_model_that_can_not_be_had_is_an_error(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        raise ModelError("overloaded")

    with pytest.raises(ModelError, match="overloaded"):
        run(driven, drive, raises=(ModelError,))


def test_an_error_of_ours_that_its_own_code_raises_is_a_crash(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        raise ModelError("overloaded")

    ending = run(driven, drive).ending
    assert (ending.reason, ending.detail.partition(" (")[0]) == ("agent_crash", "ModelError: overloaded")


def test_usage_is_kept(driven: FakeDriven) -> None:
    episode = run(driven, lambda url: Reply(Stop("x"), raw="{}", usage=Usage(calls=3)))
    assert (episode.answer, episode.usage, episode.steps[-1].usage) == ("x", Usage(calls=3), Usage(calls=3))


def test_a_page_that_can_not_be_seen_now_does_not_end_the_trial(driven: FakeDriven) -> None:
    def drive(url: str) -> str:
        driven.goto("http://a.test/")
        return "x"

    episode = run(driven, drive, FakeSession(error=BrowserError("busy")))
    assert (episode.answer, kinds(episode), episode.steps[0].observation) == ("x", ["goto", "stop"], "")


def test_an_answer_that_is_too_long_is_the_agents_failure_and_is_recorded_cut() -> None:
    episode = run(FakeDriven(), lambda ws: "x" * 5_000_000)
    assert (episode.answer, episode.ending.reason) == (None, "agent_crash")
    assert episode.ending.detail == "expected an answer of at most 100,000 characters, found 5,000,000"
    assert episode.steps[-1].raw.endswith(" […] (cut here, 5,000,000 characters in all)")


@pytest.mark.parametrize(
    ("returned", "usage", "gap"),
    [
        (Reply("done", usage=Usage(calls=2, cost=0.1)), Usage(calls=2, cost=0.1), ""),
        ("done", None, "the agent did not tell what it used"),
    ],
)
def test_what_it_used_is_known_if_it_tells_at_its_end(driven: FakeDriven, returned: Any, usage: Any, gap: str) -> None:
    episode = run(driven, lambda url: returned)
    assert (episode.usage, episode.usage_gap) == (usage, gap)
    assert 0 <= episode.agent_seconds <= episode.seconds


def test_one_that_is_ended_has_used_nobody_knows_what(driven: FakeDriven) -> None:
    def drive(url: str) -> Any:
        while not driven.goto("http://a.test/"):
            pass
        return Reply("done", usage=Usage())

    episode = run(driven, drive, steps=2)
    assert (episode.ending.reason, episode.usage) == ("max_steps", None)
    assert episode.usage_gap == "the agent was ended before it reported what it used"


def test_its_time_is_not_that_for_which_it_waits_to_be_recorded(driven: FakeDriven) -> None:
    now = [0.0]

    class Slow(FakeSession):
        def observe(self) -> Any:
            now[0] += 100
            return super().observe()

    def drive(url: str) -> str:
        now[0] += 7
        driven.goto("http://a.test/")  # seen before it goes on: 100 s
        now[0] += 2
        return "done"  # seen once more, when it is over

    episode = run(driven, drive, Slow(), clock=lambda: now[0], seconds=1000)
    assert (episode.agent_seconds, episode.seconds) == (9.0, 209.0)
