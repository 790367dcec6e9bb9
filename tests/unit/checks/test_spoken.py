"""What answers say of the value in them: in people's spellings and words, with what turns it round or takes it back."""

from __future__ import annotations

from tests.cases import each_case

from .helpers import evidence, result

_PAID = "How many crowns did I pay in the store in May 2024? Leave out orders that were returned."


def passes(check: str, answer: str, intent: str) -> bool:
    return result(f"answer: {check}", evidence(answer), intent=intent).passed is True


# --- numbers


@each_case(
    "answer",
    [
        "You spent 1,204.50 crowns.",
        "In May 2024 you spent 1204.50.",
        "The amount 1,204.50 was spent.",
        "1 204.50 kr",
        "1\u202f204,50 kr",
        "kr1,204.50",
        "SEK1204.50",
    ],
)
def test_a_number_as_people_write_it(answer: str) -> None:
    assert passes("{number: 1204.50}", answer, _PAID)


@each_case(
    "answer",
    ["It isn't 1204.50", "It isnt 1204.50", "It wasnt 1204.50", "1 1204.50", "1 204 1204.50", "1 204.50 99"],
)
def test_a_number_denied_or_beside_another(answer: str) -> None:
    assert not passes("{number: 1204.50}", answer, _PAID)


# --- what can't be done

_CLOSE = ("Close the harbour for me.", "only the harbour master can close it")
_LACKING = ("When was the ferry house painted?", "the article names no year")
_ABSENT = ("Join the forum about sailing.", "there is no forum about sailing")


def declines(answer: str, task: tuple[str, str]) -> bool:
    intent, reason = task
    return passes(f"{{unachievable: {reason}}}", answer, intent)


@each_case(
    ("answer", "task"),
    [
        ("Not allowed.", _CLOSE),
        ("403 Forbidden: the page is not accessible with this account.", _CLOSE),
        ("You need to be the harbour owner to do that.", _CLOSE),
        ("You have to be an administrator for it.", _CLOSE),
        ("There's no option to close the harbour; it is still open.", _CLOSE),
        ("This page is read-only.", _CLOSE),
        ("There is no button for it.", _CLOSE),
        ("This site has no such thing as closing.", _CLOSE),
        ("Closing is not a feature of this site.", _CLOSE),
        ("N/A", _CLOSE),
        ("N/A: I searched all the menus and none offers it.", _CLOSE),
        ("N/A (error 403)", _CLOSE),
        ("Not available - only the building is dated.", _LACKING),
        ("The article lists no year for it.", _LACKING),
        ("The year is not on the page.", _LACKING),
        ("No year is given.", _LACKING),
        ("No such date could be found in the article.", _LACKING),
        ("Nobody has recorded it.", _LACKING),
        ("N/A - the article gives no year of painting, only that of its roof, 1788", _LACKING),
        ("The ferry house was never painted.", _LACKING),
        ("No forum about sailing exists.", _ABSENT),
        ("The list has none about sailing.", _ABSENT),
        ("I looked at all forums: none is about sailing.", _ABSENT),
        ("I found no forum about sailing.", _ABSENT),
        ("There are no forums about sailing yet.", _ABSENT),
        ("This site doesn't have a forum about sailing.", _ABSENT),
    ],
)
def test_what_cannot_be_done_in_peoples_words(answer: str, task: tuple[str, str]) -> None:
    assert declines(answer, task)


@each_case(
    ("answer", "task"),
    [
        ("I could not close it because the site was down.", _CLOSE),
        ("N/A, the server timed out.", _CLOSE),
        ("N/A: I was not logged in.", _CLOSE),
        ("N/A. I closed the bridge instead.", _CLOSE),
        ("N/A - done", _CLOSE),
        ("There is no harbour in this town.", _CLOSE),
        ("The harbour has no gate.", _CLOSE),
        ("The harbour has never been open.", _CLOSE),
        ("Nobody has asked for that.", _CLOSE),
        ("I gave up.", _CLOSE),
        ("The page didn't load.", _LACKING),
        ("N/A, but it should be 1801.", _LACKING),
        ("N/A, about 1801", _LACKING),
        ("N/A 1801", _LACKING),
        ("N/A. Probably in the spring.", _LACKING),
        ("It was painted in 1801.", _LACKING),
        ("Not given? I am not sure.", _LACKING),
        ("No forum about sailing exists; created one.", _ABSENT),
        ("There is none, so I made one.", _ABSENT),
        ("N/A, I joined boats.", _ABSENT),
        ("I didn't look for one.", _ABSENT),
    ],
)
def test_what_is_no_word_of_that_it_cannot_be_done(answer: str, task: tuple[str, str]) -> None:
    assert not declines(answer, task)


# --- texts

_LAST = "Who was the last to leave the ferry?"
_MOST = "Which boat has the most berths?"


@each_case(
    ("check", "answer", "intent"),
    [
        ("{includes: Ann Lund}", "Ann Lund was the last.", _LAST),
        ("{includes: Ann Lund}", "After the others, Ann Lund left.", _LAST),
        ("{includes: Heron}", "Heron has the most, Wren the fewest.", _MOST),
        ("{includes: Heron}", "The Heron (with the most berths)", _MOST),
        ("{includes: Inns and Ales}", "Inns & Ales", "Which is it?"),
        ("{includes: nobody}", "Nobody.", _LAST),
        ("{regex: '[A-Z]{2}-\\d'}", "It is AB-1.", "Which code is it?"),
        ("{json: {a: 1}}", 'Here it is:\n```json\n{"a": 1}\n```', "What is it?"),
    ],
)
def test_a_text_that_is_said(check: str, answer: str, intent: str) -> None:
    assert passes(check, answer, intent)


@each_case(
    ("check", "answer", "intent"),
    [
        ("{includes: Ann Lund}", "Nobody. Ann Lund stayed.", _LAST),
        ("{includes: Ann Lund}", "None: Ann Lund stayed", _LAST),
        ("{includes: Ann Lund}", "Bo Vik, after Ann Lund", _LAST),
        ("{includes: Ann Lund}", "Bo Vik, two minutes after Ann Lund", _LAST),
        ("{includes: Ann Lund}", "Ann Lund was the last but one", _LAST),
        ("{includes: Ann Lund}", "Ann Lund was the first to leave", _LAST),
        ("{includes: Ann Lund}", "Ann Lund, though I didn't check the others", _LAST),
        ("{includes: Heron}", "Heron has the fewest", _MOST),
        ("{includes: 4 Pier Lane}", "opposite 4 Pier Lane", "What is the address?"),
        ("{includes: 2024-05-01}", "The day after 2024-05-01", "When was it?"),
        ("{includes: 2024-05-01}", "any day but 2024-05-01", "When was it?"),
        ("{regex: '[A-Z]{2}-\\d'}", "not AB-1", "Which code is it?"),
        ("{regex: '[A-Z]{2}-\\d'}", "Any but AB-1", "Which code is it?"),
        ("{regex: 'AB-\\d'}", "AB-1 or XY-2", "Which code is it?"),
        ("{json: {a: 1}}", '```json\n{"a": 1}\n```\nNo, that is wrong.', "What is it?"),
        ("{json: {a: 1}}", '{"a": 2}\n```json\n{"a": 1}\n```', "What is it?"),
    ],
)
def test_a_text_that_is_not_said(check: str, answer: str, intent: str) -> None:
    assert not passes(check, answer, intent)


def test_what_is_denied_under_a_not_counts_for_neither() -> None:
    """Else "X, or maybe Y" would pass where Y must not be said."""
    made = result("not: {answer: {regex: 'AB-\\d'}}", evidence("XY-2, not AB-1"), intent="Which code is it?")
    assert made.passed is False


# --- what turns a number into another one

_TAKEN = "How many minutes longer is the way by bus from Fenby than the way by train from Osk? Leave out waiting."
_VOTES = "How many more votes did Heron get than Wren in 2024?"
_SENT = "How many comments did ann.lund write in 2024?"
_SUNK = "By how many tonnes did the catch fall?"


@each_case(
    ("answer", "intent"),
    [
        ("12 minutes by bus", _TAKEN),
        ("12 minutes longer", _TAKEN),
        ("12 minutes, waiting left out", _TAKEN),
        ("Heron got 12 more votes than Wren.", _VOTES),
        ("12 more than Wren", _VOTES),
        ("Heron has 12 more than Wren in 2024.", _VOTES),
        ("12 replies", _SENT),
        ("12 by ann.lund", _SENT),
        ("ann.lund wrote 12 of them in 2024.", _SENT),
        ("12 in 2024", _SENT),
        ("It fell by 12 tonnes.", _SUNK),
        ("12 t less", _SUNK),
        ("It comes to 12 tonnes.", _SUNK),
    ],
)
def test_a_number_with_words_that_leave_it(answer: str, intent: str) -> None:
    assert passes("{number: 12}", answer, intent)


@each_case(
    ("answer", "intent"),
    [
        ("12 minutes by car", _TAKEN),
        ("half of 12 minutes", _TAKEN),
        ("double 12 minutes", _TAKEN),
        ("12 minutes including waiting", _TAKEN),
        ("12 minutes, plus waiting", _TAKEN),
        ("Wren got 12 more than Heron.", _VOTES),
        ("12 posts more", _VOTES),
        ("12 in 2023", _SENT),
        ("12 by bo.vik", _SENT),
        ("12 were written by Bo Vik", _SENT),
        ("12 are not by ann.lund", _SENT),
        ("12 posts", _SENT),
        ("12 per post", _SENT),
        ("12, but I didn't look at all pages", _SENT),
        ("It fell to 12 tonnes.", _SUNK),
        ("12 tonnes extra", _SUNK),
        ("12 tonnes less the bycatch", _SUNK),
    ],
)
def test_a_number_with_words_that_change_it(answer: str, intent: str) -> None:
    assert not passes("{number: 12}", answer, intent)
