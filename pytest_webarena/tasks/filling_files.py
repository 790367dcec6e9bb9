"""Fillings of a task from a CSV file next to its task file: ``each: products.csv``."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from pytest_webarena.tasks.file_reading import Reading, shown
from pytest_webarena.tasks.nodes import MAX_BYTES, PLAIN, QUOTED, ScalarNode
from pytest_webarena.tasks.templates import NAME, Variable
from pytest_webarena.text import clip

__all__ = ["NAMES", "SUFFIX", "read_filling_file"]

SUFFIX = ".csv"
NAMES = "name"
"""Optional column with the names of instances; without it, they are numbered from 1."""
_PLACE = re.compile(r"(?!.*(?:^|/)\.\.(?:/|$))[^/\\:\0][^\\:\0]*", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,15})?")
"""Cells that are numbers. Everything else is text, even where YAML would convert it (``no``, ``1e3``, ``2024-01-01``,
``007``)."""


def read_filling_file(node: ScalarNode, reading: Reading) -> Iterator[tuple[str, Mapping[str, Variable]]]:
    """Yields the name and variables of each row of the file that ``node`` names. Problems are noted at ``node``.

    The first row names the variables. A row is a line of CSV as spreadsheets write it: UTF-8, commas, doubled quotes.
    """
    text = _text(node, reading)
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [cell.strip() for cell in next(rows, [])]
        if fault := _header_fault(header):
            if text:
                reading.problem(node, f"{node.value} to begin with names of variables", fault)
            return
        count = 0
        for row in rows:
            if not any(cell.strip() for cell in row):
                continue  # spreadsheets leave empty rows at the end
            count += 1
            if len(row) != len(header):
                wanted = f"{len(header)} cells in line {rows.line_num} of {node.value}, as in its first line"
                reading.problem(node, wanted, str(len(row)))
                continue
            cells = dict(zip(header, row, strict=True))
            name = cells.pop(NAMES, str(count)).strip()
            yield name, {key: _variable(value, node) for key, value in cells.items()}
        if not count:
            reading.problem(node, f"{node.value} to have a line for each instance", "none below the first one")
    except csv.Error as error:
        reading.problem(node, f"{node.value} to be CSV", f"in line {rows.line_num}: {clip(str(error))}")


def _text(node: ScalarNode, reading: Reading) -> str:
    """Returns the file's text; empty, with a problem noted, if it can't be read."""
    place = node.value.strip()
    if not place.endswith(SUFFIX) or not _PLACE.fullmatch(place):
        reading.problem(
            node, f"a mapping or a list of fillings, or a file next to this one (FILE{SUFFIX})", shown(node)
        )
        return ""
    try:
        data = (Path(reading.path).parent / place).read_bytes()
        if len(data) > MAX_BYTES:
            reading.problem(node, f"{place} to have at most {MAX_BYTES:,} bytes", f"{len(data):,}")
            return ""
        text = data.decode("utf-8-sig")
    except OSError as error:
        reading.problem(
            node, f"a file {clip(place)} next to this one", (error.strerror or type(error).__name__).lower()
        )
        return ""
    except UnicodeDecodeError as error:
        reading.problem(node, f"{place} to be UTF-8", f"byte {error.start + 1}, which is not", "save the file as UTF-8")
        return ""
    if not text.strip():
        reading.problem(node, f"{place} to begin with names of variables", "an empty file")
        return ""
    return text


def _header_fault(header: list[str]) -> str:
    for name in header:
        if not NAME.fullmatch(name):
            return f"'{clip(name)}' (letters, digits and '_')"
        if header.count(name) > 1:
            return f"'{clip(name)}' twice"
    if not [name for name in header if name != NAMES]:
        return "none"
    return ""


def _variable(cell: str, node: ScalarNode) -> Variable:
    number = _NUMBER.fullmatch(cell) is not None
    scalar = ScalarNode(cell, PLAIN if number else QUOTED, False, node.line, node.column)
    value: object = cell
    if number:
        value = float(cell) if "." in cell else int(cell)
    return Variable(scalar, value)
