"""What agents keep from trial to trial, on disk."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_webarena.results.memory import Memory, MemoryVersion, memory_folder
from pytest_webarena.secrets import mark


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(memory_folder(tmp_path, agent="cot", digest="d1", of="task"))


def test_each_trial_begins_with_what_the_one_before_left(memory: Memory) -> None:
    with memory.taken():
        first = memory.latest(trial="a")
        assert first == MemoryVersion()
        memory.add("tea is on page 2", trial="a", after=first)
        second = memory.latest(trial="b")
        assert (second.text, second.trial, second.trials) == ("tea is on page 2", "a", 1)
        memory.add("and rye", trial="b", after=second)
    assert memory.latest(trial="c") == MemoryVersion(number=2, text="and rye", trial="b", trials=2)


def test_a_trial_that_runs_again_does_not_begin_with_what_it_left_itself(memory: Memory) -> None:
    with memory.taken():
        memory.add("one", trial="a", after=MemoryVersion())
        memory.add("two", trial="b", after=memory.latest(trial="b"))
    assert memory.latest(trial="b").text == "one"


def test_agents_digests_and_scopes_have_memories_of_their_own(tmp_path: Path) -> None:
    folders = {
        memory_folder(tmp_path, agent=agent, digest=digest, of=of)
        for agent in ("a", "b")
        for digest in ("1", "2")
        for of in ("x/y", "x y")
    }
    assert len(folders) == 8


def test_only_one_trial_has_it_at_a_time(memory: Memory) -> None:
    order: list[str] = []

    def other() -> None:
        with memory.taken():
            order.append("other")

    with memory.taken():
        thread = threading.Thread(target=other)
        thread.start()
        order.append("first")
    thread.join(10)
    assert order == ["first", "other"]


def test_secrets_are_not_remembered(memory: Memory) -> None:
    mark("sk-remembered-0123456789")
    with memory.taken():
        memory.add("the key is sk-remembered-0123456789", trial="a", after=MemoryVersion())
    assert memory.latest(trial="b").text == "the key is [secret]"


def test_what_is_no_text_in_any_file_is_remembered_all_the_same(memory: Memory) -> None:
    with memory.taken():
        memory.add("half a letter: \ud800", trial="a", after=MemoryVersion())
    assert memory.latest(trial="b").text == "half a letter: \ud800"
