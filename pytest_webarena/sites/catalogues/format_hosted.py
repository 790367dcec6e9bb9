"""Format of the keys for sites that run elsewhere."""

from __future__ import annotations

from pytest_webarena.sites.catalogues.format_parts import URL, key
from pytest_webarena.tasks.shapes import Bool

__all__ = ["HOSTED_KEYS"]

HOSTED_KEYS = (
    key(
        "url",
        URL,
        (
            "The site's own address, if it runs elsewhere (`backend: external`). Browsers see `host`; the gateway "
            "forwards ([names](sites.md#names-of-hosted-sites))."
        ),
        "url: http://shop.example.org:8080",
        default="",
    ),
    key(
        "keep_address",
        Bool(),
        (
            "Whether browsers visit a site that runs elsewhere at its own address, not at `host`, because its "
            "scripts ask that address for data."
        ),
        "url: http://shop.example.org:8080\nkeep_address: true",
        default=False,
    ),
)
