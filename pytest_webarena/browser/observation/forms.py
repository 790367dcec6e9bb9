"""Table of observation forms, from which settings, prompts, extractors and docs are derived.

**To add a form**, add a `Form` to `BUILTIN` and a module that makes its lines, and run ``make docs``. Third-party
packages register a `Form` in the entry point group ``webarena.observations``. Forms read the page only through `Page`.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, get_args

from pytest_webarena.entry_points import OBSERVATIONS, load, offered
from pytest_webarena.errors import BrowserError, UsageError, closest

if TYPE_CHECKING:
    from pytest_webarena.browser.config import ObservationConfig
    from pytest_webarena.browser.observation.extraction import Extraction

__all__ = [
    "BUILTIN",
    "PICTURES",
    "Form",
    "Need",
    "Page",
    "Picture",
    "find_form",
    "form_names",
    "lines_of",
    "prompt_lines",
]

Need = Literal["tree", "html", "marks"]
"""Data that an extractor can read: the accessibility tree, the shortened HTML, the tree with boxes of its elements."""

Picture = Literal["plain", "marked"]
"""The plain page, or with a numbered box around each element that can be acted on."""

PICTURES: tuple[Picture, ...] = get_args(Picture)


class Page(Protocol):
    """The observed page as far as a form may read it. The harness provides it."""

    @property
    def url(self) -> str:
        """Address of the page."""

    @property
    def config(self) -> ObservationConfig:
        """The agent's settings."""

    @property
    def extraction(self) -> Extraction:
        """Result of the extractor: the data in `Form.needs`, and always title, focus and scroll position."""

    async def evaluate(self, function: str, *args: Any) -> Any:
        """Call a JavaScript function in the main frame, isolated from the page's own scripts; return its result.

        It must not change the page. Arguments and result are plain data.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form of an observation: text, a picture, or both."""

    name: str
    """Name as in ``observation.kinds``."""
    about: str
    """Description in one line of Markdown."""
    title: str = ""
    """Title above its text if there are several forms."""
    prompt: str = ""
    """Instruction about it for model agents."""
    lines: Callable[[Page], Awaitable[Sequence[str]]] | None = None
    """Returns its text; None for a picture only. It is called again if the page navigates meanwhile."""
    may_be_empty: bool = False
    """Whether it may have no lines. Otherwise that is an error, so that an agent never gets an empty page silently."""
    needs: frozenset[Need] = frozenset()
    """Data for its lines that the extractor has to read."""
    picture: Picture | None = None
    """Picture that belongs to it."""
    ids: bool = False
    """Whether its text or picture contains the extractor's ids, so that agents can act on elements by them."""
    require: Callable[[str], None] | None = None
    """Raises `UsageError` if a requirement is not installed; receives the start of the message."""

    def __post_init__(self) -> None:
        if self.lines is None and self.picture is None:
            raise UsageError(f"the observation form {self.name!r}: expected lines or a picture, found neither")
        if self.lines is not None and not self.title:
            raise UsageError(f"the observation form {self.name!r}: expected a title for its text, found none")


async def _tree(page: Page) -> Sequence[str]:
    return page.extraction.lines


async def _html(page: Page) -> Sequence[str]:
    return page.extraction.html


_SERIALISE = """() => {
  const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + '\\n' : '';
  return type + (document.documentElement ? document.documentElement.outerHTML : '');
}"""


async def _raw_html(page: Page) -> Sequence[str]:
    return str(await page.evaluate(_SERIALISE)).splitlines() or ["(the document is empty)"]


async def _marks(page: Page) -> Sequence[str]:
    return page.extraction.marked_lines


async def _webcanvas(page: Page) -> Sequence[str]:
    from pytest_webarena.browser.observation.listing import list_elements

    return list_elements(page.extraction.html, page.extraction.elements)


def _pillow(where: str) -> None:
    from pytest_webarena.browser.observation.drawing import require_pillow

    require_pillow(where)


BUILTIN: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form(
            name="accessibility_tree",
            about="roles, names and states of visible elements, one per line, in WebArena's form",
            title="Accessibility tree:",
            prompt="The page is given as a tree: each line has an element's id in brackets, its role and its text. "
            "Use these ids.",
            lines=_tree,
            needs=frozenset({"tree"}),
            ids=True,
        ),
        Form(
            name="html",
            about="the DOM without invisible and meaningless elements",
            title="HTML:",
            prompt="The page is given as shortened HTML with an id for each element. Use these ids.",
            lines=_html,
            may_be_empty=True,
            needs=frozenset({"html"}),
            ids=True,
        ),
        Form(
            name="raw_html",
            about="the whole document as the browser serialises it; agents act on it by locators",
            title="HTML source:",
            prompt="The page is given as its whole HTML.",
            lines=_raw_html,
        ),
        Form(
            name="webcanvas",
            about="roles and labels of texts and usable elements, as WebCanvas's agent gets them",
            title="Elements:",
            prompt="The page is given as a list, indented by what is inside what. An element that can be used has a "
            "number in brackets, then its role and its label. Use these numbers.",
            lines=_webcanvas,
            may_be_empty=True,
            needs=frozenset({"html"}),
            ids=True,
        ),
        Form(
            name="screenshot",
            about="a picture of the viewport or the page",
            prompt="The picture shows the page as it is on the screen now.",
            picture="plain",
        ),
        Form(
            name="set_of_marks",
            about="the picture with numbered boxes, and a list of their elements "
            "(needs Pillow: `pip install 'pytest-webarena[marks]'`)",
            title="Marks in the picture:",
            prompt="In the picture each element that can be used has a numbered box. Use these numbers as ids; the "
            "list below the address says what is in them.",
            lines=_marks,
            may_be_empty=True,
            needs=frozenset({"marks"}),
            picture="marked",
            ids=True,
            require=_pillow,
        ),
    )
}


def form_names() -> tuple[str, ...]:
    """Return the names of all forms, the built-in ones first."""
    return tuple(dict.fromkeys((*BUILTIN, *offered(OBSERVATIONS))))


def find_form(name: str) -> Form:
    """Return the form with this name; `UsageError` lists the known ones."""
    return BUILTIN.get(name) or _installed(name)


@functools.cache
def _installed(name: str) -> Form:
    target = offered(OBSERVATIONS).get(name)
    if target is None:
        raise UsageError(f"expected an observation form, found {name!r}; {closest(str(name), form_names())}")
    form = load(target, f"the observation form {name!r}")
    if not isinstance(form, Form) or form.name != name:
        raise UsageError(f"expected {target} to be the observation form {name!r} (a Form of that name), found {form!r}")
    return form


async def lines_of(form: Form, page: Page) -> tuple[str, ...] | None:
    """Return the form's text of a page; None for a picture only. `BrowserError` names a form that returns no text."""
    if form.lines is None:
        return None
    lines = await form.lines(page)
    if isinstance(lines, str) or not all(isinstance(line, str) for line in lines):
        raise BrowserError(f"the observation form {form.name!r}: expected lines of text, found {lines!r:.80}")
    if not lines and not form.may_be_empty:
        raise BrowserError(
            f"the observation form {form.name!r} returned no lines for {page.url}; return a line that says so, or set "
            "may_be_empty=True"
        )
    return tuple(lines)


def prompt_lines(names: Iterable[str]) -> tuple[str, ...]:
    """Return the instructions about the forms for model agents, in the table's order. A plain picture needs none if
    there is a marked one."""
    wanted = set(names)
    builtin = [form for name, form in BUILTIN.items() if name in wanted]
    forms = [
        *builtin,
        *map(find_form, sorted(wanted - set(BUILTIN))),
    ]
    marked = any(form.picture == "marked" for form in forms)
    return tuple(form.prompt for form in forms if form.prompt and not (marked and form.picture == "plain"))
