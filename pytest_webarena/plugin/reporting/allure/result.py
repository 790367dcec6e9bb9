"""Allure results from trial records."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from allure_commons.model2 import Label, Parameter, StatusDetails, TestResult
from allure_commons.utils import host_tag

from pytest_webarena.checks.render import first_missed
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.owners import CAUSED_BY_AGENT
from pytest_webarena.plugin.reporting.allure.steps import attempt_evidence, attempt_files, attempt_steps
from pytest_webarena.plugin.reporting.outcomes import SkipKind
from pytest_webarena.results.attempts import TRACE
from pytest_webarena.results.explaining import Explained, Passed, explain
from pytest_webarena.results.gradings import verdicts_of, words_of
from pytest_webarena.results.key_node_views import standalone, timeline
from pytest_webarena.results.records import UNDECIDED
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.trial_outcome import Kind, reported_outcome
from pytest_webarena.results.wording import (
    CAUSE_WORDS,
    STOP_WORDS,
    cost_words,
    judge_words,
    memory_words,
    reset_words,
    seconds_words,
    sign_in_words,
    usage_words,
)
from pytest_webarena.text import printable, shorten

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import CheckResult
    from pytest_webarena.plugin.reporting.allure.files import Attachments
    from pytest_webarena.plugin.reporting.allure.identity import Identity
    from pytest_webarena.results import Attempt, TrialRecord
    from pytest_webarena.results.plan import PlannedTrial

__all__ = [
    "SKIP_KINDS",
    "STATUSES",
    "Reported",
    "earlier_results",
    "identify",
    "mark_skipped",
    "planned_result",
    "status_details",
    "trial_result",
]

UNSURE_FAULT = "undecided: the oracle failed this task, too"
_PHASES = ("lease", "session", "setup", "episode", "collect")
STATUSES: Mapping[Kind, str] = {"passed": "passed", "failed": "failed", "undecided": "unknown", "error": "broken"}
"""Allure's status of each outcome. Undecided trials are neither failed nor passed."""
SKIP_KINDS: Mapping[SkipKind, tuple[str, str]] = {
    "skipped": ("skipped", "Skipped"),
    "not run": ("skipped", "Not run, a prerequisite is missing"),
    "not needed": ("skipped", "Not needed, the rates were settled"),
    "undecided, not run": (STATUSES["undecided"], "Undecided, stopped after errors of its agent or environment"),
}
"""Allure's status and category of each kind of trial without a record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A trial to report."""

    record: TrialRecord
    folder: Path
    """The trial's folder."""
    identity: Identity
    root: Path
    """The folder of relative node ids."""

    @property
    def attempt(self) -> Path:
        """Folder of the attempt that counts."""
        return self.folder / f"attempt-{self.record.attempt}"


def trial_result(trial: Reported, files: Attachments, environment: Mapping[str, str] = os.environ) -> TestResult:
    """Return the result of the attempt that counts."""
    record = trial.record
    total = record.seconds.get("total", 0.0)
    result = TestResult(
        uuid=str(uuid4()),
        status=STATUSES[reported_outcome(record).kind],
        statusDetails=status_details(record),
        description=printable("\n\n".join(_description(trial))),
        start=round(record.started * 1000),
        stop=round((record.started + total) * 1000),
    )
    identify(result, trial.identity)
    if (used := record.total_usage) is not None:
        # Excluded from the identity of a trial: Allure must not treat a test with another price as a different one.
        model_facts = {"model": record.model or "", "cost": cost_words(used)}
        model_facts |= {"tokens in": str(used.input_tokens), "tokens out": str(used.output_tokens)}
        result.parameters += [
            Parameter(name=name, value=value, excluded=True) for name, value in model_facts.items() if value
        ]
    if record.resets:
        value = printable(reset_words(record.resets))
        result.parameters.append(Parameter(name="reset after", value=value, excluded=True))
    verdicts = verdicts_of(record)
    if verdicts:
        result.labels.append(Label(name="grading", value=record.grading))
    if len(verdicts) > 1:
        words = {f"graded {name}": word for name, word in words_of(record).items()}
        result.parameters += [Parameter(name=name, value=value, excluded=True) for name, value in words.items()]
        if {True, False} <= set(verdicts.values()):
            result.labels.append(Label(name="tag", value="gradings-disagree"))
    result.labels.append(Label(name="outcome", value=reported_outcome(record).label))
    result.labels.append(Label(name="host", value=host_tag()))
    result.labels.append(Label(name="thread", value=record.worker or "main"))
    result.links += trial.identity.links(trial.root, environment)
    evidence = attempt_evidence(trial.attempt)
    result.steps += attempt_steps(
        trial.attempt,
        started=record.started,
        seconds=record.seconds,
        verdict=_verdict(record),
        answer=record.answer,
        evidence=evidence,
        files=files,
    )
    if nodes := timeline(record):
        result.attachments.append(files.text("Key nodes", standalone("Key nodes", nodes), ".html"))
    if record.outcome == "failed" and (found := _compared(trial)) is not None:
        title = f"Compared with {found.passed.agent}, trial {found.passed.trial}, which passed"
        result.attachments.append(files.text(title, printable("\n".join(found.lines(120)))))
    result.attachments += attempt_files(trial.attempt, evidence, files)
    return result


def _compared(trial: Reported) -> Explained | None:
    """Compare the trial with one of the same task that has passed so far in its run."""
    run = RunDir(trial.folder.parent.parent)
    passed = Passed(run.of_task(trial.record.key.task), run.steps_of)
    return explain((trial.record, run.steps_of(trial.record)), passed.of(trial.record.key.task))


def planned_result(trial: PlannedTrial, identity: Identity, at: float) -> TestResult | None:
    """Return the result of a planned trial that was not run; None if the plan has no reason. ``at`` is a Unix time."""
    reasons: dict[SkipKind, str] = {
        "undecided, not run" if trial.undecided else "not run": trial.stopped,
        "not needed": trial.decided,
        "skipped": trial.skipped,
    }
    for kind, reason in reasons.items():
        if reason:
            result = TestResult(uuid=str(uuid4()), start=round(at * 1000), stop=round(at * 1000))
            identify(result, identity)
            mark_skipped(result, kind, reason)
            return result
    return None


def mark_skipped(result: TestResult, kind: SkipKind, reason: str) -> None:
    """Give the result of a trial that was not run the status, label and message of its kind, with the reason."""
    result.status = SKIP_KINDS[kind][0]
    result.statusDetails = StatusDetails(message=printable(f"{kind}: {reason}"))
    result.labels.append(Label(name="outcome", value=kind))


def earlier_results(trial: Reported, files: Attachments) -> Iterator[TestResult]:
    """Yield results of the attempts that did not count, which Allure treats as retries of the trial."""
    for attempt in trial.record.earlier_attempts:
        yield trial_result(replace(trial, record=_as_record(trial.record, attempt)), files)


def identify(result: TestResult, identity: Identity) -> None:
    """Set a result's names, ids, parameters and labels."""
    result.name = identity.title
    result.fullName = identity.full_name
    result.titlePath = identity.title_path
    result.testCaseId = identity.test_case_id
    result.historyId = identity.history_id
    result.parameters = identity.parameters()
    result.labels = identity.labels()


def status_details(record: TrialRecord) -> StatusDetails | None:
    """Return a short message, which starts with the outcome, and the full text; None for a plain passed trial."""
    outcome = reported_outcome(record)
    if outcome.kind == "passed":
        return StatusDetails(message=outcome.words) if outcome.detail else None
    if outcome.kind == "error":
        return StatusDetails(message=printable(f"{outcome.words}: {record.message}"), trace=None)
    first = record.message.partition("\n")[0].removeprefix(UNDECIDED)
    reasons = first if outcome.kind == "undecided" else _reasons(record)
    return StatusDetails(message=printable(f"{outcome.words}: {reasons}"), trace=printable(record.message))


def _reasons(record: TrialRecord) -> str:
    """The first check that fails, and the number of other failed ones."""
    verdict = _verdict(record)
    missed = [leaf for result in verdict.results for leaf in _missed(result)] if verdict is not None else []
    if record.stop_reason in {"agent_crash", *CAUSED_BY_AGENT} or not missed:
        return record.message.partition("\n")[0]
    first = missed[0]
    lines = [first_missed(first) or f"{first.kind}: {first.why or 'failed'}"]
    lines += [
        f"{name:<9}{shorten(text)}" for name, text in (("expected", first.expected), ("found", first.actual)) if text
    ]
    if len(missed) > 1:
        more = len(missed) - 1
        lines.append(f"and {more} more check{'s' * (more > 1)} that fail{'s' * (more == 1)}")
    return "\n".join(lines)


def _missed(check: CheckResult) -> Iterator[CheckResult]:
    """The innermost checks that fail; a failed ``not`` counts as one check."""
    if check.passed:
        return
    below = [each for child in check.children for each in _missed(child)]
    yield from below or [check]


def _description(trial: Reported) -> Iterator[str]:
    record = trial.record
    yield _summary(record)
    unsure = _is_suspect(trial)
    if unsure:
        yield "**The oracle failed this task, too: its checks are suspect.**"
    if record.answer:
        yield f"Answer:\n\n{_fenced(record.answer)}"
    if record.earlier_attempts:
        lines = [
            f"{attempt.number}. {attempt.cause or attempt.outcome}: {_inline(attempt.message)}"
            for attempt in record.earlier_attempts
        ]
        yield "Tried again, on fresh sites, after\n\n" + "\n".join(lines)
    facts = {
        "whose fault": UNSURE_FAULT if unsure else reported_outcome(record).fault,
        "task": f"`{record.key.task}` in `{trial.identity.source}`",
        "agent": f"`{record.key.agent}`" + (" (sees the solution)" if record.privileged else ""),
        "model": f"`{record.model}`" if record.model else "",
        "reward model": f"`{record.reward_model}`" if record.reward_model else "",
        "model use": ", ".join(usage_words(used)) if (used := record.total_usage) is not None else "",
        "signed in at the end": _inline(signed_in) if (signed_in := sign_in_words(record.signed_in)) else "",
        "memory": _inline(memory_words(record.memory)) if record.memory is not None else "",
        "judge": ", ".join(judge_words(record.judge)) if record.judge is not None else "",
        "judged before": ", then ".join(_before(each) for each in record.history),
        "isolation": record.isolation,
        "browser": record.browser,
        "time": ", ".join(
            f"{name} {seconds_words(value)}" for name, value in record.seconds.items() if name in _PHASES
        ),
        "record": f"`{trial.folder.name}`",
        "trace": f"`npx playwright show-trace {trial.folder.name}/{trial.attempt.name}/{TRACE}`"
        if (trial.attempt / TRACE).is_file()
        else "",
    }
    yield "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def _is_suspect(trial: Reported) -> bool:
    """Whether an agent's trial failed, and one of an agent that sees the solution has failed the task so far, too."""
    if trial.record.privileged or reported_outcome(trial.record).kind != "failed":
        return False
    others = RunDir(trial.folder.parent.parent).of_task(trial.record.key.task)
    return any(each.privileged and reported_outcome(each).kind == "failed" for each in others)


def _before(earlier: Mapping[str, Any]) -> str:
    """One line of a record's history."""
    cause = f" ({earlier['cause']})" if earlier["cause"] else ""
    judge = f" with judge {earlier['judge']['model']}" if earlier["judge"] else ""
    return f"{earlier['outcome']}{cause}{judge}"


def _summary(record: TrialRecord) -> str:
    parts = []
    if record.stop_reason is not None:
        words = STOP_WORDS.get(record.stop_reason, record.stop_reason)
        parts.append(f"{words[0].upper()}{words[1:]} after {record.steps} step{'s' * (record.steps != 1)}")
    elif record.steps:
        parts.append(f"{record.steps} step{'s' * (record.steps != 1)}")
    if "total" in record.seconds:
        parts.append(seconds_words(record.seconds["total"]))
    if record.score is not None:
        parts.append(f"score {record.score:.3g}")
    if record.cause is not None:
        parts.append(f"no result: {CAUSE_WORDS[record.cause]}")
    words = reported_outcome(record).words
    return f"**{words[0].upper()}{words[1:]}.** " + " · ".join(parts)


def _as_record(record: TrialRecord, attempt: Attempt) -> TrialRecord:
    """An earlier attempt in the form of a record."""
    return replace(
        record,
        outcome=attempt.outcome,
        cause=attempt.cause,
        message=attempt.message,
        attempt=attempt.number,
        attempts=(attempt,),
        usage=attempt.usage,
        bill=None,
        started=attempt.started or record.started - 1,  # Allure treats the latest one as the result
        seconds={"total": attempt.seconds},
        score=None,
        verdict=None,
        answer=None,
        stop_reason=None,
        steps=0,
    )


def _verdict(record: TrialRecord) -> Verdict | None:
    if record.verdict is None:
        return None
    try:
        return Verdict.from_json(record.verdict)
    except (ValueError, KeyError, TypeError):
        return None


def _fenced(text: str) -> str:
    """A code block that its text can't end early."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text}\n{fence}"


def _inline(text: str) -> str:
    return "`" + " ".join(text.split()).replace("`", "'")[:300] + "`"
