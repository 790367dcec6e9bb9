"""Similarity of two images: structural similarity of their grey levels, as VisualWebArena measures it."""

from __future__ import annotations

import importlib.util
import io
import warnings
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MAX_PIXELS", "ImageTooLarge", "Unreadable", "decode", "load_libraries", "missing_libraries", "similarity"]

MAX_PIXELS = 8_000_000
"""Maximum number of pixels of an image. A comparison takes some 130 bytes of memory per pixel."""

_WINDOW = 7
"""Side of the compared windows in pixels; scikit-image's default."""


class Unreadable(ValueError):
    """Bytes that are not an image, or one that Pillow can't read."""


class ImageTooLarge(ValueError):
    """An image, or two images at a common size, with more than `MAX_PIXELS`. The message states the size."""


def missing_libraries(*, comparing: bool) -> tuple[str, ...]:
    """Returns the libraries of the extra ``images`` that are not installed, by their names for pip."""
    modules = {"PIL": "pillow", **({"numpy": "numpy", "skimage": "scikit-image"} if comparing else {})}
    return tuple(name for module, name in modules.items() if importlib.util.find_spec(module) is None)


def load_libraries() -> None:
    """Import the libraries, which takes a second. Raises `ImportError` when one is missing."""
    import skimage.metrics  # noqa: F401


def decode(data: bytes) -> Image:
    """Returns the image in ``data``; the first frame of an animation. Raises `Unreadable` and `ImageTooLarge`."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Pillow warns about large images; the limit here is lower
            image = Image.open(io.BytesIO(data))
            _bounded(*image.size)
            image.load()
            return image
    except ImageTooLarge:
        raise
    except Image.DecompressionBombError as error:
        raise ImageTooLarge("more pixels than Pillow opens") from error
    except Exception as error:  # Pillow raises errors of many types for broken files
        raise Unreadable(f"no image that can be read ({type(error).__name__})") from error


def similarity(one: Image, other: Image) -> float:
    """Returns the similarity from -1 to 1; 1 means identical. Both images are first resized to the larger width and
    height.

    Sizes, filter and grey scale are those of VisualWebArena's ``page_image_query``. Raises `ImageTooLarge`, as `decode`
    does.
    """
    import numpy
    from PIL.Image import Resampling
    from skimage.metrics import structural_similarity

    size = max(one.width, other.width), max(one.height, other.height)
    _bounded(*size)
    # Converting to grey before resizing would change the grey levels of images with a palette.
    first, second = (numpy.asarray(image.resize(size, Resampling.LANCZOS).convert("L")) for image in (one, other))
    window = min(_WINDOW, *size)
    window -= 1 - window % 2
    if window < 3:
        return float(numpy.array_equal(first, second))
    return float(structural_similarity(first, second, win_size=window))


def _bounded(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise ImageTooLarge(f"{width} × {height} pixels, more than the {MAX_PIXELS:,} that are looked at")
