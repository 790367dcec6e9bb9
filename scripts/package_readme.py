"""Prepares the README for the package: replaces links to files, which PyPI lacks, by links to the site."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ReadmeHook(MetadataHookInterface):
    """Called by hatchling when it reads the project's metadata (``tool.hatch.metadata.hooks.custom``)."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Adds the README."""
        text = Path(self.root, "README.md").read_text("utf-8")
        made = with_addresses(text, metadata["urls"]["Documentation"])
        metadata["readme"] = {"content-type": "text/markdown", "text": made}


def with_addresses(text: str, site: str) -> str:
    """Turns links to pages and pictures in ``docs/`` into addresses below ``site``.

    >>> with_addresses("![it](docs/images/a.png) [more](docs/a.md#b) [all](docs/a.md)", "https://s.example/")
    '![it](https://s.example/_static/a.png) [more](https://s.example/a.html#b) [all](https://s.example/a.html)'
    """
    text = re.sub(r"\]\(docs/images/([\w.-]+)\)", rf"]({site}_static/\1)", text)
    return re.sub(r"\]\(docs/([\w-]+)\.md(#[\w-]+)?\)", rf"]({site}\1.html\2)", text)
