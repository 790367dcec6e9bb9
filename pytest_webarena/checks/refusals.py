"""Whether an answer says in its own words that a task can't be done, and gives that as what it found out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction

from pytest_webarena.checks.asked_units import asked_unit, unit_behind
from pytest_webarena.checks.numbers import numbers_in
from pytest_webarena.checks.plain_answers import unmarked
from pytest_webarena.checks.text import normalise

__all__ = ["declines", "of_power", "takes_back"]

_LONGEST = 600
"""Characters. A reason needs no more; who says more says other things, too."""
_NOT = r"(?:n't| not|not)"
_CAN_NOT = re.compile(
    rf"\b(?:can{_NOT}|can't|cannot|could{_NOT}|may not|must not) (?:\w+ ){{0,3}}?(?:be \w+|do|see|access|change|edit"
    rf"|book|pin|lock|move"
    r"|remove|delete|cancel|merge|restore|read|open|answer|tell|give|set|create|start|subscribe|view|manage|use"
    r"|make|find out)\b"
    r"|(?:\bnot possible|\bis impossible|'s impossible|\bimpossible (?:to|for|because|here|on)|\bunachievable"
    r"|\binfeasible)\b|\bthere(?:'s| is) no way\b|\bcan't be done\b"
    rf"|\b(?:is|are|was|were|am|i'm){_NOT} (?:\w+ )?(?:able|allowed|permitted|authori[sz]ed|supported|possible"
    rf"|available)\b"
    r"|\bunable to\b"
)
"""It is not in somebody's power."""
_NO_RIGHT = re.compile(
    r"\b(?:no|lacks?|without|missing|insufficient|(?:don't|do not|doesn't|does not) have(?: the| any| enough)?)"
    r" (?:\w+ )?(?:permissions?|rights?|access|authority|privileges?)\b|\b(?:access|permission) (?:is |was )?denied\b"
    r"|\bonly (?:the |its |an? )?(?:[\w'./-]+ ){0,5}(?:can|may|is allowed|are allowed|has|have)\b|\bforbidden\b"
    r"|\b(?:can|may|could|(?:able|allowed) to) only (?:see|view|access|read|edit|change|cancel) (?:[\w']+ ){0,2}?own\b"
    r"|(?<!\bi )\b(?:can|may) only (?:read|view|look at) |\b(?:can|may) only be (?:read|viewed|seen|looked at)\b"
    r"|\bno (?:[^\s.;,]+ ){1,6}?(?:that |which )?(?:i|we|this account) (?:can|may|could|am allowed to)"
    r" (?:see|access|open|view)\b"
    r"|\bno longer\b|\bread-only\b|\bfor good\b|\birreversibl[ey]\b"
    r"|^(?:unfortunately,? |sorry,? )?not (?:\w+ )?(?:stated|given|listed|permitted|allowed|available|accessible"
    r"|supported"
    r"|authori[sz]ed)\b"
    r"|\b(?:needs?|requires?|have|has) (?:to be )?(?:an? |the )?(?:\w+ )?(?:maintainer|owner|admin\w*|moderator|member"
    r"|permission|rights|role)s?\b"
)
_THERE_IS_NONE = re.compile(
    rf"\bthere(?:'s| is| are| was| were) (?:no|none)\b|\bno such\b|\b(?:does|do|did){_NOT} exist\b|\bhas no\b"
    rf"|\bhave no\b"
    rf"|\bthere (?:is|are|was|were){_NOT}\b"
    rf"|\b(?:is|are|was|were){_NOT} (?:\w+ )?(?:given|listed|recorded|mentioned|known|told|stated|shown|documented"
    rf"|published|named|said"
    r"|the \w+ of)\b"
    r"|\b(?:is|are|was|were|remains?) (?:\w+ )?unknown\b(?! to (?:me|us))"
    rf"|\b(?:does|do|did){_NOT} (?:say|tell|mention|list|give|contain|show|state|name|have|offer|support|allow"
    rf"|provide|let|record|know"
    r"|include)\b|\bno [\w ]{1,40} (?:is|are|was|were) (?:given|listed|recorded|mentioned|known|told|stated|shown"
    r"|named)\b"
    r"|\bnothing (?:says|tells|mentions)\b|\bno function\b|\bno option\b|\bno feature\b|\bnobody can\b"
    r"|(?:^|[.:;,] )no (?!longer)(?:[\w',\"-]+ ){1,9}?(?:exists?|(?:can|could) be found|(?:was|were) found)\b"
    r"|\b(?:has|have|is|are|found|shows?|lists?) none\b|\bnone (?:is|are|of (?:them|these|which)) (?:about|on|for|is"
    r"|are|has)\b"
    r"|(?:^|[.;] )(?:i |we )?(?:found|see) no \w"
    rf"|\b(?:is|are|was|were){_NOT} (?:a |an |any |the )?(?:feature|function|option|part|thing)\b"
    rf"|\b(?:is|are){_NOT} (?:on|in|among|part of) (?:the|this|that|its)\b"
    rf"|\b(?:has|have){_NOT} (?:been \w+|an?|any)\b|\b(?:does|do){_NOT} have\b"
    r"|\b(?:nobody|no one|no-one) (?:has|have|is|was|did|\w+ed)\b|\bnever (?:been )?(?:\w+ed|built|made|wrote|had"
    r"|was)\b"
    r"|\bpremise\b"
)
"""What is asked for is not there."""
_FUNCTION = re.compile(
    r"\b(?:no|not an?|not any|n't (?:a|an|any)|not have an?|n't have an?) (?:\w+ ){0,2}?(?:functions?|options?"
    r"|features?|ways?|buttons?"
    r"|links?|means|possibility|settings?|permissions?|rights?|access|accounts?|pages?|forms?|fields?|menus?|role)\b"
    r"|\bnobody can\b|\bnot (?:\w+ )?(?:supported|shown|visible|accessible|available|permitted|allowed)\b"
    r"|\b(?:does|do|did)(?:n't| not) (?:let|allow|support|offer|provide|show|give|include|have)\b|\b(?:show|offer"
    r"|give|provide|keep)s? no\b"
    r"|\b(?:site|website|page|shop|store|forum|map|wiki|encyclopa?edia|app|system|it) has no\b"
    r"|\b(?:is|are)(?:n't| not) (?:a |an |any )?(?:feature|function|option|part)\b|\bpremise\b"
)
"""Of what is not there: what makes that a lack of power."""
_BROKEN = re.compile(
    r"\b(?:site|page|server|network|connection|store|shop|map|forum|app|website|browser|system|it) (?:is|was|were"
    r"|went|has been|seems?) (?:\w+ )?"
    r"(?:down|offline|unreachable|unresponsive|broken|not (?:responding|loading|reachable|working))\b"
    r"|\b(?:did not|didn't|would not|wouldn't|does not|doesn't|won't|not|never|failed to|fails to) (?:load|respond"
    r"|open)\w*\b"
    r"|\btimed? ?out\b|\btime-?out\b|\bcrash\w*|\bcaptcha\b|\b(?:ran|run) out of\b|\btry(?:ing)? again\b"
    r"|\b(?:internal|server|network) error\b|\b50[0234]\b|\bnot (?:signed|logged) in\b|\bgave up\b|\bgive up\b"
    r"|\b(?:did not|didn't|have not|haven't) (?:look|check|try|visit|open|read|search)\w*"
)
"""What went wrong on the way says nothing of whether it can be done."""
_GUESS = re.compile(r"\b(?:maybe|perhaps|probably|possibly|presumably|guess\w*|might|i'd say|should be|must be)\b")
_TURN = re.compile(r"\b(?:but|however|although|though|instead|anyway|still)\b")
_POWER = re.compile(
    r"\b(?:can't|cannot|can not|may not|nobody can|no way|is locked|is private|no accounts?)\b|\bonly (?:\w+ ){0,5}?"
    r"(?:may|can|see)\b"
)
_STATUS = re.compile(r"\b(?:http )?(?:error )?40[345](?: error)?\b")
"""What a server answers to what may not be, or is not there."""
_MORE = re.compile(
    rf"\b(?:can't|cannot|can not) (?!find|tell|say|see (?:whether|if)|decide|determine|figure|locate|remember"
    rf"|help)[a-z]+\b"
    rf"|\b(?:is|are|was|were){_NOT} (?:\w+ )?(?:visible|accessible|public|there)\b"
    r"|\b(?:offers?|gives?|shows?|names?|lists?|contains?|records?|stores?|knows?|mentions?|provides?|keeps?) no\b"
    r"|^no (?:\w+ ){1,3}?(?:goes|runs|leaves|exists|stops)\b"
    rf"|\bdid{_NOT} (?!find|finish|manage|get|see|know|have|complete|succeed|look|work)[a-z]+\b"
)
"""Other verbs: of what somebody can't do, a place does not hold, or nobody did."""
_SHUT = re.compile(
    r"\b(?:is|are|was|were|has been|have been) (?:now |already |currently )?(?P<how>locked|archived|private|disabled"
    r"|restricted|closed (?:to|for)|switched off|turned off)\b"
)
"""What has been done so that nobody can; said of a question that has the word, it may be a deed."""
_OUT_OF_TIME = re.compile(r"\b(?:don't|do not|didn't|did not|no|not) (?:have )?(?:the |any |enough |more )*time\b")
_GAVE_UP = re.compile(
    r"\b(?:(?:out of|more|enough) (?:time|steps)|timed? ?out|time-?out|error|crash\w*|try(?:ing)? again|later"
    r"|load(?:ed|ing)?|captcha"
    r"|not sure|unsure|maybe|perhaps|probably|possibly|seems?|guess\w*|appears?|i (?:don't|do not) know|no idea"
    r"|give up|gave up"
    r"|(?:did not|didn't|have not|haven't) (?:look|check|try|visit|open|read|search)\w*|ai|language model|policy"
    r"|unethical"
    r"|assistant|browser|sign(?:ed)? in|log(?:ged)? in|unfinished|could (?:be(?! found)|have)|might)\b|\?"
)
_CONTRARY = re.compile(
    r"\b(?:but|however|although|though|instead|nevertheless|nonetheless|anyway|yet(?!\s*(?:$|[.;!]))"
    r"|(?<!is )(?<!are )(?<!was )still|even so|except|unless"
    r"|otherwise|so i(?! can't| cannot| can not| could))\b"
)
_LOOKED = re.compile(
    r"^(?:i|we)(?:'ve| have)? (?:looked|searched|checked|tried|browsed|went)\b"
    r"(?:(?!\b(?:not|but|and (?:\w+ed|made|wrote|sent|put|set|did|left|gave|took))\b)[^.;:!?]){0,120}?"
    r",? but (?=(?:there|no|none|nothing|nobody|it|its|this|that|the|an?|such|only|i|we|on|in)\b)"
)
"""What was done to find out: the ``but`` behind it turns nothing."""
_DEED = re.compile(
    r"\b(?:i|we)(?:'ve| have|'d| had)? (?:just |now |already |also )?(?!looked|searched|checked|tried|visited"
    r"|opened|needed|clicked|scrolled|navigated|logged|signed|filtered|sorted|confirmed|verified|expected|failed"
    r"|inspected|examined|compared|noticed|used|followed|wanted|discovered|attempted|reached|stopped|received"
    r"|browsed|viewed|reviewed|asked|was|am|read)(?:[\w-]+ed|made|wrote|sent|put|set|did|left|gave|took)\b"
    r"|\b(?:is|was|are|were|has been|have been) (?:now )?(?!not\b)(?:\w+ed|done) (?:now|successfully|as)\b"
    r"|\bdone\b(?<!be done)"
    r"|\bsuccess\w*|(?:^|[.;,] )(?:so |and )?(?:re-?)?(?:created|made|added|wrote|removed|deleted|sent|posted|ordered"
    r"|subscribed) (?:one|it|them|another|an?|the|this|that|all|everything)\b"
)


def declines(answer: str, question: str, reason: str = "") -> bool:
    """Whether an answer says, without further ado, that what is asked for is not there, not possible or not allowed.

    Not so who gives up, doubts, does something all the same, or gives a value: a number that neither the question
    nor the task's own ``reason`` has.

    >>> [declines(text, "Who pinned it?") for text in ("Issues can't be pinned.", "I ran out of time.", "Not Ann: Bo")]
    [True, False, False]
    """
    text = _STATUS.sub("", normalise(unmarked(answer)))
    if not text.strip() or len(text) > _LONGEST:
        return False
    if _GAVE_UP.search(text) or _BROKEN.search(text) or _DEED.search(text) or _CONTRARY.search(_LOOKED.sub("", text)):
        return False
    if _new_numbers(text, question, reason):
        return False
    asked = normalise(question)  # whose words, said again, say nothing
    if _OUT_OF_TIME.search(text) or _denies_what_is_there(text, question, reason):
        return False
    powers = _said((_CAN_NOT, _NO_RIGHT, _MORE), text, asked)
    powers = powers or any(shut["how"][:4] not in asked for shut in _SHUT.finditer(text))
    if not powers and of_power(reason):
        return bool(_said((_FUNCTION,), text, asked))
    return powers or _said((_THERE_IS_NONE,), text, asked)


def takes_back(rest: str, question: str, reason: str = "") -> bool:
    """Whether what follows on "N/A" is no reason: a value, a deed, or what went wrong on the way.

    >>> [takes_back(each, "How?") for each in ("about 45 minutes", "but I guess 45", "it gives only a width of 45")]
    [True, True, False]
    """
    text = _STATUS.sub("", normalise(unmarked(rest))).strip(" .,:;-()")
    if _BROKEN.search(text) or _DEED.search(text) or _is_a_name(rest, question, reason):
        return True
    first, reasons = re.match(r"\d[\d.,]*", text), (_CAN_NOT, _NO_RIGHT, _MORE, _THERE_IS_NONE)
    if first and unit_behind(text, first.end()) == asked_unit(question) != "" and not _said(reasons, text, ""):
        return True
    if not _new_numbers(text, question, reason):
        return _GUESS.search(text) is not None and not _said(reasons, text, "")
    return bool(_TURN.search(text) or _GUESS.search(text)) or len(re.findall(r"[^\W\d_]{2,}", text)) <= 3


_BARE_NAME = re.compile(r"(?:[Tt]he )?[A-Z][\w'-]+(?: (?:of|and|&|de|van) [A-Z][\w'-]+| [A-Z][\w'-]+)+")
_IT_IS = re.compile(r"(?:it|that|the answer)(?: is|'s) (?=(?:the )?[A-Z])", re.IGNORECASE)
_TITLED = re.compile(
    r"\b(?:no|not|none|noth\w+|nobody|never|nowhere|non\w*|un\w+|in\w+|dis\w+|mis\w+|den\w+|forb\w+|priv\w+|error"
    r"|access|permission\w*|feature\w*|function\w*|options?|read|only|out|off|down|over|beyond|outside|above|below"
    r"|pages?|data|details?|info\w*|reasons?|results?|hits?|matches|match|lack\w*|fail\w*|can\w*|does\w*|is|are|was|were"
    r"|has|have|do|did|imposs\w*|premise|false|wrong|requir\w+|need\w*|archived|absent|withheld|locked|blocked|closed"
    r"|hidden|deleted|removed|expired|restricted|prohibited|refused|rejected|reserved|secret|confidential|empty|blank"
    r"|dead|broken|lost|sold|gone|zero|null|nil|too|vague|ambiguous|unique|already|yet|log\w*|sign\w*|thank\w*|sorry"
    r"|please|see|regards|luck|there|here|this|that|exists?|available|given|listed|found|known|stated|mentioned|shown"
    r"|specified|supported|allowed|limit\w*|exceeded|ended|stopped|pending|admins?|moderators?|members|owners?|users"
    r"|maintainers?|guests?)\b",
    re.IGNORECASE,
)
"""Words of a reason that is written with capitals."""


def _is_a_name(rest: str, question: str, reason: str) -> bool:
    """Whether all that follows on "N/A" is a name of several words, which neither the question nor the reason has.

    A word alone may be a reason (``N/A: Sold``), if it isn't said that it is it.

    >>> [_is_a_name(each, "In which workshop?", "none") for each in ("; The Blue Ewer", " - Not Given", ": Sold")]
    [True, False, False]
    """
    told = unmarked(rest).strip(" .,:;-()!\"'")
    name = _IT_IS.sub("", told, count=1) if _IT_IS.match(told) else told
    alone = name != told and re.fullmatch(r"[A-Z][\w'-]+", name)
    if not (_BARE_NAME.fullmatch(name) or alone) or _TITLED.search(name):
        return False
    return normalise(name) not in normalise(question) and normalise(name) not in normalise(reason)


def _new_numbers(text: str, question: str, reason: str) -> bool:
    """Whether it has a number that neither the question nor the reason has. None of a thing is no value, unless the
    question is how many."""
    known = {token.value for told in (question, reason) for token in numbers_in(told)}
    if not re.search(r"\bhow (?:many|much)\b", question.casefold()):
        known.add(Fraction(0))
    return any(map(str.isdigit, text)) and any(token.value not in known for token in numbers_in(text))


_QUOTED = re.compile(r"\b([a-z]{3,}) (?:called |named |titled )?[\"\u201c]")
_NO_SUCH = re.compile(
    r"\bno such ([a-z]+)\b"
    r"|\bthere (?:is|was)(?: no|n't an?| not an?) ([a-z]+) (?:called|named|titled|with (?:that|this)|[\"])"
    r"|\b([a-z]+)[\"\u201d]? (?:does not|doesn't|did not|didn't) exist\b"
)


def _denies_what_is_there(text: str, question: str, reason: str) -> bool:
    """Whether it says that there is no such thing as one that the question names by its title, and of which the reason
    says nothing: a book of which the store tells no number is there.

    >>> [_denies_what_is_there(text, 'What does the book "Moths" weigh?', "no weight is told") for text in (
    ...     "there is no such book.", "there is no such number.")]
    [True, False]
    """
    asked, why = normalise(question), normalise(reason)
    named = set(_QUOTED.findall(asked))
    if _TELLS_NOT.search(why):  # then the thing itself is there
        named |= {
            word for title in re.findall(r"[\"\u201c]([^\"\u201d]+)", asked) for word in re.findall(r"[a-z]{3,}", title)
        }
    denied = {word for found in _NO_SUCH.findall(text) for word in found if word}
    return any(word in named and word not in why for word in denied)


_TELLS_NOT = re.compile(
    r"\b(?:gives?|names?|tells?|says?|states?|lists?|shows?|told|given|named|said|stated|listed|known|knows?)\b"
)


def of_power(reason: str) -> bool:
    """Whether a task's reason is that something can't or may not be done, not that it isn't there."""
    text = normalise(reason)
    return bool(_CAN_NOT.search(text) or _NO_RIGHT.search(text) or _POWER.search(text))


def _said(patterns: Iterable[re.Pattern[str]], text: str, asked: str) -> bool:
    return any(found[0].strip(" .:;,") not in asked for pattern in patterns for found in pattern.finditer(text))
