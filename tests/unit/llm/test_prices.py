"""Price tables: precedence, patterns, errors and listed prices."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.listed_prices import ListedPrice, listed_price
from pytest_webarena.llm.prices import Price, read_prices


def test_cached_input_tokens_have_their_own_price() -> None:
    usage = Usage(calls=1, input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000)
    assert Price(input=2, output=10, cached_input=0.5).of(usage) == pytest.approx(1.2 + 0.2 + 1.0)
    assert Price(input=2, output=10).of(usage) == pytest.approx(2.0 + 1.0)


def test_user_prices_come_first_and_the_longest_pattern_wins(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        "models: {local-*: {input: 0, output: 0}, local-big*: {input: 1, output: 1}, gpt-4o: {input: 7, output: 7}}\n"
    )
    prices = read_prices(own)
    for name, dollars in (("local-7b", 0), ("local-big-2", 1), ("gpt-4o", 7), ("gpt-4o-mini", 0.15)):
        assert isinstance(price := prices.price(name), Price)
        assert price.input == dollars
    assert prices.price("local") is prices.price("gpt-4o-super") is None
    assert prices.price("nobody", "gpt-4o") is prices.price("gpt-4o")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "expected YAML"),
        ("a: [1\nb: 2", "expected ',' or ']', but got ':'"),
        ("a: 1", "expected models:"),
        ("models: {m: 3}", "m: expected {input"),
        ("models: {m: {input: 3}}", "m: expected the key 'output'"),
        ("models: {m: {inputs: 3, output: 1}}", "unknown key 'inputs'; did you mean 'input'"),
        ("models: {m: {input: -3, output: 1}}", "input: expected dollars per million tokens, found -3"),
        ("models: {m: {input: free, output: 1}}", "found 'free'"),
        ("schema_version: 9\nmodels: {}", "expected schema_version 1, found 9"),
        ("modells: {}\nmodels: {}", "unknown key 'modells'"),
    ],
)
def test_invalid_price_table_is_a_usage_error(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"price table .*p\.yaml.*" + message):
        read_prices(file)
    with pytest.raises(UsageError, match="expected a readable file"):
        read_prices(tmp_path / "none.yaml")


def test_sum_with_an_unknown_cost_is_unknown() -> None:
    known, unknown = Usage(calls=1, cost=0.5), Usage(calls=1, cost=None)
    assert (known + known).cost == 1.0
    assert (known + unknown).cost is None
    assert (known + unknown).calls == 2
    assert Usage(cost=0.0, saved=0.3).worth == 0.3
    assert Usage(cost=None, saved=0.3).worth is None


OPENROUTER = "https://openrouter.ai/api/v1"


def test_listed_price_is_used_last_and_by_endpoint(tmp_path: Path) -> None:
    """The actual prices may change; they must be positive and grow with the tokens."""
    prices = read_prices()
    name = "anthropic/claude-sonnet-4.5"
    listed = prices.price(name, url=OPENROUTER)
    assert isinstance(listed, ListedPrice)
    some, more = (listed.of(Usage(calls=1, input_tokens=count, output_tokens=10)) for count in (1000, 2000))
    cached = listed.of(Usage(calls=1, input_tokens=1000, cached_input_tokens=900, output_tokens=10))
    assert some is not None
    assert more is not None
    assert cached is not None
    assert 0 < cached < some < more < 1
    # At another endpoint the model is another product; an unlisted one has no price, which is not 0.
    for url in ("", "http://127.0.0.1:8000/v1", "https://api.openai.com/v1"):
        assert prices.price(name, url=url) is None
    assert prices.price("nonsense", url=OPENROUTER) is None
    # The tables go first.
    assert isinstance(prices.price("gpt-4o", url="https://api.openai.com/v1"), Price)
    own = tmp_path / "mine.yaml"
    own.write_text(f"models: {{{name}: {{input: 7, output: 7}}}}")
    assert read_prices(own).price(name, url=OPENROUTER) == Price(input=7, output=7)


def test_listed_price_of_zero_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    class Free:
        total_price = 0

    monkeypatch.setattr("genai_prices.calc_price", lambda *given, **named: Free())
    assert listed_price("https://api.free.test/v1", "m") is None


def test_listed_prices_need_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", None)
    assert listed_price(f"{OPENROUTER}/", "anthropic/claude-opus-4.1") is None
