"""What the declarations of options write down once more is what the rooms say."""

from __future__ import annotations

from typing import get_args

from pytest_webarena.answers import AskedFormat
from pytest_webarena.checks import grading
from pytest_webarena.llm_judge.config import DEFAULT_BAR
from pytest_webarena.plugin import judge_options, options
from pytest_webarena.sites.catalogues.running import Pulls


def test_choices_and_defaults_are_those_of_the_rooms() -> None:
    assert options.GRADINGS == grading.GRADINGS
    assert get_args(AskedFormat) == options.ANSWER_FORMATS
    assert get_args(Pulls) == options.PULLS
    assert judge_options.BAR == DEFAULT_BAR
