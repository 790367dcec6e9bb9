"""The key ``review`` of a task: who wrote it, who reviewed it, and how a disagreement was settled."""

from __future__ import annotations

import re
from typing import Any

from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Field, ListOf, Record
from pytest_webarena.tasks.reviews import REVIEWERS, Adjudication, Opinion, Review
from pytest_webarena.tasks.shapes import Choice, Fault, Text

__all__ = ["REVIEW"]


def _digest_fault(text: str, _: Reading) -> Fault | None:
    if re.fullmatch(r"[0-9a-f]{8,32}", text):
        return None
    return Fault(
        "a task's digest, or its first 8 digits or more", f"'{text[:40]}'", "`webarena tasks monitor` prints it"
    )


def _opinion_fault(values: dict[str, Any], _: MapNode, __: Reading) -> Fault | None:
    if values["verdict"] == "disagrees" and not values["about"]:
        return Fault("'about' of a reviewer who disagrees", "none", "add the reason")
    return None


def _review_fault(values: dict[str, Any], _: MapNode, __: Reading) -> Fault | None:
    names = [values["annotator"], *(each.who for each in values["reviewers"])]
    settled = values["adjudicated"]
    if settled is not None:
        if all(each.verdict == "agrees" for each in values["reviewers"]):
            return Fault("'adjudicated' where a reviewer disagrees", "no such reviewer")
        names.append(settled.by)
    twice = next((name for number, name in enumerate(names) if name in names[:number]), None)
    if twice is not None:
        return Fault("a different person for each part of a review", f"'{twice}' twice")
    if len(values["reviewers"]) > REVIEWERS:
        return Fault(f"at most {REVIEWERS} reviewers", f"{len(values['reviewers'])}", "a third one adjudicates")
    return None


_NAME = Text("a name", strip=True)
_ABOUT = Field(
    key="about",
    shape=Text("a reason", strip=True),
    default="",
    default_text="nothing",
    doc="The reason, in words. Required with `disagrees`.",
    example="review: {annotator: ada, reviewers: [{who: ben, verdict: disagrees, about: the start page}]}",
)
_OPINION: Record[Opinion] = Record(
    "reviewer",
    Opinion,
    [
        Field(
            key="who",
            shape=_NAME,
            doc="The reviewer.",
            example="review: {annotator: ada, reviewers: [{who: ben, verdict: agrees}]}",
        ),
        Field(
            key="verdict",
            shape=Choice("agrees", "disagrees"),
            doc="Whether the task is correct as it is.",
            example="review: {annotator: ada, reviewers: [{who: ben, verdict: agrees}]}",
        ),
        _ABOUT,
    ],
    doc="One reviewer's verdict on the task.",
    rule=_opinion_fault,
)
_ADJUDICATION: Record[Adjudication] = Record(
    "adjudication",
    Adjudication,
    [
        Field(
            key="by",
            shape=_NAME,
            doc="Who decided; neither the annotator nor a reviewer.",
            example=(
                "review:\n  annotator: ada\n  reviewers: [{who: ben, verdict: disagrees, about: the start page}]\n"
                "  adjudicated: {by: dora, decision: accepted}"
            ),
        ),
        Field(
            key="decision",
            shape=Choice("accepted", "rejected"),
            doc="Whether the task is used as it is.",
            example=(
                "review:\n  annotator: ada\n  reviewers: [{who: ben, verdict: disagrees, about: the start page}]\n"
                "  adjudicated: {by: dora, decision: rejected, about: the page is gone}"
            ),
        ),
        _ABOUT,
    ],
    doc="How a disagreement was settled.",
)
REVIEW: Record[Review] = Record(
    "review",
    Review,
    [
        Field(
            key="annotator",
            shape=_NAME,
            doc="The author of the task.",
            example="review: {annotator: ada}",
        ),
        Field(
            key="reviewers",
            shape=ListOf(_OPINION, label="a list of reviewers"),
            default=(),
            default_text="none",
            doc="At most two reviewers.",
            example="review: {annotator: ada, reviewers: [{who: ben, verdict: disagrees, about: the start page}]}",
        ),
        Field(
            key="adjudicated",
            shape=_ADJUDICATION,
            default=None,
            default_text="none",
            doc="How a fourth person settled a disagreement.",
            example=(
                "review:\n  annotator: ada\n  reviewers: [{who: ben, verdict: disagrees, about: the start page}]\n"
                "  adjudicated: {by: dora, decision: accepted}"
            ),
        ),
        Field(
            key="of",
            shape=ListOf(Text("a digest", check=_digest_fault), or_one=True, label="a digest or a list of digests"),
            default=(),
            default_text="not recorded",
            doc=(
                "Digest of the reviewed task (of each instance, with `each`), or at least 8 of its first "
                "digits, from `webarena tasks monitor`. If the task's digest differs, the review is `changed "
                "since`."
            ),
            example="review: {annotator: ada, of: 3f0c9a1e}",
        ),
    ],
    doc="Who wrote and reviewed the task.",
    rule=_review_fault,
)
