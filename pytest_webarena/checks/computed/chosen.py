"""The one option that an answer commits to, by its letter or in its words, if nothing said beside it is left over.

A text is read in pieces: sentences, and what follows from them (``…, so B``). A piece commits to an option if it names
that one alone and all else in it is understood (`harmless`). The last one that does counts, if it says that it is the
answer or stands alone, no other piece commits to another option, and what comes after it only explains.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.answer import says_unachievable
from pytest_webarena.checks.answer_types.accounting import otherwise_qualified
from pytest_webarena.checks.answer_types.tokens import tokens
from pytest_webarena.checks.computed.asking import REFUSED
from pytest_webarena.checks.computed.extraction import unwrap
from pytest_webarena.checks.computed.harmless import (
    HAZARDS,
    STATING,
    is_known,
    not_understood,
    words_in,
    words_of_question,
)
from pytest_webarena.checks.text import same_text

__all__ = ["may_name_option", "read_choice"]

_LONGEST = 4_000
"""Characters of a final answer; what is longer is none."""

_LEAD = re.compile(
    r"""^(?:so|thus|hence|therefore|i(?:\ would)?\ (?:choose|pick|select|say|answer)|i\ think)?[,:]?\s*
        (?:it\ is|it's|
           (?:the|my)?\s*(?:(?:final|correct|right|best|only|most\ likely)\s+)*(?:answer|option|choice|letter)s?
           (?:\s+(?:is|would\ be|should\ be|must\ be)|\s*[:=])?)?
        \s*[:=]?\s*(?:(?:the\s+)?(?:option|choice|letter|answer)\s*:?)?\s*""",
    re.IGNORECASE | re.VERBOSE,
)
_LETTER = r"[*_`\"'$]*(?:\\(?:text|mathrm|mathbf|textbf)\{)?[(\[]?\s*([A-Za-z])\s*[)\]]?\}?[*_`\"'$]*"
_NAMED = re.compile(rf"{_LETTER}(?:\s+(?:is|seems)\s+(?:the\s+)?(?:correct|right|true)(?:\s+(?:answer|option))?)?[.!]?")
_AFFIRMED = re.compile(r"\b(?:is|are|seems)\s+(?:correct|right|true)\b(?!\s+(?:answer|option))", re.IGNORECASE)
_FALSE = re.compile(r"\b(?:false|wrong|incorrect|untrue)\b", re.IGNORECASE)
_MENTION = re.compile(
    r"(?:(?i:\b(?:option|choice|letter|answer(?:\s+is)?:?)\s+)[(\[*_]*([A-Za-z])(?![A-Za-z0-9'])"
    r"|(?<![A-Za-z0-9'\\°\u0370-\u03ff])([A-Z])(?![A-Za-z0-9'])|(?<!\w)[(\[]([a-z])[)\]]|^([a-z])[).:]|^([a-z])$)",
    re.MULTILINE,
)
_DENIED = re.compile(
    r"(?:\b(?:not|never|neither|nor|except|excluding|exclude|eliminate[sd]?|reject(?:s|ed)?|wrong|incorrect|false|without"
    r"|rules?\s+out|ruled\s+out|(?:other|else)\s+than|(?:anything|everything|all)\s+(?:else\s+)?but"
    r"|(?:opposite|contrary)\s+(?:of|to)|none\s+of|rather\s+than|instead\s+of|cannot|doubt)|n'?t)"
    r"\s*:?\s+(?:[\w']+\s+){0,4}[(\[*_\"'`]*(?:option|choice|letter|answer)?\s*[(\[*_\"'`]*$",
    re.IGNORECASE,
)
_DENIED_BEHIND = re.compile(
    r"^[)\]*_.\"'`]*\s*(?:[,;–—-]+\s*)?(?:[\w']+\s+){0,3}?"
    r"(?:(?:is|was|can|could|does|would|should|must|has|do|did|are|were)n'?t|not|cannot|never|wrong|incorrect|false|untrue"
    r"|impossible|invalid|unlikely|excluded|eliminated|rejected|ruled\s+out|out)\b",
    re.IGNORECASE,
)
_NO_ARTICLE = re.compile(r"\s+(?:is|was|isn't|because|since|as|or|and|nor|but|not|over|rather|seems|can|must|would)\b")
_PIECE = re.compile(
    r"(?P<line>\n+)|(?<!i\.e\.)(?<!e\.g\.)(?<=[.!?;])[*_\"')]*\s+"
    r"|[,;–—]?\s*(?P<follows>\b(?:and\s+)?(?:so|thus|hence|therefore|consequently|which\s+means)\b[,:]?)",
    re.IGNORECASE,
)
_REASON = re.compile(r"[,(–—-]?\s*\b(?:because|since|due\s+to|given\s+that)\b.*", re.IGNORECASE | re.DOTALL)
_INTRO = re.compile(
    r"\s*(?:after|based\s+on|given|by|using|considering|looking|comparing|from|with|in|among|of|as|since|because)\b[^,\x01]*,",
    re.IGNORECASE,
)
_DECIDES = re.compile(r"\b(?:answer|option|choice|letter|choose|chose|pick|select|correct|right)\b", re.IGNORECASE)
_MARK = "\x01"
_UNSAID = re.compile(
    rf"^[^\w{_MARK}]*(?:is|are|was|would|should|will|do|does|can)\s+[^?]*?{_MARK}|{_MARK}\W*\s(?:would|should|must)\b|\bhave\s+been\b"
    rf"|{_MARK}\s*-\s*$",
    re.IGNORECASE,
)
"""Asked, wished for: ``Is B correct``, ``It should have been B``."""
_PREDICATE = re.compile(
    rf"{_MARK}(?:[^\w{_MARK}]*$|\s+(?:is|would\s+be|seems)\s+(?:the\s+)?(?:\w+\s+)?(?:answer|correct|right|one)\b)"
)
_SIGNS = re.compile(r"[^\x01\w\s.,:;()\[\]{}\"'*`$=\\–—_✓✔✅•>|-]|!(?!\s*$)|[>|](?!\s*[^\s])")
_NOT_TICKED = re.compile(r"(?:[-*+]\s+)?\[\s*\]|-[(\[]?[A-Za-z][)\]]?\W*$|[A-Za-z]'+$")
"""An empty box, a sign or a prime at the letter; ``- B`` is an item of a list."""
_RIGHT_ONE = re.compile(
    r"\b(?:answer|correct|right)(?:\s+(?:one|answer|option))?(?:\s+is)?[\s,:(\"'*]*$", re.IGNORECASE
)
_IS_RIGHT = re.compile(
    r"[\s\"'*)]*\s(?:is|was)\s+(?:the\s+)?(?:\w+ly\s+)?(?:correct|right|true|answer|one)\b", re.IGNORECASE
)
_DECLINED = re.compile(r"\bI\s+(?:refuse|decline)\b", re.IGNORECASE)
_WRONG = re.compile(
    r"\b(?:it|this|that|which)(?:\s+is|'s)\s+(?:wrong|false|incorrect|untrue)\b|\bfalsely\b", re.IGNORECASE
)
_EXPLAINS = re.compile(r"\W*(?:it|this|that|because|since|here|these)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Mention:
    start: int
    end: int
    letter: str
    spelled: bool
    """Whether by the words of the option."""


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    mentions: tuple[_Mention, ...]
    """With places in ``text``."""
    alone: bool
    """Whether a line begins with it."""
    follows: bool
    """Whether it is said to follow from what comes before."""


def read_choice(text: str, options: Sequence[str], question: str = "") -> str | tuple[str, str]:
    """The letter that an answer names, alone; or two texts, an empty one and why it names none.

    >>> [read_choice(text, ("iron", "tin")) for text in ("(b)", "The answer is B.", "B) tin", "tin")]
    ['B', 'B', 'B', 'B']
    """
    letters = string.ascii_uppercase[: len(options)]
    if len(text) > _LONGEST:
        return "", f"it is longer than {_LONGEST:,} characters"
    bare = text.replace("\u2019", "'").strip()
    if _NOT_TICKED.match(bare):
        return "", f"it marks an option without naming it: {bare[:20]}"
    if _DECLINED.search(bare):
        return "", REFUSED
    rest = bare[_LEAD.match(bare).end() :].strip() if _LEAD.match(bare) else bare  # type: ignore[union-attr]
    if (affirmed := _AFFIRMED.search(bare)) is not None and _asks_for_false(question, affirmed[0]):
        return "", f"the question asks for what is false, and it says that an option {affirmed[0]}"
    for said in dict.fromkeys((bare, rest)):
        if (named := _NAMED.fullmatch(said)) and named[1].upper() in letters:
            return named[1].upper()
    for said in dict.fromkeys((bare, rest)):
        if "?" not in said and (equal := _option(said, options)) is not None:
            return equal
    if says_unachievable(bare):
        return "", REFUSED
    return _committed(bare, options, words_of_question(question))


def _asks_for_false(question: str, affirmed: str) -> bool:
    """Whether a question asks for an option that is false, or of which it denies what an answer affirms."""
    return bool(_FALSE.search(question) or otherwise_qualified(tokens(affirmed), question))


def may_name_option(text: str, options: Sequence[str]) -> bool:
    """Whether a text has the letter of an option, or a word or number of one.

    >>> [may_name_option(text, ("iron", "tin")) for text in ("not B", "Tinny tin", "E", "gold")]
    [True, True, False, False]
    """
    letters = string.ascii_uppercase[: len(options)]
    said = {*words_in(text), *re.findall(r"\d+", text)}
    own = {word for option in options for word in (*words_in(option), *re.findall(r"\d+", option))} - STATING
    return not said.isdisjoint(own) or any(each.letter in letters for each in _mentions(text, options))


def _option(text: str, options: Sequence[str]) -> str | None:
    """The letter of the only option that is this text."""
    same = [
        index
        for index, option in enumerate(options)
        if same_text(option, text) or same_text(unwrap(option), unwrap(text))
    ]
    return string.ascii_uppercase[same[0]] if len(same) == 1 else None


def _committed(text: str, options: Sequence[str], asked: frozenset[str]) -> str | tuple[str, str]:
    """The only option that the pieces of a text commit to."""
    letters = string.ascii_uppercase[: len(options)]
    mentions = _mentions(text, options)
    pieces = list(_pieces(text, mentions))
    read = [_reading(piece, options, asked) for piece in pieces]
    chosen = dict.fromkeys(letter for letter, _ in read if letter)
    if len(chosen) > 1:
        return "", f"it names several options: {', '.join(chosen)}"
    if not {mention.letter for mention in mentions} & set(letters) and not chosen:
        return "", f"it names none of the options {letters[0]} to {letters[-1]}"
    if not chosen:
        return "", _why_not(text, mentions, read)
    letter = next(iter(chosen))
    last = max(index for index, (said, _) in enumerate(read) if said)
    for piece, (said, _) in zip(pieces[:last], read, strict=False):
        if (
            not said
            and {mention.letter for mention in piece.mentions} == {letter}
            and _is_denied(piece.text, piece.mentions[0])
        ):
            return "", f"it speaks against {letter}"
    decides = pieces[last].follows or pieces[last].alone or bool(_DECIDES.search(pieces[last].text))
    for index, (piece, (said, left)) in enumerate(zip(pieces, read, strict=True)):
        if index == last or said or not left:
            continue
        if (index < last and not decides) or (index > last and not _explains(piece, letter)):
            others = dict.fromkeys(mention.letter for mention in (*pieces[last].mentions, *piece.mentions))
            if len(others) > 1:
                return "", f"it names several options: {', '.join(others)}"
            return "", _left_over(left)
    return letter


def _why_not(text: str, mentions: Sequence[_Mention], read: Sequence[tuple[str, list[str]]]) -> str:
    for mention in mentions:
        if _is_denied(text, mention):
            return f"it speaks against {mention.letter}"
    named = dict.fromkeys(mention.letter for mention in mentions)
    if len(named) > 1:
        return f"it names several options: {', '.join(named)}"
    return _left_over([word for _, left in read for word in left])


def _is_denied(text: str, mention: _Mention) -> bool:
    before, behind = text[max(0, mention.start - 80) : mention.start], text[mention.end :][:80]
    return bool(_DENIED.search(before) or _DENIED_BEHIND.match(behind))


def _left_over(words: Sequence[str]) -> str:
    return f"it says more than an option, and this is not understood: {', '.join(dict.fromkeys(words[:4]))}"


def _mentions(text: str, options: Sequence[str]) -> list[_Mention]:
    """Where options are named, letters that none has included."""
    found: list[_Mention] = []
    for option, letter in sorted(zip(options, string.ascii_uppercase, strict=False), key=lambda each: -len(each[0])):
        words = unwrap(option).split()
        if not words or (len(words) == 1 and len(words[0]) == 1 and words[0].isalpha()):
            continue
        pattern = r"\s+".join(map(re.escape, words))
        plural = "(?:es|s)?" if words[-1].isalpha() and len(words[-1]) > 3 else ""
        for match in re.finditer(rf"(?<![\w.^\\])(?:{pattern}){plural}(?!\w|\.\d|\^)", text, re.IGNORECASE):
            if not any(match.start() < other.end and other.start < match.end() for other in found):
                found.append(_Mention(match.start(), match.end(), letter, spelled=True))
    for match in _MENTION.finditer(text):
        place = match.lastindex or 0
        start, end, letter = match.start(place), match.end(place), match[place]
        after = text[end:]
        if letter in "AaI" and place in (1, 2) and re.match(r"\s+[a-z]", after) and not _NO_ARTICLE.match(after):
            continue  # an article, somebody who speaks
        if not any(start < other.end and other.start < end for other in found):
            found.append(_Mention(start, end, letter.upper(), spelled=False))
    return sorted(found, key=lambda each: each.start)


def _pieces(text: str, mentions: Sequence[_Mention]) -> Iterator[_Piece]:
    begun, alone, follows = 0, True, False
    cuts = [
        cut
        for cut in _PIECE.finditer(text)
        if not any(each.start < cut.end() and cut.start() < each.end for each in mentions)
    ]
    for cut in (*cuts, None):
        end = len(text) if cut is None else cut.start()
        inside = tuple(
            _Mention(each.start - begun, each.end - begun, each.letter, each.spelled)
            for each in mentions
            if begun <= each.start < end
        )
        if text[begun:end].strip():
            yield _Piece(text[begun:end], inside, alone, follows)
            alone = False
        if cut is not None:
            begun = cut.end()
            alone = alone or cut["line"] is not None
            follows = cut["follows"] is not None


def _reading(piece: _Piece, options: Sequence[str], asked: frozenset[str]) -> tuple[str, list[str]]:
    """The letter that a piece commits to, and what keeps it from that: words and signs."""
    frame = piece.text
    for mention in reversed(piece.mentions):
        frame = f"{frame[: mention.start]}{_MARK}{frame[mention.end :]}"
    said = list(piece.mentions)
    if (reason := _REASON.search(frame)) is not None and _MARK in frame[: reason.start()]:
        if (against := _WRONG.search(reason[0])) is not None:
            return "", [against[0]]
        count = frame[: reason.start()].count(_MARK)
        if any(not mention.spelled and mention.letter != said[0].letter for mention in said[count:]):
            return "", [mention.letter for mention in said]
        if any(mention.letter != said[0].letter and _affirms(piece.text, mention) for mention in said[count:]):
            return "", list(dict.fromkeys(mention.letter for mention in said))
        frame, said = frame[: reason.start()], said[:count]
    if (intro := _INTRO.match(frame)) is not None and not set(words_in(intro[0])) & HAZARDS - {"as"}:
        frame = frame[intro.end() :]
    named = dict.fromkeys(mention.letter for mention in said)
    letter = next(iter(named)) if len(named) == 1 else "" if named else _paraphrased(frame, options)
    own = options[ord(letter) - 65] if letter and ord(letter) - 65 < len(options) else ""
    known = asked | words_of_question(own)
    left = not_understood(frame, known, STATING)
    left += [sign[0] for sign in _SIGNS.finditer(frame.strip()) if sign[0] not in own]
    left += [digits for digits in re.findall(r"\d+", frame) if digits not in own]
    if (astray := _UNSAID.search(frame)) is not None:
        left.append(astray[0].replace(_MARK, "").split()[0])
    if left or not letter:
        return "", left or list(named)
    if not own:
        return "", [letter]
    quoted = {word for word in words_in(frame) if is_known(word, asked, frozenset())}
    if (
        said
        and all(mention.spelled for mention in said)
        and _PREDICATE.search(frame) is None
        and len(quoted - STATING) < 2
    ):
        return "", [own]  # something is said of it
    return letter, []


def _affirms(text: str, mention: _Mention) -> bool:
    """Whether a text says of an option that it is the right one: ``because Paris is correct``."""
    return bool(_RIGHT_ONE.search(text[: mention.start]) or _IS_RIGHT.match(text[mention.end :]))


def _paraphrased(text: str, options: Sequence[str]) -> str:
    """The letter of the only option all of whose own words are in a text, if they are more than one."""
    said = {*words_in(text), *re.findall(r"\d+", text)}
    found = [
        letter
        for option, letter in zip(options, string.ascii_uppercase, strict=False)
        if len(own := {*words_in(option), *re.findall(r"\d+", option)} - STATING) > 1 and own <= said
    ]
    return found[0] if len(found) == 1 else ""


def _explains(piece: _Piece, letter: str) -> bool:
    """Whether what is said after the answer speaks of it alone, and not against it."""
    if any(mention.letter != letter for mention in piece.mentions if mention.spelled or mention.letter.isalpha()):
        return False
    about = _EXPLAINS.match(piece.text) or (piece.mentions and not piece.text[: piece.mentions[0].start].strip())
    return bool(about) and "?" not in piece.text and not set(words_in(piece.text)) & HAZARDS
