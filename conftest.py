"""Example overrides of the plugin's policy fixtures, each by its name (docs/fixtures.md).

Each of the three examples does nothing until it is enabled, so that runs in this repository keep their defaults.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.agents import AgentDefinition
from pytest_webarena.tasks import Task


# A site: HOMEPAGE_URL=http://127.0.0.1:8000 pytest --allow-unreset … visits the homepage that you run there.
# Collection calls this fixture before other fixtures exist, so it may request only pytestconfig and its own name.
@pytest.fixture(scope="session")
def webarena_site_urls(webarena_site_urls: dict[str, str]) -> dict[str, str]:
    own = os.environ.get("HOMEPAGE_URL")
    return {**webarena_site_urls, "homepage": own} if own else webarena_site_urls


# A login: HOMEPAGE_COOKIE=name=value pytest … adds a cookie to those from the catalogue's login steps.
@pytest.fixture(scope="session")
def webarena_sign_in() -> Callable[..., Mapping[str, Any] | None] | None:
    name, _, value = os.environ.get("HOMEPAGE_COOKIE", "").partition("=")
    if not name:
        return None

    def with_cookie(lease: Any, users: Mapping[str, str], state: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if "homepage" not in lease.sites:
            return state
        cookie = {"name": name, "value": value, "domain": "homepage.test", "path": "/"}
        known = state or {"cookies": [], "origins": []}
        return {**known, "cookies": [*known["cookies"], cookie]}

    return with_cookie


# An agent: every agent runs tasks with the tag "small-screen" on a small screen.
@pytest.fixture(scope="session")
def webarena_agent(
    webarena_agent: Callable[[str, Task], AgentDefinition],
) -> Callable[[str, Task], AgentDefinition]:
    def choose(name: str, task: Task) -> AgentDefinition:
        agent = webarena_agent(name, task)
        return replace(agent, viewport=(390, 844)) if "small-screen" in task.tags else agent

    return choose
