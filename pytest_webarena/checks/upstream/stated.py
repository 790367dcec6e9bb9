"""Whether an answer states a text, a name, an address, yes or no: how the loosening repairs find what is right.

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
from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, abbreviated, fold, folded_reference, stem
from pytest_webarena.checks.upstream.scope import Question
from pytest_webarena.checks.upstream.stance import OTHER, is_asserted, is_refusal, mark
from pytest_webarena.checks.upstream.stated_numbers import closeness

__all__ = [
    "alone",
    "asserted_somewhere",
    "names_in",
    "polarity_objection",
    "rival_name",
    "states_name",
    "states_whole",
]

_YES = re.compile(r"(?<!\w)(?:yes|yep|yeah|affirmative|correct|indeed|true)(?!\w)")
_NO = re.compile(
    r"(?<!\w)(?:no|nope|negative|false)(?!\w)(?=[,.;:!-]|\s*(?:$|\n)| - | (?:it|the|they|this|that|there|i|you|we"
    r"|he|she|not|since|because|as)\b)"
)
"""As an answer, not before what there is none of: "no issue"."""
_MISSING = re.compile(
    r"\b(?:does|do|did)(?:n't| not) exist\b|\bno such\b"
    r"|\bno\b[^.;\n]{0,80}\b(?:exists?|(?:was|were|be|been|is|are) found"
    r"|i could find)\b"
)
"""What is said not to exist is neither."""
_FEASIBLE = re.compile(
    r"(?P<not>\b(?:can(?:'t|not| not)|could(?:n't| not)|won't|will not|not (?:possible|reachable|doable|feasible|enough"
    r"|within)|n't (?:possible|reachable|doable|feasible|enough|within)|impossible|infeasible|too far"
    r"|(?:takes?|needs?|is|lasts?|of|you|it's)[^.;,\n\d]{0,20} (?:longer|more) than (?:an|one|1|the) hour"
    r"|(?:takes?|needs?|is) (?:well )?(?:over|beyond) (?:an|one|1|the) hour)\b)"
    r"|\b(?:it|you|that|this|one|yes|indeed|we|they) can\b(?!'t| not)|\b(?:doable|feasible)\b"
)
_OPPOSITES = {"clos": ("open", "opened", "reopened", "re-opened", "pending", "unresolved"), "reach": ("unreachable",)}
_NO_DENIAL = re.compile(r"\b(?:no|without a|without|beyond) (?:doubt|question)\b|\bnot only\b")
_OPENING = re.compile(
    r"(?:\b(?:i|i've|i'd|we|having|after|when|once)(?: (?:have|had|just|then|first))? (?P<done>opened)\b"
    r"|\b(?:i|i've|we|i have|i just) (?P<self>closed)\b|\b(?P<made>closed)(?= (?:the|my|this) (?:[a-z]+ )?(?:tab|page|browser|window)\b)"
    r"|\b(?P<written>opened)(?= (?:by|on|in|at|last|the|your|my|it|this|that|(?:\d+|an?|one|two|three) [a-z]+"
    r" ago|yesterday)\b))"
)
"""To open an issue is to write it, or to look at it; it says nothing about its state."""


def polarity_objection(reference: str, answer: str, question: Question) -> str:
    """Why the answer does not say yes (or no) and nothing to the contrary: a rule's name; empty when it does.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("check if it is closed")
    >>> [polarity_objection("yes", text, asked) for text in ("Yes, it is closed.", "It is closed", "Yes, it is "
        "open", "No")]
    ['', '', 'shotgun', 'asserted']
    """
    text = re.sub(r"\bno\. ?(?=\d)", "#", _NO_DENIAL.sub("", fold(answer)).strip())
    if re.search(r"\b(?:yes|no)\W+(?:(?:or|and|maybe)\W+)*(?:yes|no)\b(?! (?:problem|doubt|need|issue))", text):
        return "shotgun"
    if is_refusal(text) or re.search(
        r"\b(?:maybe|perhaps|possibly|probably|might|or not|either|otherwise|unless"
        r"|only if)\b",
        text,
    ):
        return "asserted"
    if _MISSING.search(text):
        return "asserted"
    said: set[bool] = set()
    first = re.match(
        r"\W*(?:(?:answer|result|status|final answer)\W+)?(yes|no)\b(?=\W*$|\s?[^\w\s]|\n| (?:it|the|they|this"
        r"|that|there|i|you|we|he|she)\b)",
        text,
    )
    said |= {first[1] == "yes"} if first else {True for _ in _YES.finditer(text)} | {False for _ in _NO.finditer(text)}
    for word, opposites in _OPPOSITES.items():
        if not any(each.startswith(word) for each in question.words):
            continue
        said |= _states(word, opposites, text)
        if word == "reach":
            found = [match["not"] is None for match in _FEASIBLE.finditer(text)]
            found += [minutes <= 60 for minutes in _durations(text)]
            said |= {False} if False in found else set(found)
    if said == {reference == "yes"}:
        return ""
    return "shotgun" if len(said) > 1 else "asserted"


_DURATION = re.compile(
    r"(?<![\w.:,])(?:(?P<h>\d{1,2}):(?P<m>\d\d)(?!\d)"
    r"|(?P<hours>\d+(?:\.\d+)?|an?|one|two|three|four|five)(?P<half> and a half)?[ -]?(?:hours?|hrs?|h)\b"
    r"(?:,? ?(?:and )?(?P<minutes>\d{1,2}) ?(?:min\w*|m)\b)?|(?P<only>\d+)[ -]?(?:minutes?|mins?)\b)"
)
_LIMIT_BEFORE = re.compile(
    r"\b(?:in|within|under|than|of|inside|exceeds?|the|that|over|below|beyond|for|every|limit|=|<) ?\Z|[<>]\s?\Z"
)


def _durations(text: str) -> list[float]:
    """The minutes that folded ``text`` says it takes; not the limits that it compares them with.

    >>> _durations("it takes 1:20, which is over the one hour limit; by bike 2 h 5 min")
    [80.0, 125.0]
    """
    words = {"a": 1.0, "an": 1.0, "one": 1.0, "two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0}
    found = []
    for match in _DURATION.finditer(text):
        if match["only"]:
            minutes = float(match["only"])
        else:
            given = match["h"] or match["hours"]
            minutes = 60 * (words.get(given) or float(given)) + float(match["m"] or match["minutes"] or 0)
            minutes += 30 if match["half"] else 0
        if not (minutes == 60 and _LIMIT_BEFORE.search(text[: match.start()])):
            found.append(minutes)
    return found


def _states(word: str, opposites: Sequence[str], text: str) -> set[bool]:
    """Whether the text calls the thing what the question asks (``word`` begins it) or its opposite."""
    actions = {match.end(group) for match in _OPENING.finditer(text) for group in ("done", "self", "made", "written")}
    said: list[bool] = []
    for match in re.finditer(rf"\b{word}\w*|\b(?:{'|'.join(opposites)})\b", text):
        if match.end() in actions:
            continue
        before = text[max(0, match.start() - 45) : match.start()]
        clause = re.split(r"[,.;:!\n]| but | and | so | - ", before)[-1]
        if re.search(r"\b(?:whether|if|check)\b", clause):
            continue
        denied = re.search(r"\b(?:not|never|cannot|no)\b|n't\b|\byet to be\b", clause) is not None
        said.append(denied != match[0].startswith(word))
    return set(said[-1:] if re.search(r"\bre-?opened\b", text) else said)


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
"""So many words may stand beside a quotation for its sentence to be about it."""


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
        if named and not _ordinary(word[1], question) and not re.match(r"['\"]", after):
            return True
    if word := re.search(r"([\w'-]*[a-z0-9])[ -]\Z", before):
        return (word[1] in names or not names) and not _ordinary(word[1], question)
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
        or words[0] in _USUAL
        or words[0].isdigit()
        or (asks_for_rank(question) and names_rank(said["words"] if said else ""))
    )


def _ordinary(word: str, question: Question) -> bool:
    return word in FUNCTION_WORDS or stem(word) in question.words or word in _USUAL


_USUAL = frozenset(
    """
    run use try type enter execute command
    paid bought ordered wins won contributed committed tops topped
    brand product type author account contributor buyer person reviewer item items operator address website
    company shopper lead belongs belong top best highest most run runs operates operated handles handled manages managed sold
    sells made sits stands leads led placed holds followed it's that's there's called titled term word search
    query searched repo repository project email mail customer's phone number telephone zip code postal
    postcode url site web token feed
    """.split()  # noqa: SIM905 - a list is no easier to read
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
        if 0 < len(words) <= 5 and wanted not in match["item"] and not all(_ordinary(word, question) for word in words):
            if words[0] in _PREPOSITIONS | FUNCTION_WORDS - {"the", "a"} or re.search(
                r"\b(?:is|are|was|were|has|have|with|in|of|by|for|on|who|that)\b", match["item"]
            ):
                continue
            return True
    return False


_NAME = re.compile(r"(?<![\w'-])[A-Z][\w'-]*")
_IS = re.compile(
    r"(?:\b(?:is|was|are|were|be|goes to|went to|namely|called|answer)|(?P<it>\bit's)):? (?:the |a |an )?(?P<item>[^,.;:\n()]{1,60})"
)


def names_in(answer: str) -> frozenset[str]:
    """The folded words with a capital."""
    return frozenset(word for match in _NAME.findall(answer) for word in re.findall(r"[\w']+", fold(match)))


_BESIDE = re.compile(
    rf"{OTHER}(?:'s)?(?: \([^()]*\))?(?:,? and |, | & )(?P<item>[^,.;:\n(){OTHER}]{{2,60}}?)(?=$|[.;:\n,()]| and )"
)
_FIRST = re.compile(rf"(?:^|[\n.:;(,])\s*(?P<before>[^,.;:\n(){OTHER}]{{2,80}})(?=(?:,? and |, | & ){OTHER})")
_LINE = re.compile(rf"(?<=\n)(?P<item>[^,.;:\n(){OTHER}]{{2,60}})(?=\n|\Z)")


def rival_name(marked: str, names: frozenset[str], question: Question, *, small: bool = False) -> str:
    """A name that stands in one list with the references (``OTHER``), or on a line of its own between theirs.

    ``small``: names are written in small letters, so that any single word may be one.
    """
    lines = marked.split("\n")
    listed = sum(line.strip() == OTHER for line in lines) > 0 and len(lines) > 1
    for match in (*_BESIDE.finditer(marked), *(_LINE.finditer("\n" + marked) if listed else ())):
        words = match["item"].split()
        named = [word for word in words[:4] if word in names and not _ordinary(word, question)]
        if small and len(words) == 1 and match.re is _BESIDE and re.fullmatch(r"[a-z][\w.-]*", words[0]):
            if not _ordinary(words[0], question) and not words[0].endswith("ly"):
                return words[0]
        if named and words[0] in names and words[0] not in FUNCTION_WORDS and (match.re is _BESIDE or len(words) <= 4):
            return " ".join(words[:4])
    for match in _FIRST.finditer(marked):
        if run := _first_item(match["before"], names, question):
            return run
    return ""


def _first_item(before: str, names: frozenset[str], question: Question) -> str:
    """The name with which a list of references begins; empty when none does."""
    words = before.split(" ")
    run: list[str] = []
    while words and words[-1] in names and words[-1] not in FUNCTION_WORDS and len(run) < 4:
        run.insert(0, words.pop())
    led_by = words[-1] if words else ""
    if not run or all(_ordinary(word, question) for word in run) or led_by in _PREPOSITIONS:
        return ""
    return "" if not led_by and len(run) == 1 and run[0] in _INTERJECTIONS else " ".join(run)


_PREPOSITIONS = frozenset(
    """
    in on at for to from of near with within under after since during beside besides
    """.split()  # noqa: SIM905 - a list is no easier to read
)
_INTERJECTIONS = frozenset(
    """
    sure certainly ok okay done hello hi great finally overall currently well here indeed actually altogether two
    three four five six seven eight nine ten alphabetically clockwise geographically absolutely right correct
    """.split()  # noqa: SIM905 - a list is no easier to read
)


_NARRATION = re.compile(
    r"(?:first,? |then,? |next,? |after that,? )?(?:i|we|i've|we've) (?:have |then |also )?(?:opened|looked|searched|went"
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
        if any(word in others and not _ordinary(word, question) for word in words):
            return True
    for match in _IS.finditer(text):
        words = match["item"].split()
        first = words[0] if words else ""
        small = wanted.islower() and match["it"] is not None and len(words) == 1 and not _ordinary(first, question)
        if small and match.start() > place[1] and first not in known:
            return True
        if (
            match.start() > place[1]
            and first in others
            and not _ordinary(first, question)
            and wanted not in match["item"]
        ):
            return True
    turned = re.match(r"[^.;\n]*?\b(?:but|while|whereas|however|though|although)\b(?P<rest>[^.;\n]*)", text[place[1] :])
    if (
        turned
        and any(word in others and not _ordinary(word, question) for word in re.findall(r"[\w'-]+", turned["rest"]))
        and any(is_asked(word, question) for word in re.findall(r"[a-z]{3,}", turned["rest"]))
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
