"""Builds a pristine store: the same bytes of content on every run."""

from __future__ import annotations

from pathlib import Path

__all__ = ["build"]


def build(database: Path) -> None:
    """Create the SQLite file ``database`` (it must not exist) with the store as of `world.EPOCH`."""
    from pytest_webarena.embedded.shop import runtime

    runtime.configure(database)
    # These import models, which need the settings.
    from pytest_webarena.embedded.shop.seeding import content, orders, people, products, reviews, tools

    tools.create_schema()
    with tools.building():
        stock = products.build()
        customers = people.build()
        content.build(stock)
        sales = orders.build(stock, customers)
        reviews.build(stock, customers, sales)
        people.build_lists(stock, customers)
    tools.finish()
