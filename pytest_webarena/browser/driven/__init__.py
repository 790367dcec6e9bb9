"""A browser of its own for an agent that drives itself: one context, the task's, behind a filter, and recorded."""

from pytest_webarena.browser.driven.browser import Driven, open_driven
from pytest_webarena.browser.driven.trajectory import Begun, Ended, Navigated

__all__ = ["Begun", "Driven", "Ended", "Navigated", "open_driven"]
