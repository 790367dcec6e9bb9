"""The check kind ``untouched``: reachable sites that the task does not list."""

from __future__ import annotations

from pytest_webarena.evidence import Evidence, ReachedSite

from .helpers import evidence, result

CHECK = "- untouched: unlisted".removeprefix("- ")


def reached(site: str, changed: str = "") -> ReachedSite:
    return ReachedSite(site=site, app=site, url=f"http://{site}.test", shared=False, changed=changed)


def told(*sites: ReachedSite) -> Evidence:
    """Return evidence after a JSON round trip."""
    return Evidence.from_json(evidence("x", reached=sites).to_json())


def test_untouched_allows_reads_and_fails_on_possible_writes() -> None:
    assert result(CHECK, told()).passed
    only_read = result(CHECK, told(reached("wiki"), reached("pad")))
    assert (only_read.passed, only_read.actual) == (True, "only read: wiki, pad")
    touched = result(CHECK, told(reached("wiki"), reached("pad", "POST http://pad.test/new")))
    assert (touched.passed, touched.actual) == (False, "pad (POST http://pad.test/new)")


def test_untouched_passes_for_older_evidence() -> None:
    data = evidence("x").to_json()
    del data["reached"]
    assert result(CHECK, Evidence.from_json({**data, "schema_version": 8})).passed
