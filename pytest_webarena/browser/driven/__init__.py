"""Separate browser for an agent that drives it by CDP, with one filtered and recorded context of the trial's own."""

from pytest_webarena.browser.driven.browser import Driven, open_driven
from pytest_webarena.browser.driven.trajectory import Ended, Navigated, StartedStep

__all__ = ["Driven", "Ended", "Navigated", "StartedStep", "open_driven"]
