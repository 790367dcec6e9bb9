"""Captioners: by entry point, or BLIP-2 from the local cache, and messages if there is none."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from PIL import Image

from pytest_webarena.checks.images import captions
from pytest_webarena.checks.images.captions import NoCaptioner, find_captioner
from tests.unit.checks.pictures import A, Knows, judged, picture, png, probe, without


class Installed(Knows):
    """The same captioner as a package provides it: created without arguments."""

    made: ClassVar[list[Knows]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)


@pytest.fixture
def fresh() -> Iterator[None]:
    captions._installed.cache_clear()
    yield
    captions._installed.cache_clear()


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Install captioners as entry points of packages."""
    points = [EntryPoint(name, f"{__name__}:{name}", captions.ENTRY_POINTS) for name in names]
    found = lambda group: [each for each in points if each.group == group]  # noqa: E731
    monkeypatch.setattr("importlib.metadata.entry_points", found)


@pytest.mark.usefixtures("fresh")
def test_captioner_from_entry_point_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    Installed.made.clear()
    installed(monkeypatch, "Installed")
    query = {"eval_vqa": [{"question": "Shape?", "answer": "wide"}]}
    for _ in range(2):
        assert judged(query, probe({A: png(picture())})).score == 1.0
    assert [each.asked for each in Installed.made] == [["Shape?"]]


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(
    ("names", "message"), [(["Installed", "Other"], "found Installed, Other"), (["Other"], "Other can't be loaded")]
)
def test_missing_or_broken_captioners_are_reported(
    monkeypatch: pytest.MonkeyPatch, names: list[str], message: str
) -> None:
    installed(monkeypatch, *names)
    with pytest.raises(NoCaptioner, match=message):
        find_captioner()


@pytest.mark.usefixtures("fresh")
def test_image_question_without_a_model_names_the_pip_command(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    without(monkeypatch, "torch", "transformers")
    judgement = judged({"eval_vqa": [{"question": "Red?", "answer": "yes"}]}, probe({A: png(picture())}))
    assert (judgement.score, judgement.cause) == (None, "judge")
    assert "torch and transformers are not installed: `pip install 'pytest-webarena[captions]'`" in judgement.why


class Pretrained:
    """A fake ``transformers`` class that loads from the cache or fails."""

    cached = True
    asked: ClassVar[list[tuple[str, bool]]] = []

    @classmethod
    def from_pretrained(cls, name: str, *, local_files_only: bool, **options: Any) -> Pretrained:
        cls.asked.append((name, local_files_only))
        if not cls.cached:
            raise OSError("couldn't connect to the hub")
        return cls()

    def to(self, *places: Any) -> Pretrained:
        return self

    def keys(self) -> list[str]:
        return ["text"]

    def __getitem__(self, key: str) -> str:
        return self.text

    def __call__(self, *, images: Image.Image, text: str, return_tensors: str) -> Pretrained:
        self.text = f"{text} ({images.mode})"
        return self

    def generate(self, *, text: str, max_new_tokens: int) -> list[str]:
        return [f"{text} yes"]

    def batch_decode(self, tokens: list[str], *, skip_special_tokens: bool) -> list[str]:
        return tokens


@pytest.mark.parametrize("cached", [True, False])
def test_weights_are_loaded_from_the_local_cache_only(monkeypatch: pytest.MonkeyPatch, cached: bool) -> None:
    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False), float32="32", float16="16")
    transformers = SimpleNamespace(Blip2Processor=Pretrained, Blip2ForConditionalGeneration=Pretrained)
    for name, module in (("torch", torch), ("transformers", transformers)):
        monkeypatch.setitem(sys.modules, name, cast(ModuleType, module))
        module.__spec__ = ModuleSpec(name, None)
    monkeypatch.setattr(Pretrained, "cached", cached)
    Pretrained.asked.clear()
    if cached:
        assert captions.Blip2().answer(picture().convert("P"), "Red?") == "Q: Red? A: (RGB) yes"
    else:
        with pytest.raises(NoCaptioner, match="not in the local cache: `hf download Salesforce/blip2-flan-t5-xl`"):
            captions.Blip2()
    assert Pretrained.asked
    assert all(local for _, local in Pretrained.asked)
