"""Costs of a trial: the sum of its attempts, or a lower bound if calls have no reported cost."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.evidence import Usage
from pytest_webarena.llm.model_calls import ModelCalls, Ticket, calls_of
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.results import RunDir
from pytest_webarena.results.comparing.sides import side_of
from pytest_webarena.results.export import results_csv
from pytest_webarena.results.records import Attempt, TrialKey, TrialRecord
from pytest_webarena.results.statistics import summarise
from pytest_webarena.results.wording import usage_words

CALL = Usage(calls=1, input_tokens=1000, output_tokens=100, cost=0.02)


def record(*used: Usage | None, reruns: tuple[Usage, ...] = (), **more: Any) -> TrialRecord:
    """Return the record of a trial with one attempt for each of ``used``; the last one counts."""
    attempts = tuple(Attempt(number=number, outcome="error", usage=each) for number, each in enumerate(used, start=1))
    again = tuple(
        Attempt(number=number, outcome="passed", usage=each) for number, each in enumerate(reruns, start=len(used) + 1)
    )
    return TrialRecord(
        **{
            "key": TrialKey("t", "a", 1), "outcome": "passed", "model": "m", "usage": used[-1],
            "attempts": attempts, "attempt": len(used), "reruns": again, **more,
        }
    )  # fmt: skip


def cost_lines(*records: TrialRecord) -> str:
    lines = " ".join(line.text for line in summary_lines(summarise(records).values()))
    return " ".join(lines.split())


def row(each: TrialRecord) -> dict[str, str]:
    (found,) = csv.DictReader(io.StringIO(results_csv([each])))
    return found


def test_trial_cost_is_the_sum_of_its_attempts() -> None:
    tried = record(CALL + CALL, CALL)
    assert TrialRecord.from_json(tried.to_json()) == tried
    assert tried.total_usage == CALL + CALL + CALL
    assert summarise([tried])["a"].usage == CALL + CALL + CALL
    assert "cost $0.0600, 3,000 tokens in, 300 out, 3 calls" in cost_lines(tried)
    assert (row(tried)["cost"], row(tried)["model_calls"], row(tried)["input_tokens"]) == ("0.06", "3", "3000")
    ((attempt,),) = [each.tries for each in side_of("a", [tried], run="r").tasks.values()]
    assert attempt.cost == pytest.approx(0.06)
    assert attempt.tokens == 3300
    assert record(CALL, reruns=(CALL, CALL)).total_usage == CALL + CALL + CALL


def test_unstarted_attempt_costs_nothing_and_unreported_is_unknown() -> None:
    assert record(Usage(), CALL).total_usage == CALL
    assert record(CALL, Usage(), usage=None).total_usage == CALL
    assert record(None, CALL).total_usage == CALL + Usage(untold_calls=1)
    assert record(None, None).total_usage is None
    older = replace(record(None), usage=CALL)  # a version that recorded no usage of attempts
    assert older.total_usage == CALL


def test_calls_without_reported_cost_make_cost_a_lower_bound() -> None:
    lost = record(CALL + Usage(untold_calls=2))
    assert usage_words(lost.usage or CALL)[0] == "at least $0.0200"
    assert "cost at least $0.0200, 1,000 tokens in, 100 out, 1 call, 2 calls without a reported cost" in cost_lines(
        lost
    )
    assert (row(lost)["cost"], row(lost)["calls_without_cost"]) == ("", "2")
    assert (row(record(CALL))["cost"], row(record(CALL))["calls_without_cost"]) == ("0.02", "0")
    ((attempt,),) = [each.tries for each in side_of("a", [lost], run="r").tasks.values()]
    assert attempt.cost is None  # so a gate refuses to compare it


def test_unknown_cost_reports_its_actual_reason() -> None:
    uncounted, unpriced = Usage(calls=1, untold_calls=1, cost=None), replace(CALL, cost=None)
    text = cost_lines(record(CALL), record(uncounted, key=TrialKey("u", "a", 1)))
    assert "unknown cost" in text
    assert "1 call without a reported cost" in text
    assert "no price" not in text
    assert "no price for m (--prices)" in cost_lines(record(unpriced))
    assert "no price for the model (--prices)" in cost_lines(record(unpriced, model=""))


def account(run: Path) -> ModelCalls:
    return ModelCalls(calls_of(run), worker="gw0")


def booked(run: Path, *, settled: bool = True, purpose: Any = "agent") -> Ticket:
    """Book a call of the trial as a model agent does."""
    ticket = account(run).reserve(trial=TrialKey("t", "a", 1).folder, purpose=purpose, model="m", estimate=1.0, now=1.0)
    if settled:
        account(run).settle(ticket, CALL)
    return ticket


def test_trial_cost_includes_booked_calls_of_lost_attempts(tmp_path: Path) -> None:
    """Attempts of a dead worker and before ``--resume`` are not among the record's attempts."""
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    folder.begin(worker="gw0", node_id="n")
    booked(tmp_path)
    open_one = booked(tmp_path, settled=False)
    booked(tmp_path, purpose="judge")  # which is billed apart
    number = folder.begin(worker="gw0", node_id="n").number
    booked(tmp_path)
    attempt = Attempt(number=number, outcome="passed", usage=CALL)
    whole = folder.finish(record(CALL, attempt=number, attempts=(attempt,)))
    assert whole.total_usage == CALL + CALL + Usage(untold_calls=1)
    assert folder.read() == whole
    assert "cost at least $0.0400" in cost_lines(whole)
    account(tmp_path).settle(open_one, CALL)  # by a thread that was still running
    RunDir(tmp_path).settle()
    (settled,) = RunDir(tmp_path).records()
    assert settled.total_usage == CALL + CALL + CALL
    assert "cost $0.0600" in cost_lines(settled)


def test_record_of_dead_worker_takes_cost_from_account(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    number = folder.begin(worker="gw0", node_id="n").number
    booked(tmp_path)
    attempt = Attempt(number=number, outcome="error", cause="harness")
    found = folder.finish(record(None, outcome="error", attempt=number, attempts=(attempt,)))
    assert found.total_usage == CALL


def test_complete_record_has_no_bill(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    folder.begin(worker="gw0", node_id="n")
    for _ in range(3):
        booked(tmp_path)
    found = folder.finish(record(CALL + CALL, CALL))
    assert found.bill is None
    again = folder.finish(replace(found, attempt=1, attempts=()), since=0.0)
    assert again.total_usage == CALL + CALL + CALL


def test_reported_usage_is_lower_bound_if_an_attempt_was_cut_off(tmp_path: Path) -> None:
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    for _ in range(2):
        folder.begin(worker="gw0", node_id="n")
        account(tmp_path).book(trial=folder.key.folder, model="m", usage=CALL + CALL, now=1.0)
    attempt = Attempt(number=2, outcome="passed", usage=CALL + CALL)
    found = folder.finish(record(CALL + CALL, attempt=2, attempts=(attempt,)))
    assert found.total_usage == CALL + CALL + CALL + CALL + Usage(untold_calls=1)


LOST = Attempt(number=1, outcome="error", cause="harness", message="the worker gw0 died")
TRIED = Attempt(number=1, outcome="error", cause="site", started=1.0, seconds=1.0, usage=CALL)


@pytest.mark.parametrize(
    ("earlier", "died"), [((LOST,), 1), ((TRIED, replace(LOST, number=2)), 1), ((TRIED, replace(TRIED, number=2)), 0)]
)
def test_dead_attempt_with_a_written_record_is_counted(tmp_path: Path, earlier: tuple[Attempt, ...], died: int) -> None:
    """With xdist, the controller writes a record for the dead worker's attempt; recorded retries did not die."""
    folder = RunDir(tmp_path).folder(TrialKey("t", "a", 1))
    for _ in earlier:
        folder.begin(worker="gw0", node_id="n")
        account(tmp_path).book(trial=folder.key.folder, model="m", usage=CALL, now=1.0)
    folder.finish(replace(record(None, attempt=len(earlier), attempts=earlier), outcome="error", cause="harness"))
    folder.begin(worker="main", node_id="n")
    last = Attempt(number=len(earlier) + 1, outcome="passed", started=2.0, seconds=1.0, usage=CALL)
    account(tmp_path).book(trial=folder.key.folder, model="m", usage=CALL, now=2.0)
    found = folder.finish(record(CALL, attempt=last.number, attempts=(last,)))
    assert folder.cut_off(found) == died
    assert found.total_usage == sum([CALL] * len(earlier), CALL) + Usage(untold_calls=died)
