"""Names beside those that are wanted or behind "N/A", and what looks like some and is none."""

from __future__ import annotations

import pytest

from .helpers import evidence, result

Table = list[tuple[str, str, list[str], list[str]]]
"""Check, intent, answers that pass and answers that don't."""

ONLY: Table = [
    (
        "{includes: [Rahmani Pharmacy, Dunn Pharmacy], only: true}",
        "Which of the pharmacies in Ivesham opens on Sundays? Name only those.",
        [
            "Rahmani Pharmacy and Dunn Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy",
            "Rahmani Pharmacy; Dunn Pharmacy",
            "Rahmani Pharmacy / Dunn Pharmacy",
            "Rahmani Pharmacy, Mill Lane 4, and Dunn Pharmacy, High Street 2",
            "Rahmani Pharmacy (10:00-14:00), Dunn Pharmacy (9:00-12:00)",
            "the Rahmani Pharmacy, the Dunn Pharmacy",
            "Rahmani Pharmacy plus Dunn Pharmacy",
            "RAHMANI PHARMACY, DUNN PHARMACY",
            "Rahmani Pharmacy - Dunn Pharmacy",
            "In Ivesham, Rahmani Pharmacy and Dunn Pharmacy.",
            "Rahmani Pharmacy and also the Dunn Pharmacy",
            "Rahmani Pharmacy\nDunn Pharmacy",
            "The pharmacies are: Rahmani Pharmacy; Dunn Pharmacy. Both open on Sundays.",
            "Rahmani Pharmacy, 4 Mill Lane; Dunn Pharmacy, 2 High Street",
            "Dunn Pharmacy and Rahmani Pharmacy open on Sundays.",
            "1. Rahmani Pharmacy\n2. Dunn Pharmacy",
            "rahmani pharmacy and dunn pharmacy",
            "Sure, Rahmani Pharmacy and Dunn Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy. The others are closed.",
            "Rahmani Pharmacy (Mill Lane 4) and Dunn Pharmacy (High Street 2)",
            "Dunn Pharmacy (High Street 2); Rahmani Pharmacy (Mill Lane 4).",
            "I found two: the Rahmani Pharmacy, 10:00-14:00, and the Dunn Pharmacy, 9:00-12:00.",
            "The Rahmani Pharmacy and the Dunn Pharmacy are open.",
            "Both Rahmani Pharmacy and Dunn Pharmacy.",
            "Rahmani Pharmacy\nDunn Pharmacy\n",
            "Rahmani Pharmacy; and Dunn Pharmacy",
            "Rahmani Pharmacy & Dunn Pharmacy",
            "Answer: Rahmani Pharmacy, Dunn Pharmacy",
            "Final answer: Rahmani Pharmacy; Dunn Pharmacy",
            "Hello! Rahmani Pharmacy and Dunn Pharmacy open on Sundays.",
            "Rahmani Pharmacy, Dunn Pharmacy (Sundays, 10:00-14:00)",
            "Only these: Dunn Pharmacy, Rahmani Pharmacy",
            "**Rahmani Pharmacy**; **Dunn Pharmacy**",
        ],
        [
            "Rahmani Pharmacy; Dunn Pharmacy; Novak Pharmacy",
            "Rahmani Pharmacy / Dunn Pharmacy / Novak Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy (and Novak Pharmacy)",
            "Rahmani Pharmacy, Dunn Pharmacy, plus Novak Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy, plus Novak",
            "Rahmani Pharmacy, Dunn Pharmacy; also Novak",
            "the Rahmani Pharmacy, the Dunn Pharmacy, the Novak Pharmacy",
            "Novak; Rahmani Pharmacy; Dunn Pharmacy",
            "Novak Pharmacy / Rahmani Pharmacy / Dunn Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy as well as Novak Pharmacy",
            "Rahmani Pharmacy | Dunn Pharmacy | Novak Pharmacy",
            "Rahmani Pharmacy\nDunn Pharmacy\nNovak Pharmacy",
            "Rahmani Pharmacy, Novak Pharmacy, Dunn Pharmacy",
            "Rahmani Pharmacy, Mill Lane 4, Dunn Pharmacy, and Novak Pharmacy, High Street 2",
            "Rahmani Pharmacy + Dunn Pharmacy + Novak Pharmacy",
            "Rahmani Pharmacy and Dunn Pharmacy and Novak Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy, Novak Pharmacy, and Sea View",
            "Rahmani Pharmacy, Dunn Pharmacy and The Blue Ewer",
            "Rahmani Pharmacy; Dunn Pharmacy; Cafe 21",
            "Rahmani Pharmacy, Dunn Pharmacy, Novak Pharmacy.",
            "Novak, Rahmani Pharmacy and Dunn Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy + Novak",
            "Rahmani Pharmacy, Dunn Pharmacy, Novak",
            "Rahmani Pharmacy, Dunn Pharmacy along with Novak Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy, and also the Novak Pharmacy",
            "Rahmani Pharmacy / Dunn Pharmacy, Novak",
            "Dunn Pharmacy, Novak Pharmacy; Rahmani Pharmacy",
            "* Rahmani Pharmacy\n* Dunn Pharmacy\n* Novak Pharmacy",
            "Rahmani Pharmacy\n\nDunn Pharmacy\n\nNovak Pharmacy",
            "Novak Pharmacy\nRahmani Pharmacy\nDunn Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy, Novak Pharmacy and others",
            "Rahmani Pharmacy, Dunn Pharmacy and Novak's",
            "Open: Rahmani Pharmacy; Dunn Pharmacy; Novak Pharmacy.",
            "Rahmani Pharmacy (Mill Lane 4); Dunn Pharmacy; Novak Pharmacy",
            "Rahmani Pharmacy, Dunn Pharmacy, Novak Lane",
        ],
    ),
    (
        "{includes: Priya Nandakumar, only: true}",
        "Who opened it?",
        [
            "Priya Nandakumar, March 3",
            "Priya Nandakumar, on 3 March 2023",
            "Priya Nandakumar (March 3)",
            "It was Priya Nandakumar.",
            "Priya Nandakumar, March 3, 2023",
            "Priya Nandakumar, March 3, at 10:00",
        ],
        [
            "Priya Nandakumar; Ann Lee",
            "Priya Nandakumar, Ann Lee",
            "Priya Nandakumar/Ann Lee",
            "Priya Nandakumar, March 3, and Ann Lee",
            "Ann Lee; Priya Nandakumar",
            "Priya Nandakumar and April Lee",
            "Priya Nandakumar, then Ann Lee",
        ],
    ),
    (
        "{includes: ann.lee/rye-timer, only: true}",
        "Which project has the most stars?",
        ["ann.lee/rye-timer, with n/a stars", "`ann.lee/rye-timer`"],
        ["ann.lee/rye-timer; makers/quern", "ann.lee/rye-timer, makers/quern", "makers/quern, ann.lee/rye-timer"],
    ),
    (
        "{includes: [Gruber Books, Santos Books], only: true}",
        "Which bookshops in Brackwater open on Mondays?",
        [
            "Gruber Books and Santos Books",
            "Gruber Books, Santos Books (both in Brackwater)",
            "Santos Books; Gruber Books; both open on Mondays.",
            "Gruber Books, Quay Street 7, Santos Books, Market Square 1",
            "Gruber Books (Brackwater), Santos Books (Brackwater)",
            "On Mondays, Gruber Books and Santos Books are open.",
            "Gruber Books: 9-17\nSantos Books: 10-18",
            "| Shop | Day |\n|---|---|\n| Gruber Books | Mon |\n| Santos Books | Mon |",
            "| Gruber Books | Santos Books |",
            "Gruber Books, Santos Books. Thank You.",
        ],
        [
            "| Gruber Books |\n| Santos Books |\n| Orme Books |",
            "Gruber Books, Santos Books, Orme Books and Ellery Books",
            "Gruber Books; Santos Books; Ellery Books",
            "Orme Books; Gruber Books and Santos Books",
            "Gruber Books, Santos Books/Orme Books",
            "Gruber Books, Santos Books, Orme",
            "Gruber Books, Orme Books and Santos Books",
            "Gruber Books, Santos Books and likewise Orme Books",
            "| Shop | Day |\n|---|---|\n| Gruber Books | Mon |\n| Santos Books | Mon |\n| Orme Books | Mon |",
        ],
    ),
    (
        "{includes: ilse.varnholt@tarnmark.test, only: true}",
        "What is the mail address?",
        [
            "ilse.varnholt@tarnmark.test",
            "Ilse Varnholt: ilse.varnholt@tarnmark.test",
            "It is <ilse.varnholt@tarnmark.test>.",
        ],
        ["ilse.varnholt@tarnmark.test; a@b.test", "a@b.test / ilse.varnholt@tarnmark.test"],
    ),
    (
        "{includes: [Lantern & Loam, The Blue Ewer, Chainstay Cycles, Merrow Cider House], only: true}",
        "Which of the shops in the manual are open on Sunday?",
        [
            "Lantern & Loam, The Blue Ewer, Chainstay Cycles, Merrow Cider House",
            "Lantern and Loam; The Blue Ewer; Chainstay Cycles; Merrow Cider House",
            "The Blue Ewer, Lantern & Loam, Merrow Cider House and Chainstay Cycles",
            "lantern & loam, the blue ewer, chainstay cycles, merrow cider house",
            "- Lantern & Loam\n- The Blue Ewer\n- Chainstay Cycles\n- Merrow Cider House",
        ],
        [
            "Lantern & Loam, The Blue Ewer, Chainstay Cycles, Merrow Cider House, Quill",
            "Lantern & Loam; The Blue Ewer; Chainstay Cycles; Merrow Cider House; Kirkeby",
            "Quill, Lantern & Loam, The Blue Ewer, Chainstay Cycles, Merrow Cider House",
        ],
    ),
    (
        "{includes: [Beate Flint, Ulla Bellamy], only: true}",
        "Which customers gave it one star?",
        [
            "Beate Flint and Ulla Bellamy",
            "Beate Flint, Ulla Bellamy",
            "Beate Flint; Ulla Bellamy",
            "Beate Flint (12 May 2023), Ulla Bellamy (3 June 2023)",
            "Beate Flint, 12 May 2023, and Ulla Bellamy, 3 June 2023",
            "Beate Flint, May 12; Ulla Bellamy, June 3",
            "beate flint, ulla bellamy",
            "Beate Flint/Ulla Bellamy",
            "The customers Beate Flint and Ulla Bellamy gave it one star.",
        ],
        [
            "Beate Flint, Ulla Bellamy, Imke Sedley",
            "Beate Flint; Ulla Bellamy; Imke",
            "Beate Flint / Ulla Bellamy / May Sedley",
            "Beate Flint, 12 May 2023, Ulla Bellamy, 3 June 2023, and Imke Sedley, 4 June 2023",
            "Beate Flint, Ulla Bellamy, May Lane",
        ],
    ),
    (
        "{includes: Ann, only: true}",
        "Who?",
        ["Ann Lee", "Ann"],
        ["Ann; Bo"],
    ),
]
"""Names in one list with those that are wanted, and what is no name."""

REFUSED: Table = [
    (
        "{unachievable: the store names no workshop}",
        "In which workshop were the cups of the Kettle Chapel made?",
        [
            "N/A: Nothing Found",
            "N/A: Login Required",
            "N/A: Repository Archived",
            "N/A: Out Of Stock",
            "N/A: Nobody Knows",
            "N/A: Workshop Details Absent",
            "N/A. Thank You",
            "N/A: Not Given",
            "N/A: Sold Out",
            "N/A: Members Only",
            "N/A: Dead Link",
            "N/A: Zero Results",
            "N/A: Too Vague",
            "N/A: Access Denied",
            "N/A. Best Regards",
            "N/A. Good Luck",
            "N/A: Private",
            "N/A: it is Private",
            "N/A: The Page Says Nothing",
            "N/A: it is The Kettle Chapel",
            "N/A: Sign In Needed",
            "N/A: No Workshop Named",
            "N/A: Undisclosed",
            "N/A (Kettle Chapel)",
            "N/A: Never Stated",
            "N/A: Hidden Field",
            "N/A: it is not stated",
            "N/A",
        ],
        [
            "N/A; The Blue Ewer",
            "N/A - Thomas Brand",
            "N/A; it is The Blue Ewer",
            "N/A; it is Rahmani",
            "N/A: it's the Blue Ewer",
            "N/A; that is Thomas Brand",
            "N/A. The answer is Thomas Brand",
            "N/A, Hale Clocks",
            "N/A: Lantern and Loam",
        ],
    ),
    (
        "{unachievable: the map has no airport}",
        "How many minutes is it to the airport?",
        [
            "N/A: 30 minutes is for the station, there is no airport",
            "N/A: 30 minutes to the station; the map has no airport",
            "N/A: it names no way",
        ],
        ["N/A; 12 minutes from the next one", "N/A: 24 minutes", "N/A; 12 min"],
    ),
]
"""Names and values behind "N/A", and reasons."""

_ALL = [*ONLY, *REFUSED]


def passes(check: str, answer: str, intent: str) -> bool:
    return result(f"answer: {check}", evidence(answer), intent=intent).passed is True


@pytest.mark.parametrize(
    ("check", "answer", "intent"), [(check, each, intent) for check, intent, right, _ in _ALL for each in right]
)
def test_right(check: str, answer: str, intent: str) -> None:
    assert passes(check, answer, intent)


@pytest.mark.parametrize(
    ("check", "answer", "intent"), [(check, each, intent) for check, intent, _, wrong in _ALL for each in wrong]
)
def test_wrong(check: str, answer: str, intent: str) -> None:
    assert not passes(check, answer, intent)
