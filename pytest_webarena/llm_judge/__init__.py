"""The LLM judge: its prompts, replies, cache and measured agreement with labelled answers."""

from pytest_webarena.llm_judge.config import JudgeIdentity, JudgeSettings, placed
from pytest_webarena.llm_judge.judge import Judge, JudgeSession
from pytest_webarena.llm_judge.judge_eligibility import (
    JudgeEligibility,
    errors,
    judge_eligibility_of,
    judge_facts,
    offs,
)

__all__ = [
    "Judge",
    "JudgeEligibility",
    "JudgeIdentity",
    "JudgeSession",
    "JudgeSettings",
    "errors",
    "judge_eligibility_of",
    "judge_facts",
    "offs",
    "placed",
]
