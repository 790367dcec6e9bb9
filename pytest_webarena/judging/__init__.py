"""The LLM judge: how it is asked, how its replies are read and kept, and how good it is."""

from pytest_webarena.judging.config import JudgeIdentity, JudgeSettings
from pytest_webarena.judging.judge import Judge, JudgeSession, JudgeUse

__all__ = ["Judge", "JudgeIdentity", "JudgeSession", "JudgeSettings", "JudgeUse"]
