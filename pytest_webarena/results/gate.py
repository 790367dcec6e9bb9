"""Gate: turns a run's figures into an exit code, so that CI can accept an agent that passes only some tasks."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pytest_webarena.results.wording import errors_failed_words, mixed_words, rate_words, undecided_remedy

if TYPE_CHECKING:
    from pytest_webarena.results import Rate, Summary
    from pytest_webarena.results.comparing.comparison import Comparison
    from pytest_webarena.results.plan import Coverage

__all__ = [
    "ACCEPT_UNDETECTABLE",
    "BELOW_THRESHOLD",
    "EXIT_CODES",
    "NOT_VALID",
    "STOPPED_EARLY",
    "TOO_MANY_ERRORS",
    "UNSETTLED",
    "WORSE",
    "Gate",
    "RateEnd",
    "Ruling",
]

BELOW_THRESHOLD = 10
"""Exit code: an agent's success rate is below ``--min-pass-rate``."""
TOO_MANY_ERRORS = 11
"""Exit code: more errors than ``--max-errors`` allows, so the rate can't be trusted. It precedes the former."""
NOT_VALID = 12
"""Exit code: ``--audit`` found a task that is not valid."""
STOPPED_EARLY = 13
"""Exit code: an agent or a site was stopped, so trials are missing that ``--resume`` would run."""

WORSE = 14
"""Exit code: worse than ``--baseline``, or more expensive than ``--max-cost-increase`` allows."""
UNSETTLED = 15
"""Exit code: chance or undecided trials leave the gate unsettled.

It is used if undecided trials decide whether the run passes, if ``--audit`` left tasks unproven or undecided, and with
``--fail-unsettled``. Unless ``--allow-undetectable`` accepts it, it is also used if not even a total collapse could be
detected, or if tasks that passed in the baseline have disappeared.
"""

EXIT_CODES: Mapping[int, str] = {
    BELOW_THRESHOLD: "a success rate is below --min-pass-rate",
    TOO_MANY_ERRORS: "too many errors, or missing or unreadable records",
    NOT_VALID: "a task is not valid",
    STOPPED_EARLY: "aborted: repeated identical errors or a missing prerequisite",
    WORSE: "worse or more expensive than the baseline",
    UNSETTLED: "unsettled: chance or undecided trials leave it open",
}
"""Meaning of the exit codes that are not pytest's own, as the summary prints them."""

_ORDER = (TOO_MANY_ERRORS, BELOW_THRESHOLD, WORSE, UNSETTLED)
"""Exit codes by precedence, where several apply."""

ACCEPT_UNDETECTABLE = "add such tasks, or accept a gate that cannot fail: --allow-undetectable"
"""Advice for a baseline that can't show a total collapse."""
_ACCEPT_LOST = (
    "save the baseline again (webarena compare baseline save), run a part by -k, or accept a gate that does not see "
    "them: --allow-undetectable"
)

RateEnd = Literal["mean", "low", "high"]
"""The value that has to reach ``--min-pass-rate``: the rate itself, or an end of its interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """Result of the gate for a run."""

    exit_code: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """The thresholds; None disables one."""

    min_pass_rate: float | None = None
    """Minimum success rate, in [0, 1]."""
    max_errors: float | None = None
    """Maximum of errors: a share of the trials below 1, a number of trials from 1 on.

    With 0, and with a minimum rate but no maximum, none are allowed.
    """

    allow_skipped: tuple[str, ...] = ()
    """Names of sites and tasks whose trials may be skipped."""
    rate_end: RateEnd = "mean"
    """The value that counts: the rate, or an end of its interval.

    With ``low`` the rate has to be above the threshold with confidence; with ``high`` it must not be below it with
    confidence.
    """
    baseline: Path | None = None
    """A run's directory or a baseline's file, than which no agent may be worse."""
    confidence: float = 0.95
    """Confidence of the comparison with the baseline."""
    fail_unsettled: bool = False
    allow_undetectable: bool = False
    """Whether the gate may pass where tasks are too few to show even a total collapse."""
    max_cost_increase: float | None = None
    """Share by which the dollars per trial may grow over the baseline."""

    def rule(
        self,
        summaries: Mapping[str, Summary],
        coverages: Mapping[str, Coverage] | None = None,
        *,
        uncollected: int = 0,
        against: Sequence[Comparison] | str = (),
        refused: Sequence[str] = (),
        deselected: Collection[str] = (),
    ) -> Ruling | None:
        """Apply the thresholds. Every agent has to meet them in every browser. None when no threshold is set.

        The exit code is the first one of `_ORDER` that applies, and the message has every reason. Trials that were not
        run after errors in a row count as not passed.

        Args:
            coverages: Results of the planned trials, by the same names as the summaries. A trial without a record
                counts as an error, and where no errors are allowed, none may be missing.
            uncollected: Number of files and similar items that could not be collected; how many trials they contain is
                unknown.
            against: Comparisons with ``baseline``, or why there are none.
            refused: Why some agents can't be compared.
            deselected: Ids of tasks that the user left out; they are excluded from the comparison.
        """
        if self.min_pass_rate is None and self.max_errors is None and self.baseline is None:
            return None
        if uncollected:
            uncollected_text = (
                f"{uncollected} collection error{'s' * (uncollected != 1)}: the number of missing trials is unknown"
            )
            return Ruling(exit_code=TOO_MANY_ERRORS, message=uncollected_text)
        coverages = coverages or {}
        if not summaries and not any(each.missing for each in coverages.values()):
            return Ruling(exit_code=TOO_MANY_ERRORS, message="no trial was run, so no threshold can be met")
        found = [
            Ruling(exit_code=TOO_MANY_ERRORS, message=problem)
            for agent in dict.fromkeys((*summaries, *coverages))
            if (problem := self._untrusted(agent, summaries.get(agent), coverages.get(agent))) is not None
        ]
        if self.min_pass_rate is not None:
            for agent, summary in summaries.items():
                short = summary.rate.stopped
                if not summary.rate.judged:
                    continue
                counted = self._counted(summary.rate, short)
                if counted < self.min_pass_rate:
                    message = f"{agent}: {self._value_text(summary.rate, short)}{' passed' * (self.rate_end == 'mean')}"
                    message += f", --min-pass-rate asks for {self.min_pass_rate:.1%}"
                    if short:
                        message += f" (counted as not passed: {short} not run after errors in a row)"
                    if summary.rerun_passed:
                        message += f" (first verdicts count: {summary.rerun_passed} failed and passed when run again)"
                    code = BELOW_THRESHOLD
                    if undecided := summary.rate.undecided:
                        if self._counted(summary.rate.upper, short) < self.min_pass_rate:
                            met = self._value_text(summary.rate.upper, short)
                            message += f"; it fails even if all {undecided} undecided are met ({met})"
                        else:
                            code = UNSETTLED
                            met = self._value_text(summary.rate.upper, short)
                            message += (
                                f"; unsettled: {met} if all {undecided} undecided are met; {undecided_remedy(summary)}"
                            )
                    if text := errors_failed_words(summary.rate):
                        message += f"; {rate_words(summary.rate)} without errors, {text}"
                    if summary.mixed:
                        message += f" ({mixed_words(summary.mixed)})"
                    found.append(Ruling(exit_code=code, message=message))
        if self.baseline is not None:
            found += [Ruling(exit_code=TOO_MANY_ERRORS, message=f"--baseline: {why}") for why in refused]
            found += self._against(against, deselected)
        if found:
            code = min((each.exit_code for each in found), key=_ORDER.index)
            messages = [each.message for each in found if each.exit_code != UNSETTLED or code == UNSETTLED]
            messages += _gaps(against)
            return Ruling(exit_code=code, message="; ".join(dict.fromkeys(messages)))
        marks = [f"{agent}: {mixed_words(each.mixed)}" for agent, each in summaries.items() if each.mixed]
        if self.min_pass_rate is not None:
            marks += [
                f"{agent}: {rate_words(each.rate)} without errors, {text}"
                for agent, each in summaries.items()
                if (text := errors_failed_words(each.rate))
            ]
        return Ruling(
            exit_code=0,
            message="; ".join(["the thresholds are met", *marks, *_gaps(against), *self._unseen(against, deselected)]),
        )

    def _counted(self, rate: Rate, short: int) -> float:
        """The value that has to reach the threshold, with ``short`` more trials that count as not passed.

        Such trials reduce the interval like the rate.
        """
        share = rate.judged / (rate.judged + short)
        return share * (
            rate.passed / rate.judged if self.rate_end == "mean" else rate.interval[self.rate_end == "high"]
        )

    def _value_text(self, rate: Rate, short: int) -> str:
        """The value of `_counted` as text, with the rate if it is an end of its interval."""
        passed, value = rate.passed / (rate.judged + short), self._counted(rate, short)
        if self.rate_end == "mean":
            return f"{value:.1%}"
        end = "lower" if self.rate_end == "low" else "upper"
        return f"{value:.1%} is the {end} end of the 95% interval of the rate, {passed:.1%}"

    def _against(self, against: Sequence[Comparison] | str, deselected: Collection[str]) -> Iterator[Ruling]:
        """Rulings for a run that is not as good as its baseline."""
        if isinstance(against, str):
            yield Ruling(exit_code=TOO_MANY_ERRORS, message=f"--baseline: {against}")
            return
        from pytest_webarena.results.comparing.detecting import blind_spot, cannot_get_worse
        from pytest_webarena.results.comparing.uncompared import uncompared
        from pytest_webarena.results.comparing.wording import growth_words, headline

        for each in against:
            if each.verdict == "worse":
                yield Ruling(exit_code=WORSE, message=headline(each))
        if self.max_cost_increase is not None:
            for each in against:
                growth = each.growth_beyond(self.max_cost_increase)
                if growth is None:
                    if (why := _no_growth(each)) is None:
                        continue
                    message = f"{each.second.name}: --max-cost-increase asks for {why}"
                    yield Ruling(exit_code=TOO_MANY_ERRORS, message=message)
                elif growth.p <= each.alpha / 2 and growth.ratio > 1 + self.max_cost_increase:
                    message = (
                        f"the cost of {each.second.name} has changed by {growth_words(growth)} since {each.first.run}, "
                        f"--max-cost-increase allows {self.max_cost_increase:+.0%}"
                    )
                    yield Ruling(exit_code=WORSE, message=message)
        for each in against:
            if not self.allow_undetectable and (lost := uncompared(each, deselected).lost):
                yield Ruling(exit_code=UNSETTLED, message=f"--baseline: {each.second.name}: {lost}; {_ACCEPT_LOST}")
            elif each.verdict == "unsettled" and not cannot_get_worse(each):
                if each.verdicts_if_decided is not None and each.verdicts_if_decided[0] == "worse":
                    yield Ruling(exit_code=UNSETTLED, message=f"--baseline: {headline(each)}")
                elif not self.allow_undetectable and (why := blind_spot(each)):
                    yield Ruling(exit_code=UNSETTLED, message=f"--baseline: {why}; {ACCEPT_UNDETECTABLE}")
                elif self.fail_unsettled:
                    yield Ruling(exit_code=UNSETTLED, message=f"{headline(each)} (--fail-unsettled)")

    def _unseen(self, against: Sequence[Comparison] | str, deselected: Collection[str]) -> Iterator[str]:
        """What the baseline's threshold could not detect, if it holds."""
        from pytest_webarena.results.comparing.detecting import blind_spot, cannot_get_worse
        from pytest_webarena.results.comparing.uncompared import uncompared
        from pytest_webarena.results.comparing.wording import titled

        for each in against:
            if isinstance(each, str):
                continue
            found = uncompared(each, deselected)
            if found.left_out:
                yield f"{each.second.name}: {found.left_out}"
            if found.lost:
                yield f"{each.second.name}: {found.lost} (--allow-undetectable)"
            if each.verdict != "unsettled":
                continue
            if cannot_get_worse(each):
                one, other = titled(each)
                yield (
                    f"{other} cannot be worse than {one}, which failed all {len(each.first.tasks)} tasks: "
                    "save a new baseline once some pass"
                )
            elif self.allow_undetectable and (why := blind_spot(each)):
                yield f"{why} (--allow-undetectable)"

    def _untrusted(self, agent: str, summary: Summary | None, coverage: Coverage | None) -> str | None:
        """Why the agent's rate can't be trusted; None when it can."""
        errors, judged = (summary.rate.errors, summary.rate.judged) if summary is not None else (0, 0)
        # A lost trial may have a record with an error, and is then counted among the errors.
        missing = coverage.missing if coverage is not None else 0
        erring = coverage.errors if coverage is not None else errors
        trials = coverage.planned - coverage.allowed - coverage.decided if coverage is not None else judged + errors
        missing_text = f"{agent}: {missing} of {trials} planned trials have no result ({_missing(coverage)})"
        limit = self.max_errors or 0.0
        if erring + missing > (limit * trials if limit < 1 else limit):
            limit_text = f", --max-errors allows {limit:g}" if self.max_errors is not None else ""
            if not limit_text and erring:
                limit_text = "; without --max-errors there may be none"
            if not missing:
                return f"{agent}: {erring} of {trials} trials erred{limit_text}"
            return f"{missing_text}{f' and {erring} erred' if erring else ''}{limit_text}{_way_out(coverage)}"
        if not judged and (coverage is None or trials):
            return f"{agent}: none of {trials} trials could be judged"
        return None


def _gaps(against: Sequence[Comparison] | str) -> Iterator[str]:
    """Planned trials of the baselines without a result, of which nothing can be lost."""
    for each in () if isinstance(against, str) else against:
        if missing_text := each.first.missing_text:
            yield f"{each.first.name} in {each.first.run}: {missing_text}"


def _no_growth(found: Comparison) -> str | None:
    """Why `Comparison.growth_beyond` is None; None where neither side has cost anything, which is no increase."""
    before, now = found.unpriced
    if before or now:
        return (
            f"dollars that are known on both sides, found trials of unknown cost, errors included: {before} of the "
            f"baseline, {now} of this run; --prices adds missing prices, an agent must report the usage "
            "of each call (a request that was given up has no reported cost), and the baseline must be saved again"
        )
    if not any(each.cost for each in found.first.tries):
        if not any(each.cost for each in found.second.tries):
            return None
        return "a baseline with costs, found one of $0, which allows no ratio; save it again"
    return "tasks of two templates or more that cost something in the baseline, found fewer"


def _missing(coverage: Coverage | None) -> str:
    if coverage is None:
        return ""
    parts = {"skipped": coverage.skipped, "not run": coverage.not_run, "lost": coverage.lost}
    return ", ".join(f"{count} {name}" for name, count in parts.items() if count)


def _way_out(coverage: Coverage | None) -> str:
    """How to exclude skipped trials from the account, where there are any."""
    if coverage is None or not coverage.not_allowed:
        return ""
    return f"; --allow-skipped={coverage.not_allowed[0]} leaves those of {coverage.not_allowed[0]} out of account"
