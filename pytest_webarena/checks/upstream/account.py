"""What undoes an answer wherever it stands in it: giving up, guessing, taking back, leaving it half done.

What is looked at is the answer without the references and without quotations, which may say anything.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Sequence

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, content_words, fold, folded_reference, stem
from pytest_webarena.checks.upstream.scope import MONTH, Question, of_another_kind, of_another_time
from pytest_webarena.checks.upstream.stance import MARK

__all__ = ["is_under_another_label", "is_undone", "strays"]

_QUOTED = re.compile(r"\"[^\"\n]*\"|(?<!\w)'[^'\n]*'(?!\w)")
_CAN_NOT = (
    r"(?:(?:could|can|did|does|do|would)(?: ?not|n't)(?: be able to)?|(?:was|were|am|is)(?: not|n't) (?:able"
    r"|possible) to"
    r"|cannot|can't|unable to|failed to|impossible to|hard to)"
)
_DOUBT = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|supposedly|allegedly|plausibl\w+|likely|apparently|might"
    r"|guess(?:es|ed|ing)?|assum(?:e|ed|ing|ption)|suspect"
    r"|(?:i|we) (?:think|believe|suppose|would say)|if i had to|who knows|take your pick|pick one"
    r"|(?:may|could|can|should|must) (?:also|well|either|still) be (?!reached|found|seen|bought|used|cloned)"
    r"|(?:it|this|that|which|answer|he|she|they|one) (?:may|could|should|must) be (?!reached|found|seen"
    r"|bought|used|cloned)"
    r"|not (?:[a-z]+ly )?(?:sure|certain|clear|confident|known|verified|confirmed)|n't (?:[a-z]+ly )?(?:sure"
    r"|certain|clear)"
    r"|unsure|uncertain|unclear|unknown|unverified|unconfirmed|no idea|don't know|do not know"
    r"|(?:it )?depend(?:s|ing) on"
    r"|(?:can|could)(?: ?not|n't) be (?:determined|verified|confirmed|checked|established|decided)"
    r"|something like|or something|or so|to be (?:verified|confirmed|checked)|needs? (?:verification|checking)"
    rf"|{_CAN_NOT} (?:\w+ ){{0,2}}?(?:determine|tell|say|verify|confirm|decide|check|compute|calculate|answer|work out"
    r"|identify|establish|know|finish|complete))\b"
    r"|\bit depends\b"
)
_TAKEN_BACK = re.compile(
    r"\b(?:correction|scratch that|on second thoughts?|my (?:mistake|bad)|by mistake|mistaken(?:ly)?|misread|miscounted"
    r"|mixed up|(?:that|this|it|which) (?:is|was|were|turned out to be|would be) (?:wrong|incorrect|a mistake|an error"
    r"|not (?:right|correct|it|true))|(?:that|this|it|which) (?:isn't|wasn't) (?:right|correct|true)"
    r"|(?:i|we) (?:was|were) wrong|(?:ignore|disregard|forget) (?:that|this|it|the|my|what)|instead of that"
    r"|should (?:have been|read|say)|(?:please )?(?:discard|retract)\w*|no longer (?:valid|true|correct)|strike that)\b"
    r"|(?:^|[.,;:!?(-] ?|\b(?:no|but|or|oh) )(?:wait|actually|hold on|hmm|sorry)\b"
)
_HALF = re.compile(
    r"\bexcept (?:for |on |in |of |by )?(?:the |my |your )?[\dq\x01a-z]|\b(?:etc|and so on|and so forth"
    r"|among (?:many )?others|and (?:some |many |several |possibly )?others|and (?:many "
    r"|some )?more(?=[.!)]*$)"
    r"|there (?:may|might|could) be (?:more|others)|(?:incomplete|partial) (?:list|answer|result)"
    r"|(?:did|have|was|could)(?: ?not|n't) (?:been )?(?:able to )?(?:yet )?(?:check|open|see|look at|read"
    r"|view|go through|count|load)\w*"
    r" (?:the |all |any )*(?:rest|remaining|others?|all|every|later|further|next|second|following)"
    r"|(?:the )?(?:rest|remaining|other) (?:pages?|ones?|orders?|reviews?|results?) (?:is|are|was|were|remains?) "
    r"(?:not|un)\w*)\b"
)
_GAVE_UP = re.compile(
    r"\b(?:ran out of|before i could|(?:pick|choose|take) (?:the one|whichever|any|one)|up to you"
    r"|i (?:did not|didn't|never|have not"
    r"|haven't) (?:compare|check|verify|test|count|sort|filter|look|open|measure|read)\w*)\b"
)
_NONE = re.compile(
    r"(?:\bthere(?:'s| is| are| was| were)|\bso|\bhence|\btherefore|\bthus|^|[.;:\n] ?|\bfor [a-z]+,?) no"
    r" (?!other|more|further|additional|longer|need|doubt|problem)(?P<noun>such\b|(?:[a-z'-]+ ){0,2}?[a-z'-]+)"
)
_NOT_FOUND = re.compile(
    rf"\b(?:{_CAN_NOT} (?:\w+ ){{0,2}}?(?:find|locate|access|see|open|load|get|retrieve|reach|view|work|finish"
    rf"|name|list"
    r"|provide|give)"
    r"|not (?:possible|accessible)|(?:no|any) results?(?: (?:was|were))?(?: found)? for|no (?:answer|way"
    r"|information|data|access|permission)"
    r"|timed out|(?:the |an )(?:page|report|search|site|map|tool) (?:failed|errored|crashed|is down))\b"
)


def is_undone(answer: str, references: Sequence[str], question: Question) -> bool:
    """Whether the answer gives up, guesses, takes back what it says or leaves it half done.

    Who finds none of what is counted says 0, and who sees nothing of the kind says no: that is no giving up.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("How many reviews are pending?")
    >>> [is_undone(text, ["5"], asked) for text in ("5. I'm not sure.", "5, but I misread it", '5 ("maybe good")')]
    [True, True, False]
    """
    text = fold(answer)
    wanted = sorted(map(folded_reference, references), key=len, reverse=True)
    for each in wanted:
        if len(each) > 2:
            text = text.replace(each, MARK)
    text = re.sub(r"\d[\w.,]*( [a-z]+)? (?:and|or) more\b", MARK, _QUOTED.sub(MARK, text))  # bounds are numbers
    patterns = [_DOUBT, _TAKEN_BACK, _HALF, _GAVE_UP]
    if not all(each in ("0", "no", "0.0", "0.00") for each in wanted):
        patterns.append(_NOT_FOUND)
        if any(_is_asked_for(match["noun"], question) for match in _NONE.finditer(text)):
            return True
    return any(match[0].strip() not in question.text for pattern in patterns for match in pattern.finditer(text))


def _is_asked_for(noun: str, question: Question) -> bool:
    return noun == "such" or any(stem(word) in question.words for word in noun.split())


_SENTENCE = re.compile(r"(?<=[^\s.][^\s.])[.!?](?=\s|$)|;\s|\n")
_IDENTIFIED = re.compile(
    r"\b(?P<what>order|invoice|issue|ticket|review|product|customer)s?(?: number| no\.?"
    r"| id)? ?[:#]* ?#?0*(?P<number>\d{1,9})\b"
)
_PHONE = re.compile(r"(?<![\d.])\d{10}(?!\d)")
_SPAN = re.compile(
    r"\b(?:last|latest|(?:most )?recent|past|first|top|newest) (?P<number>\d{1,2}|two|three|four|five|six|seven|ten)\b"
    r"(?! ?(?:%|h|hours?|days?|weeks?|months?|years?|minutes?|pages?)\b)"
)
_DIGITS = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7", "ten": "10"}
_DOER = re.compile(r"\bdid (?P<who>[a-z]+)(?: and (?P<other>[a-z]+))? make\b")
_DENIED_LATER = re.compile(
    rf"\b(?:before|after|prior to|next to) (?:that|this|it|him|her)\b[^.;,\n]*{MARK}|"
    rf"{MARK}[^.;\n]*\b(?:so|and|but|because|since|hence|,) (?:it|they|that|this|these|those|which"
    rf"|both) (?:also |still )?"
    r"(?:(?:do|does|did|is|are|was|were|has|have|can|could)(?:n't| not)|cannot)\b"
    rf"|{MARK}(?:(?!\b(?:while|whereas|but|others?|rest|nobody|none)\b)[^.;\n])*\b(?:does|do|did)(?:n't| not)"
    r" (?:qualify|count|match|meet|apply|satisfy|belong)\b"
)
_IT_IS = re.compile(rf"{MARK}[^.;\n]*\b(?:it|this|that|which|one)(?:'s| is| was) (?P<rest>[^.;\n]*)")
_DONE_TO = re.compile(
    rf"\bi(?:'ve| have)? (?:just )?(?:invited|added|removed|deleted|created|changed|granted|placed|bought"
    rf"|cancelled|asked"
    rf"|emailed|contacted|banned) (?:the (?:user|customer) )?{MARK}"
)
_CONTRASTED = re.compile(
    rf"{MARK}[^.;\n]*\b(?:just|only) {MARK} (?!and\b|&)|{MARK}[^.;\n]*\b(?:while|whereas|but|however|although"
    rf"|though),? (?:the |only |just )?{MARK}"
)
_NOT_OF = re.compile(r"\bnot (?:of|for|from|to|in|at|on|by) (?:the |my |your )?(?P<what>[a-z]+)")
_OF = re.compile(
    r"\b(?!ahead)(?:(?P<head>[\w']+) )?\b(?<!ahead )(?:of"
    r"|for) (?:the )?(?P<name>[a-z][\w/.'-]*(?: [a-z][\w/.'-]*){0,3})"
)


def strays(answer: str, references: Sequence[str], question: Question, names: frozenset[str]) -> bool:
    """Whether a reference stands only in sentences that are about something else: another year, another order.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("Show me the shipping method of order number 187 in 2022")
    >>> [strays(text, ["air"], asked, frozenset()) for text in ("Air", "order 187: air", "order 188: air", "2021: air")]
    [False, False, True, True]
    """
    wanted = [each for each in map(folded_reference, references) if each]
    sentences = [each for each in _SENTENCE.split(fold(answer)) if each.strip()]

    @functools.cache  # several references stand in one sentence
    def is_of_another(sentence: str, numeric: bool) -> bool:
        return _is_of_another(sentence, wanted, question, names, numeric=numeric)

    for each in wanted:
        numeric = _NUMERIC.fullmatch(each) is not None
        places = [text for text in sentences if each in text and _place_of(each).search(text)]
        if places and all(is_of_another(text, numeric) for text in places):
            return True
    return False


_NUMERIC = re.compile(r"-?[\d.,]+")


@functools.lru_cache(maxsize=4096)
def _place_of(reference: str) -> re.Pattern[str]:
    """Where a folded reference stands by itself; numbers may have zeros before and decimals after theirs."""
    numeric = _NUMERIC.fullmatch(reference) is not None
    before, after = ("0*" if numeric else ""), (r"\d*" if numeric and "." in reference else "")
    return re.compile(rf"(?<!\w){before}{re.escape(reference)}{after}(?!\w)")


_LABEL = re.compile(r"(?m)^(?P<label>[a-z][a-z ]{1,30}): ?(?P<said>.*)$")


def is_under_another_label(answer: str, references: Sequence[str], question: Question) -> bool:
    """Whether the references stand behind one label while another one has just the question's words.

    >>> from pytest_webarena.checks.upstream.stated_numbers import question_of
    >>> asked = question_of("List the top search terms")
    >>> is_under_another_label("Last search terms: tea, ale\\nTop search terms: rum", ["tea", "ale"], asked)
    True
    """
    wanted = [folded_reference(each) for each in references]
    labelled = [(match["label"], match["said"]) for match in _LABEL.finditer(fold(answer))]
    own = [label for label, said in labelled if all(each in said for each in wanted)]
    return len(own) == 1 and any(
        len(label.split()) > 1
        and not any(each in said for each in wanted)
        and content_words([label]) <= question.words
        and content_words([label]) & content_words([own[0]])
        and not content_words([own[0]]) <= question.words
        for label, said in labelled
    )


def _is_of_another(
    sentence: str, wanted: Sequence[str], question: Question, names: frozenset[str], *, numeric: bool
) -> bool:
    marked = sentence
    for each in sorted(wanted, key=len, reverse=True):
        if each in marked:  # much faster than the pattern, and most are not
            marked = _place_of(each).sub(MARK, marked)
    if (
        _DONE_TO.search(marked)
        or _identifies_another(sentence, question)
        or _is_of_another_kind_later(marked, question)
    ):
        return True
    if numeric:  # of which time a number is, is read clause by clause
        undone = _is_called_otherwise(marked, question) or _is_done_by_another(sentence, question, names)
    else:
        undone = bool(_DENIED_LATER.search(marked) or _CONTRASTED.search(marked)) or of_another_time(sentence, question)
    return undone or _names_other_of_two_words(sentence, wanted, question, names) or _is_about(marked, question, names)


def _identifies_another(sentence: str, question: Question) -> bool:
    """Whether it names another order, phone number, repository or number of latest ones than the question does."""
    asked, said = _numbered(question.text), _numbered(sentence)
    for what in {kind for kind, _ in asked} & {kind for kind, _ in said}:
        if not any(kind == what for kind, _ in asked & said):
            return True
    return any(
        (wanted := read(question.text)) and (given := read(sentence)) and not wanted & given
        for read in (_spans, _phones, _repositories)
    )


@functools.lru_cache(maxsize=1024)
def _numbered(text: str) -> frozenset[tuple[str, str]]:
    """The orders, issues, … that folded ``text`` names by a number."""
    return frozenset((match["what"], match["number"]) for match in _IDENTIFIED.finditer(text))


def _is_done_by_another(sentence: str, question: Question, names: frozenset[str]) -> bool:
    """Whether somebody else did it than the question's "did Ann make"."""
    doer, by = _DOER.search(question.text), re.search(r"\bby (?P<who>[a-z]+)", sentence)
    if doer is None or by is None or by["who"] not in names:
        return False
    return not set(re.findall("[a-z]+", sentence)) & set(doer.groups())


def _is_of_another_kind_later(marked: str, question: Question) -> bool:
    """Whether the sentence goes on to call it of another kind: "it is 12, but it's complete" for a pending one."""
    return any(of_another_kind(match["rest"], question.text) for match in _IT_IS.finditer(marked))


def _is_about(marked: str, question: Question, names: frozenset[str]) -> bool:
    """Whether it is of something with a name that the question doesn't name, and of nothing that it names."""
    if (denied := _NOT_OF.search(marked)) and stem(denied["what"]) in question.words:
        return True
    if not question.names or set(re.findall(r"\w+", marked)) & question.names:
        return False
    return any(
        match["head"] not in names
        and (words := [word for word in re.findall(r"[\w']+", match["name"]) if word in names - FUNCTION_WORDS])
        and not any(stem(word) in question.words or re.match(MONTH, word) for word in words)
        for match in _OF.finditer(marked)
    )


_CALLED = re.compile(
    rf"{MARK}\d*['\")]* (?:is|was|are|were) (?:the|a|an|its|his|her|your|my) (?P<what>[^.;,\n{MARK}]{{3,60}})"
)
_USUAL = content_words(
    ["answer result one value name number latitude longitude amount total only top best first main correct right"]
)


def _is_called_otherwise(marked: str, question: Question) -> bool:
    """Whether it is called something of which the question says no word: "412 is the room number" for a price."""
    called = [content_words([match["what"]]) for match in _CALLED.finditer(marked)]
    return bool(called) and all(words and not words & (question.words | _USUAL) for words in called)


_REPOSITORY = re.compile(r"(?<![\w/.])[a-z][\w-]+/(?P<name>[a-z][\w-]+)(?![\w/])")


@functools.lru_cache(maxsize=1024)
def _repositories(text: str) -> frozenset[str]:
    return frozenset(match["name"] for match in _REPOSITORY.finditer(text))


def _names_other_of_two_words(sentence: str, wanted: Sequence[str], question: Question, names: frozenset[str]) -> bool:
    """Whether it names Elm Park where the question names Elm Street."""
    if not question.pairs:
        return False
    words = re.findall(r"[\w']+", sentence)
    known = {word for each in wanted for word in re.findall(r"[\w']+", each)}
    for first, second in question.pairs:
        for one, other in itertools.pairwise(words):
            if (
                one == first
                and other in names - known - FUNCTION_WORDS
                and stem(other) not in question.words
                and second not in words
            ):
                return True
    return False


@functools.lru_cache(maxsize=1024)
def _spans(text: str) -> frozenset[str]:
    """How many of the latest, first or top ones folded ``text`` speaks of."""
    return frozenset(_DIGITS.get(match["number"], match["number"]) for match in _SPAN.finditer(text))


@functools.lru_cache(maxsize=1024)
def _phones(text: str) -> frozenset[str]:
    return frozenset(_PHONE.findall(text))
