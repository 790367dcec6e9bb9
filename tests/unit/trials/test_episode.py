"""The attempt loop and its stop rules, without a browser."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import Back, Click, Element, Goto, Invalid, Noop, Scroll, Stop, Type
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.agents.worker import AgentWorker
from pytest_webarena.errors import TaskError, UsageError
from pytest_webarena.evidence import StepRecord, Usage
from pytest_webarena.trials.episode import (
    Ending,
    EpisodeLimits,
    TakenStep,
    paper_rule,
    run_episode,
    stop_rule,
    upstream_rule,
)
from tests.cases import each_case

CLICK = Click(Element("1"))


class FakeClock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@dataclass
class FakeSession:
    """Shows numbered pages; actions take ``seconds_per_action``, by default none."""

    clock: FakeClock = field(default_factory=FakeClock)
    same_page: bool = False
    seconds_per_action: float = 0.0
    error: str = ""
    executed: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def observe(self) -> Any:
        page = 0 if self.same_page else len(self.executed)
        return SimpleNamespace(text=f"page {page}", url=f"http://a.test/{page}", error="", screenshot=None)

    def execute(self, action: Any) -> Any:
        self.executed.append(action)
        self.clock.now += self.seconds_per_action
        return SimpleNamespace(
            error=self.error, url_before="http://a.test/", url_after="http://a.test/x", target=None, value=None, tab=0
        )

    def note_error(self, text: str) -> None:
        self.notes.append(text)


class Recorder:
    def __init__(self) -> None:
        self.observed_texts: list[str] = []
        self.steps: list[Any] = []

    def observed(self, index: int, observation: Any) -> tuple[str, str]:
        self.observed_texts.append(observation.text)
        return f"{index}.txt", ""

    def stepped(self, step: Any) -> None:
        self.steps.append(step)


def parse(text: str) -> Any:
    return Goto(text[5:]) if text.startswith("goto ") else Invalid(text, "unknown action")


def run(
    act: Any,
    *,
    session: FakeSession | None = None,
    raises: tuple[Any, ...] = (),
    uncounted: Any = lambda action: False,
    **limits: Any,
) -> tuple[Any, Recorder, FakeSession]:
    session, recorder = session or FakeSession(), Recorder()
    agent = SimpleNamespace(act=act)
    with AgentWorker(lambda: agent, name="t", timeout=5, raises=raises) as worker:
        episode = run_episode(
            session,  # type: ignore[arg-type]
            worker,
            parse=parse,
            limits=EpisodeLimits(**limits),
            recorder=recorder,
            clock=session.clock,
            uncounted=uncounted,
        )
    return episode, recorder, session


def scripted(*replies: Any) -> Any:
    queue = list(replies)
    return lambda observation: queue.pop(0)


def test_an_answer_ends_the_episode_and_every_step_is_recorded() -> None:
    episode, recorder, session = run(scripted(CLICK, "goto /b", Stop("42")))
    assert (episode.answer, episode.ending.reason) == ("42", "answered")
    assert [step.action["kind"] for step in recorder.steps] == ["click", "goto", "stop"]
    assert recorder.observed_texts == ["page 0", "page 1", "page 2"]
    assert session.executed == [CLICK, Goto("/b")]  # the stop itself is not executed
    assert recorder.steps == list(episode.steps)
    assert recorder.steps[1].raw == "goto /b"


def test_the_step_limit_counts_every_action() -> None:
    episode, recorder, _ = run(lambda observation: Scroll("down"), steps=7)
    assert episode.ending.reason == "max_steps"
    assert len(recorder.steps) == 7
    assert episode.answer is None


def test_uncounted_actions_have_their_own_limit() -> None:
    def of_a_script(action: Any) -> bool:
        return isinstance(action, Noop)

    acts = [*[Noop()] * 9, CLICK, Stop("42")]
    same = FakeSession(same_page=True)  # not a repetition either
    episode, recorder, _ = run(scripted(*acts), session=same, uncounted=of_a_script, steps=2)
    assert (episode.ending.reason, len(recorder.steps)) == ("answered", 11)
    episode, recorder, _ = run(lambda observation: Noop(), uncounted=of_a_script, steps=2)
    assert (episode.ending.reason, len(recorder.steps)) == ("max_steps", 2000)
    assert episode.ending.detail == "the limit of 2,000 acts that count as no steps"


def test_the_time_limit_ends_the_episode_between_steps() -> None:
    session = FakeSession(seconds_per_action=40.0)
    episode, recorder, _ = run(lambda observation: Scroll("down"), session=session, seconds=100.0)
    assert episode.ending.reason == "time"
    assert len(recorder.steps) == 3


def test_a_hanging_agent_is_cut_off() -> None:
    began = time.monotonic()
    session = FakeSession(clock=time.monotonic)  # type: ignore[arg-type]
    episode, recorder, _ = run(lambda observation: time.sleep(30), session=session, seconds=0.3)
    assert episode.ending.reason == "time"
    assert recorder.steps == []
    assert time.monotonic() - began < 20


def test_a_crashing_agent_ends_the_episode_with_its_error() -> None:
    def act(observation: Any) -> Any:
        raise ZeroDivisionError("division by zero")

    episode, _, _ = run(act)
    line = act.__code__.co_firstlineno + 1
    detail = f"ZeroDivisionError: division by zero (test_episode.py:{line}, in act)"
    assert episode.ending == Ending("agent_crash", detail)


def test_crash_in_a_library_names_the_agents_line() -> None:
    def act(observation: Any) -> Any:
        return json.loads("{")

    episode, _, _ = run(act)
    assert episode.ending.detail.endswith(f"(test_episode.py:{act.__code__.co_firstlineno + 1}, in act)")


def test_stop_rule_ending_includes_error_of_last_reply() -> None:
    episode, _, _ = run(lambda observation: None)
    assert episode.ending.reason == "invalid"
    assert episode.ending.detail.endswith("; the last: expected an action, text or a Reply, found NoneType")


def test_an_agent_that_exits_the_process_only_crashes_its_trial() -> None:
    def act(observation: Any) -> Any:
        raise SystemExit(3)

    episode, _, _ = run(act)
    assert episode.ending.reason == "agent_crash"


def test_declared_error_of_an_agent_is_no_crash() -> None:
    def act(observation: Any) -> Any:
        raise TaskError("its solution can't be replayed")

    with pytest.raises(TaskError, match="can't be replayed"):
        run(act, raises=(TaskError,))
    episode, _, _ = run(act)
    assert episode.ending.reason == "agent_crash"


def test_an_async_agent_keeps_one_event_loop() -> None:
    import asyncio

    loops = []

    class Agent:
        def __init__(self) -> None:
            self.steps = 0

        async def act(self, observation: Any) -> Any:
            loops.append(asyncio.get_running_loop())
            await asyncio.sleep(0)
            self.steps += 1
            return Stop("done") if self.steps == 3 else Scroll("down")

    episode, _, _ = run(Agent().act)
    assert episode.answer == "done"
    assert len(set(map(id, loops))) == 1


@each_case("reply", [None, 7, ["click"], object()])
def test_reply_without_action_becomes_feedback(reply: object) -> None:
    episode, recorder, session = run(scripted(reply, Stop("")))
    assert recorder.steps[0].action["kind"] == "invalid"
    assert session.notes == [recorder.steps[0].error]
    assert "expected an action, text or a Reply" in recorder.steps[0].error
    assert episode.ending.reason == "answered"


def test_step_records_raw_text_thought_and_usage_of_a_reply() -> None:
    used = Usage(calls=2, input_tokens=10, output_tokens=5, cost=0.25)
    reply = Reply(
        "goto x", raw="I go. goto x", thought="I go.", usage=used, retries=1, model_calls="model_calls/000.json"
    )
    episode, recorder, _ = run(scripted(reply, Reply(Stop("1"), usage=used)))
    step = recorder.steps[0]
    assert (step.raw, step.thought, step.retries, step.model_calls) == (
        "I go. goto x",
        "I go.",
        1,
        "model_calls/000.json",
    )
    assert (step.action["url"], step.usage, episode.usage) == ("x", used, used + used)
    assert StepRecord.from_json(json.loads(json.dumps(asdict(step)))) == step


@each_case(
    ("limits", "reason"),
    [
        ({"input_tokens": 20}, "tokens"),
        ({"output_tokens": 10}, "tokens"),
        ({"cost": 0.5}, "cost"),
        ({"input_tokens": 21, "output_tokens": 11, "cost": 0.51}, "max_steps"),
    ],
)
def test_token_and_cost_limits_end_the_episode(limits: dict[str, Any], reason: str) -> None:
    # Cached calls count, so that a rerun ends at the same step.
    used = Usage(calls=1, input_tokens=10, output_tokens=5, cost=0.125, saved=0.125)
    episode, recorder, _ = run(
        lambda observation: Reply(Scroll("down"), usage=used), steps=2 + (reason != "max_steps"), **limits
    )
    assert (episode.ending.reason, len(recorder.steps)) == (reason, 2)


def test_unknown_cost_neither_counts_as_zero_nor_ends_the_episode() -> None:
    used = Usage(calls=1, cost=None)
    episode, _, _ = run(lambda observation: Reply(Scroll("down"), usage=used), steps=2, cost=0.1)
    assert (episode.ending.reason, episode.usage.cost) == ("max_steps", None)


def test_reply_with_own_limit_ends_episode_without_a_step() -> None:
    used = Usage(calls=1, cost=0.5)
    episode, recorder, session = run(
        scripted(Scroll("down"), Reply("", ended=("cost", "the run's budget"), usage=used))
    )
    assert episode.ending == Ending("cost", "the run's budget")
    assert (len(recorder.steps), len(session.executed), episode.usage) == (1, 1, used)


def turns(*actions: Any, observation: str | None = None) -> list[TakenStep]:
    return [TakenStep(action, observation or f"page {index}") for index, action in enumerate(actions)]


@each_case(
    ("history", "reason"),
    [
        ([], None),
        (turns(CLICK, CLICK, CLICK, observation="same"), None),
        (turns(CLICK, CLICK, CLICK, CLICK, observation="same"), "repeated"),
        (turns(CLICK, CLICK, CLICK, CLICK), None),  # the page changed each time
        (turns(CLICK, Back(), CLICK, Back(), CLICK, Back(), CLICK, observation="same"), "repeated"),
        (turns(Invalid("a", ""), Invalid("b", "")), None),
        (turns(Invalid("a", ""), Invalid("b", ""), Invalid("c", "")), "invalid"),
        (turns(Invalid("a", ""), Invalid("b", ""), Noop(), Invalid("c", "")), None),
    ],
)
def test_paper_stop_rule_endings(history: list[TakenStep], reason: str | None) -> None:
    ending = paper_rule(history)
    assert (ending.reason if ending else None) == reason


TYPING = Type(Element("5"), "a", enter=True)


@each_case(
    ("history", "reason"),
    [
        ([], None),
        (turns(CLICK, CLICK), None),
        (turns(CLICK, CLICK, CLICK), "repeated"),  # independent of the page
        (turns(CLICK, Click(Element("2")), CLICK), None),
        (turns(CLICK, Scroll("down"), Scroll("down"), Scroll("down")), "repeated"),
        (turns(Scroll("down"), Scroll("up"), Scroll("down")), None),
        (turns(TYPING, CLICK, TYPING, CLICK, Type(Element("5"), "other text")), "repeated"),  # the text does not count
        (turns(TYPING, CLICK, TYPING), None),
        (turns(Invalid("a", ""), Invalid("b", ""), Invalid("c", "")), "invalid"),
    ],
)
def test_upstream_stop_rule_endings(history: list[TakenStep], reason: str | None) -> None:
    ending = upstream_rule(history)
    assert (ending.reason if ending else None) == reason


def test_stop_rules_end_episodes() -> None:
    same = FakeSession(same_page=True)
    assert run(lambda observation: CLICK, session=same)[0].ending.reason == "repeated"
    assert len(same.executed) == 4
    other = FakeSession()
    assert run(lambda observation: CLICK, session=other, rule="upstream")[0].ending.reason == "repeated"
    assert len(other.executed) == 3
    assert run(lambda observation: "what?")[0].ending.reason == "invalid"


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(UsageError, match="paper, upstream"):
        stop_rule("papers")


def test_too_long_answer_is_invalid_and_may_be_shortened() -> None:
    episode, recorder, session = run(scripted(Stop("x" * 5_000_000), Stop("x" * 100_001), Stop("x" * 100_000)))
    assert (episode.answer, episode.ending.reason) == ("x" * 100_000, "answered")
    assert session.notes[0] == "expected an answer of at most 100,000 characters, found 5,000,000"
    assert recorder.steps[0].raw.endswith(" characters in all)")
    assert recorder.steps[0].action["text"].endswith(" […] (cut here, 5,000,000 characters in all)")


def test_repeated_too_long_answers_end_as_invalid() -> None:
    episode, recorder, _ = run(scripted(*[Stop("x" * 5_000_000)] * 3))
    assert (episode.answer, episode.ending.reason) == (None, "invalid")
    assert episode.ending.detail.endswith("expected an answer of at most 100,000 characters, found 5,000,000")
    assert len(json.dumps([asdict(step) for step in recorder.steps])) < 1_000_000


def test_long_replies_are_truncated_in_the_record() -> None:
    long = "y" * 3_000_000
    replies = (
        Reply("goto /a", raw=long, thought=long, model_calls=long), f"goto /{long}", Type(Element("1"), long),
        Goto(long), Stop("42"),
    )  # fmt: skip
    episode, recorder, _ = run(scripted(*replies))
    assert episode.answer == "42"
    for step in recorder.steps:
        assert len(json.dumps(asdict(step))) < 800_000
    assert recorder.steps[0].thought == "y" * 100_000 + " […] (cut here, 3,000,000 characters in all)"
    assert recorder.steps[1].error == "expected a reply of at most 1,000,000 characters, found 3,000,006"


def test_long_crash_message_is_truncated() -> None:
    def act(observation: Any) -> Any:
        raise ValueError("z" * 5_000_000)

    episode, _, _ = run(act)
    assert episode.ending.reason == "agent_crash"
    assert len(episode.ending.detail) < 200_000


@each_case(
    ("facts", "message"),
    [
        (
            {"usage": {"calls": 1, "cost": float("nan")}},
            "TypeError: Usage: expected cost to be US dollars from 0 to 10",
        ),
        (
            {"usage": {"calls": 1, "cost": float("inf")}},
            "TypeError: Usage: expected cost to be US dollars from 0 to 10",
        ),
        ({"usage": {"input_tokens": -1}}, "TypeError: Usage: expected input_tokens to be a whole number from 0 to 10"),
        ({"thought": b"bytes"}, "TypeError: Reply: expected thought to be <class 'str'>, found bytes"),
    ],
)
def test_malformed_reply_fields_crash_the_agent(facts: Any, message: str) -> None:
    def act(observation: Any) -> Reply:
        return Reply(CLICK, **{**facts, **({"usage": Usage(**facts["usage"])} if "usage" in facts else {})})

    episode, _, _ = run(act)
    assert (episode.ending.reason, episode.steps) == ("agent_crash", ())
    assert episode.ending.detail.startswith(message)
