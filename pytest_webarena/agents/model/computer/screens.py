"""Screenshots within the limits of an API, and coordinates on them mapped to the viewport."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

from pytest_webarena.actions import Point

__all__ = ["LIMITS", "Region", "Screen", "ScreenLimits", "UnusableCall", "fitted", "image_size"]

Region = tuple[float, float, float, float]
"""Left, top, right and bottom of a part of a screenshot, as fractions (0 to 1) of its width and height."""

_PATCH = 28
"""Width and height in pixels of Anthropic's visual tokens."""


class UnusableCall(ValueError):
    """A call that can't be carried out; the text says why, for the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScreenLimits:
    """The largest image that an API leaves as it is; 0: no limit."""

    edge: int = 0
    """Longest side in pixels."""
    patches: int = 0
    """Number of squares of 28 pixels."""
    pixels: int = 0
    grid: int = 0
    """Size of the grid in which the API counts coordinates, whatever the image's size; 0: in pixels."""

    def allow(self, width: int, height: int) -> bool:
        """Return whether an image of this size is within the limits."""
        patches = math.ceil(width / _PATCH) * math.ceil(height / _PATCH)
        return (
            (not self.edge or max(width, height) <= self.edge)
            and (not self.patches or patches <= self.patches)
            and (not self.pixels or width * height <= self.pixels)
        )


LIMITS = {
    "anthropic": ScreenLimits(edge=1568, patches=1568),
    "google": ScreenLimits(grid=1000),
    "responses": ScreenLimits(pixels=10_240_000),
}
"""Limits by API. Anthropic's are those of its models of lower resolution, which all models have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What the coordinates of a call refer to."""

    width: int
    height: int
    """Size of the screenshot that the model saw, or of the API's grid."""
    viewport: tuple[int, int]
    """Width and height in CSS pixels."""
    is_grid: bool = False

    def point(self, x: object, y: object) -> Point:
        """Return the point of the viewport, in CSS pixels, that the model means.

        The centre of a pixel is mapped to the same place, so that a screenshot of the viewport's size changes nothing.
        Raises `UnusableCall` for other values than numbers on the screen.

        >>> Screen(width=640, height=360, viewport=(1280, 720)).point(639, 0)
        Point(x=1278.5, y=0.5, relative=False)
        >>> Screen(width=1000, height=1000, viewport=(1280, 720), is_grid=True).point(500, 0)
        Point(x=640.0, y=0.0, relative=False)
        """
        across, down = _number(x), _number(y)
        if not (0 <= across < self.width and 0 <= down < self.height):
            unit = "the grid" if self.is_grid else "the screenshot"
            raise UnusableCall(
                f"({across:g}, {down:g}) is outside {unit}: expected 0 to {self.width - 1} and 0 to {self.height - 1}"
            )
        wide, high = self.viewport
        if self.is_grid:
            return Point(across * wide / self.width, down * high / self.height)
        return Point(_centre(across, wide, self.width), _centre(down, high, self.height))

    def region(self, corners: object) -> Region:
        """Return the part of the screenshot between two corners. Raises `UnusableCall` if it is not a part of it."""
        if not isinstance(corners, list) or len(corners) != 4:
            raise UnusableCall(f"expected a region [x0, y0, x1, y1], found {corners!r}")
        left, top, right, bottom = map(_number, corners)
        if not (0 <= left < right <= self.width and 0 <= top < bottom <= self.height):
            raise UnusableCall(
                f"expected a region [x0, y0, x1, y1] within {self.width}x{self.height} pixels, found {corners!r}"
            )
        return left / self.width, top / self.height, right / self.width, bottom / self.height


def fitted(width: int, height: int, limits: ScreenLimits) -> tuple[int, int]:
    """Return the largest size with the same proportions that is within ``limits``.

    >>> fitted(1280, 720, LIMITS["anthropic"]), fitted(2560, 1440, LIMITS["anthropic"])
    ((1280, 720), (1456, 819))
    """
    longest = max(width, height)
    for edge in range(longest, 0, -1):
        size = max(1, round(width * edge / longest)), max(1, round(height * edge / longest))
        if limits.allow(*size):
            return size
    return 1, 1


def image_size(data: bytes) -> tuple[int, int] | None:
    """Return the width and height of a PNG, JPEG or WebP image, from its header; None if it has none."""
    try:
        if data.startswith(b"\x89PNG"):
            width, height = struct.unpack(">II", data[16:24])
            return width, height
        if data.startswith(b"\xff\xd8"):
            return _jpeg_size(data)
        if data[8:16] == b"WEBPVP8 ":
            width, height = struct.unpack("<HH", data[26:30])
            return width & 0x3FFF, height & 0x3FFF
        if data[8:16] == b"WEBPVP8L":
            (bits,) = struct.unpack("<I", data[21:25])
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        if data[8:16] == b"WEBPVP8X":
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
            return width, height
    except (struct.error, IndexError):
        pass
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """The size in a JPEG's frame header, which comes after other segments."""
    at = 2
    while data[at] == 0xFF:
        marker, (length,) = data[at + 1], struct.unpack(">H", data[at + 2 : at + 4])
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return None


def _centre(value: float, wanted: int, found: int) -> float:
    return value if wanted == found else max(0.0, (value + 0.5) * wanted / found - 0.5)


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise UnusableCall(f"expected a number, found {value!r}")
    return float(value)
