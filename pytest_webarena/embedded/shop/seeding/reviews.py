"""Seeds product reviews whose texts fit their ratings."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.db import connection
from oscar.core.loading import get_model

from pytest_webarena.embedded.shop.goods import Leaf
from pytest_webarena.embedded.shop.identity import CUSTOMER, EMPLOYEE, OWNER
from pytest_webarena.embedded.shop.seeding.orders import Sales
from pytest_webarena.embedded.shop.seeding.people import Customer
from pytest_webarena.embedded.shop.seeding.products import Stock
from pytest_webarena.embedded.shop.seeding.tools import days_ago, rng

__all__ = ["build"]

_TITLES = {
    5: (
        "Could not be happier",
        "Worth every crown",
        "Exactly what I hoped for",
        "A keeper",
        "Wonderful",
        "Would buy again",
    ),
    4: ("Very good", "Nearly perfect", "Does its job well", "Good, with one caveat", "Pleased", "Solid choice"),
    3: ("It is all right", "Mixed feelings", "Decent for the price", "Neither here nor there", "Fine"),
    2: ("Not for me", "Expected more", "A little disappointing", "Needs improvement"),
    1: ("Sent it back", "Avoid", "Very disappointed", "Broke at once", "Waste of money"),
}
_OPENERS = (
    "Bought this for the cottage in {town}.", "A present for my brother, who is hard to please.",
    "Second one in two years.",
    "I had been looking for one of these for months.", "Ordered on a Monday, here on Wednesday.",
    "My neighbour has the same one.",
    "For daily use in a house of five.", "I did not expect much.", "Replaces one I had for twelve years.",
    "Carried home on the bus from {town}.", "Picked it up at the counter.", "Tried it at once.",
)  # fmt: skip
_CLOSERS = (
    "Would recommend it to a friend.", "We use it every day.", "Delivery was quick.",
    "The packaging was paper only, well done.",
    "I would buy it again.", "My daughter has asked for one too.", "Good service at the counter.", "Time will tell.",
    "",    "", "It now lives by the door.", "The picture does it justice.",
)  # fmt: skip
_NEGATIVE_CLOSERS = (
    "I expected better for the money.", "Returned it the same week.", "The shop took it back without fuss.",
    "I will look elsewhere.", "A pity.", "The older model was better.", "",
)  # fmt: skip
_UNMODERATED = 16
"""Number of the latest reviews that wait for moderation."""


def build(stock: Stock, customers: list[Customer], sales: Sales) -> None:
    """Write reviews, and each product's average rating of its published reviews."""
    model = get_model("reviews", "ProductReview")
    by_id = {customer.id: customer for customer in customers}
    staff = {customer.id for customer in customers if customer.username in (OWNER, EMPLOYEE)}
    main = next(customer.id for customer in customers if customer.username == CUSTOMER)
    rows: list[Any] = []
    for product_id, (_title, leaf) in sorted(stock.pages.items()):
        random = rng("reviews", product_id)
        quality = random.choice((3.0, 3.6, 4.0, 4.3, 4.6, 4.8))
        count = random.choice((0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 12))
        buyers = sorted(sales.buyers.get(product_id, ()))
        reviewers = random.sample(buyers, min(len(buyers), count))
        # Tasks sign in as the main customer, who therefore reviews only what was bought.
        others = [each for each in sorted(by_id) if each not in {*reviewers, *staff, main}]
        reviewers += random.sample(others, count - len(reviewers))
        for user_id in reviewers:
            customer = by_id[user_id]
            score = max(1, min(5, round(random.gauss(quality, 0.95))))
            when = days_ago(1 + random.random() * 680, hour=7 + random.randrange(15), minute=random.randrange(60))
            up, down = random.choice((0, 0, 0, 1, 2, 3, 7)), random.choice((0, 0, 0, 0, 1, 2))
            rows.append(
                model(
                    product_id=product_id,
                    user_id=user_id,
                    score=score,
                    title=random.choice(_TITLES[score]),
                    status=1,
                    body=_body(random, leaf, score, customer),
                    date_created=when,
                    total_votes=up + down,
                    delta_votes=up - down,
                )
            )
    _await_moderation(rows)
    rows.sort(key=_chronological)
    for number, row in enumerate(rows, start=1):
        row.id = number
    model.objects.bulk_create(rows, batch_size=400)
    with connection.cursor() as cursor:
        cursor.execute(
            "update catalogue_product set rating = (select avg(score) from reviews_productreview r"
            " where r.product_id = catalogue_product.id and r.status = 1)"
        )


def _body(random: Any, leaf: Leaf, score: int, customer: Customer) -> str:
    good = [_sentence(text) for text in random.sample(leaf.praise, 2)]
    bad = [_sentence(text) for text in random.sample(leaf.complaints, 2)]
    opener = random.choice(_OPENERS).format(town=customer.town.replace("-", " ").title())
    if score >= 5:
        parts = [opener, *good, random.choice(_CLOSERS)]
    elif score == 4:
        parts = [opener, good[0], f"Only {bad[0][0].lower()}{bad[0][1:]}", random.choice(_CLOSERS)]
    elif score == 3:
        parts = [opener, f"{good[0][:-1]}, but {bad[0][0].lower()}{bad[0][1:]}"]
    else:
        parts = [opener, *bad[: 3 - score], random.choice(_NEGATIVE_CLOSERS)]
    return " ".join(part for part in parts if part)


def _sentence(text: str) -> str:
    return text[0].upper() + text[1:] + "."


def _chronological(row: Any) -> tuple[datetime, int, int]:
    """Return the sort key of a review: its time, with ids to make the order unique."""
    return row.date_created, row.product_id, row.user_id


def _await_moderation(rows: list[Any]) -> None:
    """Make the latest reviews wait for moderation; a moderator should reject two of them (spam and an insult)."""
    latest = sorted(rows, key=_chronological, reverse=True)[:_UNMODERATED]
    for place, row in enumerate(latest):
        row.status, row.total_votes, row.delta_votes = 0, 0, 0
        newest: datetime = days_ago(0, hour=8, minute=50)
        row.date_created = newest - timedelta(hours=7 * place, minutes=place * 11)
    latest[2].title, latest[2].score = "CHEAP WATCHES HERE", 5
    latest[2].body = "Best price watches and phones, write to deals at bargain dot test!!! Not this shop."
    latest[9].title, latest[9].score = "Rude", 1
    latest[9].body = "The person at the counter is an idiot and so is everybody who shops here."
