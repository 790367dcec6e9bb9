"""Whether a run's judge may be asked, and what its reports say of it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.llm_judge.judge import NO_JUDGE
from pytest_webarena.llm_judge.measuring import KnownJudge, find_measurement

__all__ = ["Standing", "judge_facts", "standing"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is known of a judge before it is asked."""

    known: KnownJudge | None
    """Its measurement; None when it was never measured here, or there is no judge."""
    off: str
    """Why it may not be asked; empty when it may."""
    told: str
    """In a few words, for headlines."""


def standing(settings: JudgeSettings) -> Standing:
    """A measured judge has to reach the bar. One that was never measured is asked, and every report says so."""
    if not settings.model:
        return Standing(known=None, off=NO_JUDGE, told="none")
    known = find_measurement(settings.identity())
    if known is None:
        return Standing(known=None, off="", told=f"{settings.model}, not measured (webarena judge {settings.model})")
    if settings.bar and known.kappa < settings.bar:
        off = f"judge {settings.model}: {known} is below the bar of {settings.bar:g} (--judge-bar)"
        return Standing(known=known, off=off, told=f"{settings.model}, below the bar of {settings.bar:g}: {known}")
    return Standing(known=known, off="", told=f"{settings.model}, {known}")


def judge_facts(settings: JudgeSettings) -> dict[str, Any] | None:
    """For ``run.json``: which judge it is, where it is reached, how good it is known to be. None without one."""
    if not settings.model:
        return None
    identity, state = settings.identity(), standing(settings)
    return {
        **asdict(identity),
        "fingerprint": identity.fingerprint,
        "prompt_file": settings.prompt,
        "at": {"base_url": settings.endpoint.base_url, "key_env": settings.endpoint.key_env},
        "bar": settings.bar,
        "measured": asdict(state.known) if state.known is not None else None,
        "off": state.off,
    }
