"""Published suites of tasks: reads them from the packages that distribute them, and from JSON files in their
formats."""
