"""The kind ``page_image_query`` (VisualWebArena): read faithfully, decided by nobody here, which it says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.tasks.records import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Json, Number, Text

__all__ = ["PAGE_IMAGE_QUERY", "ImageQuery"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageQuery:
    """Which images of which page, and what is to be seen in them."""

    eval_image_url: str
    """The page: an address, ``last`` or a helper function."""
    eval_image_class: str = ""
    """Selector of what holds the images; empty: the whole page."""
    eval_vqa: Any = None
    """Questions to BLIP-2 with the words their answers must hold."""
    eval_fuzzy_image_match: Any = None
    """Addresses of images one of which has to be on the page, by structural similarity."""
    ssim_threshold: float = 0.8
    """From which similarity two images are the same."""


def _expected(queries: tuple[ImageQuery, ...]) -> str:
    return "; ".join(f"images of {query.eval_image_class or 'the page'} at {query.eval_image_url}" for query in queries)


def judge(queries: tuple[ImageQuery, ...], view: View) -> Judgement:
    """Inconclusive: what the original asks needs models and libraries that this package does not run."""
    needs = []
    if any(query.eval_vqa is not None for query in queries):
        needs.append("BLIP-2 (torch and transformers)")
    if any(query.eval_fuzzy_image_match is not None for query in queries):
        needs.append("structural similarity (scikit-image and Pillow)")
    return Judgement.unknown(
        expected=_expected(queries),
        why=f"images can't be judged here: VisualWebArena's evaluator needs {' and '.join(needs) or 'an image model'}",
        cause="judge",
    )


FORM: ListOf[ImageQuery] = ListOf(
    Record(
        "image query",
        ImageQuery,
        [
            Field(
                key="eval_image_url",
                shape=Text(),
                doc="The page with the images: an address, `last` or `func:…`.",
                example="- page_image_query: [{eval_image_url: last}]",
            ),
            Field(
                key="eval_image_class",
                shape=Text(blank=True),
                default="",
                default_text="the whole page",
                doc="Selector of what holds the images.",
                example="- page_image_query: [{eval_image_url: last, eval_image_class: .item-photos}]",
            ),
            Field(
                key="eval_vqa",
                shape=Json(),
                default=None,
                default_text="none",
                doc="Questions to an image model, and the words that its answers have to hold.",
                example=(
                    "- page_image_query:\n    - {eval_image_url: last, eval_vqa: [{question: Is it red?, answer: yes}]}"
                ),
            ),
            Field(
                key="eval_fuzzy_image_match",
                shape=Json(),
                default=None,
                default_text="none",
                doc="Images one of which has to be on the page.",
                example=(
                    "- page_image_query:\n"
                    "    - {eval_image_url: last, eval_fuzzy_image_match: 'https://example.org/a.jpg'}"
                ),
            ),
            Field(
                key="ssim_threshold",
                shape=Number(float, "a number from 0 to 1", low=0, high=1),
                default=0.8,
                doc="From which structural similarity two images are the same.",
                example=(
                    "- page_image_query:\n"
                    "    - {eval_image_url: last, eval_fuzzy_image_match: 'https://example.org/a.jpg', "
                    "ssim_threshold: 0.9}"
                ),
            ),
        ],
        doc="Images of a page.",
        owner="an image query",
    ),
    label="a list of image queries",
    low=1,
)


PAGE_IMAGE_QUERY: Kind[tuple[ImageQuery, ...]] = Kind(
    name="page_image_query",
    doc=(
        "What is to be seen in images of a page (VisualWebArena). It needs image models that this package does not "
        "run: tasks with it get no verdict, and say which libraries are missing."
    ),
    form=FORM,
    judge=judge,
    examples=(
        "- page_image_query:\n    - {eval_image_url: last, eval_image_class: .photos, eval_vqa: [{question: Red?}]}",
    ),
)
