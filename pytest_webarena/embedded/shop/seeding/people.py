"""Accounts: the owner, the employee, the world's people and further customers, with their addresses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission, User
from oscar.core.loading import get_model

from pytest_webarena.embedded.shop.identity import CUSTOMER, EMPLOYEE, OWNER
from pytest_webarena.embedded.shop.seeding.products import Stock
from pytest_webarena.embedded.shop.seeding.tools import days_ago, rng
from pytest_webarena.embedded.world import LIBRARY_STREET, PEOPLE, TOWNS

__all__ = ["Customer", "build", "build_lists"]

_FIRST = (
    "Ada", "Bram", "Carys", "Dov", "Elsie", "Finlay", "Gerda", "Hugo", "Imke", "Joss", "Kirsi", "Lorcan", "Moira",
    "Nils", "Odette", "Pascal", "Quentin", "Runa", "Silas", "Tamsin", "Ulla", "Vera", "Wilf", "Xenia", "Yorick",
    "Zelda", "Arlo", "Beate", "Cedric", "Dilys", "Emlyn", "Freya", "Gwilym", "Hedda", "Ivo", "Jette", "Klaas",
    "Lowri", "Marit", "Niamh",
)  # fmt: skip
_LAST = (
    "Ainsley", "Barrow", "Coldwell", "Dunstan", "Eskdale", "Farrow", "Garside", "Hebden", "Inglis", "Jarrow",
    "Keld", "Lathom", "Marwood", "Netherby", "Oakes", "Pickering", "Rothbury", "Stainmore", "Thirlby", "Unsworth",
    "Wetherall", "Yarrow", "Ashdown", "Bellamy", "Cragg", "Denholm", "Egerton", "Flint", "Gaunt", "Harker",
    "Ibbotson", "Kettle", "Loxley", "Mossop", "Nabb", "Otley", "Priestley", "Ridley", "Sedley", "Tarn",
)  # fmt: skip
_STREETS = (
    "Wendgate", "Mill Lane", "Station Parade", "Quarry Street", "Chapel Rise", "Ropewalk", "North Quay",
    "Orchard Close", "Beacon Hill", "Weir Road", "Bandstand Square", "Library Walk", "Tanner's Row",
    "Ferry Street", "Larch Avenue",
)  # fmt: skip
_EMPLOYEE_MAY = (
    ("order", "view_order"), ("order", "change_order"), ("catalogue", "view_product"), ("partner", "view_stockalert"),
    ("reviews", "view_productreview"), ("reviews", "change_productreview"),
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Customer:
    """Somebody who buys."""

    id: int
    name: str
    username: str
    email: str
    town: str
    joined: int
    """Days before the world's start."""
    address: dict[str, Any]


def build() -> list[Customer]:
    """Write the accounts; the known people come first, in the world's order."""
    country = get_model("address", "Country")
    country.objects.create(
        iso_3166_1_a2="XT", iso_3166_1_a3="XTM", iso_3166_1_numeric="990", name="Tarnmark", printable_name="Tarnmark",
        display_order=1, is_shipping_country=True,
    )  # fmt: skip
    users, addresses, customers = [], [], []
    for number, (name, username, email, town, password) in enumerate(_everybody(), start=1):
        random = rng("person", username)
        joined = 735 + random.randrange(400) if username in (CUSTOMER, OWNER, EMPLOYEE) else 3 + random.randrange(900)
        first, _, last = name.partition(" ")
        users.append(
            User(
                id=number, username=username, email=email, first_name=first, last_name=last, is_active=True,
                is_staff=username in (OWNER, EMPLOYEE), is_superuser=username == OWNER,
                date_joined=days_ago(joined, hour=9 + number % 9, minute=number % 60),
                last_login=days_ago(number % 20 + 1, hour=8 + number % 12, minute=(number * 7) % 60),
                password=make_password(password, salt=f"tarnmark{number:05d}") if password else "!" + "x" * 40,
            )
        )  # fmt: skip
        place = next(place for place in TOWNS if place.key == town)
        lines = {
            "first_name": first, "last_name": last, "line1": f"{1 + random.randrange(96)} {random.choice(_STREETS)}",
            "line4": place.name, "postcode": f"{place.postcode} {1 + random.randrange(9)}", "country_id": "XT",
        }  # fmt: skip
        addresses.append(_address(number, lines, joined, default=True))
        if username == CUSTOMER:
            work = {**lines, "line1": f"Regional Library, {LIBRARY_STREET}", "line4": "Aldersey", "postcode": "TM1 1"}
            addresses.append(_address(number, work, 500, default=False))
        customers.append(
            Customer(id=number, name=name, username=username, email=email, town=town, joined=joined, address=lines)
        )
    User.objects.bulk_create(users)
    for number, address in enumerate(addresses, start=1):
        address.id = number
    get_model("address", "UserAddress").objects.bulk_create(addresses)
    employee = next(user for user in users if user.username == EMPLOYEE)
    employee.user_permissions.set(
        [Permission.objects.get(content_type__app_label=app, codename=code) for app, code in _EMPLOYEE_MAY]
    )
    return customers


def _everybody() -> list[tuple[str, str, str, str, str]]:
    known = [(person.name, person.username, person.email, person.town, person.password) for person in PEOPLE]
    random = rng("customers")
    names = [f"{first} {last}" for first in _FIRST for last in _LAST]
    further = []
    for name in random.sample(names, 110):
        username = name.lower().replace(" ", ".")
        town = random.choices(TOWNS, [town.population for town in TOWNS])[0]
        further.append((name, username, f"{username}@post.test", town.key, ""))
    return known + further


def _address(user: int, lines: dict[str, Any], joined: int, *, default: bool) -> Any:
    model = get_model("address", "UserAddress")
    address = model(
        user_id=user, is_default_for_shipping=default, is_default_for_billing=default,
        date_created=days_ago(joined, hour=10), **lines,
    )  # fmt: skip
    address.hash = address.generate_hash()
    address.search_text = " ".join(str(value) for key, value in lines.items() if key != "country_id") + " Tarnmark"
    return address


def build_lists(stock: Stock, customers: list[Customer]) -> None:
    """Wish lists; the main customer has two."""
    lists: list[Any] = []
    rows: list[Any] = []
    model, line = get_model("wishlists", "WishList"), get_model("wishlists", "Line")
    titles = {number: title for number, (title, _) in stock.pages.items()}
    for customer in customers[:40]:
        random = rng("wishes", customer.username)
        names = ["Summer on the fells", "Presents"] if customer.username == CUSTOMER else ["My wish list"]
        if customer.username != CUSTOMER and random.random() < 0.5:
            continue
        for name in names:
            number = len(lists) + 1
            lists.append(
                model(id=number, owner_id=customer.id, name=name, key=f"{number:06x}".replace("0", "k")[:6],
                      date_created=days_ago(20 + random.randrange(300)))
            )  # fmt: skip
            for product in random.sample(sorted(titles), 3 + random.randrange(4)):
                rows.append(
                    line(id=len(rows) + 1, wishlist_id=number, product_id=product, quantity=1, title=titles[product])
                )
    model.objects.bulk_create(lists)
    line.objects.bulk_create(rows)
