"""Masks the sessions of secret accounts, also those that a site renews while a trial runs."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from pytest_webarena.browser.config import SECRET_ARGS
from pytest_webarena.credentials import in_bodies, in_cookies, in_pages, in_requests, in_storage
from pytest_webarena.errors import TrialError
from pytest_webarena.secrets import learn

if TYPE_CHECKING:
    from pytest_webarena.browser.config import SessionConfig
    from pytest_webarena.evidence import Evidence, RequestRecord
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["SessionSecrets"]


class SessionSecrets:
    """Learns the credentials of a trial before its files are written. Without secret accounts it does nothing.

    Sessions are secret if an account's password or TOTP secret comes from the environment, if a command or a file
    provides them, or if the browser context was given credentials.
    """

    def __init__(self, environment: TrialEnvironment) -> None:
        self._environment = environment
        self._learned: set[RequestRecord] = set()
        """Requests whose credentials are known. One that gets its response later is another record."""
        sites = environment.lease.sites.values() if environment.lease is not None else ()
        config: SessionConfig | None = getattr(environment.session, "config", None)  # agents without pages have none
        self.wanted = bool(config is not None and SECRET_ARGS & config.context_args.keys()) or any(
            any(account.is_private for account in site.users.values())
            or (site.login is not None and site.login.has_secret_sessions)
            for site in sites
        )
        if self.wanted:
            environment.session.keep_own_received()

    def learn_traffic(self, shown: str = "") -> None:
        """Learn what requests and responses contain so far, and the page that is ``shown`` to the agent."""
        if self.wanted:
            with suppress(TrialError):
                page = self._environment.session.html() if shown else ""  # its hidden fields are in no observation
                learn(in_pages([shown, page]))
            with suppress(TrialError):
                fresh = set(self._environment.requests()) - self._learned
                self._learned |= fresh
                learn(in_requests(fresh))

    def learn_all(self) -> None:
        """Learn what traffic and storage contain. Called while the session is open, however the trial ended."""
        if not self.wanted:
            return
        self.learn_traffic()
        with suppress(TrialError):
            learn(in_storage(self._environment.session.storage_state()))

    def learn_pages(self, evidence: Evidence) -> None:
        """Learn what recorded pages contain, and the cookies that visits for checks have received."""
        if self.wanted:
            with suppress(TrialError):
                session = self._environment.session
                learn(in_cookies(session.own_received()))
                learn(in_bodies(session.own_bodies()))
            learn(in_pages([*(tab.html for tab in evidence.tabs), *(page.html for page in evidence.pages)]))
