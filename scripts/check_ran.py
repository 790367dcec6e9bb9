"""Fails if tests that CI relies on did not run: ``check_ran.py JUNIT_XML FOLDER…``.

The fixtures of those tests already fail if a required browser or engine is missing. This checks the report as well:
every named folder of ``tests/`` must have run tests and skipped none, and no other test may have been skipped because
the folder's namesake was missing.
"""

from __future__ import annotations

import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path


def complaints(report: Path, folders: list[str]) -> list[str]:
    """Returns one line for each problem."""
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
    """Returns why the test was skipped; None if it ran, including expected failures."""
    skip = case.find("skipped")
    return None if skip is None or skip.get("type") == "pytest.xfail" else skip.get("message", "")


if __name__ == "__main__":
    problems = complaints(Path(sys.argv[1]), sys.argv[2:])
    for problem in problems:
        print("check_ran:", problem)
    sys.exit(1 if problems else 0)
