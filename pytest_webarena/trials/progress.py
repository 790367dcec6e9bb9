"""The state of a running attempt, and the recording of its steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.host_access import can_signal_sites
from pytest_webarena.evidence import StepRecord, Usage
from pytest_webarena.trials.fault_attribution import Unanswered

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import AgentDefinition
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.checks import Verdict
    from pytest_webarena.results.attempts import AttemptWriter
    from pytest_webarena.results.records import SignedInAtEnd
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.trials.collecting import Collector
    from pytest_webarena.trials.episode import Episode
    from pytest_webarena.trials.session_secrets import SessionSecrets
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["Progress", "Recorder"]


@dataclass(slots=True)
class Progress:
    """The state of an attempt so far, kept for its record if an error ends it."""

    seconds: dict[str, float] = field(default_factory=dict)
    episode: Episode | None = None
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """Verdicts by grading; the one that counts comes first."""
    replicas: dict[str, str] = field(default_factory=dict)
    sites: Mapping[str, str] = field(default_factory=dict)
    """Addresses of the sites, by name."""
    browser: str = ""
    environment: dict[str, Any] = field(default_factory=dict)
    visited: tuple[str, ...] = ()
    """Reachable sites that the task does not list and that this attempt or an earlier one visited."""
    begun: bool = False
    """Whether the agent has got the task: from then on it may be the cause of an error."""
    places: tuple[str, ...] = ()
    """Addresses of its tabs at the end, the current one last."""
    ended: float = field(default_factory=time.monotonic)
    """Monotonic time at which the agent had ended and still held its sites."""
    steps: int = 0
    usage: Usage | None = None
    signed_in: Mapping[str, SignedInAtEnd] = field(default_factory=dict)
    """Sign-ins at the end of the agent's work, by site."""
    lease: Lease | None = None
    """The lease, from its grant on; None for tasks without sites."""
    resets: Mapping[str, str] = field(default_factory=dict)
    """Why replicas are reset after the attempt, by app."""
    unanswered: Unanswered = field(default_factory=Unanswered)
    """Checks without evidence that the verdict depends on."""

    def add(self, usage: object) -> None:
        """Add a step's usage; other values, which an exception may carry, are ignored."""
        if isinstance(usage, Usage):
            self.usage = usage + (self.usage or Usage())

    def instance_problem(self, agent: AgentDefinition) -> Callable[[], str] | None:
        """`Lease.instance_problem`, if sites run elsewhere and ``agent`` can't have stopped them by a signal."""
        own = self.environment.get("external_sites", {}).values()
        return None if self.lease is None or not own or can_signal_sites(agent, own) else self.lease.instance_problem

    def note_lease(self, lease: Lease) -> None:
        """Record the lease, so that its release is known even if an error follows."""
        self.lease = lease

    def note_release(self) -> None:
        """Record why the sites are reset after the attempt, which has released them; logs are in its message."""
        if self.lease is not None:
            report = self.lease.release()
            apps = [replica.app for replica in self.lease.replicas]
            reasons = report.reasons or dict.fromkeys(apps, report.problem)
            self.resets = {app: why.partition("\n")[0] for app, why in reasons.items() if why}

    @property
    def verdict(self) -> Verdict | None:
        """The verdict that counts; None before judging."""
        return next(iter(self.verdicts.values()), None)

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Measure the duration of a part of the attempt."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(time.monotonic() - began, 4)


class Recorder:
    """Passes each step to the attempt's files and to the collector of its checks."""

    def __init__(
        self,
        writer: AttemptWriter,
        collector: Collector,
        environment: TrialEnvironment,
        progress: Progress,
        secrets: SessionSecrets,
    ) -> None:
        self._secrets = secrets
        self._writer = writer
        self._collector = collector
        self._environment = environment
        self._progress = progress
        self._signals = 0
        """Number of signals already written."""

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Store what the agent is shown; see `AttemptWriter.observed`."""
        self._collector.observed(index, observation.url)
        self._secrets.learn_traffic(observation.text)
        return self._writer.observed(index, observation)

    def stepped(self, step: StepRecord) -> None:
        """Store a finished step with its signals, collect probes, and keep the sites signed in."""
        self._progress.add(step.usage)
        self._secrets.learn_traffic()
        self._writer.stepped(step)
        signals = self._environment.session.signals.since(self._signals)
        self._signals += len(signals)
        self._writer.signalled(signals)
        self._progress.steps = step.index + 1
        self._collector.stepped(step.index)
        if renewed := self._environment.stay_signed_in(step):
            self._progress.environment.setdefault("renewed_sign_ins", []).append(renewed)
