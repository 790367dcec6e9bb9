"""What a task may reach is part of its trial's lease, and what its agent reached is part of the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.sites.protocol.messages import LiveWishes
from pytest_webarena.tasks.model import LiveTerms
from pytest_webarena.testing import make_task
from pytest_webarena.trials.runtime import Runtime
from pytest_webarena.trials.trial_environment import set_up_environment
from tests.cases import each_case
from tests.unit.trials.owner_events import REACHING
from tests.unit.trials.test_fault_attribution import WideSite, run


def asked_of_the_broker(text: str) -> dict[str, Any]:
    """Return the terms of the lease that a trial of a task asks for; the broker refuses it."""
    asked: dict[str, Any] = {}

    def refuse(sites: Sequence[str], **terms: Any) -> None:
        asked.update(terms, sites=tuple(sites))
        raise SiteError("no lease")

    runtime: Any = SimpleNamespace(
        _config=SimpleNamespace(lease_timeout=1.0),
        _logins=SimpleNamespace(prepare=lambda sites, users: asked.update(signed_in=tuple(sites))),
        _connected=lambda: SimpleNamespace(lease=refuse),
        _with_trust=lambda lease: lease,
    )
    runtime.lease_within = partial(Runtime.lease_within, runtime)
    runtime.lease = partial(Runtime.lease, runtime)
    with pytest.raises(SiteError, match="no lease"), set_up_environment(make_task(text), runtime, holder="x"):
        pass
    return asked


@each_case(
    ("more", "reach", "live"),
    [
        ("reach: task", (), None),
        ("reach: environment", ("*",), None),
        (
            "live: {domains: [agency.org], reads: [POST /search]}",
            (),
            LiveWishes(starts=(), terms=LiveTerms(domains=("agency.org",), reads=("POST /search",))),
        ),
        ("start: https://www.shop.example/", (), LiveWishes(starts=("https://www.shop.example/",), terms=None)),
    ],
)
def test_lease_has_the_reachable_sites_and_live_terms_of_the_task(
    more: str, reach: tuple[str, ...], live: LiveWishes | None
) -> None:
    asked = asked_of_the_broker(f"intent: Look.\nsites: [shop]\n{more}\nchecks: [{{answer: x}}]")
    assert (asked["sites"], asked["reach"], asked["live"]) == (("shop",), reach, live)
    assert asked["signed_in"] == ("shop",)


def test_reached_sites_are_in_the_record_and_evidence(tmp_path: Path) -> None:
    record = run(tmp_path, WideSite(), task=REACHING)
    assert [site["site"] for site in record.environment["reach"]["visited"]] == ["wiki"]
    kept = read_evidence(tmp_path / "trials" / record.key.folder / "attempt-1")
    assert [site.site for site in kept.reached] == ["wiki"]
