"""Figures of the run for reports of single tests: properties of the suite in JUnit XML, the first page in Allure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from pytest_webarena.results.comparing.uncertainty import bounds
from pytest_webarena.results.wording import (
    PRIVILEGED,
    cost_words,
    errors_failed_words,
    if_met_words,
    mixed_words,
    passed_words,
    rate_words,
)

if TYPE_CHECKING:
    from pytest_webarena.results import Summary
    from pytest_webarena.results.comparing.comparison import Comparison
    from pytest_webarena.results.plan import Coverage
    from pytest_webarena.results.statistics import Rate

__all__ = ["comparison_figures", "coverage_figures", "first_page_figures", "rate_figures"]


def rate_figures(summaries: Iterable[Summary]) -> Iterator[tuple[str, str]]:
    """Yield names and texts of each agent's rates, without errors and with errors as failures, bounds, errors, cost."""
    for each in summaries:
        name, rate = f"success rate of {each.name}", each.rate
        yield name, f"{rate_words(rate)}{if_met_words(rate)}"
        if each.privileged:
            yield f"{name}, note", PRIVILEGED
        if rate.excluded:
            low, high = bounds(rate.passed, rate.judged, rate.excluded)
            yield f"{name}, errors as failures", errors_failed_words(rate)
            yield f"{name}, bounds if errors had failed / passed", f"{low:.1%} to {high:.1%}"
        if each.mixed:
            yield f"{name}, mixed", mixed_words(each.mixed)
        if each.error_causes:
            causes = sorted(each.error_causes.items(), key=lambda item: -item[1])
            yield f"errors of {each.name}", ", ".join(f"{cause} {count}" for cause, count in causes)
        if each.usage is not None and each.usage.cost is not None:
            yield f"cost of {each.name}", cost_words(each.usage)


def first_page_figures(summaries: Iterable[Summary]) -> Iterator[tuple[str, str]]:
    """Yield the same as `rate_figures` for two narrow columns, in pairs: of a phone's screen ten characters are seen.

    The most important ones come first in each name and text. The attached ``success rates.txt`` has them in full.
    """
    found = list(summaries)
    for each in found:
        yield from _pair(each.name, f"95% of {each.name}", each.rate)
    for each in found:
        if each.rate.excluded:
            name = f"{each.name}, errors as failures"
            yield from _pair(f"all of {name}", f"95% of all of {name}", each.rate.with_errors_failed)
    for each in found:
        for name, text in rate_figures([each]):
            if name.startswith(f"success rate of {each.name}, errors as failures"):
                continue
            if name == f"success rate of {each.name}":
                name, text = f"if undecided are met, {each.name}", if_met_words(each.rate).removeprefix(", ")
            if text:
                yield name.removeprefix("success rate of "), text


def _pair(name: str, interval: str, rate: Rate) -> Iterator[tuple[str, str]]:
    yield name, f"{rate.value:.1%} {passed_words(rate)}" if rate.value is not None else passed_words(rate)
    yield interval, "{:.0%}–{:.0%}".format(*rate.interval).replace("%–", "–")


def coverage_figures(coverages: Mapping[str, Coverage]) -> Iterator[tuple[str, str]]:
    """Yield the numbers of each agent's planned trials without a result."""
    for name, each in coverages.items():
        counts = {"not run": each.not_run, "skipped": each.skipped + each.allowed, "lost": each.lost}
        counts["not needed"] = each.decided
        if text := ", ".join(f"{count} {words}" for words, count in counts.items() if count):
            yield f"trials of {name} without a result", f"{text} (of {each.planned} planned)"


def comparison_figures(comparisons: Iterable[Comparison]) -> Iterator[tuple[str, str]]:
    """Yield names and results of comparisons, with their uncertainty."""
    from pytest_webarena.results.comparing.wording import headline, titled

    for each in comparisons:
        one, other = titled(each)
        yield f"{other} compared with {one}", headline(each)
