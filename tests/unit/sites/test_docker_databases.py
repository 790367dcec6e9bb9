"""Parsing of the output of database command-line clients."""

from __future__ import annotations

from pytest_webarena.sites.backends.docker.containers import Executed
from pytest_webarena.sites.backends.docker.databases import rows_from
from pytest_webarena.sites.catalogues.manifest import DatabaseManifest
from tests.cases import each_case

POSTGRESQL = DatabaseManifest(name="main", engine="postgresql", database="forum")
MYSQL = DatabaseManifest(name="main", engine="mysql", database="shop")


def read(database: DatabaseManifest, printed: str) -> tuple[tuple[object, ...], ...]:
    found = rows_from(database, Executed(code=0, stdout=printed, stderr=""), "select", "app-1")
    return tuple(tuple(row) for row in found.rows)


@each_case(
    ("printed", "rows"),
    [
        ("v\n\n", (("",),)),
        ("v\nx\n\n\n", (("x",), ("",), ("",))),
        ("v\n", ()),
        ("v\n\x01null\x01\n\n", ((None,), ("",))),
        ('v\n"a\r\nb"\n', (("a\r\nb",),)),
        ("v,w\n,\n", (("", ""),)),
        ("\n\n\n", ((), ())),
    ],
)
def test_postgresql_output_is_parsed(printed: str, rows: tuple[tuple[object, ...], ...]) -> None:
    assert read(POSTGRESQL, printed) == rows


@each_case(
    "text",
    ["a\r\nb", "a\rb", "\r", "a\nb\t", "\x00\x01\x0b\x0c\x1f\x7f", "\ue000", "\ue000000d", "\ufffe\uffff", "", " "],
)
def test_mysql_output_is_parsed(text: str) -> None:
    printed = f'<?xml version="1.0"?>\n<resultset><row><field name="v">{text}</field></row></resultset>'
    assert read(MYSQL, printed) == ((text,),)
