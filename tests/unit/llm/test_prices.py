"""Price tables: the user's before the shipped one, patterns, mistakes told by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.prices import Price, read_prices


def test_tokens_of_the_prompt_cache_have_a_price_of_their_own() -> None:
    usage = Usage(calls=1, input_tokens=1_000_000, cached_input_tokens=400_000, output_tokens=100_000)
    assert Price(input=2, output=10, cached_input=0.5).of(usage) == pytest.approx(1.2 + 0.2 + 1.0)
    assert Price(input=2, output=10).of(usage) == pytest.approx(2.0 + 1.0)


def test_the_users_table_goes_first_and_the_longest_name_counts(tmp_path: Path) -> None:
    own = tmp_path / "mine.yaml"
    own.write_text(
        "models: {local-*: {input: 0, output: 0}, local-big*: {input: 1, output: 1}, gpt-4o: {input: 7, output: 7}}\n"
    )
    prices = read_prices(own)
    for name, dollars in (("local-7b", 0), ("local-big-2", 1), ("gpt-4o", 7), ("gpt-4o-mini", 0.15)):
        assert (price := prices.price(name)) is not None
        assert price.input == dollars
    assert prices.price("local") is prices.price("gpt-4o-super") is None
    assert prices.price("nobody", "gpt-4o") is prices.price("gpt-4o")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[", "expected YAML"),
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
def test_mistakes_get_a_sentence(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "p.yaml"
    file.write_text(text)
    with pytest.raises(UsageError, match=r"price table .*p\.yaml.*" + message):
        read_prices(file)
    with pytest.raises(UsageError, match="expected a readable file"):
        read_prices(tmp_path / "none.yaml")


def test_unknown_stays_unknown_in_sums() -> None:
    known, unknown = Usage(calls=1, cost=0.5), Usage(calls=1, cost=None)
    assert (known + known).cost == 1.0
    assert (known + unknown).cost is None
    assert (known + unknown).calls == 2
    assert Usage(cost=0.0, saved=0.3).worth == 0.3
    assert Usage(cost=None, saved=0.3).worth is None
