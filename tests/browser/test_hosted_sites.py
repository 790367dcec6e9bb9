"""Two hosted applications on one host, which know only their own addresses, in one real browser under their names."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.gateway.session import GatewaySession
from tests.browser.gateway_lab import Lab
from tests.hosted_app import HostedApp, hosted_app
from tests.unit.suites.made import raw

pytestmark = pytest.mark.usefixtures("shared_engine")


@pytest.fixture(scope="module")
def lab(browser_executable: str | None) -> Iterator[Lab]:
    lab = Lab(browser_executable)
    lab.run(lab.start())
    yield lab
    lab.close()


@pytest.fixture
def apps() -> Iterator[list[HostedApp]]:
    with hosted_app("shop") as shop, hosted_app("forum") as forum:
        yield [shop, forum]


def serve(session: GatewaySession, app: HostedApp) -> str:
    session.route(f"{app.name}.test", "127.0.0.1", urlsplit(app.url).port or 0, address=app.url)
    return f"http://{app.name}.test"


def test_both_stay_signed_in_by_absolute_links_and_forms(lab: Lab, apps: list[HostedApp]) -> None:
    async def work() -> None:
        session = await lab.gateway.open()
        names = [serve(session, app) for app in apps]
        context = await lab.context(session)
        page = await context.new_page()
        for app, name in zip(apps, names, strict=True):
            await page.goto(f"{app.url}/login")
            assert page.url == f"{name}/login"
            await page.fill("[name=user]", f"{app.name}-ada")
            await page.click("button")
            await page.wait_for_url(f"{name}/account")
        for app, name in zip(apps, names, strict=True):
            await page.goto(name)
            assert await page.title() == f"{app.name}!"
            assert await page.locator("h1").evaluate("h1 => getComputedStyle(h1).color") == "rgb(1, 2, 3)"
            await page.click("a")
            assert page.url == f"{name}/account"
            assert await page.inner_text("#who") == f"{app.name}-ada"
        assert not [why for app in apps for why in app.rejected]
        assert not session.upstream_error
        posts = [each.url for each in session.requests() if each.method == "POST"]
        assert posts == [f"{name}/login" for name in names]  # without those that were redirected to the names
        assert {cookie.get("domain") for cookie in await context.cookies()} == {".shop.test", ".forum.test"}
        asks = f"fetch('{apps[1].url}/me', {{headers: {{'X-Wish': '1'}}}}).then(answer => answer.json())"
        assert await page.evaluate(asks) == ""  # browsers send no cookies there, which is a fault of the trial
        assert "keep_address: true" in session.own_address_fault
        await context.close()
        await session.close()

    lab.run(work())


def test_browser_keeps_cookies_of_the_own_address(lab: Lab, apps: list[HostedApp]) -> None:
    async def work() -> None:
        session = await lab.gateway.open()
        name = serve(session, apps[0])
        context = await lab.context(session)
        page = await context.new_page()
        for sent, fault in (("a=1; Secure; Path=/", ""), ("__Host-b=2; Secure; Path=/", "it sets the cookie __Host-b")):
            apps[0].cookie = sent
            await page.goto(name)
            assert fault in session.own_address_fault
            assert bool(fault) == bool(session.own_address_fault)
        assert {cookie.get("name") for cookie in await context.cookies()} == {"a"}
        await context.close()
        await session.close()

    lab.run(work())


SITE = """
  {name}:
    backend: external
    reset: {{http: {{url: "{{url}}/reset", headers: {{Authorization: Bearer token}}}}}}
    sites:
      {name}:
        url: {url}
        user: ada
        sign_in:
          path: /login
          steps:
            - fill: {{"css=[name=user]": "{{username}}", "css=[name=password]": "{{password}}"}}
            - click: css=button
          check: {{path: /account, includes: "{{username}}"}}
    users: {{ada: {{username: {name}-ada, password: x}}}}
"""

TASKS = """
defaults: {sites: [shop, forum], reach: task}
tasks:
  - id: writes
    mutates: true
    intent: Save a note.
    checks:
      - page: {open: "shop:/", locate: "css=#note", exact: Milk}
      - page:
          open: "shop:/"
          locate: js=document.querySelector('a').href
          exact: http://shop.test/account
    solution:
      - fill: {"css=[name=note]": Milk}
      - click: css=button
  - id: looks
    mutates: false
    intent: What is the address of the account page?
    checks:
      - answer: {exact: "http://shop.test/account"}
      - page: {open: "forum:/account", includes: forum-ada}
      - page: {open: "shop:/", locate: "css=#note", exact: ""}
    solution: [{stop: "OWN/account"}]
"""


def test_tasks_on_one_host_stay_signed_in_and_are_reset(pytester: pytest.Pytester, apps: list[HostedApp]) -> None:
    apps[0].note = "left by an earlier run"
    catalogue = "apps:" + "".join(SITE.format(name=app.name, url=app.url) for app in apps)
    (pytester.path / "sites.yaml").write_text(catalogue)
    (pytester.path / "a.tasks.yaml").write_text(TASKS.replace("OWN", apps[0].url))
    result = pytester.runpytest_inprocess("a.tasks.yaml", "--agent=oracle", "--sites=./sites.yaml", "--run-dir=run")
    result.assert_outcomes(passed=2)
    assert [app.resets for app in apps] == [2, 1]  # each at the start, the store after the note
    assert not [why for app in apps for why in app.rejected]
    records = [json.loads(path.read_text()) for path in (pytester.path / "run/trials").glob("*/trial.json")]
    facts = {record["key"]["task"]: record["environment"] for record in records}
    assert [facts[name]["site_resets"]["shop"]["number"] for name in ("writes", "looks")] == [0, 1]
    assert facts["looks"]["external_sites"] == {app.name: app.url for app in apps}


def test_doctor_visits_each_instance_without_a_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with hosted_app() as one, hosted_app() as two:
        two.refused = {"bob"}
        sites = SITE.format(name="shop", url=f"[{one.url}, {two.url}]").replace(
            "user: ada", "user: ada\n        start: /missing"
        )
        Path("sites.yaml").write_text("apps:" + sites.replace("x}}", "x}, bob: {username: bob, password: x}}"))
        assert main(["sites", "doctor", "--sites=./sites.yaml", "--report=report.md"]) == 1
    assert "FAILED  shop, instance 2" in capsys.readouterr().out
    report = Path("report.md").read_text()
    rows = [line.split(" | ")[:3] for line in report.splitlines() if line.startswith("| shop")]
    refuted = [(site, claim[:32]) for site, claim, state in rows if state == "refuted"]
    assert refuted == [
        ("| shop, instance 1", "The site answers at /missing."),
        ("| shop, instance 2", "The site answers at /missing."),
        ("| shop, instance 2", "signing in to shop as bob: expec"),
    ]
    confirmed = [site for site, claim, state in rows if "distinguishes ada from bob" in claim and state == "confirmed"]
    assert confirmed == ["| shop, instance 1"]
    assert "127.0.0.1" not in report


OWN = """
defaults: {{sites: [shop, forum], reach: task}}
tasks:
  - id: {id}
    mutates: true
    intent: Save Milk at {a}/ and say where the account page is.
    start: ["{b}/?from=start"]
    checks:
      - url: {{exact: "{a}/"}}
      - network: {{url: "{b}/note", method: POST, body: {{includes: "see {a}/x"}}, regex: '{regex}'}}
      - page: {{open: "{b}/", locate: "css=#note", exact: "see {a}/x"}}
      - page: {{open: "shop:/", locate: js=document.querySelector('a').href, exact: "{a}/account"}}
      - answer: {{url: "{a}/account"}}
    solution:
      - goto: "{a}/"
      - fill: {{"css=[name=note]": "see {b}/x"}}
      - click: css=button
      - stop: "{said}/account"
"""


def test_checks_and_agents_may_use_the_address_of_any_instance(
    pytester: pytest.Pytester, apps: list[HostedApp]
) -> None:
    with hosted_app("shop") as other:
        one, two = apps[0].url, other.url
        catalogue = "apps:" + SITE.format(name="shop", url=f"[{one}, {two}]").replace(f'"[{one}, {two}]/', '"{url}/')
        (pytester.path / "sites.yaml").write_text(catalogue + SITE.format(name="forum", url=apps[1].url))
        for name, a, b, said in (("right", one, two, two), ("wrong", two, one, f"{one}0")):
            text = OWN.format(id=name, a=a, b=b, said=said, regex=rf"^{re.escape(b)}/no\w+$")
            (pytester.path / f"{name}.tasks.yaml").write_text(text)
        unread = "tasks: [{id: unread, intent: Where?, sites: [shop], checks: [answer: {regex: 'X:[0-9]+/a'}]}]"
        (pytester.path / "unread.tasks.yaml").write_text(unread.replace("X", "127.0.0.1"))
        result = pytester.runpytest_inprocess("--agent=oracle", "--sites=./sites.yaml", "--run-dir=run", "-rs")
        result.assert_outcomes(passed=1, failed=1, skipped=1)
        result.stdout.fnmatch_lines(["*unread.tasks.yaml:1: expected shop:/path or *"])
        assert not [why for app in (*apps, other) for why in app.rejected]
    records = [json.loads(path.read_text()) for path in (pytester.path / "run/trials").glob("*/trial.json")]
    verdicts = {record["key"]["task"]: record["verdict"]["results"] for record in records}
    assert [each["path"] for each in verdicts["wrong"] if each["score"] == 0] == ["checks[4]"]
    steps = [path.read_text().splitlines()[0] for path in (pytester.path / "run/trials").glob("*/*/steps.jsonl")]
    assert [json.loads(step)["action"]["url"] for step in steps] == ["http://shop.test/"] * 2
    pytester.runpytest_inprocess("--rescore=run").assert_outcomes(passed=1, failed=1)


@pytest.mark.exhaustive
@pytest.mark.parametrize("policy", ["own", "self"])
def test_policy_in_a_page_with_the_own_address_is_an_error(
    pytester: pytest.Pytester, apps: list[HostedApp], policy: str
) -> None:
    own = apps[0].url if policy == "own" else "'self'"
    apps[0].note = f'<meta http-equiv="Content-Security-Policy" content="default-src {own}">'
    (pytester.path / "sites.yaml").write_text(
        f"apps: {{shop: {{backend: external, sites: {{shop: {{url: '{apps[0].url}'}}}}}}}}"
    )
    task = "tasks: [{id: a, intent: Where?, sites: [shop], checks: [answer: {number: 1}], solution: [{stop: '1'}]}]"
    (pytester.path / "a.tasks.yaml").write_text(task)
    result = pytester.runpytest_inprocess("--agent=oracle", "--sites=./sites.yaml", "--run-dir=run")
    result.assert_outcomes(errors=1)
    [record] = [json.loads(path.read_text()) for path in (pytester.path / "run/trials").glob("*/trial.json")]
    assert record["cause"] == "site"
    assert "keep_address: true" in record["message"]


def test_doctor_tests_assumptions_of_a_suite_together(
    tmp_path: Path, apps: list[HostedApp], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shop, forum = apps
    sites = "apps:" + "".join(
        SITE.format(name=name, url=app.url) for name, app in (("shopping", shop), ("reddit", forum))
    )
    sites = sites.replace("path: /account, includes", 'path: /account, locate: "css=#who", includes')
    token = "\n        api: {path: /token, headers: {X-Token: '{token}'}}"
    Path("sites.yaml").write_text(sites.replace("        user: ada", f"        user: ada{token}", 1))
    starts = ["__SHOPPING__", "__SHOPPING__/style.css", "__REDDIT__/missing", "__REDDIT__/account"]
    rows = [raw(number, start_url=url, sites=["shopping", "reddit"]) for number, url in enumerate(starts)]
    Path("mine.json").write_text(json.dumps(rows))
    assert main(["sites", "doctor", "--suite=mine.json", "--sites=./sites.yaml", "--report=report.md"]) == 1
    print(capsys.readouterr().out)
    report = Path("report.md").read_text()
    results = {tuple(line.split(" | ")[:2]): line.split(" | ")[2:] for line in report.splitlines() if "| " in line}
    assert results["| all", "The accounts of shopping, reddit are signed in together in one browser."][0] == "confirmed"
    refuted = [key[1] for key, found in results.items() if found[0] == "refuted"]
    assert refuted == ["The API returns a token (POST /token).", "The start page /missing exists."]
    assert results["| reddit", "The start page /account exists."][0] == "confirmed"
    assert "127.0.0.1" not in report


RESUMED = """
defaults: {sites: [shop], mutates: true, solution: [stop: done]}
tasks:
  - {id: first, intent: Save Milk., checks: [page: {open: "shop:/", locate: "css=#note", exact: Milk}]}
  - {id: second, intent: Save nothing., checks: [page: {open: "shop:/", locate: "css=#note", exact: ""}]}
"""


@pytest.mark.exhaustive
def test_resumed_run_compares_resets_with_its_first_one(pytester: pytest.Pytester, apps: list[HostedApp]) -> None:
    text = f"""
    apps:
      shop:
        backend: external
        reset: {{run: ["true"], proof: {{url: "{{url}}/"}}}}
        sites: {{shop: {{url: "{apps[0].url}"}}}}
    """
    (pytester.path / "sites.yaml").write_text(textwrap.dedent(text))
    (pytester.path / "a.tasks.yaml").write_text(RESUMED)
    options = ("a.tasks.yaml", "--agent=oracle", "--sites=./sites.yaml", "-x")
    pytester.runpytest_inprocess(*options, "--run-dir=run").assert_outcomes(failed=1)
    apps[0].note = "left, because the reset does nothing"
    result = pytester.runpytest_inprocess(*options, "--resume=run")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*expected the response after the run's first resets, found another: *"])
