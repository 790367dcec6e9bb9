"""Dates and times in answers."""

from __future__ import annotations

from tests.cases import each_case

from .outcomes import Rows, cases, outcome

RELEASED = "When was it released?"
ROWS: Rows = [
    (
        "{date: 2026-03-14}",
        RELEASED,
        {
            "met": ["2026-03-14", "14 March 2026", "March 14, 2026", "March 14th, 2026", "14th of March 2026",
                    "14.3.2026", "3/14/2026", "14/03/2026", "2026/03/14", "14-Mar-2026", "Sat, 14 Mar 2026",
                    "It was released on 14 March 2026.", "2026-03-14T10:00:00Z", '{"released": "2026-03-14"}'],
            "not met": ["2026-03-15", "14 April 2026", "14 March 2025", "2026-04-13", "Acme", "", "2026"],
            "undecided": ["not 2026-03-14", "2026-03-14 or later", "14 March 2026 and 15 March 2026",
                          "Sun, 14 Mar 2026"],
        },
    ),
    ("{date: 2026-03-04}", RELEASED, {"met": ["4 March 2026"],
                                      "undecided": ["3/4/2026", "4/3/2026", "04.03.2026"]}),
    ("{date: 2026-03-14}", "On which day in 2026 was it released?", {"met": ["14 March", "March 14"],
                                                                    "not met": ["14 March 2027"]}),
    ("{date: 2026-03}", "In which month was it released?", {"met": ["2026-03", "March 2026", "03/2026"],
                                                          "not met": ["April 2026", "2026"],
                                                          "undecided": ["not March 2026"]}),
    ("{date: 2026}", "In which year was it released?", {"met": ["2026", "It was released in 2026."],
                                                      "not met": ["2025", "20260"], "undecided": ["before 2026"]}),
    (
        "{time: '14:30'}",
        "When does the boat leave?",
        {"met": ["14:30", "2:30 pm", "2:30 p.m.", "2.30 PM", "14.30", "The boat leaves at 14:30.", "14h30", "2:30pm",
                 "14:30:00"],
         "not met": ["14:31", "2:30 am", "15:30", "Acme", "4:30"],
         "undecided": ["2:30", "half past two", "1430", "14:30 or 15:30", "after 14:30", "14:30:59"]},
    ),
    ("{time: '00:15'}", "When does the boat leave?", {"met": ["00:15", "12:15 am"], "not met": ["12:15 pm", "0:51"]}),
]  # fmt: skip


@each_case(("check", "intent", "answer", "wanted"), cases(ROWS))
def test_dates_and_times(check: str, intent: str, answer: str, wanted: str) -> None:
    assert outcome(check, answer, intent) == wanted
