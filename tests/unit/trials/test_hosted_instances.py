"""Trials on instances that run elsewhere: an instance that stays broken is no failure of the agent."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest

from pytest_webarena.errors import SiteError
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
        return ReleaseReport(reasons={"shop": "its proof has changed"})


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


def test_record_says_why_sites_are_reset_after_each_attempt(tmp_path: Path) -> None:
    class Broken(HostedSite):
        def release(self) -> ReleaseReport:
            return ReleaseReport(reasons={"shop": "replica shop-1 broke: exit code 3\nits log"})

    assert run(tmp_path / "hosted", HostedSite()).resets == {"shop": "its proof has changed"}
    assert run(tmp_path / "own", Site()).resets == {}
    record = run(tmp_path / "broken", Broken(1))
    assert [each.resets for each in record.attempts] == [{"shop": "replica shop-1 broke: exit code 3"}] * 2


def test_record_says_so_if_the_release_failed(tmp_path: Path) -> None:
    class Away(HostedSite):
        def release(self) -> ReleaseReport:
            return ReleaseReport(problem="the site broker is gone")

    assert run(tmp_path, Away()).resets == {"shop": "the site broker is gone"}


def test_record_says_why_sites_are_reset_after_a_failed_sign_in(tmp_path: Path) -> None:
    class NoLogin(HostedSite):
        def session(self) -> NoReturn:
            raise SiteError("the sign-in did not work")

    record = run(tmp_path, NoLogin())
    assert (record.outcome, record.resets) == ("error", {"shop": "its proof has changed"})
