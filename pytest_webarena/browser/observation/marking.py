"""Boxes in the picture for the form ``set_of_marks``."""

from __future__ import annotations

import io

from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.observation.drawing import Mark, draw_marks
from pytest_webarena.browser.observation.extraction import Extraction
from pytest_webarena.browser.observation.images import Screenshot

__all__ = ["mark_elements"]


def mark_elements(shot: Screenshot, extraction: Extraction, config: ObservationConfig, *, width: float) -> bytes:
    """Return the picture with numbered boxes; empty without one. ``width`` is the viewport's, in CSS pixels."""
    if not shot.data:
        return b""
    from PIL import Image  # opening it to read the size decodes nothing

    with Image.open(io.BytesIO(shot.data)) as image:
        scale = image.width / (shot.width or width or image.width)
    marks = [
        Mark(
            label=id,
            left=(box.x - shot.left) * scale,
            top=(box.y - shot.top) * scale,
            right=(box.x + box.width - shot.left) * scale,
            bottom=(box.y + box.height - shot.top) * scale,
        )
        for id, box in extraction.marks.items()
    ]
    return draw_marks(shot.data, marks, format=config.screenshot_format, quality=config.screenshot_quality)
