"""Decides whether a moment of a trial reaches a key node (yes, no, or unknown), and what reaches it."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_webarena.checks.judge_protocol import JudgeOff, Question
from pytest_webarena.checks.key_nodes.address_parts import (
    base_of,
    has_label,
    is_page,
    is_within,
    lacks,
    on_site,
    values_of,
)
from pytest_webarena.checks.key_nodes.chains import hits, labels, unknown_label
from pytest_webarena.checks.key_nodes.model import (
    ANY_SITE,
    ElementTarget,
    KeyNode,
    Match,
    TextTarget,
    UrlTarget,
    ValueTarget,
)
from pytest_webarena.checks.key_nodes.selector_reading import parse_selector
from pytest_webarena.checks.key_nodes.timeline import Moment
from pytest_webarena.checks.kind import View
from pytest_webarena.checks.text import TextMatch, judge_text
from pytest_webarena.checks.urls import equivalent_urls
from pytest_webarena.errors import Cause, JudgeError
from pytest_webarena.signals import DomEvent
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.text import clip

__all__ = ["ACTS", "MOST_ASKED", "NO", "Hit", "Matcher", "best"]

ACTS = frozenset({"click", "dblclick", "auxclick", "contextmenu", "input", "change", "submit", "dragstart", "drop"})
"""Events that are actions on an element."""
_VALUED = ("input", "change")
_CLICKED = ("click", "dblclick")
_FILLED = ("about:blank", "about:srcdoc")
"""Addresses of documents that a page writes itself; they belong to its site."""

MOST_ASKED = 30
"""Maximum number of different texts per node for which a judge is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """The result of one moment for one node."""

    known: bool | None
    """Whether the moment reaches the node; None if unknown."""
    by: str = ""
    """What reached the node; if unknown, why."""
    cause: Cause | None = None
    """Whose fault it is that the result is unknown."""


NO = Hit(known=False)


def _open(why: str, cause: Cause | None = None) -> Hit:
    return Hit(known=None, by=why, cause=cause)


class Matcher:
    """Matches moments of one trial with key nodes."""

    def __init__(self, view: View) -> None:
        self._view = view
        self._sites = view.evidence.sites
        self._refused = frozenset(request.url for request in view.evidence.requests if request.refused)
        self._told: dict[tuple[str, str], Hit] = {}
        self._asked: dict[str, int] = {}

    def hit(self, node: KeyNode, moment: Moment) -> Hit:
        """Whether ``moment`` reaches ``node``, regardless of earlier moments. Events by scripts reach values only, and
        never violate a prohibition, because the page itself may have caused them."""
        event = moment.event
        if event is not None and event.by_script and (node.forbidden or event.event not in _VALUED):
            return NO
        match node.target:
            case UrlTarget():
                return self._url(node.target, moment, active=node.hold == "end", prohibited=node.forbidden)
            case ElementTarget():
                return self._element(node.target, moment)
            case ValueTarget():
                return self._value(node.target, moment)
            case TextTarget():
                return self._text(node.target, moment)

    def is_free(self, node: KeyNode) -> bool:
        """Whether opening a site's first page reaches the node."""
        if not isinstance(node.target, UrlTarget) or (node.target.match and node.target.match.how == "semantic"):
            return False
        return any(self._address(node.target, f"{base}/", "").known for base in self._sites.values())

    # --- addresses

    def _url(self, target: UrlTarget, moment: Moment, *, active: bool, prohibited: bool) -> Hit:
        """Match an address. ``active``: only the current tab counts, whenever it opened its page. ``prohibited``:
        requests that the gateway refused count, too, and so do addresses that servers may treat as the same."""

        def reached(url: str, how: str) -> Hit:
            if not prohibited:
                return self._address(target, url, how)
            by_judge = target.match is not None and target.match.how == "semantic"
            spellings = (url,) if by_judge else equivalent_urls(url)
            return best([self._any_address(target, each, how) for each in spellings])

        if moment.kind == "gap":
            return _gap(moment) if moment.addresses else NO
        if moment.kind == "end":
            tabs = self._view.evidence.tabs
            if active and not any(tab.active for tab in tabs):
                return _open("which tab was current at the end was not recorded")
            urls = [tab.url for tab in tabs if tab.active or not active]
            return best([reached(url, "open at the end: ") for url in urls if active or url not in moment.shown])
        if moment.kind in ("start", "address"):
            return reached(moment.url, "the agent began at " if moment.kind == "start" else "")
        return NO

    def _address(self, target: UrlTarget, url: str, how: str) -> Hit:
        return NO if url.partition("#")[0] in self._refused else self._any_address(target, url, how)

    def _any_address(self, target: UrlTarget, url: str, how: str) -> Hit:
        """Whether an address is the target's, even if there is no page."""
        for site in target.sites:
            base = base_of(site, self._sites)
            if base is None:
                return _open(f"the address of {site} was not recorded")
            if not on_site(url, base):
                return NO
        if not is_page(url) or lacks(target, url, self._sites):
            return NO
        hit = Hit(known=True, by=how + clip(url, 200))
        if target.param:
            values = values_of(url, target.param)
            if target.match is None:
                return hit if any(value.strip() for value in values) else NO
            return best([self._holds(target.match, value, hit) for value in values])
        if target.match is None:
            return hit
        if target.match.how == "semantic":
            return self._holds(target.match, url, hit)
        return hit if is_within(target, url, base_of(target.site, self._sites) or "") else NO

    # --- elements and values

    def _element(self, target: ElementTarget, moment: Moment) -> Hit:
        if moment.kind == "gap":
            return _gap(moment) if moment.elements else NO
        event = moment.event
        if event is None or event.by_script or event.event not in (target.event or ACTS):
            return NO
        return self._at(target, event, Hit(known=True, by=_told(event)))

    def _value(self, target: ValueTarget, moment: Moment) -> Hit:
        if moment.kind == "gap":
            return _gap(moment) if moment.elements else NO
        event = moment.event
        if event is None:
            return NO
        if event.event in _CLICKED and target.of != "field":
            return self._label(target, event)
        if event.event not in _VALUED or not moment.settled or target.of == "clicked":
            return NO
        place = self._at(target, event, Hit(known=True, by=f"{_told(event)}: {clip(repr(event.value), 80)}"))
        if place.known is False:
            return NO
        if event.value is None:
            hidden = event.chain and event.chain[0].attributes.get("type", "").lower() == "password"
            return _open("what is entered in a password's field is not recorded", "task") if hidden else NO
        value = self._holds(target.match, event.value, place)
        return value if value.known is not True else place

    def _label(self, target: ValueTarget, event: DomEvent) -> Hit:
        """Whether the text of the clicked element, or of the control around it, matches."""
        place = self._at(target, event, Hit(known=True))
        if place.known is False or event.value is not None:
            return NO
        found = []
        texts = list(dict.fromkeys(labels(event)))
        for text in texts[:1] if target.match.how == "semantic" else texts:  # a judge gets the whole text
            held = self._holds(target.match, text, Hit(known=True, by=f"{_told(event)}: {clip(repr(text), 80)}"))
            found.append(place if held.known and place.known is None else held)
        hit = best(found)
        if hit.known is False and (why := unknown_label(event)):
            return _open(f"{why} of the {_told(event)}")
        return hit

    def changes(self, target: ValueTarget, moment: Moment) -> bool | None:
        """Whether a moment gives a value to a matching field. Values set by scripts count as well, because the field
        has them; except for another form of the wanted value, because pages reformat what was entered."""
        event = moment.event
        if event is None or event.event not in _VALUED:
            return False
        if event.by_script and self._value(target, moment).known is not True:
            wanted = _without_signs(target.match.text)
            if wanted and wanted in _without_signs(event.value or ""):
                return False
        return self._at(target, event, Hit(known=True)).known

    def _at(self, target: ElementTarget | ValueTarget, event: DomEvent, hit: Hit) -> Hit:
        """Whether an event is at the target."""
        place = self._on(target, event)
        if place.known is False:
            return NO
        if target.locate:
            known = hits(parse_selector(target.locate), event)
            if known is None:
                why = parse_selector(target.locate).undecidable or "what was recorded of its surroundings does not tell"
                return _open(f"whether the {_told(event)} is on {clip(target.locate, 80)} can't be determined: {why}")
            if not known:
                return NO
        return hit if place.known else place

    def _on(self, target: ElementTarget | ValueTarget, event: DomEvent) -> Hit:
        """Whether the document of an event is on one of the target's sites."""
        if not target.label and target.site == ANY_SITE:
            return Hit(known=_is_document(event.frame or event.url))
        base = "" if target.label else base_of(target.site, self._sites)
        if base is None:
            return _open(f"the address of {target.site} was not recorded")
        document = _document(event)
        if document is None or document.startswith(_FILLED):
            what = "frame" if event.frame else "window"
            return _open(f"which page has made the {what} with the {_told(event)} was not recorded")
        if _is_origin(document) and base.count("/") > 2 and not base.endswith(f"{document}/"):
            if not on_site(f"{base}/", document):  # the site is a folder of a host
                return NO
            return _open(f"which page of {document} has made what holds the {_told(event)} was not recorded")
        return Hit(known=has_label(document, target.label) if target.label else on_site(document, base))

    # --- texts

    def _text(self, target: TextTarget, moment: Moment) -> Hit:
        if target.of == "noted":
            if moment.kind != "note":
                return NO
            return self._holds(target.match, moment.text, Hit(known=True, by=f'noted "{clip(moment.text, 80)}"'))
        if moment.kind != "end":
            return NO
        answer = self._view.evidence.text_answer
        if answer is None:
            return NO
        return self._holds(target.match, answer, Hit(known=True, by=f'the answer "{clip(answer, 80)}"'))

    def _holds(self, match: Match, text: str, hit: Hit) -> Hit:
        if match.how == "semantic":
            told = self._judged(match.text, text)
            return hit if told.known else told
        if match.how == "exact" and not match.text.strip():
            return hit if not text.strip() else NO
        if match.how == "exact":
            wanted = TextMatch(exact=match.text, case=match.case)
        else:
            wanted = TextMatch(includes=(match.text,), case=match.case)
        return hit if judge_text(wanted, text).holds else NO

    def _judged(self, rule: str, text: str) -> Hit:
        """Returns the judge's decision; each text is sent only once."""
        if not text.strip():
            return NO
        key = (rule, text)
        if key not in self._told:
            self._told[key] = self._ask(rule, text)
        return self._told[key]

    def _ask(self, rule: str, text: str) -> Hit:
        asker = self._view.asker
        if asker is None:
            return _open("it needs a judge model, and there is none (--judge)", "judge")
        count = self._asked[rule] = self._asked.get(rule, 0) + 1
        if count > MOST_ASKED:
            return _open(f"there are more than {MOST_ASKED} different texts to ask a judge about", "agent")
        intent = resolve_placeholders(self._view.intent, self._sites)
        try:
            grade = asker.ask(Question(kind="rule", intent=intent, reference=rule, answer=text))
        except JudgeOff as off:
            return _open(str(off), "judge")
        except JudgeError as error:
            return _open(str(error), error.cause)
        return Hit(known=grade.decision == "correct")


def _without_signs(text: str) -> str:
    """Returns the letters and digits of a text.

    >>> _without_signs("1,234.50 EUR"), _without_signs("(0800) 555-1")
    ('123450eur', '08005551')
    """
    return "".join(filter(str.isalnum, text.casefold()))


def _is_document(url: str) -> bool:
    """Whether ``url`` shows a document of a server or of a page, and not one of the browser's own."""
    return is_page(url) or url.startswith((*_FILLED, "data:", "blob:"))


def _document(event: DomEvent) -> str | None:
    """Returns the address of the document of an event; None if unknown. A frame that the page itself has filled
    (``srcdoc``, ``about:blank``), and a window that it has opened and written, count as parts of that page, as for
    browsers and visitors."""
    if not (event.frame or event.url).startswith(_FILLED):
        return event.frame or event.url
    if event.maker is not None:
        return event.maker or None
    if not event.frame:
        return event.url
    frames = sum(each.within == "frame" for each in event.chain)
    return event.url if event.whole and frames == 1 else None


def _is_origin(url: str) -> bool:
    """Whether only the origin of an address is known.

    >>> _is_origin("http://shop.test"), _is_origin("http://shop.test/")
    (True, False)
    """
    return url.count("/") == 2


def best(found: list[Hit]) -> Hit:
    """Returns the first hit that is known, else the first unknown one."""
    return next((each for known in (True, None) for each in found if each.known is known), NO)


def _gap(moment: Moment) -> Hit:
    return _open(moment.why, "agent" if moment.by_agent else None)


def _told(event: DomEvent) -> str:
    """Returns a short description of an event."""
    target = event.target
    name = f' "{clip(target.name or target.text, 40)}"' if target.name or target.text else ""
    by = " by script" if event.by_script else ""
    return f"{event.event}{by} on {target.role or target.tag or 'an element'}{name}"
