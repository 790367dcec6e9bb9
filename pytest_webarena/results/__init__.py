"""What a run leaves behind: one folder per trial, and what can be derived from the folders."""

from pytest_webarena.results.records import Attempt, JudgeRecord, TrialKey, TrialRecord
from pytest_webarena.results.rundir import AttemptWriter, RunDir, TrialFolder
from pytest_webarena.results.statistics import Rate, Summary, summarise, wilson_interval

__all__ = [
    "Attempt",
    "AttemptWriter",
    "JudgeRecord",
    "Rate",
    "RunDir",
    "Summary",
    "TrialFolder",
    "TrialKey",
    "TrialRecord",
    "summarise",
    "wilson_interval",
]
