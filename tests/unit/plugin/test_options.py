"""Options: choices and defaults, groups, and documentation tables."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from pytest_webarena.answers import AskedFormat
from pytest_webarena.checks import grading
from pytest_webarena.llm_judge.config import DEFAULT_BAR
from pytest_webarena.plugin import gate_options, judge_options, options
from pytest_webarena.plugin.option_groups import EVERYDAY
from pytest_webarena.plugin.options import option_groups
from pytest_webarena.plugin.options_reference import DOCS_PATH, with_tables
from pytest_webarena.results.gate import Gate
from pytest_webarena.sites.catalogues.running import Pulls


def test_option_choices_and_defaults_match_their_packages() -> None:
    assert options.GRADINGS == grading.GRADINGS
    assert get_args(AskedFormat) == options.ANSWER_FORMATS
    assert get_args(Pulls) == options.PULLS
    assert judge_options.BAR == DEFAULT_BAR


def test_everyday_options_are_few_and_docs_list_every_option() -> None:
    everyday, *subjects = option_groups().declare(pytest.Parser(_ispytest=True))
    assert [option.names()[0] for option in everyday.options] == list(EVERYDAY)
    assert len(EVERYDAY) <= 20
    assert all(0 < len(group.options) <= 20 for group in subjects)
    page = DOCS_PATH.read_text("utf-8")
    assert with_tables(page) == page, "run: make docs"
    with pytest.raises(ValueError, match="found none for webarena, webarena-agents"):
        with_tables("# Options\n")


def test_every_option_of_the_gate_is_a_threshold_of_it(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text("{}")
    parser = pytest.Parser(_ispytest=True)
    option_groups().declare(parser)

    def gate(*arguments: str) -> Gate:
        given = vars(parser.parse([*arguments]))
        config: Any = SimpleNamespace(getoption=lambda name: given[name.strip("-").replace("-", "_")])
        return gate_options.read_gate(config)

    assert gate() == Gate()
    assert gate(
        "--min-pass-rate=0.3", "--min-pass-rate-end=low", "--max-errors=2", "--allow-skipped=map",
        "--allow-skipped=shop.*", f"--baseline={baseline}", "--confidence=90", "--fail-unsettled",
        "--allow-undetectable", "--max-cost-increase=20%",
    ) == Gate(
        min_pass_rate=0.3, rate_end="low", max_errors=2, allow_skipped=("map", "shop.*"), baseline=baseline,
        confidence=0.9, fail_unsettled=True, allow_undetectable=True, max_cost_increase=0.2,
    )  # fmt: skip
