"""What the store sells: invented brands, series and goods. Data only; `seeding` makes products of it."""

from __future__ import annotations

from pytest_webarena.embedded.shop.goods.books import LEAVES as _BOOKS
from pytest_webarena.embedded.shop.goods.home import LEAVES as _HOME
from pytest_webarena.embedded.shop.goods.model import Leaf, Title
from pytest_webarena.embedded.shop.goods.outdoors import LEAVES as _OUTDOORS
from pytest_webarena.embedded.shop.goods.wear import LEAVES as _WEAR

__all__ = ["DEPARTMENTS", "LEAVES", "Leaf", "Title"]

LEAVES: tuple[Leaf, ...] = (*_HOME, *_OUTDOORS, *_WEAR, *_BOOKS)

DEPARTMENTS: tuple[tuple[str, str], ...] = (
    ("Kitchen & Table", "Pots that last, knives that stay sharp, and something to drink from."),
    ("Lighting", "Lamps for reading, lanterns for the porch, and bulbs for both."),
    ("Home & Living", "Soft things, useful things and a few that are simply pleasant to own."),
    ("Outdoors", "Kit for the fells, the lake and the last bus home."),
    ("Garden", "Tools with handles you can mend, seeds that come up."),
    ("Clothing", "Wool from Mossfold, wax from the coast, and pockets where pockets belong."),
    ("Books & Paper", "Stories, maps of the mind, and paper to answer with."),
    ("Sound & Electrics", "Radios, speakers and the cables you always need one more of."),
    ("Pantry", "Tea, coffee and jars from farms within the sound of the Wend."),
    ("Toys & Games", "For rainy Sundays and long train rides."),
)
