"""Who the store is: names and addresses that pages, seed and settings share."""

from __future__ import annotations

from pytest_webarena.embedded.world import BUSINESSES, TOWNS

__all__ = [
    "BUSINESS",
    "CURRENCY",
    "CUSTOMER",
    "EMPLOYEE",
    "OWNER",
    "PREFILLED_SEARCH",
    "SHOP_MAIL",
    "SHOP_NAME",
    "TAGLINE",
    "TOWN",
]

BUSINESS = next(business for business in BUSINESSES if business.key == "lantern-loam")
TOWN = next(town for town in TOWNS if town.key == BUSINESS.town)
SHOP_NAME = BUSINESS.name
TAGLINE = f"The general store of {TOWN.name}, since {BUSINESS.founded}"
SHOP_MAIL = "counter@lantern-loam.test"

CURRENCY = "TMC"
"""Tarnmark crowns, shown as ``24.90 kr``."""

PREFILLED_SEARCH = "reading lamp"
"""What the search box holds before anybody searched: typing without clearing it searches for both."""

# User names in `world.PEOPLE`.
OWNER = BUSINESS.owner
EMPLOYEE = "thea.winslade"
CUSTOMER = "mara.linden"
