"""Costs and request rate of a run: shared by processes, kept through crashes, within the budget."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import RecordingError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.client import BudgetSpent
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.model_calls import ModelCalls, Purpose, read_bills, read_model_calls
from tests.model_server import Answer, cut_stream, fail, model_server, say
from tests.unit.llm.helpers import FakeClock, client_of, prices, question

CALL = 0.02
"""Dollars that each scripted reply costs."""


@pytest.fixture
def settings(tmp_path: Path) -> ModelSettings:
    return ModelSettings(calls=tmp_path / "model-calls.sqlite", prices=prices(tmp_path))


def spent(settings: ModelSettings) -> float:
    assert settings.calls is not None
    return sum(line.usage.cost or 0 for line in read_model_calls(settings.calls))


def test_calls_are_recorded_with_their_cost(settings: ModelSettings) -> None:
    with model_server([say("a"), say("b"), say("c")]) as server:
        client = client_of(server, settings=settings)
        assert client.ask(question()).usage.cost == pytest.approx(CALL)
        client.ask(question())
        assert client.ask(question(model="brand-new")).usage.cost is None
    assert settings.calls is not None
    new, priced = read_model_calls(settings.calls)
    assert (new.model, new.usage.calls, new.usage.cost, new.unknown) == ("brand-new", 1, None, 1)
    assert (priced.usage.calls, priced.usage.input_tokens, priced.usage.output_tokens) == (2, 2000, 200)
    assert priced.usage.cost == pytest.approx(2 * CALL)
    assert (priced.unknown, priced.open) == (0, 0)


@pytest.mark.parametrize("usage", [None, {"prompt_tokens": 0, "completion_tokens": 0}], ids=["none", "zeros"])
def test_missing_token_counts_have_an_unknown_cost(settings: ModelSettings, usage: Any) -> None:
    with model_server([say("a", usage=usage)]) as server:
        assert client_of(server, settings=settings).ask(question()).usage.cost is None


def test_calls_of_unknown_cost_use_their_estimate_of_the_budget(settings: ModelSettings) -> None:
    bounded = replace(settings, max_cost=0.25)
    with model_server([say("a", usage={"prompt_tokens": "many", "completion_tokens": None})]) as server:
        client = client_of(server, settings=bounded)
        replies = iter(lambda: client.ask(question()), None)
        with pytest.raises(BudgetSpent, match=r"of the run's \$0.25"):
            list(islice(replies, 20))
        assert 1 < server.requests < 20
    assert settings.calls is not None
    (line,) = read_model_calls(settings.calls)
    assert (line.usage.cost, line.unknown) == (None, server.requests)
    assert 0.25 <= line.assumed < 0.5


def test_judge_calls_are_recorded_separately(tmp_path: Path) -> None:
    calls = ModelCalls(tmp_path / "l.sqlite", worker="w")
    purposes: tuple[Purpose, ...] = ("agent", "judge")
    for purpose in purposes:
        ticket = calls.reserve(trial="t", purpose=purpose, model="m", estimate=0, now=0)
        calls.settle(ticket, Usage(calls=1, cost=1.0))
    assert [(line.purpose, line.usage.cost) for line in calls.lines()] == [("agent", 1.0), ("judge", 1.0)]


@pytest.mark.parametrize("workers", [1, 4, 16])
def test_budget_is_exceeded_at_most_by_the_running_calls(tmp_path: Path, workers: int) -> None:
    budget = 0.5
    settings = ModelSettings(calls=tmp_path / "l.sqlite", prices=prices(tmp_path), max_cost=budget)
    with model_server([say("x")]) as server:

        def work(number: int) -> int:
            client = client_of(server, settings=settings, worker=f"gw{number}")
            for calls in range(1000):
                try:
                    client.ask(question())
                except BudgetSpent:
                    return calls
            raise AssertionError("the budget was never spent")

        with ThreadPoolExecutor(workers) as pool:
            done = sum(pool.map(work, range(workers)))
    total = spent(settings)
    assert total == pytest.approx(done * CALL)
    assert budget - workers * CALL - 1e-9 <= total <= budget + workers * CALL + 1e-9


def test_spent_budget_error_names_the_amounts(tmp_path: Path) -> None:
    settings = ModelSettings(calls=tmp_path / "l.sqlite", prices=prices(tmp_path), max_cost=0.01)
    with model_server([say("x")]) as server:
        client = client_of(server, settings=settings)
        client.ask(question())
        with pytest.raises(BudgetSpent, match=r"\$0.0200 of the run's \$0.01 are spent"):
            client.ask(question())
        assert server.requests == 1


def _reserve_and_die(path: Path, ready: Any) -> None:
    ModelCalls(path, worker="gw0", max_cost=1.0).reserve(trial="t", purpose="agent", model="m", estimate=0.6, now=0.0)
    ready.set()
    os.kill(os.getpid(), signal.SIGKILL)


def test_open_call_of_a_killed_worker_stays_reserved(tmp_path: Path) -> None:
    path = tmp_path / "l.sqlite"
    context = multiprocessing.get_context("spawn")
    ready = context.Event()
    process = context.Process(target=_reserve_and_die, args=(path, ready))
    process.start()
    process.join(30)
    assert ready.is_set()
    assert process.exitcode == -signal.SIGKILL
    calls = ModelCalls(path, worker="gw1", max_cost=1.0)
    ticket = calls.reserve(trial="u", purpose="agent", model="m", estimate=0.6, now=0.0)
    with pytest.raises(BudgetSpent):  # the dead worker's reservation is kept
        calls.reserve(trial="v", purpose="agent", model="m", estimate=0.0, now=0.0)
    calls.settle(ticket, Usage(calls=1, cost=0.1))
    calls.reserve(trial="v", purpose="agent", model="m", estimate=0.0, now=0.0)
    (line,) = calls.lines()
    assert (line.usage.calls, line.usage.cost, line.open) == (1, 0.1, 2)


def test_failed_request_costs_nothing_and_a_cut_one_stays_open(settings: ModelSettings) -> None:
    with model_server([fail(500), cut_stream(), say("x")]) as server:
        client_of(server, settings=settings).ask(question())
    assert settings.calls is not None
    (line,) = read_model_calls(settings.calls)
    assert (line.usage.calls, line.open) == (1, 1)
    assert line.usage.cost == pytest.approx(CALL)


def test_request_rate_is_limited_over_all_workers(tmp_path: Path) -> None:
    settings = ModelSettings(calls=tmp_path / "l.sqlite", prices=prices(tmp_path), requests_per_minute=3)
    clock, sent = FakeClock(), []

    def model(body: dict[str, Any]) -> Answer:
        sent.append(clock.time)
        return say("x")

    with model_server(model) as server:
        clients = [client_of(server, settings=settings, clock=clock, worker=f"gw{n}") for n in range(2)]
        for number in range(9):
            clients[number % 2].ask(question())
            clock.time += 1.0
    windows = [sum(begin <= each < begin + 60 for each in sent) for begin in sent]
    assert max(windows) == 3
    assert sent[-1] - sent[0] == pytest.approx(122.0, abs=3)


def test_retries_count_towards_the_rate_limit(tmp_path: Path) -> None:
    settings = ModelSettings(calls=tmp_path / "l.sqlite", requests_per_minute=2)
    clock = FakeClock()
    with model_server([fail(500), fail(500), say("x")]) as server:
        client_of(server, settings=settings, clock=clock).ask(question())
    assert clock.time >= 1060.0


def test_missing_or_invalid_call_file_reads_as_empty(tmp_path: Path) -> None:
    assert read_model_calls(tmp_path / "none.sqlite") == ()
    (tmp_path / "odd.sqlite").write_text("no database")
    assert read_model_calls(tmp_path / "odd.sqlite") == ()
    assert not (tmp_path / "none.sqlite").exists()


def test_accounts_of_earlier_versions_are_read_whole(settings: ModelSettings) -> None:
    with model_server([say("a")]) as server:
        client_of(server, settings=settings).ask(question())
    assert settings.calls is not None
    totals, bills = read_model_calls(settings.calls), read_bills(settings.calls)
    assert bills
    with closing(sqlite3.connect(settings.calls)) as database:
        for name in ("cache_write_tokens", "cache_write_1h_tokens"):
            database.execute(f"alter table calls drop column {name}")
    before = settings.calls.read_bytes()
    assert (read_model_calls(settings.calls), read_bills(settings.calls)) == (totals, bills)
    assert settings.calls.read_bytes() == before


def test_unwritable_account_is_a_recording_error(tmp_path: Path) -> None:
    calls = ModelCalls(tmp_path / "run" / "l.sqlite", worker="w", max_cost=1.0)
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(RecordingError, match=r"l\.sqlite, found: unable to open database file\. Free disk space"):
        calls.reserve(trial="t", purpose="agent", model="m", estimate=0, now=0)
    with pytest.raises(RecordingError, match="unable to open"):
        calls.exhausted()
