"""The loop of one attempt: observe, act, execute, until the agent stops or a rule stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_webarena.actions import Action, Invalid, Stop, as_record
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.browser.equivalence import equivalent
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.evidence import StepRecord, StopReason

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.session import Session

__all__ = [
    "Ending",
    "Episode",
    "EpisodeLimits",
    "Recorder",
    "StopRule",
    "Turn",
    "paper_rule",
    "run_episode",
    "stop_rule",
    "upstream_rule",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """What ends an episode that the agent does not end."""

    steps: int = 30
    """The WebArena paper's and upstream's limit."""
    seconds: float = 600.0
    """Wall time from the first observation; the agent's thinking included."""
    rule: Literal["paper", "upstream"] = "paper"


@dataclass(frozen=True, slots=True)
class Turn:
    """One step as the stop rules see it."""

    action: Action
    observation: str
    """The text the agent saw when it chose the action."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the episode ended."""

    reason: StopReason
    detail: str


StopRule = Callable[[Sequence[Turn]], Ending | None]
"""Given all turns so far, whether the episode ends before the next one."""


def paper_rule(turns: Sequence[Turn]) -> Ending | None:
    """WebArena paper, section 5.1: one action over three times on one observation, or three invalid ones in a row."""
    if not turns:
        return None
    if len(turns) >= 3 and all(isinstance(turn.action, Invalid) for turn in turns[-3:]):
        return Ending("invalid", "three invalid actions in a row")
    repeats = sum(turn == turns[-1] for turn in turns)
    if repeats > 3 and not isinstance(turns[-1].action, Invalid):
        return Ending("repeated", f"the same action {repeats} times on the same observation")
    return None


def upstream_rule(turns: Sequence[Turn]) -> Ending | None:
    """The original harness's early stop: three invalid or equivalent actions in a row, three such typings ever."""
    if not turns:
        return None
    last = turns[-1].action
    if len(turns) >= 3 and all(isinstance(turn.action, Invalid) for turn in turns[-3:]):
        return Ending("invalid", "Failed to parse actions for 3 times")
    if last.kind == "type":
        if sum(equivalent(turn.action, last) for turn in turns) >= 3:
            return Ending("repeated", "Same typing action for 3 times")
    elif len(turns) >= 3 and all(equivalent(turn.action, last) for turn in turns[-3:]):
        return Ending("repeated", "Same action for 3 times")
    return None


_RULES: Mapping[str, StopRule] = {"paper": paper_rule, "upstream": upstream_rule}


def stop_rule(name: str) -> StopRule:
    """The stop rule of that name, ``paper`` or ``upstream``."""
    if name not in _RULES:
        raise UsageError(f"unknown stop rule {name!r}; {closest(name, _RULES)}")
    return _RULES[name]


class Recorder(Protocol):
    """Where the loop puts each step, as soon as it is over."""

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Keep what the agent is about to see; the files of the text and the screenshot (or ``""``)."""

    def stepped(self, step: StepRecord) -> None:
        """Keep a finished step; also where checks that look at every state gather their probes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """How an episode went."""

    answer: str | None
    ending: Ending
    steps: tuple[StepRecord, ...]
    seconds: float


def run_episode(
    session: Session,
    agent: AgentWorker,
    *,
    parse: Callable[[str], Action],
    limits: EpisodeLimits,
    recorder: Recorder,
    clock: Callable[[], float] = time.monotonic,
) -> Episode:
    """Run one agent on one session until it stops or is stopped. Limits end it; they are no errors.

    Raises what the browser, the sites or a privileged agent raise (`TrialError`). An agent that crashes ends the
    episode with the stop reason ``agent_crash``; one that hangs is cut off by the time limit.
    """
    rule = stop_rule(limits.rule)
    began = clock()
    turns: list[Turn] = []
    steps: list[StepRecord] = []
    answer: str | None = None

    def over(ending: Ending) -> Episode:
        return Episode(answer=answer, ending=ending, steps=tuple(steps), seconds=clock() - began)

    while True:
        if len(turns) >= limits.steps:
            return over(Ending("max_steps", f"the limit of {limits.steps} steps"))
        if (ending := rule(turns)) is not None:
            return over(ending)
        started = clock() - began
        if started >= limits.seconds:
            return over(Ending("time", f"the limit of {limits.seconds:g} s"))

        observation = session.observe()
        seen = clock() - began
        text_file, shot_file = recorder.observed(len(steps), observation)
        try:
            reply = agent.act(observation, max(0.0, limits.seconds - (clock() - began)))
        except AgentTimeout:
            return over(Ending("time", f"the agent did not answer within the limit of {limits.seconds:g} s"))
        except AgentCrashed as crash:
            return over(Ending("agent_crash", str(crash)))
        action, raw = _understand(reply, parse)
        decided = clock() - began

        outcome = None if isinstance(action, Stop | Invalid) else session.execute(action)
        done = clock() - began
        step = StepRecord(
            index=len(steps),
            action=as_record(action),
            raw=raw,
            error=action.reason if isinstance(action, Invalid) else outcome.error if outcome else "",
            url_before=outcome.url_before if outcome else observation.url,
            url_after=outcome.url_after if outcome else observation.url,
            target=outcome.target if outcome else None,
            value=outcome.value if outcome else None,
            tab=outcome.tab if outcome else 0,
            observation=text_file,
            screenshot=shot_file,
            started=round(started, 3),
            seconds={
                "observe": round(seen - started, 4),
                "act": round(decided - seen, 4),
                "execute": round(done - decided, 4),
            },
        )
        steps.append(step)
        turns.append(Turn(action, observation.text))
        if isinstance(action, Stop):
            answer = action.answer
        if isinstance(action, Invalid):
            session.note_error(action.reason)
        recorder.stepped(step)
        if isinstance(action, Stop):
            return over(Ending("answered", "the agent stopped"))


def _understand(reply: object, parse: Callable[[str], Action]) -> tuple[Action, str]:
    """The action in an agent's reply, and its words for the record."""
    if isinstance(reply, str):
        return parse(reply), reply
    if isinstance(reply, Action):
        return reply, repr(reply)
    return Invalid(repr(reply)[:500], f"expected an action or text, found {type(reply).__name__}"), repr(reply)[:500]
