"""Finds policies in pages of hosted sites that allow the site's own address only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_webarena.errors import SiteKeepsAddress

if TYPE_CHECKING:
    from pytest_webarena.browser.pageless import Pageless
    from pytest_webarena.browser.session import Session
    from pytest_webarena.own_addresses import OwnAddresses

__all__ = ["require_no_own_policy"]

_POLICIES = (
    "js=[...document.querySelectorAll('meta[http-equiv=content-security-policy i]')].map(each => each.content).join()"
)


def require_no_own_policy(session: Session | Pageless, table: OwnAddresses) -> None:
    """Raise `SiteKeepsAddress` if the current page contains a Content-Security-Policy with a hosted site's own address.

    The gateway translates headers, but not pages, so the browser would block the page's parts under the name.
    """
    if not table.names:
        return
    page = session.read_page(open=None, locate=_POLICIES)
    policy = str(page.value or "")
    if table.named(policy) != policy or table.untranslated(policy):
        raise SiteKeepsAddress(
            f"{page.url}: expected no Content-Security-Policy with the site's own address in a <meta> element, found "
            f"{policy[:200]!r}. The site needs 'keep_address: true' in the catalogue"
        )
