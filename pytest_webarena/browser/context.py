"""Opens the browser context of a session with its proxy, cookies and settings."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from playwright.async_api import BrowserContext
from playwright.async_api import Error as PlaywrightError

from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.launching.discovery import require_ffmpeg
from pytest_webarena.browser.messages import first_line
from pytest_webarena.errors import BrowserError

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine

__all__ = ["context_options", "open_context"]


def context_options(config: SessionConfig) -> dict[str, Any]:
    """Return keyword arguments for Playwright's ``new_context``."""
    width, height = config.viewport
    options: dict[str, Any] = {
        "viewport": {"width": width, "height": height},
        "locale": config.locale,
        "timezone_id": config.timezone,
        "device_scale_factor": config.device_scale,
        "reduced_motion": "reduce",
        "accept_downloads": True,
        # They would answer from caches that no reset clears, and their requests are not those of a page.
        "service_workers": "block",
    }
    if config.geolocation is not None:
        options["geolocation"] = asdict(config.geolocation)
        options["permissions"] = ["geolocation"]
    options |= {key: value for key, value in config.context_args.items() if value is not None}
    options.pop("proxy", None)
    if config.proxy is not None:
        options["proxy"] = {"server": config.proxy, "bypass": config.proxy_bypass}
    if config.video is not None:
        options["record_video_dir"] = config.video
        options["record_video_size"] = {"width": width, "height": height}
    if config.storage_state is not None:
        options["storage_state"] = dict(config.storage_state)
    return options


async def open_context(engine: BrowserEngine, config: SessionConfig) -> BrowserContext:
    """Open a new context; start another browser if the running one is dead."""
    if config.video is not None:
        require_ffmpeg()
    options = context_options(config)
    failure: Exception | None = None
    for _ in range(2):
        async with engine.opening(own_browser=config.own_browser) as browser:
            try:
                async with asyncio.timeout(config.deadlines.context):
                    context = await browser.new_context(**options)
                    if config.trace is not None:
                        await context.tracing.start(screenshots=True, snapshots=True)
                return context
            except (PlaywrightError, TimeoutError) as error:
                failure = error
        await engine.discard(browser)
    detail = first_line(failure) if failure is not None else ""
    raise BrowserError(f"no browser context could be opened: {detail}") from failure
