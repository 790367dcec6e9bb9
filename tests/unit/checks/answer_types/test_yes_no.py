"""Yes, no, and statements that there is no such thing."""

from __future__ import annotations

from tests.cases import each_case

from .outcomes import Rows, cases, outcome

OPEN = "Is the shop open on Sunday?"
FAX = "What is the fax number of the shop?"
ROWS: Rows = [
    ("{yes_no: 'yes'}", OPEN,
     {"met": ["yes", "Yes.", "**Yes**", "Yes, it is.", "Yes, the shop is open on Sunday.", "true", '{"open": true}'],
      "not met": ["no", "No, it is not.", "false", "yes and no"],
      "undecided": ["yesterday", "It is open.", "Yes, but not before noon.", "Maybe yes", "Acme"]}),
    ("{yes_no: 'no'}", OPEN,
     {"met": ["no", "No.", "No, it is not.", "No, the shop is not open on Sunday.", "false", "No, it isn't open."],
      "not met": ["yes", "Yes, it is."],
      "undecided": ["No problem, it is open.", "Yes and no", "No, it is open.", "It is closed.", "not sure"]}),
    (
        "{unachievable: the shop lists no fax number, type: number}",
        FAX,
        {
            "met": ["N/A", "n/a.", "**N/A**", "Not achievable.", "Impossible.",
                    "N/A: the shop lists no fax number"],
            "not met": ["555-1234", "The fax number is 555-1234.", "", "Acme"],
            "undecided": [
                "I was unable to open the branch page, so I could not find the fax number.", "N/A, but maybe 555-1234",
                "I could not find it.", "There is no fax number, call 555-1234", "I found no fax number.",
                "The page did not load.", "none", "null", "There is no fax number.", "The shop lists no fax number.",
                "The shop has no fax number.",
            ],
        },
    ),
]  # fmt: skip


@each_case(("check", "intent", "answer", "wanted"), cases(ROWS))
def test_yes_no_and_absence(check: str, intent: str, answer: str, wanted: str) -> None:
    assert outcome(check, answer, intent) == wanted
