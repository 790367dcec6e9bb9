"""Missing and external sites: their tasks are skipped, with the reason once in the summary."""

from __future__ import annotations

import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_webarena.archives.writing import WarcFile
from tests.plugin.conftest import CANNED_RUNTIME
from tests.unit.suites.made import raw

MISSING = """
from pytest_webarena.errors import SiteMissing
from pytest_webarena.sites.backends.process import ProcessBackend


class Nowhere(ProcessBackend):
    async def prepare(self, app):
        raise SiteMissing("expected the image example/shop, found none.\\nGet it with:\\n  docker pull example/shop")
"""
TASKS = """
defaults: {sites: [shop]}
tasks:
  - {id: look, intent: Which?, checks: [{answer: x}], solution: [{stop: x}]}
  - {id: change, intent: Do!, mutates: true, checks: [{answer: x}], solution: [{stop: x}]}
"""


def test_missing_site_skips_its_tasks_with_one_summary_line(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(nowhere=MISSING)
    pytester.syspathinsert()
    pytester.path.joinpath("sites.yaml").write_text(
        "apps: {shop: {backend: 'nowhere:Nowhere', sites: {shop: {host: shop.test}}}}"
    )
    pytester.path.joinpath("a.tasks.yaml").write_text(TASKS)
    pytester.makepyfile(
        "import pytest\n@pytest.mark.webarena(sites=['shop'])\ndef test_shop(webarena):\n    assert False\n"
    )
    result = pytester.runpytest("--sites=./sites.yaml", "--run-dir=run", "-rs")
    result.assert_outcomes(skipped=3)
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "skipped        2 trials: expected the image example/shop, found none.",
            "               Get it with:",
            "                 docker pull example/shop",
            "SKIPPED [[]2[]]*expected the image example/shop, found none.",
        ]
    )
    assert not list((pytester.path / "run" / "trials").iterdir())  # nothing was tried, so --resume tries it


def test_site_without_its_program_stops_its_tasks_with_exit_code_13(pytester: pytest.Pytester) -> None:
    """A prerequisite of the run is missing, so the exit code must not be 0 as after a skip."""
    pytester.path.joinpath("sites.yaml").write_text(
        "apps:\n  shop:\n    backend: process\n    sites: {shop: {host: shop.test}}\n"
        "    process: {command: [no-such-program, '{port}']}\n"
    )
    pytester.path.joinpath("a.tasks.yaml").write_text(
        TASKS + "  - {id: ask, sites: [], intent: Which?, checks: [{answer: x}], solution: [{stop: x}]}\n"
    )
    result = pytester.runpytest("--sites=./sites.yaml", "--run-dir=run")
    result.assert_outcomes(skipped=2, passed=1)
    assert result.ret == 13
    result.stdout.fnmatch_lines(
        ["not run        2 trials; every agent on shop: a prerequisite is missing*", "*'no-such-program'*"]
    )
    assert (pytester.path / "run/broker.log").read_text().count("can't be run") == 1


PYTHON_TESTS = """
import pytest

@pytest.mark.webarena(sites=["shopp"])
def test_unknown(webarena):
    pass

@pytest.mark.webarena(sites=["shop"])
def test_statement(webarena):
    webarena.query("shop", "select nope")

def helper():
    raise LookupError("of theirs")

def test_theirs():
    helper()
"""


@pytest.mark.exhaustive
def test_errors_in_python_tests_show_no_plugin_frames(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("sites.yaml").write_text(
        "apps:\n  shop:\n    backend: process\n    sites: {shop: {host: shop.test}}\n"
        "    databases: {main: {sqlite: app.db}}\n    ready: [{http: /}]\n"
        "    process: {command: ['{python}', -m, http.server, --bind, 127.0.0.1, '{port}']}\n"
    )
    pytester.makepyfile(PYTHON_TESTS)
    result = pytester.runpytest("--sites=./sites.yaml", "--tb=short")
    result.assert_outcomes(errors=2, failed=1)
    result.stdout.fnmatch_lines(["E *'shopp'; did you mean 'shop'*", "*_plugin_frames*:9: in test_statement", "E *"])
    result.stdout.fnmatch_lines(["*in test_theirs", "*in helper", "E *of theirs"])
    assert "sites/client" not in str(result.stdout)
    result = pytester.runpytest("--sites=./sites.yaml", "--tb=short", "--full-trace", "-k", "unknown")
    assert "sites/client" in str(result.stdout)


@pytest.fixture
def external_site() -> Iterator[str]:
    """The address of a site that the plugin does not manage."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<title>Elsewhere</title><p>x")

        def log_message(self, *args: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_external_sites_run_only_tasks_without_side_effects(pytester: pytest.Pytester, external_site: str) -> None:
    pytester.path.joinpath("a.tasks.yaml").write_text(TASKS)
    options = ["--sites=external", f"--site-url=shop={external_site}", "--record=minimal"]
    result = pytester.runpytest(*options, "--run-dir=run", "--allow-unreset")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["shop *never reset*"])
    records = [json.loads(path.read_text()) for path in (pytester.path / "run/trials").glob("*/trial.json")]
    assert [each["environment"]["external_sites"] for each in records] == [{"shop": external_site}] * 2
    facts = json.loads((pytester.path / "run/run.json").read_text())
    assert facts["site_urls"] == {"shop": external_site}

    pytester.makeconftest(CANNED_RUNTIME)  # collection decides what is skipped
    result = pytester.runpytest(*options)
    result.assert_outcomes(passed=1, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "skipped        1 trial: changes shop, which can't be reset: add 'reset' to the",
            "               app shop in the catalogue; --allow-unreset runs such tasks anyway",
        ]
    )


def test_suite_tasks_are_skipped_when_site_has_no_account(pytester: pytest.Pytester) -> None:
    (pytester.path / "mine.json").write_text(json.dumps([raw(1), raw(2), raw(3, sites=["map"], start_url="__MAP__")]))
    options = ["--suite=mine.json", "--sites=external", "--site-url=map=http://127.0.0.1:9"]
    options += ["--site-url=shopping=http://127.0.0.1:10", "--reachable-sites=task", "--agent=null"]
    pytester.makeconftest(CANNED_RUNTIME)
    result = pytester.runpytest(*options, "-k", "1 or 2")
    result.assert_outcomes(skipped=2, deselected=1)
    output = " ".join(line.strip() for line in result.outlines)
    assert "2 trials: needs an account signed in to shopping (emma), which 'external' does" in output
    assert pytester.runpytest(*options, "-k", "1 or 2", "--min-pass-rate=0").ret == 11
    pytester.makeconftest(
        CANNED_RUNTIME + "\n@pytest.fixture(scope='session')\ndef webarena_sign_in():\n"
        "    return lambda lease, users, state: state\n"
    )
    pytester.runpytest(*options, "-k", "1").assert_outcomes(passed=1, deselected=2)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--site-url=shop", "--site-url: expected SITE=URL*"),
        ("--override-ini=webarena_site_urls=shop", "webarena_site_urls: expected SITE=URL*"),
        ("--site-url=shop=ftp://x", "--site-url shop: expected an address that starts with http:// or https://*"),
    ],
)
def test_invalid_site_url_is_a_usage_error(
    pytester: pytest.Pytester, option: str, message: str, tmp_path: Path
) -> None:
    result = pytester.runpytest(option)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}"])


def test_archive_skips_tasks_of_users_it_was_not_recorded_for(pytester: pytest.Pytester) -> None:
    """The file's other tasks are still collected."""
    with WarcFile(pytester.path / "shop.warc", sites={"shop": {"url": "http://shop.test", "user": "emma"}}) as archive:
        archive.add(
            method="GET", url="http://shop.test/", request_head="GET / HTTP/1.1\r\n", request_body=b"",
            response_head="HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n", response_body=b"x", time=1,
        )  # fmt: skip
    task = "  - {{id: {0}, intent: Which?, user: {0}, checks: [{{answer: x}}], solution: [{{stop: x}}]}}\n"
    pytester.path.joinpath("a.tasks.yaml").write_text(
        f"defaults: {{sites: [shop]}}\ntasks:\n{task.format('emma')}{task.format('ben')}"
    )
    result = pytester.runpytest_inprocess("--sites=archive:shop.warc", "--collect-only", "-q")
    result.stdout.fnmatch_lines(["*::emma*", "*::ben*"])
    result = pytester.runpytest("--sites=archive:shop.warc", "-k", "ben", "-rs")
    result.assert_outcomes(skipped=1, deselected=1)
    result.stdout.fnmatch_lines(["*is for 'ben' on shop, which was archived as seen by emma*"])
