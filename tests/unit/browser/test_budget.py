"""Token counters, and cuts at the borders of elements."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.budget import compose, cut_lines
from pytest_webarena.browser.observation.tokens import estimate, token_counter
from pytest_webarena.errors import UsageError
from tests.cases import each_case

HEAD = "Tab 0 (current): A"


def halves(text: str) -> int:
    """A counter of ours: one token for two characters."""
    return -(-len(text) // 2)


class Bytes:
    """A codec of ours: one token a byte."""

    @staticmethod
    def encode(text: str) -> list[int]:
        return list(text.encode())

    @staticmethod
    def decode(ids: list[int]) -> str:
        return bytes(ids).decode(errors="replace")


@pytest.fixture
def counters(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("my_counters")
    vars(module).update(halves=halves, bytes=Bytes, nothing=None)
    monkeypatch.setitem(sys.modules, "my_counters", module)
    token_counter.cache_clear()


@each_case(
    ("text", "tokens"),
    [
        ("", 0),
        ("link", 1),
        ("two words", 2),
        ("internationalisation", 4),
        ("1234567", 3),
        ("'", 1),
        ("你好", 2),
        ("\n\t", 1),
    ],
)
def test_the_estimate(text: str, tokens: int) -> None:
    assert estimate(text) == tokens


@settings(max_examples=50)
@given(st.text(max_size=60), st.text(max_size=60))
def test_the_estimate_grows_with_the_text(one: str, other: str) -> None:
    assert 0 <= estimate(one) <= estimate(f"{one} {other}")
    assert estimate(one) <= len(one)


def test_counters_of_ones_own(counters: None) -> None:
    counter = token_counter("python:my_counters:halves")
    assert (counter.count("abcde"), counter.head("abcde", 2)) == (3, "abcd")
    codec = token_counter("python:my_counters:bytes")
    assert (codec.count("né"), codec.head("né", 2), codec.head("né", 3)) == (3, "n", "né")


def test_a_tokenizer_file(tmp_path: Path) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(models.WordLevel({"a": 0, "b": 1, "?": 2}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    counter = token_counter(f"tokenizers:{tmp_path / 'tokenizer.json'}")
    assert (counter.count("a b a"), counter.head("a b a", 2)) == (3, "a b")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("estimat", "no counter 'estimat'; did you mean 'estimate'? known: estimate, python:MODULE:NAME, "),
        ("tiktoken:", "no counter 'tiktoken:'"),
        ("python:my_counters", "no counter 'python:my_counters'"),
        ("python:my_counters:other", "expected a function, found none: "),
        ("python:no_such_module:x", "expected a function, found none: No module named 'no_such_module'"),
        ("python:my_counters:nothing", "expected a function from a text to a number, found None"),
    ],
)
def test_counters_that_there_are_not(counters: None, name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        token_counter(name)
    assert message in str(caught.value)


@pytest.mark.parametrize("package", ["tiktoken", "tokenizers"])
def test_packages_that_are_not_installed(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    token_counter.cache_clear()
    with pytest.raises(UsageError, match=f"{package} is not installed; run: pip install {package}"):
        token_counter(f"{package}:x")


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=20), min_size=1), st.integers(30, 100))
def test_a_cut_by_tokens_keeps_whole_lines(lines: list[str], most: int) -> None:
    text = "\n".join(lines)
    cut = cut_lines(text, most, estimate)
    assert estimate(cut) <= most
    if cut != text:
        assert cut.split("\n")[:-1] == text.removesuffix("\n").split("\n")[: cut.count("\n")]


def test_one_form_follows_the_head_and_several_have_titles() -> None:
    one = compose(HEAD, {"html": ("<p> x",)}, ObservationConfig())
    assert one == f"{HEAD}\n\n<p> x"
    two = compose(HEAD, {"accessibility_tree": ("[1] x",), "html": ("<p> x",)}, ObservationConfig())
    assert two == f"{HEAD}\n\nAccessibility tree:\n[1] x\n\nHTML:\n<p> x"
    assert compose(HEAD, {}, ObservationConfig()) == HEAD


def test_forms_share_a_budget() -> None:
    forms = {"accessibility_tree": tuple(f"[{n}] link 'x'" for n in range(100)), "html": ("<p> short",)}
    text = compose(HEAD, forms, ObservationConfig(max_chars=500))
    assert 400 < len(text) <= 500
    tree, html = text.removeprefix(f"{HEAD}\n\n").split("\n\n")
    assert tree.split("\n")[-1].startswith("… cut here: ")
    assert html == "HTML:\n<p> short"
    by_tokens = compose(HEAD, forms, ObservationConfig(max_tokens=200))
    assert 150 < estimate(by_tokens) <= 200
    both = compose(HEAD, forms, ObservationConfig(max_tokens=200, max_chars=500))
    assert estimate(both) <= 200
    assert len(both) <= 500


def test_the_papers_cut_ends_anywhere_and_says_nothing(counters: None) -> None:
    lines = {"accessibility_tree": ("[1] button 'Save'", "[2] link 'Help'")}
    config = ObservationConfig(max_obs_length=15, tokenizer="python:my_counters:halves")
    assert compose(HEAD, lines, config) == f"{HEAD}\n\n[1] button 'Save'"[:30]
