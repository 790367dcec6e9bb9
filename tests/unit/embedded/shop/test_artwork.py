"""Product pictures, drawn from their file names."""

from __future__ import annotations

from xml.etree import ElementTree

from pytest_webarena.embedded.shop import artwork
from pytest_webarena.embedded.shop.goods import LEAVES
from pytest_webarena.embedded.shop.shapes import SHAPES
from tests.cases import each_case


@each_case("shape", sorted(SHAPES))
def test_every_shape_is_well_formed(shape: str) -> None:
    for variant, view in enumerate("abh"):
        drawn = artwork.draw(artwork.name_for(shape, "copper", variant, view))
        assert drawn is not None
        ElementTree.fromstring(drawn)
        assert b"{" not in drawn  # all colours are filled in


def test_every_category_has_a_shape() -> None:
    assert {leaf.shape for leaf in LEAVES} <= set(SHAPES)


def test_pictures_of_different_colours_differ() -> None:
    drawn = {artwork.draw(artwork.name_for("kettle", colour, 1)) for colour in artwork.COLOURS}
    assert len(drawn) == len(artwork.COLOURS)


@each_case("name", ["products/ufo-b5653a-1-a.svg", "products/kettle-b5653a-1-z.svg", "../settings.py", ""])
def test_unknown_picture_names_are_not_drawn(name: str) -> None:
    assert artwork.draw(name) is None
