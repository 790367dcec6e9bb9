"""Finds policies in pages of hosted sites that allow the site's own address only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteKeepsAddress

if TYPE_CHECKING:
    from pytest_webarena.browser.pageless import Pageless
    from pytest_webarena.browser.session import Session
    from pytest_webarena.own_addresses import OwnAddresses

__all__ = ["require_no_own_policy"]

_POLICIES = """js=(() => {
  const found = document.querySelectorAll('meta[http-equiv=content-security-policy i]');
  const parts = document.querySelectorAll('[src], link[rel~=stylesheet i][href]');
  return found.length ? JSON.stringify([[...found].map(each => each.content).join(),
                                        [...parts].map(each => each.src || each.href).join(' ')]) : '';
})()"""
"""The policies of a page and the addresses of its parts."""


def require_no_own_policy(session: Session | Pageless, table: OwnAddresses) -> None:
    """Raise `SiteKeepsAddress` if the current page contains a Content-Security-Policy, and it or the page's parts have
    a hosted site's own address.

    The gateway translates headers, but not pages, so the browser would block the page's parts under the name.
    """
    if not table.names:
        return
    page = session.read_page(open=None, locate=_POLICIES)
    if not page.value:
        return
    policy, parts = json.loads(str(page.value))
    if any(table.named(text) != text for text in (policy, parts)) or table.untranslated(policy):
        raise SiteKeepsAddress(
            f"{page.url}: expected no Content-Security-Policy in a <meta> element of a page with the site's own "
            f"address, found {policy[:200]!r}. The site needs 'keep_address: true' in the catalogue"
        )
