"""``webarena sites doctor`` on apps with the key ``quiet``."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.quiet_measuring import examine_quiet
from tests.queued_todo import QUIET, queued_project


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("quiet", "state", "text"),
    [
        (QUIET, "ok", "quiet 0.0 s after its start"),
        ("quiet: {sql: select count(*) from nothing}", "failed", "'quiet' of the app todo: the SQL statement failed"),
        ("quiet: {sql: select 1, deadline: 0.1s}", "failed", "not quiet without an agent: todo still had work after"),
    ],
)
def test_doctor_tests_whether_an_app_is_quiet(tmp_path: Path, quiet: str, state: str, text: str) -> None:
    queued_project(tmp_path, delays=(0, 0), quiet=quiet)
    catalogue = load_catalogue(tmp_path / "sites.yaml")
    (found,) = examine_quiet(catalogue, list(catalogue.apps.values()), {})
    assert (found.subject, found.state) == ("todo", state)
    assert text in found.text


def test_doctor_starts_no_app_without_the_key(tmp_path: Path) -> None:
    queued_project(tmp_path, delays=(0, 0), quiet="")
    catalogue = load_catalogue(tmp_path / "sites.yaml")
    assert not list(examine_quiet(catalogue, list(catalogue.apps.values()), {}))
