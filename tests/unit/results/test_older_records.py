"""Records of older schema versions, as the versions of their time wrote them, are read without a loss.

`recorded_corpus` has records of schema 8 (most of its archive) and of schema 10 (`records_of_schema_10.json`, made by
the revision before schema 11). No revision wrote schema 9: such a record is one of schema 10 without its ``bill``.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pytest

from pytest_webarena.results import TrialRecord, summarise
from pytest_webarena.results.records import SCHEMA_VERSION
from pytest_webarena.results.wording import why_undecided
from tests.recorded_corpus import ARCHIVE

_SCHEMA_10 = ARCHIVE.with_name("records_of_schema_10.json")

OUTCOMES = {  # outcome, undecided, event
    "fine": ("passed", False, ""),
    "unsure": ("failed", True, ""),
    "unsure-and-wrong": ("failed", False, ""),
    "untold": ("failed", True, "unreported_usage"),
}


def stored(version: int) -> list[dict[str, Any]]:
    """Return the records of one schema version as plain data."""
    if version == 8:
        with tarfile.open(ARCHIVE) as archive:
            files = [archive.extractfile(each) for each in archive if each.name.endswith("trial.json")]
            read = [json.load(file) for file in files if file is not None]
            return [each for each in read if each["schema_version"] == version]
    found: list[dict[str, Any]] = json.loads(_SCHEMA_10.read_text(encoding="utf-8"))
    assert {each["schema_version"] for each in found} == {10}
    return found if version == 10 else [schema_9(each) for each in found]


def schema_9(data: Mapping[str, Any]) -> dict[str, Any]:
    return {**{name: value for name, value in data.items() if name != "bill"}, "schema_version": 9}


@pytest.mark.parametrize("version", [9, 10])
def test_outcomes_of_older_records_are_kept(version: int) -> None:
    records = {record.key.task: record for record in map(TrialRecord.from_json, stored(version))}
    found = {name: (each.outcome, each.undecided, each.event) for name, each in records.items()}
    assert found == OUTCOMES
    assert records["unsure"].score == 0.0
    assert "decide them" in why_undecided(records["unsure"])
    summary = summarise(records.values())["a.py-A"]
    assert (summary.rate.passed, summary.rate.undecided, summary.rate.judged, summary.rate.errors) == (1, 2, 4, 0)
    assert summary.unattributed == 1


@pytest.mark.parametrize("version", [8, 9, 10])
def test_older_records_keep_every_field(version: int) -> None:
    data = stored(version)
    assert data
    names = {field.name for field in fields(TrialRecord)}
    for each in data:
        assert names >= each.keys() - {"schema_version", "shortfall"}
        read = TrialRecord.from_json(each)
        again = json.loads(json.dumps(read.to_json()))
        assert again["schema_version"] == SCHEMA_VERSION
        assert TrialRecord.from_json(again) == read
        changed = {"outcome", "cause", "score", "stop_reason", "message", "verdict", "verdicts"}
        rest = changed if each.get("shortfall") else set()
        for name in each.keys() - {"schema_version", "shortfall", "key", "attempts", "usage"} - rest:
            assert again[name] == each[name], name
        assert again["key"]["task"] == each["key"]["task"]
        assert [one["outcome"] for one in again["attempts"]] == [one["outcome"] for one in each["attempts"]]


def test_reasons_of_resets_of_hosted_sites_are_read_from_schema_13() -> None:
    data = {
        **TrialRecord.from_json(stored(10)[0]).to_json(),
        "schema_version": 13,
        "replicas": {"shop": "d", "wiki": "d", "map": "d"},
    }
    del data["resets"]
    data["environment"] = {
        "os": "linux",
        "reset_after": "shop: POST http://shop.test/a; b; wiki: its proof has changed",
    }
    record = TrialRecord.from_json(data)
    assert record.resets == {"shop": "POST http://shop.test/a; b", "wiki": "its proof has changed"}
    assert record.environment == {"os": "linux"}
    assert TrialRecord.from_json(record.to_json()) == record
    assert TrialRecord.from_json({**data, "environment": {}}).resets == {}
