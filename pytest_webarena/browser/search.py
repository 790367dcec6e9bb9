"""Providers of results for the action ``search``: a search engine's page, a program, or recorded results."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus, urlsplit

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.plain_data import kind_of
from pytest_webarena.text import clip
from pytest_webarena.yaml_files import read_yaml

__all__ = ["NO_SEARCH", "Result", "SearchKeys"]

NO_SEARCH = "There is no search here. Open an address with goto, or use the search of a page."
"""Error for agents that search where no provider is configured."""

_SLOT = "{query}"
_LONGEST_QUERY = 1000
"""Maximum number of characters of a query."""
_LONGEST_PART = 300
"""Maximum number of characters of each part of a result."""


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a search."""

    title: str
    url: str
    text: str = ""

    def __str__(self) -> str:
        return " | ".join(clip(part, _LONGEST_PART) for part in (self.title, self.url, self.text) if part.strip())


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchKeys:
    """The key ``search`` of a definition: exactly one of ``page``, ``program`` and ``recorded``."""

    page: str = ""
    """Address of a page of results with ``{query}`` in it, on a site that the trial can reach. The action opens it."""
    program: tuple[str, ...] = ()
    """Command that receives ``{"query": …, "results": 10}`` on standard input and prints a list of results as JSON,
    each with ``title``, ``url`` and optionally ``text``. It runs next to the harness, not in the agent's sandbox."""
    recorded: Path | None = None
    """YAML or JSON file with a mapping of queries to such lists. Case and blanks of queries are ignored."""
    results: int = 10
    """Maximum number of results."""
    seconds: float = 30.0
    """Time limit for the program in seconds."""
    base: Path = Path()
    """Working directory of the program; set by the harness."""

    def __post_init__(self) -> None:
        given = [name for name in ("page", "program", "recorded") if getattr(self, name)]
        if len(given) != 1:
            found = " and ".join(given) or "none of them"
            raise ValueError(f"search: expected one of page, program and recorded, found {found}")
        if self.page:
            parts = urlsplit(self.page)
            if parts.scheme not in ("http", "https") or not parts.hostname or _SLOT not in parts.path + parts.query:
                raise ValueError(f"page: expected an http(s) address with {_SLOT} in its path or query, e.g. "
                                 f"http://find.test/?q={_SLOT}, found {self.page!r}")  # fmt: skip
        if not 1 <= self.results <= 50:
            raise ValueError(f"results: expected 1 to 50, found {self.results}")
        if not 0 < self.seconds <= 600:
            raise ValueError(f"seconds: expected a number above 0 and of at most 600, found {self.seconds:g}")
        if self.recorded is not None:
            self._read_recorded()  # report mistakes in the file now

    @property
    def files(self) -> tuple[Path, ...]:
        """Files that its results depend on."""
        parts = (self.base / part for part in self.program if part.startswith("./") or Path(part).suffix == ".py")
        return (*([self.recorded] if self.recorded is not None else []), *(part for part in parts if part.is_file()))

    def address(self, query: str) -> str:
        """Return the address of the page of results for a query."""
        return self.page.replace(_SLOT, quote_plus(query[:_LONGEST_QUERY], errors="replace"))

    async def find(self, query: str, *, seconds: float) -> tuple[Result, ...]:
        """Return the results for a query. `SiteError` if the program fails, which is not the agent's fault."""
        import asyncio

        query = " ".join(query[:_LONGEST_QUERY].encode("utf-8", "replace").decode().split())
        if self.recorded is not None:
            return self._read_recorded().get(_normalised(query), ())[: self.results]
        output = await asyncio.to_thread(self._run, query, min(seconds, self.seconds))
        found = read_results(output)
        if isinstance(found, str):
            raise SiteError(f"the search program {self.program[0]}: {found}")
        return found[: self.results]

    def _read_recorded(self) -> dict[str, tuple[Result, ...]]:
        assert self.recorded is not None
        where = f"search {self.recorded}"
        data = read_yaml(self.recorded, where)
        if not isinstance(data, Mapping):
            raise UsageError(f"{where}: expected a mapping of queries to lists of results")
        found: dict[str, tuple[Result, ...]] = {}
        for query, each in data.items():
            results = read_results(each)
            if isinstance(results, str):
                raise UsageError(f"{where}: {clip(str(query))}: {results}")
            found[_normalised(str(query))] = results
        return found

    def _run(self, query: str, seconds: float) -> Any:
        """Return what the program printed, as plain data. Its process group is killed afterwards."""
        name = f"the search program {self.program[0]}"
        request = json.dumps({"query": query, "results": self.results}).encode()
        try:
            process = subprocess.Popen(
                self.program, cwd=self.base, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise SiteError(f"{name} could not be started: {error.strerror}") from None
        try:
            out, errors = process.communicate(request, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise SiteError(f"{name}: expected results within {seconds:.0f} s, found none") from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
        if process.returncode:
            message = clip(errors.decode("utf-8", "replace")[-_LONGEST_PART:], _LONGEST_PART)
            raise SiteError(f"{name} ended with {process.returncode}: {message}")
        try:
            return json.loads(out)
        except (ValueError, RecursionError):
            raise SiteError(f"{name}: expected a list as JSON, found {clip(repr(out[:200]))}") from None


def read_results(data: Any) -> tuple[Result, ...] | str:
    """Return results from plain data, or else an error message."""
    if not isinstance(data, list):
        return f"expected a list of results, each with title and url, found {kind_of(data)}"
    found = []
    for number, each in enumerate(data, start=1):
        parts = [each.get(name, "") for name in ("title", "url", "text")] if isinstance(each, Mapping) else []
        if not parts or not all(isinstance(part, str) for part in parts) or not parts[1]:
            return f"result {number}: expected title, url and optionally text, as texts"
        found.append(Result(*parts))
    return tuple(found)


def _normalised(query: str) -> str:
    return " ".join(query.casefold().split())
