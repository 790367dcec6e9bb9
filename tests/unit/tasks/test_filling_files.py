"""``each: FILE.csv``: instances of a task from a table next to its file."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.commands.query import as_csv
from pytest_webarena.errors import TaskFileError
from pytest_webarena.tasks import Task, load_tasks

TASKS = """
tasks:
  - id: price
    intent: What does {{ product }} cost?
    sites: []
    each: %s
    checks: [{answer: {number: "{{ price }}"}}]
"""


def load(folder: Path, table: str | bytes | None, place: str = "products.csv", tasks: str = TASKS) -> dict[str, Task]:
    (folder / "t.yaml").write_text(tasks % place)
    if table is not None:
        (folder / "products.csv").write_bytes(table if isinstance(table, bytes) else table.encode())
    return {task.id: task for task in load_tasks(folder / "t.yaml")}


def problem(folder: Path, table: str | bytes | None, place: str = "products.csv") -> str:
    with pytest.raises(TaskFileError) as raised:
        load(folder, table, place)
    (only,) = raised.value.problems
    assert only.line == 6
    return str(only)


def test_each_table_row_is_an_instance(tmp_path: Path) -> None:
    tasks = load(tmp_path, 'product,price\nCoffee Grinder,24.50\n"Kettle, small",7\n\n,\n')
    assert list(tasks) == ["price.1", "price.2"]
    assert tasks["price.1"].intent == "What does Coffee Grinder cost?"
    assert tasks["price.2"].intent == "What does Kettle, small cost?"
    assert tasks["price.1"].filling == {"product": "Coffee Grinder", "price": 24.5}
    assert tasks["price.2"].filling["price"] == 7
    assert tasks["price.1"].template == "price"
    assert tasks["price.1"].digest != tasks["price.2"].digest


def test_name_column_names_the_instances(tmp_path: Path) -> None:
    """Reads a table as spreadsheets save it: with a byte order mark and Windows line ends."""
    tasks = load(tmp_path, "\ufeffproduct,name,price\r\nTea,tea,1\r\nMilk,milk,2\r\n")
    assert list(tasks) == ["price.tea", "price.milk"]
    assert tasks["price.tea"].filling == {"product": "Tea", "price": 1}


@pytest.mark.parametrize("cell", ["no", "1e3", "007", "2024-01-01", "null", "", "{{ product }}", "0x10", "1_000", "-"])
def test_cells_that_are_not_plain_numbers_are_text(tmp_path: Path, cell: str) -> None:
    tasks = load(tmp_path, f"product,price\n{cell}x,1\n{cell},2\n")
    assert tasks["price.2"].filling["product"] == cell
    assert tasks["price.2"].intent == f"What does {cell} cost?".replace("  ", "  ")


def test_digest_depends_on_the_table(tmp_path: Path) -> None:
    before = load(tmp_path, "product,price\nTea,1\n")["price.1"].digest
    assert load(tmp_path, "product,price\nTea,1\n")["price.1"].digest == before
    assert load(tmp_path, "product,price\nTea,2\n")["price.1"].digest != before


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (None, "expected a file products.csv next to this one, found no such file or directory"),
        ("", "expected products.csv to begin with names of variables, found an empty file"),
        ("product,price\n", "found none below the first one"),
        ("product,pri ce\nTea,1\n", "found 'pri ce' (letters, digits and '_')"),
        ("product,product\nTea,1\n", "found 'product' twice"),
        ("name\ntea\n", "to begin with names of variables, found none"),
        ("product,price\nTea\n", "expected 2 cells in line 2 of products.csv, as in its first line, found 1"),
        ('product,price\nTea,"1\n', "to be CSV, found in line 2: unexpected end of data"),
        ("name,product,price\nte a,Tea,1\n", "found 'te a'"),
        ("name,product,price\ntea,Tea,1\ntea,Tea,2\n", "expected an id used once, found 'price.tea' again"),
        (
            b"product,price\nT\xe9,1\n",
            "expected products.csv to be UTF-8, found byte 16, which is not (save the file as UTF-8)",
        ),
    ],
)
def test_table_problems_are_reported_with_location(tmp_path: Path, table: str | bytes | None, message: str) -> None:
    assert message in problem(tmp_path, table)


@pytest.mark.parametrize("place", ["../products.csv", "/etc/products.csv", "products.tsv", "a/../b.csv", "x"])
def test_tables_outside_the_task_folder_are_refused(tmp_path: Path, place: str) -> None:
    assert "a file next to this one (FILE.csv)" in problem(tmp_path, "product,price\nTea,1\n", place)


def test_csv_of_query_results_can_be_loaded(tmp_path: Path) -> None:
    table = as_csv(("product", "price"), (("Tea, green", 1.5), ('12" pan', 30), (None, 2)))
    tasks = load(tmp_path, table)
    assert [task.filling["product"] for task in tasks.values()] == ["Tea, green", '12" pan', ""]
    assert [task.filling["price"] for task in tasks.values()] == [1.5, 30, 2]
