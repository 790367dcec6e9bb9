"""Wrong answers that contain the wanted value, and right ones with more words, by class."""

from __future__ import annotations

from tests.cases import each_case

from .outcomes import outcome

MERGED = "How many merge requests did Ingrid merge?"
TICKETS = "How many open tickets are assigned to Ingrid?"
ASSIGNED = "To whom is Ann Lee's issue assigned?"
WRONG = [
    # something joined to the number: a multiplier, operator, unit or label
    *(("{number: 6}", "How many lamps are there?", answer)
      for answer in ("6 dozen", "6*6", "6-6", "6%", "$6", "page 6", "6 K", "6/2", "6th", "#6", "v6", "6x", "6^2")),
    ("{number: 346}", "How many lamps are there?", "346 K"),
    *(("{number: 14.2, unit: \u00b0C, tolerance: 0.05}", "What is the temperature?", answer)
      for answer in ("14.2 \u00b0F", "14.2 km", "14.2 %", "14.2 hours")),
    # something joined to the name
    *(("{name: yjlou}", "Who wrote it?", answer) for answer in ("yjlou2", "yjlou-2", "2yjlou", "yjlou_2", "yjlou.2")),
    ("{name: main}", "Which branch is the default one?", "main-old"),
    ("{name: B42}", "Which room is it?", "B42a"),
    # another thing, person or count
    ("{number: 36}", "How many lamps are there?", "36 desks."),
    ("{number: 7}", MERGED, "Tomasz merged 7"),
    ("{number: 7}", MERGED, "Tomasz: 7"),
    ("{number: 7}", MERGED, "Ingrid closed 7 merge requests"),
    ("{number: 7}", MERGED, "Closed by Ingrid: 7"),
    ("{number: 1}", TICKETS, "3 tickets assigned, of which 1 is open"),
    ("{number: 3}", TICKETS, "3 tickets assigned, of which 1 is open"),
    ("{number: 17}", "How many beds on Ward 4B are free?", "Bed 17 on Ward 4B is free."),
    ("{number: 16}", "What's the total number of items sold in the most recent 4 orders?", "16 orders"),
    ("{names: [Ann, Bo]}", "Which customers have the second most orders?", "Ann and Bo have the most orders."),
    ("{name: Ann Lee}", ASSIGNED, "Ann Lee's issue is assigned to Bo Ray"),
    ("{name: Ann Lee}", "Who closed the issue?", "Closed by Bo Ray at Ann Lee's request"),
    ("{number: 598}", "How much is a return ticket?", "A single ticket costs 598 kr."),
    ("{name: Acme Lamp}", "Which lamp is the most expensive?", "Cheapest: Acme Lamp"),
    ("{name: Acme Lamp}", "Which lamp is the most expensive?", "| Cheapest | Acme Lamp |"),
    ("{number: 5}", "How many orders are pending?", "Cancelled orders: 5"),
    ("{number: 0}", "How many reviews are not approved?", "0 reviews are approved"),
    # what the question itself says: other names, other options, its own numbers
    ("{name: Ann}", "Compare the commits of Ann and Bo. Who made more?", "Ann and Bo"),
    ("{name: red}", "Which colour is it: red, green, blue?", "red, green"),
    ("{number: 6}", "The house has 6 rooms. How many rooms are free?", "6 rooms"),
    # a condition, a doubt, a denial, a bound, several values
    ("{yes_no: 'yes'}", "Can it be reached within one hour?", "Yes, but not within one hour"),
    ("{yes_no: 'no'}", "Is the issue closed?", "No, it's closed."),
    ("{yes_no: 'no'}", "Is the issue closed?", "Yes and no"),
    *(("{number: 5}", "How many orders are pending?", answer)
      for answer in ("not 5", "maybe 5", "5 or 6", "4, 5", "5 and up", "up to 5", "at least 5", "less than 5",
                     "5? No, 6", "5 to 6", "between 5 and 6", "<5", "5?", "Expected 5, found 6")),
    *(("{name: Acme}", "Which shop is it?", answer)
      for answer in ("not Acme", "Acme or Bolt", "either Acme", "anything but Acme", "Acme? Bolt.", "perhaps Acme",
                     "I guess Acme", "rather Bolt than Acme", "Acme is wrong", "Acme, no, Bolt")),
    # both options of a choice, although one of them is a word that claims nothing elsewhere
    *(("{name: 'off'}", "Is the filter on or off?", answer) for answer in ("on, off", "on off", "It is on, off")),
    ("{name: out}", "Is it in or out of stock?", "in, out"),
    ("{name: second class}", "Is it first class or second class?", "first class second class"),
    ("{name: table}", "Is the view set to list or table?", "list\ntable"),
    ("{name: public}", "Is the project private, internal or public?", "private\npublic"),
    ("{number: 12}", "Is it 10 or 12?", "10, 12"),
    ("{yes_no: 'no'}", "Is the filter on or off?", "no, on"),
    # names in other roles than the question gives them, or in roles that the check does not order
    *(("{names: [Ann Lee, Bo Ray], ordered: true}", "From whom to whom was the issue moved?", answer)
      for answer in ("to Ann Lee from Bo Ray", "Ann Lee from Bo Ray", "to Ann Lee, Bo Ray", "Bo Ray to Ann Lee")),
    ("{names: [Ann Lee, Bo Ray], ordered: true}", "Who gave it to whom?", "to Ann Lee, Bo Ray"),
    ("{names: [Ann Lee, Bo Ray]}", "From whom to whom was it moved?", "Ann Lee to Bo Ray"),
    ("{names: [Ann Lee, Bo Ray]}", "From whom to whom was it moved?", "Bo Ray to Ann Lee"),
    # a point that may group digits
    *((check, "How many lamps are there?", answer)
      for check, answer in (("{number: 36}", "36.000"), ("{number: 5, unit: km}", "5.000 km"))),
    # signs around the value
    *((f"{{number: {number}}}", "How many lamps are there?", answer) for number in (5, -5)
      for answer in ("--5", "+-5", "-+5", "!5", "[ ] 5", "( ) 5", "> 5", ",5", "- [ ] 5")),
    *(("{name: Acme}", "Which shop is it?", answer) for answer in ("[ ] Acme", "!Acme", "[x] Acme", "?Acme")),
    ("{yes_no: 'yes'}", "Is it open?", "[ ] yes"),
    *(("{time: '10:30'}", "When does it leave?", answer) for answer in ("10:30 pm", "10:30 in the evening", "22:30")),
    # it was done, and it can't be done
    *(("{unachievable: there is no order 99}", "Delete order 99.", answer)
      for answer in ("Deleted. There is no order 99", "N/A. Deleted.", "There is no order 99, so it is deleted.",
                     "There is no order 99 so it is deleted", "Deleted order 99\nN/A")),
    # the agent could not find out
    ("{unachievable: the shop lists no fax number}", "What is the fax number of the branch?",
     "I was unable to open the branch page, so I could not find the fax number."),
    ("{unachievable: the shop lists no fax number}", "What is the fax number?", "There is no fax number but 555-1234."),
    *((check, "What is it?", f"N/A: {value}") for check, value in (("{number: 6}", "6"), ("{name: Acme}", "Acme"))),
]  # fmt: skip
RIGHT = [
    ("{number: 36}", "How many lamps are there?", "36 lamps, spread over 4 shelves."),
    ("{number: 36}", "How many lamps are there?", "Out of 240 products, 36 are lamps."),
    ("{number: 36}", "How many lamps are there?", "Desks: 12, lamps: 36, chairs: 4"),
    ("{number: 0}", "How many items are in my cart?", "Your cart is empty."),
    ("{number: 0}", "How many reviews mention it?", "None of the reviews does."),
    ("{name: A & B}", "Which shop is it?", "A &amp; B"),
    ("{name: A &amp; B}", "Which shop is it?", "A & B"),
    ("{number: 85, unit: EUR}", "What is the annual fee?", "\u20ac85 per year"),
    ("{number: 1234.5, unit: USD}", "How much did I pay?", "$1,234.50"),
    ("{number: 1234.50, unit: USD}", "How much did I pay?", "1,234.50"),
    ("{number: 1234.5}", "How much did I pay?", "$1,234.50"),
    ("{number: 1234.5}", "How much did I pay?", "1,234.50"),
    ("{number: 65.32, unit: USD}", "How much did I pay?", "65 dollars and 32 cents"),
    ("{number: -79.939, tolerance: 0.001}", "What is the longitude?", "79.93934\u00b0 W"),
    ("{name: Ann Lee}", "Who wrote it?", "Lee, Ann"),
    ("{date: 2026-03-04}", "When was it released?", "4/3/2026"),
    ("{time: '14:30'}", "When does it leave?", "half past two"),
    ("{name: 16x24}", "Which size is it?", "16 x 24 inches"),
    ("{name: 16x24}", "Which size is it?", "16\u00d724"),
    # other forms of a number
    *(("{number: 1200}", "How many lamps are there?", answer)
      for answer in ("1.200", "1.2e3", "2400/2", "1.2 \u00d7 10^3")),
    *(("{number: 1.2}", "What is the ratio?", answer) for answer in ("6/5", "1 1/5", "1\u2155", "120 %", "1,200")),
    *(("{number: 45, unit: '%'}", "What share was returned?", answer) for answer in ("0.45", "9/20")),
    ("{number: 649.99}", "What is the highest price?", "2.56\u2013649.99"),
    # other forms of a length of time, a time and a date
    *(("{duration: 85 min}", "How long does it take?", answer)
      for answer in ("1 h 25", "1 Std. 25 Min.", "1h25", "an hour and 25 minutes", "PT1H25M", "from 12:00 to 13:25")),
    ("{duration: 1 month}", "How long does it take?", "30 days"),
    ("{duration: 90 days}", "How long does it take?", "3 months"),
    *(("{time: '14:00'}", "When does it leave?", answer)
      for answer in ("14 Uhr", "14h", "14", "2 o'clock", "T14:00:00Z", "2026-01-01T14:00:00")),
    *(("{time: '22:30'}", "When does it leave?", answer) for answer in ("10:30", "10:30 pm")),
    *(("{time: '12:00'}", "When does it leave?", answer) for answer in ("noon", "midday", "12 noon", "twelve")),
    *(("{date: 2024-03-03}", "When was it released?", answer)
      for answer in ("3. M\u00e4rz 2024", "3 mars 2024", "le 3 mars", "20240303", "3-Mar-24",
                     "3 \u043c\u0430\u0440\u0442\u0430 2024", "2024\u5e743\u67083\u65e5",
                     "the third of March 2024", "3 III 2024")),
    ("{date: 2024-03}", "In which month was it released?", "M\u00e4rz 2024"),
    ("{date: 2024}", "In which year was it released?", "'24"),
    ("{name: Ann Lee}", "Who wrote it?", "AnnLee"),
    ("{name: Acme}", "Which shop is it?", "A.C.M.E."),
    ("{url: 'http://shop.test/a?x=1&y=2'}", "Which page is it?", "http://shop.test/a?y=2&x=1"),
]  # fmt: skip
MET = [
    ("{name: 'off'}", "Is the filter on or off?", "The filter is off."),
    ("{name: blue}", "Is it the red or the blue one?", "It is the blue one."),
    ("{names: [Ann Lee, Bo Ray], ordered: true}", "From whom to whom was it moved?", "From Ann Lee to Bo Ray"),
    ("{names: [Ann Lee, Bo Ray], ordered: true}", "Who gave it to whom?", "Ann Lee to Bo Ray"),
    ("{unachievable: there is no order 99}", "Delete order 99.", "N/A: there is no order 99"),
    *(
        (check, "How far is it?", answer)
        for check, answer in (
            ("{number: 1.250}", "1.250"),
            ("{number: 1.25}", "1.25"),
            ("{number: 1.234}", "1.234"),
            ("{number: 36}", "36.00"),
            ("{number: 36000}", "36,000"),
            ("{number: -1.230}", "-1.230"),
        )
    ),
    ("{duration: 85 min}", "How long does it take?", "PT1H25M"),
    ("{duration: 60 min}", "How long does it take?", "an hour"),
    ("{duration: 14 months}", "How long does it take?", "1 year and 2 months"),
    ("{duration: 2 years}", "How long does it take?", "24 months"),
    ("{time: '12:00'}", "When does it leave?", "at noon"),
    *(("{number: 5, unit: m\u00b2}", "How large is it?", answer) for answer in ("5 m\u00b2", "5m\u00b2", "5 m^2", "5")),
    ("{url: 'https://x.test/\u00fc'}", "Which page is it?", "https://x.test/\u00fc"),
    *(("{time: '10:30'}", "When does it leave?", answer) for answer in ("10:30", "It leaves at 10:30.", "10:30 am")),
    ("{time: '00:00'}", "When does it leave?", "midnight"),
]


@each_case(("check", "intent", "answer"), WRONG)
def test_wrong_answers_are_not_met(check: str, intent: str, answer: str) -> None:
    assert outcome(check, answer, intent) in ("not met", "undecided")


@each_case(("check", "intent", "answer"), RIGHT)
def test_right_answers_are_met_or_undecided(check: str, intent: str, answer: str) -> None:
    assert outcome(check, answer, intent) in ("met", "undecided")


@each_case(("check", "intent", "answer"), MET)
def test_right_answers_are_met(check: str, intent: str, answer: str) -> None:
    assert outcome(check, answer, intent) == "met"


@each_case(
    ("check", "intent", "answer"),
    [
        ("{number: 1200}", "How many lamps are there?", "1.3e3"),
        ("{number: 1.2}", "What is the ratio?", "7/5"),
        ("{number: 36, unit: km}", "How far is it?", "36 miles"),
        ("{number: 45, unit: '%'}", "What share was returned?", "0.54"),
        ("{duration: 85 min}", "How long does it take?", "PT1H26M"),
        ("{duration: 3 months}", "How long does it take?", "4 months"),
        ("{time: '14:00'}", "When does it leave?", "15 Uhr"),
        ("{date: 2024-03-03}", "When was it released?", "4. M\u00e4rz 2024"),
        ("{date: 2024-03-03}", "When was it released?", "3. M\u00e4rz 2023"),
    ],
)
def test_other_values_in_such_forms_are_not_met(check: str, intent: str, answer: str) -> None:
    assert outcome(check, answer, intent) == "not met"
