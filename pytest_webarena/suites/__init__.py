"""Published suites of tasks, read from the packages that carry them, and any JSON file in their formats."""
