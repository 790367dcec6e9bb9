"""The run's account of model calls for each trial's record, including attempts that left no figures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.llm.model_calls import Bill

if TYPE_CHECKING:
    from pytest_webarena.results.records import TrialRecord

__all__ = ["billed"]


def billed(record: TrialRecord, bill: Bill | None, *, cut_off: int = 0) -> TrialRecord:
    """Return ``record`` with its `bill`, where that exceeds what its attempts reported; else unchanged.

    ``cut_off`` is the number of attempts that ended with their process. The account has their usage as far as calls are
    entered when they are made. An agent's own report may come too late; then the bill is a lower bound.
    """
    if bill is None:
        return record
    record = replace(record, bill=None)  # an earlier bill may include open requests that were settled since
    own, usage = record.total_usage, bill.usage
    if bill.reported:
        unknown = cut_off + sum(each.usage is None for each in (*record.attempts, *record.reruns))
        usage = replace(usage, untold_calls=max(usage.untold_calls, unknown))
    whole = usage.covering(own) if own is not None else usage
    return record if own is not None and own.covers(whole) else replace(record, bill=whole)
