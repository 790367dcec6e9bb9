"""Values of the fixture ``webarena_context_args``."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.browser.config import Geolocation, ObservationConfig, SessionConfig
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.policies import session_config
from tests.cases import each_case


@each_case(
    "own, name, expected",
    [
        ({"observation": {"kinds": ["html"]}}, "observation", ObservationConfig(kinds=("html",))),
        ({"observation": ObservationConfig(kinds=("html",))}, "observation", ObservationConfig(kinds=("html",))),
        ({"geolocation": {"latitude": 1, "longitude": 2}}, "geolocation", Geolocation(latitude=1.0, longitude=2.0)),
        ({"viewport": (800, 600)}, "viewport", (800, 600)),
        ({}, "locale", "de-DE"),
        ({"locale": "fr-FR"}, "locale", "fr-FR"),
    ],
)  # fmt: skip
def test_value_is_a_mapping_or_the_setting_itself(own: dict[str, Any], name: str, expected: Any) -> None:
    session: SessionConfig = session_config(own, {"locale": "de-DE"}, record_screenshots=False)
    assert getattr(session, name) == expected


@each_case(
    "own, message",
    [
        ({"observation": 5}, "webarena_context_args: observation: expected a mapping, found 5"),
        ({"observation": {"kind": "html"}}, "webarena_context_args: observation: unknown key 'kind'; did you mean"),
        ({"uploads": ["cv.pdf"]}, "webarena_context_args: uploads: expected a mapping, found ['cv.pdf']"),
        ({"viewport": "big"}, "webarena_context_args: viewport: expected a list of two numbers"),
        (["locale"], "webarena_context_args: expected a mapping, found ['locale']"),
    ],
)  # fmt: skip
def test_value_of_another_type_is_named_with_the_fixture(own: Any, message: str) -> None:
    with pytest.raises(UsageError) as raised:
        session_config(own, {}, record_screenshots=False)
    assert str(raised.value).startswith(f"fixture {message}")
