"""Whether an answer states a text, a name or an address: how the loosening repairs find what is right.

Each reader is strict by itself: what it passes is said, not denied, not doubted, and not one of several.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from pytest_webarena.checks.upstream.claims import (
    another_is_it,
    asks_for_rank,
    contradicted,
    is_asked,
    names_rank,
    says_there_is_none,
)
from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, abbreviated, fold, folded_reference
from pytest_webarena.checks.upstream.listed_names import PREPOSITIONS, USUAL, is_ordinary, names_in
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import OTHER, is_asserted, is_refusal, mark
from pytest_webarena.checks.upstream.stated_numbers import closeness

__all__ = ["alone", "asserted_somewhere", "states_name", "states_whole"]


@functools.lru_cache(maxsize=4096)
def _pattern(reference: str) -> re.Pattern[str]:
    before = r"(?<![\w])" if re.match(r"\w", reference) else ""
    after = r"(?:s(?=\W|$))?(?![\w])" if re.search(r"\w$", reference) else ""
    return re.compile(f"{before}{re.escape(reference)}{after}")


def states_name(reference: str, answer: str, question: Question, others: Sequence[str] = ()) -> bool:
    """Whether the reference stands in the answer as words of their own, in folded and abbreviated form, asserted."""
    text, wanted = abbreviated(fold(answer)), abbreviated(folded_reference(reference))
    said = asserted_somewhere(wanted, text, question, others, names_in(answer))
    return said is True or (said is None and _states_quality(reference, text, question))


_LOOKS = (
    r"(?:is|are|was|were|looks?|looked|seems?|comes? out|came out|turn(?:s|ed)? out|being)"
    r"(?: (?:too|very|rather|quite|so|a bit|somewhat|also|often|really))?"
)


def _states_quality(reference: str, text: str, question: Question) -> bool:
    """Whether a quality stands behind what it is a quality of: "the color looks uneven" for "Uneven color"."""
    words = re.fullmatch(r"([A-Za-z]+) ([a-z]+)", reference.strip())
    if words is None:
        return False
    quality, thing = words[1].lower(), re.escape(words[2])
    for match in re.finditer(rf"(?<!\w){thing}s?,? (?:that |which )?{_LOOKS} (?P<quality>{quality})(?!\w)", text):
        marked = mark(text, *match.span("quality"))
        if is_asserted(marked, question.text) and not contradicted(marked, question):
            return True
    return False


def asserted_somewhere(
    wanted: str, text: str, question: Question, others: Sequence[str] = (), names: frozenset[str] = frozenset()
) -> bool | None:
    """Whether one of the places where folded ``wanted`` stands asserts it; None when there is no such place.

    Not where the answer says that nobody, or that another of its ``names``, is what the question asks for.
    """
    places = [match.span() for match in _pattern(wanted).finditer(text)] if wanted else []
    if not places:
        return None
    if says_there_is_none(text, question):
        return False
    if not re.search(r"[\d@]", wanted) and another_is_it(_all_marked(wanted, text, others), question, names):
        return False
    marked = (_marked(text, place, others) for place in places)
    return any(is_asserted(each, question.text) and not contradicted(each, question) for each in marked)


def _all_marked(wanted: str, text: str, others: Sequence[str]) -> str:
    for each in sorted({wanted, *others}, key=len, reverse=True):
        text = _pattern(each).sub(OTHER, text) if each else text
    return text


OWN_WORDS = 8
"""So many words may be next to a quotation for its sentence to be about it."""


def alone(wanted: str, text: str) -> str:
    """The folded ``text`` if it says little else than ``wanted``: a quotation with a remark; else nothing."""
    return text if wanted in text and len(text.replace(wanted, " ").split()) <= OWN_WORDS else ""


def _marked(text: str, place: tuple[int, int], others: Sequence[str]) -> str:
    marked = mark(text, *place)
    for other in others:
        if other and other != text[slice(*place)]:
            marked = _pattern(other).sub(OTHER, marked)
    return marked


_ITEM = re.compile(r"^['\")]*(?:,? and |, | & |/|\n)(?P<item>[^,.;:\n()]{1,80}?)(?=$|[\n.;,!)]| and )")
_ITEM_BEFORE = re.compile(r"(?:^|[\n.:;(]|\bis |\bare )\s*(?P<item>[^,.;:\n()]{1,60}?)(?:,? and |, | & |/|\n)['\"(]*$")


def states_whole(reference: str, answer: str, question: Question) -> bool:
    """Whether the answer is a sentence that gives the reference as the one thing asked for.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("What is the best-selling brand?")
    >>> [states_whole("Acme", text, asked) for text in ("It's Acme.", "Acme and Bolt", "Acme Zero", "Bolt, not Acme")]
    [True, False, False, False]
    """
    text, wanted = abbreviated(fold(answer)), abbreviated(folded_reference(reference)).rstrip("/")
    if not wanted or is_refusal(text):
        return False
    if re.match(r"https?://", wanted):
        return _states_address(wanted, text)
    names = names_in(answer)
    places = [match.span() for match in _pattern(wanted).finditer(text)]
    if asserted_somewhere(wanted, text, question, (), names) is not True:
        return False
    if not all(is_asserted(mark(text, *place), question.text) for place in places):
        return False
    return any(
        _licensed(text[end:], question)
        and not _extended(text[:start], text[end:], question, names)
        and not _listed(text[:start], text[end:], question, wanted, names)
        and not _rivalled(text, (start, end), wanted, question, names)
        for start, end in places
    )


def _states_address(wanted: str, text: str) -> bool:
    bare = re.sub(r"^https?://", "", wanted)
    said = {
        re.sub(r"^https?://", "", each).rstrip("/.,;)")
        for each in re.findall(r"(?:https?://)?(?:[a-z0-9-]+\.)+[a-z]{2,}(?:/\S*)?", text)
    }
    place = re.search(rf"(?:https?://)?{re.escape(bare)}", text)
    return said == {bare} and place is not None and is_asserted(mark(text, *place.span()), "")


def _extended(before: str, after: str, question: Question, names: frozenset[str]) -> bool:
    """Whether the words beside it make it part of a longer name.

    Names are told by their capitals, if the answer has any: what follows a name in small letters is no part of it.
    """
    if re.match(r"'s [a-z]", after):
        return True
    if word := re.match(r"['\"]?[ -]([a-z0-9][\w'-]*)", after):
        named = word[1] in names or re.search(r"\d", word[1]) or not names
        if named and not is_ordinary(word[1], question) and not re.match(r"['\"]", after):
            return True
    if word := re.search(r"([\w'-]*[a-z0-9])[ -]\Z", before):
        return (word[1] in names or not names) and not is_ordinary(word[1], question)
    return False


_PREDICATE = re.compile(r"(?:'s)? (?P<words>[a-z'][^.,;:()\n]*)")


_LIGHT = frozenset(
    """
    gave wrote left posted expressed other person least very
    """.split()  # noqa: SIM905 - a list is no easier to read
)


def _licensed(after: str, question: Question) -> bool:
    """Whether what a sentence goes on to say of it has to do with the question: "has the most", not "lost to Bolt"."""
    said = _PREDICATE.match(after)
    words = (
        [word for word in re.findall(r"[\w'-]+", said["words"]) if word not in FUNCTION_WORDS | _LIGHT] if said else []
    )
    if said is not None and re.match(
        r"(?:is|are|was|were) (?:also |only )?(?:among|amongst|one of|part of|another)\b", said["words"]
    ):
        return False
    return (
        not words
        or (
            said is not None
            and said["words"].startswith(("and ", "but ", "in ", "with ", "at ", "for ", "on ", "from "))
        )
        or is_asked(words[0], question)
        or words[0] in USUAL
        or words[0].isdigit()
        or (asks_for_rank(question) and names_rank(said["words"] if said else ""))
    )


_SINGLY = frozenset(
    """
    is was has comes came had ranks follows sold made
    """.split()  # noqa: SIM905 - a list is no easier to read
)
_TOGETHER = frozenset(
    """
    are were have share shared tie tied both all
    """.split()  # noqa: SIM905 - a list is no easier to read
)


def _listed(before: str, after: str, question: Question, wanted: str, names: frozenset[str]) -> bool:
    """Whether it is one item of a list of its like."""
    before, after = (re.sub(r" \([^()]*\)", "", each) for each in (before, after))
    for match in (_ITEM.match(after), _ITEM_BEFORE.search(before)):
        if match is None:
            continue
        words = match["item"].split()
        verb = next((word for word in words if word in _TOGETHER | _SINGLY), "")
        if words and words[0] in names and verb in _TOGETHER and wanted not in match["item"]:
            return True
        if words and words[0][0].isdigit() and not re.search(r"\d", wanted):
            continue  # not of its kind
        if (
            0 < len(words) <= 5
            and wanted not in match["item"]
            and not all(is_ordinary(word, question) for word in words)
        ):
            if words[0] in PREPOSITIONS | FUNCTION_WORDS - {"the", "a"} or re.search(
                r"\b(?:is|are|was|were|has|have|with|in|of|by|for|on|who|that)\b", match["item"]
            ):
                continue
            return True
    return False


_IS = re.compile(
    r"(?:\b(?:is|was|are|were|be|goes to|went to|namely|called|answer)|(?P<it>\bit's)):? (?:the |a "
    r"|an )?(?P<item>[^,.;:\n()]{1,60})"
)


_NARRATION = re.compile(
    r"(?:first,? |then,? |next,? |after that,? )?(?:i|we|i've|we've) (?:have |then |also )?(?:opened|looked"
    r"|searched|went"
    r"|sorted|filtered|checked|ran|set|used|clicked|navigated|browsed|visited|read|scrolled|selected|typed|entered|logged"
    r"|queried|generated|created|viewed|reviewed|counted|compared)\b"
)
"""What the agent did on its way: it names pages and tools."""
_CODE = re.compile(r"(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{8,}")
"""A token or a key, in folded text: only others of its kind are its rivals."""
_LABEL = re.compile(r"(?:^|[\n,;.])\s*([a-z][a-z ]{1,30}): \Z")
_LABELS = re.compile(r"(?:^|[\n,;.])\s*([a-z][a-z ]{1,30}): (?=\S)")


def _rivalled(text: str, place: tuple[int, int], wanted: str, question: Question, names: frozenset[str]) -> bool:
    """Whether another name is given first or elsewhere, or another number of what the question counts."""
    if _CODE.fullmatch(wanted):
        return any(each != wanted for each in re.findall(r"[\w-]{6,}", text) if _CODE.fullmatch(each))
    if re.fullmatch(r"[^@\s/]+@[^@\s/]+", wanted):
        return any(each.strip(".") != wanted for each in re.findall(r"[\w.+-]+@[\w.-]+", text))
    earlier = re.split(r"[.;!?\n]", text[: place[0]])[:-1]
    known = set(wanted.split())
    others = names - known
    own_clause = re.split(r"[.;!?\n]", text[place[0] :])[0]
    decided = asks_for_rank(question) and names_rank(own_clause)
    for clause in () if decided else earlier:
        words = re.findall(r"[\w'-]+", clause)[1:]
        if _NARRATION.match(clause.strip()):
            continue
        if any(word in others and not is_ordinary(word, question) for word in words):
            return True
    for match in _IS.finditer(text):
        words = match["item"].split()
        first = words[0] if words else ""
        small = wanted.islower() and match["it"] is not None and len(words) == 1 and not is_ordinary(first, question)
        if small and match.start() > place[1] and first not in known:
            return True
        if (
            match.start() > place[1]
            and first in others
            and not is_ordinary(first, question)
            and wanted not in match["item"]
        ):
            return True
    turned = re.match(r"[^.;\n]*?\b(?:but|while|whereas|however|though|although)\b(?P<rest>[^.;\n]*)", text[place[1] :])
    if (
        turned
        and any(word in others and not is_ordinary(word, question) for word in re.findall(r"[\w'-]+", turned["rest"]))
        and any(is_asked(word, question) or word in question.years for word in re.findall(r"[a-z]{3,}", turned["rest"]))
    ):
        return True
    own = _LABEL.search(text[: place[0]])
    if own is not None and any(
        closeness(label, question) > closeness(own[1], question) for label in _LABELS.findall(text) if label != own[1]
    ):
        return True
    for number, noun in re.findall(r"\b(\d+) ([a-z]+)", question.text):
        counted = set(map(float, re.findall(rf"(?<![\d.])(\d+(?:\.\d+)?) {noun}", text)))
        if counted and float(number) not in counted:
            return True
    return False
