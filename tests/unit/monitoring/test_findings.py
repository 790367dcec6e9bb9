"""Findings of a check: valid, drifted, broken, blocked, site down or untried."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.evidence import Evidence
from pytest_webarena.monitoring.findings import known_of, untried
from pytest_webarena.monitoring.replaying import TriedAction
from pytest_webarena.own_addresses import OwnAddresses
from pytest_webarena.results.records import NO_VERDICT
from pytest_webarena.signals import TargetRecord
from pytest_webarena.testing import make_task
from tests.cases import each_case

from ..checks.key_nodes.trials import at, event, trial
from .checks import BUTTON, SHOP, buy, checked, did, ended_at, known, statuses

RIGHT = trial([at("/catalogue/kettle_7")], [event("html > button#buy")], answer="")
DONE = [did(0), did(1), did(2)]
NAMED = {"role": "button", "name": "Buy now", "text": "Buy now"}
RENAMED = trial([at("/catalogue/kettle_7")], [event("html > button.purchase", target=NAMED)], answer="")


def test_task_is_valid_when_all_parts_are() -> None:
    found = checked(buy(), RIGHT, DONE)
    assert (found.status, found.why) == ("valid", "")
    assert statuses(found) == ["valid"] * 5  # three steps, two key nodes


def test_node_found_by_role_and_name_has_drifted() -> None:
    task = buy()
    found = checked(task, RENAMED, [did(0), did(1, how="role and name"), did(2)], known(task))
    assert found.status == "drifted"
    assert statuses(found) == ["valid", "drifted", "valid", "valid", "drifted"]
    assert "found by role and name" in found.parts[4].why
    assert found.why.startswith("step 2 of 3 (click it): found by role and name; as it is written: No element")


def test_node_that_is_not_reached_is_broken() -> None:
    found = checked(buy(), RENAMED, DONE)  # only its selector is known
    assert found.status == "broken"
    assert statuses(found)[3:] == ["valid", "broken"]


def test_button_with_another_name_is_not_the_known_node() -> None:
    task = buy()
    other = trial([at("/catalogue/kettle_7")], [event("html > button", target={"role": "button", "name": "Sell"})])
    assert checked(task, other, DONE, known(task)).status == "broken"


def test_url_with_an_equal_ending_has_drifted() -> None:
    moved = trial([at("/products/kettle_7/")], [event("html > button#buy")], answer="")
    found = checked(buy(), moved, DONE)
    assert found.status == "drifted"
    assert found.why == f"kettle: found by an address that ends alike: {SHOP}/products/kettle_7/"


def test_drifted_node_is_found_at_any_address_of_a_hosted_site() -> None:
    task = make_task("""
        intent: Look
        sites: [shopping]
        checks: [{key_nodes: [{url: {exact: "http://one:7770/catalogue/kettle_7"}}]}]
        solution: [{click: "css=a"}]
    """)
    moved = trial([at("/catalogue/kettle_7?from=mail")], answer="")
    found = checked(task, replace(moved, own_addresses=OwnAddresses({"http://one:7770": SHOP})), [did(0)])
    reason = f"found by its address with other parameters: {SHOP}/catalogue/kettle_7?from=mail"
    assert (found.status, found.parts[-1].why) == ("drifted", reason)


def test_parts_after_a_lost_step_are_untried() -> None:
    lost = trial([at("/catalogue/kettle_7")])
    found = checked(buy(), lost, [did(0), did(1, found=False)])
    assert found.status == "broken"
    assert statuses(found) == ["valid", "broken", "valid", "untried"]
    assert "the replay ended at step 2 of 3" in found.parts[3].why


def test_failed_outcome_check_breaks_a_task_with_reached_nodes() -> None:
    task = make_task("""
        intent: Where is it?
        sites: [shopping]
        checks: [{key_nodes: [{url: {includes: /catalogue}}]}, {answer: here}]
        solution: [{goto: /catalogue}, {stop: there}]
    """)
    found = checked(task, trial([at("/catalogue")], answer="there"), [did(0), did(1)])
    assert found.status == "broken"
    assert found.parts[-1].name == "checks[1] answer"
    assert checked(task, trial([at("/catalogue")], answer="here"), [did(0), did(1)]).status == "valid"


def test_solution_that_reaches_a_forbidden_node_is_broken() -> None:
    task = make_task("""
        intent: Look
        sites: [shopping]
        checks: [{key_nodes: [{url: {includes: /catalogue}}, {url: {includes: /checkout}, forbidden: true}]}]
        solution: [{goto: /catalogue}]
    """)
    assert checked(task, trial([at("/catalogue")]), [did(0), did(1)]).status == "valid"
    found = checked(task, trial([at("/catalogue"), at("/checkout")]), [did(0), did(1)])
    assert found.status == "broken"
    assert found.why == f'forbidden: url of shopping includes "/checkout": the solution reaches it: {SHOP}/checkout'


def test_a_failed_verdict_is_never_valid() -> None:
    assert checked(buy(), RIGHT, DONE, outcome="failed", message="no").status == "broken"


@each_case(
    ("url", "status", "facts", "wanted"),
    [
        ("/catalogue/kettle_7", 403, {}, "blocked"),
        ("/catalogue/kettle_7", 401, {}, "blocked"),
        ("/catalogue/kettle_7", 429, {}, "blocked"),
        ("/catalogue/kettle_7", 500, {}, "site down"),
        ("/catalogue/kettle_7", None, {}, "site down"),
        ("/catalogue/kettle_7", 404, {}, "broken"),
        ("/catalogue/kettle_7", 200, {"title": "Just a moment..."}, "blocked"),
        ("/catalogue/kettle_7", 200, {"html": "<p>Prove that you are not a robot: you're not a robot</p>"}, "blocked"),
        ("/accounts/login/", 200, {"html": '<form><input type="password"></form>'}, "blocked"),
        ("/catalogue/kettle_7", 200, {"html": '<form><input type="password"></form>'}, "broken"),
        ("/catalogue/kettle_7", 200, {"html": "captcha " + "A long page about kettles. " * 200}, "broken"),
    ],
)
def test_site_errors_are_blocked_or_site_down_not_broken(
    url: str, status: int | None, facts: dict[str, str], wanted: str
) -> None:
    recorded = ended_at(trial([at("/")]), SHOP + url, status, **facts)
    found = checked(buy(), recorded, [did(0), did(1, found=False)])
    assert found.status == wanted
    assert statuses(found)[1] == wanted
    assert found.why


WORDS = "<p>We sell kettles. Our help page explains how to verify you are human at checkout.</p>"
FRAME = '<iframe src="https://www.google.com/recaptcha/api2/anchor?k=1"{}></iframe>'


@each_case(
    ("html", "wanted"),
    [
        (f"<h1>Kettles</h1>{WORDS}<p>{'Long text about kettles. ' * 100}</p>", "broken"),
        (f"<h1>Kettles</h1>{WORDS}", "broken"),
        (WORDS + "<a href=/>Kettle</a>" * 6, "broken"),
        (f"<h1>Are you a robot?</h1><p>{'A story about robots. ' * 60}</p>", "broken"),
        ("<h1>Verify you are human</h1><p>Please complete the CAPTCHA to continue</p>", "blocked"),
        (f"<h1>Shop</h1>{FRAME.format('')}", "blocked"),
        (f"<h1>Shop</h1>{FRAME.format(' hidden')}", "broken"),
        ('<h1>Shop</h1><div class="g-recaptcha" data-size="invisible"></div>', "broken"),
        ('<h1>Shop</h1><div class="cf-turnstile"></div>', "blocked"),
        ("<h1>Shop</h1><noscript>Captcha</noscript><script>let captcha</script>", "broken"),
    ],
)
def test_page_that_mentions_captchas_is_not_blocked(html: str, wanted: str) -> None:
    recorded = ended_at(trial([at("/")]), f"{SHOP}/catalogue/kettle_7", html=html)
    assert checked(buy(), recorded, [did(0), did(1, found=False)]).status == wanted


def test_known_page_with_an_embedded_captcha_is_broken() -> None:
    task, captcha = buy(), '<div class="g-recaptcha"></div>'
    recorded = ended_at(trial([at("/")]), f"{SHOP}/", html=f"<a>Kettle</a>{captcha}")
    assert checked(task, recorded, [did(0), did(1, found=False)], known(task)).status == "broken"
    recorded = ended_at(recorded, f"{SHOP}/", html=captcha)
    assert checked(task, recorded, [did(0), did(1, found=False)], known(task)).status == "blocked"


def test_renamed_button_at_its_place_has_drifted() -> None:
    task = make_task("""
        intent: Buy it
        sites: [shopping]
        checks: [{key_nodes: [{element: 'role=button[name="Buy now"]', name: bought}]}]
        solution: [{click: 'role=button[name="Buy now"]'}]
    """)
    node = {"checks[0]#0": 0}
    before = replace(known(task), steps=(replace(BUTTON, selector="#buy"), None), nodes=node)
    named = {"role": "button", "name": "Purchase", "text": "Purchase", "selector": "#buy"}
    renamed = trial([at("/")], [event("html > form > button#buy", target=named)], answer="")
    tried = [did(0, how="its place in the document"), did(1)]
    found = checked(task, renamed, tried, before)
    assert (found.status, statuses(found)) == ("drifted", ["drifted", "valid", "drifted"])
    assert found.why.startswith("step 1 of 2 (click it): found by its place in the document")
    assert "step 1 of 2 (click it) reached it before, and is now found by its place" in found.parts[2].why
    elsewhere = trial([at("/")], [event("html > form > button#sell", target=named)], answer="")
    lost = checked(task, elsewhere, tried, before)
    assert lost.status == "broken"
    assert "step 1 of 2 (click it) reached it before" in lost.why
    assert checked(task, renamed, tried).status == "broken"  # nothing is known of it
    link = TargetRecord(selector="#buy", role="link", name="Imprint", tag="a")
    turned = replace(renamed, steps=tuple(replace(step, target=link) for step in renamed.steps))
    assert checked(task, turned, tried, before).status == "broken"


@each_case(
    ("html", "more", "wanted"),
    [
        ("<h1>Price 42</h1>", "", "valid"),
        ("<h1>Price 43</h1>", "", "untried"),
        ("<h1>Price 142</h1><p>42.50</p><script>42</script>", "", "untried"),
        ("<h1>Price 43</h1>", ", {url: /kettle}", "valid"),
    ],
)
def test_literal_answer_alone_is_untried_unless_the_page_shows_it(html: str, more: str, wanted: str) -> None:
    task = make_task(f"""
        intent: What does it cost?
        sites: [shopping]
        checks: [{{answer: "42"}}{more}]
        solution: [{{goto: /kettle}}, {{stop: "42"}}]
    """)
    recorded = ended_at(trial([at("/kettle")], answer="42"), f"{SHOP}/kettle", html=html)
    found = checked(task, recorded, [did(0), did(1)])
    assert found.status == wanted
    part = next(part for part in found.parts if part.name == "checks[0] answer")
    assert ("the solution has written out" in part.why) is (" 42<" not in html)


def test_blocked_frame_does_not_block_the_page() -> None:
    recorded = ended_at(trial([at("/")]), f"{SHOP}/", 200)
    recorded = replace(recorded, requests=(*recorded.requests, *ended_at(recorded, "http://ads.test/", 403).requests))
    assert checked(buy(), recorded, [did(0, found=False)]).status == "broken"


def test_login_page_does_not_block_a_solution_that_logs_in() -> None:
    task = make_task("""
        intent: Sign in
        sites: [shopping]
        checks: [{key_nodes: [{url: {includes: /me}}]}]
        solution: [{goto: /accounts/login/}, {fill: {css=#password: secret}}, {press: Enter}]
    """)
    recorded = ended_at(trial([at("/accounts/login/")]), f"{SHOP}/accounts/login/", 200, html="<input type=password>")
    assert checked(task, recorded, [did(0), did(1, found=False)]).status == "broken"


@each_case(
    ("cause", "status"),
    [("site", "site down"), ("task", "broken"), ("browser", "untried"), ("harness", "untried")],
)
def test_trial_error_status_depends_on_its_cause(cause: str, status: str) -> None:
    found = checked(buy(), None, [], cause=cause, message="Something went wrong.")
    assert found.status == status
    assert "Something went wrong." in found.why
    assert "valid" not in statuses(found)


def test_site_broken_by_the_replay_is_down() -> None:
    found = checked(buy(), None, [], outcome="failed", stop_reason="broke_site", cause=None, message="It has died.")
    assert found.status == "site down"
    assert found.why == "the site breaks when the task is replayed, and only then: It has died."
    assert checked(buy(), None, [], outcome="failed", cause=None, message="").status == "untried"
    found = checked(buy(), None, [], outcome="failed", stop_reason="broke_browser", cause=None, message="It crashed.")
    assert (found.status, found.why) == ("untried", "It crashed.")


def test_check_without_a_response_of_the_site_is_site_down() -> None:
    task = make_task("""
        intent: Look
        sites: [shopping]
        checks: [{page: {open: /, locate: css=h1, includes: Shop}}]
        solution: [{goto: /catalogue}]
    """)
    facts: dict[str, Any] = {"outcome": "error", "message": f"{NO_VERDICT}no answer"}
    recorded = trial([at("/catalogue")])
    assert checked(task, recorded, [did(0), did(1)], cause="site", **facts).status == "site down"
    assert checked(task, recorded, [did(0), did(1)], cause="task", **facts).status == "untried"


def test_node_that_needs_a_judge_makes_its_task_untried() -> None:
    task = make_task("""
        intent: Look
        sites: [shopping]
        checks: [{key_nodes: [{url: {param: q, semantic: about kettles}}]}]
        solution: [{goto: /catalogue?q=kettle}]
    """)
    found = checked(task, trial([at("/catalogue?q=kettle")]), [did(0), did(1)])
    assert found.status == "untried"
    assert "judge" in found.why


@pytest.mark.parametrize("recorded", [RIGHT, None])
def test_task_without_tried_parts_is_untried(recorded: Evidence | None) -> None:
    assert checked(buy(solution=None), recorded, [], outcome="passed").status == "untried"
    assert untried(buy(), "no such site", at=1.0).status == "untried"
    assert set(statuses(untried(buy(), "no such site", at=1.0))) == {"untried"}


def visited(number: int, path: str, kind: str = "open", **more: object) -> TriedAction:
    values: dict[str, object] = {"kind": kind, "number": number, "found": True, "step": number, "url": SHOP + path}
    return TriedAction(**{**values, **more})  # type: ignore[arg-type]


def test_key_nodes_are_tried_without_a_solution() -> None:
    task = buy(solution=None)
    recorded = ended_at(trial([at("/catalogue/kettle_7")]), f"{SHOP}/catalogue/kettle_7")
    both = [visited(0, "/catalogue/kettle_7"), visited(1, "/catalogue/kettle_7")]
    there = checked(task, recorded, [*both, visited(1, "/catalogue/kettle_7", "find")])
    assert (there.status, statuses(there)) == ("valid", ["valid", "valid"])
    moved = visited(1, "/", "find", how="role and name, elsewhere on the page", error="No element matches it.")
    assert statuses(checked(task, recorded, [*both, moved])) == ["valid", "drifted"]
    missing = visited(1, "/", "find", found=False, error="No element matches it.")
    assert statuses(checked(task, recorded, [*both, missing])) == ["valid", "broken"]
    assert statuses(checked(task, recorded, both[:1])) == ["valid", "untried"]


@pytest.mark.parametrize(("status", "wanted"), [(404, "broken"), (403, "blocked"), (502, "site down")])
def test_recorded_url_with_an_error_status_is_not_valid(status: int, wanted: str) -> None:
    recorded = ended_at(trial([at("/catalogue/kettle_7")]), f"{SHOP}/catalogue/kettle_7", status)
    found = checked(buy(solution=None), recorded, [visited(0, "/catalogue/kettle_7")])
    assert statuses(found) == [wanted, "untried"]
    assert found.status == wanted


def test_each_opened_page_is_judged_by_its_own_response() -> None:
    recorded = ended_at(trial([at("/catalogue/kettle_7")]), f"{SHOP}/catalogue/kettle_7", 403)
    recorded = ended_at(recorded, f"{SHOP}/kettles")
    tried = [visited(0, "/catalogue/kettle_7"), visited(1, "/kettles"), visited(1, "/kettles", "find")]
    assert statuses(checked(buy(solution=None), recorded, tried)) == ["blocked", "valid"]


def test_recorded_url_that_redirects_elsewhere_is_broken() -> None:
    recorded = ended_at(trial([at("/sorry")]), f"{SHOP}/sorry")
    found = checked(buy(solution=None), recorded, [visited(0, "/sorry")])
    assert found.parts[0].status == "broken"
    assert found.parts[0].why == f"its recorded address leads to {SHOP}/sorry, which is not it"


def test_targets_of_a_valid_task_are_stored() -> None:
    task = buy()
    steps = [replace(step, target=BUTTON if step.index == 1 else None) for step in RIGHT.steps]
    recorded = replace(RIGHT, steps=tuple(steps))
    from pytest_webarena.checks import judge
    from pytest_webarena.results import TrialKey, TrialRecord

    record = TrialRecord(
        key=TrialKey(task.id, "monitor", 1), outcome="passed", verdict=judge(task, recorded).to_json(), started=7.0
    )
    kept = known_of(task, record, recorded, DONE)
    assert kept.steps == (None, BUTTON, None)
    assert kept.nodes == {"checks[0]#0": 0, "checks[0]#1": 1}
    assert type(kept).from_json(kept.to_json()) == kept
