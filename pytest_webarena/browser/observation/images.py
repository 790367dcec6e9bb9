"""Screenshots of a page, which the browser scales."""

from __future__ import annotations

import base64
from dataclasses import dataclass

from pytest_webarena.browser.config import ImageFormat, ObservationConfig
from pytest_webarena.browser.faults import DialogBlocks
from pytest_webarena.browser.tabs.tab import Tab

__all__ = ["Screenshot", "capture"]

_TALLEST = 16384
"""Maximum height of a picture in pixels, which encoders do not exceed; the rest of the page is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Screenshot:
    """A picture with its place on the page."""

    data: bytes
    """Encoded picture; empty while a dialog is open, because nothing is painted then."""
    left: float = 0.0
    top: float = 0.0
    """Corner of the picture in the viewport, in CSS pixels: negative for the whole of a scrolled page."""
    width: float = 0.0
    """Width of the pictured area in CSS pixels; 0: the viewport's width."""


async def capture(
    tab: Tab, config: ObservationConfig, *, seconds: float, format: ImageFormat | None = None, scale: float = 1.0
) -> Screenshot:
    """Capture the viewport or the whole page. ``scale``: image pixels per CSS pixel, before it is reduced to fit."""
    if tab.dialogs.open is not None:
        return Screenshot(data=b"")
    kind = format or config.screenshot_format
    try:
        if not tab.is_observable:
            return await _by_playwright(tab, config, kind, seconds)
        parameters: dict[str, object] = {"format": kind, "optimizeForSpeed": True}
        if kind != "png":
            parameters["quality"] = config.screenshot_quality
        shot = Screenshot(data=b"")
        if config.screenshot_full_page or config.screenshot_size is not None or scale != 1.0:
            metrics = await tab.send("Page.getLayoutMetrics", seconds=seconds)
            view, page = metrics["cssVisualViewport"], metrics["cssContentSize"]
            x, y, width, height = view["pageX"], view["pageY"], view["clientWidth"], view["clientHeight"]
            if config.screenshot_full_page:
                shot = Screenshot(data=b"", left=-x, top=-y, width=page["width"])
                x, y, width, height = 0, 0, page["width"], min(page["height"], _TALLEST / scale)
                parameters["captureBeyondViewport"] = True
            if config.screenshot_size is not None:
                most_wide, most_high = config.screenshot_size
                scale = min(scale, most_wide / width, most_high / height)
            parameters["clip"] = {"x": x, "y": y, "width": width, "height": height, "scale": scale}
        answer = await tab.send("Page.captureScreenshot", parameters, seconds=seconds)
    except DialogBlocks:
        return Screenshot(data=b"")
    return Screenshot(data=base64.b64decode(answer["data"]), left=shot.left, top=shot.top, width=shot.width)


async def _by_playwright(tab: Tab, config: ObservationConfig, kind: ImageFormat, seconds: float) -> Screenshot:
    """Capture in browsers other than Chromium, which can neither scale nor encode WebP."""
    direct = kind != "webp" and config.screenshot_size is None
    if direct and kind == "jpeg":
        taking = tab.page.screenshot(
            type="jpeg", quality=config.screenshot_quality, full_page=config.screenshot_full_page
        )
    else:
        taking = tab.page.screenshot(type="png", full_page=config.screenshot_full_page)
    data = await tab.run(taking, seconds, "taking a screenshot")
    left = top = 0.0
    if config.screenshot_full_page:
        left, top = await tab.evaluate("() => [-scrollX, -scrollY]", seconds=seconds, what="taking a screenshot")
    if not direct:
        from pytest_webarena.browser.observation.drawing import scale_to_fit

        data = scale_to_fit(data, config.screenshot_size, kind, config.screenshot_quality)
    return Screenshot(data=data, left=left, top=top)
