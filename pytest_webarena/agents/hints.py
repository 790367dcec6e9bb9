"""What stands behind a few errors of agents' programs, for people who see them for the first time."""

from __future__ import annotations

import re

__all__ = ["hint"]

_UNRESOLVED = re.compile(
    r"ENOTFOUND|EAI_AGAIN|Name or service not known|nodename nor servname|name resolution|Failed to resolve"
)
_OF_SITES = re.compile(r"[\w-]\.test\b")
_NO_MODULE = re.compile(r"ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|Cannot find (?:package|module) '")

_SITES = (
    "the sites have their names in the task's browser alone: open them there, or fetch from a page "
    "(page.evaluate(() => fetch(…))); context.request and HTTP clients don't find them"
)
_MODULES = (
    "the program runs in a copy of its files, apart from node_modules: say 'env: [NODE_PATH]' (CommonJS), "
    "'files: [node_modules]', or name the script by its absolute path"
)


def hint(text: str) -> str:
    """What to do about ``text``, the end of what an agent said when it failed; empty where there is nothing to add."""
    if _UNRESOLVED.search(text) and _OF_SITES.search(text):
        return f"\n(hint: {_SITES})"
    if _NO_MODULE.search(text):
        return f"\n(hint: {_MODULES})"
    return ""
