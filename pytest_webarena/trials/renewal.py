"""Detects that a site ended a visitor's session during a trial, and signs in again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from pytest_webarena.actions import Goto
from pytest_webarena.browser.login import place_of

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord
    from pytest_webarena.sites.protocol.messages import SiteAccess
    from pytest_webarena.trials.logins import Logins
    from pytest_webarena.trials.trial_environment import TrialEnvironment

__all__ = ["renew_ended_session"]

_SIGNING_OUT = re.compile(r"(log|sign)[-_]?(out|off)", re.IGNORECASE)


def renew_ended_session(
    logins: Logins, users: Mapping[str, str], environment: TrialEnvironment, step: StepRecord
) -> str:
    """Implements `TrialEnvironment.stay_signed_in`. Costs nothing unless the step ended on a page with a sign-in
    form."""
    lease = environment.lease
    if lease is None:
        return ""
    site = next((site for site in lease.sites.values() if _at_login_page(site, step)), None)
    if site is None or _signed_out_itself(environment, site):
        return ""
    if not logins.ended(lease, site.name, users, environment.session.storage_state()):
        return ""
    environment.session.sign_in(logins.renew(lease, site.name, users))
    user = users.get(site.name, site.default_user)
    if step.action.get("kind") == Goto.kind:
        environment.session.execute(Goto(str(step.action["url"])))  # as if the session had not ended
    else:
        environment.session.execute(Goto(step.url_before))
        environment.session.note_error(
            f"The site {site.name} had ended the session; you are signed in again as {user}. Repeat your last action."
        )
    return f"signed in to {site.name} as {user} again after step {step.index + 1}"


def _at_login_page(site: SiteAccess, step: StepRecord) -> bool:
    """Whether the step led from another page of the site to its sign-in form."""
    if site.login is None or not site.login.path:
        return False
    login_page = place_of(urljoin(f"{site.url}/", site.login.path))
    before = place_of(step.url_before)
    return place_of(step.url_after) == login_page != before and before[:2] == login_page[:2]


def _signed_out_itself(environment: TrialEnvironment, site: SiteAccess) -> bool:
    own = place_of(site.url)[:2]
    places = (place_of(request.url) for request in environment.requests())
    return any(place[:2] == own and _SIGNING_OUT.search(place[2]) for place in places)
