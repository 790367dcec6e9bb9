"""Prepares the environment of a trial: leases sites, signs users in, opens a browser context, runs set-up steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.actions import answers_dialogs
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.checks import needs
from pytest_webarena.errors import TrialError
from pytest_webarena.gateway.log import as_tunnel
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.trials.collecting import require_answers
from pytest_webarena.trials.images import load_images
from pytest_webarena.trials.late_work import require_quiet
from pytest_webarena.trials.live import LiveTrial, absolute_url, as_requested
from pytest_webarena.trials.live_sites import wishes_of
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.page_policies import require_no_own_policy
from pytest_webarena.trials.reachable_sites import FirstVisits, reachable_names
from pytest_webarena.trials.setup import run_setup

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import InputImage
    from pytest_webarena.browser.driven import Driven
    from pytest_webarena.browser.engine import BrowserEngine
    from pytest_webarena.browser.session import Session, SessionConfig
    from pytest_webarena.evidence import RequestRecord, StepRecord, Unrecorded
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.sites.protocol.messages import LiveWishes
    from pytest_webarena.tasks.model import Task
    from pytest_webarena.tasks.setup_form import BrowserSetup

__all__ = ["Resources", "TrialEnvironment", "needs_browser", "set_up_environment"]


_NO_HOSTED_SITES = OwnAddresses({})


class Resources(Protocol):
    """The resources that a worker process offers its trials."""

    def lease(
        self,
        sites: Sequence[str],
        *,
        users: Mapping[str, str],
        holder: str,
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        live: LiveWishes | None = None,
        max_age: float | None = None,
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``, to be visited as ``users``.

        ``reach`` names other sites that can be visited anonymously (``*``: all). Each is leased at the first request
        for it, those in ``now`` at once. ``live`` says what may be done on live sites. ``max_age`` is the maximum
        number of seconds since its replicas began to start (`Lease.undisturbed`).
        """

    def engine(self) -> BrowserEngine:
        """The worker's browser, started on first use."""

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """Settings of a trial's browser context."""

    def keeper(self, users: Mapping[str, str]) -> Callable[[TrialEnvironment, StepRecord], str]:
        """The function that implements `TrialEnvironment.stay_signed_in` for these users."""

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies that sign the task's users in on the leased sites; None when no site needs a sign-in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnvironment:
    """A task's sites and browser, ready for an agent."""

    session: Session | Pageless
    """A browser context, or `Pageless` for tasks that need none (`needs_browser`)."""
    live: LiveTrial
    lease: Lease | None
    """The sites' lease; None for tasks that need no site."""
    start: tuple[str, ...]
    """Addresses of the first tabs."""
    images: tuple[InputImage, ...] = ()
    """Images of the intent."""
    driven: Driven | None = None
    """Browser access for an agent that drives the browser itself."""
    keeper: Callable[[TrialEnvironment, StepRecord], str] | None = None
    visits: FirstVisits = field(default_factory=lambda: FirstVisits(None))
    """Visits to reachable sites that the task does not list."""
    asks_changes: bool = False
    """Whether a check will read the changes on the sites, even if determining them takes long."""

    @property
    def sites(self) -> Mapping[str, str]:
        """Addresses of the task's sites, by name."""
        return self.live.sites

    @property
    def own_addresses(self) -> OwnAddresses:
        """Names of the catalogue's hosted sites."""
        return self.lease.own_addresses if self.lease is not None else _NO_HOSTED_SITES

    @property
    def reach(self) -> Mapping[str, str]:
        """Base URLs of the reachable sites that the task does not list, by name."""
        return self.visits.sites

    @property
    def replicas(self) -> dict[str, str]:
        """App name to the digest of the replica that serves it."""
        return {replica.app: replica.digest for replica in self.lease.replicas} if self.lease else {}

    @property
    def programs(self) -> dict[str, Any]:
        """App name to the digest of the files that its replica was started with, and those that changed in the run."""
        replicas = self.lease.replicas if self.lease else ()
        return {
            each.app: {"digest": each.program, "changed": list(each.program_changes)}
            for each in replicas
            if each.program
        }

    @property
    def external_sites(self) -> dict[str, str]:
        """Site name to address of sites that run outside the harness: they were not reset, and their version is
        unknown."""
        if self.lease is None:
            return {}
        own = [replica.addresses for replica in self.lease.replicas if replica.backend == EXTERNAL]
        return {name: address for addresses in own for name, address in addresses.items() if name in self.lease.sites}

    @property
    def site_resets(self) -> dict[str, Any]:
        """App name to the seconds of the reset before this trial, and its number, for apps that run elsewhere: trials
        with the same number share one reset."""
        replicas = self.lease.replicas if self.lease else ()
        return {
            each.app: {"instance": each.id, "number": each.generation, "seconds": round(each.reset_seconds, 3)}
            for each in replicas
            if each.reset_seconds
        }

    def open_first_pages(self) -> None:
        """Load the task's first tabs, and wait for queued work. All later changes on the sites count as the agent's."""
        self.session.open_tabs(self.start)
        require_no_own_policy(self.session, self.own_addresses)
        if self.lease is not None:
            require_quiet(self.lease)
            self.lease.mark(required=self.asks_changes)
        self.session.signals.mark_agent_start()

    @property
    def keeps_ledger(self) -> bool:
        """Whether one of the sites forbids side effects, so that all of its changes are attributed to its visitors."""
        return self.lease is not None and any(site.forbid_side_effects for site in self.lease.sites.values())

    def requests(self) -> tuple[RequestRecord, ...]:
        """The requests of the agent's browser, without those for sign-in, set-up and checks."""
        return self.lease.requests() if self.lease else ()

    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """Requests missing from `requests` because there was no room."""
        return self.lease.unrecorded() if self.lease else ()

    def refusal(self, url: str) -> str:
        """Why the gateway refused the agent's latest request for ``url``; empty when it did not. A missing response of
        a live site or an archive is not a refusal."""
        requested = as_requested(url)
        if self.lease is None or not self.lease.own_answer(requested):
            return ""
        latest = next(
            (each for each in reversed(self.requests()) if each.url in (requested, as_tunnel(requested))), None
        )
        return latest.refused if latest is not None and not latest.obstacle else ""

    def stay_signed_in(self, step: StepRecord) -> str:
        """Sign the visitor in again when a step ended on a sign-in page because the site has ended the session.

        After a navigation the same address is opened again. After other actions the page on which they were taken is
        opened, and the next observation says so. Returns what was done, for the record; empty if nothing. A sign-out by
        the agent is left alone.
        """
        return self.keeper(self, step) if self.keeper is not None and self.driven is None else ""

    def arrive(self) -> float:
        """Wait until reachable sites that were visited for the first time are available; return the seconds that took.

        The current tab then shows the site's own page. Raises the reason when a site is unavailable.
        """
        return self.visits.arrive(self.session)

    def check_sites(self, *, ask: bool = False) -> None:
        """Raise `SiteError` when a replica has died. A hanging replica is detected only if its traffic, or ``ask``,
        gives a reason to test it: a time limit that was reached, a browser that waited in vain."""
        if self.lease is not None:
            self.lease.check(ask=ask)

    @contextmanager
    def attributing_site_errors(self) -> Iterator[None]:
        """Within the block, errors become errors of the sites if these do not work: a page that does not load, a
        time-out."""
        try:
            yield
        except TrialError:
            self.check_sites(ask=True)
            raise


def needs_browser(task: Task) -> bool:
    """Whether a task has something to look at: sites, first tabs, or checks that look at pages.

    Other tasks are plain questions. They run without a browser, except for agents that drive one themselves.
    """
    return bool(task.leased or task.start or needs(task.every_check).pages)


@contextmanager
def set_up_environment(
    task: Task,
    resources: Resources,
    *,
    holder: str,
    timed: Callable[[str], AbstractContextManager[None]] = lambda name: nullcontext(),
    tailor: Callable[[SessionConfig], SessionConfig] = lambda config: config,
    self_driving: bool = False,
    rooted: bool = False,
    options: TrialOptions | None = None,
    visited: Sequence[str] = (),
    max_age: float | None = None,
    leased: Callable[[Lease], None] = lambda lease: None,
) -> Iterator[TrialEnvironment]:
    """Lease sites, sign in, open a browser context and run the set-up; release everything at the end.

    Args:
        timed: Entered with ``lease``, ``session`` and ``setup`` around each part.
        tailor: Adapts the settings of the browser context to the agent.
        self_driving: Whether the agent gets a browser of its own to drive; ``rooted`` as in `open_driven`.
        options: Where images may be loaded from, what can be visited, and how long the set-up's last requests are
            waited for.
        visited: Reachable sites that an earlier attempt visited; they are leased from the start.
        max_age: As in `Resources.lease`.
        leased: Called with the lease once it is granted.
    """
    options = options if options is not None else TrialOptions()
    with ExitStack() as exits:
        lease: Lease | None = None
        state: Mapping[str, Any] | None = None
        driven: Driven | None = None
        with timed("lease"):
            if task.leased:
                reachable = reachable_names(task, options)
                more: dict[str, Any] = {"reach": reachable, "now": tuple(visited)} if reachable else {}
                if (live_wishes := wishes_of(task)) is not None:
                    more["live"] = live_wishes
                if max_age is not None:
                    more["max_age"] = max_age
                lease = exits.enter_context(resources.lease(task.leased, users=task.user, holder=holder, **more))
                leased(lease)
                task = lease.own_addresses.in_value(task)
        with timed("session"):
            if lease is not None:
                state = resources.login_state(lease, task.user)
            session: Session | Pageless
            if not self_driving and not needs_browser(task):
                session = Pageless()
            else:
                config = tailor(resources.session_config(lease, state))
                if self_driving:
                    from pytest_webarena.browser.driven import open_driven

                    session, driven = exits.enter_context(open_driven(resources.engine(), config, rooted=rooted))
                else:
                    session = exits.enter_context(resources.engine().session(config))
            live = LiveTrial(session, lease, task.user, driven=driven is not None, engine=lambda: resources.engine())
        if task.setup and lease is not None:
            with timed("setup"):
                run_setup(task.setup, lease, live, _visits(task, resources, lease))
                patience = options.write_timeout
                require_answers(lease.wait_for_writes(patience), patience, "the last step of its set-up")
        yield TrialEnvironment(
            session=session,
            live=live,
            lease=lease,
            start=() if isinstance(session, Pageless) else _start_urls(task, live),
            images=load_images(task, live, fetch=options.fetch_images),
            driven=driven,
            keeper=resources.keeper(task.user) if lease is not None else None,
            visits=FirstVisits(lease),
            asks_changes=needs(task.every_check).changes,
        )


def _visits(
    task: Task, resources: Resources, lease: Lease
) -> Callable[[BrowserSetup], AbstractContextManager[Session]]:
    """A function that opens browser contexts for set-up steps, signed in as the task's users or as one account on all
    sites."""

    @contextmanager
    def visit(step: BrowserSetup) -> Iterator[Session]:
        users = task.user if step.user is None else dict.fromkeys(task.sites, step.user)
        config = resources.session_config(lease, resources.login_state(lease, users))
        config = replace(config, proxy=lease.harness_proxy)
        if answers_dialogs(step.steps):
            config = replace(config, dialogs="hold")
        with resources.engine().session(config) as session:
            yield session
        if step.user is not None:
            resources.login_state(lease, task.user)  # the agent must not continue with another account

    return visit


def _start_urls(task: Task, live: LiveTrial) -> tuple[str, ...]:
    if task.start:
        return tuple(
            absolute_url(live.sites, start.site, start.path) if start.path else live.start(start.site)
            for start in task.start
        )
    return (live.start(task.sites[0]),) if task.sites else ("about:blank",)
