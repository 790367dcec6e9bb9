"""Helpers for tests of agents, checks and tasks; they need no browser and no sites.

>>> task = make_task('''
... intent: How many are there?
... sites: []
... checks: [{answer: {number: 42}}]
... ''')
>>> verdict(task, make_evidence(answer="42")).passed
True
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_webarena.actions import Action, Stop
from pytest_webarena.agents import TaskView
from pytest_webarena.browser.grammars import grammar
from pytest_webarena.checks import Verdict, judge
from pytest_webarena.evidence import Evidence, Probe, RequestRecord, StopReason, TabState, Usage
from pytest_webarena.tasks import Task, parse_tasks

__all__ = ["ScriptedAgent", "make_evidence", "make_observation", "make_task", "play", "verdict"]


def make_task(text: str, *, id: str = "task") -> Task:
    """Returns a task from YAML as it is written below ``tasks:``; the id may be omitted.

    Raises `TaskFileError` as a task file would.

    >>> make_task("intent: Say hi.\\nsites: []\\nchecks: [{answer: hi}]", id="greet").id
    'greet'
    """
    body = textwrap.dedent(text).strip("\n")
    if not any(line.startswith("id:") for line in body.splitlines()):
        body = f"id: {id}\n{body}"
    entry = textwrap.indent(body, "    ")
    (task, *others) = parse_tasks(f"tasks:\n  -\n{entry}\n", path=f"<{id}>")
    if others:
        raise ValueError(f"expected one task, found {1 + len(others)} instances; leave 'each' out")
    return task


def make_evidence(
    *,
    answer: str | None = "",
    url: str = "http://site.test/",
    html: str = "",
    title: str = "",
    stop_reason: StopReason = "answered",
    requests: Sequence[RequestRecord] = (),
    probes: Mapping[str, Any] | None = None,
    sites: Mapping[str, str] | None = None,
    usage: Usage | None = None,
    agent_seconds: float | None = None,
) -> Evidence:
    """Returns the evidence of a trial that ended with one tab.

    ``probes`` maps a check's path (``checks[0]``) to the value that it would have collected at the end. ``usage`` and
    ``agent_seconds`` are what the agent used; None means unknown.

    >>> make_evidence(url="http://shop.test/cart", html="<h1>Cart</h1>").tabs[0].url
    'http://shop.test/cart'
    """
    return Evidence(
        answer=answer,
        stop_reason=stop_reason,
        tabs=(TabState(url=url, title=title, html=html, active=True),),
        requests=tuple(requests),
        probes=tuple(Probe(check=path, state="end", value=value) for path, value in (probes or {}).items()),
        sites=dict(sites or {}),
        usage=usage,
        agent_seconds=agent_seconds,
    )


def verdict(task: Task, evidence: Evidence) -> Verdict:
    """Returns the verdict of the task's checks on ``evidence``.

    >>> task = make_task("intent: x\\nsites: []\\nchecks: [{url: 'http://shop.test/cart'}]")
    >>> verdict(task, make_evidence(url="http://shop.test/")).score
    0.0
    """
    return judge(task, evidence)


def make_observation(text: str, *, url: str = "http://site.test/", title: str = "", error: str = "") -> Any:
    """Returns an `Observation` for an agent; ``text`` is the page as the agent would see it.

    >>> make_observation("[1] button 'Buy'", error="there is no element 7").error
    'there is no element 7'
    """
    from pytest_webarena.browser.observation import Observation, TabInfo

    return Observation(text=text, url=url, title=title, tabs=(TabInfo(title=title, url=url, active=True),), error=error)


class ScriptedAgent:
    """Returns the given replies, one per step, then stops: for tests of tasks and of this package.

    >>> agent = ScriptedAgent("```click [1]```")
    >>> agent.act(make_observation("…")), agent.act(make_observation("…")).kind
    ('```click [1]```', 'stop')
    """

    def __init__(self, *replies: Action | str) -> None:
        self._replies = list(replies)

    def act(self, observation: Any) -> Action | str:
        """Returns the next reply."""
        return self._replies.pop(0) if self._replies else Stop()


def play(
    make: Callable[[TaskView], Any], pages: Sequence[str], *, intent: str = "", max_steps: int = 30
) -> list[Action]:
    """Feed these observation texts to an agent one by one, and return its actions. Text replies are parsed by the
    grammar.

    >>> [action.kind for action in play(lambda task: ScriptedAgent("```click [1]```"), ["a page", "the next"])]
    ['click', 'stop']
    """
    agent = make(TaskView(intent=intent, max_steps=max_steps))
    parse = grammar("webarena").parse
    actions: list[Action] = []
    for page in pages:
        reply = agent.act(make_observation(page))
        actions.append(parse(reply) if isinstance(reply, str) else reply)
        if isinstance(actions[-1], Stop):
            break
    return actions
