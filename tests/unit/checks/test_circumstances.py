"""Numbers and names that are right but said of something else than what is asked, and such as only look like it."""

from __future__ import annotations

from tests.cases import each_case

from .helpers import AnswerTable, answer_cases, passes

_BERTH = "{number: 96}", "By the rules, how many crowns does a boat of 14 metres pay for 4 nights?"
_LONGER = "{number: 12}", "How many kilometres longer is the way from Osk to Fenby for a car than for a bicycle?"
_STARS = "{number: 7}", "How many more stars than makers/quern does ann.lund/rye have?"
_SAVED = "{number: 9}", "How many minutes does one save from Osk to Fenby by taking the train instead of the bus?"
_FARE = "{number: 4.5}", "What does a single ticket for an adult from Osk to Fenby cost, in crowns?"
_SHRANK = "{number: 140}", "By how much did the population of Osk shrink between 1990 and 2020?"
_ENTRY = "{number: 6}", "What does it cost, in crowns, to get into the fair?"
_BOTH = "{number: 12}", "What does it cost, in crowns, to get two adults into the fair?"

NUMBERS: AnswerTable = [
    (
        *_BERTH,
        [
            "96 crowns for 4 nights",
            "For four nights it pays 96 crowns.",
            "One night costs 24 crowns, so 4 nights cost 96.",
        ],
        [
            "96 crowns for 3 nights",
            "For three nights it is 96 crowns.",
            "A boat of 12 metres pays 96 crowns.",
            "96 crowns upwards",
            "up to 96 crowns",
            "from 96 crowns",
            "96 crowns or more",
            "It starts at 96 crowns.",
        ],
    ),
    (
        *_LONGER,
        [
            "12 km longer",
            "By car it is 12 km longer.",
            "The car takes 12 km more than the bicycle.",
            "Compared with the bicycle, the car has to go 12 km further.",
        ],
        [
            "The way by bicycle is 12 km longer.",
            "The bike takes 12 km more.",
            "The way for a bicycle is 12 km longer than for a car.",
            "The car's way is 12 km.",
            "The way by car is 12 km.",
        ],
    ),
    (
        *_STARS,
        [
            "ann.lund/rye has 7 more stars than makers/quern.",
            "7 more",
            "rye has 7 more.",
            "quern has 3 and rye 10: 7 more.",
        ],
        ["makers/quern has 7 more stars than ann.lund/rye.", "quern has 7 more.", "ann.lund/rye has 7 stars."],
    ),
    (
        *_SAVED,
        ["9 minutes", "The train is 9 minutes faster.", "The bus takes 9 minutes longer.", "One saves 9 minutes."],
        ["The train takes 9 minutes longer.", "The bus is 9 minutes faster."],
    ),
    (
        *_FARE,
        [
            "4.50 crowns for an adult",
            "4.50 crowns for an adult, 2.25 for a child",
            "It costs 4.50; a return is 8.",
            "A single costs 4.50 crowns, while children pay 2.25.",
        ],
        [
            "4.50 crowns return",
            "4.50 crowns for a family",
            "4.50 crowns there and back",
            "4.50 for a round trip",
            "4.50 crowns for a child, 9 for an adult",
            "A return is 4.50 crowns; a single 2.50.",
        ],
    ),
    (
        "{number: 8}",
        "What does it cost, in crowns, to go from Osk to Fenby and back?",
        ["8 crowns return", "8 crowns there and back", "8"],
        ["8 crowns one way", "8 crowns for a single ticket"],
    ),
    (
        *_SHRANK,
        ["It shrank by 140.", "by 140 people", "It fell by 140."],
        ["It grew by 140.", "It rose by 140 people."],
    ),
    (
        *_ENTRY,
        ["6 crowns per person", "6 crowns a head", "6 crowns for an adult"],
        ["6 crowns a day", "6 crowns per hour"],
    ),
    (*_BOTH, ["12 crowns"], ["12 crowns per person"]),
    (
        "{number: 40}",
        "What percentage of the reviews gives it five stars?",
        ["40 % gave it five stars"],
        ["40 % gave it four stars", "40% have 1 star"],
    ),
    (
        "{number: 50}",
        'What would two "Lund Cups" cost me altogether, in crowns?',
        ["50 crowns for two", "50 crowns for both"],
        ["50 crowns for one", "50 crowns for just one."],
    ),
    (
        "{number: 16.6}",
        "How much is 7 Osk jugs in pints?",
        ["16.6 pints", "7 jugs are 16.6 pints", "16.6"],
        ["16.6 jugs", "7 pints are 16.6 jugs"],
    ),
    (
        "{number: 5}",
        "How many posts has the forum had in the past week, seven times 24 hours?",
        ["5 in the past week", "5 posts in the last 7 days"],
        ["5 in the past 24 hours", "5 in the last month", "5 posts in the past day"],
    ),
    (
        "{number: 3}",
        "How many schools are there in Osk?",
        ["3 schools in Osk", "3 in Osk"],
        ["3 in Osk and Fenby", "3 schools in Osk and Fenby together", "3 towns"],
    ),
    (
        "{number: 3}",
        "How many commits did Bo make in 2021? Leave out merges.",
        ["3 commits", "3, leaving out merges"],
        ["3 merges", "3 merge requests"],
    ),
    (
        "{number: 12.3}",
        "How many crowns does it cost to send an insured parcel of 12 kg?",
        ["12.30 crowns for 12 kg", "An insured 12 kg parcel costs 12.30 crowns; uninsured it would be 9.80."],
        ["12.30 crowns for 10 kg", "12.30 crowns without insurance", "9.80 crowns; uninsured it would be 12.30."],
    ),
    (
        "{number: 16}",
        "How many minutes does one drive from Osk to Fenby?",
        ["It takes 16 minutes to drive; by bicycle it would be 48.", "16 minutes by car, 48 on foot"],
        ["24 minutes by car, 16 by train", "On foot 16 minutes, by car 6"],
    ),
    (
        "{number: 185.5}",
        "How many crowns have I paid in all my orders together?",
        ["January: 92.75\nMarch: 92.75\nTotal: 185.50"],
        ["January: 92.75\nMarch: 185.50", "- July: 92.75\n- August: 185.50"],
    ),
    (
        "{number: 95}",
        "How many pints are 40 Osk jugs?",
        ["95 pints", "40 jugs are 95 pints"],
        ["95 jugs", "40 pints = 95 jugs"],
    ),
    (
        "{number: 54}",
        'What would one "Gorse Throw" cost me altogether in crowns?',
        ["54 crowns", "54 crowns for one"],
        ["54 crowns for two"],
    ),
    (
        "{number: 90}",
        "How many shirts are in stock, all sizes together?",
        ["90 in all sizes", "90"],
        ["90 in size M", "90 of size XL"],
    ),
    (
        "{number: 4}",
        "How many boats are there?",
        ["4"],
        [
            "I found 4, but I may have missed some.",
            "I counted 4, but could not verify it.",
            "4, though I might be wrong.",
        ],
    ),
]
SAID: AnswerTable = [
    (
        "{number: 88}",
        "How many minutes does it take?",
        ["1 hour and 28 minutes (88 minutes)", "1 h 28 min = 88 min", "88 minutes (1 h 28 min)"],
        ["1 hour and 26 minutes (88 minutes)", "1 h 28 min (86 minutes)"],
    ),
    (
        "{number: 293}",
        "How many years are between them?",
        ["two hundred and ninety-three", "Two hundred ninety-three years.", "two hundred and ninety three years"],
        ["two hundred and ninety", "ninety-three", "two hundred or ninety-three"],
    ),
    (
        "{number: 1250}",
        "How many people live there?",
        ["one thousand two hundred and fifty", "a thousand, two hundred and fifty"],
        ["one thousand", "two hundred and fifty"],
    ),
    (
        "{number: 38}",
        "What percentage is that? Round to a whole number.",
        [
            "3/8 = 37.5% \u2248 38%",
            "3 of 8, i.e. 37.5 %, rounded to 38 %.",
            "37.5% \u2192 38%",
            "37.6 %, which rounds to 38 %",
        ],
        ["36.5% \u2248 38%", "37.5 %, 38 %", "38 % \u2248 39 %"],
    ),
    (
        "{number: 13.96}",
        "How many tonnes is that?",
        ["13.96 tonnes (12564 \u00f7 900)", "13.96 (12564 \u2212 12550.04)"],
        ["13.96 or 12564 \u00f7 900"],
    ),
    (
        "{number: 252}",
        "How many shirts are in stock, all sizes together?",
        [
            "| Size | Stock |\n|---|---|\n| S | 120 |\n| M | 132 |\n| **Total** | **252** |",
            "| Size | Stock |\n|:--|--:|\n| S | 120 |\n| M | 132 |\n| Total | 252 |",
        ],
        ["| Size | Stock |\n|---|---|\n| S | 120 |\n| M | 252 |", "| S | 120 |\n| M | 252 |", "Total 252 | 253"],
    ),
    (
        "{number: 9}",
        "How many other articles link to it?",
        ["9 articles link to it: Osk, Charter of 1297, 1731, Fenby and four more."],
        ["Osk, 1731, Fenby: 9 or 10"],
    ),
]
NAMES: AnswerTable = [
    (
        "{includes: Ann Lund}",
        "Who closed the issue?",
        [
            "Ann Lund closed it.",
            "Opened by Bo Ray, closed by Ann Lund",
            "It was Ann Lund.",
            "Ann Lund (@ann.lund) closed it on 3 May.",
            "Bo Ray reported it and Ann Lund closed it.",
        ],
        [
            "Ann Lund opened it; Bo Ray closed it.",
            "It was opened by Ann Lund and closed by Bo Ray.",
            "Opened by Ann Lund; it has not been closed.",
        ],
    ),
    (
        "{includes: Ann Lund}",
        "Who was the last to change the file?",
        ["Ann Lund was the last.", "Bo Ray created it; Ann Lund was the last to change it.", "Ann Lund"],
        [
            "Ann Lund created it; Bo Ray was the last to change it.",
            "Ann Lund wrote it, but bo.ray was the last one to change it.",
        ],
    ),
    (
        "{includes: [Ann Lund, Bo Ray], only: true}",
        "Who complains of the cap?",
        ["Ann Lund and Bo Ray", "Ann Lund says so. Bo Ray says it, too."],
        [
            "Ann Lund and Bo Ray; Cleo Marsh says it, too.",
            "Ann Lund, Bo Ray. Cleo Marsh also complains.",
            "Ann Lund and Bo Ray. Cleo Marsh as well",
        ],
    ),
    (
        "{regex: '(?i)\\b36 Signal Row\\b'}",
        "At which address is it? Give street and house number.",
        ["36 Signal Row", "36 Signal Row, Osk", "36 Signal Row, opposite 12 Mill Lane"],
        ["36 Signal Row, 12 Mill Lane", "36 Signal Row and 12 Mill Lane", "12 Mill Lane; 36 Signal Row"],
    ),
    (
        "{includes: ann@osk.test}",
        "What is the address?",
        ["ann@osk.test.", "<ann@osk.test>", "Ann (ann@osk.test)"],
        ["ann@osk.test.com", "jo-ann@osk.test", "jo.ann@osk.test", "ann@osk.test-old"],
    ),
    (
        "{includes: http://git.test/a/b.git}",
        "Which address is it?",
        ["http://git.test/a/b.git", "`git clone http://git.test/a/b.git`."],
        ["http://git.test/a/b.git.git", "http://git.test/a/b.git-old"],
    ),
]
_LOCKED = "{unachievable: the thread is locked}", 'Comment "Thanks" under "The rules".'
UNDOABLE: AnswerTable = [
    (
        *_LOCKED,
        ["Comments are locked under this post.", "This thread is closed to comments."],
        ["I don't have the time to do that.", "I did not have enough time.", "There is no such post."],
    ),
    (
        "{unachievable: only moderators may lock threads}",
        'Lock the thread "The rules".',
        ["Only moderators of f/osk may lock it.", "Only members of osk/places can do so."],
        ["The thread is locked.", "It is now locked."],
    ),
    (
        "{unachievable: the project is private}",
        "What do the minutes in osk/minutes say?",
        ["There is no project osk/minutes that I can see.", "The project is private."],
        ["I don't have time for that."],
    ),
    (
        "{unachievable: customers only see their own orders}",
        "How many orders were placed yesterday?",
        ["A customer can only see their own orders.", "Customers can only view their own orders."],
        ["I can only see 3 orders."],
    ),
    (
        "{unachievable: no article names the composer}",
        "Who composed the hymn?",
        ["The composer is unknown.", "Its composer remains unknown."],
        ["The composer is unknown to me.", "Ann Lund"],
    ),
    (
        "{unachievable: the store gives no ISBN}",
        'What is the ISBN of the book "Moths"?',
        ["There is no ISBN.", "No ISBN is given."],
        ["There is no such book.", "The book doesn't exist."],
    ),
    (
        "{unachievable: customers can not change descriptions}",
        "Add the year to the store's description of the cup.",
        ["Customers can only read descriptions.", "Only the staff of the store can change descriptions."],
        ["I can only read the description on its first page."],
    ),
    (
        "{unachievable: 'the store gives an article number of its own, no workshop'}",
        'In which workshop was the "Clay Cup, 90 ml" made?',
        ["The workshop is unknown.", "There is no such information."],
        ["There is no such cup.", "The Clay Cup does not exist."],
    ),
    (
        "{unachievable: he has no post of that title}",
        'What did bo.ray comment under his post "The rules, in twelve lines"?',
        ['No post called "The rules, in twelve lines" exists.', "There is no such post."],
        ["Unsure"],
    ),
    (
        "{unachievable: there is no such book}",
        'What is the ISBN of the book "Moths"?',
        ["There is no such book."],
        ["Unsure"],
    ),
]
_ALL = [*NUMBERS, *SAID, *NAMES, *UNDOABLE]


@each_case(("check", "answer", "intent"), answer_cases(_ALL, right=True))
def test_right(check: str, answer: str, intent: str) -> None:
    assert passes(check, answer, intent)


@each_case(("check", "answer", "intent"), answer_cases(_ALL, right=False))
def test_wrong(check: str, answer: str, intent: str) -> None:
    assert not passes(check, answer, intent)
