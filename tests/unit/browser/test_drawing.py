"""Set-of-marks drawing: labels inside the image, without overlap, and boxes around elements."""

from __future__ import annotations

import io
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from pytest_webarena.browser.observation.drawing import (
    Mark,
    _Labels,
    _touches,
    draw_marks,
    require_pillow,
    scale_to_fit,
)
from pytest_webarena.errors import UsageError

SIZE = (400, 300)


def picture(kind: str = "PNG") -> bytes:
    out = io.BytesIO()
    Image.new("RGB", SIZE, (255, 255, 255)).save(out, kind)
    return out.getvalue()


def opened(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data)).convert("RGB")


RECTANGLE = st.tuples(st.integers(0, 380), st.integers(0, 280), st.integers(1, 200), st.integers(1, 100))


@settings(deadline=None)
@given(st.lists(RECTANGLE, max_size=40))
def test_labels_never_cover_each_other(rectangles: list[tuple[int, int, int, int]]) -> None:
    boxes = [(x, y, min(399, x + w), min(299, y + h)) for x, y, w, h in rectangles]
    labels = _Labels(SIZE, boxes)
    placed = []
    for number in range(len(boxes)):
        x, y = labels.place(number, 24, 14)
        placed.append((x, y, x + 24, y + 14))
    assert all(x >= 0 and y >= 0 and right <= 400 and bottom <= 300 for x, y, right, bottom in placed)
    assert not any(_touches(one, other) for at, one in enumerate(placed) for other in placed[:at])


def test_labels_avoid_other_boxes() -> None:
    boxes = [(100, 100, 150, 115), (100, 80, 150, 95)]  # above the first one is the second one
    x, y = _Labels(SIZE, boxes).place(0, 20, 14)
    assert not _touches((x, y, x + 20, y + 14), boxes[1])


def test_only_a_box_and_a_label_are_drawn() -> None:
    image = opened(
        draw_marks(picture(), [Mark(label="12", left=50, top=60, right=150, bottom=80)], format="png", quality=80)
    )
    red = (200, 16, 46)
    assert image.size == SIZE
    assert {image.getpixel(at) for at in ((50, 60), (150, 80), (100, 60), (50, 70))} == {red}
    assert image.getpixel((100, 70)) == (255, 255, 255)
    label = image.crop((50, 44, 75, 60)).getcolors(1000)  # above the box
    assert label is not None
    assert red in {colour for _, colour in label}
    assert image.crop((160, 90, 400, 300)).getcolors() == [(240 * 210, (255, 255, 255))]


def test_boxes_outside_the_image_are_clipped() -> None:
    marks = [
        Mark(label="1", left=-50, top=-50, right=900, bottom=900),
        Mark(label="2", left=390, top=290, right=500, bottom=400),
    ]
    image = opened(draw_marks(picture(), marks, format="png", quality=80))
    assert image.getpixel((399, 150)) == (200, 16, 46)


@pytest.mark.parametrize(("format", "kind"), [("jpeg", "JPEG"), ("png", "PNG"), ("webp", "WEBP")])
def test_image_formats_and_sizes_are_converted(format: str, kind: str) -> None:
    assert Image.open(io.BytesIO(draw_marks(picture(), [], format=format, quality=80))).format == kind
    small = Image.open(io.BytesIO(scale_to_fit(picture(), (100, 100), format, 80)))
    assert (small.format, small.size) == (kind, (100, 75))
    assert Image.open(io.BytesIO(scale_to_fit(picture(), (4000, 4000), format, 80))).size == SIZE


def test_missing_pillow_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(UsageError, match=r"run: pip install 'pytest-webarena\[marks\]'"):
        require_pillow("observation.kinds set_of_marks")
