"""Memory across trials: the definition's settings, and how each kind of agent receives and returns it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.memory import MemoryKeys, Remembered
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.agents.wire import ProtocolBroken, read_memory, remember_message, task_message
from pytest_webarena.agents.worker import AgentCrashed, AgentWorker
from pytest_webarena.browser.observation import Observation
from pytest_webarena.errors import ModelError, UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.tasks.model import Task
from tests.cases import each_case
from tests.model_server import model_server, say

TASK = Task(id="t.1", intent="Find rye", sites=("shop", "forum"), template="t")
SEEN = Observation(text="[4] link 'Rye'", url="http://s.test/", title="t", tabs=())
CODE = """
class Noter:
    def __init__(self, task):
        self.before = task.memory
    def act(self, observation):
        return "```stop [x]```"
    def remember(self, reason):
        return f"{self.before}+{reason}"

class Forgetful:
    def __init__(self, task): ...
    def act(self, observation): ...

class Driver:
    def __init__(self, task):
        self.before = task.memory
    def run(self, cdp_url):
        return "x"
    async def remember(self, reason):
        return f"{self.before}+{reason}"

def function(observation): ...
def solve(task, cdp_url): ...
"""
PROGRAM = """
import json, sys
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "task":
        before = message["memory"]
    if message["type"] == "observation" or "cdp_url" in message:
        print(json.dumps({"type": "answer", "answer": "x"}), flush=True)
    elif message["type"] == "remember":
        text = before + "+" + message["stop_reason"]
        print(json.dumps({"type": "memory", "text": text, "usage": {"calls": 1}}), flush=True)
"""


def assigned(memory: str | None = "", **rest: Any) -> Assignment:
    return Assignment(view=TaskView(intent=TASK.intent, memory=memory), task=TASK, **rest)


def define(tmp_path: Path, text: str, overrides: Overrides | None = None) -> Any:
    (tmp_path / "code.py").write_text(CODE)
    (tmp_path / "program.py").write_text(PROGRAM)
    (tmp_path / "a.yaml").write_text(text)
    return resolve_agent(str(tmp_path / "a.yaml"), (), overrides)


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("task", MemoryKeys(scope="task")),
        ("{scope: all, max_chars: 100, seconds: 5}", MemoryKeys(scope="all", max_chars=100, seconds=5.0)),
        ("null", None),
    ],
)
def test_definition_sets_memory_scope_and_limits(tmp_path: Path, asked: str, keys: MemoryKeys | None) -> None:
    assert define(tmp_path, f"python: code.py:Noter\nmemory: {asked}\n").memory == keys


def test_memory_option_is_part_of_the_digest(tmp_path: Path) -> None:
    flag = Overrides(options=(("memory", "template"),))
    with_memory = define(tmp_path, "python: code.py:Noter\n", flag)
    assert with_memory.memory == MemoryKeys(scope="template")
    assert with_memory.digest != define(tmp_path, "python: code.py:Noter\n").digest


@each_case(("scope", "of"), [("all", "all"), ("site", "forum shop"), ("template", "t"), ("task", "t.1")])
def test_memory_scope_decides_which_trials_share_memory(scope: Any, of: str) -> None:
    assert MemoryKeys(scope=scope).name_for(TASK) == of


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("python: code.py:Noter\nmemory: tasks", "memory: unknown value 'tasks'"),
        ("python: code.py:Noter\nmemory: {max_chars: 5}", "expected the key 'memory.scope'"),
        ("python: code.py:Noter\nmemory: {scope: all, seconds: 0}", "memory.seconds: expected a number above 0"),
        ("python: code.py:Forgetful\nmemory: all", "memory: expected a class with 'remember(self, reason)'"),
        ("python: code.py:function\nmemory: all", "memory: expected a class with 'remember(self, reason)'"),
        ("kind: cdp\npython: code.py:solve\nmemory: all", "memory: expected a class with 'remember(self, reason)'"),
        ("kind: scripted\nmemory: all", "memory: agents of kind 'scripted' keep nothing from trial to trial"),
        ("kind: human\nmemory: all", "memory: agents of kind 'human' keep nothing"),
        ("kind: model\nmodel: m\nprompt: mine.j2\nmemory: all", "expected a prompt that shows '{{ memory }}'"),
    ],
)
def test_invalid_memory_settings_are_usage_errors(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.j2").write_text("--- user\n{{ observation }}\n")
    with pytest.raises(UsageError) as caught:
        define(tmp_path, text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("text", "usage"),
    [
        ("python: code.py:Noter", None),
        ("kind: cdp\npython: code.py:Driver", None),
        (f"kind: process\ncommand: [{sys.executable}, ./program.py]", Usage(calls=1, cost=None)),
        (f"kind: cdp\ncommand: [{sys.executable}, ./program.py]", Usage(calls=1, cost=None)),
    ],
)
def test_agents_replace_the_memory_that_they_received(tmp_path: Path, text: str, usage: Usage | None) -> None:
    definition = define(tmp_path, f"{text}\nmemory: task\n")
    with AgentWorker(lambda: definition.make(assigned("before")), name="a", timeout=10) as worker:
        _ = worker.drive("ws://x", "http://x") if definition.self_driving else worker.act(SEEN, 10)
        memory = worker.remember("answered", 10)
    assert memory == (Remembered(text="before+answered", usage=usage) if usage else "before+answered")


def test_model_writes_notes_from_its_earlier_notes_and_steps(tmp_path: Path) -> None:
    with model_server([say("Rye is there. ```click [4]```"), say("  The shop lists rye first.\n")]) as server:
        options = f"endpoint: {{base_url: '{server.url}', key_env: null}}"
        definition = define(tmp_path, f"kind: model\nmodel: gpt-4o\nmemory: all\n{options}\n")
        agent = definition.make(assigned("tea is on page 2", folder=tmp_path))
        agent.act(SEEN)
        memory = agent.remember("max_steps")
        first, second = server.bodies
        assert agent.remember("cost") is None  # the budget is spent
        assert server.requests == 2
    assert "YOUR NOTES FROM EARLIER TASKS:\ntea is on page 2" in first["messages"][-1]["content"]
    asked = second["messages"][-1]["content"]
    assert "NOTES SO FAR: tea is on page 2" in asked
    assert "click [4] where [4] is link 'Rye' -- because: Rye is there." in asked
    assert asked.endswith("HOW IT ENDED: max_steps")
    assert (memory.text, memory.usage.calls) == ("The shop lists rye first.", 1)
    assert (tmp_path / "model_calls" / "memory.json").is_file()


def test_task_message_has_memory_only_when_enabled(tmp_path: Path) -> None:
    message = task_message(assigned(None), trial="x", options={})
    assert "memory" not in message
    assert task_message(assigned("notes"), trial="x", options={})["memory"] == "notes"
    assert remember_message(trial="x", reason="time") == {"type": "remember", "trial": "x", "stop_reason": "time"}


def test_memory_messages_are_read_and_validated() -> None:
    assert read_memory(b'{"type": "memory", "text": "a", "usage": {"calls": 2}}') == Remembered(
        text="a", usage=Usage(calls=2, cost=None)
    )
    assert read_memory(b'{"type": "memory", "text": null}') is None
    for wrong in (b'{"type": "memory", "text": 3}', b'{"type": "action", "text": "x"}', b"x"):
        with pytest.raises(ProtocolBroken):
            read_memory(wrong)
    with pytest.raises(ModelError):
        read_memory(b'{"type": "error", "cause": "model", "message": "overloaded"}')


def test_factory_agent_without_remember_crashes_at_the_end() -> None:
    class Agent:
        def act(self, observation: Observation) -> str:
            return ""

    with AgentWorker(Agent, name="a", timeout=5) as worker, pytest.raises(AgentCrashed, match="'remember"):
        worker.remember("answered", 5)
