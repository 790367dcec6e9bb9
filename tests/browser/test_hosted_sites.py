"""Two hosted applications on one host, which know only their own addresses, in one real browser under their names."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from pytest_webarena.gateway.session import GatewaySession
from tests.browser.gateway_lab import Lab
from tests.hosted_app import HostedApp, hosted_app


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
        assert {cookie.get("domain") for cookie in await context.cookies()} == {".shop.test", ".forum.test"}
        asks = f"fetch('{apps[1].url}/me', {{headers: {{'X-Wish': '1'}}}}).then(answer => answer.json())"
        assert await page.evaluate(asks) == ""  # browsers send no cookies there, which is a fault of the trial
        assert "keep_address: true" in session.upstream_error
        await context.close()
        await session.close()

    lab.run(work())
