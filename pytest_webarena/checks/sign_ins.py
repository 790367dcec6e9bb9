"""What checks read of a site counts only as seen by the account that the task visits it as: collecting, judging.

Readings are made in the agent's own session first. Where its account is not signed in there, the harness signs it in
again, with cookies of its own, and repeats them: whoever signs out after the work must not fail by that.
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
"""What to do where plain requests with an account's cookies are nobody's."""
_ENDS_SESSION = "a task whose goal ends the session, such as to sign out, says 'ends_session: true'"
_Visitor = tuple[str, str] | None
"""A site and the account that visits it; None for nobody."""
_Way = Literal["page", "api"]
_Key = tuple[str, _Way]
"""A site, and how it was read."""


def _nobody(*_: Any) -> _Visitor:
    return None


class SignIns:
    """Looks at the sign-ins of one cookie jar: at each site's once before the first reading and once at the end."""

    def __init__(self, live: Live, *, on: bool = True, again: bool = False) -> None:
        """``on``: whether to look at all. Nor is there a look where ``live`` does not know who visits its sites.
        ``again``: whether the jar is the harness's own."""
        self._live: Any = live
        self._again = again
        self.visitor: Callable[[str], _Visitor] = getattr(live, "visitor", _nobody) if on else _nobody
        self.caller: Callable[..., _Visitor] = getattr(live, "caller", _nobody) if on else _nobody
        self.found: dict[_Key, SignedIn] = {}
        self.renewed: set[str] = set()
        """Sites whose visitors were signed in again for it."""

    def meet(self, visitor: _Visitor, way: _Way = "page") -> tuple[_Key, ...]:
        """Look at the sign-in of a visitor, unless that was done before; the site and the way, if there is one."""
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
        """Look once more, where nothing spoke against a sign-in yet."""
        for (site, way), known in self.found.items():
            if known.again is not self._again:
                continue
            if not known.before:
                doubt, failed = self._live.sign_in_doubt(site, way=way, agents=False)
                known = replace(known, after=doubt, failed=failed)
            untouched = bool(known.before or known.after) and not self._again and self._live.keeps_sign_in(site)
            self.found[site, way] = replace(known, untouched=untouched)

    def lost(self) -> frozenset[_Key]:
        """Where the visitor was not signed in."""
        return frozenset(key for key, each in self.found.items() if each.before or each.after)

    @contextmanager
    def again(self, sites: Collection[str]) -> Iterator[SignIns]:
        """Another one, of a jar of the harness's own in which the visitors of ``sites`` were signed in again.

        Notes here of which sites that failed, and why. Knows of all other sites what is known here.
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
    """Evidence that notes whether somebody has asked for what the tabs show at the end."""

    __slots__ = ("seen",)
    seen: bool

    @classmethod
    def of(cls, evidence: Evidence) -> TabsNoted:
        """The same evidence."""
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
        """Address of the active tab, which says nothing of what it shows."""
        return next((tab.url for tab in object.__getattribute__(self, "tabs") if tab.active), "")


class Watched:
    """What a check may ask (`Live`); notes what it read of sites as somebody who has to be signed in."""

    def __init__(self, live: Live, sign_ins: SignIns, *, late: bool = False) -> None:
        """``late``: whether every page is read for what must not be there, as for checks whose contrary is wanted."""
        self.unwatched = live
        self._sign_ins = sign_ins
        self._late = late
        self._visited: dict[_Key, None] = {}
        self._tabs: set[_Key] = set()
        """What it read of the tabs as the agent left them, which can't be repeated."""

    @property
    def sign_ins(self) -> tuple[SignedIn, ...]:
        """Those of the sites that it read, in order."""
        return tuple(self._sign_ins.found[key] for key in self._visited)

    def repeats(self, lost: Collection[_Key]) -> set[str]:
        """The sites of ``lost`` on which it can read again all that it read there; none if the tabs are part of it."""
        return set() if self._tabs.intersection(lost) else {key[0] for key in self._visited if key in lost}

    def read_page(self, *, open: str | None, **asked: Any) -> Page:
        """Read a page, as `Live.read_page` does."""
        return self._read(late_reader(self.unwatched) if self._late else self.unwatched.read_page, open, asked)

    def read_page_late(self, *, open: str | None, **asked: Any) -> Page:
        """Read a page for what must not be there."""
        return self._read(late_reader(self.unwatched), open, asked)

    def fetch(self, site: str, path: str, **request: Any) -> tuple[int, str]:
        """Send a request, as `Live.fetch` does."""
        self._meet(self._sign_ins.caller(site, path, request.get("headers")), "api")
        return self.unwatched.fetch(site, path, **request)

    def see_tabs(self, addresses: Iterable[str]) -> None:
        """Note that what tabs show at these addresses is looked at."""
        for address in addresses:
            self._tabs.update(self._meet(self._sign_ins.visitor(address)))

    def _read(self, read: Callable[..., Page], open: str | None, asked: Mapping[str, Any]) -> Page:
        if open:
            self._meet(self._sign_ins.visitor(open))
        page = read(open=open, **asked)
        # Reading the current tab asks no site for anything, so it comes before the page on which the sign-in shows.
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
    """``judgement``, unless it is about what was shown to a visitor who was not signed in any more.

    ``negated``: whether the contrary of the check is wanted.
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
        return judgement  # whose cause counts as much, and says more of the page
    actual = ", ".join(filter(None, (judgement.actual, "signed out"))) if doubt.cause == "agent" else judgement.actual
    return replace(judgement, score=None, actual=actual, why=doubt.why, cause=doubt.cause)


class _Doubt(NamedTuple):
    """Why what was read says nothing, and whose fault that is."""

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
    """Whether the agent's browser asked the site for anything that it had not asked for before the agent began.

    Any such request may have ended the session: no address shows that it did not. What is not on record may have, too.
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
