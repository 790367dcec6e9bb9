"""Observations and actions on widgets, held against raw Playwright. The first tier has widgets without packages."""

from __future__ import annotations

import pytest

from tests.widgets.cells import Widget, known_misses, widgets
from tests.widgets.measuring import Bench
from tests.widgets.site import missing_packages

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]

BY_NAME = {widget.name: widget for widget in widgets()}
SLICE = [
    ("contenteditable", "replace", "tools"),
    ("native-pickers", "date and time", "playwright"),
    ("native-pickers", "choices", "set_of_marks"),
    ("dialogs", "prompt", "coordinates"),
    ("menus", "submenu", "webarena"),
    ("frames", "nested", "solution"),
    ("shadow-dom", "nested", "webcanvas"),
    ("dialogs", "modal", "replay"),
]
"""Cells of widgets without packages: each way of acting once."""


def test_each_way_of_acting_is_equal_to_raw_playwright_on_native_widgets(bench: Bench) -> None:
    tasks = {(widget.name, task.name): (widget, task) for widget in widgets() for task in widget.tasks}
    cells = [bench.done(*tasks[name, task], way) for name, task, way in SLICE]
    assert [cell for cell in cells if cell.outcome != "equal"] == []


def test_each_form_shows_what_raw_playwright_shows_in_shadow_trees(bench: Bench) -> None:
    cells = list(bench.seen(BY_NAME["shadow-dom"]))
    assert cells
    assert [cell for cell in cells if cell.outcome != "equal"] == []


@pytest.mark.exhaustive
@pytest.mark.parametrize("widget", widgets(), ids=lambda widget: widget.name)
def test_no_cell_differs_from_raw_playwright_unless_it_is_listed(widget: Widget, bench: Bench) -> None:
    if lost := missing_packages(widget.packages):
        pytest.skip(f"{', '.join(lost)} not installed; run: python -m tests.widgets.site")
    for task in widget.tasks:
        assert bench.raw_state(widget, task) == task.state, f"raw Playwright fails: {task.name}"
    found = [cell for cell in bench.cells(widget) if cell.outcome in ("reported", "silent")]
    listed = known_misses().get(widget.name, {})
    assert [cell for cell in found if listed.get(cell.key) not in ("silent", cell.outcome)] == []
