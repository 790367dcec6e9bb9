"""Tasks on containers: the same verdicts as on processes, and no containers remain."""

from __future__ import annotations

import json
import re
import time
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.sites.backends.docker.labels import OWNER

if TYPE_CHECKING:
    from docker import DockerClient

pytestmark = [pytest.mark.docker, pytest.mark.browser, pytest.mark.timeout(1300)]

TASKS = """
defaults: {sites: [homepage]}
tasks:
  - id: note
    intent: Add a note titled "Rye".
    checks:
      - state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}
      - page: {open: /scratchpad/, includes: Rye}
    solution: &write
      - goto: homepage:/scratchpad/new
      - fill: {css=#title: Rye}
      - fill: {css=#body: and butter}
      - click: role=button[name="Save note"]
  - id: again
    intent: Add a note titled "Rye", and see that nobody did so before.
    checks:
      - state: {sql: "select count(*) from notes where title = 'Rye'", equals: 1}
    solution: *write
  - id: sum
    intent: What is 12 times 34?
    checks: [{answer: {number: 408}}]
    solution:
      - goto: homepage:/calculator
      - fill: {css=#expression: 12*34}
      - press: Enter
      - stop: "408"
  - id: mug
    intent: Follow the start page to the store and put an Estuary mug of 450 ml into the basket.
    sites: [homepage, shopping]
    checks:
      - state:
          site: shopping
          sql: >-
            select p.title from basket_line l join basket_basket b on b.id = l.basket_id
            join catalogue_product p on p.id = l.product_id join auth_user u on u.id = b.owner_id
            where b.status = 'Open' and u.username = 'mara.linden'
          rows: [["Estuary Mug, 450 ml"]]
    solution:
      - click: css=.sites a[href^="http://shopping.test"]
      - fill: {css=#id_q: estuary mug}
      - press: Enter
      - click: css=.product-grid h3 >> role=link[name="Estuary Mug, 450 ml"]
      - click: css=#add_to_basket_form >> role=button[name="Add to basket"]
      - stop
"""


def verdicts(pytester: pytest.Pytester, run: str) -> dict[tuple[str, str], Any]:
    found = [json.loads(file.read_text()) for file in (pytester.path / run / "trials").glob("*/trial.json")]
    return {(record["key"]["task"], record["key"]["agent"]): (record["outcome"], record["score"]) for record in found}


@pytest.mark.exhaustive
def test_containers_and_processes_give_the_same_verdicts(
    pytester: pytest.Pytester, engine: DockerClient, embedded_image: str, shop_image: str
) -> None:
    (pytester.path / "demo.tasks.yaml").write_text(TASKS)
    agents = ("--agent=oracle", "--agent=null", "-k", "oracle or not mug")
    on_docker = pytester.runpytest_subprocess(
        *agents, "-n2", "--sites=embedded-docker", "--run-dir=docker", timeout=600
    )
    on_docker.assert_outcomes(passed=4, failed=3)
    pytester.runpytest_subprocess(*agents, "--run-dir=process", timeout=600).assert_outcomes(passed=4, failed=3)
    assert verdicts(pytester, "docker") == verdicts(pytester, "process")
    records = [json.loads(file.read_text()) for file in (pytester.path / "docker" / "trials").glob("*/trial.json")]
    assert all(digest.startswith("sha256:") for record in records for digest in record["replicas"].values())
    assert {app for record in records for app in record["replicas"]} == {"homepage", "shop"}
    log = (pytester.path / "docker" / "broker.log").read_text()
    owner = re.search(r"broker (\d+/\d+/[0-9a-f-]+) serves", log)
    assert owner is not None
    of_owner: dict[str, Any] = {"label": f"{OWNER}={owner[1]}"}
    deadline = time.monotonic() + 30  # the reaper removes what the broker could not remove in time
    while leftovers := [
        *engine.containers.list(all=True, filters=of_owner, ignore_removed=True),
        *engine.networks.list(filters=of_owner),
    ]:
        assert time.monotonic() < deadline, leftovers
        time.sleep(0.1)


SITES = """
schema_version: 1
apps:
  shop:
    backend: docker
    sites: {shop: {host: shop.test}}
    ready: [{http: {path: /, status: [200, 302]}}]
    docker:
      image: localhost/pytest-webarena-standin
      port: 8080
      memory: 64m
      post_start: [[magento, "setup:store-config:set", "--base-url={url}"]]
"""
CRASHES = """
defaults: {sites: [shop], checks: [{page: {includes: the shop}}], solution: [stop]}
tasks:
  - {id: dies, intent: Look at the shop.}
  - {id: eats, intent: Look at the shop again.}
"""
BREAKER = """
kind: scripted
tasks:
  dies: [{goto: "shop:/crash"}, stop]
  eats: [{goto: "shop:/eat"}, {goto: "shop:/"}, stop]
"""


@pytest.mark.matrix(1)  # running out of memory is seen, too: test_manifests.py
@pytest.mark.parametrize(
    ("name", "control", "reason", "expected"),
    [
        ("dies", "address", "unattributed", ["exit code 7", "crashing on request"]),  # its last page is enough
        ("eats", "recurs", "broke_site", ["ran out of memory"]),
    ],
)
def test_agent_that_breaks_its_site_fails(
    pytester: pytest.Pytester, standin_image: str, name: str, control: str, reason: str, expected: list[str]
) -> None:
    (pytester.path / "sites.yaml").write_text(SITES)
    (pytester.path / "crash.tasks.yaml").write_text(CRASHES)
    (pytester.mkdir("agents") / "breaker.yaml").write_text(BREAKER)
    result = pytester.runpytest("--agent=breaker", "--sites=sites.yaml", "--run-dir=run", "-k", name)
    result.assert_outcomes(failed=1, deselected=1)  # a new replica works without the agent
    (file,) = (pytester.path / "run" / "trials").glob("*/trial.json")
    record = json.loads(file.read_text())
    first, second = record["attempts"]
    assert (first["outcome"], second["outcome"], second["cause"]) == ("failed", "error", "site")
    assert (record["event"], record["control"], record["stop_reason"]) == ("site", control, reason)
    for text in expected:
        assert text in record["message"]
    assert "+" in record["replicas"]["shop"]  # the configuration is part of the digest
