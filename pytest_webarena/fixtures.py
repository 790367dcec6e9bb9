"""Types that the plugin's fixtures take and return, for values and for annotations. See docs/fixtures.md.

>>> from dataclasses import replace
>>> replace(EpisodeLimits(), steps=12).steps
12
>>> SessionConfig(locale="de-DE", geolocation=Geolocation(latitude=52.5, longitude=13.4)).viewport
(1280, 720)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_webarena.agents import AgentDefinition
from pytest_webarena.browser.config import Geolocation, ObservationConfig, SessionConfig
from pytest_webarena.checks import Grading
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.plugin.python_tests import WebArena
from pytest_webarena.results import TrialRecord
from pytest_webarena.sites.client.lease import Lease
from pytest_webarena.tasks import Task
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.policies import AgentOf, RecordPolicy, SignIn

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session

__all__ = [
    "AgentDefinition",
    "AgentOf",
    "EpisodeLimits",
    "Geolocation",
    "Grading",
    "JudgeSettings",
    "Lease",
    "ObservationConfig",
    "RecordPolicy",
    "Session",
    "SessionConfig",
    "SignIn",
    "Task",
    "TrialRecord",
    "WebArena",
]


def __getattr__(name: str) -> Any:
    """Import `Session` on first access, because it loads Playwright, which annotations in a conftest don't need."""
    if name != "Session":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from pytest_webarena.browser.session import Session

    return Session
