"""Hints added to common errors of new users."""

from __future__ import annotations

from pytest_webarena.agents.hints import hint
from tests.cases import each_case

NODE = """node:internal/modules/esm/resolve:873
Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'puppeteer-core' imported from /tmp/agent/solve.mjs
Node.js v20.20.2"""


@each_case(
    ("stderr", "expected"),
    [
        ("Error: apiRequestContext.get: getaddrinfo ENOTFOUND shop.test", "fetch from a page"),
        ("httpx.ConnectError: [Errno -2] Name or service not known (http://shop.test/)", "fetch from a page"),
        ("getaddrinfo ENOTFOUND api.openai.com", ""),
        ("expect(page.url).toBe('http://shop.test/')", ""),
        (NODE, "files: [node_modules]"),
        ("Error: Cannot find module 'playwright'\nRequire stack:", "NODE_PATH"),
        ("ValueError: no price", ""),
        ("", ""),
    ],
)
def test_hint_says_how_to_fix_common_errors(stderr: str, expected: str) -> None:
    assert expected in hint(stderr)
    assert bool(expected) == bool(hint(stderr))
