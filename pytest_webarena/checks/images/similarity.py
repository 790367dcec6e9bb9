"""How alike two images are: structural similarity of their grey tones, as VisualWebArena measures it."""

from __future__ import annotations

import importlib.util
import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MAX_PIXELS", "ImageTooLarge", "Unreadable", "decode", "load_libraries", "missing_libraries", "similarity"]

MAX_PIXELS = 8_000_000
"""The largest image that is looked at. Comparing takes some 130 bytes of memory per pixel."""

_WINDOW = 7
"""Side of the windows that are compared, in pixels: scikit-image's own default."""


class Unreadable(ValueError):
    """Bytes that are no image which Pillow can read."""


class ImageTooLarge(ValueError):
    """An image, or two on a common size, with more than `MAX_PIXELS`. The message says how large."""


def missing_libraries(*, comparing: bool) -> tuple[str, ...]:
    """Which of the libraries of the extra ``images`` are not installed, as pip calls them."""
    modules = {"PIL": "pillow", **({"numpy": "numpy", "skimage": "scikit-image"} if comparing else {})}
    return tuple(name for module, name in modules.items() if importlib.util.find_spec(module) is None)


def load_libraries() -> None:
    """Import them: it takes a second. `ImportError` when one is missing."""
    import skimage.metrics  # noqa: F401


def decode(data: bytes) -> Image:
    """The image that ``data`` is, of an animation the first one. Raises `Unreadable` and `ImageTooLarge`."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow's own about large ones: the limit here is lower
            image = Image.open(io.BytesIO(data))
            _bounded(*image.size)
            image.load()
            return image
    except ImageTooLarge:
        raise
    except Image.DecompressionBombError as error:
        raise ImageTooLarge("more pixels than Pillow opens") from error
    except Exception as error:  # Pillow's readers raise whatever broken files make them run into
        raise Unreadable(f"no image that can be read ({type(error).__name__})") from error


def similarity(one: Image, other: Image) -> float:
    """From -1 to 1, where 1 is the same. Both are brought to the larger width and the larger height first.

    Sizes, filter and grey scale are those of VisualWebArena's ``page_image_query``. `ImageTooLarge` as for `decode`.
    """
    import numpy
    from PIL.Image import Resampling
    from skimage.metrics import structural_similarity

    size = max(one.width, other.width), max(one.height, other.height)
    _bounded(*size)
    # Resized before they become grey: the other way round gives other tones for images with a palette.
    first, second = (numpy.asarray(image.resize(size, Resampling.LANCZOS).convert("L")) for image in (one, other))
    window = min(_WINDOW, *size)
    window -= 1 - window % 2
    if window < 3:
        return float(numpy.array_equal(first, second))
    return float(structural_similarity(first, second, win_size=window))


def _bounded(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise ImageTooLarge(f"{width} × {height} pixels, more than the {MAX_PIXELS:,} that are looked at")
