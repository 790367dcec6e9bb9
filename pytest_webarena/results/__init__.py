"""Run directories: one folder per trial, and figures that are derived from the folders.

``RunDir(path).read()`` returns the records of a run, `summarise` one summary per agent.

>>> TrialKey("sum", "oracle", 1).folder
'sum.oracle.1-7a177569'
>>> summarise([])
{}
>>> tuple(round(bound, 2) for bound in wilson_interval(8, 10))
(0.49, 0.94)
"""

from pytest_webarena.results.attempts import AttemptWriter
from pytest_webarena.results.intervals import wilson_interval
from pytest_webarena.results.records import Attempt, JudgeRecord, TrialKey, TrialRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.statistics import Rate, Summary, summarise
from pytest_webarena.results.trial_folder import TrialFolder

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
