"""The form of ``page_image_query``: which images of which page, and what they must show."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_webarena.checks.upstream.text import ALTERNATIVE
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.shapes import Number, Text

__all__ = ["FORM", "ImageQuery", "ImageQuestion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageQuestion:
    """A question for an image model."""

    question: str
    answer: str
    """Text that the model's answer must contain, ignoring case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageQuery:
    """The images of one page, and what they must show."""

    eval_image_url: str
    """The page: an address, ``last`` or a helper function."""
    eval_image_class: str = ""
    """Selector of the images, or of elements that contain them; empty: the whole page."""
    eval_vqa: tuple[ImageQuestion, ...] = ()
    """Questions; each must have the wanted answer for at least one of the images."""
    eval_fuzzy_image_match: str = ""
    """Addresses or files, separated by `` |OR| ``; one of them must be among the images."""
    ssim_threshold: float = 0.8
    """Structural similarity above which two images are equal."""

    @property
    def references(self) -> tuple[str, ...]:
        """The images one of which must be on the page."""
        return tuple(self.eval_fuzzy_image_match.split(ALTERNATIVE)) if self.eval_fuzzy_image_match else ()

    def __str__(self) -> str:
        asked = [f'"{each.question}" answered "{each.answer}"' for each in self.eval_vqa]
        if self.references:
            asked.append(f"similarity above {self.ssim_threshold:g} to {' or '.join(self.references)}")
        return f"images of {self.eval_image_class or 'the page'} at {self.eval_image_url}: {', '.join(asked) or '?'}"


_QUESTION = Record(
    "image question",
    ImageQuestion,
    [
        Field(
            key="question",
            shape=Text(),
            doc="The question about each image.",
            example="- page_image_query:\n    - {eval_image_url: last, eval_vqa: [{question: Colour?, answer: red}]}",
        ),
        Field(
            key="answer",
            shape=Text(),
            doc="Text that the model's answer to one of the images must include; case is ignored.",
            example="- page_image_query:\n    - {eval_image_url: last, eval_vqa: [{question: A bear?, answer: 'yes'}]}",
        ),
    ],
    doc="A question to an image model.",
    owner="an image question",
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
                example="- page_image_query: [{eval_image_url: last, eval_fuzzy_image_match: '__SHOPPING__/a.jpg'}]",
            ),
            Field(
                key="eval_image_class",
                shape=Text(blank=True),
                default="",
                default_text="the whole page",
                doc="CSS selector of the images, or of elements that contain them.",
                example=(
                    "- page_image_query:\n    - {eval_image_url: last, eval_image_class: .photos,\n"
                    "       eval_fuzzy_image_match: '__SHOPPING__/a.jpg'}"
                ),
            ),
            Field(
                key="eval_vqa",
                shape=ListOf(_QUESTION, label="a list of questions about images"),
                default=(),
                default_text="none",
                doc="Questions to an image model. For each, one image must get the expected answer.",
                example=(
                    "- page_image_query:\n    - {eval_image_url: last, eval_vqa: [{question: Red?, answer: 'yes'}]}"
                ),
            ),
            Field(
                key="eval_fuzzy_image_match",
                shape=Text(blank=True),
                default="",
                default_text="none",
                doc=(
                    "Images, separated by ` |OR| `, one of which must be on the page: addresses on the "
                    "task's sites, or files."
                ),
                example=(
                    "- page_image_query:\n"
                    "    - {eval_image_url: last, eval_fuzzy_image_match: '__SHOPPING__/a.jpg |OR| b.png'}"
                ),
            ),
            Field(
                key="ssim_threshold",
                shape=Number(float, "a number from 0 to 1", low=0, high=1),
                default=0.8,
                doc="Structural similarity above which two images are equal.",
                example=(
                    "- page_image_query:\n"
                    "    - {eval_image_url: last, eval_fuzzy_image_match: '__SHOPPING__/a.jpg', ssim_threshold: 0.6}"
                ),
            ),
        ],
        doc="Images on a page.",
        owner="an image query",
    ),
    label="a list of image queries",
    low=1,
)
