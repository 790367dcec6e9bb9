"""Format of the keys with what the doctor tests on a site."""

from __future__ import annotations

from typing import Any

from pytest_webarena.sites.catalogues.facts import SiteFact, TrialWrite
from pytest_webarena.sites.catalogues.format_parts import PATH, key
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import ListOf, Record
from pytest_webarena.tasks.shapes import Bool, Fault, Text
from pytest_webarena.tasks.steps import BROWSER_STEPS

__all__ = ["FACT", "FACT_KEYS", "TRIAL_WRITE"]


def _rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    content = bool(values["includes"] or values["locate"])
    if content == values["absent"]:
        return Fault("'includes' or 'locate', or 'absent: true'", "both" if content else "neither")
    return None


FACT: Record[SiteFact] = Record(
    "fact",
    SiteFact,
    [
        key("path", PATH, "A page of the site, opened signed in.", "path: /f/books\nincludes: books"),
        key("includes", Text(), "Text that the page must show.", "includes: One Stop Market", default=""),
        key(
            "locate",
            Text(),
            "Selector of an element that the page must have, or of the one that includes the text.",
            "locate: css=img.leaflet-tile-loaded",
            default="",
        ),
        key(
            "absent",
            Bool(),
            "Whether the page must not exist, because tasks create it.",
            "path: /f/sci_fi\nabsent: true",
            default=False,
        ),
    ],
    rule=_rule,
)

TRIAL_WRITE: Record[TrialWrite] = Record(
    "trial write",
    TrialWrite,
    [
        key("path", PATH, "The page with the form.", "path: /submit\nsteps: [press: Enter]"),
        key(
            "steps",
            BROWSER_STEPS,
            "The steps on the page, as in a task's `setup`. The last one opens a page that shows the entry.",
            'path: /submit\nsteps:\n  - fill: {css=#title: "{mark}"}\n  - press: Enter',
        ),
    ],
)

FACT_KEYS = (
    key(
        "facts",
        ListOf(FACT),
        "What pages show in the initial state. `webarena sites doctor --suite` tests it; runs do not.",
        "facts: [{path: /, includes: One Stop Market}]",
        default=(),
    ),
    key(
        "trial_write",
        TRIAL_WRITE,
        (
            "A form that the doctor fills in if the site has a `reset`: the entry must appear, and be gone after "
            "the reset."
        ),
        'trial_write:\n  path: /submit\n  steps:\n    - fill: {css=#title: "{mark}"}\n    - press: Enter',
        default=None,
    ),
)
