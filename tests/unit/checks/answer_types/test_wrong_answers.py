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
]


@each_case(("check", "intent", "answer"), WRONG)
def test_wrong_answers_are_not_met(check: str, intent: str, answer: str) -> None:
    assert outcome(check, answer, intent) in ("not met", "undecided")


@each_case(("check", "intent", "answer"), RIGHT)
def test_right_answers_are_met_or_undecided(check: str, intent: str, answer: str) -> None:
    assert outcome(check, answer, intent) in ("met", "undecided")
