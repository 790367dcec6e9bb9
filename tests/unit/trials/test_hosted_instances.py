"""Trials on instances that run elsewhere: an instance that stays broken is no failure of the agent."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_webarena.sites.protocol.messages import ReleaseReport, ReplicaInfo

from .test_fault_attribution import Site, outcomes, run

ELSEWHERE = "http://192.0.2.1:7770"  # no machine has this address


class HostedSite(Site):
    """Instances of which the one of the first attempt fails after its reset, if it ``stays_broken``."""

    def __init__(self, *breaks: int, stays_broken: bool = True, address: str = ELSEWHERE) -> None:
        super().__init__(*breaks)
        self.stays_broken = stays_broken
        self.replicas = (
            ReplicaInfo(
                app="shop", id="shop-1", generation=0, backend="external", digest="d",
                addresses={"shop": address}, reset_seconds=1.5,
            ),
        )  # fmt: skip

    def instance_problem(self) -> str:
        return "shop: connection refused" if self.stays_broken else ""

    def release(self) -> ReleaseReport:
        return ReleaseReport(clean=False, reason="shop: its proof has changed")


@pytest.mark.parametrize(
    ("breaks", "stays_broken", "address", "expected"),
    [
        # attempt, control without the agent, its actions again; the next attempt
        ([1], True, ELSEWHERE, ["error site", "passed"]),
        ([1], False, ELSEWHERE, ["failed", "passed"]),  # the reset repaired it: whose fault it was is undecided
        ([1, 3], True, ELSEWHERE, ["failed", "passed"]),  # its actions break another instance, too
        ([1], True, "http://127.0.0.1:7770", ["failed", "passed"]),  # its code may have killed it
    ],
)
def test_instance_that_fails_after_its_reset_is_no_failure_of_the_agent(
    tmp_path: Path, breaks: list[int], stays_broken: bool, address: str, expected: list[str]
) -> None:
    record = run(tmp_path, HostedSite(*breaks, stays_broken=stays_broken, address=address))
    assert outcomes(record) == expected, record.message
    assert (record.outcome == "passed") == (expected[0] != "failed")
    found = "without the agent, its instance still fails after a reset: shop: connection refused"
    assert (found in record.attempts[0].message) == (expected[0] == "error site")


def test_record_says_why_the_instance_is_reset_after_the_trial(tmp_path: Path) -> None:
    record = run(tmp_path, HostedSite())
    assert record.environment["reset_after"] == "shop: its proof has changed"
