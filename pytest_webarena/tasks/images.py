"""The form of images in task files that belong to an intent."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import urlsplit

from pytest_webarena.tasks.addresses import known_site_fault, parse_address
from pytest_webarena.tasks.file_reading import INVALID, Invalid, Reading
from pytest_webarena.tasks.model import ImageSource, Task
from pytest_webarena.tasks.nodes import Node
from pytest_webarena.tasks.shapes import Schema, Schemas, Shape, Text
from pytest_webarena.text import clip

__all__ = ["SUFFIXES", "ImageShape", "not_fetched", "why_not_shown"]

SUFFIXES = (".gif", ".jpeg", ".jpg", ".png", ".webp")
"""Suffixes of image files; usual model endpoints accept these formats."""

_FILE = re.compile(rf"(?![a-z]+:/)[^\0]+(?:{'|'.join(map(re.escape, SUFFIXES))})", re.IGNORECASE)


def why_not_shown(task: Task, hosts: Collection[str]) -> str:
    """Returns why a run that may not fetch images can't show this task's; empty when it can. ``hosts`` are the sites'
    hosts."""
    external = (image for image in task.images if not image.site and not image.is_file)
    return next((not_fetched(image) for image in external if urlsplit(image.path).hostname not in hosts), "")


def not_fetched(image: ImageSource) -> str:
    """Returns why an image outside the task's sites is not loaded."""
    host = urlsplit(image.path).hostname
    return f"an input image is on {host}, which is none of the task's sites; --fetch-images loads such images"


class ImageShape(Shape[ImageSource]):
    """The address of an image. Unlike other addresses, it may be on a site that the task does not list."""

    label = f"an image: /path, site:/path, http://… or a file next to the task file ({', '.join(SUFFIXES)})"

    def __init__(self) -> None:
        self.text = Text(self.label, strip=True)

    def read(self, node: Node, reading: Reading) -> ImageSource | Invalid:
        text = self.text.read(node, reading)
        if isinstance(text, Invalid):
            return INVALID
        if text.lower().startswith("file:"):
            return self._file(text[5:], node, reading)
        address = parse_address(text)
        if address is None or text == "about:blank" or (address.site and address.path.startswith("//")):
            return self._file(text, node, reading)
        site = address.site
        if text.startswith("/"):
            if reading.sites is None:
                return INVALID  # the fault in 'sites' is already reported
            if not reading.sites:
                return reading.problem(node, "an image's site or file", f"'{clip(text)}'", "this task has no site")
            site = reading.sites[0]
        elif site and (fault := known_site_fault(site, reading)):
            return reading.problem(node, fault.expected, fault.found, fault.hint)
        return ImageSource(site=site, path=address.path)

    def _file(self, text: str, node: Node, reading: Reading) -> ImageSource | Invalid:
        path = re.sub(r"^//(?=/)", "", text)
        if not _FILE.fullmatch(path):
            return reading.problem(node, self.label, f"'{clip(text)}'")
        return ImageSource(path=path)

    def json_schema(self, schemas: Schemas) -> Schema:
        return schemas.named("image", lambda: {"type": "string", "minLength": 1, "description": self.label})
