"""Scores key nodes as in WebCanvas' paper: 0 or 1 each, when reached, in any order, and permanently.

Comparisons are as simple as in the paper: texts are equal or one contains the other, addresses are decoded, and case,
white space, quotes and final slashes are not normalised. Only answers and notes are compared in lower case.
"""

from __future__ import annotations

from dataclasses import replace

from pytest_webarena.checks.key_nodes.address_parts import base_of, on_site
from pytest_webarena.checks.key_nodes.chains import labels
from pytest_webarena.checks.key_nodes.matching import ACTS, NO, Hit, Matcher, best
from pytest_webarena.checks.key_nodes.model import Match, TextTarget, UrlTarget, ValueTarget
from pytest_webarena.checks.key_nodes.timeline import Moment
from pytest_webarena.checks.webcanvas.addresses import address_subject
from pytest_webarena.text import clip

__all__ = ["PaperMatcher"]

_FIELDS = ("input", "change")


class PaperMatcher(Matcher):
    """Matches moments of one trial by the paper's rules."""

    def _address(self, target: UrlTarget, url: str, how: str) -> Hit:
        bases = [base_of(site, self._sites) for site in target.sites]
        if any(base is None or (base and not on_site(url, base)) for base in bases):
            return NO
        exact = target.exact.resolve(self._sites) if target.exact is not None else None
        match = target.match or Match(how="exact", text=address_subject(exact or "", "exact", "") or "")
        subject = address_subject(url, match.how, target.param)
        if subject is None:
            return NO
        return self._holds(match, subject, Hit(known=True, by=how + clip(url, 200)))

    def _value(self, target: ValueTarget, moment: Moment) -> Hit:
        """Whether what was entered, or the text of what was clicked, matches: in WebCanvas a click has the text of its
        element."""
        event = moment.event
        if event is None or event.event not in ACTS or event.event in _FIELDS or event.value is not None:
            return super()._value(target, moment)
        place = self._at(target, event, Hit(known=True))
        if place.known is False:
            return NO
        found = []
        texts = list(dict.fromkeys(labels(event)))
        for text in texts[:1] if target.match.how == "semantic" else texts:
            value = self._holds(target.match, text, Hit(known=True, by=f"{event.event} on '{clip(text, 80)}'"))
            found.append(replace(place, by=place.by or value.by) if value.known else value)
        return best(found)

    def _text(self, target: TextTarget, moment: Moment) -> Hit:
        said = ""
        if target.of == "noted" and moment.kind == "note":
            said = moment.text
        elif target.of == "answer" and moment.kind == "end":
            said = self._view.evidence.text_answer or ""
        if not said:
            return NO
        hit = Hit(known=True, by=f'{target.of} "{clip(said, 80)}"')
        if target.match.how == "semantic":
            return self._holds(target.match, said, hit)
        return self._holds(Match(how=target.match.how, text=target.match.text.lower()), said.lower(), hit)

    def _holds(self, match: Match, text: str, hit: Hit) -> Hit:
        if match.how == "semantic":
            return super()._holds(match, text, hit)
        return hit if (text == match.text if match.how == "exact" else match.text in text) else NO
