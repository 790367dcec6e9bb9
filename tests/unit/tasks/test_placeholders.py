"""Placeholders of sites in texts."""

from __future__ import annotations

from pytest_webarena.tasks.placeholders import placeholder, resolve_placeholders
from tests.cases import each_case

SITES = {"shopping": "http://shopping.test", "shopping_admin": "http://shopping-admin.test/admin"}


@each_case(
    ("text", "expected"),
    [
        ("__SHOPPING__/a?b=1", "http://shopping.test/a?b=1"),
        (
            "see __SHOPPING_ADMIN__/x and __SHOPPING__",
            "see http://shopping-admin.test/admin/x and http://shopping.test",
        ),
        ("__SHOPPING_ADMIN____SHOPPING__", "http://shopping-admin.test/adminhttp://shopping.test"),
        ("__GITLAB__/a", "__GITLAB__/a"),
        ("__last_url__ of __page__", "__last_url__ of __page__"),
        ("shopping and __shopping__", "shopping and __shopping__"),
    ],
)
def test_base_addresses_replace_the_placeholders_of_known_sites(text: str, expected: str) -> None:
    assert resolve_placeholders(text, SITES) == expected


def test_base_address_with_trailing_slash_gives_no_double_slash() -> None:
    assert resolve_placeholders("__MAP__/search", {"map": "http://map.test/"}) == "http://map.test/search"


def test_placeholder_of_a_site_name() -> None:
    assert [placeholder(name) for name in ("map", "shopping_admin", "my-site")] == [
        "__MAP__",
        "__SHOPPING_ADMIN__",
        "__MY_SITE__",
    ]
