"""docs/fixtures.md: its examples run as written, and it documents every fixture."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from pytest_webarena import testing
from pytest_webarena.plugin import fixtures
from pytest_webarena.plugin.python_tests import WebArena
from tests.inner import SUM_TASK, run_pytest

PAGE = (Path(__file__).parents[2] / "docs" / "fixtures.md").read_text("utf-8")
EXAMPLE = re.compile(r"^```python\n# (\S+\.py)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_fixtures_page_documents_every_fixture() -> None:
    defined = [name for name, value in vars(fixtures).items() if type(value).__name__ == "FixtureFunctionDefinition"]
    assert len(defined) > 15
    attributes = [name for name, _ in inspect.getmembers(WebArena) if not name.startswith("_")]
    missing = [name for name in defined if name.startswith("webarena") and f"`{name}`" not in PAGE]
    missing += [
        name for name in (*attributes, *testing.__all__) if not re.search(rf"^\| `{name}\b", PAGE, re.MULTILINE)
    ]
    assert missing == []
    overridden = [name for name in defined if re.search(rf"^\| `{name}` \|", PAGE, re.MULTILINE)]
    examples = "".join(text for _, text in EXAMPLE.findall(PAGE))
    assert [name for name in overridden if not re.search(rf"\b{name}\b", examples)] == []


@pytest.mark.exhaustive
@pytest.mark.browser
@pytest.mark.usefixtures("browser_executable")
@pytest.mark.timeout(300)
def test_examples_of_fixtures_page_run(tmp_path: Path, browser_executable: str | None) -> None:
    files: dict[str, str] = {}
    for name, text in EXAMPLE.findall(PAGE):
        files[name] = files.get(name, "") + text
    files["sites.yaml"] = "extends: embedded\napps: {}\n"
    files["demo.tasks.yaml"] = SUM_TASK
    files["test_seen.py"] = SEEN
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    arguments = [f"--browser-executable={browser_executable}"] if browser_executable else []
    run_pytest(tmp_path, "--run-dir=run", *arguments).assert_outcomes(passed=7)


SEEN = """
from pytest_webarena.sites.client.broker_request import read_order

def test_what_the_conftest_says_is_what_holds(webarena_config):
    config = webarena_config
    assert (config.limits.steps, config.options.grading.name, config.judge.asks) == (12, "original", 5)
    assert (config.session.locale, config.session.context_args) == ("de-DE", {"color_scheme": "dark"})
    assert config.engine.launch_args["slow_mo"] == 10
    assert config.lease_timeout == 1200
    assert config.sign_in(None, {}, None)["cookies"][0]["name"] == "consent"

def test_what_the_broker_is_asked_for(webarena_run, webarena_runtime, pytestconfig):
    assert read_order(webarena_run.broker) == {
        "catalogue": str(pytestconfig.rootpath / "sites.yaml"),
        "site_urls": {"wiki": "http://127.0.0.1:8080"},
        "max_replicas": 2, "spares": 1, "memory": None,
        "environment": {"DOCKER_HOST": "unix:///run/user/1000/docker.sock"},
    }
"""
