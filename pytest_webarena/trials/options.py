"""What a run says about all of its trials alike: read once, carried whole, from the command line to the last hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pytest_webarena.answers import AskedFormat
from pytest_webarena.checks import CHECK_SECONDS, REPAIRED, Grading
from pytest_webarena.llm.config import ModelSettings

__all__ = ["QUIET_TIME", "WRITE_TIMEOUT", "Filming", "TrialOptions", "films"]

Filming = Literal["off", "on", "retain-on-failure", "on-retry"]
"""Which attempts get a trace or a video, and which keep it, in pytest-playwright's words; ``on-retry``: all after an
attempt that ended in an error of the environment."""

WRITE_TIMEOUT = 10.0
"""How long requests that may change a site are waited for after an episode, in seconds, unless said otherwise."""

QUIET_TIME = 1.0
"""How long pages get to begin what they have put off, in seconds from the last action on, unless said otherwise."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialOptions:
    """What holds for every trial of a run, whoever plays it.

    What lies between the settings and a trial hands this object on as it is. So an option more is a field here, a line
    where the settings are read, and its use.
    """

    models: ModelSettings = field(default_factory=ModelSettings)
    """Budget, rate, cache and prices of model calls; the place of the file that counts them is the run's to say."""
    grading: Grading = REPAIRED
    """The grading that counts, without the repairs that were switched off."""
    answers: AskedFormat = "auto"
    """The form of answer to ask agents for."""
    check_timeout: float = CHECK_SECONDS
    """Seconds that judging one check may take; 0: as long as it takes."""
    reach: tuple[str, ...] | None = None
    """Names of sites (``*``: all) that agents can visit beside those of their task; None: as each task says."""
    fetch_images: bool = False
    """Whether images of intents may be loaded from elsewhere than the task's sites."""
    write_timeout: float = WRITE_TIMEOUT
    """How long requests that may change a site are waited for after a trial's last step, in seconds."""
    quiet_time: float = QUIET_TIME
    """How long pages get after the last action to begin what they have put off, in seconds."""
    env_retries: int = 1
    """How often an environment error is tried again, each time on a fresh replica."""
    tracing: Filming = "off"
    """Traces for Playwright's viewer. They hold whatever pages held, passwords included."""
    video: Filming = "off"
    """Videos of the tabs."""


def films(what: Filming, attempt: int) -> bool:
    """Whether an attempt, counted from 1, gets one.

    >>> films("on-retry", 1), films("on-retry", 2)
    (False, True)
    """
    return what in ("on", "retain-on-failure") or (what == "on-retry" and attempt > 1)
