"""Finds login checks that can't distinguish the accounts of a site."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue, LoginCheck

__all__ = ["no_account_warning", "unnamed_accounts"]


def no_account_warning(check: LoginCheck) -> str:
    """Returns the message about a ``check`` that depends on no account, with the remedy."""
    return (
        f"the check of sign_in ({check}) names no account, so it may accept another one. Include the account's "
        "name: includes: '{username}'"
    )


def unnamed_accounts(catalogue: Catalogue, apps: Collection[str]) -> Iterator[str]:
    """Yields a note on each site of ``apps`` that has several accounts and a check that names none of them."""
    for app in (catalogue.apps[name] for name in apps):
        for site, recipe in app.login.items():
            if len(app.users) > 1 and not recipe.check.names_account():
                yield f"{site}: {no_account_warning(recipe.check)}"
