"""Generated images, and fake pages that show them."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import random
from collections.abc import Mapping
from importlib.machinery import ModuleSpec
from typing import Any

import pytest
from PIL import Image, ImageDraw

from pytest_webarena.checks import CheckResult, Judgement, View
from pytest_webarena.checks.images.captions import Captioner
from pytest_webarena.checks.page_images import judge
from pytest_webarena.evidence import Probe
from tests.unit.checks.helpers import FakeLive, FakePage, evidence, live_result, task

__all__ = ["PAGE", "REF", "A", "B", "Knows", "judged", "looked", "noisy", "picture", "png", "probe", "shop", "without"]

PAGE = "http://shopping.test/kettle"
A = "http://shopping.test/a.png"
B = "http://shopping.test/b.png"
REF = "http://shopping.test/ref.png"


def picture(*, size: tuple[int, int] = (120, 80), seed: int = 1) -> Image.Image:
    """Return an image of coloured shapes that depend on the seed."""
    image, dice = Image.new("RGB", (120, 80), "white"), random.Random(seed)
    draw = ImageDraw.Draw(image)
    for _ in range(12):
        x, y = dice.randrange(100), dice.randrange(60)
        draw.ellipse(
            (x, y, x + dice.randrange(10, 50), y + dice.randrange(10, 40)), dice.choice(["red", "navy", "teal"])
        )
    return image.resize(size, Image.Resampling.BICUBIC)


def noisy(image: Image.Image, strength: int) -> Image.Image:
    dice = random.Random(0)
    return (
        image.point(lambda tone: tone)
        if not strength
        else Image.blend(
            image, Image.frombytes("RGB", image.size, dice.randbytes(3 * image.width * image.height)), strength / 100
        )
    )


def png(image: Image.Image, form: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, form)
    return buffer.getvalue()


def probe(
    images: Mapping[str, bytes | dict[str, Any]], *, references: Mapping[str, Any] | None = None, left_out: int = 0
) -> Probe:
    """Return the collected probe of a page with these images: bytes, or an error message."""
    files, sources = {}, {}
    for address, got in {**images, **(references or {})}.items():
        sources[address] = {"file": address} if isinstance(got, bytes) else got
        if isinstance(got, bytes):
            files[address] = base64.b64encode(got).decode()
    look = {"asked": "last", "landed": PAGE, "images": list(images), "left_out": left_out}
    value: Any = {"looks": [look], "sources": sources, "files": files}
    return Probe(check="checks[0]", state="end", value=json.loads(json.dumps(value)))


def judged(query: dict[str, Any], gathered: Probe, *, captioner: Captioner | None = None) -> Judgement:
    spec: Any = task(f"- page_image_query: [{json.dumps({'eval_image_url': 'last', **query})}]").checks[0].spec
    return judge(spec, View(evidence=evidence(url=PAGE), probe=gathered), captioner)


class Knows:
    """A captioner that answers by the image's size and records its questions."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, image: Image.Image, question: str) -> str:
        self.asked.append(question)
        if question == "fail":
            raise RuntimeError("out of memory")
        return "It is WIDE" if image.width > image.height else "it is high"


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    find = importlib.util.find_spec

    def only_others(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in modules else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", only_others)


def shop(images: list[str], served: Mapping[str, bytes]) -> FakeLive:
    """Return a shop whose page shows ``images`` and which serves ``served``."""

    def page(open: str | None, locate: str | None) -> FakePage:
        source = locate or ""
        if "fetch(" not in source:
            return FakePage(url=open or PAGE, texts=(json.dumps({"found": images}),))
        addresses = json.JSONDecoder().raw_decode(source.split("let addresses = ", 1)[1])[0]
        made = [
            {"base64": base64.b64encode(served[each]).decode()} if each in served else {"broken": "status 404"}
            for each in addresses
        ]
        return FakePage(url=open or PAGE, texts=(json.dumps(made),))

    return FakeLive(page=page)


def looked(match: str, live: FakeLive, url: str = "last") -> CheckResult:
    return live_result(
        f"page_image_query: [{{eval_image_url: {url!r}, eval_image_class: .x, eval_fuzzy_image_match: {match!r}}}]",
        live,
    )
