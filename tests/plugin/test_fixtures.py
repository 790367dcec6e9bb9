"""Policy fixtures: an override in a conftest.py applies to its directory, and invalid values are rejected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

CONFTEST = """
from dataclasses import replace
import pytest

@pytest.fixture(scope="session")
def webarena_limits(webarena_limits):
    return replace(webarena_limits, steps=7)

@pytest.fixture(scope="session")
def webarena_context_args():
    return {"locale": "de-DE", "viewport": (800, 600)}

@pytest.fixture(scope="session")
def browser_context_args(browser_context_args):
    return browser_context_args | {
        "locale": "fr-FR", "timezone_id": "Europe/Paris", "color_scheme": "dark", "proxy": {"server": "http://out:1"},
        "base_url": "http://else.where", "storage_state": {"cookies": [{"name": "seen", "value": "1"}]},
    }

@pytest.fixture(scope="session")
def webarena_launch_args(webarena_launch_args):
    return webarena_launch_args | {"slow_mo": 5}

@pytest.fixture(scope="session")
def webarena_lease_timeout():
    return 12.5

@pytest.fixture(scope="session")
def webarena_grading():
    from pytest_webarena.checks import find_grading
    return find_grading("original")

@pytest.fixture(scope="session")
def webarena_judge(webarena_judge):
    return replace(webarena_judge, model="mine", asks=9)

@pytest.fixture(scope="session")
def webarena_record():
    return lambda record: record.steps > 3

@pytest.fixture(scope="session")
def webarena_grammar(webarena_grammar):
    return lambda agent, task: "playwright" if "pw" in task.tags else webarena_grammar(agent, task)

@pytest.fixture(scope="session")
def webarena_agent(webarena_agent):
    def choose(name, task):
        agent = webarena_agent(name, task)
        return replace(agent, viewport=(640, 480)) if "small" in task.tags else agent
    return choose
"""
ABOVE = """
def test_policies(webarena_config):
    assert webarena_config.limits.steps == 30
    assert (webarena_config.session.locale, webarena_config.record) == ("en-US", "all")
    assert webarena_config.session.context_args == {}
"""
BELOW = """
from pytest_webarena.testing import make_task

def test_policies(webarena_config):
    config, session = webarena_config, webarena_config.session
    assert config.limits.steps == 7
    assert (session.locale, session.viewport) == ("de-DE", (800, 600))  # ours win
    assert session.timezone == "Europe/Paris"
    assert session.context_args == {"color_scheme": "dark"}  # no proxy of its own, no base
    assert session.storage_state == {"cookies": [{"name": "seen", "value": "1"}]}
    assert config.engine.launch_args["slow_mo"] == 5
    assert config.lease_timeout == 12.5
    assert config.options.grading.name == "original"
    assert (config.judge.model, config.judge.asks) == ("mine", 9)
    plain, small, pw = (
        make_task(f"intent: x\\nsites: []\\ntags: [{tag}]\\nchecks: [{{answer: x}}]")
        for tag in ("plain", "small", "pw")
    )
    assert config.agent_of("null", plain).viewport is None
    assert config.agent_of("null", small).viewport == (640, 480)
    assert config.agent_of("null", plain).grammar == "webarena"
    assert config.agent_of("null", pw).grammar == "playwright"
"""


def test_fixture_override_applies_to_its_directory(pytester: pytest.Pytester) -> None:
    below = pytester.mkdir("below")
    (below / "conftest.py").write_text(CONFTEST)
    (below / "test_below.py").write_text(BELOW)
    pytester.makepyfile(test_above=ABOVE, test_zulu=ABOVE)
    result = pytester.runpytest("test_above.py", "below", "test_zulu.py")
    result.assert_outcomes(passed=3)


def test_device_option_sets_browser_context_of_trials(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_device(webarena_config):
            session = webarena_config.session
            assert session.viewport[0] < 500
            assert session.device_scale > 1
            assert session.context_args["has_touch"]
            assert "Pixel 5" in session.context_args["user_agent"]
        """
    )
    pytester.runpytest("--device=Pixel 5").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "webarena_context_args(): return {'lokale': 'x'}",
            "*fixture webarena_context_args: unknown key 'lokale'; did you mean 'locale'?*",
        ),
        (
            "browser_context_args(): return {'viewport': 'big'}",
            "*fixture browser_context_args: expected viewport*'big'*",
        ),
        ("webarena_record(): return 'none'", "*fixture webarena_record: expected all, failures, minimal*'none'*"),
        ("webarena_broker_args(): return {'replicas': 3}", "*fixture webarena_broker_args: unknown key 'replicas'*"),
        ("webarena_broker_args(): return {'spares': 'x'}", "*webarena_broker_args: spares: expected a whole*'x'*"),
        (
            "webarena_docker_environment(): return {'A': 1}",
            "*webarena_docker_environment: A: expected a text, found 1*",
        ),
    ],
)
def test_invalid_fixture_value_is_reported_with_fixture_name(
    pytester: pytest.Pytester, override: str, message: str
) -> None:
    pytester.makeconftest(f"import pytest\n@pytest.fixture(scope='session')\ndef {override}\n")
    pytester.makepyfile("def test_it(webarena_runtime): pass")
    result = pytester.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])


def test_invalid_fixture_value_is_one_sentence_for_a_task(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        "import pytest\n@pytest.fixture(scope='session')\n"
        "def webarena_context_args(): return {'observation': {'kind': 'html'}}\n"
    )
    (pytester.path / "a.tasks.yaml").write_text(
        "tasks:\n  - {id: a, sites: [], intent: Say x., checks: [{answer: x}], solution: [{stop: x}]}\n"
    )
    result = pytester.runpytest("--agent=null")
    result.assert_outcomes(errors=1)
    text = "fixture webarena_context_args: observation: unknown key 'kind'; did you mean"
    result.stdout.fnmatch_lines([f"{text}*", f"ERROR a.tasks.yaml::a* - {text[:30]}*"])
    assert ".py:" not in result.stdout.str()


@pytest.mark.parametrize(
    ("override", "message"),
    [
        (
            "webarena_agent(): return lambda name, task: 3",
            "*fixture webarena_agent: expected an AgentDefinition*found 3*",
        ),
        (
            "webarena_agent(webarena_agent): return lambda name, task: webarena_agent('na', task)",
            "*fixture webarena_agent: expected an agent with the id 'null'*found 'na'*",
        ),
        ("webarena_grammar(): return lambda agent, task: 'x'", "*fixture webarena_grammar: expected a known*'x'*"),
    ],
)
def test_agent_fixture_must_return_recorded_agent_and_grammar(
    pytester: pytest.Pytester, override: str, message: str
) -> None:
    pytester.makeconftest(f"import pytest\n@pytest.fixture(scope='session')\ndef {override}\n")
    pytester.makepyfile(
        """
        from pytest_webarena.testing import make_task
        def test_it(webarena_config):
            webarena_config.agent_of("null", make_task("intent: x\\nsites: []\\nchecks: [{answer: x}]"))
        """
    )
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([message])


def test_catalogue_from_fixture_is_used_during_collection(
    canned: pytest.Pytester, make_tasks: Callable[..., None]
) -> None:
    make_tasks("right", sites="[elsewhere]")
    conftest = canned.path / "conftest.py"
    wanted = """
@pytest.fixture(scope="session")
def webarena_site_urls(webarena_site_urls, pytestconfig):
    return webarena_site_urls | {"elsewhere": "http://127.0.0.1:9"}
"""
    result = canned.runpytest("--collect-only")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*elsewhere*"])
    conftest.write_text(conftest.read_text() + wanted)
    result = canned.runpytest("--collect-only", "-q")
    result.stdout.fnmatch_lines(["tasks/demo.yaml::right*"])


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("webarena_catalogue(): return 'nope'", "*there is no catalogue 'nope'; known: *"),
        ("webarena_catalogue(): return 5", "*fixture webarena_catalogue: expected the name*found 5*"),
        ("webarena_catalogue(tmp_path_factory): return 'x'", "*expected no other arguments*found tmp_path_factory*"),
    ],
)
def test_failing_catalogue_fixture_is_a_collection_error(
    canned: pytest.Pytester, make_tasks: Callable[..., None], override: str, message: str
) -> None:
    make_tasks("right", sites="[homepage]")
    conftest = canned.path / "conftest.py"
    conftest.write_text(f"{conftest.read_text()}\n@pytest.fixture(scope='session')\ndef {override}\n")
    result = canned.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([message])
    result.stdout.no_fnmatch_line("*Traceback*")


def test_conflicting_broker_settings_of_directories_are_an_error(pytester: pytest.Pytester) -> None:
    for name in ("a", "b"):
        folder: Path = pytester.mkdir(name)
        (folder / "conftest.py").write_text(
            "import pytest\n"
            "@pytest.fixture(scope='session')\n"
            f"def webarena_broker_args(): return {{'spares': {ord(name)}}}\n"
        )
        (folder / f"test_{name}.py").write_text("def test_it(webarena_runtime): pass\n")
    result = pytester.runpytest()
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*expected one setting of a run's sites, found two for spares*"])


ROOT = Path(__file__).parents[2]
HERE = """
def test_policies(webarena_config, webarena_site_urls):
    assert webarena_config.session.locale == "en-US"
    assert (webarena_config.sign_in, webarena_site_urls) == (None, {})
"""
THERE = """
from types import SimpleNamespace
from pytest_webarena.testing import make_task

def test_policies(webarena_config, webarena_site_urls):
    assert (webarena_config.session.locale, webarena_config.session.timezone) == ("en-GB", "Europe/London")
    small = make_task("intent: x\\nsites: []\\ntags: [small-screen]\\nchecks: [{answer: x}]")
    assert webarena_config.agent_of("null", small).viewport == (390, 844)
    assert webarena_site_urls == {"homepage": "http://127.0.0.1:8000"}
    state = webarena_config.sign_in(SimpleNamespace(sites=["homepage"]), {}, None)
    assert [(cookie["name"], cookie["value"]) for cookie in state["cookies"]] == [("a", "b")]
"""


def test_conftest_examples_of_this_repository_apply_only_to_their_folder(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = pytester.mkdir("tasks")
    (pytester.path / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (tasks / "conftest.py").write_text((ROOT / "tasks" / "conftest.py").read_text())
    (tasks / "test_there.py").write_text(THERE)
    pytester.makepyfile(test_here=HERE)  # a suite run from a checkout must not get the shipped tasks' locale
    pytester.runpytest("test_here.py").assert_outcomes(passed=1)
    monkeypatch.setenv("HOMEPAGE_URL", "http://127.0.0.1:8000")
    monkeypatch.setenv("HOMEPAGE_COOKIE", "a=b")
    pytester.runpytest("tasks").assert_outcomes(passed=1)
