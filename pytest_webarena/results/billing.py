"""What the run's account of model calls holds of each trial, for its record: attempts that left no figures included."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_webarena.llm.model_calls import Bill

if TYPE_CHECKING:
    from pytest_webarena.results.records import TrialRecord

__all__ = ["billed"]


def billed(record: TrialRecord, bill: Bill | None, *, cut_off: int = 0) -> TrialRecord:
    """``record`` with its `bill`, where that is more than its attempts have reported; else as it is.

    ``cut_off``: attempts that ended with their process. What they used is in the account as far as calls are booked as
    they are made. What an agent reports itself may come too late for that: then the bill is the least that it can be.
    """
    if bill is None:
        return record
    record = replace(record, bill=None)  # an earlier one may hold requests as open that have been settled since
    own, usage = record.total_usage, bill.usage
    if bill.reported:
        unknown = cut_off + sum(each.usage is None for each in (*record.attempts, *record.reruns))
        usage = replace(usage, untold_calls=max(usage.untold_calls, unknown))
    whole = usage.covering(own) if own is not None else usage
    return record if own is not None and own.covers(whole) else replace(record, bill=whole)
