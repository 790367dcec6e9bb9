"""The record of one trial, as stored in its ``trial.json``."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

from pytest_webarena.answers import AnswerFormat
from pytest_webarena.errors import Cause, ControlResult
from pytest_webarena.evidence import StopReason, Usage
from pytest_webarena.file_digests import SEAL
from pytest_webarena.plain_data import kind_of
from pytest_webarena.results.older_records import OWNED_SINCE, RESETS_SINCE, with_owner, with_resets

__all__ = [
    "DEFAULT_BROWSER",
    "JUDGED_FIELDS",
    "NO_VERDICT",
    "SCHEMA_VERSION",
    "SEALED_SINCE",
    "UNDECIDED",
    "Attempt",
    "Entrant",
    "JudgeErrors",
    "JudgeRecord",
    "MemoryUse",
    "Outcome",
    "SignedInAtEnd",
    "TrialKey",
    "TrialRecord",
    "browser_text",
    "is_for_people",
    "is_undecided",
    "names_of",
]

SCHEMA_VERSION = 14
"""Version of the record's schema.

2 added ``usage`` and ``model``; 3 ``grading``, ``verdicts``, ``judge``, ``source``, ``history`` and ``memory``; 4
``reruns``; 5 ``shortfall``; 6 ``chance`` and the key's ``browser``, which in older records follows from the browser's
version; 7 ``reference_steps`` and ``reward_model``; 8 the judge's known errors; 9 the usage of each attempt; 10
``bill``; 12 ``signed_in``, ``manifests``, ``accepted`` and the digest of the file; 13 ``event`` and ``control`` instead
of ``shortfall``, and errors whose owner is undecided as failed trials; 14 ``resets``.
"""
SEALED_SINCE = 12
"""First version whose records have a digest (`file_digests.seal`)."""

Outcome = Literal["passed", "failed", "error"]
"""``error`` is the environment's fault and never part of a success rate."""

NO_VERDICT = "no verdict: "
"""First words of the message of a trial without a decision of its checks; the reason follows on the same line."""
UNDECIDED = "undecided: "
"""First words of the message of a failed trial that a judge could decide; the reason follows on the same line."""

JUDGED_FIELDS = (
    "outcome", "score", "stop_reason", "cause", "event", "control", "message", "verdict", "grading", "verdicts",
    "judge", "task_digest",
)  # fmt: skip
"""Record fields that judging sets. A record's ``history`` contains those of earlier judgings."""

DEFAULT_BROWSER = "chromium"
"""The browser of trials that name none."""


class Entrant(NamedTuple):
    """An agent in one browser, to which a rate belongs."""

    agent: str
    browser: str


@dataclass(frozen=True, slots=True, order=True)
class TrialKey:
    """Key of a trial: the k-th trial (from 1) of one agent at one task, in one browser."""

    task: str
    agent: str
    trial: int
    browser: str = DEFAULT_BROWSER
    """Name of the browser, as for ``--browser``."""

    @property
    def entrant(self) -> Entrant:
        """The agent and browser whose rate it counts in."""
        return Entrant(self.agent, self.browser)

    @property
    def folder(self) -> str:
        """Name of its folder: readable, and unique through a hash of the exact key. Chromium is not named."""
        parts = [self.task, self.agent, self.trial, *([self.browser] if self.browser != DEFAULT_BROWSER else [])]
        slug = re.sub(r"[^A-Za-z0-9._-]+", "-", ".".join(map(str, parts)))[:100]
        return f"{slug}-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"

    @property
    def older_folder(self) -> str:
        """Name of its folder in runs from before keys had a browser; such a run had one browser only."""
        return replace(self, browser=DEFAULT_BROWSER).folder

    @classmethod
    def from_json(cls, data: Mapping[str, Any], *, browser: str = DEFAULT_BROWSER) -> TrialKey:
        """Return the key from the output of `dataclasses.asdict`; ``browser`` is for a key without one."""
        return cls(**{"browser": browser, **data})


def names_of(keys: Iterable[TrialKey]) -> dict[Entrant, str]:
    """Return agents' names for messages and tables: the agent's id, with the browser if there are several.

    >>> both = [TrialKey("sum", "oracle", 1), TrialKey("sum", "oracle", 1, "firefox")]
    >>> list(names_of(both).values()), list(names_of(both[1:]).values())
    (['oracle (chromium)', 'oracle (firefox)'], ['oracle'])
    """
    found = dict.fromkeys(key.entrant for key in keys)
    several = len({each.browser for each in found}) > 1
    return {each: f"{each.agent} ({each.browser})" if several else each.agent for each in found}


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Summary of one execution of a trial. A retry after an environment error is another attempt."""

    number: int
    """Number of the attempt, from 1; its files are in ``attempt-<number>/``."""
    outcome: Outcome
    cause: Cause | None = None
    """The party that caused an error."""
    message: str = ""
    started: float = 0.0
    """Start of the attempt: Unix time in seconds; 0 in records of older versions."""
    seconds: float = 0.0
    """Wall time in seconds."""
    usage: Usage | None = None
    """The agent's model usage; None where it was not reported, and in records of older versions."""
    resets: Mapping[str, str] = field(default_factory=dict)
    """As `TrialRecord.resets`."""

    @property
    def left_by_process(self) -> bool:
        """Whether its record was written for it after its process had ended, without times or usage."""
        return self.cause == "harness" and not self.started and not self.seconds and self.usage is None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeErrors:
    """A judge's results on labelled answers."""

    right_accepted: int
    """Number of right answers that the judge accepted."""
    right: int
    wrong_refused: int
    """Number of wrong answers that the judge refused."""
    wrong: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeRecord:
    """Questions to a judge model about one trial, and the judge's identity."""

    model: str
    prompt: str
    """``name@hash`` of the prompt file."""
    temperature: float | None
    """Temperature; None leaves it to the endpoint."""
    questions: int = 0
    cached: int = 0
    """Number of questions that the verdict cache answered."""
    usage: Usage = field(default_factory=Usage)
    """The judge's usage, which is not part of the agent's."""
    errors: JudgeErrors | None = None
    """The judge's errors on labelled answers, as known at the time; None when it was not measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedInAtEnd:
    """Whether a site's account was still signed in when the agent stopped."""

    user: str
    """Account with which the task visits the site."""
    signed_in: bool | None
    """None where it is unknown."""
    why: str = ""
    """Why it was not signed in, or why that is unknown."""

    def __str__(self) -> str:
        state = "unknown" if self.signed_in is None else "yes" if self.signed_in else "no"
        return f"{state} ({self.user})"


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """A trial's use of memory across trials. The texts are next to the steps, ``memory-*.txt``."""

    scope: str
    """Scope of the memory, which is shared by trials of ``all``, ``site``, ``template`` or ``task``."""
    of: str
    """The sites, the template or the task that the memory belongs to."""
    trials: int = 0
    """Number of earlier trials that contributed to the text."""
    after: str = ""
    """Folder of the latest of them, whose record names the one before it, and so on; empty for the first."""
    wrote: bool = False
    """Whether the trial wrote a new version."""
    problem: str = ""
    """Why the trial wrote nothing, or less than the agent asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRecord:
    """Summary of a finished trial; the evidence is in separate files."""

    key: TrialKey
    outcome: Outcome
    score: float | None = None
    """Score in [0, 1], for an undecided trial its lower bound; None when there is no verdict."""
    stop_reason: StopReason | None = None
    stop_detail: str = ""
    cause: Cause | None = None
    """The party that caused the error; None unless ``outcome`` is ``error``."""
    event: str = ""
    """Name in `owners.EVENTS` of the error that ended it; empty without one, and in records of older versions."""
    control: ControlResult | None = None
    """What the control of that error showed; None where there is none."""
    message: str = ""
    """The error, or the rendered verdict of a failed trial."""
    verdict: Mapping[str, Any] | None = None
    """Output of `checks.Verdict.to_json`, by the grading that counts."""
    grading: str = ""
    """Name of the grading that counts; empty in records of older versions and of trials without a verdict."""
    verdicts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """All verdicts that could be computed, by the name of the grading; the one of ``grading`` is ``verdict``."""
    judge: JudgeRecord | None = None
    """Use of a judge model; None when nothing was asked."""
    history: tuple[Mapping[str, Any], ...] = ()
    """Results of earlier judging of the same evidence, oldest first; see `trials.rescoring`."""
    answer: str | None = None
    answer_format: AnswerFormat = "text"
    """The form of answer that the agent was asked for."""
    intent: str = ""
    sites: tuple[str, ...] = ()
    category: str = ""
    template: str = ""
    source: Mapping[str, Any] = field(default_factory=dict)
    """Origin of the task: suite, number and template there. Empty for tasks of YAML files."""
    tags: tuple[str, ...] = ()
    chance: float | None = None
    """Probability that a blind guess passes, from 0 to 1; None where there is nothing to guess."""
    steps: int = 0
    reference_steps: int | None = None
    """Number of steps of the task's solution, or that its data set reports; None where neither is known."""
    attempt: int = 1
    """Number of the attempt that counts: the last one, or the first whose error was not the environment's."""
    attempts: tuple[Attempt, ...] = ()
    reruns: tuple[Attempt, ...] = ()
    """Attempts after the verdict, which do not change it: the test was run again (``--reruns`` and similar)."""
    task_digest: str = ""
    agent_digest: str = ""
    sites_digest: str = ""
    isolation: str = "in-process"
    privileged: bool = False
    """Whether the agent saw the solution, so that its results show nothing about agents."""
    model: str = ""
    """Requested name of the agent's model; empty when it has none or does not report it."""
    reward_model: str = ""
    """Name of the model that reported progress to the agent after each step; empty when there was none."""
    usage: Usage | None = None
    """Model usage of the agent in the attempt that counts; None for agents that report none. See `total_usage`."""
    bill: Usage | None = None
    """The trial's usage in the run's account of model calls, where that exceeds what its attempts reported."""
    memory: MemoryUse | None = None
    """Use of memory; None for agents without one, which is the default."""
    browser: str = ""
    """Name and version of the browser program."""
    environment: Mapping[str, Any] = field(default_factory=dict)
    """Operating system, browser, viewport, locale, timezone, geolocation, scale, and the observation's settings."""
    replicas: Mapping[str, str] = field(default_factory=dict)
    """Digest of what served each app, by the app's name."""
    resets: Mapping[str, str] = field(default_factory=dict)
    """Why the replicas were reset after the trial, by app; without those that were proved unchanged and reused."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Seconds of ``lease``, ``session``, ``setup``, ``episode``, ``collect``, ``judge``, ``total``."""
    started: float = 0.0
    """Start of the trial: Unix time in seconds."""
    signed_in: Mapping[str, SignedInAtEnd] = field(default_factory=dict)
    """Sign-ins at the end of the agent's work, by site; without sites that the task visits without an account."""
    run: str = ""
    """Id of the run that the trial belongs to; empty in records of older versions."""
    manifests: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of the manifest of each attempt, by the name of its folder; empty in records of older versions."""
    accepted: tuple[Mapping[str, Any], ...] = ()
    """Changes of this file that somebody accepted: ``at`` (Unix time), ``because`` and ``outcome`` as accepted."""
    node_id: str = ""
    worker: str = ""

    @property
    def manifest(self) -> str:
        """SHA-256 of the manifest of the attempt that counts; empty where it has none."""
        return self.manifests.get(f"attempt-{self.attempt}", "")

    @property
    def undecided(self) -> bool:
        """Whether it only failed because the rules could not decide, or because an error's owner is unknown."""
        return self.outcome == "failed" and self.stop_reason != "agent_crash" and is_undecided(self.verdict)

    @property
    def earlier_attempts(self) -> tuple[Attempt, ...]:
        """The attempts before the one that counts, which ended in errors of the environment."""
        return tuple(each for each in self.attempts if each.number < self.attempt)

    @property
    def passed_after_own_error(self) -> bool:
        """Whether an error that was not the environment's ended the attempt that counts, and a later one passed."""
        return any(each.number > self.attempt and each.outcome == "passed" for each in self.attempts)

    @property
    def passed_later(self) -> bool:
        """Whether the trial failed and passed when it was run again."""
        return self.outcome == "failed" and any(each.outcome == "passed" for each in self.reruns)

    @property
    def total_usage(self) -> Usage | None:
        """Model usage of all attempts and reruns, including attempts that ended in errors or with their process.

        None where nothing is known. An attempt of unknown usage is counted in `Usage.untold_calls`.
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
        """Return plain data with a ``schema_version``."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TrialRecord:
        """Read the output of `to_json`, of this version or an older one. Raises `ValueError` for other data."""
        if not isinstance(data, Mapping):
            raise ValueError(f"expected a mapping, found {kind_of(data)}")
        version = data.get("schema_version")
        if not isinstance(version, int) or version > SCHEMA_VERSION:
            raise ValueError(f"expected a trial record of schema version {SCHEMA_VERSION} or older, found {version!r}")
        if data.get("outcome") not in get_args(Outcome):
            raise ValueError(f"outcome: expected {', '.join(get_args(Outcome))}, found {data.get('outcome')!r}")
        for name in ("score", "started", "seconds", "attempts", "reruns", "usage", "bill", "judge"):
            if (invalid := _no_number(data.get(name))) is not None:
                raise ValueError(f"{name}: expected finite numbers, found {invalid}")
        score = data.get("score")
        if score is not None and (isinstance(score, bool) or not isinstance(score, int | float)):
            raise ValueError(f"score: expected a number or null, found {kind_of(score)}")
        try:
            rest = {name: value for name, value in data.items() if name not in ("schema_version", SEAL)}
            if version < OWNED_SINCE:
                rest = with_owner(rest, UNDECIDED)
            if version < RESETS_SINCE:
                rest = with_resets(rest)
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
                    "signed_in": {
                        site: SignedInAtEnd(**found) for site, found in (data.get("signed_in") or {}).items()
                    },
                    "accepted": tuple(data.get("accepted", ())),
                    "memory": MemoryUse(**data["memory"]) if data.get("memory") else None,
                }
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"expected a trial record, found one that lacks or adds a field: {error}") from error


def _no_number(value: object) -> float | None:
    """The first number in ``value`` that is not finite: JSON reads 1e999 as infinite."""
    if isinstance(value, float):
        return None if math.isfinite(value) else value
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return next((invalid for part in parts if (invalid := _no_number(part)) is not None), None)


def is_for_people(record: TrialRecord) -> bool:
    """Return whether a trial is undecided because of a check that only people decide (the kind ``human``)."""
    results = (record.verdict or {}).get("results") or ()
    return record.undecided and any(each.get("kind") == "human" and each.get("score") is None for each in results)


def is_undecided(verdict: Mapping[str, Any] | None) -> bool:
    """Return whether a stored verdict is undecided, and a person or a judge model could decide it."""
    if (
        verdict is None
        or verdict.get("schema_version", 0) > 2
        or not any(map(_is_unsure, verdict.get("results") or ()))
    ):
        return bool(verdict and verdict.get("judgeable"))
    from pytest_webarena.checks.verdict import Verdict  # only for old records

    try:
        return Verdict.from_json(verdict).judgeable
    except (KeyError, TypeError, ValueError):
        return False


def _is_unsure(result: Mapping[str, Any]) -> bool:
    """Whether a result of version 2 counts as not met because the rules could not decide."""
    return str(result.get("why") or "").startswith("unsure: ") or any(map(_is_unsure, result.get("children") or ()))


def browser_text(data: Mapping[str, Any]) -> str:
    """Return the browser of a trial whose key has none.

    Older records have it in the browser's version, or else in the node id.
    """
    version = str(data.get("browser") or "").lower()
    words = re.findall("[a-z]+", version or str(data.get("node_id") or "").partition("[")[2])
    return next((name for name in ("firefox", "webkit") if name in words), DEFAULT_BROWSER)


def _attempt(data: Mapping[str, Any]) -> Attempt:
    return Attempt(**{**data, "usage": Usage(**data["usage"]) if data.get("usage") else None})


def _judge(data: Mapping[str, Any]) -> JudgeRecord:
    errors = JudgeErrors(**found) if (found := data.get("errors")) else None
    return JudgeRecord(**{**data, "usage": Usage(**data["usage"]), "errors": errors})
