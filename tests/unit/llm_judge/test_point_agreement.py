"""Agreement of points, compared with hand-computed values and simulation."""

from __future__ import annotations

import pytest

from pytest_webarena.llm_judge.point_agreement import Mark, Marks, pearson, spearman
from tests.cases import each_case


def marks(*rows: tuple[str, float, float, float]) -> Marks:
    return Marks(
        Mark(answer=answer, item=f"item {number}", of=of, human=human, judge=judge)
        for number, (answer, of, human, judge) in enumerate(rows)
    )


@each_case(
    ("pairs", "r", "rho"),
    [
        ([(1, 2), (2, 4), (3, 6)], 1.0, 1.0),
        ([(1, 3), (2, 2), (3, 1)], -1.0, -1.0),
        ([(1, 1), (2, 8), (3, 27), (4, 64)], 0.9514, 1.0),
        ([(1, 2), (2, 1), (3, 4), (4, 3)], 0.6, 0.6),
        ([(1, 1), (1, 2), (2, 3)], 0.8660, 0.8660),  # ranks 1.5, 1.5, 3
        ([(1, 5), (2, 5)], None, None),
        ([(1, 5)], None, None),
        ([], None, None),
    ],
)
def test_correlations_match_hand_computed_values(
    pairs: list[tuple[float, float]], r: float | None, rho: float | None
) -> None:
    assert pearson(pairs) == (r if r is None else pytest.approx(r, abs=1e-4))
    assert spearman(pairs) == (rho if rho is None else pytest.approx(rho, abs=1e-4))


def test_weighted_kappa_matches_a_hand_computed_value() -> None:
    found = marks(("a", 2, 2, 2), ("a", 2, 0, 1), ("b", 4, 4, 2), ("b", 4, 0, 0))
    # shares: people 1 0 1 0, judge 1 .5 .5 0; mean squared distance .125; of all 16 pairs at random .375
    assert found.kappa == pytest.approx(1 - 0.125 / 0.375)


def test_lenient_judge_correlates_fully_but_has_a_lower_kappa() -> None:
    found = marks(*((f"a{n}", 10, n, n + 4) for n in range(1, 6)))
    assert found.pearson == 1
    assert found.spearman == 1
    assert found.kappa == pytest.approx(2 * 2 / (2 + 2 + 16))
    assert found.bias == pytest.approx(0.4)
    assert found.distance == pytest.approx(0.4)
    assert (len(found.over), len(found.under), found.exact) == (5, 0, 0)


def test_over_under_and_partial_points_are_counted() -> None:
    found = marks(("a", 2, 1, 2), ("a", 2, 1, 0), ("a", 2, 1, 1), ("b", 2, 2, 2), ("b", 2, 0, 1))
    assert (found.exact, len(found.over), len(found.under)) == (2, 2, 1)
    assert len(found.partial.marks) == 3
    assert found.totals == [(0.5, 0.5), (0.5, 0.75)]
    assert found.answers == 2


def test_kappa_interval_resamples_whole_answers_deterministically() -> None:
    # 20 answers, of which each has its ten items all right or all wrong: 20 cases, not 200
    found = marks(*((f"a{n}", 1, n % 2, (n % 2) if n < 16 else 1 - n % 2) for n in range(20) for _ in range(10)))
    low, high = found.kappa_interval
    assert found.kappa is not None
    assert low < found.kappa < high
    assert high - low > 0.3
    assert marks(*((m.answer, m.of, m.human, m.judge) for m in found.marks)).kappa_interval == (low, high)


def test_no_points_have_no_figures() -> None:
    found = Marks(())
    assert (found.kappa, found.pearson, found.spearman, found.bias, found.distance) == (None,) * 5
    assert found.kappa_interval == (-1.0, 1.0)
