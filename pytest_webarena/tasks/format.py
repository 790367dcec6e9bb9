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
        doc=(
            "Identifies the task in reports and on the command line. At most 200 letters, digits, `.`, `_` and "
            "`-`; unique in a run."
        ),
        example="id: shopping-spend-on-books",
    ),
    Field(
        key="intent",
        shape=Text("an instruction for the agent", strip=True),
        doc="The instruction that the agent receives.",
        example="intent: How much did I spend on books in 2023?",
    ),
    Field(
        key="each",
        shape=Fillings(),
        default=None,
        default_text="none",
        doc=(
            "Makes one [instance](#templates) of the task for each filling. A mapping from names to "
            "variables gives the ids `<id>.<name>`; a list gives `<id>.1`, `<id>.2`, …; a CSV file has one "
            "filling per line. Every string of the task may use the variables, as `{{ name }}`."
        ),
        example=(
            "intent: Show me {{ product }}\n"
            "each:\n  coffee: {product: Coffee Grinder}\n  kettle: {product: Gooseneck Kettle}"
        ),
    ),
    Field(
        key="sites",
        shape=SiteNames(),
        doc="The sites that the task needs. `/path` is a path on the first one. `[]` means none.",
        example="sites: [shopping, homepage]",
    ),
    Field(
        key="images",
        shape=ListOf(ImageShape(), or_one=True, low=1, label="an image or a list of them"),
        default=(),
        default_text="none",
        doc=(
            "Pictures for agents with vision: PNG, JPEG, GIF or WebP. Each is a file next to the task file, "
            "`/path` on the first site, `site:/path`, or a full address. Addresses outside the task's sites "
            "need `--fetch-images`."
        ),
        example="images: [kettle.jpg, homepage:/static/kettle.png]",
    ),
    Field(
        key="start",
        shape=Convert(
            ListOf(AddressShape(blank=True, visited="always"), or_one=True, label="an address or a list of them"),
            _start,
        ),
        default=(),
        default_text="the first site's start page",
        doc=(
            "Where the agent starts. A list opens several tabs; the first is current. `/path` is on the "
            "first site, `site:/path` on another one; `'site:'` is its start page. Full addresses on "
            "hosts of sites and `about:blank` also work."
        ),
        example="start: [/accounts/orders/, homepage:/calculator/]",
    ),
    Field(
        key="user",
        shape=Accounts(),
        default={},
        default_text="each site's default account",
        doc="The signed-in account; a single name is one of the first site. `''` means signed out.",
        example="user: {shopping: emma}",
    ),
    Field(
        key="setup",
        shape=SETUP,
        default=(),
        default_text="none",
        doc=(
            "[Steps](#set-up-steps) that prepare the sites before the episode. A failing step is an error of the task."
        ),
        example="setup:\n  - sql: insert into notes (title) values ('Tea')",
    ),
    Field(
        key="checks",
        shape=CHECKS,
        doc="The conditions that decide whether the agent passes. See [checks](#checks).",
        example="checks:\n  - answer: {number: 84.97, unit: USD}\n  - url: /accounts/orders/",
    ),
    Field(
        key="gradings",
        shape=GRADING_LISTS,
        default={},
        default_text="none",
        doc=("Checks that replace `checks` under a grading (`--grading`). For tasks of published benchmarks."),
        example="gradings:\n  repaired:\n    - answer: {number: 84.97, unit: USD}",
    ),
    Field(
        key="score",
        shape=Choice("product", "mean"),
        default="product",
        doc="How the scores of the checks combine: `product` (all must hold) or `mean` (weighted).",
        example="score: mean",
    ),
    Field(
        key="threshold",
        shape=Number(float, "a number above 0, at most 1", above=0, high=1),
        default=1.0,
        doc="The score from which the task passes.",
        example="score: mean\nthreshold: 0.5",
    ),
    Field(
        key="solution",
        shape=ANSWERED_STEPS,
        default=None,
        default_text="none",
        doc=(
            "A correct solution, [step by step](#steps). The agent `oracle` replays it, which proves that the "
            "task can be solved."
        ),
        example='solution:\n  - goto: /accounts/orders/\n  - stop: "84.97"',
    ),
    Field(
        key="reach",
        shape=Choice("task", "environment"),
        default="task",
        doc=(
            "Which sites the agent can visit: the task's own, or all of the catalogue (`environment`, as in "
            "published suites). `--reachable-sites` overrides it. See [reachable "
            "sites](sites.md#reachable-sites)."
        ),
        example="reach: environment",
    ),
    Field(
        key="live",
        shape=LIVE,
        default=None,
        default_text="only reading pages of the task's own domains",
        doc=(
            "Exceptions for a task on [live sites](live.md): further domains, and requests that are sent "
            "although they may write."
        ),
        example="live: {domains: [booking.example], reads: [POST /search], writes: [POST /basket/add/*]}",
    ),
    Field(
        key="mutates",
        shape=Bool(),
        default=None,
        default_text="unknown",
        doc=(
            "Whether the task changes a site. With `false`, sites that [forbid side "
            "effects](side-effects.md) must stay unchanged. Elsewhere it is only a hint for readers and "
            "scheduling."
        ),
        example="mutates: true",
    ),
    Field(
        key="ends_session",
        shape=Bool(),
        default=False,
        doc=(
            "Whether the goal ends the session: signing out, signing in as somebody else, deleting or "
            "renaming the account, changing its password. Without it, readings of a site count only while "
            "the task's account is [signed in](judging.md#signed-out)."
        ),
        example="intent: Sign out.\nends_session: true\nchecks:\n  - page: {open: /account, status: 404}",
    ),
    Field(
        key="category",
        shape=Text("a category", strip=True),
        default="",
        default_text="from the checks",
        doc=(
            "The subject: `information`, `navigation`, `content`, `unachievable`, or a word of your own. The "
            "default follows the most specific check: `unachievable`; `content` for a change (`mutates`, "
            "`state`, an opened page); `information` for an answer; `navigation` for an address or the "
            "current page."
        ),
        example="category: information",
    ),
    Field(
        key="tags",
        shape=ListOf(Text("a tag", strip=True), or_one=True, label="a tag or a list of tags"),
        default=(),
        default_text="none",
        doc="Words for selecting and grouping tasks.",
        example="tags: [orders, money]",
    ),
    Field(
        key="limits",
        shape=LIMITS,
        default=Limits(),
        default_text="the run's limits",
        doc="Limits on steps and seconds for this task.",
        example="limits: {steps: 12, seconds: 90}",
    ),
    Field(
        key="skip",
        shape=Text("a reason", strip=True, check=reason_fault, form="prose"),
        default="",
        default_text="not skipped",
        doc="Skips the task, for this reason.",
        example="skip: the shop has no vouchers yet",
    ),
    Field(
        key="xfail",
        shape=Text("a reason", strip=True, check=reason_fault, form="prose"),
        default="",
        default_text="expected to pass",
        doc="Expects the task to fail, for this reason.",
        example="xfail: the forum loses the first comment",
    ),
    Field(
        key="known_issue",
        shape=Text("a description of the defect", strip=True),
        default="",
        default_text="none",
        doc="A known defect of the task itself. The task still runs; reports show the text.",
        example="known_issue: the reference misspells a product's name",
    ),
    Field(
        key="template",
        shape=ID,
        default="",
        default_text="the task's own id",
        doc="The template that the task is an instance of, if it is written without `each`.",
        example="template: t279",
    ),
    Field(
        key="source",
        shape=MapOf(Json(), "a mapping with the origin of the task"),
        default={},
        default_text="none",
        doc="Where the task comes from. It has no effect on the run.",
        example="source: {suite: webarena, task_id: 0}",
    ),
    Field(
        key="review",
        shape=REVIEW,
        default=None,
        default_text="not recorded",
        doc=(
            "Who wrote and reviewed the task. It has no effect on verdicts. `webarena tasks monitor` lists "
            "the state of each review."
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

BODY = Record(
    "task",
    _values,
    [field for field in TASK_FIELDS if field.key not in ("id", "each")],
    rule=_task_fault,
    read_elsewhere=("id", "each"),
)
"""What the loader reads of each instance: keywords of `Task`, without those that depend on its position in the file."""

FILE_FIELDS = (
    Field(
        key="schema_version",
        shape=Int("a version of the task format", low=1),
        default=FORMAT_VERSION,
        doc="Version of the task format. Later versions of this package read older files.",
        example="schema_version: 1\ntasks:\n  - {id: a, intent: Say hello, sites: [], checks: [{answer: hello}]}",
    ),
    Field(
        key="defaults",
        shape=Record(
            "defaults", dict, DEFAULT_KEYS, doc="Keys for all tasks of the file.", owner="'defaults'", demanded=()
        ),
        default=None,
        default_text="none",
        doc="Keys for all tasks of the file. A task's own key replaces the default.",
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
