"""Signing in by recipe, and error messages when it fails."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import parse_qs

import pytest

from pytest_webarena.actions import Click, Selector, Type
from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.browser.login import login, login_headers, request_check_page, verify
from pytest_webarena.browser.session import Session
from pytest_webarena.errors import SiteError
from pytest_webarena.evidence import StepRecord
from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
from pytest_webarena.sites.protocol.messages import SiteAccess, StoredSession
from pytest_webarena.trials.logins import Logins
from pytest_webarena.trials.renewal import renew_ended_session
from pytest_webarena.trials.sign_in_checks import examine_sign_in
from tests.cases import each_case

if TYPE_CHECKING:
    from tests.browser.conftest import Reply, Request, Web

ADA = Account(username="ada", password="pässword {1}")
RECIPE = LoginRecipe(
    kind="form",
    site="forum",
    path="/login?next=/",
    steps=(
        Type(Selector('role=textbox[name="Username"]'), "{username}"),
        Type(Selector("css=[type=password]"), "{password}"),
        Click(Selector('role=button[name="Log in"]')),
    ),
    check=LoginCheck(path="/account", includes="Signed in as {username}", locate="css=header"),
)
FORM = """<title>Log in</title><form method=post action=/login><label>Username <input name=u></label>
<input type=password name=p><button>Log in</button></form>"""


@pytest.fixture
def forum(web: Web) -> Web:
    """A site with a login form, a cookie and an account page."""

    def sign_in(request: Request) -> Reply | str:
        if request.method == "GET":
            return FORM
        sent = parse_qs(request.body)
        if (sent["u"], sent["p"]) == ([ADA.username], [ADA.password]):
            return web.reply(status=302, Location="/", Set_Cookie="user=ada; Path=/")
        return FORM + "<p>Wrong name or password."

    def account(request: Request) -> Reply | str:
        if "user=ada" in request.headers.get("Cookie", ""):
            return "<header>Signed in as ada</header>"
        return web.reply(status=302, Location="/login")

    web.put("/login", sign_in)
    web.put("/account", account)
    web.put("/", "<title>Home</title>")
    return web


class SignIn(Protocol):
    def __call__(self, *, recipe: LoginRecipe = ..., account: Account = ...) -> dict[str, Any]: ...


@pytest.fixture
def sign_in(engine: BrowserEngine, forum: Web, quick: Deadlines) -> SignIn:
    def sign_in(*, recipe: LoginRecipe = RECIPE, account: Account = ADA) -> dict[str, Any]:
        return login(engine, recipe, account, url="http://a.test", proxy=forum.proxy, deadlines=quick)

    return sign_in


def test_storage_state_signs_in_other_sessions(sign_in: SignIn, open_session: Callable[..., Session]) -> None:
    state = sign_in()
    session = open_session(storage_state=state)
    assert session.read_page(open="http://a.test/account", locate="css=header").texts == ("Signed in as ada",)


def test_wrong_password_is_an_error_that_hides_the_password(sign_in: SignIn) -> None:
    with pytest.raises(SiteError) as caught:
        sign_in(account=Account(username="ada", password="hunter2"))
    message = str(caught.value)
    assert message.startswith(
        "signing in to forum as ada: expected http://a.test/account to open, found http://a.test/login"
    )
    assert "the page is http://a.test/login ('Log in'): " in message
    assert "Wrong name or password." in message
    assert "hunter2" not in message
    assert "sessionStorage" not in message


def test_error_names_session_storage_token_that_is_not_kept(sign_in: SignIn, forum: Web) -> None:
    forum.put("/", "<script>sessionStorage.token = 1</script>Home")
    forum.put("/account", "<script>document.write(sessionStorage.token ? 'Hello' : 'Log in')</script>")
    with pytest.raises(SiteError, match="it uses sessionStorage, which belongs to one tab and is not kept"):
        sign_in(recipe=replace(RECIPE, check=LoginCheck(path="/account", includes="Hello")))


def test_error_for_rejected_session_ends_with_the_reason(engine: BrowserEngine, forum: Web) -> None:
    with pytest.raises(SiteError) as caught:
        verify(engine, RECIPE, ADA, url="http://a.test", proxy=forum.proxy, state=None)
    assert str(caught.value).endswith("expected http://a.test/account to open, found http://a.test/login instead")


@each_case(
    ("change", "message"),
    [
        (
            {"path": "/login", "steps": (Click(Selector("css=#missing")),)},
            "step 1 of 1 (click css=#missing): No element matches 'css=#missing' on http://a.test/login",
        ),
        (
            {"check": LoginCheck(path="/account", includes="Welcome")},
            "expected 'Welcome' in http://a.test/account, found 'Signed in as ada'",
        ),
        (
            {"check": LoginCheck(path="/account", includes="x", locate="css=footer")},
            "expected 'x' in css=footer on http://a.test/account, found no such element",
        ),
        ({"check": LoginCheck(path="/account", locate="css=footer")}, "expected css=footer on http://a.test/account"),
        ({"check": LoginCheck(path="/nowhere")}, "expected http://a.test/nowhere to open, found HTTP status 404"),
    ],
)
def test_failed_sign_in_step_is_reported(sign_in: SignIn, forum: Web, change: dict[str, Any], message: str) -> None:
    forum.put("/enter", forum.reply("Welcome back", Set_Cookie="user=ada; Path=/"))
    with pytest.raises(SiteError) as caught:
        sign_in(recipe=replace(RECIPE, **{"path": "/enter", "steps": (), **change}))
    assert message in str(caught.value)
    assert "\nthe page is http://a.test/" in str(caught.value)


def test_sign_in_on_unreachable_site_is_an_error(engine: BrowserEngine, web: Web) -> None:
    with pytest.raises(SiteError, match=r"signing in to forum as ada: https://a\.test/login.*ERR_TUNNEL"):
        login(engine, RECIPE, ADA, url="https://a.test", proxy=web.proxy)


CHECK = replace(RECIPE.check)
HEADER = LoginRecipe(kind="header", site="forum", check=CHECK, headers={"X-Login": "{username}:{password}"})


def test_header_recipe_is_filled_in_and_verified(engine: BrowserEngine, web: Web) -> None:
    web.put("/account", lambda request: f"<header>Signed in as {request.headers.get('X-Login', 'nobody')}</header>")
    assert login_headers(HEADER, ADA) == {"X-Login": "ada:pässword {1}"}
    with pytest.raises(SiteError, match=r"expected 'Signed in as ada' in css=header .*found 'Signed in as nobody'"):
        login(engine, HEADER, ADA, url="http://a.test", proxy=web.proxy)


def test_stored_state_is_verified_before_use(
    engine: BrowserEngine, forum: Web, tmp_path: Path, sign_in: SignIn
) -> None:
    recipe = LoginRecipe(kind="state", site="forum", check=CHECK, state=str(tmp_path / "{username}.json"))

    def use() -> dict[str, Any]:
        return login(engine, recipe, ADA, url="http://a.test", proxy=forum.proxy)

    with pytest.raises(SiteError, match=r"expected a storage state in .*/ada\.json, found: No such file"):
        use()
    (tmp_path / "ada.json").write_text("[]")
    with pytest.raises(SiteError, match=r"expected the JSON of Playwright's storage_state\(\)"):
        use()
    (tmp_path / "ada.json").write_text('{"cookies": [], "origins": []}')
    with pytest.raises(SiteError, match=r"account to open, found http://a\.test/login instead"):
        use()
    (tmp_path / "ada.json").write_text(json.dumps(sign_in()))
    assert [cookie["value"] for cookie in use()["cookies"]] == ["ada"]


def test_script_recipe_signs_in_with_plain_requests(engine: BrowserEngine, forum: Web, tmp_path: Path) -> None:
    (tmp_path / "signing.py").write_text(
        "from urllib.parse import urlencode\n"
        "def sign_in(visit):\n"
        "    sent = urlencode({'u': visit.username, 'p': visit.password})\n"
        "    answer = visit.call('POST', '/login', body=sent)\n"
        "    assert (answer.status, answer.url) == (200, visit.url + '/'), answer\n"
        "def breaks(visit):\n"
        "    raise KeyError('token')\n"
    )
    recipe = LoginRecipe(kind="script", site="forum", check=CHECK, script=f"{tmp_path}/signing.py:sign_in")
    state = login(engine, recipe, ADA, url="http://a.test", proxy=forum.proxy)
    assert [(cookie["name"], cookie["value"], cookie["domain"]) for cookie in state["cookies"]] == [
        ("user", "ada", "a.test")
    ]
    broken = replace(recipe, script=f"{tmp_path}/signing.py:breaks")
    with pytest.raises(SiteError, match=r"signing in to forum as ada: the script .*:breaks raised KeyError: 'token'"):
        login(engine, broken, ADA, url="http://a.test", proxy=forum.proxy)


class LeaseOfA:
    """The part of a lease of the site a.test that logins use."""

    def __init__(self, web: Web, recipe: LoginRecipe) -> None:
        self.harness_proxy = self.sign_in_proxy = web.proxy
        self.headers: list[dict[str, str]] = []
        users = {"ada": ADA, "bob": Account(username="bob", password="b")}
        self.sites = {
            "forum": SiteAccess(
                name="forum", app="forum", url="http://a.test", start="http://a.test/", users=users,
                default_user="ada", login=recipe,
            )
        }  # fmt: skip

    def set_headers(self, site: str, headers: dict[str, str]) -> None:
        self.headers.append(dict(headers))

    def session_refused(self, site: str) -> None:
        assert site in self.sites


@pytest.mark.exhaustive
def test_expired_session_is_renewed_before_use(engine: BrowserEngine, web: Web) -> None:
    tickets: list[str] = []

    def sign_in(request: Request) -> Reply | str:
        if request.method == "GET":
            return FORM
        tickets.append(f"t{len(tickets) + 1}")
        return web.reply(status=302, Location="/", Set_Cookie=f"ticket={tickets[-1]}; Path=/")

    def account(request: Request) -> Reply | str:
        good = tickets and f"ticket={tickets[-1]}" in request.headers.get("Cookie", "")
        return "<header>Signed in as ada</header>" if good else web.reply(status=302, Location="/login")

    web.put("/login", sign_in)
    web.put("/account", account)
    web.put("/", "<title>Home</title>")
    now = SimpleNamespace(time=0.0)
    logins = Logins(lambda: engine, lambda sites, holder, ahead: pytest.fail("no lease"), clock=lambda: now.time)
    lease: Any = LeaseOfA(web, RECIPE)

    def ticket() -> str:
        state = logins.state(lease, {})
        assert state is not None
        return str(state["cookies"][0]["value"])

    assert [ticket(), ticket()] == ["t1", "t1"]
    tickets.append("somebody else's")
    assert ticket() == "t3"  # though t1 was good a moment ago
    now.time = 1000.0
    assert ticket() == "t3"  # verified, and still valid
    assert logins.ended(lease, "forum", {}, {"cookies": [], "origins": []})


@pytest.mark.matrix(1)
@pytest.mark.parametrize("kind", ["form", "script"])
def test_session_id_that_changes_with_each_response_is_followed(
    engine: BrowserEngine, web: Web, open_session: Callable[..., Session], tmp_path: Path, kind: Any
) -> None:
    """The site rejects the previous id, so the agent gets the id of the last verification."""
    now = {"id": 0}

    def new_id(body: str, status: int = 200, **headers: str) -> Reply:
        now["id"] += 1
        return web.reply(body, status, Set_Cookie=f"ticket={now['id']}; Path=/; HttpOnly", **headers)

    def sign_in(request: Request) -> Reply | str:
        return FORM if request.method == "GET" else new_id("", status=302, Location="/account")

    def account(request: Request) -> Reply | str:
        held = request.headers.get("Cookie", "").removeprefix("ticket=")
        return new_id("<header>Signed in as <b>ada</b></header>") if held == str(now["id"]) else "<header>guest"

    web.put("/login", sign_in)
    web.put("/account", account)
    (tmp_path / "signing.py").write_text("def sign_in(site):\n    site.call('POST', '/login')\n")
    script = LoginRecipe(kind="script", site="forum", check=CHECK, script=f"{tmp_path}/signing.py:sign_in")
    logins = Logins(lambda: engine, lambda sites, holder, ahead: pytest.fail("no lease"))
    lease: Any = LeaseOfA(web, RECIPE if kind == "form" else script)
    for _ in range(4):  # new; verified by a browser; by a plain request; and after an agent used the last one
        state = logins.state(lease, {})
        assert state is not None
        assert [cookie["value"] for cookie in state["cookies"]] == [str(now["id"])]
    session = open_session(storage_state=state)
    assert session.read_page(open="http://a.test/account", locate="css=header").texts == ("Signed in as ada",)
    made_anew = logins.state(lease, {})
    assert made_anew is not None
    assert made_anew["cookies"][0]["value"] == str(now["id"])


@each_case(
    ("page", "check", "doubts"),
    [
        ("<p>Hello <b>a&amp;d</b>\n a", CHECK, False),
        ("<p>Hello", CHECK, True),
        ("<p>Hello", replace(CHECK, includes=""), False),
        ("", replace(CHECK, includes="", path="/gone"), True),
        ("", replace(CHECK, includes="", path="/sent-on"), True),
        ("Hello a&d a", replace(CHECK, path="/sent-on", redirects=True), False),
    ],
)
def test_quick_check_is_undecided_for_pages_that_need_a_browser(
    web: Web, page: str, check: LoginCheck, doubts: bool
) -> None:
    web.put("/account", page)
    web.put("/sent-on", web.reply(status=302, Location="/account"))
    recipe = replace(RECIPE, check=replace(check, includes=check.includes and "Hello a&d a"))
    cookie = {"name": "t", "value": "1", "domain": "a.test", "path": "/"}
    state = {"cookies": [cookie], "origins": [{"origin": "http://a.test"}]}
    found = request_check_page(recipe, ADA, url="http://a.test", proxy=web.proxy, state=state)
    assert found is (None if doubts else state)


def test_session_from_replica_start_is_verified_once_and_renewed(engine: BrowserEngine, web: Web) -> None:
    good = {"t0"}
    visits: list[str] = []

    def sign_in(request: Request) -> Reply | str:
        if request.method == "GET":
            return FORM
        good.add(f"t{len(visits)}")
        visits.append("signed in")
        return web.reply(status=302, Location="/", Set_Cookie=f"ticket=t{len(visits) - 1}; Path=/")

    def account(request: Request) -> Reply | str:
        visits.append("looked")
        held = request.headers.get("Cookie", "").removeprefix("ticket=") in good
        return "<header>Signed in as ada</header>" if held else web.reply(status=302, Location="/login")

    web.put("/login", sign_in)
    web.put("/account", account)
    web.put("/", "<title>Home</title>")
    cookie = {"name": "ticket", "value": "t0", "domain": "a.test", "path": "/"}
    stored = StoredSession(state={"cookies": [cookie], "origins": []}, number=1)
    reports: list[tuple[Any, ...]] = []
    logins = Logins(lambda: engine, lambda sites, holder, ahead: pytest.fail("no lease"))

    def lease() -> Any:
        made: Any = LeaseOfA(web, replace(RECIPE, portable=False))
        made.sites = {"forum": replace(made.sites["forum"], sessions={"ada": stored})}
        made.session_ended = lambda *words: reports.append(words[:3])
        return made

    def ticket(held: Any) -> str:
        state = logins.state(held, {})
        assert state is not None
        return str(state["cookies"][0]["value"])

    first = lease()
    assert [ticket(first), ticket(lease()), ticket(first)] == ["t0", "t0", "t0"]
    assert visits == ["looked"] * 2  # by a browser, and for the second replica by a plain request
    good.clear()  # the site has ended it, in the middle of a trial
    assert logins.renew(first, "forum", {})["cookies"][0]["value"] == ticket(first) == "t3"
    good.clear()
    assert ticket(lease()) == f"t{len(visits) - 2}"  # the next trial verifies the session, and signs in on its own
    assert reports == [("forum", "ada", 1)]


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    ("check", "users", "expected"),
    [
        ({"path": "/account", "includes": "Signed in as {username}"}, "ada bob", ["ok distinguishes ada from bob"]),
        (
            {"path": "/account", "locate": "text=Signed in as {username}", "includes": "{username}"},
            "ada bob",
            ["ok distinguishes ada from bob"],
        ),
        ({"path": "/account"}, "ada bob", ["note passes for ada while bob is signed in", "names no account"]),
        ({"path": "/account"}, "ada", ["note one account: nothing to compare with", "names no account"]),
        ({"path": "/members", "includes": "{username}"}, "ada bob", ["note passes for ada while bob is signed in"]),
        ({"path": "/", "includes": "Home"}, "ada bob", ["failed passes for visitors who are not signed in too"]),
        ({"path": "/account", "includes": "{username}"}, "eve bob", ["failed signing in to forum as eve: expected"]),
        ({"path": "/account", "includes": "{username}"}, "ada eve", ["note no other account", "failed signing in to"]),
        ({"path": "/account", "includes": "{username}"}, "ada", ["ok one account: nothing to compare with"]),
        ({"path": "/written", "includes": "{username}"}, "ada", ["note an 'api' recipe", "ok one account"]),
    ],
)  # fmt: skip
def test_doctor_reports_what_the_sign_in_check_proves(
    engine: BrowserEngine, web: Web, check: dict[str, Any], users: str, expected: list[str]
) -> None:
    def shown(text: str) -> Callable[[Request], Reply | str]:
        def page(request: Request) -> Reply | str:
            name = request.headers.get("Cookie", "").partition("user=")[2]
            return text.format(name=name) if name else web.reply(status=302, Location="/login")

        return page

    web.put("/account", shown("Signed in as {name}"))
    web.put("/members", shown("ada bob"))
    web.put("/written", shown("<body><script>document.body.innerText = 'a' + 'da'</script>"))
    web.put("/", "<p>Home</p>")
    welcome = {each: web.reply("Welcome", Set_Cookie=f"user={each}; Path=/") for each in ("ada", "bob")}
    web.put("/login", lambda request: welcome.get(request.body, "Wrong password"))
    recipe = LoginRecipe(kind="script", site="forum", check=LoginCheck(**check), script=f"{__name__}:sign_in_by_name")
    lease: Any = LeaseOfA(web, recipe)
    known = {name: Account(username=name, password="") for name in users.split()}
    forum = replace(lease.sites["forum"], users=known, default_user=next(iter(known)))
    found = list(examine_sign_in(engine, lease, forum))
    text = "\n".join(f"{each.state} {each.text}" for each in found)
    for part in expected:
        state, _, words = part.partition(" ")
        assert any(each.state == state and words in each.text for each in found) or part in text, text
    assert "tells" not in text or expected[0].startswith("ok tells")
    assert ("api" in text) is (check["path"] == "/written")


@pytest.mark.parametrize(("elsewhere", "states"), [("ada bob", ["note"]), ("ada", ["failed", "note"])])
def test_account_that_another_site_of_its_app_accepts_is_no_fault(
    engine: BrowserEngine, web: Web, elsewhere: str, states: list[str]
) -> None:
    def only(names: str) -> Callable[[Request], Reply | str]:
        def page(request: Request) -> Reply | str:
            name = request.headers.get("Cookie", "").partition("user=")[2]
            return f"Signed in as {name}" if name in names.split() else web.reply("no", status=403)

        return page

    web.put("/office", only("ada"))
    web.put("/board", only(elsewhere))
    web.put("/login", lambda request: web.reply("Welcome", Set_Cookie=f"user={request.body}; Path=/"))

    def recipe(path: str) -> LoginRecipe:
        check = LoginCheck(path=path, includes="{username}")
        return LoginRecipe(kind="script", site="forum", check=check, script=f"{__name__}:sign_in_by_name")

    lease: Any = LeaseOfA(web, recipe("/office"))
    lease.sites["board"] = replace(lease.sites["forum"], name="board", login=recipe("/board"))
    assert [each.state for each in examine_sign_in(engine, lease, lease.sites["forum"])] == states


def sign_in_by_name(visit: Any) -> None:
    """A sign-in script."""
    visit.call("POST", "/login", body=visit.username)


def test_sign_in_headers_are_those_of_the_current_visitor(engine: BrowserEngine, web: Web) -> None:
    lease: Any = LeaseOfA(web, HEADER)
    shown = {True: "<header>Signed in as ada, or Signed in as bob</header>", False: "<header>guest</header>"}
    web.put("/account", lambda request: shown[any(lease.headers[-1:])])
    logins = Logins(lambda: engine, lambda sites, holder, ahead: pytest.fail("no lease"))
    for users in ({}, {"forum": "bob"}, {"forum": ""}, {"forum": "bob"}, {"forum": "bob"}):
        logins.state(lease, users)
    assert [headers.get("X-Login") for headers in lease.headers] == [
        "ada:pässword {1}",
        None,  # while bob's check is verified without signing in
        "bob:b",
        None,
        "bob:b",
    ]


def test_session_that_ends_in_a_trial_is_renewed_unless_agent_signed_out(
    engine: BrowserEngine, forum: Web, open_session: Callable[..., Session]
) -> None:
    lease: Any = LeaseOfA(forum, RECIPE)
    logins = Logins(lambda: engine, lambda sites, holder, ahead: pytest.fail("no lease"))
    requests: list[Any] = []
    session = open_session(storage_state={"cookies": [], "origins": []})
    session.open_tabs(["http://a.test/"])
    environment: Any = SimpleNamespace(lease=lease, session=session, requests=lambda: requests)

    def step(action: dict[str, str], after: str) -> StepRecord:
        return StepRecord(index=2, action=action, raw="", url_before="http://a.test/", url_after=after)

    at_the_door = step({"kind": "goto", "url": "http://a.test/account"}, "http://a.test/login")
    assert renew_ended_session(logins, {}, environment, step({"kind": "goto", "url": "/"}, "http://a.test/")) == ""
    requests.append(SimpleNamespace(url="http://a.test/sign_out"))
    assert renew_ended_session(logins, {}, environment, at_the_door) == ""
    requests.clear()
    assert renew_ended_session(logins, {}, environment, at_the_door) == "signed in to forum as ada again after step 3"
    assert session.read_page(open=None, locate="css=header").texts == ("Signed in as ada",)  # opened once more
    assert renew_ended_session(logins, {}, environment, at_the_door) == ""  # the session is good now
