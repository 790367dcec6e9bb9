"""Browser settings from plain data: reading, errors, and their form in records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_webarena.browser.config import Geolocation, ObservationConfig, SessionConfig
from pytest_webarena.browser.context import context_options
from pytest_webarena.browser.observation.forms import BUILTIN
from pytest_webarena.errors import UsageError
from tests.cases import each_case


def test_observation_settings_round_trip() -> None:
    config = ObservationConfig.from_plain({
        "kinds": ["accessibility_tree", "set_of_marks"],
        "extractor": "exact",
        "compat": True,
        "current_viewport_only": False,
        "html_viewport_only": False,
        "link_urls": True,
        "max_options": 5,
        "max_tokens": 4000,
        "max_chars": 20000,
        "max_obs_length": 1920,
        "max_file_chars": 100,
        "tokenizer": "python:builtins:len",
        "screenshot_size": "800x600",
        "screenshot_format": "png",
        "screenshot_quality": 50,
        "screenshot_full_page": True,
    })  # fmt: skip
    assert config.screenshot_size == (800, 600)
    assert config.pictured("plain", "marked")
    assert not config.pictured("plain")
    assert config.needs("html", "marks")
    assert not config.needs("html")
    plain = config.to_plain()
    changed = [name for name, value in ObservationConfig().to_plain().items() if plain[name] == value]
    assert changed == []  # everything was set to something that is no default
    assert ObservationConfig.from_plain(json.loads(json.dumps(plain))) == config
    assert ObservationConfig.from_plain({"kinds": "html"}).kinds == ("html",)


def test_digest_depends_on_the_settings() -> None:
    assert ObservationConfig().digest == ObservationConfig.from_plain({}).digest
    assert ObservationConfig().digest != ObservationConfig(link_urls=True).digest


@each_case(
    ("data", "message"),
    [
        ("html", "observation: expected a mapping, found 'html'"),
        ({"kind": "html"}, "observation: unknown key 'kind'; did you mean 'kinds'? known: "),
        ({1: 2}, "observation: unknown key '1'; "),
        (
            {"kinds": ["acessibility_tree"]},
            f"observation: kinds: expected one or more of {', '.join(BUILTIN)} "
            "(did you mean 'accessibility_tree'?), found ['acessibility_tree']",
        ),
        ({"kinds": []}, "observation: kinds: expected one or more of "),
        ({"kinds": 3}, "observation: kinds: expected one or more of "),
        ({"extractor": "exakt"}, "observation: extractor: unknown value 'exakt'; did you mean 'exact'?"),
        ({"compat": 1}, "observation: compat: expected true or false, found 1"),
        ({"compat": True, "extractor": "fast"}, "observation.compat: expected extractor exact with it, found fast"),
        ({"max_tokens": 0}, "observation: max_tokens: expected a whole number of at least 1 or null, found 0"),
        ({"max_tokens": True}, "observation: max_tokens: expected a whole number of at least 1 or null, found True"),
        ({"screenshot_quality": 101}, "expected a whole number from 1 to 100, found 101"),
        ({"screenshot_size": "800"}, "expected a list of two numbers or a text like 1280x720 or null, found '800'"),
        (
            {"screenshot_size": "ax2"},
            "observation: screenshot_size: expected a whole number from 16 to 16384 or null, found",
        ),
        ({"tokenizer": ""}, "observation: tokenizer: expected a text, found ''"),
        ({"tokenizer": "guess", "max_tokens": 9}, "observation.tokenizer: no counter 'guess'; known: estimate, "),
    ],
)
def test_invalid_observation_settings_are_usage_errors(data: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        ObservationConfig.from_plain(data)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_session_settings_are_read_from_plain_data() -> None:
    config = SessionConfig.from_plain({
        "viewport": "1024x768",
        "locale": "de-DE",
        "timezone": "Europe/Berlin",
        "geolocation": {"latitude": 52.5, "longitude": 13.4},
        "device_scale": 2,
        "observation": {"kinds": ["html"]},
    })  # fmt: skip
    assert config.geolocation == Geolocation(latitude=52.5, longitude=13.4)
    assert config.observation.kinds == ("html",)
    options = context_options(config)
    assert options["viewport"] == {"width": 1024, "height": 768}
    assert options["geolocation"] == {"latitude": 52.5, "longitude": 13.4, "accuracy": 0.0}
    assert options["permissions"] == ["geolocation"]
    assert (options["locale"], options["timezone_id"], options["device_scale_factor"]) == ("de-DE", "Europe/Berlin", 2)
    assert "geolocation" not in context_options(SessionConfig())
    plain = json.loads(json.dumps(config.to_plain()))
    assert plain["geolocation"]["longitude"] == 13.4
    assert SessionConfig.from_plain(plain) == config
    assert SessionConfig.from_plain({"geolocation": [52.5, 13.4]}).geolocation == config.geolocation


@each_case(
    ("data", "message"),
    [
        ({"viewport": [10, 10]}, "session: viewport: expected a whole number from 100 to 10000, found [10, 10]"),
        ({"geolocation": {"latitude": 1}}, "geolocation: expected the key 'longitude' (a number), it is missing"),
        ({"geolocation": {"lat": 1}}, "geolocation: unknown key 'lat'; did you mean 'latitude'?"),
        ({"geolocation": [100, 0]}, "geolocation: latitude: expected a number from -90 to 90, found 100"),
        ({"geolocation": "here"}, "session: geolocation: expected latitude and longitude in degrees, e.g. "),
        ({"observation": {"compt": True}}, "observation: unknown key 'compt'; did you mean 'compat'?"),
        ({"proxy": "http://x"}, "session: unknown key 'proxy'"),
    ],
)
def test_invalid_session_settings_are_usage_errors(data: Any, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        SessionConfig.from_plain(data)
    assert message in str(caught.value)


def test_recorded_settings_hide_secrets() -> None:
    secrets = {"http_credentials": {"password": "hunter2"}, "extra_http_headers": {"Authorization": "hunter2"}}
    plain = SessionConfig(context_args={**secrets, "color_scheme": "dark"}).to_plain()
    assert "hunter2" not in json.dumps(plain)
    assert plain["context_args"] == {"color_scheme": "dark", "extra_http_headers": "set", "http_credentials": "set"}
