"""Published suites of tasks, read from the packages that carry them, and any JSON file in their formats."""

from pytest_webarena.suites.published import SUITES, Suite, find_suite
from pytest_webarena.suites.reading import Loaded, is_suite, load_suite, read_suite_file

__all__ = ["SUITES", "Loaded", "Suite", "find_suite", "is_suite", "load_suite", "read_suite_file"]
