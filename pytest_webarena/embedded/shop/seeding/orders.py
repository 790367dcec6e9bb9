"""Two years of orders, with the figures that reports draw from them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from oscar.core.loading import get_model

from pytest_webarena.embedded.shop.identity import CURRENCY, CUSTOMER, EMPLOYEE, OWNER
from pytest_webarena.embedded.shop.seeding.content import VOUCHERS
from pytest_webarena.embedded.shop.seeding.people import Customer
from pytest_webarena.embedded.shop.seeding.products import SUPPLIERS, Item, Stock
from pytest_webarena.embedded.shop.seeding.tools import days_ago, rng
from pytest_webarena.embedded.shop.shipping import METHODS

__all__ = ["Sales", "build"]

_MAIN_CUSTOMERS_ORDERS = 46
_CENT = Decimal("0.01")
_SEARCHES = (
    ("lantern", 41), ("kettle", 33), ("head torch", 27), ("wool throw", 24), ("headphones", 22), ("tea", 19),
    ("gift", 17), ("jigsaw", 15), ("rain jacket", 13), ("honey", 11), ("notebook a5", 9), ("bird box", 8),
    ("lampp", 6), ("usb c cable", 5), ("sourdough", 4), ("umbrella", 3),
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Sales:
    """Who bought what: for reviews."""

    buyers: dict[int, set[int]] = field(default_factory=dict)
    """Product page to customer ids."""


@dataclass(slots=True, kw_only=True)
class _Order:
    customer: Customer
    placed: datetime
    lines: list[tuple[Item, int]]
    method: int
    status: str
    voucher: int = 0
    """Number in `VOUCHERS`, from 1 on; 0 for none."""


def build(stock: Stock, customers: list[Customer]) -> Sales:
    """Write orders, baskets, figures and search terms."""
    plans = sorted(_plans(stock, customers), key=lambda plan: (plan.placed, plan.customer.id))
    sales = Sales()
    tables: dict[tuple[str, str], list[Any]] = {}
    for number, plan in enumerate(plans, start=1):
        _write(tables, number, plan, sales)
    _open_baskets(tables, stock, customers, len(plans))
    for (app, model), rows in tables.items():
        get_model(app, model).objects.bulk_create(rows, batch_size=400)
    _figures(plans, stock, customers)
    _searches(customers)
    return sales


def _plans(stock: Stock, customers: list[Customer]) -> list[_Order]:
    plans = []
    by_page: dict[int, list[Item]] = {}
    for item in stock.items:
        by_page.setdefault(item.product, []).append(item)
    pages = sorted(by_page)
    shuffled = rng("popular").sample(pages, len(pages))
    weights = [1.0 / (6 + place) for place in range(len(shuffled))]
    for customer in customers:
        random = rng("orders", customer.username)
        main = customer.username == CUSTOMER
        if customer.username in (OWNER, EMPLOYEE):
            continue
        count = _MAIN_CUSTOMERS_ORDERS if main else random.choice((0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 9, 12))
        span = 725 if main else min(customer.joined, 730)
        for _ in range(count):
            ago = 1 + random.random() * span
            hour, minute = 7 + random.randrange(15), random.randrange(60)
            lines: dict[int, tuple[Item, int]] = {}
            for _ in range(random.choice((1, 1, 2, 2, 3, 4))):
                # The cheaper of two: people buy more tea than tents.
                item = min((random.choice(by_page[page]) for page in random.choices(shuffled, weights, k=2)),
                           key=lambda item: (item.price, item.id))  # fmt: skip
                lines[item.id] = (item, random.choice((1, 1, 1, 1, 2, 2, 3)))
            plans.append(
                _Order(
                    customer=customer,
                    placed=days_ago(ago, hour=hour, minute=minute),
                    lines=list(lines.values()),
                    method=random.choices((0, 1, 2), (6, 2, 2))[0],
                    status=_status(random, ago),
                )
            )
    _favourites(plans, by_page, shuffled, customers)
    _yesterday(plans, by_page, shuffled, customers)
    _vouchers(plans)
    return plans


def _status(random: Any, ago: float) -> str:
    if ago > 21:
        return str(random.choices(("Complete", "Cancelled", "Returned"), (90, 6, 4))[0])
    if ago > 6:
        return str(random.choices(("Shipped", "Complete", "On hold", "Cancelled"), (5, 4, 1, 1))[0])
    return str(random.choices(("Pending", "Processing", "On hold"), (6, 4, 1))[0])


def _favourites(
    plans: list[_Order], by_page: dict[int, list[Item]], shuffled: list[int], customers: list[Customer]
) -> None:
    """The best-seller of 2024, of this year and of the last month are three different things."""
    for place, (first, last, copies) in enumerate(((136, 480, 34), (35, 133, 20), (2, 29, 22))):
        random = rng("favourite", place)
        items = by_page[shuffled[40 + place * 7]]
        buyers = [customer for customer in customers[40:] if customer.joined > last]
        sold = 0
        while sold < copies:
            ago = first + random.random() * (last - first)
            quantity = random.choice((1, 1, 2))
            plans.append(
                _Order(
                    customer=random.choice(buyers),
                    placed=days_ago(ago, hour=8 + random.randrange(12), minute=sold % 60),
                    lines=[(random.choice(items), quantity)],
                    method=0,
                    status=_status(random, max(ago, 8)),
                )
            )
            sold += quantity


def _yesterday(
    plans: list[_Order], by_page: dict[int, list[Item]], shuffled: list[int], customers: list[Customer]
) -> None:
    """A lively last day, so that the dashboard is not empty."""
    random = rng("yesterday")
    for step in range(9):
        item = random.choice(by_page[random.choice(shuffled[:200])])
        plans.append(
            _Order(
                customer=random.choice(customers[2:60]),
                placed=days_ago(0, hour=8, minute=40) - timedelta(minutes=137 * step + 5),
                lines=[(item, random.choice((1, 2)))],
                method=step % 3,
                status="Pending" if step < 6 else "Processing",
            )
        )
    employees = {OWNER, EMPLOYEE}
    plans[:] = [plan for plan in plans if plan.customer.username not in employees]


def _vouchers(plans: list[_Order]) -> None:
    random = rng("vouchers")
    served: set[str] = set()
    for plan in sorted(plans, key=lambda plan: plan.placed):
        value = sum(item.price * quantity for item, quantity in plan.lines)
        if plan.customer.username not in served and random.random() < 0.2:
            plan.voucher = 1
        elif days_ago(60) < plan.placed and value >= 40 and random.random() < 0.25:
            plan.voucher = 2
        elif days_ago(160) < plan.placed < days_ago(70) and random.random() < 0.3:
            plan.voucher = 4
        served.add(plan.customer.username)


def _write(tables: dict[tuple[str, str], list[Any]], number: int, plan: _Order, sales: Sales) -> None:
    def add(app: str, model: str, **values: Any) -> Any:
        rows = tables.setdefault((app, model), [])
        rows.append(get_model(app, model)(id=values.pop("id", 0) or len(rows) + 1, **values))
        return rows[-1]

    customer = plan.customer
    add("basket", "Basket", id=number, owner_id=customer.id, status="Submitted", date_submitted=plan.placed,
        date_created=plan.placed - timedelta(minutes=9))  # fmt: skip
    add("order", "ShippingAddress", id=number, **customer.address)
    percent = Decimal(VOUCHERS[plan.voucher - 1][2].rstrip("%")) / 100 if plan.voucher else Decimal(0)
    total, before = Decimal(0), Decimal(0)
    for item, quantity in plan.lines:
        full = item.price * quantity
        paid = (full * (1 - percent)).quantize(_CENT, ROUND_HALF_UP)
        total, before = total + paid, before + full
        done = plan.status in ("Shipped", "Complete", "Returned")
        add(
            "basket", "Line", basket_id=number, product_id=item.id, stockrecord_id=item.stockrecord, quantity=quantity,
            line_reference=f"{item.id}_{item.stockrecord}", price_currency=CURRENCY, price_excl_tax=item.price,
            price_incl_tax=item.price, date_created=plan.placed, date_updated=plan.placed,
        )  # fmt: skip
        line = add(
            "order", "Line", order_id=number, partner_id=item.supplier, partner_name=SUPPLIERS[item.supplier - 1],
            partner_sku=item.sku, stockrecord_id=item.stockrecord, product_id=item.id, title=item.title,
            upc=f"LL{100000 + item.id}", quantity=quantity, line_price_incl_tax=paid, line_price_excl_tax=paid,
            line_price_before_discounts_incl_tax=full, line_price_before_discounts_excl_tax=full,
            unit_price_incl_tax=item.price, unit_price_excl_tax=item.price, status=plan.status,
            num_allocated=0, allocation_cancelled=done or plan.status == "Cancelled",
        )  # fmt: skip
        add("order", "LinePrice", order_id=number, line_id=line.id, quantity=quantity, price_incl_tax=paid / quantity,
            price_excl_tax=paid / quantity)  # fmt: skip
        if plan.status in ("Complete", "Shipped"):
            sales.buyers.setdefault(item.product, set()).add(customer.id)
    method = METHODS[plan.method]
    free = method.free_from is not None and before >= method.free_from
    charge = Decimal("0.00") if free else method.charge
    add(
        "order", "Order", id=number, number=str(100000 + number), site_id=1, basket_id=number, user_id=customer.id,
        currency=CURRENCY, total_incl_tax=total + charge, total_excl_tax=total + charge, shipping_incl_tax=charge,
        shipping_excl_tax=charge, shipping_address_id=number, shipping_method=method.name, shipping_code=method.code,
        status=plan.status, date_placed=plan.placed, analytics_tracked=False,
    )  # fmt: skip
    if plan.voucher:
        code, name = VOUCHERS[plan.voucher - 1][:2]
        add(
            "order", "OrderDiscount", order_id=number, category="Basket", offer_id=4 + plan.voucher,
            offer_name=f"{name} ({code})", voucher_id=plan.voucher, voucher_code=code, frequency=1,
            amount=before - total,
        )  # fmt: skip
        add("voucher", "VoucherApplication", voucher_id=plan.voucher, user_id=customer.id, order_id=number,
            date_created=plan.placed)  # fmt: skip
    if plan.status in ("On hold", "Returned"):
        text = (
            "Customer asked to wait for a second parcel."
            if plan.status == "On hold"
            else "Came back unopened, refunded."
        )
        add("order", "OrderNote", order_id=number, user_id=40, note_type="Info", message=text,
            date_created=plan.placed + timedelta(hours=5), date_updated=plan.placed + timedelta(hours=5))  # fmt: skip
    if plan.status != "Pending":
        add("order", "OrderStatusChange", order_id=number, old_status="Pending", new_status=plan.status,
            date_created=plan.placed + timedelta(hours=4))  # fmt: skip


def _open_baskets(tables: dict[tuple[str, str], list[Any]], stock: Stock, customers: list[Customer], used: int) -> None:
    """Everybody has one, or visiting the store would create it; some left things in theirs."""
    baskets, lines = tables["basket", "Basket"], tables["basket", "Line"]
    simple = [item for item in stock.items if item.id == item.product and not item.leaf.option]
    for customer in customers:
        random = rng("basket", customer.username)
        number = len(baskets) + 1
        when = days_ago(1 + random.random() * min(30, customer.joined), hour=19, minute=random.randrange(60))
        baskets.append(get_model("basket", "Basket")(id=number, owner_id=customer.id, status="Open", date_created=when))
        if customer.username in (CUSTOMER, OWNER, EMPLOYEE) or random.random() < 0.75:
            continue
        for item in random.sample(simple, random.choice((1, 2, 3))):
            lines.append(
                get_model("basket", "Line")(
                    id=len(lines) + 1, basket_id=number, product_id=item.id, stockrecord_id=item.stockrecord,
                    quantity=1, line_reference=f"{item.id}_{item.stockrecord}", price_currency=CURRENCY,
                    price_excl_tax=item.price, price_incl_tax=item.price, date_created=when, date_updated=when,
                )
            )  # fmt: skip


def _figures(plans: list[_Order], stock: Stock, customers: list[Customer]) -> None:
    sold: Counter[int] = Counter()
    for plan in plans:
        for item, quantity in plan.lines:
            sold[item.product] += quantity
    model = get_model("analytics", "ProductRecord")
    model.objects.bulk_create(
        model(id=i, product_id=page, num_purchases=sold[page], num_basket_additions=sold[page] + page % 5,
              num_views=sold[page] * 9 + rng("views", page).randrange(60), score=0)
        for i, page in enumerate(sorted(stock.pages), start=1)
    )  # fmt: skip
    model = get_model("analytics", "UserRecord")
    rows = []
    for customer in customers:
        own_plans = [plan for plan in plans if plan.customer.id == customer.id]
        spent = get_model("order", "Order").objects.filter(user_id=customer.id).values_list("total_incl_tax", flat=True)
        rows.append(
            model(
                id=customer.id, user_id=customer.id, num_orders=len(own_plans),
                num_order_lines=sum(len(plan.lines) for plan in own_plans),
                num_order_items=sum(quantity for plan in own_plans for _, quantity in plan.lines),
                num_basket_additions=sum(len(plan.lines) for plan in own_plans) + customer.id % 4,
                num_product_views=len(own_plans) * 11 + customer.id % 17, total_spent=sum(spent, Decimal(0)),
                date_last_order=max((plan.placed for plan in own_plans), default=None),
            )
        )  # fmt: skip
    model.objects.bulk_create(rows)
    for number, (code, *_) in enumerate(VOUCHERS, start=1):
        discounts = get_model("order", "OrderDiscount").objects.filter(voucher_code=code)
        amount = sum((discount.amount for discount in discounts), Decimal(0))
        get_model("voucher", "Voucher").objects.filter(id=number).update(
            num_orders=len(discounts), num_basket_additions=len(discounts) + 3, total_discount=amount
        )
        get_model("offer", "ConditionalOffer").objects.filter(id=4 + number).update(
            num_orders=len(discounts), num_applications=len(discounts), total_discount=amount
        )


def _searches(customers: list[Customer]) -> None:
    model = get_model("analytics", "UserSearch")
    random = rng("searches")
    rows = []
    for term, count in _SEARCHES:
        for _ in range(count):
            when = days_ago(random.random() * 300, hour=7 + random.randrange(15), minute=random.randrange(60))
            rows.append(model(user_id=random.choice(customers).id, query=term, date_created=when))
    rows.sort(key=lambda row: (row.date_created, row.query))
    for number, row in enumerate(rows, start=1):
        row.id = number
    model.objects.bulk_create(rows)
