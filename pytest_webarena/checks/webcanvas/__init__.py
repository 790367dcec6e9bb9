"""WebCanvas' own evaluators of key nodes, including their bugs, as pure functions: see docs/grading.md."""

__all__: list[str] = []
