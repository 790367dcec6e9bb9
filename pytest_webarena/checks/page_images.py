"""The kind ``page_image_query`` (VisualWebArena): what images of a page show."""

from __future__ import annotations

import base64
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.checks.images.captions import Captioner, NoCaptioner, find_captioner
from pytest_webarena.checks.images.collecting import collect
from pytest_webarena.checks.images.similarity import (
    ImageTooLarge,
    Unreadable,
    decode,
    load_libraries,
    missing_libraries,
    similarity,
)
from pytest_webarena.checks.images.spec import FORM, ImageQuery
from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.checks.upstream.parts import Part, judgement_of
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.text import clip

__all__ = ["PAGE_IMAGE_QUERY", "ImageQuery", "judge"]


@dataclass(slots=True)
class _Found:
    """The result of loading the images at some addresses."""

    images: dict[str, bytes] = field(default_factory=dict)
    """Readable images by address."""
    broken: int = 0
    """Number of addresses that are not images; like the original, they are ignored."""
    missing: list[str] = field(default_factory=list)
    """Why each of the other images is not available."""


def judge(queries: tuple[ImageQuery, ...], view: View, captioner: Captioner | None = None) -> Judgement:
    """Judge the collected images; each query must hold, or the original's combination of several.

    ``captioner`` answers questions about images; None for the installed one. Undecided when libraries, weights or a
    reference image are missing, and when an image that could have decided was not kept.
    """
    expected = "; ".join(map(str, queries))
    if view.probe is None:
        return Judgement.unknown(expected=expected, why="the images were not collected")
    if view.probe.error:
        return Judgement.unknown(expected=expected, why=view.probe.error)
    gathered: Any = view.probe.value
    if len(gathered["looks"]) != len(queries):
        return Judgement.unknown(expected=expected, why="other pages were read than the task names now")
    rules = view.grading.repairs
    parts: list[Part] = []
    for number, (query, look) in enumerate(zip(queries, gathered["looks"], strict=True), start=1):
        decides = rules("image-queries") or number == len(queries)
        parts.append(_query(query, look, gathered, view, captioner, decides=decides))
        if not rules("image-queries") and parts[-1].holds is not True:
            break  # the original ends here with no score or with an error
    shown = "; ".join(part.actual for part in parts if part.actual)
    return judgement_of(parts, view, expected=expected, actual=shown)


def _query(
    query: ImageQuery,
    look: Mapping[str, Any],
    gathered: Mapping[str, Any],
    view: View,
    captioner: Captioner | None,
    *,
    decides: bool,
) -> Part:
    """Judge one query; if it does not decide, the existence of images is enough."""
    if "error" in look:
        return Part(None, look["error"], look.get("cause"))
    if not query.eval_vqa and not query.references:
        return Part(None, "expected eval_vqa or eval_fuzzy_image_match in the query, found neither", "task")
    if not look["images"]:
        return Part(False, "the page shows no image there", actual="no image")
    libraries = missing_libraries(comparing=decides and bool(query.references))
    if libraries:
        return Part(
            None,
            f"judging images needs {', '.join(libraries)}: `pip install 'pytest-webarena[images]'`, then judge the run "
            "again with --rescore",
            "judge",
        )
    found = _get(look["images"], gathered)
    if look["left_out"]:
        found.missing.append(f"{look['left_out']} more images of the page were not kept")
    count = f"{len(look['images']) + look['left_out']} images"
    if not found.images and not found.missing:
        return Part(False, f"none of the {count} can be read", actual=count)
    wanted = _wanted(query, gathered, view.evidence.sites)
    if wanted.broken and not view.grading.repairs("image-queries"):
        return Part(None, wanted.missing[0], actual=count)  # the original raises here, whatever else is found
    if not decides:
        return Part(True, actual=count) if found.images else Part(None, f"no image could be had: {found.missing[0]}")
    parts = []
    if query.eval_vqa:
        parts.append(_questions(query, found, captioner))
    if query.references:
        parts.append(_match(query, found, wanted))
    actual = ", ".join([count, *(part.actual for part in parts if part.actual)])
    worst = min(parts, key=lambda part: {False: 0, None: 1, True: 2}[part.holds])
    return Part(worst.holds, worst.why, worst.cause, actual)


def _get(addresses: Iterable[str], gathered: Mapping[str, Any]) -> _Found:
    found = _Found()
    for address in addresses:
        source = gathered["sources"].get(address, {"error": "it was not collected"})
        name = clip(address, 120)
        if "broken" in source:
            found.broken += 1
        elif "error" in source:
            found.missing.append(f"{name}: {source['error']}")
        else:
            data = base64.b64decode(gathered["files"][source["file"]])
            try:
                decode(data)
            except Unreadable:
                found.broken += 1
            except ImageTooLarge as error:
                found.missing.append(f"{name}: {error}")
            else:
                found.images[address] = data
    return found


def _questions(query: ImageQuery, found: _Found, captioner: Captioner | None) -> Part:
    """Ask each question about every image; one answer that contains the wanted words is enough."""
    said: list[str] = []
    try:
        model = captioner or find_captioner()
        for each in query.eval_vqa:
            answers = []
            for data in found.images.values():
                answers.append(model.answer(decode(data), each.question))
                if each.answer.lower() in answers[-1].lower():
                    break
            else:
                said.append(f'"{each.question}": {clip(", ".join(map(repr, answers)), 160)}')
                if found.missing:
                    return Part(None, f"an image could not be asked about: {found.missing[0]}", actual="; ".join(said))
                return Part(False, f'no image has the answer "{each.answer}"', actual="; ".join(said))
            said.append(f'"{each.question}": {clip(repr(answers[-1]), 160)}')
    except NoCaptioner as error:
        return Part(None, str(error), "judge")
    except Exception as error:  # models may raise errors of any type
        return Part(None, f"the image model failed: {type(error).__name__}: {clip(str(error), 200)}", "judge")
    return Part(True, actual="; ".join(said))


def _wanted(query: ImageQuery, gathered: Mapping[str, Any], sites: Mapping[str, str]) -> _Found:
    """Returns the reference images; addresses that are not images are listed as missing, too."""
    wanted = _Found()
    for reference in query.references:
        address = resolve_placeholders(reference, sites)
        one = _get([address], gathered)
        wanted.images |= one.images
        wanted.broken += one.broken
        wanted.missing += [f"{clip(address, 120)}: it is no image that can be read"] if one.broken else one.missing
    return wanted


def _match(query: ImageQuery, found: _Found, wanted: _Found) -> Part:
    missing, best = [*found.missing, *wanted.missing], -1.0
    for reference_data in wanted.images.values():
        for data in found.images.values():
            try:
                best = max(best, _similarity(data, reference_data))
            except ValueError as error:  # too large together, or a mode without grey levels
                missing.append(f"two images can't be compared: {error}")
            if best > query.ssim_threshold:
                return Part(True, actual=f"similarity {best:.3f}")
    actual = f"similarity {best:.3f} at most" if best > -1.0 else ""
    if missing:
        return Part(None, f"an image that would decide is missing: {missing[0]}", actual=actual)
    return Part(False, "none of them is similar enough", actual=actual)


@functools.lru_cache(maxsize=64)  # a task with several gradings repeats comparisons
def _similarity(one: bytes, other: bytes) -> float:
    return similarity(decode(one), decode(other))


def _phase(queries: tuple[ImageQuery, ...]) -> int:
    return 2  # images are fetched in separate tabs


PAGE_IMAGE_QUERY: Kind[tuple[ImageQuery, ...]] = Kind(
    name="page_image_query",
    doc=(
        "Checks images on a page (VisualWebArena). Comparing images needs the extra `images`; questions need "
        "an image model. Without them there is no verdict, and the reason names what is missing ([published "
        "suites](suites.md#images-in-checks))."
    ),
    form=FORM,
    judge=judge,
    collect=collect,
    phase=_phase,
    make_ready=lambda queries: load_libraries(),
    examples=(
        "- page_image_query:\n    - {eval_image_url: last, eval_image_class: .photos,\n"
        "       eval_fuzzy_image_match: '__SHOPPING__/media/kettle.jpg'}",
    ),
)
