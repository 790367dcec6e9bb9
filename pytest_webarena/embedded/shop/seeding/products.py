"""The catalogue: classes, attributes, categories, products with variants, pictures and stock."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils.text import slugify
from oscar.core.loading import get_model

from pytest_webarena.embedded.shop import artwork
from pytest_webarena.embedded.shop.goods import DEPARTMENTS, LEAVES, Leaf
from pytest_webarena.embedded.shop.identity import CURRENCY
from pytest_webarena.embedded.shop.seeding.tools import days_ago, rng
from pytest_webarena.embedded.world import EPOCH

__all__ = ["Item", "Stock", "build"]

SUPPLIERS = ("Wendgate warehouse", "Brackwater harbour depot", "Crane & Sons wholesale")
_LABELS = {
    "size_label": "Size",
    "nib": "Nib",
    "set_of": "Set of",
    "for_whom": "For",
    "for_birds": "For",
    "hob": "Suits",
}
_INTROS = (
    "The {name} by {brand}, in {colour} {material}.",
    "{brand} makes the {name} of {material}, here in {colour}.",
    "A {name} in {colour}, made of {material} by {brand}.",
    "{colour} {material}, no fuss: the {name} is what {brand} is known for.",
)


@dataclass(slots=True, kw_only=True)
class Item:
    """One thing that can be bought: a product without variants, or one variant."""

    id: int
    product: int
    """The product that lists show: itself or its parent."""
    title: str
    sku: str
    price: Decimal
    stockrecord: int
    supplier: int
    leaf: Leaf


@dataclass(slots=True, kw_only=True)
class Stock:
    """All that was made, for the builders that follow."""

    items: list[Item] = field(default_factory=list)
    categories: dict[str, int] = field(default_factory=dict)
    pages: dict[int, tuple[str, Leaf]] = field(default_factory=dict)
    """Listed products: title and category."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    title: str
    brand: str
    colour: str
    price: Decimal
    attributes: dict[str, str]
    description: str
    sizes: tuple[str, ...] = ()


def build() -> Stock:
    """Write the catalogue; ids are given here, so that they never change by accident."""
    stock = Stock()
    classes, attributes = _classes()
    _categories(stock)
    options = _options()
    for number, name in enumerate(SUPPLIERS, start=1):
        get_model("partner", "Partner").objects.create(id=number, name=name, code=slugify(name))
    rows = _Rows()
    for leaf in LEAVES:
        for index, plan in enumerate(_plans(leaf)):
            _add(rows, stock, leaf, index, plan, classes, attributes, options)
    rows.write()
    return stock


def _classes() -> tuple[dict[str, int], dict[tuple[str, str], int]]:
    names = list(dict.fromkeys(leaf.product_class for leaf in LEAVES))
    model, attribute = get_model("catalogue", "ProductClass"), get_model("catalogue", "ProductAttribute")
    model.objects.bulk_create([model(id=i, name=name, slug=slugify(name)) for i, name in enumerate(names, start=1)])
    ids = {name: i for i, name in enumerate(names, start=1)}
    rows: list[Any] = []
    known: dict[tuple[str, str], int] = {}
    for leaf in LEAVES:
        codes = ["brand", "colour", "material", *leaf.facts]
        if leaf.version:
            codes.append(leaf.version)
        if leaf.titles:
            codes = ["author", "genre", *leaf.facts]
        for code in codes:
            key = (leaf.product_class, code)
            if key not in known:
                known[key] = len(known) + 1
                label = _LABELS.get(code, code.replace("_", " ").capitalize())
                rows.append(
                    attribute(
                        id=known[key], product_class_id=ids[leaf.product_class], name=label, code=code, type="text"
                    )
                )
    attribute.objects.bulk_create(rows)
    return ids, known


def _categories(stock: Stock) -> None:
    model = get_model("catalogue", "Category")
    rows, number = [], 0
    for first, (department, blurb) in enumerate(DEPARTMENTS, start=1):
        leaves = [leaf for leaf in LEAVES if leaf.department == department]
        number += 1
        path = _step(first)
        rows.append(
            model(id=number, path=path, depth=1, numchild=len(leaves), name=department, slug=slugify(department),
                  description=f"<p>{blurb}</p>", image=_picture(leaves[0], first, folder="categories", view="h"))
        )  # fmt: skip
        stock.categories[department] = number
        for second, leaf in enumerate(leaves, start=1):
            number += 1
            rows.append(
                model(id=number, path=path + _step(second), depth=2, numchild=0, name=leaf.name,
                      slug=slugify(leaf.name),
                      description=f"<p>{leaf.blurb}</p>", image=_picture(leaf, second, folder="categories", view="h"))
            )  # fmt: skip
            stock.categories[leaf.name] = number
    model.objects.bulk_create(rows)


def _slug(title: str) -> str:
    return slugify(title.replace(".", "-"))


def _step(number: int) -> str:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    return f"00{digits[number // 36]}{digits[number % 36]}"


def _picture(leaf: Leaf, variant: int, *, folder: str = "products", view: str = "a", colour: str = "") -> str:
    colours = leaf.colours or leaf.versions or ("blue",)
    known = [name for name in (colour, *colours, "blue", "rust", "sage", "ochre", "plum") if name in artwork.COLOURS]
    return artwork.name_for(leaf.shape, known[0] if colour in artwork.COLOURS else known[variant % len(known)], variant,
                            view, folder=folder)  # fmt: skip


def _options() -> dict[str, int]:
    option, group = get_model("catalogue", "Option"), get_model("catalogue", "AttributeOptionGroup")
    choice = get_model("catalogue", "AttributeOption")
    grinds = group.objects.create(id=1, name="Grind")
    for number, text in enumerate(("whole beans", "filter", "cafetière", "espresso"), start=1):
        choice.objects.create(id=number, group=grinds, option=text)
    option.objects.create(id=1, name="Grind", code="grind", type="select", required=True, option_group=grinds, order=1)
    option.objects.create(
        id=2, name="Engraving", code="engraving", type="text", required=False, order=2,
        help_text="Up to 20 letters, free of charge; leave empty for none.",
    )  # fmt: skip
    return {"grind": 1, "engraving": 2}


def _plans(leaf: Leaf) -> Iterator[_Plan]:
    if leaf.titles:
        yield from _books(leaf)
        return
    random = rng("goods", leaf.name)
    low, high = leaf.price
    for index, series in enumerate(leaf.series):
        brand = leaf.brands[index % len(leaf.brands)]
        noun = leaf.nouns[index % len(leaf.nouns)]
        base = low + (high - low) * (0.08 + 0.6 * random.random())
        versions = leaf.sizes.get(noun, leaf.versions)
        first = random.randrange(max(1, len(versions) - 2))
        picks = [(noun, version) for version in versions[first : first + 3]]
        if leaf.variants:
            picks = [(noun, ""), (leaf.nouns[(index + 1) % len(leaf.nouns)], ""), (noun, "")]
        elif len(leaf.nouns) > 1:
            other = leaf.nouns[(index + 1) % len(leaf.nouns)]
            picks.append((other, leaf.sizes.get(other, leaf.versions)[min(first + 1, 1)]))
        titles: set[str] = set()
        for step, (kind, version) in enumerate(picks):
            colour = version if leaf.version == "colour" else leaf.colours[(index * 2 + step) % len(leaf.colours)]
            material = random.choice(leaf.materials)
            title = f"{series} {kind}" + (f", {version}" if version else f", {colour}")
            if title in titles:
                continue
            titles.add(title)
            attributes = {"brand": brand, "colour": colour, "material": material}
            attributes |= {code: random.choice(values) for code, values in leaf.facts.items()}
            if version and leaf.version != "colour":
                attributes[leaf.version] = version
            if version == "wired":
                attributes["battery"] = "none"
            factor = 1.0 if leaf.variants or leaf.version in ("colour", "nib") else 0.78 + 0.24 * step
            if kind != noun:
                factor *= 0.86
            yield _Plan(
                title=title,
                brand=brand,
                colour=colour,
                price=_price(min(high, base * factor * (0.97 + 0.06 * random.random())), random.random()),
                attributes=attributes,
                description=_describe(leaf, f"{series} {kind}", attributes, random.sample(leaf.features, 3), index),
                sizes=leaf.versions if leaf.variants else (),
            )


def _books(leaf: Leaf) -> Iterator[_Plan]:
    random = rng("books", leaf.name)
    low, high = leaf.price
    for index, book in enumerate(leaf.titles):
        attributes = {"author": book.author, "genre": book.genre}
        attributes |= {code: random.choice(values) for code, values in leaf.facts.items()}
        colour = ("blue", "rust", "sage", "plum", "ochre", "walnut", "red", "black")[index % 8]
        points = "".join(f"<li>{text}</li>" for text in random.sample(leaf.features, 2))
        yield _Plan(
            title=book.title,
            brand="",
            colour=colour,
            price=_price(low + (high - low) * random.random(), random.random()),
            attributes=attributes,
            description=(
                f"<p><em>{book.title}</em> by {book.author}: {book.genre}, {attributes['pages']} pages,"
                f" first published in {attributes['published']}.</p><ul>{points}</ul>"
            ),
        )


def _describe(leaf: Leaf, name: str, attributes: dict[str, str], features: list[str], index: int) -> str:
    text = _INTROS[index % len(_INTROS)].format(
        name=name, brand=attributes["brand"], colour=attributes["colour"], material=attributes["material"]
    )
    text = text[0].upper() + text[1:]
    points = "".join(f"<li>{feature}</li>" for feature in features)
    return f"<p>{text} {leaf.blurb}</p><ul>{points}</ul>"


def _price(value: float, ending: float) -> Decimal:
    whole = Decimal(int(value))
    return (
        whole + Decimal(("0.00", "0.50", "0.90", "0.95")[int(ending * 4)]) if value >= 3 else Decimal(f"{value:.1f}0")
    )


class _Rows:
    """Rows of all tables, written in bulk at the end."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], list[Any]] = {}

    def add(self, app: str, model: str, **values: Any) -> int:
        rows = self.tables.setdefault((app, model), [])
        number = values.pop("id", 0) or len(rows) + 1
        rows.append(get_model(app, model)(id=number, **values))
        return int(number)

    def write(self) -> None:
        for (app, model), rows in self.tables.items():
            get_model(app, model).objects.bulk_create(rows, batch_size=500)


def _add(
    rows: _Rows, stock: Stock, leaf: Leaf, index: int, plan: _Plan, classes: dict[str, int],
    attributes: dict[tuple[str, str], int], options: dict[str, int],
) -> None:  # fmt: skip
    random = rng("product", leaf.name, index)
    created = days_ago(20 + random.randrange(900), hour=8 + random.randrange(9), minute=random.randrange(60))
    if random.random() < 0.04:
        created = days_ago(1 + random.randrange(16), hour=7, minute=random.randrange(60))
    number = rows.add(
        "catalogue", "Product", structure="parent" if plan.sizes else "standalone", title=plan.title,
        slug=_slug(plan.title), description=plan.description, product_class_id=classes[leaf.product_class],
        upc=None, date_created=created, date_updated=created, priority=0,
    )  # fmt: skip
    stock.pages[number] = (plan.title, leaf)
    rows.tables["catalogue", "Product"][-1].upc = f"LL{100000 + number}"
    rows.add("catalogue", "ProductCategory", product_id=number, category_id=stock.categories[leaf.name])
    values = dict(plan.attributes)
    for code, text in values.items():
        rows.add(
            "catalogue", "ProductAttributeValue", product_id=number,
            attribute_id=attributes[leaf.product_class, code], value_text=text,
        )  # fmt: skip
    for order, view in enumerate("ab"):
        rows.add(
            "catalogue", "ProductImage", product_id=number, display_order=order, date_created=created,
            original=_picture(leaf, index, view=view, colour=plan.colour),
        )  # fmt: skip
    if leaf.option and "Board" not in plan.title:
        rows.add("catalogue", "Product_product_options", product_id=number, option_id=options[leaf.option])
    if not plan.sizes:
        _stock(rows, stock, leaf, number, number, plan.title, plan.price, random, created)
        return
    for place, size in enumerate(plan.sizes):
        child = rows.add(
            "catalogue", "Product", structure="child", parent_id=number, title=f"{plan.title}, {size}",
            slug=_slug(f"{plan.title} {size}"), upc=None, priority=0,
            # Oscar lists the newest first; sizes should come smallest first.
            date_created=created - timedelta(seconds=place), date_updated=created,
        )  # fmt: skip
        rows.tables["catalogue", "Product"][-1].upc = f"LL{100000 + child}"
        rows.add(
            "catalogue", "ProductAttributeValue", product_id=child, attribute_id=attributes[leaf.product_class, "size"],
            value_text=size,
        )  # fmt: skip
        _stock(rows, stock, leaf, child, number, f"{plan.title}, {size}", plan.price, random, created)


def _stock(
    rows: _Rows, stock: Stock, leaf: Leaf, number: int, page: int, title: str, price: Decimal, random: Any, created: Any
) -> None:
    draw = random.random()
    held = 0 if draw < 0.04 else 1 + random.randrange(4) if draw < 0.1 else 6 + random.randrange(110)
    supplier = 1 + random.choices((0, 1, 2), (6, 3, 2))[0]
    sku = f"{''.join(word[0] for word in leaf.name.split()[:2]).upper()}-{number:05d}"
    record = rows.add(
        "partner", "StockRecord", product_id=number, partner_id=supplier, partner_sku=sku, price=price,
        price_currency=CURRENCY, num_in_stock=held, num_allocated=0, low_stock_threshold=5, date_created=created,
        date_updated=EPOCH - timedelta(days=1 + number % 30),
    )  # fmt: skip
    if held < 5:
        rows.add(
            "partner", "StockAlert", stockrecord_id=record, threshold=5, status="Open",
            date_created=days_ago(1 + number % 25, hour=6),
        )  # fmt: skip
    stock.items.append(
        Item(
            id=number, product=page, title=title, sku=sku, price=price, stockrecord=record, supplier=supplier, leaf=leaf
        )
    )
