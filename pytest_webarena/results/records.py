"""The record of one trial, as kept in its ``trial.json``."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from pytest_webarena.answers import AnswerFormat
from pytest_webarena.errors import Cause, Shortfall
from pytest_webarena.evidence import StopReason, Usage
from pytest_webarena.text import UNSURE

__all__ = [
    "DEFAULT_BROWSER",
    "NO_VERDICT",
    "SCHEMA_VERSION",
    "Attempt",
    "Entrant",
    "JudgeErrors",
    "JudgeRecord",
    "MemoryUse",
    "Outcome",
    "TrialKey",
    "TrialRecord",
    "browser_text",
    "is_unsure",
    "names_of",
]

SCHEMA_VERSION = 10
"""2 added ``usage`` and ``model``; 3 ``grading``, ``verdicts``, ``judge``, ``source``, ``history`` and ``memory``; 4
``reruns``; 5 ``shortfall``; 6 ``chance`` and the key's ``browser``, which older records tell by the version of
theirs; 7 ``reference_steps`` and ``reward_model``; 8 what was known of a judge's errors; 9 the usage of each
attempt; 10 ``bill``."""

Outcome = Literal["passed", "failed", "error"]
"""``error`` is never the agent's fault and never part of a success rate."""

NO_VERDICT = "no verdict: "
"""How the message of a trial begins whose checks decide nothing; the reason follows, to the end of the line."""


DEFAULT_BROWSER = "chromium"
"""That of trials which name none."""


class Entrant(NamedTuple):
    """Whom a rate is of: an agent in one browser."""

    agent: str
    browser: str


@dataclass(frozen=True, slots=True, order=True)
class TrialKey:
    """What identifies a trial: the k-th try (from 1) of one agent at one task, in one browser."""

    task: str
    agent: str
    trial: int
    browser: str = DEFAULT_BROWSER
    """As ``--browser`` names it."""

    @property
    def entrant(self) -> Entrant:
        """Whose rate it counts in."""
        return Entrant(self.agent, self.browser)

    @property
    def folder(self) -> str:
        """Name of its folder: readable, and unique through a hash of the exact key. Chromium goes without saying."""
        parts = [self.task, self.agent, self.trial, *([self.browser] if self.browser != DEFAULT_BROWSER else [])]
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", ".".join(map(str, parts)))[:100]
        return f"{slug}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"

    @property
    def older_folder(self) -> str:
        """Name of its folder in runs from before keys had a browser: each such run had one."""
        return replace(self, browser=DEFAULT_BROWSER).folder

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, browser: str = DEFAULT_BROWSER) -> TrialKey:
        """Of what `dataclasses.asdict` made of it; ``browser`` is that of a key which has none yet."""
        return cls(**{"browser": browser, **data})


def names_of(keys: Iterable[TrialKey]) -> dict[Entrant, str]:
    """What messages and tables call those whose trials these are: by the agent's id, as long as there is one browser.

    >>> both = [TrialKey("sum", "oracle", 1), TrialKey("sum", "oracle", 1, "firefox")]
    >>> list(names_of(both).values()), list(names_of(both[1:]).values())
    (['oracle (chromium)', 'oracle (firefox)'], ['oracle'])
    """
    found = dict.fromkeys(key.entrant for key in keys)
    several = len({each.browser for each in found}) > 1
    return {each: f"{each.agent} ({each.browser})" if several else each.agent for each in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One execution of a trial, in short. Retries after an environment error make more than one."""

    number: int
    """From 1; its files are in ``attempt-<number>/``."""
    outcome: Outcome
    cause: Cause | None = None
    """Whose fault an error was."""
    message: str = ""
    started: float = 0.0
    """Unix time in seconds; 0 in records of older versions."""
    seconds: float = 0.0
    """Its wall time."""
    usage: Usage | None = None
    """What its agent used of models; None where it did not report that, and in records of older versions."""

    @property
    def left_by_process(self) -> bool:
        """Whether its record was written for it after its process had ended, which left neither times nor usage."""
        return self.cause == "harness" and not self.started and not self.seconds and self.usage is None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeErrors:
    """What a judge made of labelled answers."""

    right_accepted: int
    """Of the answers that are right, how many it accepted."""
    right: int
    wrong_refused: int
    """Of the answers that are wrong, how many it refused."""
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRecord:
    """What was asked of a judge model for one trial, and of which."""

    model: str
    prompt: str
    """``name@hash`` of the prompt file."""
    temperature: float | None
    """None: left to the endpoint."""
    questions: int = 0
    cached: int = 0
    """Of these, how many the verdict cache answered."""
    usage: Usage = field(default_factory=Usage)
    """Apart from the agent's."""
    errors: JudgeErrors | None = None
    """How often it was right about labelled answers, as was known then; None when it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """What a trial had of earlier ones and left to later ones. The texts are next to the steps, ``memory-*.txt``."""

    scope: str
    """Which trials share the memory: ``all``, ``site``, ``template``, ``task``."""
    of: str
    """Whose it is: the sites, the template, the task."""
    trials: int = 0
    """How many earlier trials what was read comes from."""
    after: str = ""
    """Folder of the last of them, whose record names the one before it, and so on; empty for the first."""
    wrote: bool = False
    """Whether the trial left something new."""
    problem: str = ""
    """Why it left nothing, or less than the agent said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """Everything about a finished trial that is worth a line; the evidence is beside it."""

    key: TrialKey
    outcome: Outcome
    score: float | None = None
    """In [0, 1]; None when there is no verdict."""
    stop_reason: StopReason | None = None
    stop_detail: str = ""
    cause: Cause | None = None
    """Whose fault the error was; None unless ``outcome`` is ``error``."""
    shortfall: Shortfall = ""
    """Why a gate counts the error as a trial not passed; empty when it does not."""
    message: str = ""
    """The error, or the rendered verdict of a failed trial."""
    verdict: Mapping[str, Any] | None = None
    """`checks.Verdict.to_json`; by the grading that counts."""
    grading: str = ""
    """Name of the grading that counts; empty in records of older versions and of trials without a verdict."""
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """All verdicts that could be computed, by the name of the grading; that of ``grading`` is ``verdict``."""
    judge: JudgeRecord | None = None
    """What was asked of a judge model; None when nothing was."""
    history: tuple[Mapping[str, Any], ...] = ()
    """What earlier judging of the same evidence said, oldest first; see `results.rescoring`."""
    answer: str | None = None
    answer_format: AnswerFormat = "text"
    """The form of answer that the agent was asked for."""
    intent: str = ""
    sites: tuple[str, ...] = ()
    category: str = ""
    template: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Where the task comes from: suite, number and template there. Empty for tasks of YAML files."""
    tags: tuple[str, ...] = ()
    chance: float | None = None
    """How often a blind guess passes such a task, from 0 to 1; None where there is nothing to guess."""
    steps: int = 0
    reference_steps: int | None = None
    """How many the task's solution takes, or what its data set says of that; None where neither is known."""
    attempt: int = 1
    """Number of the attempt that counts."""
    attempts: tuple[Attempt, ...] = ()
    reruns: tuple[Attempt, ...] = ()
    """What came after the verdict, which stands: somebody ran the test again (``--reruns`` and the like)."""
    task_digest: str = ""
    agent_digest: str = ""
    sites_digest: str = ""
    isolation: str = "in-process"
    privileged: bool = False
    """The agent saw the solution: its results say nothing about agents."""
    model: str = ""
    """Name of the agent's model as asked for; empty when it has none or does not tell."""
    reward_model: str = ""
    """Name of the model that told the agent after each step how far it had come; empty when there was none."""
    usage: Usage | None = None
    """What the counting attempt's agent used of models; None for agents that report none. See `total_usage`."""
    bill: Usage | None = None
    """What the run's account of model calls holds of the trial, where that is more than its attempts reported."""
    memory: MemoryUse | None = None
    """None: the agent began with nothing, as agents do."""
    browser: str = ""
    """Name and version of the program."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Operating system, browser, viewport, locale, timezone, geolocation, scale, and the observation's settings."""
    replicas: Mapping[str, str] = field(default_factory=dict)
    """App name to the digest of what served it."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """``lease``, ``session``, ``setup``, ``episode``, ``collect``, ``judge``, ``total``."""
    started: float = 0.0
    """Unix time in seconds."""
    node_id: str = ""
    worker: str = ""

    @property
    def unsure(self) -> bool:
        """Whether it did not pass because nobody can vouch for what was read in the answer."""
        return self.outcome == "failed" and is_unsure(self.verdict)

    @property
    def passed_later(self) -> bool:
        """Whether the trial has failed and passed when it was run again."""
        return self.outcome == "failed" and any(each.outcome == "passed" for each in self.reruns)

    @property
    def total_usage(self) -> Usage | None:
        """What the trial used of models: all attempts, those that ended in errors or with their process, and reruns.

        None where nothing is known of it. An attempt of an unknown usage is one of `Usage.untold_calls`.
        """
        own = self._reported_usage
        return own if self.bill is None else self.bill if own is None else self.bill.covering(own)

    @property
    def _reported_usage(self) -> Usage | None:
        others = [each.usage for each in (*self.attempts, *self.reruns) if each.number != self.attempt]
        own = [each.usage for each in self.attempts if each.number == self.attempt]
        if self.usage is None and not any((*others, *own)):
            return None
        counting = self.usage if self.usage is not None else next(iter(own), None)
        known = [used for used in (counting, *others) if used is not None]
        return sum(known, Usage(untold_calls=1 + len(others) - len(known)))

    def to_json(self) -> dict[str, Any]:
        """Plain data with a ``schema_version``."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrialRecord:
        """Read what `to_json` wrote, this version's or an older one's. `ValueError` says what is wrong."""
        if not isinstance(data, Mapping):
            raise ValueError(f"expected a mapping, found {type(data).__name__}")
        version = data.get("schema_version")
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise ValueError(f"expected a trial record of schema version {SCHEMA_VERSION} or older, found {version!r}")
        if data.get("outcome") not in get_args(Outcome):
            raise ValueError(f"outcome: expected {', '.join(get_args(Outcome))}, found {data.get('outcome')!r}")
        for name in ("score", "started", "seconds", "attempts", "reruns", "usage", "bill", "judge"):
            if (odd := _no_number(data.get(name))) is not None:
                raise ValueError(f"{name}: expected finite numbers, found {odd}")
        score = data.get("score")
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            raise ValueError(f"score: expected a number or null, found {type(score).__name__}")
        try:
            rest = {name: value for name, value in data.items() if name != "schema_version"}
            return cls(
                **{
                    **rest,
                    "key": TrialKey.from_json(data["key"], browser=browser_text(data)),
                    "attempts": tuple(map(_attempt, data["attempts"])),
                    "reruns": tuple(map(_attempt, data.get("reruns", ()))),
                    "sites": tuple(data["sites"]),
                    "tags": tuple(data["tags"]),
                    "usage": Usage(**data["usage"]) if data.get("usage") else None,
                    "bill": Usage(**data["bill"]) if data.get("bill") else None,
                    "judge": _judge(data["judge"]) if data.get("judge") else None,
                    "history": tuple(data.get("history", ())),
                    "memory": MemoryUse(**data["memory"]) if data.get("memory") else None,
                }
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expected a trial record, found one that lacks or adds a field: {error}") from error


def _no_number(value: object) -> float | None:
    """The first number in ``value`` that none can be counted with: JSON reads 1e999 as infinite."""
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return next((odd for part in parts if (odd := _no_number(part)) is not None), None)


def is_unsure(verdict: Mapping[str, Any] | None) -> bool:
    """Whether a check of a stored verdict is not met because nobody can vouch for what was read in the answer."""
    return any(map(_is_unsure, (verdict or {}).get("results") or ()))


def _is_unsure(result: Mapping[str, Any]) -> bool:
    return str(result.get("why") or "").startswith(UNSURE) or any(map(_is_unsure, result.get("children") or ()))


def browser_text(data: Mapping[str, Any]) -> str:
    """The browser of a trial whose key has none: older records tell its version, and else node ids have its name."""
    version = str(data.get("browser") or "").lower()
    told = re.findall("[a-z]+", version or str(data.get("node_id") or "").partition("[")[2])
    return next((name for name in ("firefox", "webkit") if name in told), DEFAULT_BROWSER)


def _attempt(data: Mapping[str, Any]) -> Attempt:
    return Attempt(**{**data, "usage": Usage(**data["usage"]) if data.get("usage") else None})


def _judge(data: Mapping[str, Any]) -> JudgeRecord:
    errors = JudgeErrors(**found) if (found := data.get("errors")) else None
    return JudgeRecord(**{**data, "usage": Usage(**data["usage"]), "errors": errors})
