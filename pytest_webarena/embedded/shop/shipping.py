"""How parcels travel: three methods, the standard one free from a certain value on."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from oscar.apps.shipping.methods import Base
from oscar.apps.shipping.repository import Repository as OscarRepository
from oscar.core import prices

__all__ = ["METHODS", "Collect", "Express", "Repository", "Standard"]


class _Method(Base):
    charge = Decimal("0.00")
    free_from: Decimal | None = None

    def calculate(self, basket: Any) -> prices.Price:
        """The charge for ``basket``, prices before vouchers."""
        value = basket.total_incl_tax_excl_discounts if basket is not None else Decimal(0)
        charge = Decimal("0.00") if self.free_from is not None and value >= self.free_from else self.charge
        return prices.Price(currency=basket.currency, excl_tax=charge, incl_tax=charge)


class Standard(_Method):
    """By van, the default."""

    code = "standard"
    name = "Standard delivery"
    description = "By our own van in 2 to 4 working days. Free for orders of 75.00 kr or more."
    charge = Decimal("4.90")
    free_from = Decimal("75.00")


class Express(_Method):
    """Next working day."""

    code = "express"
    name = "Express delivery"
    description = "On the next working day when ordered before 14:00."
    charge = Decimal("9.90")


class Collect(_Method):
    """From the counter."""

    code = "collect"
    name = "Collect in store"
    description = "Ready at the counter in Wendgate after two hours. No charge."


METHODS = (Standard(), Express(), Collect())


class Repository(OscarRepository):
    """Every method, to every address."""

    methods = METHODS
