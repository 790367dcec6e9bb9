"""Fails when tests that CI relies on did not run: ``check_ran.py JUNIT_XML FOLDER…``.

The fixtures of those tests fail already where a browser or an engine is required and missing. This is the second
look, at what was reported: every named folder of ``tests/`` ran tests, none of them skipped, and no other test skipped
for want of what the folder is named after.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def complaints(report: Path, folders: list[str]) -> list[str]:
    """What is missing, one line each."""
    try:
        cases = list(ElementTree.parse(report).iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        return [f"expected pytest's report at {report}, found none that can be read: {error}"]
    found = []
    for folder in folders:
        inside = [case for case in cases if case.get("classname", "").removeprefix("tests.").startswith(f"{folder}.")]
        if not inside:
            found.append(f"no test of tests/{folder} ran")
        found += [
            f"skipped: {case.get('classname')}::{case.get('name')}: {reason}"
            for case in cases
            if (reason := skip_reason(case)) is not None
            and (case in inside or re.search(rf"\b{folder}\b", reason.lower()))
        ]
    return list(dict.fromkeys(found))


def skip_reason(case: ElementTree.Element) -> str | None:
    """Why the test skipped; None when it ran, expected failures included."""
    skip = case.find("skipped")
    return None if skip is None or skip.get("type") == "pytest.xfail" else skip.get("message", "")


if __name__ == "__main__":
    problems = complaints(Path(sys.argv[1]), sys.argv[2:])
    for problem in problems:
        print("check_ran:", problem)
    sys.exit(1 if problems else 0)
