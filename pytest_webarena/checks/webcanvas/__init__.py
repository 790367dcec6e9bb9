"""WebCanvas' own evaluators of key nodes, bug for bug, as pure functions: see docs/grading.md."""

__all__: list[str] = []
