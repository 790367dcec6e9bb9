"""Helpers for checks of a site that everyone visits as emma."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from pytest_webarena.browser.config import Deadlines
from pytest_webarena.browser.session import Session
from pytest_webarena.checks import Verdict, collect, judge
from pytest_webarena.evidence import Evidence
from pytest_webarena.sites.catalogues.manifest import Account, LoginCheck, LoginRecipe
from pytest_webarena.sites.protocol.messages import SiteAccess
from pytest_webarena.testing import make_task
from pytest_webarena.trials.live import LiveTrial
from tests.browser.conftest import CALM

if TYPE_CHECKING:
    from pytest_webarena.browser.engine import BrowserEngine
    from tests.browser.conftest import OpenSession, Web


EMMA = {"name": "sid", "value": "emma", "domain": "a.test", "path": "/", "expires": -1}
RECIPE = LoginRecipe(kind="form", site="board", path="/login", check=LoginCheck(path="/", includes="Hello {username}"))


def visit(session: Session, web: Web, *, engine: BrowserEngine | None = None, **site: Any) -> LiveTrial:
    """Return a trial on the site ``board``, visited as emma; with an ``engine``, emma can be signed in again."""
    known: dict[str, Any] = {"login": RECIPE, "default_user": "emma", **site}
    access = SiteAccess(
        name="board",
        app="board",
        url="http://a.test",
        start="http://a.test/",
        users={"emma": Account(username="emma", password="x")},
        **known,
    )
    lease = SimpleNamespace(
        sites={"board": access},
        harness_proxy=web.proxy,
        own_answer=lambda url, harness=False: "",
        answers=web.answers,
        check=lambda ask=False: None,
    )
    return LiveTrial(session, cast("Any", lease), engine=None if engine is None else lambda: engine)


def look(session: Session, live: LiveTrial, checks: str, *, extra: str = "", **facts: Any) -> Verdict:
    """Judge the checks on the site's current state. ``extra`` is YAML of the task, ``facts`` belong to the evidence."""
    task = make_task(f"intent: x\nsites: [board]\nchecks: {checks}\n{extra}", id="t")
    tabs = session.tabs()
    with session.own_pages():
        probes = collect(task.checks, live, state="end", ends_session=task.ends_session, tabs=[tab.url for tab in tabs])
    evidence = Evidence(answer="", stop_reason="answered", tabs=tabs, probes=probes, sites=live.sites, **facts)
    return judge(task, Evidence.from_json(json.loads(json.dumps(evidence.to_json()))))


def signed_in(open_session: OpenSession, deadlines: Deadlines = CALM) -> Session:
    deadlines = replace(deadlines, second_look=0.1, hang=min(deadlines.hang, 5.0))
    session = open_session(storage_state={"cookies": [EMMA], "origins": []}, deadlines=deadlines)
    session.open_tabs(["about:blank"])
    return session
