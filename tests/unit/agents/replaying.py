"""Helpers for tests of replays: recorded steps, the replay agent and its observations."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_webarena.actions import Wait
from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.browser.observation import TabInfo
from pytest_webarena.evidence import TargetRecord
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.tasks.model import Task

__all__ = ["CLICK", "SAVE", "STOP", "first_reply", "replay", "reply_after_wait", "seen", "write_observations"]


SAVE = TargetRecord(role="button", name="Save", selector="#save", x=5, y=6)


CLICK = {"action": {"kind": "click", "target": {"id": "4"}}, "target": SAVE, "url_after": "http://s.test/done"}


STOP = {"action": {"kind": "stop", "answer": "rye"}, "url_after": "http://s.test/done"}


def replay(run: RunDir, folder: Path | None = None, **keys: Any) -> Any:
    file = run.path.parent / "again.yaml"
    more = "".join(f"{key}: {value}\n" for key, value in keys.items())
    file.write_text(f"kind: replay\nrun: {run.path}\n{more}")
    task = Task(id="t", intent="i", sites=())
    return resolve_agent(str(file)).make(Assignment(view=TaskView(intent="i"), task=task, folder=folder))


def seen(*lines: str, url: str = "http://s.test/", error: str = "", tabs: tuple[TabInfo, ...] = ()) -> Any:
    return SimpleNamespace(text="\n".join(lines), url=url, error=error, tabs=tabs)


def first_reply(run: RunDir, *lines: str) -> Reply:
    """Return the first reply of a replay on a page that does not change."""
    return reply_after_wait(replay(run), seen(*lines))


def reply_after_wait(agent: Any, observation: Any) -> Reply:
    """Return the agent's reply; if it waits for the page, the reply to the same page again."""
    reply: Reply = agent.act(observation)
    return agent.act(observation) if isinstance(reply.action, Wait) else reply


def write_observations(run: RunDir, *texts: str) -> None:
    """Write the recorded observation before each step."""
    (folder,) = run.trials.iterdir()
    for number, text in enumerate(texts):
        (folder / "attempt-1" / "observations" / f"{number:03}.txt").write_text(text)
