"""What answers say of the value in them: in people's spellings and words, with what turns it round or takes it back."""

from __future__ import annotations

import pytest

from .helpers import evidence, result

_PAID = "How many crowns did I pay in the store in May 2024? Leave out orders that were returned."


def passes(check: str, answer: str, intent: str) -> bool:
    return result(f"answer: {check}", evidence(answer), intent=intent).passed is True


# --- numbers


@pytest.mark.parametrize(
    "answer",
    [
        "You spent 1,204.50 crowns.",
        "In May 2024 you spent 1204.50.",
        "The amount 1,204.50 was spent.",
        "1 204.50 kr",
        "1\u202f204,50 kr",
        "kr1,204.50",
        "SEK1204.50",
    ],
)
def test_a_number_as_people_write_it(answer: str) -> None:
    assert passes("{number: 1204.50}", answer, _PAID)


@pytest.mark.parametrize(
    "answer",
    ["It isn't 1204.50", "It isnt 1204.50", "It wasnt 1204.50", "1 1204.50", "1 204 1204.50", "1 204.50 99"],
)
def test_a_number_denied_or_beside_another(answer: str) -> None:
    assert not passes("{number: 1204.50}", answer, _PAID)
