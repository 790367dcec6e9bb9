"""Explains why a Python test's own context does not find a leased site: it does not use the lease's proxy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    import pytest

__all__ = ["explain_unrouted"]

_UNKNOWN = re.compile(r"ERR_NAME_NOT_RESOLVED|NS_ERROR_UNKNOWN_HOST|ENOTFOUND|EAI_AGAIN")
"""Errors of Chromium, Firefox and Playwright's own requests for an unknown host."""


def explain_unrouted(item: pytest.Item, report: pytest.TestReport) -> None:
    """Add a section to the report of a failed test that requested a leased site in another context.

    Contexts of the lease use its gateway, which answers for every name, so an unknown name identifies other contexts.
    """
    access: Any = getattr(item, "funcargs", {}).get("webarena")
    if not report.failed or access is None or _UNKNOWN.search(report.longreprtext) is None:
        return
    hosts = (urlsplit(url).hostname or "" for url in access.sites.values())
    if host := next((host for host in hosts if host and host in report.longreprtext), ""):
        report.sections.append(
            (
                "pytest-webarena",
                f"{host} is known in contexts of this lease only: take the fixtures page, context or new_context, "
                "or browser.new_context(**webarena.context_options())",
            )
        )
