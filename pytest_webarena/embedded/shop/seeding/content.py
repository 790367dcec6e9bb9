"""Offers, vouchers and pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from django.contrib.flatpages.models import FlatPage
from django.contrib.sites.models import Site
from oscar.core.loading import get_model

from pytest_webarena.embedded.shop.identity import BUSINESS, SHOP_MAIL, SHOP_NAME
from pytest_webarena.embedded.shop.seeding.products import Stock
from pytest_webarena.embedded.shop.seeding.tools import days_ago
from pytest_webarena.embedded.world import PEOPLE, WEEKDAYS

__all__ = ["VOUCHERS", "build"]

VOUCHERS = (
    # code, name, percent (or amount), from basket value, days until start and end, usage
    ("WELCOME10", "Welcome to the store", "10%", 0, -900, 400, "Once per customer"),
    ("SPRING15", "Spring cleaning", "15%", 40, -60, 25, "Multi-use"),
    ("FELLS20", "Twenty crowns off the fells", "20", 120, -30, 60, "Multi-use"),
    ("WINTER20", "Winter warmers", "20%", 0, -160, -70, "Multi-use"),
    ("REGATTA25", "Regatta weekend", "25%", 50, 28, 35, "Multi-use"),
    ("SORRY5", "With apologies", "5", 0, -20, 90, "Single use"),
)
_PAGES = ("about", "delivery", "returns", "repairs", "size-guide", "privacy")


def build(stock: Stock) -> None:
    """Write them; the site's name too."""
    Site.objects.update_or_create(id=1, defaults={"domain": "shopping.test", "name": SHOP_NAME})
    _offers(stock)
    for number, slug in enumerate(_PAGES, start=1):
        title, text = _page(slug)
        page = FlatPage.objects.create(id=number, url=f"/{slug}/", title=title, content=text)
        page.sites.set([1])


def _offers(stock: Stock) -> None:
    everything = get_model("offer", "Range").objects.create(
        id=1, name="Whole catalogue", slug="whole-catalogue", includes_all_products=True, date_created=days_ago(800)
    )
    ranges = {}
    for number, name in enumerate(("Candles", "Socks", "Garden"), start=2):
        ranges[name] = get_model("offer", "Range").objects.create(
            id=number, name=name, slug=name.lower(), is_public=True, date_created=days_ago(700)
        )
        ranges[name].included_categories.set([stock.categories[name]])
    _offer("Three candles for two", "Buy any three candles and the cheapest is on us.", ranges["Candles"],
           ("Count", 3), ("Multibuy", None), start=-40, end=50)  # fmt: skip
    _offer("Sock drawer", "A quarter off from three pairs on.", ranges["Socks"], ("Count", 3), ("Percentage", 25),
           start=-20, end=40)  # fmt: skip
    _offer("May in the garden", "Ten per cent off everything in the garden department.", ranges["Garden"],
           ("Count", 1), ("Percentage", 10), start=-13, end=17)  # fmt: skip
    _offer("Winter lights", "Five crowns off two lanterns.", everything, ("Value", 60), ("Absolute", 5),
           start=-200, end=-90)  # fmt: skip
    for number, (code, name, worth, floor, start, end, usage) in enumerate(VOUCHERS, start=1):
        percent = worth.endswith("%")
        offer = _offer(
            f"{name} ({code})", f"For voucher {code}.", everything,
            ("Value", floor) if floor else ("Count", 1),
            ("Percentage" if percent else "Absolute", int(worth.rstrip("%"))), start=start, end=end, kind="Voucher",
        )  # fmt: skip
        voucher = get_model("voucher", "Voucher").objects.create(
            id=number, name=name, code=code, usage=usage, start_datetime=days_ago(-start, hour=0),
            end_datetime=days_ago(-end, hour=23, minute=59), date_created=days_ago(max(-start, 0) + 10),
        )  # fmt: skip
        voucher.offers.set([offer])


def _offer(
    name: str, description: str, goods: Any, condition: tuple[str, Any], benefit: tuple[str, Any], *, start: int,
    end: int, kind: str = "Site",
) -> Any:  # fmt: skip
    number = get_model("offer", "ConditionalOffer").objects.count() + 1
    when = get_model("offer", "Condition").objects.create(
        id=number, range=goods, type=condition[0], value=Decimal(condition[1])
    )
    what = get_model("offer", "Benefit").objects.create(
        id=number, range=None if benefit[0].startswith("Shipping") else goods, type=benefit[0],
        value=None if benefit[1] is None else Decimal(benefit[1]),
    )  # fmt: skip
    return get_model("offer", "ConditionalOffer").objects.create(
        id=number, name=name, description=description, offer_type=kind, condition=when, benefit=what, exclusive=True,
        start_datetime=days_ago(-start, hour=0), end_datetime=days_ago(-end, hour=23), date_created=days_ago(500),
        status="Open",
    )  # fmt: skip


def _page(slug: str) -> tuple[str, str]:
    owner = next(person.name for person in PEOPLE if person.username == BUSINESS.owner)
    hours = "".join(f"<tr><td>{day}</td><td>{BUSINESS.hours[day] or 'closed'}</td></tr>" for day in WEEKDAYS)
    return {
        "about": (
            "About us",
            f"<p>{SHOP_NAME} opened in {BUSINESS.founded} as a lamp and seed shop. {owner} runs it today, at"
            f" {BUSINESS.street}, between the bridge and the Regional Library.</p><h2>Opening hours</h2>"
            f"<table class='table'>{hours}</table><p>Write to us: {SHOP_MAIL}.</p>",
        ),
        "delivery": (
            "Delivery",
            "<p>We deliver anywhere in Tarnmark, the island of Sall included.</p><ul><li>Standard delivery: 4.90 kr,"
            " 2 to 4 working days, free from 75.00 kr.</li><li>Express delivery: 9.90 kr, next working day when ordered"
            " before 14:00.</li><li>Collect in store: free, ready after two hours.</li></ul><p>We do not deliver on"
            " Sundays. Gorsehythe is served by the Sall Ferry and takes one day more.</p>",
        ),
        "returns": (
            "Returns",
            "<p>Bring or send anything back within 45 days, unused, for a full refund. Seeds and opened food are"
            " excepted. Engraved goods can only be exchanged when the engraving is wrong.</p><p>Refunds take up to five"
            " working days. Return postage is free above 50.00 kr.</p>",
        ),
        "repairs": (
            "Repairs",
            "<p>We mend what we sell. Knives are sharpened once a year without charge, waxed jackets re-waxed each"
            " October, boots resoled for 38.00 kr. Clocks go to Hale Clocks in Kelderby on the first Tuesday of the"
            " month.</p>",
        ),
        "size-guide": (
            "Size guide",
            "<table class='table'><tr><th>Size</th><th>Chest</th><th>Waist</th></tr><tr><td>S</td><td>86 to 92 cm</td>"
            "<td>72 to 78 cm</td></tr><tr><td>M</td><td>94 to 100 cm</td><td>80 to 86 cm</td></tr><tr><td>L</td>"
            "<td>102 to 108 cm</td><td>88 to 94 cm</td></tr><tr><td>XL</td><td>110 to 116 cm</td><td>96 to 104 cm</td>"
            "</tr></table><p>Boots: if you are between two sizes, take the larger one.</p>",
        ),
        "privacy": (
            "Privacy",
            "<p>We keep your name, your addresses and what you bought, for ten years, as the law asks. We tell nobody."
            " Ask for a copy at the counter.</p>",
        ),
    }[slug]
