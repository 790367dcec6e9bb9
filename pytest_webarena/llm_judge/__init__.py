"""The LLM judge: how it is asked, how its replies are read and kept, and how good it is."""

from pytest_webarena.llm_judge.config import JudgeIdentity, JudgeSettings, placed
from pytest_webarena.llm_judge.judge import Judge, JudgeSession
from pytest_webarena.llm_judge.judge_eligibility import Standing, errors, judge_facts, offs, standing

__all__ = [
    "Judge",
    "JudgeIdentity",
    "JudgeSession",
    "JudgeSettings",
    "Standing",
    "errors",
    "judge_facts",
    "offs",
    "placed",
    "standing",
]
