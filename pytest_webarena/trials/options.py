"""Options that apply to all trials of a run, passed unchanged from the command line to the trial."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_webarena.answers import AskedFormat
from pytest_webarena.checks import CHECK_SECONDS, REPAIRED, Grading
from pytest_webarena.llm.config import ModelSettings

__all__ = ["QUIET_TIME", "WRITE_TIMEOUT", "Filming", "TrialOptions", "films"]

Filming = Literal["off", "on", "retain-on-failure", "on-retry"]
"""Which attempts record a trace or video and keep it, with pytest-playwright's values. ``on-retry``: every attempt
after one that ended in an environment error."""

WRITE_TIMEOUT = 10.0
"""Default time to wait, after an episode, for requests that may change a site, in seconds."""

QUIET_TIME = 1.0
"""Default time that pages get after the last action to begin deferred work, in seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """Options of every trial of a run, whatever executes it.

    The layers between settings and trial pass this object on unchanged. A new option needs a field here, a line where
    the settings are read, and its use.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    """Budget, rate limit, cache and prices of model calls. The run decides where the file that records calls is."""
    grading: Grading = REPAIRED
    """The grading that counts, without the repairs that were switched off."""
    answers: AskedFormat = "auto"
    """The answer format that agents are asked for."""
    check_timeout: float = CHECK_SECONDS
    """Maximum time for judging one check, in seconds; 0: no limit."""
    reach: tuple[str, ...] | None = None
    """Names of sites (``*``: all) that agents can visit in addition to those of their task; None: as each task says."""
    fetch_images: bool = False
    """Whether images of intents may be loaded from addresses outside the task's sites."""
    write_timeout: float = WRITE_TIMEOUT
    """Time to wait, after a trial's last step, for requests that may change a site, in seconds."""
    quiet_time: float = QUIET_TIME
    """Time that pages get after the last action to begin deferred work, in seconds."""
    env_retries: int = 1
    """How often a trial is repeated after an environment error, each time on a fresh replica."""
    tracing: Filming = "off"
    """Which attempts record a Playwright trace. Traces contain everything that pages contained, including passwords."""
    video: Filming = "off"
    """Which attempts record videos of the tabs."""


def films(what: Filming, attempt: int) -> bool:
    """Whether attempt number ``attempt``, counted from 1, is recorded.

    >>> films("on-retry", 1), films("on-retry", 2)
    (False, True)
    """
    return what in ("on", "retain-on-failure") or (what == "on-retry" and attempt > 1)
