"""Measures what the healer finds for each step on its own, on saved pages as the rules change them.

    python benchmarks/healing_stills.py PATH… [--rules …] [--sample N] [--seed N] [--own FAMILY] [--keep FILE] [--show]

`healing` runs whole tasks, which is slow, and ends each at its first lost step. This benchmark keeps each page as HTML
from before a step of the recording. A rule changes the HTML, a browser shows it without the site's scripts and styles,
and the healer looks for the step's element. No step is performed, so every step counts; overlays of a page do not. The
counts are those of `healing`. Exit code 1: a step is wrong, or silently matched another element.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from bs4 import BeautifulSoup
from changed_pages import _CHANGES as FIRST
from changed_pages import MARK
from healing import Recorded, arguments, recordings
from playwright.sync_api import Error, Page, sync_playwright
from redesigned_pages import _TOGETHER as TOGETHER
from redesigned_rules import CHANGES
from redesigned_rules import Page as Redesigned

from pytest_webarena.actions import Selector
from pytest_webarena.browser.acting import element_probes
from pytest_webarena.browser.reports import SelectorMatch
from pytest_webarena.recorder.healing import look_for
from pytest_webarena.signals import TargetRecord

RULES = ("none", "ids", "labels", "order", "redesign", "exchanged", *CHANGES, "decoys", "release")
FIRST_TOGETHER = {"redesign": ("ids", "labels", "order"), "exchanged": ("exchange", "labels")}
KEYS = ("healed", "lost", "wrong", "another, silent", "another, reported", "steps", "reported")


class Still:
    """A still page to look for elements on."""

    def __init__(self, page: Page) -> None:
        self.page = page

    def find(self, selector: str, patience: float = 0.0) -> TargetRecord | None:
        return None  # a still page doesn't change, so there is nothing to wait for

    def find_matches(self, selectors: Sequence[str]) -> list[SelectorMatch]:
        found = [self._found(selector) for selector in selectors]
        firsts = [handles[0] for handles in found if handles]
        numbers = iter(self.page.evaluate("nodes => nodes.map(node => nodes.indexOf(node))", firsts))
        described = self.page.evaluate(f"nodes => nodes.map({element_probes.DESCRIBE})", firsts)
        seen = []
        for handles in found:
            number = next(numbers) if handles else -1
            record = TargetRecord(**described[number]) if handles else None
            seen.append(SelectorMatch(count=len(handles), element=number, target=record))
        return seen

    def _found(self, selector: str) -> list[Any]:
        try:
            return self.page.locator(selector).element_handles()
        except Error:
            return []


def main() -> int:
    parser = arguments(__doc__ or "", RULES)
    parser.add_argument("--browser-executable", help="browser to use (default: Playwright's)")
    options = parser.parse_args()
    recorded = recordings(options)
    print(f"{len(recorded)} tasks, {sum(map(len, (each.stills for each in recorded)))} pages", flush=True)
    bad = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=options.browser_executable, args=["--no-sandbox"])
        page = browser.new_context(java_script_enabled=True).new_page()
        page.route("**", lambda route: route.abort())
        for rule in options.rules:
            found: Counter[str] = Counter()
            for each in recorded:
                found += measure(each, rule, page, show=options.show)
            print(f"{rule}: " + ", ".join(f"{found[key]} {key}" for key in KEYS), flush=True)
            bad += found["wrong"] + found["another, silent"]
        browser.close()
    return int(bad > 0)


def measure(recorded: Recorded, rule: str, page: Page, *, show: bool) -> Counter[str]:
    """Counts the results for the steps of one task."""
    found: Counter[str] = Counter()
    solution = recorded.task.solution or ()
    for number, (step, mark, still) in enumerate(zip(solution, recorded.marks, recorded.stills, strict=False)):
        target = getattr(step, "target", None)
        if not mark or not isinstance(target, Selector):
            continue
        page.set_content(changed(still, rule), wait_until="commit")
        what, how = judged(target, mark, page)
        found += Counter(what)
        if (show or {"wrong", "another, silent"} & set(what)) and what != ["steps"]:
            print(f"  {rule} {recorded.task.id} {number + 1} ({target.selector}): {what[0]}: {how}", flush=True)
    return found


def judged(target: Selector, mark: str, page: Page) -> tuple[list[str], str]:
    """Returns what is to be counted for one step, and the healer's explanation."""
    looked = look_for(target, Still(page), 0.0)
    if looked.target is None:
        return ["lost", "steps"], looked.note
    right = leads(page, looked.target.selector, mark)
    how = f"{looked.target.selector} by {', '.join(looked.families)} {looked.note}"
    if looked.healed:
        return ["healed" if right else "wrong", "steps"], how
    marks = ["reported"] * bool(looked.note)
    if right:
        return [*marks, "steps"], how
    return ["another, reported" if looked.note else "another, silent", *marks, "steps"], how


def leads(page: Page, selector: str, mark: str) -> bool:
    """Returns whether the first match has the mark, or lies within the marked element and isn't another control."""
    return bool(
        page.locator(selector).first.evaluate(
            "(node, [key, mark]) => (node.closest(`[${key}]:not([${key}=''])`) || node).getAttribute(key) === mark",
            [MARK, mark],
        )
    )


def changed(html: str, rule: str) -> str:
    """Returns a page's HTML after ``rule`` has changed it. Elements keep their marks."""
    soup = BeautifulSoup(html, "html.parser")
    for script in soup.find_all(["script", "base"]):
        script.decompose()
    for each in FIRST_TOGETHER.get(rule, TOGETHER.get(rule, (rule,))):
        if each in CHANGES:
            CHANGES[each](Redesigned(soup))
        else:
            FIRST[each](soup)
    return str(soup)


if __name__ == "__main__":
    sys.exit(main())
