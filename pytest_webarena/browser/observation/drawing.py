"""Draws numbered boxes on a picture of the page, not in the page. Needs Pillow (extra ``marks``)."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import UsageError

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Mark", "draw_marks", "enlarge_part", "require_pillow", "scale_to_fit"]

_COLOURS = (
    (200, 16, 46), (0, 87, 184), (0, 122, 51), (135, 24, 157), (180, 84, 0), (0, 110, 125), (84, 50, 30), (190, 0, 110),
)  # fmt: skip
"""Colours on which white digits are legible (contrast of at least 4.5 : 1); adjacent ones differ in hue."""
_TEXT_HEIGHT = 13
_PAD = 2
_MOST_ENLARGED = 4
"""Factor by which parts of pictures are enlarged at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One box in pixels of the picture, with its label."""

    label: str
    left: float
    top: float
    right: float
    bottom: float


def require_pillow(what: str) -> None:
    """Raise a `UsageError` that says how to install Pillow, unless it is installed."""
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UsageError(
            f"{what}: expected Pillow to draw with, found it not installed; run: pip install 'pytest-webarena[marks]'"
        ) from None


def draw_marks(picture: bytes, marks: Sequence[Mark], *, format: str, quality: int) -> bytes:
    """Return ``picture`` with a box and a label for each mark; labels do not overlap."""
    from PIL import Image, ImageDraw, ImageFont

    with Image.open(io.BytesIO(picture)) as opened:
        image = opened.convert("RGB")
    pen = ImageDraw.Draw(image)
    font = ImageFont.load_default(size=_TEXT_HEIGHT)
    boxes = [_inside(mark, image.size) for mark in marks]
    for number, box in enumerate(boxes):
        pen.rectangle(box, outline=_COLOURS[number % len(_COLOURS)], width=2)
    labels = _Labels(image.size, boxes)
    for number, (mark, box) in enumerate(zip(marks, boxes, strict=True)):
        left, top, right, bottom = pen.textbbox((0, 0), mark.label, font=font)
        width, height = int(right - left) + 2 * _PAD, int(bottom - top) + 2 * _PAD
        x, y = labels.place(number, width, height)
        pen.rectangle((x, y, x + width - 1, y + height - 1), fill=_COLOURS[number % len(_COLOURS)])
        pen.text((x + _PAD - left, y + _PAD - top), mark.label, fill=(255, 255, 255), font=font)
        if not _touches((x, y, x + width, y + height), box):
            end = (min(max(x, box[0]), box[2]), min(max(y, box[1]), box[3]))
            pen.line((x + width / 2, y + height / 2, *end), fill=_COLOURS[number % len(_COLOURS)], width=1)
    return _encoded(image, format, quality)


def scale_to_fit(picture: bytes, size: tuple[int, int] | None, format: str, quality: int) -> bytes:
    """Return ``picture`` scaled down to fit ``size``, in another format."""
    require_pillow("observation.screenshot_size")
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        image = opened.convert("RGB")
    if size is not None:
        image.thumbnail(size)
    return _encoded(image, format, quality)


def enlarge_part(
    picture: bytes,
    part: tuple[float, float, float, float],
    fitted: Callable[[int, int], tuple[int, int]],
    format: str,
    quality: int,
) -> bytes:
    """Return a part of ``picture``, enlarged.

    Args:
        part: Left, top, right and bottom, as fractions (0 to 1) of the picture's width and height.
        fitted: Returns the largest size that is allowed for one of these proportions.
    """
    require_pillow("the action zoom")
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        image = opened.convert("RGB")
    left, top, right, bottom = (
        round(share * size) for share, size in zip(part, (*image.size, *image.size), strict=True)
    )
    image = image.crop((left, top, max(right, left + 1), max(bottom, top + 1)))
    size = fitted(image.width * _MOST_ENLARGED, image.height * _MOST_ENLARGED)
    return _encoded(image.resize(size, Image.Resampling.LANCZOS), format, quality)


class _Labels:
    """Finds free places for labels. A grid of taken places keeps the cost of a label constant."""

    _CELL = 32

    def __init__(self, size: tuple[int, int], boxes: Sequence[tuple[int, int, int, int]]) -> None:
        self._size = size
        self._boxes = boxes
        self._taken: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}

    def place(self, number: int, width: int, height: int) -> tuple[int, int]:
        """Return the place of a box's label: at one of its corners, else as near as there is space."""
        left, top, right, bottom = self._boxes[number]
        small = bottom - top < 4 * height or right - left < 2 * width
        outside = [
            (left, top - height),
            (right - width, top - height),
            (left, bottom),
            (right, top),
            (left - width, top),
        ]
        inside = [(left, top), (right - width, top), (left, bottom - height), (right - width, bottom - height)]
        corners = [*outside, *inside] if small else [*inside, *outside]
        for x, y in corners:
            place = (x, y, x + width, y + height)
            alone = not any(_touches(place, box) for at, box in enumerate(self._boxes) if at != number)
            if alone and self._take(x, y, width, height):
                return x, y
        for x, y in corners:
            if self._take(x, y, width, height):
                return x, y
        for distance in range(height, max(self._size), height):
            for dx, dy in ((0, -1), (1, 0), (0, 1), (-1, 0), (1, -1), (1, 1), (-1, 1), (-1, -1)):
                x, y = left + dx * distance * 2, top + dy * distance
                if self._take(x, y, width, height):
                    return x, y
        return max(0, left), max(0, top)

    def _take(self, x: int, y: int, width: int, height: int) -> bool:
        if x < 0 or y < 0 or x + width > self._size[0] or y + height > self._size[1]:
            return False
        place = (x, y, x + width, y + height)
        cells = [
            (column, row)
            for column in range(x // self._CELL, (x + width) // self._CELL + 1)
            for row in range(y // self._CELL, (y + height) // self._CELL + 1)
        ]
        if any(_touches(place, other) for cell in cells for other in self._taken.get(cell, ())):
            return False
        for cell in cells:
            self._taken.setdefault(cell, []).append(place)
        return True


def _inside(mark: Mark, size: tuple[int, int]) -> tuple[int, int, int, int]:
    left, top = max(0, round(mark.left)), max(0, round(mark.top))
    right, bottom = min(size[0] - 1, round(mark.right)), min(size[1] - 1, round(mark.bottom))
    return min(left, right), min(top, bottom), max(left, right), max(top, bottom)


def _touches(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def _encoded(image: Image.Image, format: str, quality: int) -> bytes:
    out = io.BytesIO()
    options: dict[str, Any] = {"compress_level": 1} if format == "png" else {"quality": quality}
    image.save(out, {"jpeg": "JPEG", "png": "PNG", "webp": "WEBP"}[format], **options)
    return out.getvalue()
