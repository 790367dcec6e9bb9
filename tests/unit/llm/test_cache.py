"""The response cache: the same request of the same trial gets the same reply without cost."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena import secrets
from pytest_webarena.errors import ModelError
from pytest_webarena.llm.cache import ResponseCache
from pytest_webarena.llm.client import RequestRejected
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.messages import Sampling, Schema
from pytest_webarena.llm.model_calls import read_model_calls
from tests.model_server import Answer, ModelServer, fail, model_server, say
from tests.unit.llm.helpers import client_of, prices, question


@pytest.fixture
def settings(tmp_path: Path) -> ModelSettings:
    return ModelSettings(cache=tmp_path / "cache", calls=tmp_path / "model-calls.sqlite", prices=prices(tmp_path))


def numbered() -> Any:
    """A model with a different reply each time."""
    count = iter(range(1000))
    return lambda body: say(f"reply {next(count)}")


def replies_to(server: ModelServer, settings: ModelSettings, trial: str, *questions: Any) -> list[str]:
    client = client_of(server, settings=settings, trial=trial)
    return [client.ask(each).text for each in questions]


def test_rerun_is_answered_from_the_cache(settings: ModelSettings, tmp_path: Path) -> None:
    with model_server(numbered()) as server:
        first = replies_to(server, settings, "t1", question("a"), question("a"), question("b"))
        assert first == ["reply 0", "reply 1", "reply 2"]  # equal requests of one trial stay apart
        later = replace(settings, calls=tmp_path / "later.sqlite")
        assert replies_to(server, later, "t1", question("a"), question("a"), question("b")) == first
        assert server.requests == 3
    assert later.calls is not None
    (line,) = read_model_calls(later.calls)
    assert (line.usage.calls, line.usage.cached_calls, line.usage.cost) == (3, 3, 0.0)
    assert line.usage.saved == pytest.approx(0.06)
    assert line.usage.input_tokens == 3000


@pytest.mark.parametrize(
    ("trial", "other"),
    [
        ("t2", question("a")),
        ("t1", question("A")),
        ("t1", question("a", model="other")),
        ("t1", question("a", sampling=Sampling(temperature=0.5))),
        ("t1", question("a", extra={"user": "x"})),
    ],
    ids=["another trial", "another text", "another model", "another sampling", "another key"],
)
def test_different_request_is_not_answered_from_the_cache(settings: ModelSettings, trial: str, other: Any) -> None:
    with model_server(numbered()) as server:
        replies_to(server, settings, "t1", question("a"))
        assert replies_to(server, settings, trial, other) == ["reply 1"]


def test_streamed_and_whole_replies_share_the_cache(settings: ModelSettings) -> None:
    with model_server([Answer(text="x", calls=(("click", '{"element": "4"}'),))]) as server:
        first = client_of(server, settings=settings, stream=True).ask(question())
        again = client_of(server, settings=settings, stream=False).ask(question())
    assert server.requests == 1
    assert (again.text, again.tool_calls, again.usage.cached_calls) == (first.text, first.tool_calls, 1)


def test_faults_are_not_cached(settings: ModelSettings) -> None:
    with model_server([fail(400)]) as server, pytest.raises(ModelError):
        replies_to(server, settings, "t1", question("a"))
    with model_server([fail(500), say("well")]) as server:
        assert replies_to(server, settings, "t1", question("a")) == ["well"]


@pytest.mark.parametrize("code", ["context_length_exceeded", "content_filter"])
def test_content_rejections_are_cached(settings: ModelSettings, code: str) -> None:
    def rejection(server: ModelServer) -> tuple[str, str]:
        with pytest.raises(RequestRejected) as raised:
            replies_to(server, settings, "t1", question("a"))
        return str(raised.value), raised.value.rejection

    with model_server([fail(400, "refused", code=code), fail(500)]) as server:
        assert rejection(server) == rejection(server)
        assert server.requests == 1


def test_refusal_of_structured_outputs_is_cached(settings: ModelSettings) -> None:
    schema = Schema(name="s", schema={"type": "object"})
    with model_server([fail(400, "response_format is not supported"), say("{}"), fail(500)]) as server:
        for _ in range(2):
            assert replies_to(server, settings, "t1", question("a", schema=schema)) == ["{}"]
        assert server.requests == 2


def test_cached_billed_rejection_counts_as_saved(settings: ModelSettings) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
    billed = {"error": {"code": "content_filter", "message": "blocked"}, "usage": usage}
    with model_server([Answer(raw=json.dumps(billed).encode()), fail(500)]) as server:
        used = []
        for _ in range(2):
            client = client_of(server, settings=settings, trial="t1")
            with pytest.raises(RequestRejected):
                client.ask(question("a"))
            used.append(client.take_usage())
    totals = [(each.calls, each.cached_calls, each.cost, each.saved) for each in used]
    assert totals == [
        (1, 0, 0.02, 0.0),
        (1, 1, 0.0, 0.02),
    ]


def test_reply_with_a_secret_is_not_cached(settings: ModelSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", secrets.Known())
    secrets.mark("opensesame")
    with model_server([say("it is opensesame"), say("it is gone")]) as server:
        assert replies_to(server, settings, "t1", question("a")) == ["it is opensesame"]
        assert replies_to(server, settings, "t1", question("a")) == ["it is gone"]


def test_damaged_cache_entry_is_requested_again(settings: ModelSettings) -> None:
    assert settings.cache is not None
    with model_server(numbered()) as server:
        replies_to(server, settings, "t1", question("a"))
        (file,) = settings.cache.rglob("*.json")
        file.write_text(file.read_text()[:40])
        assert replies_to(server, settings, "t1", question("a")) == ["reply 1"]
        assert replies_to(server, settings, "t1", question("a")) == ["reply 1"]


def test_concurrent_writers_leave_complete_entries(tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path)
    texts = [str(number) * 20_000 for number in range(8)]
    entries = []

    def work(number: int) -> None:
        for _ in range(20):
            cache.put("ab12", {"text": texts[number]}, about={})
            entries.append(cache.get("ab12"))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    assert len(entries) == 160
    assert all(each is not None and each["text"] in texts for each in entries)
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["ab12.json"]


def test_unwritable_cache_is_ignored(settings: ModelSettings) -> None:
    assert settings.cache is not None
    settings.cache.write_text("a file, no folder")
    with model_server(numbered()) as server:
        assert replies_to(server, settings, "t1", question("a")) == ["reply 0"]
