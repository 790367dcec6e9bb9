"""The store's Django app: takes away what would write on a read."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.apps import AppConfig

__all__ = ["ShopConfig", "crowns"]


def crowns(value: Decimal, **_: Any) -> str:
    """``1,234.50 kr``: what Babel makes of it by ``OSCAR_CURRENCY_FORMAT``."""
    return f"{value:,.2f} kr"


class ShopConfig(AppConfig):
    """Template tags, and the signals we do not want."""

    name = "pytest_webarena.embedded.shop"
    label = "store"

    def ready(self) -> None:
        from django.contrib.auth.models import update_last_login
        from django.contrib.auth.signals import user_logged_in
        from oscar.apps.analytics import receivers
        from oscar.apps.catalogue.signals import product_viewed
        from oscar.apps.search.signals import user_search
        from oscar.templatetags import currency_filters

        from pytest_webarena.embedded.shop import tables

        tables.speed_up_tables()
        # Babel would read megabytes of how other regions write money, to put two digits and a unit behind a number.
        currency_filters.format_currency = crowns
        # Looking at a page or signing in must leave the database byte for byte as it was: a released
        # replica is then provably clean, and a stored login costs no reset.
        product_viewed.disconnect(receivers.receive_product_view)
        user_search.disconnect(receivers.receive_product_search)
        user_logged_in.disconnect(update_last_login, dispatch_uid="update_last_login")
