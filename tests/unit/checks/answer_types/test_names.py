"""Names, codes, texts, lists of names and addresses in answers."""

from __future__ import annotations

from tests.cases import each_case

from .outcomes import Rows, cases, outcome

ROWS: Rows = [
    (
        "{name: Ann Lee, aliases: [ann.lee]}",
        "Who opened the issue?",
        {
            "met": ["Ann Lee", "ann lee", "ANN LEE.", "**Ann Lee**", "It is Ann Lee.", "ann.lee", "@ann.lee",
                    "Ann Lee opened the issue.",  '{"answer": "Ann Lee"}',
                    "| who |\n|---|\n| Ann Lee |"],
            "not met": ["Bo Ray", "N/A", ""],
            "undecided": ["Annie Lee", "Ann", "Ann Lee-Smith", "Ann Lee's sister", "not Ann Lee", "Ann Lee or Bo Ray",
                          "maybe Ann Lee", "Lee, Ann", "Ann Lee closed it", "Ann Leeds"],
        },
    ),
    ("{name: B42a}", "Which room is it?",
     {"met": ["B42a", "Room B42a.", "It is B42a"], "not met": ["C7", "42a"],
      "undecided": ["B42", "B42ab", "B-42a", "b42a", "B42A", "B42a or B42b"]}),
    ("{name: yjlou}", "Who wrote it?", {"met": ["yjlou", "@yjlou", "Yjlou"], "not met": ["yjlou2", "xyjlou", "yjloux"],
                                       "undecided": ["yjlou-2", "yjlou's brother"]}),
    ("{name: main}", "Which branch is the default one?", {"met": ["main", "`main`"], "not met": ["mainline"],
                                                         "undecided": ["main-old", "old-main", "main/old"]}),
    ("{name: v2.1}", "Which version is it?", {"met": ["v2.1", "version v2.1"], "undecided": ["v2.1.3", "v2.10-v2.1"],
                                            "not met": ["w3"]}),
    ("{name: '00178'}", "What is the postal code?", {"met": ["00178"], "not met": ["178", "001780", "100178"]}),
    ("{name: A & B}", "Which company is it?", {"met": ["A & B", "A &amp; B", "A and B"], "not met": ["A"],
                                             "undecided": ["A & B & C"]}),
    ("{name: Caf\u00e9 Noir\u00e9}", "Which place is it?", {"met": ["Cafe Noire", "Caf\u00e9 Noir\u00e9"]}),
    ("{name: GmbH, case: true}", "Which form is it?", {"met": ["GmbH"], "undecided": ["gmbh", "GMBH"]}),
    (
        "{names: [Ann Lee, Bo Ray]}",
        "Who reviewed it?",
        {"met": ["Ann Lee, Bo Ray", "Bo Ray and Ann Lee", "- Ann Lee\n- Bo Ray", '["Ann Lee", "Bo Ray"]',
                 "1. Bo Ray\n2. Ann Lee", "The two are Ann Lee and Bo Ray", "Ann Lee; Bo Ray"],
         "not met": ["Ann Lee", "Cy Dow and Di Eck", ""],
         "undecided": ["Ann Lee, Bo Ray, Cy Dow", "Ann Lee but not Bo Ray", "Ann Lee, Bo"]},
    ),
    ("{names: [Ann Lee, Bo Ray], ordered: true}", "Who are the best two?",
     {"met": ["Ann Lee, Bo Ray", "1. Ann Lee\n2. Bo Ray"], "not met": ["Bo Ray, Ann Lee", "Ann Lee"],
      "undecided": ["Ann Lee, Bo Ray, Cy Dow"]}),
    ("{text: Arrived late but works}", "What is the title of the review?",
     {"met": ["Arrived late but works", '"Arrived late but works."', "The title is 'Arrived late but works'"],
      "not met": ["Great", "N/A"], "undecided": ["Arrived late", "Arrived late but works well"]}),
    ("{url: 'http://shop.test/a/b?x=1'}", "What is the address of the page?",
     {"met": ["http://shop.test/a/b?x=1", "<http://shop.test/a/b?x=1>", "The address is http://shop.test/a/b?x=1."],
      "not met": ["http://shop.test/a", "http://bo@shop.test/a/b?x=1",
                  "http://shop.test/a/b?x=2", "http://other.test/a/b?x=1", "the page"],
      "undecided": ["/a/b?x=1", "https://shop.test/a/b?x=1", "http://shop.test/a/b?x=1 or http://shop.test/a"]}),
    ("{includes: [tea, '10']}", "What is in the bag?", {"met": ["tea, 10"], "not met": ["100 bags", "tea"],
                                                      "undecided": ["10 bags of tea"]}),
    ("{regex: '#\\d+'}", "Which ticket is it?", {"met": ["#12", "Ticket #12"], "not met": ["12", "ticket"]}),
]  # fmt: skip


@each_case(("check", "intent", "answer", "wanted"), cases(ROWS))
def test_names(check: str, intent: str, answer: str, wanted: str) -> None:
    assert outcome(check, answer, intent) == wanted
