"""Resolution of ``--agent`` names."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.actions import Stop
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.kinds import kinds
from pytest_webarena.agents.registry import known_agents
from pytest_webarena.errors import UsageError
from pytest_webarena.tasks.model import Task

TASK = Task(id="t", intent="i", sites=())
VIEW = TaskView(intent="i")
CODE = """
from pytest_webarena.actions import Stop

class Plain:
    def act(self, observation):
        return Stop("plain")

class Told:
    def __init__(self, task, word="hi"):
        self.answer = f"{task.intent} {word}"

    def act(self, observation):
        return Stop(self.answer)

def bare(observation):
    return Stop("bare")

def told(observation, task):
    return Stop(task.intent)

def factory(task, word="factory"):
    return Told(task, word)

class NoAct:
    pass

def odd(x, y, z):
    pass

number = 7
"""


@pytest.fixture
def agents(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(CODE)
    (tmp_path / "polite.yaml").write_text("python: mine.py:Told\noptions: {word: please}\n")
    return tmp_path


def answer(definition: Any) -> str:
    reply = definition.make(Assignment(view=VIEW, task=TASK)).act(SimpleNamespace(text="", url="", error=""))
    assert isinstance(reply, Stop)
    return reply.answer


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [("Plain", "plain"), ("Told", "i hi"), ("bare", "bare"), ("told", "i"), ("factory", "i factory")],
)
def test_python_agents_of_every_accepted_shape_are_resolved(agents: Path, attribute: str, expected: str) -> None:
    assert answer(resolve_agent(f"{agents}/mine.py:{attribute}")) == expected


def test_agent_is_resolved_by_module_name(agents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(agents)
    assert answer(resolve_agent("mine:Plain")) == "plain"


def test_definition_is_resolved_by_name_and_by_path(agents: Path) -> None:
    named = resolve_agent("polite", [agents])
    assert (named.id, answer(named)) == ("polite", "i please")
    assert answer(resolve_agent(str(agents / "polite.yaml"))) == "i please"


def test_user_definition_overrides_a_builtin_agent(agents: Path) -> None:
    (agents / "null.yaml").write_text("python: mine.py:Plain\n")
    assert answer(resolve_agent("null", [agents])) == "plain"


def test_digest_changes_with_options_and_code(agents: Path) -> None:
    first = resolve_agent("polite", [agents]).digest
    assert resolve_agent("polite", [agents]).digest == first
    (agents / "polite.yaml").write_text("python: mine.py:Told\noptions: {word: now}\n")
    second = resolve_agent("polite", [agents]).digest
    (agents / "mine.py").write_text(CODE + "# changed\n")
    assert len({first, second, resolve_agent("polite", [agents]).digest}) == 3


def test_unknown_names_list_what_exists(agents: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'polite'\?.*known: .*oracle.*polite"):
        resolve_agent("polit", [agents])
    assert {"oracle", "null", "random", "polite"} <= set(known_agents([agents]))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nowhere.py:X", "expected a Python file"),
        ("no_such_module:X", "importing no_such_module failed: ModuleNotFoundError"),
        ("{dir}/mine.py:Plane", "did you mean 'Plain'"),
        ("{dir}/mine.py:NoAct", "expected the class to have 'act"),
        ("{dir}/mine.py:number", "expected a class or a function, found int"),
        ("{dir}/mine.py:odd", r"found parameters \(x, y, z\)"),
        ("{dir}/broken.yaml", "unknown key 'pyton'; did you mean 'python'"),
        ("{dir}/list.yaml", "expected a mapping with the key 'kind'"),
        ("{dir}/syntax.yaml", "expected YAML"),
        ("{dir}/missing.yaml", "expected a readable file"),
    ],
)
def test_invalid_agent_names_and_definitions_are_usage_errors(agents: Path, name: str, message: str) -> None:
    (agents / "broken.yaml").write_text("pyton: mine.py:Told\n")
    (agents / "list.yaml").write_text("- a\n")
    (agents / "syntax.yaml").write_text("python: [\n")
    with pytest.raises(UsageError, match=message):
        resolve_agent(name.format(dir=agents))


def test_known_agents_lists_kind_and_description(tmp_path: Path) -> None:
    (tmp_path / "posted.yaml").write_text("kind: http\nurl: http://h/\ndescription: Somewhere else\n")
    (tmp_path / "broken.yaml").write_text("kind: [")
    known = known_agents([tmp_path])
    assert known["posted"] == f"Somewhere else (http: {tmp_path / 'posted.yaml'})"
    assert known["broken"] == f"can't be read: {tmp_path / 'broken.yaml'}"


def test_every_kind_can_be_defined(tmp_path: Path) -> None:
    needed = {
        "python": "python: pytest_webarena.agents.builtin:Dump", "process": "command: [sh]", "http": "url: http://h/",
        "cdp": "url: http://h/", "replay": "", "human": "", "scripted": "tasks: {t: [stop]}",
    }  # fmt: skip
    assert set(needed) == set(kinds()) - {"model"}
    for kind, keys in needed.items():
        (tmp_path / f"{kind}.yaml").write_text(f"kind: {kind}\n{keys}\nlimits: {{steps: 3}}\n")
        definition = resolve_agent(kind, [tmp_path])
        assert (definition.kind, definition.limits.steps) == (kind, 3)
        assert definition.self_driving == (kind == "cdp")


def test_cdp_definition_needs_exactly_one_program(tmp_path: Path) -> None:
    (tmp_path / "both.yaml").write_text("kind: cdp\nurl: http://h/\ncommand: [sh]\n")
    with pytest.raises(UsageError, match="expected one of python, command and url, found command, url"):
        resolve_agent("both", [tmp_path])
    (tmp_path / "stray.yaml").write_text("kind: cdp\nurl: http://h/\nsandbox: [env]\n")
    with pytest.raises(UsageError, match="sandbox: goes with command"):
        resolve_agent("stray", [tmp_path])


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_forked_child_of_an_imported_module_exits(tmp_path: Path) -> None:
    (tmp_path / "forks.py").write_text("import os\nchild = os.fork()\nAgent = dict(act=1, child=child).__class__\n")
    with pytest.raises(UsageError, match="expected the class to have 'act"):
        resolve_agent(f"{tmp_path}/forks.py:Agent")
    (module,) = (each for name, each in sys.modules.items() if getattr(each, "__file__", "") == f"{tmp_path}/forks.py")
    assert os.waitpid(module.child, 0)[1] == 0
