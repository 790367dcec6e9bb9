"""Published suites of tasks, read from the packages that carry them, and any JSON file in their formats."""

from pytest_webarena.suites.published import SUITES, Suite, find_suite
from pytest_webarena.suites.reading import Loaded, load_suite, looks_like_suite, read_suite_file

__all__ = ["SUITES", "Loaded", "Suite", "find_suite", "load_suite", "looks_like_suite", "read_suite_file"]
