"""Amounts that are right in other words, and those that the same words make other ones."""

from __future__ import annotations

from tests.cases import each_case

from .helpers import AnswerTable, answer_cases, passes

AMOUNTS: AnswerTable = [
    (
        "{number: 60}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        [
            "one hour",
            "An hour.",
            "It takes an hour.",
            "1 h",
            "1 hour by bicycle",
            "The cycle from Aldersey to Lunnet takes 1 hour.",
            "60",
            "60 minutes",
            "**1 h**",
            "Answer: 1 h",
            "1 hour 0 min",
            "That is 1 hour.",
            "1 hr",
            "1hr",
            "It's one hour",
            "Exactly 1 hour.",
            "(1 hour)",
            "1.0 h",
            "You will need an hour.",
            "The answer is 1 h.",
        ],
        [
            "an hour and a half",
            "three quarters of an hour",
            "twenty one hours",
            "20 km an hour",
            "The bus goes once an hour.",
            "almost an hour",
            "By tram it would be 1 hour.",
            "less than an hour",
            "1 hour or so more",
            "1 hour per lap",
            "60 hours",
            "1 hour and 30",
            "half an hour",
            "an hour each way",
            "1-2 hours",
            "1 hour 15",
            "not 1 hour",
            "1 hour?",
            "maybe 1 hour",
            "2 to 1 hour",
            "1 hour a day",
            "every hour",
            "a quarter of an hour",
            "1 hour and ten minutes",
            "1 h by car",
            "more than 1 hour",
            "1 h +",
            "one and a half hours",
            "half past one hour",
            "1½ hours",
            "1 hour less",
            "N/A: 1 hour",
            "The second hour",
            "twice an hour",
            "1 hour plus the ferry",
            "1 hour either way?",
            "1 hour and 1 hour",
            "roughly 1 hour",
            "1 h and 3 km",
            "1,5 hours",
            "1 hour before 12:30",
            "Line 1 hour",
            "nearly one hour",
            "An hour ago",
            "in half an hour or an hour",
            "an hourly bus",
            "1 hour or 45 minutes",
            "1 hour without a break",
            "at 1 h per lap",
            "seven times one hour",
            "1 hour minus 5 minutes",
            "1 h - 5 min",
            "hour 1",
            "an hour, plus 10 minutes",
            "an hour long queue",
            "0 h 6 min",
            "10 hours",
            "61 min",
            "1 H/day",
        ],
    ),
    (
        "{number: 3}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        ["It takes 3. I checked it a second time."],
        [],
    ),
    (
        "{number: 28}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        ["The bus takes 28; the tram 1 h.", "28 min (the train takes 1 h 5 min)"],
        ["The train takes 1 h 28 min", "1 h 28 by train", "By tram it is 1 hour and 28 minutes."],
    ),
    (
        "{number: 45}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        ["45, less than an hour", "45 minutes, which is three quarters of an hour"],
        [],
    ),
    (
        "{number: 60, excludes: hour}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        [],
        ["1 hour"],
    ),
    (
        "{number: 60, includes: hour}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        ["1 hour"],
        [],
    ),
    (
        "{number: 60, includes: minute}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        [],
        ["1 hour"],
    ),
    (
        "{number: 1000}",
        "How many grams does the rucksack weigh?",
        ["1 kg", "a kilo", "The rucksack weighs 1 kg.", "It weighs one kilogram", "1000 g"],
        [
            "a kilo and a half",
            "45 crowns a kilo",
            "almost a kilo",
            "1 kg more",
            "1 t",
            "half a kilo",
            "1 kg per strap",
            "a kilo of sugar",
        ],
    ),
    (
        "{number: 5}",
        "How many kilometres is it?",
        ["It is 5, rounded to 100 m", "5 km", "5000 m"],
        ["5 m", "5 M", "5000", "5000 m/h"],
    ),
    (
        "{number: 1}",
        "How many kilograms does it weigh?",
        [],
        ["1000 Mg", "1000 mg", "1000 M"],
    ),
    (
        "{number: 5}",
        "How many kilograms does it weigh?",
        ["5000 g", "5 kg."],
        [],
    ),
    (
        "{number: 1.5}",
        "How many hours does it take?",
        ["90 min", "1 h 30 min", "1.5 h"],
        [],
    ),
    (
        "{number: 1}",
        "How many hours does it take?",
        [],
        ["1 h 30 min", "60 s", "1 min"],
    ),
]
"""Amounts in another unit of the kind: only where nothing else is next to them."""

UNITS: AnswerTable = [
    (
        "{number: 34}",
        "How old is the oldest open issue, in days?",
        ["34 days", "34"],
        [],
    ),
    (
        "{number: 3}",
        "How old is the newest review?",
        ["3 days"],
        [],
    ),
    (
        "{number: 5}",
        "How old is the baby, in months?",
        ["5 months"],
        [],
    ),
    (
        "{number: 34}",
        "How old did the builder turn that year?",
        ["34", "34 years"],
        ["34 months", "34 days"],
    ),
    (
        "{number: 34}",
        "How old is it, in days?",
        [],
        ["34 months"],
    ),
    (
        "{number: 5}",
        "How old was the kitten when it was turned in?",
        ["5 weeks"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the Euro travel adapter cost?",
        ["12.50 kr", "12.50 crowns"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the Penny Lane poster cost?",
        ["12.50 kr"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the Crown saucepan cost?",
        ["12.50 euros"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the 50 Cent album cost?",
        ["12.50 kr"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the Three Crowns mug cost?",
        ["12.50 euros"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the Dollar bag cost?",
        ["12.50 kr"],
        [],
    ),
    (
        "{number: 12.5}",
        "I have 50 euros. What does the kettle cost?",
        ["12.50 kr"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the euro adapter cost?",
        ["12.50 kr"],
        [],
    ),
    (
        "{number: 12.5}",
        "What does the House of Euros mug cost?",
        ["12.50 kr"],
        [],
    ),
    (
        "{number: 1.94}",
        "What do they cost by prices.csv, which has crowns per kilogram?",
        ["1.94 crowns", "1.94"],
        ["1.94 euros"],
    ),
    (
        "{number: 12.5}",
        "What does it cost, in crowns?",
        [],
        ["12.50 euros", "12.50 cents"],
    ),
    (
        "{number: 30}",
        "How much, in crowns, is owed?",
        [],
        ["30 cents"],
    ),
]
"""Units that a question asks for, and those that it only names."""

BESIDE: AnswerTable = [
    (
        "{number: 24}",
        "How many minutes from Ivesham station to Chainstay Cycles?",
        ["24 min by car", "24 min by bicycle", "24 min on foot"],
        [],
    ),
    (
        "{number: 24}",
        "How many minutes is it on foot to Chainstay Cycles?",
        ["24 min on foot", "24"],
        ["24 min by bicycle", "24 min by car"],
    ),
    (
        "{number: 24}",
        "How many minutes does it take to cycle from Aldersey to Lunnet?",
        ["24 min by bicycle", "24 min by bike"],
        ["24 min by car", "24 min on foot", "24 min by train"],
    ),
    (
        "{number: 24}",
        "How many minutes does she need if she cycles to Lunnet?",
        ["24 min by bicycle"],
        ["24 min by car"],
    ),
    (
        "{number: 24}",
        "How many minutes is it? He drives.",
        [],
        ["24 min by bicycle"],
    ),
    (
        "{number: 24}",
        "Driving, how many minutes is it?",
        ["24 min by car"],
        ["24 min by train"],
    ),
    (
        "{number: 24}",
        "How many minutes to the shop of the USB drives?",
        ["24 min by bus"],
        [],
    ),
    (
        "{number: 24}",
        "How many minutes to Walk Lane?",
        ["24 min by bus"],
        [],
    ),
    (
        "{number: 24}",
        "How many minutes by Car?",
        ["24 min by car"],
        ["24 min by bus"],
    ),
    (
        "{number: 3}",
        "How many members joined in the fall?",
        ["3 more", "3"],
        [],
    ),
    (
        "{number: 3}",
        "How many did join this fall?",
        ["3 more"],
        [],
    ),
    (
        "{number: 3}",
        "How many rose bushes are left?",
        ["3 fewer"],
        [],
    ),
    (
        "{number: 3}",
        "How many did she count in fall?",
        ["3 more"],
        [],
    ),
    (
        "{number: 45}",
        "By how much did the number of hives rise?",
        ["45", "45 more"],
        ["45 fewer", "45 less"],
    ),
    (
        "{number: 45}",
        "How much did the price fall?",
        [],
        ["45 more"],
    ),
    (
        "{number: 45}",
        "By how many has it grown since 2020?",
        [],
        ["45 fewer"],
    ),
    (
        "{number: 45}",
        "How many more has A than B?",
        [],
        ["45 fewer"],
    ),
]
"""Ways and directions, as verbs and as names of things."""

_ALL = [*AMOUNTS, *UNITS, *BESIDE]


@each_case(("check", "answer", "intent"), answer_cases(_ALL, right=True))
def test_right(check: str, answer: str, intent: str) -> None:
    assert passes(check, answer, intent)


@each_case(("check", "answer", "intent"), answer_cases(_ALL, right=False))
def test_wrong(check: str, answer: str, intent: str) -> None:
    assert not passes(check, answer, intent)
