"""The summary's line about hosted data that changed during a trial without a write."""

from __future__ import annotations

from pytest_webarena.plugin.reporting.site_changes import site_change_lines
from pytest_webarena.results.records import TrialKey, TrialRecord


def record(number: int, reason: str) -> TrialRecord:
    resets = {"shop": reason} if reason else {}
    return TrialRecord(key=TrialKey("t", "a", number), outcome="passed", resets=resets)


def test_summary_names_trials_during_which_hosted_data_changed_without_a_write() -> None:
    changed = "its proof has changed: GET http://one:9999/f has 'Milk' in place of 'Tea'"
    records = [record(1, changed), record(2, "POST http://shop.test/"), record(3, ""), record(4, changed)]
    (line,) = site_change_lines(records)
    names = f"{records[0].key.folder}, {records[3].key.folder}"
    assert line.text.startswith(f"sites: changed without a write during 2 trials: {names}. Their verdicts stay; ")
    (line,) = site_change_lines([record(number, changed) for number in range(1, 9)])
    assert " and 3 more. Their verdicts stay" in line.text
    assert not list(site_change_lines(records[1:3]))
