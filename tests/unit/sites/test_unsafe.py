"""Apps of a lease that its traffic may have changed."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_webarena.sites.broker.traffic import unsafe_by_app
from tests.cases import each_case


@dataclass
class ClosedGateway:
    """Report of a closed gateway."""

    unsafe_hosts: dict[str, str] = field(default_factory=dict)
    unfinished_hosts: dict[str, str] = field(default_factory=dict)
    sign_in_hosts: dict[str, str] = field(default_factory=dict)


HOSTS = {"shop.test": "store", "admin.test": "store", "forum.test": "forum"}


@each_case(
    ("unsafe_hosts", "expected"),
    [
        ({}, {}),
        ({"admin.test": "POST http://admin.test/save"}, {"store": "POST http://admin.test/save"}),
        ({"shop.test": "first", "admin.test": "second"}, {"store": "first"}),
        (
            {"forum.test": "WebSocket http://forum.test/chat", "shop.test": "PUT x"},
            {"forum": "WebSocket http://forum.test/chat", "store": "PUT x"},
        ),
        ({"gone.test": "POST x"}, {}),
    ],
)
def test_unsafe_traffic_is_attributed_to_its_app(unsafe_hosts: dict[str, str], expected: dict[str, str]) -> None:
    assert unsafe_by_app([ClosedGateway(unsafe_hosts)], HOSTS) == expected
    assert unsafe_by_app([ClosedGateway(), ClosedGateway(unfinished_hosts=unsafe_hosts)], HOSTS) == expected


def test_unsafe_requests_precede_unfinished_ones_of_all_gateways() -> None:
    sessions = [
        ClosedGateway(unfinished_hosts={"shop.test": "GET http://shop.test/ was not over"}),
        ClosedGateway(unsafe_hosts={"admin.test": "POST x"}, unfinished_hosts={"forum.test": "GET y was not over"}),
    ]
    assert unsafe_by_app(sessions, HOSTS) == {"store": "POST x", "forum": "GET y was not over"}


def test_dependencies_of_a_changed_app_are_unsafe_too() -> None:
    needs = {"forum": ("search",), "search": ("index", "forum"), "store": ("search",)}
    found = unsafe_by_app([ClosedGateway({"forum.test": "POST x"})], HOSTS, needs)
    assert found == {
        "forum": "POST x",
        "search": "forum may have called it: POST x",
        "index": "search may have called it: forum may have called it: POST x",
    }
    assert unsafe_by_app([ClosedGateway()], HOSTS, needs) == {}


def test_sign_ins_change_only_apps_that_do_not_allow_them() -> None:
    gateway = ClosedGateway(sign_in_hosts={"shop.test": "POST a", "forum.test": "POST b"})
    assert unsafe_by_app([gateway], HOSTS, allows_sign_ins=["store"]) == {"forum": "POST b"}
    gateway.unsafe_hosts["shop.test"] = "POST c"
    assert unsafe_by_app([gateway], HOSTS, allows_sign_ins=["store"]) == {"store": "POST c", "forum": "POST b"}
