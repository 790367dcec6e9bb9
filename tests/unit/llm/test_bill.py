"""Billing: the run's account, the client and the budget agree with the endpoint's own bill."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.errors import ModelError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.apis import APIS
from pytest_webarena.llm.client import BudgetSpent, ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.model_calls import CallTotals, ModelCalls, read_bills, read_model_calls
from tests.cases import each_case
from tests.model_server import Answer, fail, model_server, say
from tests.unit.llm.helpers import client_of, question

PRICES = "models: {priced: {input: 10, output: 100, cached_input: 2.5}}\n"
"""Dollars per million tokens: an answer of 1000 and 100 tokens costs 2 cents, with 800 of them cached 1.4."""
PLAIN, CACHED = 0.02, 0.014
API = pytest.mark.parametrize("api", ["chat", "responses"])
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])

NOTHING = say("", finish="")
"""An empty reply without a finish reason."""


def cached(api: str) -> Answer:
    sent, got = ("prompt_tokens", "completion_tokens") if api == "chat" else ("input_tokens", "output_tokens")
    return say("well", usage={sent: 1000, got: 100, f"{sent}_details": {"cached_tokens": 800}})


def script(api: str) -> list[tuple[Answer, float]]:
    """Return answers and their prices."""
    return [
        (say("well"), PLAIN),
        (say("", finish="length"), PLAIN),  # thinking used up the limit: a reply, though an empty one
        (fail(400, "no such parameter"), 0.0),
        (fail(400, "too long", code="context_length_exceeded"), 0.0),
        (fail(500), 0.0),
        (fail(429), 0.0),
        (cached(api), CACHED),
        (NOTHING, PLAIN),  # no reply: sent again
        (Answer(calls=(("stop", "{}"),), finish="length"), PLAIN),
        (say("", finish="content_filter"), PLAIN),
        (say(""), PLAIN),  # a reply, though an empty one
        (NOTHING, PLAIN),
        (fail(503), 0.0),
        (cached(api), CACHED),
    ]


@dataclass
class Endpoint:
    """Answers by a script and records the prices."""

    script: Sequence[tuple[Answer, float]]
    bill: list[float] = field(default_factory=list)

    def __call__(self, body: dict[str, Any]) -> Answer:
        answer, price = self.script[len(self.bill) % len(self.script)]
        self.bill.append(price)
        return answer


@pytest.fixture
def settings(tmp_path: Path) -> ModelSettings:
    (tmp_path / "prices.yaml").write_text(PRICES)
    return ModelSettings(calls=tmp_path / "model-calls.sqlite", prices=tmp_path / "prices.yaml")


def account(settings: ModelSettings) -> CallTotals:
    assert settings.calls is not None
    (line,) = read_model_calls(settings.calls)
    return line


def bill(settings: ModelSettings) -> Usage:
    """Return the recorded usage of the only trial."""
    assert settings.calls is not None
    [found] = read_bills(settings.calls).values()
    assert not found.reported
    return found.usage


def ask(client: ModelClient, until: Callable[[], bool]) -> None:
    """Ask repeatedly; ignore errors other than a spent budget."""
    while not until():
        with suppress(ModelError):
            client.ask(question())


@API
@STREAM
def test_every_answer_is_recorded_as_billed(settings: ModelSettings, api: Any, stream: bool) -> None:
    endpoint = Endpoint(script(api))
    with model_server(endpoint) as server:
        client = client_of(server, api=api, stream=stream, settings=settings)
        ask(client, until=lambda: len(endpoint.bill) >= len(endpoint.script))
    used, line = client.take_usage(), account(settings)
    assert line.usage.cost == pytest.approx(sum(endpoint.bill), abs=1e-9)
    assert used.cost == pytest.approx(sum(endpoint.bill), abs=1e-9)
    paid = sum(price > 0 for price in endpoint.bill)
    assert (line.usage.calls, used.calls, used.untold_calls, line.open, line.unknown) == (paid, paid, 0, 0, 0)
    assert used.cached_input_tokens == line.usage.cached_input_tokens == 1600
    assert client.take_usage() == Usage()
    assert bill(settings).cost == pytest.approx(used.cost)
    assert replace(bill(settings), cost=used.cost) == used


@pytest.mark.parametrize(("api", "max_cost"), [("chat", 0.03), ("chat", 0.074), ("responses", 0.14)])
def test_budget_ends_with_the_answer_that_exceeds_it(settings: ModelSettings, api: Any, max_cost: float) -> None:
    endpoint = Endpoint(script(api))
    bounded = replace(settings, max_cost=max_cost)
    with model_server(endpoint) as server:
        client = client_of(server, api=api, settings=bounded)
        with pytest.raises(BudgetSpent, match=r"of the run's \$"):
            ask(client, until=lambda: len(endpoint.bill) >= 100)
    assert endpoint.bill[-1] > 0
    assert sum(endpoint.bill[:-1]) < max_cost - 1e-9
    assert sum(endpoint.bill) >= max_cost - 1e-9
    assert account(settings).usage.cost == pytest.approx(sum(endpoint.bill), abs=1e-9)


COUNTS = {"prompt_tokens": 1000, "completion_tokens": 100}
UNUSABLE = {
    "two choices": json.dumps({"choices": [{"message": {}}, {"message": {}}], "usage": COUNTS}),
    "another shape": json.dumps({"choices": [{"message": {"tool_calls": 1}}], "usage": COUNTS}),
    "an error": json.dumps({"error": {"message": "overloaded", "code": 502}, "usage": COUNTS}),
    "an unknown call": json.dumps({"choices": [{"message": {"tool_calls": [{"type": "custom"}]}}], "usage": COUNTS}),
    "nested": json.dumps({"choices": [], "x": json.loads("[" * 200 + "]" * 200), "usage": COUNTS}),
}
LAST = f"data: {json.dumps({'choices': [], 'usage': COUNTS})}\n\n"
UNUSABLE_STREAMS = {
    "no end": LAST,
    "two choices": f'data: {{"choices": [{{"index": 0}}, {{"index": 1}}]}}\n\n{LAST}',
    "another shape": f'data: {{"choices": [1]}}\n\n{LAST}',
    "an error after it": f'{LAST}data: {{"error": {{"message": "overloaded"}}}}\n\n',
    "no JSON after it": f"{LAST}data: {{\n\n",
}


@pytest.mark.parametrize(
    "answer",
    [
        *(Answer(raw=text.encode()) for text in UNUSABLE.values()),
        *(
            Answer(raw=text.encode(), headers={"Content-Type": "text/event-stream"})
            for text in UNUSABLE_STREAMS.values()
        ),
    ],
    ids=[*UNUSABLE, *(f"stream: {name}" for name in UNUSABLE_STREAMS)],
)
def test_unusable_answer_is_billed_before_the_retry(settings: ModelSettings, answer: Answer) -> None:
    with model_server([answer, say("well")]) as server:
        client = client_of(server, settings=settings)
        assert client.ask(question()).text == "well"
    assert account(settings).usage.cost == pytest.approx(2 * PLAIN)
    assert client.take_usage().cost == pytest.approx(2 * PLAIN)


def test_partial_counts_of_a_cut_stream_are_not_final(settings: ModelSettings) -> None:
    counted = {"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": {**COUNTS, "completion_tokens": 1}}
    cut = Answer(raw=f"data: {json.dumps(counted)}\n\n".encode(), headers={"Content-Type": "text/event-stream"})
    with model_server([cut, say("well")]) as server:
        client = client_of(server, settings=settings)
        client.ask(question())
    line, used = account(settings), client.take_usage()
    assert (line.usage.calls, line.open, used.calls, used.untold_calls) == (1, 1, 1, 1)
    assert line.reserved > 0  # the reserved sum in the summary
    assert used.input_tokens == 2000
    assert used.cost == pytest.approx(PLAIN + 0.0101)
    assert replace(bill(settings), cost=used.cost) == used


def test_cut_stream_costs_at_least_its_partial_counts(settings: ModelSettings) -> None:
    counted = {"choices": [{"index": 0, "delta": {"content": "a"}}], "usage": {**COUNTS, "completion_tokens": 1}}
    raw = f"data: {json.dumps(counted)}\n\n".encode()
    cut = Answer(raw=raw * 3, headers={"Content-Type": "text/event-stream"}, cut=True)  # in the midst of it
    with model_server([cut, say("well")]) as server:
        client = client_of(server, settings=settings)
        client.ask(question())
    used = client.take_usage()
    assert (used.calls, used.untold_calls, used.input_tokens) == (1, 1, 2000)
    assert replace(bill(settings), cost=used.cost) == used


def test_account_file_of_an_earlier_version_is_extended(settings: ModelSettings) -> None:
    assert settings.calls is not None
    ModelCalls(settings.calls, worker="w").book(trial="t", model="m", usage=Usage(calls=3, cost=0.5), now=1.0)
    with closing(sqlite3.connect(settings.calls)) as database:
        for name in ("calls", "cached_calls", "untold_calls", "reported"):
            database.execute(f"alter table calls drop column {name}")
        database.commit()
    assert read_bills(settings.calls)["t"].usage.cost == 0.5
    ModelCalls(settings.calls, worker="w").book(
        trial="t", model="m", usage=Usage(calls=3, untold_calls=2, cost=0.25), now=2.0
    )
    [found] = read_bills(settings.calls).values()
    assert found.usage == Usage(calls=4, untold_calls=2, cost=0.75)
    assert found.reported


@each_case(
    ("counts", "output"),
    [
        ({"completion_tokens": 100, "total_tokens": 1900}, 900),
        ({"completion_tokens": 100, "total_tokens": 1900, "completion_tokens_details": {"reasoning_tokens": 800}}, 900),
        ({"total_tokens": 1384}, 384),
        ({"completion_tokens": 100, "total_tokens": 1100}, 100),
        ({"completion_tokens": 100, "total_tokens": 7}, 100),
    ],
)
def test_thinking_counted_only_in_the_total_is_billed_as_output(counts: dict[str, Any], output: int) -> None:
    used = APIS["chat"].usage({"usage": {"prompt_tokens": 1000, **counts}})
    assert (used.input_tokens, used.output_tokens, used.untold_calls) == (1000, output, 0)


def test_cached_answer_records_its_token_counts(settings: ModelSettings, tmp_path: Path) -> None:
    kept = replace(settings, cache=tmp_path / "cache")
    with model_server([cached("chat")]) as server:
        client_of(server, settings=kept).ask(question())
        later = replace(kept, calls=tmp_path / "later.sqlite")
        client = client_of(server, settings=later)
        client.ask(question())
        assert server.requests == 1
    line, used = account(later), client.take_usage()
    assert (line.usage.cached_input_tokens, used.cached_input_tokens) == (800, 800)
    assert (line.usage.cost, used.cost) == (0.0, 0.0)
    assert used.saved == pytest.approx(CACHED)


def test_empty_replies_are_billed_on_each_retry(settings: ModelSettings) -> None:
    with model_server([NOTHING]) as server:
        client = client_of(server, settings=settings)
        with pytest.raises(ModelError, match="gave up after 6 requests"):
            client.ask(question())
    assert client.take_usage().cost == pytest.approx(6 * PLAIN)
    assert account(settings).usage.cost == pytest.approx(6 * PLAIN)
