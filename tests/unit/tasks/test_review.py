"""The key ``review``: its notation and the state of a review."""

from __future__ import annotations

from tests.cases import each_case

from .helpers import problems, task, task_text

BEN = "{who: ben, verdict: agrees}"
CLEO = "{who: cleo, verdict: disagrees, about: the address is not needed}"


@each_case(
    ("review", "state"),
    [
        ("{annotator: ada}", "annotated"),
        (f"{{annotator: ada, reviewers: [{BEN}]}}", "in review"),
        (f"{{annotator: ada, reviewers: [{BEN}, {{who: cleo, verdict: agrees}}]}}", "agreed"),
        (f"{{annotator: ada, reviewers: [{CLEO}]}}", "disputed"),
        (f"{{annotator: ada, reviewers: [{BEN}, {CLEO}]}}", "disputed"),
        (
            f"{{annotator: ada, reviewers: [{CLEO}], adjudicated: {{by: dora, decision: accepted}}}}",
            "adjudicated",
        ),
        (f"{{annotator: ada, reviewers: [{CLEO}], adjudicated: {{by: dora, decision: rejected}}}}", "rejected"),
        (f"{{annotator: ada, reviewers: [{BEN}, {{who: cleo, verdict: agrees}}], of: 01234567}}", "changed since"),
    ],
)
def test_state_of_a_review(review: str, state: str) -> None:
    found = task(f"review: {review}")
    assert found.review is not None
    assert found.review.state(found.digest) == state


def test_disagreements_name_their_reviewer() -> None:
    found = task(f"review: {{annotator: ada, reviewers: [{BEN}, {CLEO}]}}").review
    assert found is not None
    assert found.disagreements == ("cleo: the address is not needed",)


def test_review_of_a_changed_task_is_outdated() -> None:
    """The reviewed task is identified by its digest, which excludes the review."""
    digest = task("tags: x").digest
    found = task(f"review: {{annotator: ada, of: [00000000, {digest[:8]}]}}")
    assert found.digest == digest
    assert found.review is not None
    assert found.review.state(found.digest) == "annotated"
    changed = task(f"review: {{annotator: ada, of: {digest}}}", checks="[{answer: y}]")
    assert changed.review is not None
    assert changed.review.state(changed.digest) == "changed since"


@each_case(
    ("review", "message"),
    [
        ("{}", "expected the key 'annotator' in a review, found no keys"),
        ("ada", "expected a mapping (review), found 'ada'"),
        ("{annotator: ada, reviewer: []}", "found 'reviewer' (did you mean 'reviewers'?)"),
        ("{annotator: ada, reviewers: [{who: ben, verdict: agree}]}", "found 'agree' (did you mean 'agrees'?)"),
        ("{annotator: ada, reviewers: [{who: ben, verdict: disagrees}]}", "expected 'about' of a reviewer who"),
        (
            "{annotator: ada, reviewers: [{who: ada, verdict: agrees}]}",
            "expected a different person for each part of a review, found 'ada' twice",
        ),
        (f"{{annotator: ada, reviewers: [{BEN}, {BEN}]}}", "found 'ben' twice"),
        (
            f"{{annotator: ada, reviewers: [{CLEO}], adjudicated: {{by: cleo, decision: accepted}}}}",
            "found 'cleo' twice",
        ),
        (
            f"{{annotator: ada, reviewers: [{BEN}], adjudicated: {{by: dora, decision: accepted}}}}",
            "expected 'adjudicated' where a reviewer disagrees, found no such reviewer",
        ),
        (
            f"{{annotator: ada, reviewers: [{BEN}, {CLEO}, {{who: eve, verdict: agrees}}]}}",
            "expected at most 2 reviewers, found 3 (a third one adjudicates)",
        ),
        ("{annotator: ada, of: later}", "expected a task's digest, or its first 8 digits or more, found 'later'"),
    ],
)
def test_invalid_reviews_are_reported(review: str, message: str) -> None:
    [problem] = problems(task_text(f"review: {review}"))
    assert message in str(problem)
