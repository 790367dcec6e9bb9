"""Groups of our options in ``pytest --help``: the everyday ones first, then one group per subject."""

from __future__ import annotations

from typing import Any

import pytest

__all__ = ["EVERYDAY", "OptionGroups", "Subject"]

EVERYDAY = (
    "--agent",
    "--model",
    "--sites",
    "--site-url",
    "--suite",
    "--select",
    "--trials",
    "--preset",
    "--concurrency",
    "--max-steps",
    "--time-limit",
    "--max-cost",
    "--judge",
    "--grading",
    "--run-dir",
    "--resume",
    "--rescore",
    "--audit",
    "--min-pass-rate",
    "--baseline",
)
"""The options of the first group, in the order in which help lists them; at most 20."""


class OptionGroups:
    """Collects the options of all subjects, then declares them group by group."""

    def __init__(self) -> None:
        self._common_options: dict[str, dict[str, Any]] = {}
        self._subjects: list[Subject] = []

    def subject(self, name: str, title: str) -> Subject:
        """Add a group. An option that it declares appears in it unless it is an everyday one."""
        self._subjects.append(Subject(name, title, self._common_options))
        return self._subjects[-1]

    def declare(self, parser: pytest.Parser) -> list[pytest.OptionGroup]:
        """Declare all options and return the groups in the order of help."""
        first = parser.getgroup("webarena", "web-agent tasks (pytest-webarena)")
        for name in EVERYDAY:
            first.addoption(name, **self._common_options[name])
        groups = [first]
        for subject in self._subjects:
            group = parser.getgroup(f"webarena-{subject.name}", f"web-agent tasks: {subject.title}")
            for name, attributes in subject.options.items():
                group.addoption(name, **attributes)
            groups.append(group)
        return groups


class Subject:
    """The options of one subject, as declared so far."""

    def __init__(self, name: str, title: str, everyday: dict[str, dict[str, Any]]) -> None:
        self.name, self.title = name, title
        self.options: dict[str, dict[str, Any]] = {}
        """Arguments of `pytest.OptionGroup.addoption` by option, without the everyday ones."""
        self._common_options = everyday

    def addoption(self, name: str, **attributes: Any) -> None:
        """Declare one option; arguments as of `pytest.OptionGroup.addoption`."""
        (self._common_options if name in EVERYDAY else self.options)[name] = attributes
