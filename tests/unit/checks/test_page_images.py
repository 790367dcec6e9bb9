"""Images of pages: which are the same, what a model says of them, and what is missing where there is no verdict."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import random
import sys
from collections.abc import Iterator, Mapping
from importlib.machinery import ModuleSpec
from importlib.metadata import EntryPoint
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, ClassVar, cast

import pytest
from PIL import Image, ImageDraw

from pytest_webarena.checks import CheckResult, Judgement, View
from pytest_webarena.checks.images import captions, reading
from pytest_webarena.checks.images.captions import Captioner, NoCaptioner, find_captioner
from pytest_webarena.checks.images.similarity import TooLarge, Unreadable, decode, similarity
from pytest_webarena.checks.page_images import judge
from pytest_webarena.evidence import Probe
from tests.unit.checks.helpers import FakeLive, FakePage, evidence, live_result, task

PAGE = "http://shopping.test/kettle"
A = "http://shopping.test/a.png"
B = "http://shopping.test/b.png"
REF = "http://shopping.test/ref.png"


def picture(*, size: tuple[int, int] = (120, 80), seed: int = 1) -> Image.Image:
    """Coloured shapes, other ones for another seed."""
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
    """What collecting gives for a page with these images: bytes, or what was wrong with them."""
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


def matched(image: Image.Image | bytes, **query: Any) -> Judgement:
    """Whether the reference picture is found on a page with ``image``."""
    data = image if isinstance(image, bytes) else png(image)
    gathered = probe({A: data}, references={REF: png(picture())})
    return judged({"eval_fuzzy_image_match": "__SHOPPING__/ref.png", **query}, gathered)


@pytest.mark.parametrize(
    ("image", "score"),
    [
        (picture(), 1.0),
        (picture(size=(180, 120)), 1.0),
        (png(picture(), "JPEG"), 1.0),
        (picture().convert("P"), 1.0),
        (picture().convert("RGBA"), 1.0),
        (noisy(picture(), 3), 1.0),
        (noisy(picture(), 70), 0.0),
        (picture(seed=2), 0.0),
        (Image.new("RGB", (120, 80), "white"), 0.0),
        (picture().transpose(Image.Transpose.FLIP_LEFT_RIGHT), 0.0),
    ],
    ids=["same", "resized", "jpeg", "palette", "alpha", "noise", "much-noise", "other", "blank", "mirrored"],
)
def test_the_same_image_is_found_again(image: Image.Image | bytes, score: float) -> None:
    assert matched(image).score == score


def test_the_threshold_has_to_be_exceeded() -> None:
    image = noisy(picture(), 25)
    exact = similarity(decode(png(image)), decode(png(picture())))
    assert 0.2 < exact < 0.99
    assert matched(image, ssim_threshold=exact - 0.001).score == 1.0
    assert matched(image, ssim_threshold=exact).score == 0.0


def test_similarity_is_taken_on_the_larger_width_and_height() -> None:
    wide, high = Image.linear_gradient("L").resize((40, 10)), Image.linear_gradient("L").resize((10, 40))
    common = [each.resize((40, 40), Image.Resampling.LANCZOS) for each in (wide, high)]
    assert similarity(wide, high) == similarity(high, wide) == pytest.approx(similarity(*common))
    assert similarity(Image.new("RGB", (2, 2), "red"), Image.new("RGB", (2, 2), "red")) == 1.0  # no window fits
    assert similarity(Image.new("RGB", (2, 2), "red"), Image.new("RGB", (2, 2), "blue")) == 0.0


def test_one_image_and_one_alternative_will_do() -> None:
    images = {A: png(picture(seed=3)), B: png(picture(seed=2))}
    either = {"eval_fuzzy_image_match": f"{REF} |OR| __SHOPPING__/other.png"}
    other = "http://shopping.test/other.png"
    assert judged(either, probe(images, references={REF: png(picture()), other: png(picture(seed=2))})).score == 1.0
    missing = {REF: {"error": "it could not be fetched"}}
    assert judged(either, probe(images, references={**missing, other: png(picture(seed=2))})).score == 1.0
    undecided = judged(either, probe(images, references={**missing, other: png(picture(seed=4))}))
    assert undecided.score is None
    assert f"{REF}: it could not be fetched" in undecided.why


@pytest.mark.parametrize(
    ("images", "score", "why"),
    [
        ({}, 0.0, "no image there"),
        ({A: b"<svg/>"}, 0.0, "none of the 1 images can be read"),
        ({A: png(picture())[:200]}, 0.0, "none of the 1 images can be read"),
        ({A: {"broken": "status 404"}}, 0.0, "none of the 1 images can be read"),
        ({A: b"", B: png(picture())}, 1.0, ""),
        ({A: b"", B: png(picture(seed=2))}, 0.0, "similar enough"),
        ({A: {"error": "too long"}, B: png(picture())}, 1.0, ""),
        ({A: {"error": "too long"}, B: png(picture(seed=2))}, None, f"{A}: too long"),
    ],
)
def test_images_that_are_none_do_not_count_and_missing_ones_leave_it_open(
    images: dict[str, Any], score: float | None, why: str
) -> None:
    judgement = judged({"eval_fuzzy_image_match": REF}, probe(images, references={REF: png(picture())}))
    assert judgement.score == score
    assert why in judgement.why


def test_images_beyond_the_limit_leave_a_miss_open() -> None:
    gathered = probe({A: png(picture(seed=2))}, references={REF: png(picture())}, left_out=7)
    judgement = judged({"eval_fuzzy_image_match": REF}, gathered)
    assert judgement.score is None
    assert "7 more images" in judgement.why
    assert "8 images" in judgement.actual


def test_a_huge_image_is_refused_before_it_is_unpacked() -> None:
    huge = png(Image.new("1", (8_000, 8_000)))  # eight kilobytes
    with pytest.raises(TooLarge):
        decode(huge)
    judgement = matched(huge)
    assert judgement.score is None
    assert "pixels" in judgement.why
    both = probe({A: png(Image.new("1", (11_000, 10)))}, references={REF: png(Image.new("1", (10, 11_000)))})
    assert "can't be compared: 11000 × 11000 pixels" in judged({"eval_fuzzy_image_match": REF}, both).why


def test_a_broken_reference_is_no_failure_of_the_agent() -> None:
    judgement = judged({"eval_fuzzy_image_match": REF}, probe({A: png(picture())}, references={REF: b"GIF89a"}))
    assert (judgement.score, "no image that can be read" in judgement.why) == (None, True)
    with pytest.raises(Unreadable):
        decode(b"GIF89a")


class Knows:
    """A captioner that tells the size of images and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def answer(self, image: Image.Image, question: str) -> str:
        self.asked.append(question)
        if question == "fail":
            raise RuntimeError("out of memory")
        return "It is WIDE" if image.width > image.height else "it is high"


class Installed(Knows):
    """The same, as a package would bring it: whoever wants one makes it without arguments."""

    made: ClassVar[list[Knows]] = []

    def __init__(self) -> None:
        super().__init__()
        self.made.append(self)


@pytest.mark.parametrize(
    ("questions", "score"),
    [
        ([("Shape?", "wide")], 1.0),
        ([("Shape?", "High")], 1.0),
        ([("Shape?", "wide"), ("Really?", "high")], 1.0),
        ([("Shape?", "wide"), ("Really?", "round")], 0.0),
        ([("fail", "wide")], None),
    ],
)
def test_every_question_needs_one_image_with_the_answer(questions: list[tuple[str, str]], score: float | None) -> None:
    query = {"eval_vqa": [{"question": question, "answer": answer} for question, answer in questions]}
    images = {A: png(picture()), B: png(picture(size=(40, 80)))}
    judgement = judged(query, probe(images), captioner=Knows())
    assert judgement.score == score
    if score is None:
        assert (judgement.cause, "out of memory" in judgement.why) == ("judge", True)


def test_questions_and_likeness_are_both_required() -> None:
    query = {"eval_vqa": [{"question": "Shape?", "answer": "wide"}], "eval_fuzzy_image_match": REF}
    seen = probe({A: png(picture(seed=2))}, references={REF: png(picture())})
    assert judged(query, seen, captioner=Knows()).score == 0.0
    assert judged({**query, "eval_fuzzy_image_match": ""}, seen, captioner=Knows()).score == 1.0


@pytest.fixture
def fresh() -> Iterator[None]:
    find_captioner.cache_clear()
    yield
    find_captioner.cache_clear()


def installed(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Captioners by entry point, as packages would bring them."""
    points = [EntryPoint(name, f"{__name__}:{name}", captions.ENTRY_POINTS) for name in names]
    monkeypatch.setattr(captions, "entry_points", lambda group: [each for each in points if each.group == group])


@pytest.mark.usefixtures("fresh")
def test_a_captioner_comes_by_entry_point_and_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
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
def test_captioners_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch, names: list[str], message: str) -> None:
    installed(monkeypatch, *names)
    with pytest.raises(NoCaptioner, match=message):
        find_captioner()


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    find = importlib.util.find_spec

    def only_others(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name in modules else find(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", only_others)


@pytest.mark.usefixtures("fresh")
def test_without_a_model_questions_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch)
    without(monkeypatch, "torch", "transformers")
    judgement = judged({"eval_vqa": [{"question": "Red?", "answer": "yes"}]}, probe({A: png(picture())}))
    assert (judgement.score, judgement.cause) == (None, "judge")
    assert "torch and transformers are not installed: `pip install 'pytest-webarena[captions]'`" in judgement.why


class Pretrained:
    """Stands for a class of ``transformers``: what is loaded from the cache, or the lack of it."""

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
def test_weights_come_from_the_local_cache_only(monkeypatch: pytest.MonkeyPatch, cached: bool) -> None:
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


@pytest.mark.parametrize(("module", "package"), [("skimage", "scikit-image"), ("PIL", "pillow"), ("numpy", "numpy")])
def test_without_the_libraries_the_reason_names_them(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str
) -> None:
    without(monkeypatch, module)
    judgement = matched(picture())
    assert (judgement.score, judgement.cause) == (None, "judge")
    assert f"needs {package}: `pip install 'pytest-webarena[images]'`" in judgement.why


def shop(images: list[str], served: Mapping[str, bytes]) -> FakeLive:
    """A shop whose page shows ``images`` and which has ``served``."""

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


def test_images_and_references_are_collected_once_each_and_judged_from_the_record() -> None:
    live = shop([A, B, A], {A: png(picture(seed=2)), B: png(picture()), REF: png(picture())})
    assert looked("__SHOPPING__/ref.png", live, url="__SHOPPING__/kettle").score == 1.0
    assert [each[1] for each in live.asked] == [PAGE, REF]
    spec: Any = task(f"- page_image_query: [{{eval_image_url: last, eval_fuzzy_image_match: {REF!r}}}]").checks[0].spec
    gathered: Any = reading.collect(spec, live)
    assert len(gathered["files"]) == 2  # the same bytes twice
    assert set(gathered["sources"]) == {A, B, REF}


def test_data_addresses_hold_their_image() -> None:
    address = "data:image/png;base64," + base64.b64encode(png(picture())).decode()
    assert looked(REF, shop([address], {REF: png(picture())})).score == 1.0


def test_the_post_that_the_agent_is_at_can_be_looked_at() -> None:
    live = shop([A], {A: png(picture()), REF: png(picture())})
    assert looked(REF, live, url="func:reddit_get_post_url('__last_url__')").score == 1.0
    assert looked(REF, live, url="func:exec('x')").score is None


@pytest.mark.parametrize(
    ("reference", "why"),
    [
        ("https://images.example.org/a.jpg", "it is on no site of the task"),
        ("coco_images/none.jpg", "no such image file"),
        ("media/catalog/a.jpg", "no such image file"),
    ],
)
def test_references_that_cannot_be_had_leave_it_open(reference: str, why: str) -> None:
    judged = looked(reference, shop([A], {A: png(picture())}))
    assert judged.score is None
    assert f"{reference}: " in judged.why
    assert why in judged.why


def test_a_reference_may_be_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "coco_images").mkdir()
    (tmp_path / "coco_images" / "1.png").write_bytes(png(picture()))
    (tmp_path / "secret.txt").write_bytes(png(picture()))
    monkeypatch.chdir(tmp_path)
    live = shop([A], {A: png(picture())})
    assert looked("coco_images/1.png", live).score == 1.0
    assert looked("secret.txt", live).score is None


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "MAX_IMAGES", 2)
    many = [f"http://shopping.test/{index}.png" for index in range(5)]
    live = shop(many, {REF: png(picture()), **{each: png(picture(seed=9)) for each in many}})
    assert "3 more images" in looked(REF, live).why
    monkeypatch.setattr(reading, "MAX_BYTES", 10)
    assert "more than is kept" in looked(REF, shop([A], {A: png(picture()), REF: png(picture())})).why


def test_several_queries_all_count() -> None:
    found, lost = ({"eval_image_url": "last", "eval_fuzzy_image_match": each} for each in (REF, B))
    spec: Any = task(f"- page_image_query: {json.dumps([lost, found])}").checks[0].spec
    live = shop([A], {A: png(picture()), B: png(picture(seed=2)), REF: png(picture())})
    gathered = Probe(check="checks[0]", state="end", value=reading.collect(spec, live))
    view = View(evidence=evidence(url=PAGE), probe=gathered)
    assert judge(spec, view).score == 0.0
    assert judge((spec[1], spec[1]), view).score == 1.0
    assert judge(spec[:1], view).score is None  # other queries than were collected
