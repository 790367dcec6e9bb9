"""The loop of one attempt: observe, act, execute, until the agent stops or a rule stops it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_webarena.actions import Action, ByScript, Click, Invalid, Stop, as_record
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.agents.worker import AgentCrashed, AgentTimeout, AgentWorker
from pytest_webarena.browser.acting.equivalence import equivalent
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.evidence import LONGEST_REPLY, LONGEST_TEXT, StepRecord, StopReason, Usage, cut

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.pageless import Pageless
    from pytest_webarena.browser.session import Session

__all__ = [
    "Ending",
    "Episode",
    "EpisodeLimits",
    "Recorder",
    "StopRule",
    "TakenStep",
    "paper_rule",
    "run_episode",
    "stop_rule",
    "upstream_rule",
    "webcanvas_steps",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLimits:
    """What ends an episode that the agent does not end."""

    steps: int = 30
    """The WebArena paper's and upstream's limit."""
    seconds: float = 600.0
    """Wall time from the first observation; the agent's thinking included."""
    rule: Literal["paper", "upstream"] = "paper"
    input_tokens: int | None = None
    """Of all model calls that the agent reports; None: no limit. Checked between steps, like those below."""
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars. Where the cost is not known, the limit can't be held and says so."""

    def reached(self, usage: Usage | None) -> Ending | None:
        """Whether what the agent's model calls used so far ends the episode."""
        if usage is None:
            return None
        if self.input_tokens is not None and usage.input_tokens >= self.input_tokens:
            return Ending("tokens", f"{usage.input_tokens} input tokens, the limit is {self.input_tokens}")
        if self.output_tokens is not None and usage.output_tokens >= self.output_tokens:
            return Ending("tokens", f"{usage.output_tokens} output tokens, the limit is {self.output_tokens}")
        # What the cache saved counts: a re-run from the cache ends where the first run did.
        if self.cost is not None and (worth := usage.worth) is not None and worth >= self.cost:
            return Ending("cost", f"${worth:.4f}, the limit is ${self.cost:g}")
        return None


def webcanvas_steps(reference_length: int) -> int:
    """The step limit of WebCanvas's paper for a task whose known way takes so many steps.

    >>> webcanvas_steps(4), webcanvas_steps(9)
    (10, 13)
    """
    return max(10, reference_length * 3 // 2)


@dataclass(frozen=True, slots=True)
class TakenStep:
    """One step as the stop rules see it."""

    action: Action
    observation: str
    """The text the agent saw when it chose the action."""


@dataclass(frozen=True, slots=True)
class Ending:
    """Why the episode ended."""

    reason: StopReason
    detail: str


_UNCOUNTED = 2000
"""Actions that are no steps, in one episode."""
_BY_CONTENT = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What working with values raises, as opposed to writing them down and to asking browser and sites."""

StopRule = Callable[[Sequence[TakenStep]], Ending | None]
"""Given all turns so far, whether the episode ends before the next one."""


def paper_rule(turns: Sequence[TakenStep]) -> Ending | None:
    """WebArena paper, section 5.1: one action over three times on one observation, or three invalid ones in a row."""
    if not turns:
        return None
    if len(turns) >= 3 and all(isinstance(turn.action, Invalid) for turn in turns[-3:]):
        return Ending("invalid", "three invalid actions in a row")
    repeats = sum(turn == turns[-1] for turn in turns)
    if repeats > 3 and not isinstance(turns[-1].action, Invalid):
        return Ending("repeated", f"the same action {repeats} times on the same observation")
    return None


def upstream_rule(turns: Sequence[TakenStep]) -> Ending | None:
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
    usage: Usage | None = None
    """What the agent said that its model calls used; None when it said nothing."""
    usage_gap: str = ""
    """Why that may not be all; empty when it is."""
    agent_seconds: float | None = None
    """How long the agent was waited for."""


def run_episode(
    session: Session | Pageless,
    agent: AgentWorker,
    *,
    parse: Callable[[str], Action],
    limits: EpisodeLimits,
    recorder: Recorder,
    clock: Callable[[], float] = time.monotonic,
    spend: Callable[[Usage], Ending | None] = lambda usage: None,
    arrive: Callable[[], float] = lambda: 0.0,
    uncounted: Callable[[Action], bool] = lambda action: False,
) -> Episode:
    """Run one agent on one session until it stops or is stopped. Limits end it; they are no errors.

    Raises what the browser and the sites raise, and what an agent of ours may (`AgentDefinition.raises`). An agent that
    crashes ends the episode with the stop reason ``agent_crash``; one that hangs is cut off by the time limit.
    ``spend`` is told what each step's model calls used and may say that the run has no more money for another one.
    ``arrive`` waits for what an action has asked for and the environment has yet to bring; the seconds that it tells
    are not the agent's. Actions that are ``uncounted`` are no steps to the limit and the stop rule; they have a limit
    of their own.
    """
    rule = stop_rule(limits.rule)
    began = clock()
    turns: list[TakenStep] = []
    steps: list[StepRecord] = []
    answer: str | None = None
    usage: Usage | None = None
    broke: Ending | None = None
    gap, thought = "", 0.0

    def over(ending: Ending) -> Episode:
        bounded = Ending(ending.reason, cut(ending.detail))
        return Episode(
            answer=answer, ending=bounded, steps=tuple(steps), seconds=clock() - began, usage=usage, usage_gap=gap,
            agent_seconds=round(thought, 4),
        )  # fmt: skip

    def ask(observation: Observation) -> object:
        nonlocal thought
        asked = clock()
        try:
            return agent.act(observation, max(0.0, limits.seconds - (asked - began)))
        finally:
            thought += clock() - asked

    while True:
        if len(turns) >= limits.steps:
            return over(Ending("max_steps", f"the limit of {limits.steps} steps"))
        if len(steps) - len(turns) >= _UNCOUNTED:
            return over(Ending("max_steps", f"the limit of {_UNCOUNTED:,} acts that count as no steps"))
        if (ending := rule(turns) or limits.reached(usage) or broke) is not None:
            return over(_with_reason(ending, steps))
        started = clock() - began
        if started >= limits.seconds:
            return over(Ending("time", f"the limit of {limits.seconds:g} s"))

        observation = session.observe()
        seen = clock() - began
        text_file, shot_file = recorder.observed(len(steps), observation)
        try:
            reply = _reply(ask(observation))
        except AgentTimeout:
            gap = gap or f"the agent was cut off before it reported what step {len(steps)} used"
            return over(Ending("time", f"the agent did not answer within the limit of {limits.seconds:g} s"))
        except AgentCrashed as crash:
            gap = gap or f"the agent crashed before it reported what step {len(steps)} used"
            return over(Ending("agent_crash", str(crash)))
        try:
            if reply.usage is None:
                gap = gap or f"the agent did not tell what step {len(steps)} used"
            else:
                usage = reply.usage if usage is None else usage + reply.usage
                broke = spend(reply.usage)
                if broke is not None and broke.reason == "agent_crash":
                    return over(broke)
            if reply.ended is not None:
                return over(Ending(*reply.ended))
            action, raw = _understand(reply, parse)
        except _BY_CONTENT as error:  # whatever it is: an agent must not get out of the rate by what it says
            return over(Ending("agent_crash", f"its reply can't be worked with: {type(error).__name__}: {error}"))
        decided = clock() - began

        try:
            outcome = None if isinstance(action, Stop | Invalid) else session.execute(action)
            done = clock() - began
            if outcome is not None:
                began += arrive()
        except Exception as error:  # the step has no record, but its reply has cost something
            with suppress(AttributeError):  # of a class that takes no further attributes
                error.usage = reply.usage  # type: ignore[attr-defined]
            raise
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
            thought=reply.thought,
            retries=reply.retries,
            usage=reply.usage,
            model_calls=reply.model_calls,
        ).bounded()
        steps.append(step)
        if not uncounted(action):
            turns.append(TakenStep(action, observation.text))
        if isinstance(action, Stop):
            answer = action.answer
        if isinstance(action, Invalid):
            session.note_error(action.reason)
        recorder.stepped(step)
        if isinstance(action, Stop):
            return over(Ending("answered", "the agent stopped"))


def _with_reason(ending: Ending, steps: Sequence[StepRecord]) -> Ending:
    """An ending by the stop rule with what the agent was told last: why its actions came to nothing."""
    if ending.reason in ("invalid", "repeated") and steps and (error := steps[-1].error):
        return Ending(ending.reason, f"{ending.detail}; the last: {error}")
    return ending


def _reply(said: object) -> Reply:
    """What an agent returned, as a `Reply`: a bare action or text is one without further facts."""
    return said if isinstance(said, Reply) else Reply(said)  # type: ignore[arg-type]  # `_understand` looks at the type


def _too_long(what: str, longest: int, text: str) -> str:
    return f"expected {what} of at most {longest:,} characters, found {len(text):,}"


def _understand(reply: Reply, parse: Callable[[str], Action]) -> tuple[Action, str]:
    """The action in an agent's reply, and its words for the record."""
    said: object = reply.action
    if isinstance(said, str):
        if len(said) > LONGEST_REPLY:
            return Invalid(said, _too_long("a reply", LONGEST_REPLY, said)), reply.raw or said
        return _with_an_answer(_possible(parse(said), said)), reply.raw or said
    try:
        shown = repr(said)
        if isinstance(said, Action):
            if not isinstance(said, Invalid):
                plain = Click(said.target) if isinstance(said, ByScript) else said  # no agent's words say that one
                action_from_record(as_record(plain))  # a browser that is asked for nonsense would seem to be at fault
            return _with_an_answer(said), reply.raw or shown
        reason = f"expected an action, text or a Reply, found {type(said).__name__}"
    except Exception as error:  # the agent's own class, or an action with what it can't have
        shown, reason = type(said).__name__, str(error) if isinstance(error, ValueError) else type(error).__name__
    return Invalid(shown[:500], reason), reply.raw or shown[:500]


def _possible(action: Action, said: str) -> Action:
    """``action``, unless no browser can do it, such as a click at an endless distance."""
    if not isinstance(action, Invalid):
        try:
            action_from_record(as_record(action))
        except ValueError as error:
            return Invalid(said[:500], str(error))
    return action


def _with_an_answer(action: Action) -> Action:
    """``action``, unless it stops with an answer that is none by its length."""
    if isinstance(action, Stop) and len(action.answer) > LONGEST_TEXT:
        return Invalid(action.answer, _too_long("an answer", LONGEST_TEXT, action.answer))
    return action
