"""Short texts for people about recorded values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.docs_site import docs
from pytest_webarena.evidence import StepRecord, Usage
from pytest_webarena.evidence.step_sentences import script_sentence
from pytest_webarena.owners import UNATTRIBUTED
from pytest_webarena.results.records import UNDECIDED, JudgeRecord, MemoryUse, SignedInAtEnd, TrialRecord, is_for_people

if TYPE_CHECKING:
    from pytest_webarena.results.statistics import Rate, Summary

__all__ = [
    "CAUSE_WORDS",
    "DECIDE",
    "EXPLAIN",
    "PEOPLE",
    "PRIVILEGED",
    "REPEAT",
    "STOP_WORDS",
    "cost_words",
    "dollars",
    "errors_failed_words",
    "if_met_words",
    "judge_words",
    "memory_words",
    "mixed_words",
    "passed_words",
    "rate_words",
    "reply_words",
    "rerun_words",
    "reset_words",
    "script_words",
    "seconds_words",
    "sign_in_words",
    "size_words",
    "undecided_remedy",
    "usage_words",
    "why_undecided",
]

PRIVILEGED = "sees the solutions: its rate says nothing about agents"
"""What to know about the rate of an agent such as the oracle."""
DECIDE = "decide them: pytest --rescore RUN --judge MODEL"
"""What to do about trials that the rules can't decide."""
PEOPLE = "people decide them: webarena judge annotate sheet RUN"
"""What to do about trials with a check that only people decide."""
REPEAT = f"Repeat on purpose: {docs('resuming', 'trials-of-an-undecided-owner')}"
"""What to do about a trial that ended in an error whose owner is undecided."""
EXPLAIN = "errors without a known owner: webarena runs explain RUN"
"""What to do about several such trials."""

STOP_WORDS = {
    "answered": "the agent stopped",
    "max_steps": "out of steps",
    "time": "out of time",
    "tokens": "out of tokens",
    "cost": "out of budget",
    "context": "beyond the model's context length",
    "filtered": "blocked by a content filter",
    "repeated": "went in circles",
    "invalid": "invalid actions",
    "agent_crash": "the agent crashed",
    "broke_site": "the agent broke the site",
    "broke_browser": "the agent broke the browser",
    "endless_writes": "the agent's page never stopped writing",
    "model_refused": "the model endpoint did not serve what the agent sent",
    "unattributed": "an error of the agent or its environment, undecided whose",
}
"""Meaning of each stop reason."""

CAUSE_WORDS = {
    "site": "a site failed",
    "blocked": "a live site turned the visitor away",
    "browser": "the browser failed",
    "model": "the model endpoint failed",
    "agent": "the agent could not be run",
    "judge": "a judge reached no verdict",
    "task": "the task can't be carried out or judged",
    "harness": "a fault of pytest-webarena, or a worker that died",
}
"""Meaning of each cause of an error."""


def script_words(step: StepRecord) -> str:
    """Return the actions of scripts before a step started; empty where there were none."""
    return "; ".join(map(script_sentence, step.by_script))


def reply_words(step: StepRecord) -> str:
    """Return the agent's reply; empty if it is only the value that a Python agent returned, as the sentence says it."""
    try:
        return "" if step.raw == repr(action_from_record(step.action)) else step.raw
    except ValueError:
        return step.raw


def seconds_words(seconds: float) -> str:
    """Return a duration with suitable precision.

    >>> [seconds_words(value) for value in (0.3, 4.25, 75, 5400)]
    ['0.3 s', '4.2 s', '1 min 15 s', '1 h 30 min']
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def size_words(count: float) -> str:
    """Return a number of bytes, in decimal units.

    >>> [size_words(value) for value in (512, 20_480, 3_900_000, 2.1e9)]
    ['512 B', '20 kB', '3.9 MB', '2.1 GB']
    """
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count / 1e3:.0f} kB" if count >= 1e3 else f"{count:.0f} B"


def dollars(amount: float | None) -> str:
    """Return an amount of US dollars with its significant digits.

    >>> dollars(12.3456), dollars(0.01234), dollars(0.0), dollars(None)
    ('$12.35', '$0.0123', '$0', 'unknown cost')
    """
    if amount is None:
        return "unknown cost"
    return f"${amount:.2f}" if amount >= 1 else f"${amount:.4f}" if amount else "$0"


def if_met_words(rate: Rate) -> str:
    """Return the rate if all undecided trials are met, to be added to a rate; empty without undecided trials."""
    if not rate.undecided or (value := rate.upper.value) is None:
        return ""
    return f", {value:.1%} if {rate.undecided} undecided {'is' if rate.undecided == 1 else 'are'} met"


def mixed_words(differing: Iterable[str]) -> str:
    """Return that a rate is mixed, with the differences between its trials (`conditions.differing_values`).

    >>> mixed_words(["judge m1 / none"])
    'no one rate, its trials are mixed: judge m1 / none'
    """
    return f"no one rate, its trials are mixed: {'; '.join(differing)}"


def passed_words(rate: Rate) -> str:
    """Return the numbers of passed and judged trials, such as ``7/10``, or ``7–9/10`` if two more are undecided."""
    upper = f"–{rate.passed + rate.undecided}" if rate.undecided else ""
    return f"{rate.passed}{upper}/{rate.judged}"


def rate_words(rate: Rate) -> str:
    """Return a rate with its numerator, denominator and interval; ``0/0`` if nothing was judged.

    >>> from pytest_webarena.results.statistics import Rate
    >>> rate_words(Rate(passed=6, failed=2, errors=0, interval=(0.409, 0.929)))
    '6/8 = 75.0% (95% interval 40.9% to 92.9%)'
    """
    if rate.value is None:
        return passed_words(rate)
    low, high = rate.interval
    return f"{passed_words(rate)} = {rate.value:.1%} (95% interval {low:.1%} to {high:.1%})"


def errors_failed_words(rate: Rate) -> str:
    """Return the rate with errors as failures, to be added to a rate without them; empty without errors.

    Trials that errors in a row stopped are failures, too.
    """
    stopped = f" and {rate.stopped} stopped trial{'s' * (rate.stopped != 1)}" if rate.stopped else ""
    return f"{rate_words(rate.with_errors_failed)} with errors{stopped} as failures" if rate.excluded else ""


def undecided_remedy(summary: Summary) -> str:
    """Return what to do about the undecided trials of an agent."""
    rules = [DECIDE] if summary.undecided > summary.unattributed + summary.for_people else []
    people = [PEOPLE] if summary.for_people else []
    return "; ".join([*rules, *people, *([EXPLAIN] if summary.unattributed else [])])


def judge_words(judge: JudgeRecord) -> list[str]:
    """Return the judge of one trial, and its use."""
    questions = f"{judge.questions} question{'s' * (judge.questions != 1)}"
    cached = f"{judge.cached} of them answered before" if judge.cached else ""
    warmth = f"temperature {judge.temperature:g}" if judge.temperature is not None else "the endpoint's temperature"
    return [
        part
        for part in (judge.model, f"prompt {judge.prompt}", warmth, questions, cached, cost_words(judge.usage))
        if part
    ]


def cost_words(used: Usage) -> str:
    """Return the cost of model calls, as far as it is known.

    >>> cost_words(Usage(calls=1, cost=0.12)), cost_words(Usage(calls=1, untold_calls=1, cost=0.12))
    ('$0.1200', 'at least $0.1200')
    """
    return dollars(used.cost) if used.complete or used.cost is None else f"at least {dollars(used.cost)}"


def usage_words(used: Usage) -> list[str]:
    """Return the use of model calls in short: cost, tokens, calls, cache."""
    parts = [
        cost_words(used),
        f"{used.input_tokens:,} tokens in",
        f"{used.output_tokens:,} out",
        f"{used.calls:,} call{'s' * (used.calls != 1)}",
    ]
    if used.untold_calls:
        parts.append(f"{used.untold_calls:,} call{'s' * (used.untold_calls != 1)} without a reported cost")
    if used.cached_calls:
        parts.append(f"{used.cached_calls:,} of them from the cache")
        if used.saved:
            parts.append(f"{dollars(used.saved)} saved")
    return parts


def why_undecided(record: TrialRecord) -> str:
    """Return why a trial is undecided, and what to do; empty if it is not."""
    if not record.undecided:
        return ""
    first = record.message.partition("\n")[0]
    why = first.removeprefix(UNDECIDED) if first.startswith(UNDECIDED) else "the rules can't decide"
    if record.stop_reason == UNATTRIBUTED:
        return f"{why} {REPEAT}"
    asked = f" ({record.judge.model} was asked and did not decide)" if record.judge is not None else ""
    return f"{why}{asked}; {PEOPLE if is_for_people(record) else DECIDE}"


def rerun_words(record: TrialRecord) -> str:
    """Return the results of running a trial again, as a last line of its own; empty where there are none."""
    if not record.reruns:
        return ""
    later = ", ".join({"error": "no verdict"}.get(each.outcome, each.outcome) for each in record.reruns)
    return f"\nthe first verdict counts, not those of later runs of the trial ({later})"


def sign_in_words(signed_in: Mapping[str, SignedInAtEnd]) -> str:
    """Return whether each site's account was signed in at the end, on one line; empty where no site has one.

    >>> sign_in_words({"shop": SignedInAtEnd(user="emma", signed_in=False, why="found /login instead")})
    'shop no (emma): found /login instead'
    """
    return "; ".join(f"{site} {found}" + (f": {found.why}" if found.why else "") for site, found in signed_in.items())


def reset_words(resets: Mapping[str, str]) -> str:
    """Return why sites were reset after a trial, on one line; empty where none was.

    >>> reset_words({"shop": "POST http://shop.test/cart", "wiki": "reuse: never"})
    'shop: POST http://shop.test/cart; wiki: reuse: never'
    """
    return "; ".join(f"{app}: {why}" for app, why in resets.items())


def memory_words(use: MemoryUse) -> str:
    """Return which earlier trials a trial's memory came from, and whether it wrote a new version.

    >>> memory_words(MemoryUse(scope="task", of="sum", trials=2, after="sum.cot.2-1f", wrote=True))
    'of the task sum: shown 2 earlier trials, the last one sum.cot.2-1f; left something new'
    """
    source = {"all": "of all trials", "site": f"of the sites {use.of}"}.get(use.scope, f"of the {use.scope} {use.of}")
    plural = "s" if use.trials != 1 else ""
    shown = f"shown {use.trials} earlier trial{plural}, the last one {use.after}" if use.trials else "nothing yet"
    written = "left something new" if use.wrote else "left nothing new"
    return f"{source}: {shown}; {written}" + (f" ({use.problem})" if use.problem else "")
