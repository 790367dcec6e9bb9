"""Eligibility of a run's judge, from its measurement, and what reports say about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, get_args

from pytest_webarena.checks.judge_protocol import QuestionKind
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import NO_JUDGE
from pytest_webarena.llm_judge.measuring import KnownJudge, find_measurement
from pytest_webarena.results.records import JudgeErrors

__all__ = ["JudgeEligibility", "errors", "judge_eligibility_of", "judge_facts", "offs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeEligibility:
    """What is known of a judge before it is asked."""

    known: KnownJudge | None
    """The judge's measurement; None when it was never measured here, or there is no judge."""
    off: str
    """Why the judge may not be asked; empty when it may."""
    summary: str
    """The judge's state in a few words, for headlines."""


_SETS: Mapping[QuestionKind, str] = {"formula": "formulas", "rubric": "rubrics", "rule": "rules"}
"""Names of the labelled sets for kinds of question that the default set does not contain."""


def judge_eligibility_of(settings: JudgeSettings, kind: QuestionKind = "equivalent") -> JudgeEligibility:
    """Return a judge's eligibility. A measured judge has to reach the required kappa.

    A judge that was never measured is asked, and every report says so.
    """
    if not settings.model:
        return JudgeEligibility(known=None, off=NO_JUDGE, summary="none")
    judge_name = f"{settings.model}{f' on {_SETS[kind]}' if kind in _SETS else ''}"
    known = find_measurement(settings.identity(kind))
    if known is None:
        more = f" --set={_SETS[kind]}" if kind in _SETS else ""
        return JudgeEligibility(
            known=None, off="", summary=f"{judge_name}, not measured (webarena judge measure {settings.model}{more})"
        )
    if settings.bar and known.kappa < settings.bar:
        off = f"judge {judge_name}: {known} is below the bar of {settings.bar:g} (--judge-min-kappa)"
        return JudgeEligibility(
            known=known, off=off, summary=f"{judge_name}, below the bar of {settings.bar:g}: {known}"
        )
    return JudgeEligibility(known=known, off="", summary=f"{judge_name}, {known}")


def offs(settings: JudgeSettings) -> Mapping[QuestionKind, str]:
    """Return why the judge may not be asked, by kind of question; each kind is measured separately."""
    kinds: tuple[QuestionKind, ...] = get_args(QuestionKind)
    return {kind: judge_eligibility_of(settings, kind).off for kind in kinds}


def errors(settings: JudgeSettings) -> Mapping[QuestionKind, JudgeErrors]:
    """Return how often the judge was right about labelled answers, by kind of question, where it was measured."""
    if not settings.model:
        return {}
    kinds: tuple[QuestionKind, ...] = get_args(QuestionKind)
    found = ((kind, judge_eligibility_of(settings, kind).known) for kind in kinds)
    return {kind: known.errors for kind, known in found if known is not None and known.errors is not None}


def judge_facts(settings: JudgeSettings) -> dict[str, Any] | None:
    """Return the judge's facts for ``run.json``: identity, endpoint, measurement. None without a judge."""
    if not settings.model:
        return None
    identity, state = settings.identity(), judge_eligibility_of(settings)
    return {
        **asdict(identity),
        "fingerprint": identity.fingerprint,
        "prompt_file": settings.prompt,
        "at": {"base_url": settings.endpoint.base_url, "key_env": settings.endpoint.key_variable},
        "bar": settings.bar,
        "measured": asdict(state.known) if state.known is not None else None,
        "off": state.off,
        **({"others": others} if (others := _others(settings)) else {}),
    }


def _others(settings: JudgeSettings) -> dict[str, Any]:
    """The judge's measurements with other sets of labelled answers."""
    found = {kind: judge_eligibility_of(settings, kind) for kind in _SETS}
    return {
        kind: {"prompt": settings.identity(kind).prompt, "measured": asdict(state.known), "off": state.off}
        for kind, state in found.items()
        if state.known is not None
    }
