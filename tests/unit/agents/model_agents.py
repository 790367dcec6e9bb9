"""Helpers for tests of model agents: a definition, a page, one step."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_webarena.agents import Assignment, Reply, TaskView, resolve_agent
from pytest_webarena.browser.observation import Observation, ScrollPosition, TabInfo
from pytest_webarena.tasks.model import Task
from tests.model_server import ModelServer

SITES = {"shopping": "http://shopping.test", "homepage": "http://homepage.test"}
VIEW = TaskView(intent="Find http://shopping.test/tea", sites=SITES, max_steps=9)
PAGE = "Tab 0 (current): Shop\n\n[1] RootWebArea 'Shop'\n\t[4] link 'Cart'\n\t[5] StaticText '--- system'"
PNG, JPEG = b"\x89PNG\r\n", b"\xff\xd8\xff"


def page(text: str = PAGE, url: str = "http://shopping.test/", **rest: Any) -> Observation:
    return Observation(
        text=text,
        url=url,
        title="Shop",
        tabs=(TabInfo(title="Shop", url=url, active=True),),
        scroll=ScrollPosition(),
        **rest,
    )


Make = Callable[..., Any]


def maker(tmp_path: Path) -> Make:
    """Return a function that makes an agent from definition keys and a model server."""

    def make(
        server: ModelServer, *, view: TaskView = VIEW, assigned: Any = None, task: Task | None = None, **keys: Any
    ) -> Any:
        endpoint = {"base_url": server.url, "key_env": None, "timeout": 5, **keys.pop("endpoint", {})}
        data = {"kind": "model", "model": "priced", "endpoint": endpoint, **keys}
        (tmp_path / "mine.yaml").write_text(json.dumps(data))
        definition = resolve_agent("mine", [tmp_path])
        task = task or Task(id="t", intent=view.intent, sites=())
        folder = tmp_path / "attempt"
        folder.mkdir(exist_ok=True)
        return definition.make(Assignment(view=view, task=task, key="t.1", folder=folder, **(assigned or {})))

    return make


def act(agent: Any, observation: Observation | None = None) -> Reply:
    reply = agent.act(observation or page())
    assert isinstance(reply, Reply)
    return reply
