"""The keys of a task file: the meaning, default and example of each. Reader, schema and reference are derived from
them."""

from __future__ import annotations

from typing import Any

from pytest_webarena.tasks.addresses import Address, AddressShape
from pytest_webarena.tasks.check_form import CHECKS
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.images import ImageShape
from pytest_webarena.tasks.kinds import find_kind
from pytest_webarena.tasks.live_form import LIVE
from pytest_webarena.tasks.model import Check, Limits, Start
from pytest_webarena.tasks.nodes import MapNode
from pytest_webarena.tasks.record_shapes import Convert, Field, ListOf, MapOf, Record
from pytest_webarena.tasks.review_form import REVIEW
from pytest_webarena.tasks.setup_form import SETUP
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Json, Number, Text
from pytest_webarena.tasks.steps import ANSWERED_STEPS
from pytest_webarena.tasks.task_shapes import GRADING_LISTS, ID, LIMITS, Accounts, Fillings, SiteNames, reason_fault

__all__ = ["BODY", "DEFAULT_KEYS", "FILE", "FORMAT_VERSION", "TASK", "derive_category"]

FORMAT_VERSION = 1
"""Version of the task format; files of later versions are refused with a message that names the version."""


def _start(addresses: tuple[Address, ...], _: Reading) -> tuple[Start, ...]:
    return tuple(Start(site=address.site, path=address.path) for address in addresses)


TASK_FIELDS = (
    Field(
        key="id",
        shape=ID,
        doc="Names the task, in reports and on the command line: letters, digits, `.`, `_` and `-`. Unique in a run.",
        example="id: shopping-spend-on-books",
    ),
    Field(
        key="intent",
        shape=Text("what the agent is asked to do", strip=True),
        doc="What the agent is asked to do, in the words it will read.",
        example="intent: How much did I spend on books in 2023?",
    ),
    Field(
        key="each",
        shape=Fillings(),
        default=None,
        default_text="none",
        doc=(
            "Makes one instance of the task for each filling: a mapping from a name to variables, giving the ids "
            "`<id>.<name>`, or a list of variables, giving `<id>.1`, `<id>.2`, …, or a CSV file next to the task file, "
            "whose first line names the variables; its column `name`, if there is one, names the instances. "
            "Variables are used as `{{ name }}` in every string of the task."
        ),
        example=(
            "intent: Show me {{ product }}\n"
            "each:\n  coffee: {product: Coffee Grinder}\n  kettle: {product: Gooseneck Kettle}"
        ),
    ),
    Field(
        key="sites",
        shape=SiteNames(),
        doc="The sites the task needs. The first one is where `/path` leads. `[]` for a question that needs none.",
        example="sites: [shopping, homepage]",
    ),
    Field(
        key="images",
        shape=ListOf(ImageShape(), or_one=True, low=1, label="an image or a list of them"),
        default=(),
        default_text="none",
        doc=(
            "Pictures that belong to the intent, for agents that can see: files next to the task file, or on a site "
            "(`/path` on the first one, `site:/path` on any other), or full addresses. Of the latter, those that lead "
            "to no site of the task are loaded with `--fetch-images` only. PNG, JPEG, GIF or WebP."
        ),
        example="images: [kettle.jpg, homepage:/static/kettle.png]",
    ),
    Field(
        key="start",
        shape=Convert(ListOf(AddressShape(blank=True), or_one=True, label="an address or a list of them"), _start),
        default=(),
        default_text="the first site's start page",
        doc=(
            "Where the agent starts: an address, or a list of them for several tabs, the first of which is current. "
            "`/path` is on the first site, `site:/path` on another, `'site:'` its start page; "
            "a full address and `about:blank` work too."
        ),
        example="start: [/accounts/orders/, homepage:/calculator/]",
    ),
    Field(
        key="user",
        shape=Accounts(),
        default={},
        default_text="each site's default account",
        doc="Who is logged in: an account of the first site, or accounts by site. `''` is nobody, logged out.",
        example="user: {shopping: emma}",
    ),
    Field(
        key="setup",
        shape=SETUP,
        default=(),
        default_text="none",
        doc=(
            "Steps that prepare the sites before the episode begins, in order. "
            "One that fails is an error of the task, never a failed agent."
        ),
        example="setup:\n  - sql: insert into notes (title) values ('Tea')",
    ),
    Field(
        key="checks",
        shape=CHECKS,
        doc="The conditions that decide; at least one. See [Checks](#checks).",
        example="checks:\n  - answer: {number: 84.97, tolerance: 0.01}\n  - url: /accounts/orders/",
    ),
    Field(
        key="gradings",
        shape=GRADING_LISTS,
        default={},
        default_text="none",
        doc=(
            "Other checks for the same task, by the grading (`--grading`) that uses them in place of `checks`. "
            "For tasks of published benchmarks that exist in several gradings."
        ),
        example="gradings:\n  repaired:\n    - answer: {number: 84.97}",
    ),
    Field(
        key="score",
        shape=Choice("product", "mean"),
        default="product",
        doc="How the scores of the checks combine: all must hold (`product`), or each gives its share (`mean`).",
        example="score: mean",
    ),
    Field(
        key="threshold",
        shape=Number(float, "a number above 0, at most 1", above=0, high=1),
        default=1.0,
        doc="The score from which the task counts as passed.",
        example="score: mean\nthreshold: 0.5",
    ),
    Field(
        key="solution",
        shape=ANSWERED_STEPS,
        default=None,
        default_text="none",
        doc="How to do it, step by step. The `oracle` agent replays it, which proves that the task can be solved.",
        example='solution:\n  - goto: /accounts/orders/\n  - stop: "84.97"',
    ),
    Field(
        key="reach",
        shape=Choice("task", "environment"),
        default="task",
        doc=(
            "What an agent can visit: the task's own `sites` alone, or all sites of the catalogue, as WebArena's paper "
            "has it ([sites in reach](sites.md#sites-in-reach)). Published suites say `environment`. The option "
            "`--reachable-sites` overrides it."
        ),
        example="reach: environment",
    ),
    Field(
        key="live",
        shape=LIVE,
        default=None,
        default_text="pages of its own domains can be read, and nothing else",
        doc="Of a task on [live sites](live.md): further domains, and requests that are sent although they may write.",
        example="live: {domains: [booking.example], reads: [POST /search], writes: [POST /basket/add/*]}",
    ),
    Field(
        key="mutates",
        shape=Bool(),
        default=None,
        default_text="unknown",
        doc=(
            "Whether doing the task changes a site. With `false` nothing may have changed on sites that "
            "[forbid side effects](side-effects.md); else it is a hint for readers and for scheduling, never trusted."
        ),
        example="mutates: true",
    ),
    Field(
        key="ends_session",
        shape=Bool(),
        default=False,
        doc=(
            "Whether the goal ends the visitor's session: signing out, deleting or renaming the account, changing its "
            "password, signing in as somebody else. Without it, what a check reads of a site that the task visits as "
            "somebody counts only as seen by that account ([more](judging.md#signed-out))."
        ),
        example="intent: Sign out.\nends_session: true\nchecks:\n  - page: {open: /account, status: 404}",
    ),
    Field(
        key="category",
        shape=Text("a category", strip=True),
        default="",
        default_text="from the checks",
        doc=(
            "What the task is about: `information`, `navigation`, `content`, `unachievable`, or your own word. "
            "Without it the checks tell: a check for unachievable tasks; a change (`mutates`, `state`, a page that "
            "is opened) is content; an answer is information; addresses and the current page are navigation."
        ),
        example="category: information",
    ),
    Field(
        key="tags",
        shape=ListOf(Text("a tag", strip=True), or_one=True, label="a tag or a list of tags"),
        default=(),
        default_text="none",
        doc="Words to select and group tasks by.",
        example="tags: [orders, money]",
    ),
    Field(
        key="limits",
        shape=LIMITS,
        default=Limits(),
        default_text="the run's limits",
        doc="The task's own limits on `steps` and `seconds`.",
        example="limits: {steps: 12, seconds: 90}",
    ),
    Field(
        key="skip",
        shape=Text("the reason in words", strip=True, check=reason_fault, form="prose"),
        default="",
        default_text="not skipped",
        doc="Don't run the task, for this reason.",
        example="skip: the shop has no vouchers yet",
    ),
    Field(
        key="xfail",
        shape=Text("the reason in words", strip=True, check=reason_fault, form="prose"),
        default="",
        default_text="expected to pass",
        doc="Expect the task to fail, for this reason.",
        example="xfail: the forum loses the first comment",
    ),
    Field(
        key="known_issue",
        shape=Text("what is wrong with the task", strip=True),
        default="",
        default_text="none",
        doc="What is known to be wrong with the task itself. It runs all the same; reports show it.",
        example="known_issue: the reference misspells a product's name",
    ),
    Field(
        key="template",
        shape=ID,
        default="",
        default_text="the task's own id",
        doc="Which template it is an instance of, for tasks that are written out one by one instead of with `each`.",
        example="template: t279",
    ),
    Field(
        key="source",
        shape=MapOf(Json(), "a mapping: where the task comes from"),
        default={},
        default_text="none",
        doc="Where the task comes from, for readers and programs. Decides nothing.",
        example="source: {suite: webarena, task_id: 0}",
    ),
    Field(
        key="review",
        shape=REVIEW,
        default=None,
        default_text="nobody wrote it down",
        doc=(
            "Who wrote the task, who has reviewed it, and how a disagreement was settled. "
            "`webarena tasks monitor` lists the state of each review. No effect on verdicts."
        ),
        example="review: {annotator: ada, reviewers: [{who: ben, verdict: agrees}, {who: cleo, verdict: agrees}]}",
    ),
)
"""The keys of a task, in the order in which the reference explains them."""

DEFAULT_KEYS = tuple(field for field in TASK_FIELDS if field.key not in ("id", "intent", "each"))
"""The keys that ``defaults`` may give to all tasks of a file."""


def _values(**values: Any) -> dict[str, Any]:
    values["category"] = values["category"] or derive_category(values["checks"], mutates=values["mutates"])
    return values


def _task_fault(values: dict[str, Any], node: MapNode, reading: Reading) -> Fault | None:
    """Returns why keys contradict each other; None when they don't."""
    if values["score"] == "product":
        lists = (values["checks"], *values["gradings"].values())
        weighted = next((check for checks in lists for check in checks if check.weight != 1), None)
        if weighted is not None and weighted.location is not None:
            return Fault(
                "'score: mean' for checks with a weight",
                f"'weight' in line {weighted.location.line}",
                "products have none",
            )
    return None


TASK = Record("task", _values, TASK_FIELDS, doc="One task.", demanded=("id", "intent"))
"""A task for the schema and the reference."""

BODY = Record("task", _values, [field for field in TASK_FIELDS if field.key not in ("id", "each")], rule=_task_fault)
"""What the loader reads of each instance: keywords of `Task`, without those that depend on its position in the file."""

FILE_FIELDS = (
    Field(
        key="schema_version",
        shape=Int("a version of the task format", low=1),
        default=FORMAT_VERSION,
        doc="Version of the task format. Later versions of this package read older ones.",
        example="schema_version: 1\ntasks:\n  - {id: a, intent: Say hello, sites: [], checks: [{answer: hello}]}",
    ),
    Field(
        key="defaults",
        shape=Record(
            "defaults", dict, DEFAULT_KEYS, doc="Keys for all tasks of the file.", owner="'defaults'", demanded=()
        ),
        default=None,
        default_text="none",
        doc="Keys for all tasks of the file. A key that a task has itself replaces the default's.",
        example=(
            "defaults: {sites: [shopping], tags: [money]}\n"
            "tasks:\n  - {id: a, intent: Name the kettle's price, checks: [{answer: {number: 49}}]}"
        ),
    ),
    Field(
        key="tasks",
        shape=ListOf(TASK, label="a list of tasks"),
        doc="The tasks.",
        example="tasks:\n  - {id: a, intent: Say hello, sites: [], checks: [{answer: hello}]}",
    ),
)
"""The keys of a file."""

FILE: Record[dict[str, Any]] = Record("task file", dict, FILE_FIELDS, free="x-")
"""A file for the schema and the reference. Keys that begin with ``x-`` are ignored, so that they can contain YAML
anchors."""


def derive_category(checks: tuple[Check, ...], *, mutates: bool | None) -> str:
    """Returns the category of a task, derived from its most specific check; empty when no check implies one."""
    found: set[str] = {"content"} if mutates else set()

    def look(check: Check) -> None:
        for child in check.children:
            look(child)
        kind = find_kind(check.kind) if not check.children else None
        if kind is not None:
            found.add(kind.categorise(check.spec))

    for check in checks:
        look(check)
    return next((word for word in ("unachievable", "content", "information", "navigation") if word in found), "")
