"""The loop of one attempt: observe, act, execute, until the agent stops or a limit or stop rule ends it."""

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
    """Limits that end an episode when the agent does not."""

    steps: int = 30
    """Maximum number of steps; 30 is the limit of the WebArena paper and of upstream."""
    seconds: float = 600.0
    """Wall time from the first observation, including the agent's thinking."""
    rule: Literal["paper", "upstream"] = "paper"
    input_tokens: int | None = None
    """Maximum of input tokens over all model calls that the agent reports; None: no limit. Checked between steps, like
    the limits below."""
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars. When the cost is unknown, the limit cannot be enforced, which is reported."""

    def reached(self, usage: Usage | None) -> Ending | None:
        """The ending if ``usage``, what the agent's model calls used so far, reaches a limit; otherwise None."""
        if usage is None:
            return None
        if self.input_tokens is not None and usage.input_tokens >= self.input_tokens:
            return Ending("tokens", f"{usage.input_tokens} input tokens, the limit is {self.input_tokens}")
        if self.output_tokens is not None and usage.output_tokens >= self.output_tokens:
            return Ending("tokens", f"{usage.output_tokens} output tokens, the limit is {self.output_tokens}")
        # Cached calls count with what they saved, so that a re-run from the cache ends where the first run did.
        if self.cost is not None and (worth := usage.worth) is not None and worth >= self.cost:
            return Ending("cost", f"${worth:.4f}, the limit is ${self.cost:g}")
        return None


def webcanvas_steps(reference_length: int) -> int:
    """The step limit of WebCanvas's paper for a task whose reference solution has ``reference_length`` steps.

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
"""Maximum number of actions per episode that do not count as steps."""
_BY_CONTENT = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Exceptions that processing an agent's reply may raise, as opposed to recording it or using browser and sites."""

StopRule = Callable[[Sequence[TakenStep]], Ending | None]
"""Function of all steps so far that returns the ending if the episode ends before the next one."""


def paper_rule(turns: Sequence[TakenStep]) -> Ending | None:
    """WebArena paper, section 5.1: the same action more than three times on one observation, or three invalid actions
    in a row."""
    if not turns:
        return None
    if len(turns) >= 3 and all(isinstance(turn.action, Invalid) for turn in turns[-3:]):
        return Ending("invalid", "three invalid actions in a row")
    repeats = sum(turn == turns[-1] for turn in turns)
    if repeats > 3 and not isinstance(turns[-1].action, Invalid):
        return Ending("repeated", f"the same action {repeats} times on the same observation")
    return None


def upstream_rule(turns: Sequence[TakenStep]) -> Ending | None:
    """The original harness's early stop: three invalid or three equivalent actions in a row, or three equivalent
    ``type`` actions in all."""
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
    """The stop rule called ``name``, ``paper`` or ``upstream``. `UsageError` for another name."""
    if name not in _RULES:
        raise UsageError(f"unknown stop rule {name!r}; {closest(name, _RULES)}")
    return _RULES[name]


class Recorder(Protocol):
    """Receives each step as soon as it has finished."""

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Store what the agent is about to see. Returns the files of the text and of the screenshot (or ``""``)."""

    def stepped(self, step: StepRecord) -> None:
        """Store a finished step. Checks that look at every state collect their probes here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Episode:
    """Result of an episode."""

    answer: str | None
    ending: Ending
    steps: tuple[StepRecord, ...]
    seconds: float
    usage: Usage | None = None
    """Usage that the agent reported for its model calls; None when it reported none."""
    usage_gap: str = ""
    """Why the usage may be incomplete; empty when it is complete."""
    agent_seconds: float | None = None
    """Time spent waiting for the agent, in seconds."""


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
    """Run one agent on one session until it stops or is stopped. Reaching a limit ends the episode and is no error.

    An agent that crashes ends the episode with the stop reason ``agent_crash``; one that hangs is ended by the time
    limit. Raises the errors of browser and sites, and those that a built-in agent may raise (`AgentDefinition.raises`).

    Args:
        spend: Receives what each step's model calls used; returns an ending when the run's budget is spent.
        arrive: Waits for reachable sites that an action requested; returns the seconds, which do not count as the
            agent's.
        uncounted: Selects actions that do not count for the step limit and the stop rule. They have a limit of their
            own.
    """
    rule = stop_rule(limits.rule)
    began = clock()
    turns: list[TakenStep] = []
    steps: list[StepRecord] = []
    answer: str | None = None
    usage: Usage | None = None
    budget_end: Ending | None = None
    gap, thought = "", 0.0

    def over(ending: Ending) -> Episode:
        bounded = Ending(ending.reason, cut(ending.detail))
        return Episode(
            answer=answer, ending=bounded, steps=tuple(steps), seconds=clock() - began, usage=usage, usage_gap=gap,
            agent_seconds=round(thought, 4),
        )  # fmt: skip

    def ask(observation: Observation) -> object:
        nonlocal thought
        asked_at = clock()
        try:
            return agent.act(observation, max(0.0, limits.seconds - (asked_at - began)))
        finally:
            thought += clock() - asked_at

    while True:
        if len(turns) >= limits.steps:
            return over(Ending("max_steps", f"the limit of {limits.steps} steps"))
        if len(steps) - len(turns) >= _UNCOUNTED:
            return over(Ending("max_steps", f"the limit of {_UNCOUNTED:,} acts that count as no steps"))
        if (ending := rule(turns) or limits.reached(usage) or budget_end) is not None:
            return over(_with_reason(ending, steps))
        started = clock() - began
        if started >= limits.seconds:
            return over(Ending("time", f"the limit of {limits.seconds:g} s"))

        observation = session.observe()
        observed = clock() - began
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
                gap = gap or f"the agent did not report the usage of step {len(steps)}"
            else:
                usage = reply.usage if usage is None else usage + reply.usage
                budget_end = spend(reply.usage)
                if budget_end is not None and budget_end.reason == "agent_crash":
                    return over(budget_end)
            if reply.ended is not None:
                return over(Ending(*reply.ended))
            action, raw = _understand(reply, parse)
        except _BY_CONTENT as error:  # a malformed reply of any kind counts as the agent's failure
            return over(Ending("agent_crash", f"its reply can't be worked with: {type(error).__name__}: {error}"))
        decided = clock() - began

        try:
            outcome = None if isinstance(action, Stop | Invalid) else session.execute(action)
            done = clock() - began
            if outcome is not None:
                began += arrive()
        except Exception as error:  # keeps the cost of the reply and the action, although the step has no record
            with suppress(AttributeError):  # the exception's class may have no further attributes
                error.usage = reply.usage  # type: ignore[attr-defined]
                error.interrupted = StepRecord(  # type: ignore[attr-defined]
                    index=len(steps), action=as_record(action), raw=raw, observation=text_file
                )
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
                "observe": round(observed - started, 4),
                "act": round(decided - observed, 4),
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
    """``ending``, with the last error reported to the agent if a stop rule ended the episode: why its actions had no
    effect."""
    if ending.reason in ("invalid", "repeated") and steps and (error := steps[-1].error):
        return Ending(ending.reason, f"{ending.detail}; the last: {error}")
    return ending


def _reply(given: object) -> Reply:
    """What an agent returned, as a `Reply`; a bare action or text becomes one without further facts."""
    return given if isinstance(given, Reply) else Reply(given)  # type: ignore[arg-type]  # `_understand` checks it


def _too_long(what: str, longest: int, text: str) -> str:
    return f"expected {what} of at most {longest:,} characters, found {len(text):,}"


def _understand(reply: Reply, parse: Callable[[str], Action]) -> tuple[Action, str]:
    """The action in an agent's reply, and the reply's text for the record."""
    given: object = reply.action
    if isinstance(given, str):
        if len(given) > LONGEST_REPLY:
            return Invalid(given, _too_long("a reply", LONGEST_REPLY, given)), reply.raw or given
        return _with_an_answer(_possible(parse(given), given)), reply.raw or given
    try:
        shown = repr(given)
        if isinstance(given, Action):
            if not isinstance(given, Invalid):
                plain = Click(given.target) if isinstance(given, ByScript) else given  # text can't express it
                action_from_record(as_record(plain))  # else the browser would seem to be at fault
            return _with_an_answer(given), reply.raw or shown
        reason = f"expected an action, text or a Reply, found {type(given).__name__}"
    except Exception as error:  # raised by the agent's own class, or by an action with invalid values
        shown, reason = type(given).__name__, str(error) if isinstance(error, ValueError) else type(error).__name__
    return Invalid(shown[:500], reason), reply.raw or shown[:500]


def _possible(action: Action, given: str) -> Action:
    """``action``, or `Invalid` if no browser can carry it out, such as a scroll by an infinite distance."""
    if not isinstance(action, Invalid):
        try:
            action_from_record(as_record(action))
        except ValueError as error:
            return Invalid(given[:500], str(error))
    return action


def _with_an_answer(action: Action) -> Action:
    """``action``, or `Invalid` if it stops with an answer that is too long."""
    if isinstance(action, Stop) and len(action.answer) > LONGEST_TEXT:
        return Invalid(action.answer, _too_long("an answer", LONGEST_TEXT, action.answer))
    return action
