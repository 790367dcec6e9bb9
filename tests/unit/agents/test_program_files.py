"""Files of an agent's program: neither links nor listed folders may lead to tasks or answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_webarena.agents import resolve_agent
from pytest_webarena.agents.line_pipe import LinePipe, ProcessEnded
from pytest_webarena.agents.process import ProcessKeys
from pytest_webarena.errors import UsageError

TASKS = "tasks:\n  - id: t\n    sites: []\n    intent: What is it?\n    checks: [{answer: '7'}]\n"
SUITE = '[{"task_id": 0, "intent": "What is it?", "eval": {"reference_answers": {"exact_match": "7"}}}]'


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a folder of tasks and a folder of agents."""
    for name in ("tasks", "agents/lib"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "tasks" / "t.yaml").write_text(TASKS)
    (tmp_path / "agents" / "agent.py").write_text("print(1)\n")
    (tmp_path / "agents" / "lib" / "prompts.json").write_text('{"intro": "Answer the intent"}')
    (tmp_path / "agents" / "lib" / "config.yaml").write_text("tasks: [search, answer]\nmodel: small\n")
    return tmp_path


def linked(at: str, to: str) -> Callable[[Path], None]:
    return lambda project: (project / "agents" / at).symlink_to(project / to)


def hard_linked(project: Path) -> None:
    os.link(project / "tasks" / "t.yaml", project / "agents" / "lib" / "notes.yaml")


def copied(name: str, text: str) -> Callable[[Path], None]:
    def copy(project: Path) -> None:
        file = project / "agents" / "lib" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    return copy


@pytest.mark.parametrize(
    ("files", "prepare", "sentence"),
    [
        pytest.param("link", linked("link", "tasks"), "a link to", id="folder"),
        pytest.param("link.yaml", linked("link.yaml", "tasks/t.yaml"), "a link to", id="file"),
        pytest.param("lib", linked("lib/deep", "tasks"), "a link to", id="folder-inside"),
        pytest.param("lib", linked("lib/notes.txt", "tasks/t.yaml"), "a link to", id="file-inside"),
        pytest.param("link/t.yaml", linked("link", "tasks"), "a link to", id="through-a-folder"),
        pytest.param("link", linked("link", "."), "a link to", id="project"),
        pytest.param("lib", hard_linked, "a file of tasks", id="hard-link"),
        pytest.param("lib", copied("all.json", SUITE), "a file of tasks", id="suite"),
        pytest.param("lib", copied("one-line.yaml", '{"intent": "i", "checks": []}'), "a file of tasks", id="flow"),
        pytest.param("lib", copied("run/trials/t/trial.json", "{}"), "a record of a trial", id="records"),
        pytest.param("lib", linked("lib/again", "agents/lib"), "in itself", id="loop"),
    ],
)
@pytest.mark.parametrize("kind", ["process", "cdp"])
def test_files_that_lead_to_tasks_or_records_are_refused(
    project: Path, kind: str, files: str, prepare: Callable[[Path], None], sentence: str
) -> None:
    prepare(project)
    definition = project / "agents" / "mine.yaml"
    definition.write_text(f"kind: {kind}\ncommand: [python3, ./agent.py]\nfiles: [{files}]\n")
    with pytest.raises(UsageError, match=sentence):
        resolve_agent(str(definition))


def test_tasks_listed_by_a_definition_in_the_root_are_refused(project: Path) -> None:
    (project / "mine.yaml").write_text("kind: process\ncommand: [python3, agents/agent.py]\nfiles: [agents, tasks]\n")
    with pytest.raises(UsageError, match=r"tasks/t\.yaml, a file of tasks"):
        resolve_agent(str(project / "mine.yaml"))


def test_program_behind_a_link_is_refused(project: Path) -> None:
    (project / "agents" / "solver.py").symlink_to(project / "tasks" / "t.yaml")
    with pytest.raises(UsageError, match="a link to"):
        ProcessKeys(command=("python3", "./solver.py")).check(project / "agents")


def test_links_within_the_agents_folder_are_followed(project: Path) -> None:
    (project / "agents" / "mine").symlink_to(project / "agents" / "lib")
    keys = ProcessKeys(command=("python3", "./agent.py"), files=("mine", "lib"))
    keys.check(project / "agents")
    (project / "agents" / "lib" / "late").symlink_to(project / "tasks")
    with pytest.raises(UsageError, match="a link to"):
        keys.check(project / "agents")


def test_files_are_checked_again_when_they_are_copied(project: Path, tmp_path: Path) -> None:
    keys = ProcessKeys(command=("python3", "./agent.py"), files=("lib",))
    keys.check(project / "agents")
    (project / "agents" / "lib" / "late").symlink_to(project / "tasks")
    with pytest.raises(ProcessEnded, match="a link to"):
        LinePipe(keys, project / "agents", tmp_path / "attempt")
