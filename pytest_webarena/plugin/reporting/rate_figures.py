"""Success rates for reports of single tests: properties of the suite in JUnit XML, an attachment in Allure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pytest_webarena.results.comparing.uncertainty import bounds
from pytest_webarena.results.wording import errors_failed_words, mixed_words, rate_words

if TYPE_CHECKING:
    from pytest_webarena.results import Summary

__all__ = ["rate_figures"]


def rate_figures(summaries: Iterable[Summary]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of each agent's rates, without errors and with errors as failures, and their bounds."""
    for each in summaries:
        name, rate = f"success rate of {each.name}", each.rate
        yield name, rate_words(rate)
        if rate.excluded:
            low, high = bounds(rate.passed, rate.judged, rate.excluded)
            yield f"{name}, errors as failures", errors_failed_words(rate)
            yield f"{name}, bounds if errors had failed / passed", f"{low:.1%} to {high:.1%}"
        if each.mixed:
            yield f"{name}, mixed", mixed_words(each.mixed)
