"""Plain data, of YAML files or of Python, into dataclasses."""

from __future__ import annotations

import doctest
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest

from pytest_webarena import plain_data
from pytest_webarena.errors import UsageError
from pytest_webarena.plain_data import number, pair, read_keys, several, text, whole
from tests.cases import each_case


@dataclass(frozen=True)
class Place:
    latitude: Annotated[float, number(-90, 90)]
    name: Annotated[str, text] = "here"


@dataclass(frozen=True)
class Keys:
    size: Annotated[tuple[int, int], pair(whole(1), "x")] | None = None
    colours: Annotated[tuple[str, ...], several("red", "green")] = ()
    count: Annotated[int, whole(1, 9)] | Literal["all"] = "all"
    place: Place | None = None
    file: Path | None = None
    places: Mapping[str, Place] = field(default_factory=dict)
    inner: str = "not from files"


FROM_FILES = ("size", "colours", "count", "place", "file", "places")


def read(data: object) -> Keys:
    return read_keys(Keys, data, where="x.yaml", base=Path("/base"), only=FROM_FILES)


def test_values_are_read_by_their_annotations() -> None:
    assert read({"size": "8x6", "colours": "red", "count": 3, "file": "a.txt"}) == Keys(
        size=(8, 6), colours=("red",), count=3, file=Path("/base/a.txt")
    )
    assert read({"place": {"latitude": 1}, "places": {"a": {"latitude": 2, "name": "b"}}}) == Keys(
        place=Place(1.0), places={"a": Place(2.0, "b")}
    )
    assert read({"size": None, "count": "all"}) == Keys()
    made = Keys(place=Place(3.0), file=Path("/elsewhere/a.txt"))
    assert read({"place": made.place, "file": made.file}) == made


@each_case(
    ("data", "message"),
    [
        ("red", "x.yaml: expected a mapping, found 'red'"),
        ({"colour": "red"}, "x.yaml: unknown key 'colour'; did you mean 'colours'?"),
        ({"inner": "x"}, "x.yaml: unknown key 'inner'; "),
        ({"size": 3}, "x.yaml: size: expected a list of two numbers or a text like 1280x720 or null, found 3"),
        ({"size": [0, 1]}, "x.yaml: size: expected a whole number of at least 1 or null, found [0, 1]"),
        ({"colours": "rde"}, "x.yaml: colours: expected one or more of red, green (did you mean 'red'?), found 'rde'"),
        ({"count": 10}, "x.yaml: count: expected a whole number from 1 to 9 or one of all, found 10"),
        ({"place": {}}, "x.yaml: expected the key 'place.latitude' (a number), it is missing"),
        ({"place": {"latitude": 91}}, "x.yaml: place.latitude: expected a number from -90 to 90, found 91"),
        ({"places": {"a": {"latitude": 1, "name": ""}}}, "x.yaml: places.a.name: expected a text, found ''"),
        ({"places": {"a": 1}}, "x.yaml: places.a: expected a mapping, found 1"),
    ],
)
def test_mismatch_is_reported_in_one_sentence(data: Any, message: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(data)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_the_examples_run() -> None:
    assert doctest.testmod(plain_data).failed == 0
