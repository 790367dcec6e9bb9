"""The map's database: nodes, edges, places with the words they can be found by, and the drawing."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import astuple
from pathlib import Path

from pytest_webarena.embedded.map.drawing import ground_layer
from pytest_webarena.embedded.map.ground import ground
from pytest_webarena.embedded.map.places import places
from pytest_webarena.embedded.web import write_seed
from pytest_webarena.embedded.world import CANARY

__all__ = ["seed"]

_SCHEMA = f"""
CREATE TABLE nodes (id INTEGER PRIMARY KEY, lat REAL NOT NULL, lon REAL NOT NULL);  -- {CANARY}
CREATE TABLE edges (
    a INTEGER NOT NULL REFERENCES nodes, b INTEGER NOT NULL REFERENCES nodes, metres INTEGER NOT NULL,
    kind TEXT NOT NULL,  -- road, street, lane, path, ferry
    name TEXT NOT NULL
);
CREATE TABLE places (  -- {CANARY}
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, category TEXT NOT NULL, town TEXT NOT NULL, street TEXT NOT NULL,
    number TEXT NOT NULL, postcode TEXT NOT NULL, hours TEXT NOT NULL, phone TEXT NOT NULL, website TEXT NOT NULL,
    wheelchair TEXT NOT NULL, note TEXT NOT NULL, lat REAL NOT NULL, lon REAL NOT NULL,
    node INTEGER NOT NULL REFERENCES nodes, address TEXT NOT NULL
);
CREATE INDEX places_by_category ON places (category, town);
CREATE VIRTUAL TABLE words USING fts5(name, category, address, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE TABLE layers (name TEXT PRIMARY KEY, body TEXT NOT NULL);  -- GeoJSON
"""


def seed(data_dir: Path) -> None:
    """Write the database into ``data_dir``, replacing what is there at once."""
    write_seed(data_dir, _fill)


def _fill(connection: sqlite3.Connection) -> None:
    connection.executescript(_SCHEMA)
    made, found = ground(), places()
    connection.executemany("INSERT INTO nodes VALUES (?, ?, ?)", map(astuple, made.nodes))
    connection.executemany("INSERT INTO edges VALUES (?, ?, ?, ?, ?)", map(astuple, made.edges))
    marks = ", ".join("?" * 16)
    connection.executemany(
        f"INSERT INTO places VALUES ({marks})",
        [(number, *astuple(place), place.address) for number, place in enumerate(found, 1)],
    )
    connection.execute(
        "INSERT INTO words (rowid, name, category, address) SELECT id, name, category, address FROM places"
    )
    connection.execute("INSERT INTO words (words) VALUES ('optimize')")
    layer = json.dumps(ground_layer(made, found), ensure_ascii=False, separators=(",", ":"))
    connection.execute("INSERT INTO layers VALUES ('ground', ?)", (layer,))
