"""Ensures that checks read sites as the task's account: tests logins while collecting, and uses the result in judging.

Sites are first read in the agent's own session. If its account is no longer logged in there, the harness logs it in
again with cookies of its own and repeats the readings, so that logging out after the work does not fail the agent.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

from pytest_webarena.checks.kind import Judgement, Live, Page, late_reader
from pytest_webarena.errors import Cause
from pytest_webarena.evidence import Evidence, Probe, SignedIn

__all__ = ["API_REMEDY", "SignIns", "TabsNoted", "Watched", "weigh_sign_in"]

API_REMEDY = (
    "where the app signs in by a token, give the site an 'api' recipe that fetches one, or the check 'headers' "
    "with it; where cookies do, give its sign_in an 'api_check'"
)
"""Remedy for apps where plain requests with an account's cookies are anonymous."""
_ENDS_SESSION = "a task whose goal ends the session, such as to sign out, says 'ends_session: true'"
_Visitor = tuple[str, str] | None
"""A site and the account that visits it; None for an anonymous visitor."""
_Way = Literal["page", "api"]
_Key = tuple[str, _Way]
"""A site, and how it was read."""


def _nobody(*_: Any) -> _Visitor:
    return None


class SignIns:
    """Tests the logins of one cookie jar: each site's once before its first reading and once at the end."""

    def __init__(self, live: Live, *, on: bool = True, again: bool = False) -> None:
        """``on``: whether to test at all; nothing is tested if ``live`` does not know accounts. ``again``: whether the
        jar is the harness's own."""
        self._live: Any = live
        self._again = again
        self.visitor: Callable[[str], _Visitor] = getattr(live, "visitor", _nobody) if on else _nobody
        self.caller: Callable[..., _Visitor] = getattr(live, "caller", _nobody) if on else _nobody
        self.found: dict[_Key, SignedIn] = {}
        self.renewed: set[str] = set()
        """Sites whose visitors were logged in again."""

    def meet(self, visitor: _Visitor, way: _Way = "page") -> tuple[_Key, ...]:
        """Test a visitor's login, unless it was tested before. Returns the site and the way; empty without a
        visitor."""
        if visitor is None:
            return ()
        site, user = visitor
        if (site, way) not in self.found:
            doubt, failed = self._live.sign_in_doubt(site, way=way, agents=not self._again)
            self.found[site, way] = SignedIn(
                site=site, user=user, before=doubt, failed=failed, way=way, again=self._again
            )
        return ((site, way),)

    def end(self) -> None:
        """Test the logins again that were valid so far."""
        for (site, way), known in self.found.items():
            if known.again is not self._again:
                continue
            if not known.before:
                doubt, failed = self._live.sign_in_doubt(site, way=way, agents=False)
                known = replace(known, after=doubt, failed=failed)
            untouched = bool(known.before or known.after) and not self._again and self._live.keeps_sign_in(site)
            self.found[site, way] = replace(known, untouched=untouched)

    def lost(self) -> frozenset[_Key]:
        """Returns the sites and ways for which the visitor was not logged in."""
        return frozenset(key for key, each in self.found.items() if each.before or each.after)

    @contextmanager
    def again(self, sites: Collection[str]) -> Iterator[SignIns]:
        """Yields another instance, with a cookie jar of the harness's own in which the visitors of ``sites`` are logged
        in again.

        It records in this instance which logins failed, and why, and copies the results of all other sites.
        """
        with self._live.signed_in_again(sorted(sites)) as refused:
            for key, known in self.found.items():
                if key[0] in refused:
                    why, failed = refused[key[0]]
                    self.found[key] = replace(known, refused=why, failed=known.failed or failed)
            other = SignIns(self._live, again=True)
            other.renewed = {*sites} - {*refused}
            other.found = {key: each for key, each in self.found.items() if key[0] not in other.renewed}
            yield other
            other.end()


class TabsNoted(Evidence):
    """Evidence that records whether the content of the tabs at the end was read."""

    __slots__ = ("seen",)
    seen: bool

    @classmethod
    def of(cls, evidence: Evidence) -> TabsNoted:
        """Returns a copy of the evidence."""
        made = object.__new__(cls)
        for field in fields(evidence):
            object.__setattr__(made, field.name, getattr(evidence, field.name))
        object.__setattr__(made, "seen", False)
        return made

    def __getattribute__(self, name: str) -> Any:
        if name == "tabs":
            object.__setattr__(self, "seen", True)
        return object.__getattribute__(self, name)

    @property
    def url(self) -> str:
        """Address of the active tab; reading it does not count as reading its content."""
        return next((tab.url for tab in object.__getattribute__(self, "tabs") if tab.active), "")


class Watched:
    """Wraps `Live` for a check, and records which sites the check read as an account."""

    def __init__(self, live: Live, sign_ins: SignIns, *, late: bool = False) -> None:
        """``late``: whether every page is read for content that must be absent, as negated checks need."""
        self.unwatched = live
        self._sign_ins = sign_ins
        self._late = late
        self._visited: dict[_Key, None] = {}
        self._tabs: set[_Key] = set()
        """Sites read in the tabs that the agent left, which can't be read again."""

    @property
    def sign_ins(self) -> tuple[SignedIn, ...]:
        """Login results of the sites that were read, in order."""
        return tuple(self._sign_ins.found[key] for key in self._visited)

    def repeats(self, lost: Collection[_Key]) -> set[str]:
        """Returns the sites of ``lost`` that can be read again completely; none if the agent's tabs were read."""
        return set() if self._tabs.intersection(lost) else {key[0] for key in self._visited if key in lost}

    def read_page(self, *, open: str | None, **asked: Any) -> Page:
        """Read a page, as `Live.read_page` does."""
        return self._read(late_reader(self.unwatched) if self._late else self.unwatched.read_page, open, asked)

    def read_page_late(self, *, open: str | None, **asked: Any) -> Page:
        """Read a page for content that must be absent."""
        return self._read(late_reader(self.unwatched), open, asked)

    def fetch(self, site: str, path: str, **request: Any) -> tuple[int, str]:
        """Send a request, as `Live.fetch` does."""
        self._meet(self._sign_ins.caller(site, path, request.get("headers")), "api")
        return self.unwatched.fetch(site, path, **request)

    def see_tabs(self, addresses: Iterable[str]) -> None:
        """Record that the content of tabs at these addresses is read."""
        for address in addresses:
            self._tabs.update(self._meet(self._sign_ins.visitor(address)))

    def _read(self, read: Callable[..., Page], open: str | None, asked: Mapping[str, Any]) -> Page:
        if open:
            self._meet(self._sign_ins.visitor(open))
        page = read(open=open, **asked)
        # Reading the current tab sends no request, so it comes before the page that tests the login.
        if open:
            self._meet(self._sign_ins.visitor(page.url))
        else:
            self.see_tabs([page.url])
        return page

    def _meet(self, visitor: _Visitor, way: _Way = "page") -> tuple[_Key, ...]:
        keys = self._sign_ins.meet(visitor, way)
        self._visited |= dict.fromkeys(keys)
        return keys

    def __getattr__(self, name: str) -> Any:
        return getattr(self.unwatched, name)


def weigh_sign_in(judgement: Judgement, probe: Probe | None, evidence: Evidence, *, negated: bool = False) -> Judgement:
    """Returns ``judgement``, unless it is based on what was shown to a visitor who was no longer logged in.

    ``negated``: whether the check is negated.
    """
    if probe is None or not probe.sign_ins:
        return judgement
    doubt = next(filter(None, (_doubt(each, evidence) for each in probe.sign_ins)), None)
    if doubt is None:
        again = [f"after signing {each.user} in to {each.site} again" for each in probe.sign_ins if each.again]
        read = ", ".join(filter(None, (judgement.actual, *dict.fromkeys(again))))
        if not again:
            return judgement
        missed = judgement.score is not None and judgement.score == (1.0 if negated else 0.0)
        why = "; ".join(filter(None, (judgement.why, _ENDS_SESSION))) if missed else judgement.why
        return replace(judgement, actual=read, why=why)
    if judgement.score is None and (
        judgement.cause not in (None, "task", "agent") or (judgement.cause == "agent" and doubt.cause == "agent")
    ):
        return judgement  # its cause has the same effect, and says more about the page
    actual = ", ".join(filter(None, (judgement.actual, "signed out"))) if doubt.cause == "agent" else judgement.actual
    return replace(judgement, score=None, actual=actual, why=doubt.why, cause=doubt.cause, judgeable=False)


class _Doubt(NamedTuple):
    """Why a reading proves nothing, and whose fault that is."""

    why: str
    cause: Cause


def _doubt(each: SignedIn, evidence: Evidence) -> _Doubt | None:
    found, who = each.before or each.after, f"{each.user} is not signed in to {each.site}"
    if not found:
        return None
    if each.refused:
        found += f"; signing in again failed: {each.refused}"
    if each.failed:
        return _Doubt(f"the site {each.site} did not tell whether {each.user} is signed in: {found}", "site")
    nothing = "so nothing that was read there counts"
    if each.again and each.way == "api":
        return _Doubt(
            f"plain requests with cookies of {each.user} are nobody's at {each.site} ({API_REMEDY}): {found}", "task"
        )
    if each.again:
        when = "right after signing in again" if each.before else "after the checks' own readings, which may sign out"
        return _Doubt(f"{who} {when}, {nothing}: {found}", "site" if each.before else "task")
    if each.untouched and not _asked(evidence, each.site):
        return _Doubt(
            f"the site {each.site}, not the agent, ended the session of {each.user}, {nothing}: {found}", "site"
        )
    return _Doubt(f"{who} any more, {nothing} ({_ENDS_SESSION}): {found}", "agent")


def _asked(evidence: Evidence, site: str) -> bool:
    """Whether the agent's browser sent the site a request that it had not sent before the agent began.

    Any such request may have ended the session: no address shows that it did not. Unrecorded requests may have, too.
    """
    if evidence.unrecorded or not evidence.began:
        return True
    base = _origin(evidence.sites.get(site, ""))
    before = {(each.method, each.url) for each in evidence.requests if each.time < evidence.began}
    return any(
        (each.method, each.url) not in before
        for each in evidence.requests
        if each.time >= evidence.began and _origin(each.url) == base
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
