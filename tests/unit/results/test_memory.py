"""Memories that agents keep between trials, on disk."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pytest_webarena.results.memory import Memory, MemoryVersion, memory_folder
from pytest_webarena.secrets import mark


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(memory_folder(tmp_path, agent="cot", digest="d1", of="task"))


def test_trial_starts_with_memory_of_previous_trial(memory: Memory) -> None:
    with memory.taken():
        first = memory.latest(trial="a")
        assert first == MemoryVersion()
        memory.add("tea is on page 2", trial="a", after=first)
        second = memory.latest(trial="b")
        assert (second.text, second.trial, second.trials) == ("tea is on page 2", "a", 1)
        memory.add("and rye", trial="b", after=second)
    assert memory.latest(trial="c") == MemoryVersion(number=2, text="and rye", trial="b", trials=2)


def test_repeated_trial_starts_without_its_own_memory(memory: Memory) -> None:
    with memory.taken():
        memory.add("one", trial="a", after=MemoryVersion())
        memory.add("two", trial="b", after=memory.latest(trial="b"))
    assert memory.latest(trial="b").text == "one"


def test_memory_folder_depends_on_agent_digest_and_scope(tmp_path: Path) -> None:
    folders = {
        memory_folder(tmp_path, agent=agent, digest=digest, of=of)
        for agent in ("a", "b")
        for digest in ("1", "2")
        for of in ("x/y", "x y")
    }
    assert len(folders) == 8


def test_memory_is_locked_by_one_trial_at_a_time(memory: Memory) -> None:
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


def test_secrets_are_masked_in_memory(memory: Memory) -> None:
    mark("sk-remembered-0123456789")
    with memory.taken():
        memory.add("the key is sk-remembered-0123456789", trial="a", after=MemoryVersion())
    assert memory.latest(trial="b").text == "the key is [secret]"


def test_memory_keeps_lone_surrogates(memory: Memory) -> None:
    with memory.taken():
        memory.add("half a letter: \ud800", trial="a", after=MemoryVersion())
    assert memory.latest(trial="b").text == "half a letter: \ud800"
