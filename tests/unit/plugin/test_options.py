"""Options: choices and defaults, groups, and documentation tables."""

from __future__ import annotations

from typing import get_args

import pytest

from pytest_webarena.answers import AskedFormat
from pytest_webarena.checks import grading
from pytest_webarena.llm_judge.config import DEFAULT_BAR
from pytest_webarena.plugin import judge_options, options
from pytest_webarena.plugin.option_groups import EVERYDAY
from pytest_webarena.plugin.options import option_groups
from pytest_webarena.plugin.options_reference import DOCS_PATH, with_tables
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
