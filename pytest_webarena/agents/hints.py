"""Hints for a few common errors of agents' programs."""

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
    "the program runs in a copy of its files, without node_modules: set 'env: [NODE_PATH]' (CommonJS), "
    "'files: [node_modules]', or name the script by its absolute path"
)


def hint(text: str) -> str:
    """How to fix ``text``, the end of a failed agent's output; empty without advice."""
    if _UNRESOLVED.search(text) and _OF_SITES.search(text):
        return f"\n(hint: {_SITES})"
    if _NO_MODULE.search(text):
        return f"\n(hint: {_MODULES})"
    return ""
