"""Sets the stage for a task: sites leased, users signed in, a browser context opened, preparations made."""

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
from pytest_webarena.sites.catalogues.external import EXTERNAL
from pytest_webarena.trials.collecting import require_answers
from pytest_webarena.trials.images import load_images
from pytest_webarena.trials.live import LiveTrial, absolute_url, as_requested
from pytest_webarena.trials.live_sites import wishes_of
from pytest_webarena.trials.options import TrialOptions
from pytest_webarena.trials.reachable_sites import FirstVisits, in_reach
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

__all__ = ["Resources", "TrialEnvironment", "needs_browser", "set_stage"]


class Resources(Protocol):
    """What a worker process offers its trials."""

    def lease(
        self,
        sites: Sequence[str],
        *,
        users: Mapping[str, str],
        holder: str,
        reach: Sequence[str] = (),
        now: Sequence[str] = (),
        live: LiveWishes | None = None,
    ) -> Lease:
        """Exclusive use of the apps behind ``sites``, to be visited as ``users``.

        ``reach``: other sites that can be visited, by nobody in particular (``*``: all); each is leased with the first
        request for it, those in ``now`` at once. ``live``: what may be done on live sites.
        """

    def engine(self) -> BrowserEngine:
        """The worker's browser, started on first use."""

    def session_config(self, lease: Lease | None, storage_state: Mapping[str, Any] | None) -> SessionConfig:
        """How a trial's browser context is set up."""

    def keeper(self, users: Mapping[str, str]) -> Callable[[TrialEnvironment, StepRecord], str]:
        """What `TrialEnvironment.stay_signed_in` does for these users."""

    def login_state(self, lease: Lease, users: Mapping[str, str]) -> Mapping[str, Any] | None:
        """Cookies that sign the task's users in on the leased sites; None when no site asks for one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialEnvironment:
    """A task's sites and browser, ready for an agent."""

    session: Session | Pageless
    """A browser context; without one for tasks that need none (`needs_browser`)."""
    live: LiveTrial
    lease: Lease | None
    """None for tasks that need no site."""
    start: tuple[str, ...]
    """Addresses of the tabs to begin with."""
    images: tuple[InputImage, ...] = ()
    """Pictures that belong to the intent."""
    driven: Driven | None = None
    """The way in for an agent that drives the browser itself."""
    keeper: Callable[[TrialEnvironment, StepRecord], str] | None = None
    visits: FirstVisits = field(default_factory=lambda: FirstVisits(None))
    """Of sites in reach that the task does not list."""
    asks_changes: bool = False
    """Whether a check will ask what changed on the sites, however long it takes to tell."""

    @property
    def sites(self) -> Mapping[str, str]:
        """Addresses of the task's sites, by name."""
        return self.live.sites

    @property
    def reach(self) -> Mapping[str, str]:
        """Addresses of the sites in reach that the task does not list."""
        return self.visits.sites

    @property
    def replicas(self) -> dict[str, str]:
        """App name to the digest of what serves it."""
        return {replica.app: replica.digest for replica in self.lease.replicas} if self.lease else {}

    @property
    def external_sites(self) -> dict[str, str]:
        """Site name to address of those that run elsewhere: nobody has reset them, nobody can say what they run."""
        if self.lease is None:
            return {}
        apps = {replica.app for replica in self.lease.replicas if replica.backend == EXTERNAL}
        return {name: site.url for name, site in self.lease.sites.items() if site.app in apps}

    def open_first_pages(self) -> None:
        """Load the tabs that the task begins with. Whatever changes on the sites from then on is the agent's doing."""
        self.session.open_tabs(self.start)
        if self.lease is not None:
            self.lease.mark(asked=self.asks_changes)
        self.session.signals.begun()

    @property
    def keeps_ledger(self) -> bool:
        """Whether whatever changes on one of the sites is the doing of whoever visits them."""
        return self.lease is not None and any(site.forbid_side_effects for site in self.lease.sites.values())

    def requests(self) -> tuple[RequestRecord, ...]:
        """What the agent's browser asked for. Signing in, preparing and checking are not the agent's."""
        return self.lease.requests() if self.lease else ()

    def unrecorded(self) -> tuple[Unrecorded, ...]:
        """What is missing in `requests`, for want of room."""
        return self.lease.unrecorded() if self.lease else ()

    def refusal(self, url: str) -> str:
        """Why the gateway refused the agent's latest request for ``url``; empty when it did not. That a live site or an
        archive has no answer is no refusal."""
        asked = as_requested(url)
        if self.lease is None or not self.lease.own_answer(asked):
            return ""
        latest = next((each for each in reversed(self.requests()) if each.url in (asked, as_tunnel(asked))), None)
        return latest.refused if latest is not None and not latest.obstacle else ""

    def stay_signed_in(self, step: StepRecord) -> str:
        """Sign the visitor in again when a step ended on a sign-in page because the site has ended the session.

        An address that was gone to is gone to again; after other actions the page that they were taken on is opened
        again, and the next observation tells. What was done, for the record; empty when nothing was. Signing out is an
        agent's own business and stays as it is.
        """
        return self.keeper(self, step) if self.keeper is not None and self.driven is None else ""

    def arrive(self) -> float:
        """Wait until the sites in reach are there that were visited for the first time; how many seconds that took.

        What the current tab shows then is the site's own page. Raises why a site can't be had.
        """
        return self.visits.arrive(self.session)

    def check_sites(self, *, ask: bool = False) -> None:
        """Raise `SiteError` when a replica has died; or hangs, if its traffic gives reason to ``ask`` or the caller has
        one: a clock that ran out, a browser that waited in vain."""
        if self.lease is not None:
            self.lease.check(ask=ask)

    @contextmanager
    def blaming_sites(self) -> Iterator[None]:
        """What goes wrong inside is the sites' fault if they don't work: a page that does not load, a time-out."""
        try:
            yield
        except TrialError:
            self.check_sites(ask=True)
            raise


def needs_browser(task: Task) -> bool:
    """Whether there is anything to look at: sites, tabs to begin with, or checks that look at pages.

    Other tasks are questions. They are played without a browser, but for agents that drive one themselves.
    """
    return bool(task.leased or task.start or needs(task.every_check).pages)


@contextmanager
def set_stage(
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
) -> Iterator[TrialEnvironment]:
    """Lease, sign in, open a context, prepare; everything is given back at the end.

    ``timed`` is entered with ``lease``, ``session`` and ``setup`` around each part; ``tailor`` fits the agent's
    browser context to the agent. One that is ``self_driving`` gets a browser of its own, ``rooted`` as `open_driven`
    has it. ``options`` say where the intent's images may be loaded from, what can be visited, and how long the set-up's
    last requests are waited for. ``visited``: sites in reach that an earlier attempt has visited: they are leased from
    the start.
    """
    options = options if options is not None else TrialOptions()
    with ExitStack() as exits:
        lease: Lease | None = None
        state: Mapping[str, Any] | None = None
        driven: Driven | None = None
        with timed("lease"):
            if task.leased:
                beside = in_reach(task, options)
                more: dict[str, Any] = {"reach": beside, "now": tuple(visited)} if beside else {}
                if (wishes := wishes_of(task)) is not None:
                    more["live"] = wishes
                lease = exits.enter_context(resources.lease(task.leased, users=task.user, holder=holder, **more))
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
                require_answers(lease.writes_over(patience), patience, "the last step of its set-up")
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
    """Opens browser contexts for set-up steps, signed in as the task's users or as one account everywhere."""

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
            resources.login_state(lease, task.user)  # the agent must not go on as somebody else

    return visit


def _start_urls(task: Task, live: LiveTrial) -> tuple[str, ...]:
    if task.start:
        return tuple(
            absolute_url(live.sites, start.site, start.path) if start.path else live.start(start.site)
            for start in task.start
        )
    return (live.start(task.sites[0]),) if task.sites else ("about:blank",)
