"""Whether the visitor of a check's readings was signed in; a part of `Probe`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SignedIn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """Results of a site's ``sign_in.check`` with the cookies of a check's readings, before the first reading and after
    the last one."""

    site: str
    user: str
    """Account with which the task visits the site."""
    before: str = ""
    """Reason why ``user`` did not count as signed in before the readings; empty when the check passed."""
    after: str = ""
    """Reason why ``user`` did not count as signed in after the readings; empty when the check passed."""
    failed: bool = False
    """Whether the check failed because the site could not answer at that time (429, 500 and above)."""
    untouched: bool = False
    """For a check that failed: whether the browser still had everything that had signed ``user`` in, and no agent drove
    that browser itself."""
    way: Literal["page", "api"] = "page"
    """How the check was requested: as a page is opened, or by plain requests as APIs are called."""
    again: bool = False
    """Whether the counted readings were made after the harness had signed ``user`` in again, with its own cookies;
    ``before`` and ``after`` then describe that session. False in evidence of versions before 15."""
    refused: str = ""
    """Why the harness could not sign ``user`` in again; empty when it succeeded or did not try."""
