"""Screenshots as pictures of a report: smaller than those of records, in WebP, with the target of the action marked."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

    from pytest_webarena.evidence import TargetRecord

__all__ = ["WIDTH", "WIDTH_AFTER", "is_outside", "report_picture"]

WIDTH = 600
"""Width of a picture in pixels, at which text of a page of 1280 pixels can just be read. Records keep the full size."""
WIDTH_AFTER = 240
"""Width of the picture after a step, which the next step has again in `WIDTH`."""

_QUALITY = 32
_EFFORT = 4
"""WebP's quality and effort: a page is 10 kB in `WIDTH` and takes 20 ms."""
_RADIUS = 14
_MARK, _HALO = (214, 0, 110), (255, 255, 255)


def report_picture(path: Path, *, width: int = WIDTH, target: TargetRecord | None = None) -> bytes | None:
    """Return a screenshot for the report; None if it can't be read.

    A ring marks ``target``'s centre, if it is in the picture. Coordinates are CSS pixels, as the screenshot's are.
    """
    from PIL import Image

    try:
        with Image.open(path) as file:
            original = file.size
            file.draft("RGB", (width, _height(original, width)))  # a JPEG is decoded in a smaller size at once
            picture = file.convert("RGB")
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return None
    if picture.width > width:
        picture = picture.resize((width, _height(original, width)), Image.Resampling.BOX)
    if target is not None:
        _mark(picture, original, target)
    content = BytesIO()
    picture.save(content, "webp", quality=_QUALITY, method=_EFFORT)
    return content.getvalue()


def is_outside(path: Path, target: TargetRecord) -> bool:
    """Return whether the target's place is known and outside the screenshot; False if the picture can't be read."""
    from PIL import Image

    if target.x is None or target.y is None:
        return False
    try:
        with Image.open(path) as file:
            return _outside(file.size, target.x, target.y)
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        return False


def _outside(size: tuple[int, int], x: float, y: float) -> bool:
    return not (0 <= x <= size[0] and 0 <= y <= size[1])


def _height(size: tuple[int, int], width: int) -> int:
    return max(1, round(size[1] * width / size[0]))


def _mark(picture: Image, original: tuple[int, int], target: TargetRecord) -> None:
    from PIL import ImageDraw

    if target.x is None or target.y is None or _outside(original, target.x, target.y):
        return
    scale = picture.width / original[0]
    x, y = target.x * scale, target.y * scale
    draw = ImageDraw.Draw(picture)
    for radius, colour, line in ((_RADIUS + 1, _HALO, 5), (_RADIUS, _MARK, 3)):
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), outline=colour, width=line)
