"""Whether the visitor of a check's readings was signed in: part of what a check gathered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["SignedIn"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """What a site's ``sign_in.check`` said in the cookie jar of a check's readings, before the first and after the
    last of them."""

    site: str
    user: str
    """Account as which the task visits the site."""
    before: str = ""
    """What spoke against ``user`` being signed in before; empty: nothing, the check held."""
    after: str = ""
    """The same afterwards."""
    failed: bool = False
    """Whether that is because the site had no answer at that time (429, 500 and above)."""
    untouched: bool = False
    """Of a check that did not hold: whether the browser still had all that had signed ``user`` in, and no agent drove
    that browser itself."""
    way: Literal["page", "api"] = "page"
    """How the check was looked at: as pages are opened, or by plain requests as APIs are called."""
    again: bool = False
    """Whether the readings that count were made after the harness had signed ``user`` in again, with cookies of its
    own; ``before`` and ``after`` are about these. False in evidence of versions before 15."""
    refused: str = ""
    """Why the harness could not sign ``user`` in again; empty where it could, and where it did not try."""
